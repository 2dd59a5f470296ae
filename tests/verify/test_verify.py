"""Verify: coupled, efforts, engine, loops, ours, projection, report, states."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import nacelle
from nacelle.dynamics.friction import axis_friction, spherical_friction
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.shapes import twist_scales
from nacelle.model.joint import FrictionTerm, Primitive
from nacelle.model.platform import Payload
from nacelle.spatial.scalar import Array
from nacelle.verify import engine, verify
from nacelle.verify.comparison import EngineReport, Quantity
from nacelle.verify.engine import (
    EngineSource,
    MissingEngineError,
    VerifyError,
    engine_builder,
    engine_joints,
    inertia_lumps,
)
from nacelle.verify.engines.pinocchio import build
from nacelle.verify.loops import closure_constraint, friction_force, independent_rates
from nacelle.verify.ours import compute_dynamics, compute_kinematics
from nacelle.verify.states import CONDITION, integrate_poses, random_states
from support.described import COUPLED_NAMES, mechanism
from support.library import library_robot
from support.random_robots import random_robot
from support.uncompiled import ALL, named_robot

# ---- Coupled joints and screws against Pinocchio and MuJoCo, whose rows and matrices are projected


@pytest.mark.usefixtures("run_without_compiler")
class TestCoupled:
    @pytest.mark.slow
    @pytest.mark.parametrize("name", COUPLED_NAMES)
    def test_built(self, name: str) -> None:
        report = verify(mechanism(name), states=2, seed=1)
        assert report.ok, report.text()

    @pytest.mark.slow
    @pytest.mark.parametrize("seed", range(12))
    def test_random(self, seed: int) -> None:
        report = verify(random_robot("coupled", seed), states=3, seed=seed)
        assert report.ok, report.text()


# ---- Friction beside another engine: written apart from nacelle's own, and the same

TERMS = (
    FrictionTerm("viscous", 0.3),
    FrictionTerm("coulomb", 0.5),
    FrictionTerm("stribeck", 0.2, 0.1),
    FrictionTerm("coulomb-smooth", 0.4, 0.05),
    FrictionTerm("quadratic", 0.1),
    FrictionTerm("cubic", 0.05),
)


@pytest.mark.parametrize("rate", [-2.0, -0.01, 0.0, 0.02, 1.0])
def test_along_an_axis(rate: float) -> None:
    assert friction_force(TERMS, np.array([rate]))[0] == pytest.approx(
        float(axis_friction(TERMS, rate, None)), rel=1e-12
    )


def test_in_a_spherical_joint() -> None:
    for w in (*np.random.default_rng(0).normal(size=(4, 3)), np.zeros(3)):
        np.testing.assert_allclose(
            friction_force(TERMS, w), spherical_friction(TERMS, w, None), rtol=1e-12, atol=1e-15
        )


@pytest.mark.usefixtures("run_without_compiler")
@pytest.mark.parametrize("name", ["fivebar", "3rps"])
def test_closures_forbid_what_our_states_do_not_do(name: str) -> None:
    """Loops as another engine sees them: closed at our states, their rates zero, axes as our joints."""
    robot = library_robot(name)
    states = random_states(robot, 3, 1)
    ours, engine = compute_kinematics(robot, states), build(robot)
    for k in range(3):
        state = ours.tree_state(k, states)
        now = engine.at(state)
        for joint in robot.closures:
            found = closure_constraint(robot, joint, now, state.u)
            assert np.max(np.abs(found.gap)) < 1e-9
            np.testing.assert_allclose(
                found.constraint_rows @ state.u, 0.0, atol=1e-8 * np.max(np.abs(state.u))
            )
            left = found.constraint_rows @ state.u_dot + found.bias
            np.testing.assert_allclose(left, 0.0, atol=1e-6 * max(1.0, float(np.max(np.abs(state.u_dot)))))
            # Six motions in all: those that are forbidden and those of its axes.
            freedoms = sum(len(axis.rows) for axis in found.axes) + (3 if joint.at_point else 0)
            assert len(found.constraint_rows) + freedoms == 6


@pytest.mark.usefixtures("run_without_compiler")
def test_rates_and_energies() -> None:
    """What nacelle says of states: rates and Jacobians agree with differences of its own poses."""
    robot = library_robot("fivebar")
    states = random_states(robot, 5, 0)
    ours = compute_kinematics(robot, states)
    np.testing.assert_allclose(np.einsum("kij,kj->ki", ours.U, states.v), ours.u, atol=1e-10)
    np.testing.assert_allclose(np.einsum("kij,kj->ki", ours.A, states.v), ours.actuators[1], atol=1e-10)
    h = 1e-6
    ahead, behind = (
        nacelle.inverse_kinematics(robot, states.x + k * h * states.v, limits=False) for k in (1.0, -1.0)
    )
    rates = (ahead.bodies.p - behind.bodies.p) / (2.0 * h)
    np.testing.assert_allclose(ours.twist[:, :, :3], rates, atol=1e-6)
    tree = ours.tree_state(2, states)
    np.testing.assert_array_equal(tree.platform.p, ours.p[2, 1])
    found = compute_dynamics(robot, states)
    kinetic = 0.5 * np.einsum("ki,kij,kj->k", states.v, found.mass_matrix, states.v)
    np.testing.assert_allclose(found.kinetic, kinetic, rtol=1e-10)
    assert np.all(found.dissipation >= 0.0)


@pytest.mark.parametrize("name", ALL)
def test_places_are_those_of_the_motion(name: str) -> None:
    """Independent rates: as many as the motion has, at the places of the platform and its joints."""
    robot = named_robot(name)
    assert tuple(independent_rates(robot)) == mechanism_of(robot).independent


def test_agreement() -> None:
    """Reports of comparisons: what is not a number does not agree."""
    good, bad = Quantity("force", 1e-12, 1e-9, 3), Quantity("mass matrix", 1e-6, 1e-9, 2)
    nothing = Quantity("energy", math.nan, 1e-9, 0)
    assert (good.ok, bad.ok, nothing.ok) == (True, False, False)
    assert EngineReport("e", "1", (good,), ()).ok
    assert not EngineReport("e", "1", (good, nothing), ()).ok


# ---- Random states in the workspace: as many as wanted, reachable, well conditioned, the same for a seed


def test_states_can_be_compared() -> None:
    robot = named_robot("fivebar")
    states = random_states(robot, 30, 4)
    again = random_states(robot, 30, 4)
    assert np.array_equal(states.x, again.x)
    assert np.array_equal(states.external, again.external)
    assert states.v.shape == states.a.shape == (30, 2)
    assert np.all(states.condition < CONDITION)
    assert np.all(nacelle.inverse_kinematics(robot, states.x, limits=False).flags & 7 == 0)
    assert not np.any(states.external[:, 0])


def test_steps_along_the_twist() -> None:
    robot = named_robot("gough-stewart")
    assert twist_scales(robot).tolist() == [robot.size] * 3 + [1.0] * 3
    x = nacelle.reference_pose(robot)
    step = np.array([0.01, 0.02, -0.01, 0.0, 0.0, 0.3])
    there = integrate_poses(robot, x, step)
    np.testing.assert_allclose(there[:3], x[:3] + step[:3], atol=1e-15)
    assert abs(2.0 * np.arccos(abs(there[3:] @ x[3:])) - 0.3) < 1e-9


# ---- Engines: how they are found, and in which order they get the joints


def test_names_and_missing_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(VerifyError, match="did you mean 'mujoco'"):
        engine_builder("mujocco")
    monkeypatch.setitem(
        engine.ENGINES, "other", EngineSource("nacelle.verify.nowhere", "no_such_package", "other")
    )
    with pytest.raises(MissingEngineError, match="nacelle"):
        engine_builder("other")


def test_point_masses_and_thin_rods_keep_no_negative_moments_from_rounding() -> None:
    """Pinocchio refuses moments below zero, be they 1e-19 kg m^2; those that are truly negative stay."""
    robot = library_robot("fivebar")
    rng = np.random.default_rng(5)
    body = len(robot.bodies) - 1

    def piece(mass: float, com: Array, I: Array) -> Array:
        I = I + mass * (com @ com * np.eye(3) - np.outer(com, com))
        ten = (mass, *(mass * com), I[0, 0], I[0, 1], I[1, 1], I[0, 2], I[1, 2], I[2, 2])
        load = Payload("load", body, tuple(float(entry) for entry in ten))
        return inertia_lumps(replace(robot, payload=(load,)), body)[-1].about_com

    for _ in range(200):
        mass, com = rng.uniform(0.1, 5.0), rng.normal(size=3)
        u = rng.normal(size=3)
        u /= np.linalg.norm(u)
        for I in (np.zeros((3, 3)), 1e-3 * (np.eye(3) - np.outer(u, u))):
            found = piece(mass, com, I)
            assert np.linalg.eigvalsh(found)[0] >= 0.0 or np.all(np.diag(found) >= 0.0)
            np.testing.assert_allclose(found, I, atol=2e-14 * mass * (com @ com))
    wrong = np.diag([-1e-6, 1.0, 1.0])
    np.testing.assert_allclose(piece(1.0, np.zeros(3), wrong), wrong, atol=0.0)


def test_kinds_that_an_engine_lacks_are_refused_by_name() -> None:
    joint = library_robot("fivebar").joints[0]
    assert engine_joints(joint, {Primitive.RZ: "RZ"}, "Engine") == ("RZ",)
    with pytest.raises(VerifyError, match=rf"joint '{joint.name}' is revolute, which is not built in Engine"):
        engine_joints(joint, {Primitive.TZ: "PZ"}, "Engine")
