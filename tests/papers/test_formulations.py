"""All formulations: power and gravity."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import nacelle
from nacelle.dynamics import reference as functions
from nacelle.dynamics import tree_form as tree
from nacelle.dynamics.physics import Physics
from nacelle.dynamics.state import state_at
from nacelle.kinematics import kinematic_model as kinematics
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.papers.registration import FORMULATIONS
from support.compare import assert_same, relative_error
from support.library import NAMES
from support.random_robots.legs import CASES
from support.random_robots.loads import with_random_friction, with_random_inertias
from support.stress_robots import STRESS
from support.uncompiled import (
    ALL,
    SharedStates,
    central_difference,
    named_robot,
    run_uncompiled,
    stencil_times,
)
from support.uncompiled import trajectory_states as states

# ---- Body by body: mass matrix and gravity are those of energies


def test_gravity_is_what_a_resting_robot_without_springs_needs() -> None:
    robot = named_robot("delta")
    x, y = mechanism_of(robot).reference
    state = state_at(robot, x, y, np.zeros(3))
    assert_same(tree.gravity_force(state), tree.generalised_force(state, np.zeros(3), Physics()), 1e-12)
    # Twists of massive bodies are those of the reduced twist.
    for R, _, J in tree.massive_bodies(state):
        assert J.shape == (6, 3)
        assert_same(R @ R.T, np.eye(3), 1e-12)


def test_rotors_of_sliding_closures() -> None:
    """Rotors, springs and friction where loops are cut, by all formulations that serve such a robot."""
    robot = STRESS["drives, springs and rotors at closures"](2)
    x, y = mechanism_of(robot).reference
    v, a = np.random.default_rng(3).normal(size=(2, robot.motion.n))
    state = state_at(robot, x, y, v)
    expected = tree.generalised_force(state, a, Physics())
    for name in supporting_formulations(robot):
        assert_same(FORMULATIONS[name].generalised_force(state, a, Physics()), expected, 1e-11, name)


# ---- Every formulation says the same, and power is conserved

RANDOM = tuple(CASES)


def robot_of(name: str) -> nacelle.Robot:
    """A random robot, or one of the library, with random inertias and friction everywhere."""
    robot = CASES[name](1).robot if name in CASES else named_robot(name)
    return with_random_friction(with_random_inertias(robot, 3), 4)


def supporting_formulations(robot: nacelle.Robot) -> list[str]:
    """The other formulations that serve a robot."""
    mechanism = mechanism_of(robot)
    return [
        name
        for name, formulation in FORMULATIONS.items()
        if name != "tree" and not formulation.reason_not(mechanism)
    ]


@pytest.mark.slow
def test_every_formulation_serves_many() -> None:
    counts = {name: 0 for name in nacelle.papers.FORMULATIONS if name != "tree"}
    for name in (*NAMES, *RANDOM):
        robot = CASES[name](1).robot if name in CASES else named_robot(name)
        for formulation in supporting_formulations(robot):
            counts[formulation] += 1
    everyone = len(NAMES) + len(RANDOM)
    assert counts["bodies"] == counts["jourdain"] == everyone
    assert counts["legs"] > 0.7 * everyone
    assert counts["elements"] > 0.6 * everyone


@pytest.mark.thinned
@pytest.mark.costly
@pytest.mark.parametrize("name", [*ALL, *RANDOM])
def test_power_forms_and_returns(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The change of energy is the power of actuators less what friction takes; formulations agree."""
    robot = robot_of(name)
    run = SharedStates(monkeypatch).run
    times = np.array([0.2, 0.45, 0.8])
    x, y, v, a = states(robot, times)
    load = np.zeros_like(v)
    tree = run(functions.inverse, robot, x, y, v, a, load)
    for formulation in supporting_formulations(robot):
        found = run(partial(functions.inverse, formulation=formulation), robot, x, y, v, a, load)
        assert relative_error(found["generalised"], tree["generalised"]) < 1e-11, formulation
        assert relative_error(found["force"], tree["force"]) < 1e-10, formulation

    motion = run_uncompiled(kinematics.joint_motions, robot, x, y, v, a)
    energy = run(functions.energies, robot, x, y, v)
    assert np.all(energy["dissipation"] >= 0.0)
    assert np.all(energy["kinetic"] > 0.0)
    around = stencil_times(times)
    xs, ys, vs, _ = states(robot, around.ravel())
    near = run(functions.energies, robot, xs, ys, vs)
    total = (near["kinetic"] + near["potential"]).reshape(around.shape)
    power = np.sum(tree["force"] * motion["active_rate"], axis=-1)
    # Ninth-order differences of an energy of size E over steps of 1e-2 s keep about eleven digits of E.
    scale = np.max(np.abs(power)) + np.max(np.abs(energy["dissipation"])) + 0.1 * np.max(np.abs(total))
    assert np.max(np.abs(central_difference(total) - (power - energy["dissipation"]))) < 1e-9 * scale

    back = run(functions.forward, robot, x, y, v, tree["force"], load)
    M = run(functions.inertia, robot, x, y)["M"]
    assert relative_error(M, np.swapaxes(M, -1, -2)) < 1e-13
    assert np.all(np.linalg.eigvalsh(M) > 0.0)
    assert relative_error(back["acceleration"], a) < 1e-9
