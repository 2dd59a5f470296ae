"""Hostile desired motions and measured states, in every law: no force leaves, and the status says why."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.control.controller import Controller
from nacelle.control.kind import DesiredMotion
from nacelle.control.named import CONTROLLERS, controller
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.robot import Robot
from support.hostile import PERIOD, admissible, hostile_robot, hostile_samples, way_out

ROBOTS = ("fivebar", "delta", "palida", "quattro", "redundant planar 4-RRR", "hexa")
QUICK = ("fivebar", "quattro")


def cases() -> list:
    """Every law of every robot; the long ones are slow."""
    quick = {(robot, name) for robot in QUICK for name in ("sj", "ct-cartesian")}
    quick |= {("fivebar", name) for name in CONTROLLERS} | {("redundant planar 4-RRR", "ct-cartesian")}
    every = [(robot, name) for robot in ROBOTS for name in CONTROLLERS]
    return [case if case in quick else pytest.param(*case, marks=pytest.mark.slow) for case in every]


def made_for(robot: Robot, name: str) -> Controller:
    """A slow controller, for which a path out of the workspace takes few samples."""
    return controller(robot, name, period=PERIOD, bandwidth=1.0, damping=1.0)


@pytest.mark.costly
@pytest.mark.parametrize(("robot_name", "name"), cases())
def test_a_path_out_of_reach_stops_at_its_first_sample_there(robot_name: str, name: str) -> None:
    made = made_for(hostile_robot(robot_name), name)
    robot = made.robot
    stopped = made.kind.memory(robot).place("stopped").start
    for seed in range(3):
        motions = way_out(robot, seed)
        good = admissible(robot, motions)
        first = int(np.argmin(good))
        assert 3 < first < len(motions)
        readings = made.coordinates(np.array([motion.x for motion in motions[:first]]))
        z = made.start(motions[0].x)
        for k, motion in enumerate(motions[: first + 1]):
            force, z = made.step(z, readings[min(k, first - 1)], motion)
            if z[stopped]:
                break
        assert not force.any()
        # Readings follow the path, not the forces: what a law expects of these may be refused before.
        assert z[stopped] == 3.0 or z[stopped] == 4.0, (seed, k, first)
        # A band of rounding and of differences is as wide as a sample at most.
        assert k >= first - (2 if z[stopped] == 3.0 else 15), (seed, k, first)


@pytest.mark.costly
@pytest.mark.parametrize(("robot_name", "name"), cases())
def test_one_bad_number_stops_every_law_at_once(robot_name: str, name: str) -> None:
    made = made_for(hostile_robot(robot_name), name)
    robot = made.robot
    stopped = made.kind.memory(robot).place("stopped").start
    x = np.asarray(mechanism_of(robot).reference[0], dtype=float)
    q, zero = made.coordinates(x), np.zeros(robot.motion.n)
    start = made.start(x)
    for _ in range(4):
        force, start = made.step(start, q, DesiredMotion(x, zero, zero))
        assert np.isfinite(force).all()
        assert start[stopped] == 0.0
    count = 0
    for what, readings, motion, status in hostile_samples(made):
        force, z = made.step(start, readings, motion)
        missed = made.kind.memory(robot).split(z)["missed"][0]
        if status < 0:
            # Readings of no pose are bridged; others are too fast.
            assert z[stopped] == 4.0 or missed == 1.0, what
        else:
            assert z[stopped] == status, what
        if z[stopped]:
            count += 1
            assert not force.any(), what
            assert np.array_equal(np.delete(z, stopped), np.delete(start, stopped)), what
            force, again = made.step(z, q, DesiredMotion(x, zero, zero))
            assert not force.any()
            assert np.array_equal(again, z)
    assert count > 9 * robot.motion.n


@pytest.mark.costly
@pytest.mark.parametrize("name", [name for name in CONTROLLERS if name not in ("sj", "cf-rb")])
def test_a_loop_ends_at_the_sample_that_is_out_of_reach(name: str) -> None:
    """In the native loop with a plant: no force of the setpoint acts, and the arm stays where it is."""
    robot = nacelle.load("fivebar")
    made = controller(robot, name, period=5e-4, bandwidth=10.0)
    x = nacelle.reference_pose(robot)
    rows = np.tile(np.concatenate([x, np.zeros(4)]), (200, 1))
    rows[20:, 1] += 10.0
    plant = nacelle.RigidPlant(robot, friction=False)
    run = nacelle.simulate(plant, x, None, made.sampled(x, rows), until=0.1, method="rk4", step=2.5e-4)
    assert run.message.startswith(
        "at 0.01 s the controller stopped: the desired motion is not finite, out of"
    )
    late = run.t >= 0.01 - 1e-9
    assert not run.inputs[late].any()
    assert np.max(np.abs(run.x - x)) < 1e-5
