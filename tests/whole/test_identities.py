"""Identities of robots' programs: what they save, that near robots are not fooled, the same everywhere."""

from __future__ import annotations

import re
from decimal import Decimal

import numpy as np
import pytest

from nacelle.compile import make_program
from nacelle.dynamics import reference
from nacelle.kinematics.samples import input_samples
from nacelle.model.robot import Robot
from nacelle.program.cost import count
from nacelle.program.identities.merge import AGREEMENT_TOLERANCE, apply_identities, merge_equal_values
from nacelle.program.identities.values import PreciseInputs
from nacelle.program.precise import evaluate_decimal
from nacelle.program.program import Program
from nacelle.spatial.physics import input_shapes
from support.last_bits import forget_everything, noisy_libraries, perturbed_robot
from support.library import library_robot
from support.program_hashes import structure
from support.random_robots.legs import CASES


def tree(robot: Robot) -> tuple[Program, PreciseInputs]:
    """Inverse dynamics by the equivalent tree as it is traced, and samples of its inputs."""
    shapes = input_shapes(reference.inverse, robot)
    assert shapes is not None
    program = make_program(reference.inverse, robot, shapes, minimise=False)
    samples = input_samples(robot, shapes)
    assert samples is not None
    return program, samples


def apart(found: Program, program: Program, row: tuple[Decimal, ...]) -> float:
    """The largest difference of two programs over the largest entry of an output."""
    ours, theirs = evaluate_decimal(found, row), evaluate_decimal(program, row)
    worst, start = 0.0, 0
    for variable in program.outputs:
        place = slice(start, start + variable.size)
        start += variable.size
        differences = [abs(a - b) for a, b in zip(ours[place], theirs[place], strict=True)]
        worst = max(worst, float(max(differences) / max(abs(b) for b in theirs[place])))
    return worst


@pytest.mark.parametrize(
    ("name", "operations"),
    [
        ("prrrp", 135),
        ("fivebar", 425),
        ("delta-codourey", 800),
        ("orthoglide", 1050),
        ("3rps", 1650),
        ("delta", 2000),
        pytest.param("quattro", 2800, marks=pytest.mark.slow),
        pytest.param("h4", 3100, marks=pytest.mark.slow),
        pytest.param("palida", 3900, marks=pytest.mark.slow),
    ],
)
def test_equal_values_are_one(name: str, operations: int) -> None:
    program, samples = tree(library_robot(name))
    found = merge_equal_values(program, samples)
    assert count(found).total <= operations
    assert all(apart(found, program, row) < 1e-13 for row in samples.check)


NEAR = {
    "delta": r"leg1\.elbow-.\.predecessor\.px|leg1\.arm\.m$",
    "delta rod": r"leg1\.wrist-b\.predecessor\.px",
    "delta-codourey": r"leg1\..*\.m$",
    "3rrr": r"leg1\..*\.p[xy]$",
    "prrrp": r"leg1\..*\.(p[xyz]|m)$",
}


@pytest.mark.costly
@pytest.mark.parametrize("difference", [1e-9, 1e-10, 1e-11, 1e-12, 1e-13])
@pytest.mark.parametrize("name", NEAR)
def test_legs_that_are_nearly_alike_stay_different(name: str, difference: float) -> None:
    """What a leg makes of a number that is off by so much is in the result, to rounding of the numbers.

    1e-13 are 450 units of rounding, and up to 32 of a number on which a value depends twenty times more
    strongly hide them: there the bound is the one to which merged programs must agree.
    """
    robot = library_robot(name.split(maxsplit=1)[0])
    vector = robot.parameter_vector()
    chosen = [bool(re.match(NEAR[name], key)) for key in robot.parameter_names()]
    assert any(chosen)
    other = robot.with_parameters(np.where(chosen, vector * (1.0 + difference), vector))
    program, samples = tree(other)
    found = merge_equal_values(program, samples)
    assert count(found).total < count(program).total
    bound = 2e-14 if difference > 1e-13 else float(AGREEMENT_TOLERANCE)
    assert max(apart(found, program, row) for row in samples.check) < bound


@pytest.mark.costly
@pytest.mark.parametrize(
    "name",
    [
        "planar RRR + PRR + RPR",
        "3 URU",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("6 UPS", "3 R[US|US]", "3 RPS")),
    ],
)
def test_random_robots_keep_their_forces(name: str) -> None:
    """In double the merged program is as near to the truth as the one that no pass has touched."""
    program, samples = tree(CASES[name](1).robot)
    found = apply_identities(program, samples)
    assert count(found).total < count(program).total
    for row in samples.check:
        inputs = [float(value) for value in row]
        true = np.array([float(value) for value in evaluate_decimal(program, row)])
        size = program.outputs[0].size
        ours, theirs = (np.array(p.evaluate(inputs))[:size] for p in (found, program))
        largest = np.max(np.abs(true[:size]))
        assert np.max(np.abs(ours - theirs)) < 1e-12 * largest
        own, plain = (np.max(np.abs(values - true[:size])) / largest for values in (ours, theirs))
        assert own < 8.0 * plain + 1e-14


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["fivebar", *(pytest.param(name, marks=pytest.mark.slow) for name in ("delta-codourey", "3rps", "h4"))],
)
def test_last_bits_change_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    robot = library_robot(name)
    kept = structure(apply_identities(*tree(robot)))
    assert structure(apply_identities(*tree(perturbed_robot(robot, 3).without_rounding_differences))) == kept
    noisy_libraries(monkeypatch, 4)
    assert structure(apply_identities(*tree(robot))) == kept
    monkeypatch.undo()
    forget_everything()
