"""Reference vectors: what is tolerated follows what a program does in a precision."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import nacelle
from nacelle.compile import make_program
from nacelle.export.entries import Wanted, entries
from nacelle.export.entry import Entry
from nacelle.export.states import seeded_states
from nacelle.export.vectors import (
    TOLERANCES,
    closing_condition,
    relation_error,
    rounded,
    tolerated,
    vectors,
)
from nacelle.kinematics.iteration.newton_steps import closing_step
from support.library import library_robot


def test_tolerances() -> None:
    eps = float(np.finfo(np.float64).eps)
    assert tolerated(0.0, np.float64) == float(f"{200.0 * eps:.1e}")
    assert tolerated(1e-9, np.float64) == 3e-8
    # A program that loses all digits, or gives no number, is held to a tenth.
    assert tolerated(1.0, np.float32) == tolerated(np.nan, np.float32) == 0.1


def test_inputs_of_a_function_of_its_own() -> None:
    """(1 + x) - 1 loses the digits that the numbers below 1 have in a precision."""
    program = make_program(lambda x: {"y": (1.0 + x[0] * x[0]) - 1.0}, None, {"x": (1,)}, minimised=False)
    given = {"x": np.full((3, 1), 1e-3)}
    entry = Entry("lossy", "", program, {}, None, at=lambda states: given)
    found = vectors(entry, seeded_states(library_robot("fivebar"), 3))
    exact = float(np.float32(1e-3)) ** 2
    assert np.allclose(found.outputs["y"], exact, rtol=1e-15)
    off = abs(rounded(program, given["x"][:1], np.float32)[0, 0] - exact) / exact
    assert off > 1e-3
    assert found.tolerance["float"]["y"] > 0.01
    assert found.tolerance["double"]["y"] < 1e-8


WALKLEG = Path(__file__).parents[1] / "robots" / "walkleg.yaml"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["walkleg", "3rps"])
def test_unknowns_are_off_by_the_condition_at_most(name: str) -> None:
    """|y - y*| <= c * error for any y near a solution, as the step's own error says, and some y attain it."""
    robot = nacelle.load(WALKLEG) if name == "walkleg" else library_robot(name)
    states = seeded_states(robot, 2)
    shapes = {"y": (states.y.shape[1],), "x": (states.x.shape[1],)}
    step = make_program(closing_step, robot, shapes, minimised=False)
    condition = closing_condition(robot, states.x, states.y)
    rng, count = np.random.default_rng(0), 200
    for x, y, c in zip(states.x, states.y, condition, strict=True):
        best, way, size = 0.0, np.zeros_like(c), 1.0
        for _ in range(100):
            ways = way + size * c * rng.normal(size=(count, c.size))
            ways *= 1e-7 / np.max(np.abs(ways), axis=1, keepdims=True)
            columns = [*(y + ways).T, *(np.full(count, value) for value in x)]
            error = np.asarray(step.evaluate(columns)[-1])
            ratios = np.max(np.abs(ways) / c, axis=1) / error
            assert np.max(ratios) < 1.001
            size *= 1.3 if np.max(ratios) > best else 0.8
            if np.max(ratios) > best:
                best, way = float(np.max(ratios)), ways[np.argmax(ratios)]
                size = max(size, 1e-12)
            size = min(size, 1.0) if not np.any(way) else min(size, float(np.max(np.abs(way) / c)))
        assert best > 0.5


def test_an_iteration_is_known_to_its_tolerance_times_the_condition() -> None:
    """Each state and unknown has its own limit; steps of 50 digits end at closed loops."""
    robot = nacelle.load(WALKLEG)
    states = seeded_states(robot)
    entry = entries(robot, "p", Wanted(("inverse_kinematics",)))[0]
    found = vectors(entry, states)
    closed = found.closed
    assert closed is not None
    np.testing.assert_allclose(closed.y, states.y, atol=1e-4)  # poses are rounded to single precision
    rows = np.concatenate([closed.y, found.inputs["x"]], axis=1)
    for row in rows:
        assert entry.program.evaluate(row.tolist())[-1] < 1e-15
    assert np.max(closed.condition) > 100.0 * np.min(closed.condition)
    for real, eps in (("double", 2.3e-16), ("float", 1.2e-7)):
        t = closed.tolerance[real]
        assert t == TOLERANCES[real]
        assert 2.0 * t <= closed.limit[real] < 2.0 * t + 100.0 * eps
        assert closed.step[real] < 100.0 * eps
        assert closed.known(real) == closed.limit[real] * np.max(closed.condition)
    most = np.max(closing_condition(robot, states.x, states.y))
    np.testing.assert_allclose(relation_error(states), 3e-5 * most, rtol=0.05)
