"""Desired motions."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.control.loop.desired import Course, desired_motion
from nacelle.errors import KinematicsError
from nacelle.kinematics.trajectory.circle import Circle
from nacelle.kinematics.trajectory.line import Line
from nacelle.model.robot import Robot


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
