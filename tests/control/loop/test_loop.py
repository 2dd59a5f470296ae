"""Loop: checks, contour, desired, places, steps."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import nacelle
from nacelle.control.loop.closed_loop import ControlLoop
from nacelle.control.loop.contour import contour_error
from nacelle.control.loop.desired import Course, desired_motion
from nacelle.control.loop.places import places
from nacelle.control.loop.steps import integration_step
from nacelle.errors import KinematicsError, UnreachableError
from nacelle.kinematics.trajectory.circle import Circle
from nacelle.kinematics.trajectory.line import Line
from nacelle.model.robot import Robot
from nacelle.simulation.drives.drives import Drives
from nacelle.simulation.drives.plant import DrivenPlant
from nacelle.simulation.plant import RigidPlant
from nacelle.spatial.scalar import Array

# ---- What is said before a loop runs


def _limited(robot: Robot, **limits: Any) -> Robot:
    actuators = tuple(dataclasses.replace(actuator, **limits) for actuator in robot.actuators)
    return dataclasses.replace(robot, actuators=actuators)


def test_a_path_out_of_reach_is_refused_with_its_time(fivebar: Robot) -> None:
    x = nacelle.reference_pose(fivebar)
    line = Line(x, x + np.array([0.0, 2.0]), motion=fivebar.motion, duration=1.0, timing="uniform")
    with pytest.raises(
        UnreachableError, match=r"at ([\d.]+) s fivebar cannot follow the path: unreach"
    ) as said:
        ControlLoop(fivebar, fivebar, line, period=1e-3)
    time = float(str(said.value).split()[1])
    reached = nacelle.inverse_kinematics(fivebar, line([time - 3e-3, time]).x).reachable
    assert reached.tolist() == [True, False]


def test_a_path_beyond_limits_names_the_joint(fivebar: Robot, turn: Circle) -> None:
    q = nacelle.inverse_kinematics(fivebar, turn(0.0).x).actuators[0]
    tight = _limited(fivebar, position=(q - 0.02, q + 0.02))
    tight = dataclasses.replace(tight, actuators=(tight.actuators[0], fivebar.actuators[1]))
    with pytest.raises(
        UnreachableError, match=r"out of limits \(left.motor is at [\d.-]+ rad, its limits are"
    ):
        ControlLoop(tight, tight, turn, period=1e-3)


def test_gravity_above_the_limits_of_drives(fivebar: Robot, turn: Circle) -> None:
    force = np.abs(nacelle.equilibrium(fivebar, turn(np.linspace(0.0, turn.duration, 200)).x))
    weak = DrivenPlant(fivebar, Drives(limits=0.9 * float(np.max(force))))
    words = r"(left|right).motor of fivebar cannot hold the robot at rest on the path: at .* s that takes"
    with pytest.raises(KinematicsError, match=words) as said:
        ControlLoop(weak, fivebar, turn, period=1e-3)
    assert f"its limit is {0.9 * float(np.max(force)):.4g} N m" in str(said.value)
    # With a little more than that it goes, and what saturates in motion is said.
    enough = DrivenPlant(fivebar, Drives(limits=1.05 * float(np.max(force))))
    loop = ControlLoop(enough, fivebar, turn, period=1e-3)
    assert any("its drive saturates" in line for line in loop.notes)


def test_speeds_above_limits_are_said(fivebar: Robot, turn: Circle) -> None:
    slow = _limited(fivebar, speed=1.0)
    assert any("rad/s of left.motor" in line for line in ControlLoop(slow, slow, turn, period=1e-3).notes)
    assert ControlLoop(fivebar, fivebar, turn, period=1e-3).notes == ()


# ---- Contour errors


def test_distance_from_a_circle() -> None:
    angle = np.linspace(0.0, 2.0 * np.pi, 4001)
    path = 0.2 * np.stack([np.cos(angle), np.sin(angle), 0.0 * angle], axis=1)
    rng = np.random.default_rng(0)
    at, off, up = rng.uniform(0.0, 2.0 * np.pi, (50,)), rng.normal(size=50) * 1e-3, rng.normal(size=50) * 1e-3
    points = np.stack([(0.2 + off) * np.cos(at), (0.2 + off) * np.sin(at), up], axis=1)
    # The polygon is nearer to the centre by up to s^2 / (8 R).
    assert contour_error(path, points) == pytest.approx(np.hypot(off, up), abs=1e-7)


def test_a_lag_is_no_contour_error_and_a_pause_no_trouble() -> None:
    t = np.linspace(0.0, 1.0, 101)
    path = np.stack([t, 2.0 * t, 0.0 * t], axis=1)
    path = np.concatenate([path, path[-1:], path[-1:]])
    late = np.stack([t - 0.003, 2.0 * (t - 0.003), 0.0 * t], axis=1)[1:]
    assert np.max(contour_error(path, late)) < 1e-15
    assert contour_error(path, np.array([[1.0, 2.0, 0.5], [2.0, 2.0, 0.0]])) == pytest.approx([0.5, 1.0])
    assert np.isnan(contour_error(path, np.full((1, 3), np.nan))).all()


# ---- Desired motions


def test_settling_and_repeating(fivebar: Robot, turn: Circle) -> None:
    at = desired_motion(fivebar, turn, 1e-3, Course(0.2, 2))
    assert at.time[0] == pytest.approx(-0.2)
    assert at.first == 200
    assert len(at.time) == 200 + round(2.0 * turn.duration / 1e-3)
    assert np.array_equal(at.x[0], turn(0.0).x)
    assert not np.any(at.v[: at.first])
    k = at.first + 300
    later = at.time[k] + turn.duration
    assert at.rows[k] == pytest.approx(np.concatenate(turn(at.time[k])))
    nearest = int(np.argmin(np.abs(at.time - later)))
    assert at.x[nearest] == pytest.approx(turn(at.time[nearest] - turn.duration).x, abs=1e-12)


def test_a_run_that_is_longer_rests_at_the_end(fivebar: Robot) -> None:
    x = nacelle.reference_pose(fivebar)
    line = Line(x, x + np.array([0.05, 0.0]), motion=fivebar.motion, duration=0.3)
    at = desired_motion(fivebar, line, 1e-3, Course(0.0, 1, 0.5))
    assert len(at.time) == 500
    assert at.x[350:] == pytest.approx(np.tile(line(0.3).x, (150, 1)))
    assert not np.any(at.v[301:])
    short = desired_motion(fivebar, line, 1e-3, Course(0.0, 1, 0.1))
    assert np.array_equal(short.x, at.x[:100])
    back = line.then(line.reversed())
    twice = desired_motion(fivebar, back, 1e-3, Course(0.0, 2, 2.0))
    assert twice.x[900] == pytest.approx(line(0.3).x)
    assert twice.x[1200:] == pytest.approx(np.tile(x, (800, 1)))
    with pytest.raises(KinematicsError, match=r"a sample of 0.001 s or longer"):
        desired_motion(fivebar, line, 1e-3, Course(0.0, 1, 0.0))


def test_a_path_in_motion_settles_on_itself(fivebar: Robot) -> None:
    centre = nacelle.reference_pose(fivebar)
    endless = Circle(centre, 0.05, motion=fivebar.motion, duration=0.5, timing="uniform")
    at = desired_motion(fivebar, endless, 1e-3, Course(0.25, 1))
    assert at.x[0] == pytest.approx(endless(0.25).x)
    assert np.linalg.norm(at.v, axis=1) == pytest.approx(np.full(len(at.v), 0.05 * 4.0 * np.pi))
    assert desired_motion(fivebar, endless, 1e-3, Course()).time[0] == 0.0


def test_mistakes(fivebar: Robot, turn: Circle) -> None:
    x = nacelle.reference_pose(fivebar)
    line = Line(x, x + np.array([0.05, 0.0]), motion=fivebar.motion, duration=0.3)
    with pytest.raises(KinematicsError, match=r"ends as it starts; the pose is off by 0.05 at 0.3 s"):
        desired_motion(fivebar, line, 1e-3, Course(0.0, 2))
    with pytest.raises(KinematicsError, match="once or more often"):
        desired_motion(fivebar, turn, 1e-3, Course(0.0, 0))
    with pytest.raises(KinematicsError, match="motion"):
        desired_motion(nacelle.load("3rrr"), turn, 1e-3, Course())


def test_nacelle_and_tool() -> None:
    robot = nacelle.load("gough-stewart")
    x = np.stack([nacelle.pose(robot, rotation_vector=[0.0, 0.0, angle]) for angle in (0.0, 1e-9, 0.2)])
    at = places(robot, x)
    assert at.p == pytest.approx(x[:, :3])
    first = places(robot, x[:1])
    still = type(at)(np.repeat(first.p, 3, axis=0), np.repeat(first.R, 3, axis=0))
    assert at.angle_to(still) == pytest.approx([0.0, 1e-9, 0.2], rel=1e-6)
    assert at.rotations_from(at)[:, 2] == pytest.approx([0.0, 1e-9, 0.2], rel=1e-6)
    tool = places(robot, x, "spindle")
    assert tool.p[2] == pytest.approx(nacelle.tool_pose(robot, x[2], "spindle").p)


def _along(name: str) -> tuple[Array, Array, Array]:
    robot = nacelle.load(name)
    x = np.tile(nacelle.reference_pose(robot), (3, 1))
    return x, np.full((3, robot.motion.n), 0.1), np.zeros((3, len(robot.actuators)))


def test_current_loops_and_friction_shorten_steps() -> None:
    """Steps of the integration."""
    robot = nacelle.load("fivebar")
    x, v, u = _along("fivebar")
    without = RigidPlant(robot, friction=False)
    assert integration_step(without, x, v, u) == 1e-3
    driven = DrivenPlant(without, Drives(lag=1e-4))
    # An eigenvalue of 1 / lag: two time constants, or what the drives themselves say.
    assert integration_step(driven, x, v, u) == min(driven.default_step(driven.state(x[0], v[0])), 2e-4)
    steps = [integration_step(RigidPlant(robot, smooth=smooth), x, v, u) for smooth in (1e-4, 1e-5)]
    # The slope of friction at rest goes with 1 / smooth.
    assert steps[1] < 1e-3
    assert steps[0] / steps[1] == pytest.approx(10.0, rel=0.05) or steps[0] == 1e-3
    # Friction that jumps has no slope.
    assert integration_step(RigidPlant(robot), x, v, u) == 1e-3
