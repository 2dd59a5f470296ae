"""Inputs of models at states: every kind of input gives the forces of `inverse_dynamics`."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.export.entries import Wanted, entries
from nacelle.export.states import inputs_at, seeded_states
from nacelle.export.vectors import rounded, vectors
from support.described import mechanism
from support.library import library_robot

CASES = [
    ("3rrr", "pose"),
    ("fivebar", "pose"),
    ("fivebar", "elements"),
    ("fivebar", "encoders"),
    ("delta-codourey", "elements"),
    ("delta-codourey", "encoders"),
    ("prrrp", "elements"),
    pytest.param("palida", "pose", marks=pytest.mark.slow),
    pytest.param("orthoglide", "pose", marks=pytest.mark.slow),
    pytest.param("3rps", "pose", marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("name", "source"), CASES)
def test_forces_are_those_of_the_api(name: str, source: str) -> None:
    robot = library_robot(name)
    states = seeded_states(robot)
    entry = entries(robot, "p", Wanted(("inverse_dynamics",), source))[-1]
    inputs = inputs_at(states, {variable.name: variable.shape for variable in entry.program.inputs})
    rows = np.concatenate(list(inputs.values()), axis=1)
    found = rounded(entry.program, rows, np.float64)[:, : len(robot.actuators)]
    wanted = nacelle.inverse_dynamics(robot, states.x, states.v, states.a).force
    assert np.max(np.abs(found - wanted)) < 1e-12 * np.max(np.abs(wanted))


def test_states_are_seeded_and_apart() -> None:
    robot = library_robot("fivebar")
    first, again, other = seeded_states(robot), seeded_states(robot), seeded_states(robot, seed=1)
    assert np.array_equal(first.x, again.x)
    assert np.array_equal(first.v, again.v)
    assert not np.any(np.isclose(first.x, other.x))
    assert len(np.unique(first.x, axis=0)) == len(first.x) == 12


def test_vectors_are_numbers_of_single_precision() -> None:
    robot = library_robot("fivebar")
    entry = entries(robot, "p", Wanted(("inverse_dynamics",)))[0]
    found = vectors(entry, seeded_states(robot))
    for values in found.inputs.values():
        assert np.array_equal(values, values.astype(np.float32))
    assert 0 < found.tolerance["double"]["force"] < 1e-12
    assert 0 < found.tolerance["float"]["force"] < 1e-3


def test_what_nothing_drives_is_left_out_of_vectors() -> None:
    robot = mechanism("cart_pole")
    states = seeded_states(robot, 3)
    free = nacelle.inverse_dynamics(robot, states.x, states.v, states.a, free=("cart.pivot",))
    np.testing.assert_array_equal(states.tau, free.force)
    for entry in entries(robot, "p", Wanted(("forward_dynamics", "inverse_kinematics"))):
        found = vectors(entry, states)
        assert all(np.isfinite(values).all() for values in found.outputs.values())
