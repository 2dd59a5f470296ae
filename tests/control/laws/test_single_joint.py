"""Single-joint control and computed force: what the model brings, limits, missing readings, redundancy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import nacelle
from nacelle.control.blocks.signals import STOPPED
from nacelle.control.controller import Controller
from nacelle.control.kind import DesiredMotion
from nacelle.control.named import controller
from nacelle.simulation.integration import Integration
from nacelle.simulation.rigid_plant import rigid_plant
from nacelle.simulation.simulate import simulate
from support.library import library_robot

Array = np.ndarray
T = 5e-4


def swing(robot: nacelle.Robot, count: int, amplitude: float = 0.02) -> Array:
    """Rows [x; v; a] from rest, along the first coordinate."""
    x, n = nacelle.reference_pose(robot), robot.motion.n
    t, w = T * np.arange(count), 2.0 * np.pi * 2.0
    rows = np.zeros((count, len(x) + 2 * n))
    rows[:, : len(x)] = x
    rows[:, 0] += amplitude * (1.0 - np.cos(w * t)) ** 2 / 4.0
    rows[:, len(x)] = amplitude * w * np.sin(w * t) * (1.0 - np.cos(w * t)) / 2.0
    rows[:, len(x) + n] = amplitude * w**2 * (np.cos(w * t) - np.cos(2.0 * w * t)) / 2.0
    return rows


def errors(robot: nacelle.Robot, law: Controller, count: int = 1000) -> Array:
    """The root of the mean square of the errors of the actuators (actuators,)."""
    rows, x = swing(robot, count), nacelle.reference_pose(robot)
    plant, until = rigid_plant(robot, smooth=1e-3), count * T
    run = simulate(
        plant, x, None, law.digital(x, rows), until=until, integration=Integration("rk4", step=T / 4)
    )
    assert run.ok, run.message
    every = (len(run.t) - 1) // count
    q = nacelle.inverse_kinematics(robot, run.x[:-1:every]).q
    wanted = nacelle.inverse_kinematics(robot, rows[:, : len(x)]).q
    return np.sqrt(np.mean((q - wanted) ** 2, axis=0))


@pytest.mark.slow
def test_each_part_of_the_model_lowers_the_errors() -> None:
    robot = library_robot("fivebar")
    sj, rigid, friction = (
        errors(robot, controller(robot, name, period=T, bandwidth=10.0))
        for name in ("sj", "cf-rb", "cf-rb-friction")
    )
    assert np.all(rigid < sj)
    assert np.all(friction < 0.05 * rigid)
    # With the exact model what is left is of the order of the sampling.
    assert np.all(friction < 1e-5)


def at_rest(law: Controller, q: Array, samples: int) -> tuple[Array, Array]:
    """Forces and memories (samples, ...) at fixed readings, at rest in the reference pose."""
    x, n = nacelle.reference_pose(law.robot), law.robot.motion.n
    z = law.start(x)
    forces, memories = [], []
    for _ in range(samples):
        force, z = law.step(z, q, DesiredMotion(x, np.zeros(n), np.zeros(n)))
        forces.append(force)
        memories.append(z)
    return np.array(forces), np.array(memories)


def test_integral_is_that_of_the_error_and_stops_at_limits() -> None:
    robot = library_robot("fivebar")
    law = controller(robot, "sj", period=T).with_gains(limit=1.0)
    q = law.coordinates(nacelle.reference_pose(robot)) - np.array([1e-4, 0.05])
    forces, memories = at_rest(law, q, 4000)
    integral = memories[:, law.kind.memory(robot).slice_of("integral")]
    expected = np.arange(1, 101) * T * law.gain("integral")[0] * 1e-4
    assert np.max(np.abs(integral[:100, 0] - expected)) < 1e-10 * expected[-1]
    # The second drive is at its limit: its integral does not run away.
    assert np.all(forces[:, 1] <= 1.0)
    assert abs(integral[-1, 1]) < 2.0 + law.gain("stiffness")[1] * 0.05


@pytest.mark.parametrize("bad", [np.nan, np.inf, -1e12])
def test_missing_readings_are_bridged_and_end_in_a_stop(bad: float) -> None:
    robot = library_robot("fivebar")
    law = controller(robot, "cf-rb-friction", period=T).with_gains(patience=3.0)
    x, n = nacelle.reference_pose(robot), robot.motion.n
    q, rest = law.coordinates(x), DesiredMotion(nacelle.reference_pose(robot), np.zeros(n), np.zeros(n))
    fields, z = law.kind.memory(robot), law.start(x)
    held, z = law.step(z, q, rest)
    for sample in range(1, 6):
        force, z = law.step(z, np.array([bad, q[1]]), rest)
        parts = fields.split(z)
        assert np.all(np.isfinite(z))
        assert parts["missed"][0] == min(sample, 3)
        if sample <= 3:
            assert np.max(np.abs(force - held)) < 1e-9 * max(1.0, np.max(np.abs(held)))
            assert parts["stopped"][0] == 0.0
        else:
            assert np.all(force == 0.0)
            assert parts["stopped"][0] == STOPPED
    # Once stopped it stays so, whatever is read.
    force, z = law.step(z, q, rest)
    assert np.all(force == 0.0)


def test_a_reading_that_comes_back_goes_on() -> None:
    robot = library_robot("fivebar")
    law = controller(robot, "sj", period=T)
    x, n = nacelle.reference_pose(robot), robot.motion.n
    q, rest = law.coordinates(x), DesiredMotion(x, np.zeros(n), np.zeros(n))
    z = law.start(x)
    for reading in (q, q * np.nan, q):
        _, z = law.step(z, reading, rest)
    assert law.kind.memory(robot).split(z)["missed"][0] == 0.0


def test_angles_that_jump_by_a_turn_are_the_same() -> None:
    robot = library_robot("fivebar")
    law = controller(robot, "sj", period=T)
    q = law.coordinates(nacelle.reference_pose(robot)) + np.array([0.01, -0.02])
    plain, _ = at_rest(law, q, 3)
    turned, _ = at_rest(law, q + 2.0 * np.pi * np.array([1.0, -3.0]), 3)
    assert np.max(np.abs(plain - turned)) < 1e-9 * np.max(np.abs(plain))


@pytest.mark.slow
def test_redundant_drives_do_not_fight() -> None:
    robot = nacelle.load(Path(__file__).parents[2] / "robots" / "redundant.yaml")
    assert len(robot.actuators) > robot.motion.n
    law = controller(robot, "sj", period=T)
    x = nacelle.reference_pose(robot)
    rng = np.random.default_rng(3)
    # Encoders with wrong zeros: their errors are no motion of the robot.
    forces, _ = at_rest(law, law.coordinates(x) + 1e-3 * rng.normal(size=len(robot.actuators)), 2000)
    J = nacelle.jacobian(robot, x).inverse
    across = np.linalg.svd(J)[0][:, robot.motion.n :]
    assert np.max(np.abs(forces)) > 1e-3
    assert np.max(np.abs(forces @ across)) < 1e-10 * np.max(np.abs(forces))
