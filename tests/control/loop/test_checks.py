"""What is said before a loop runs."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import nacelle
from nacelle.control.loop.closed_loop import ControlLoop
from nacelle.errors import KinematicsError, UnreachableError
from nacelle.kinematics.trajectory.circle import Circle
from nacelle.kinematics.trajectory.line import Line
from nacelle.model.robot import Robot
from nacelle.simulation.drives.drives import Drives
from nacelle.simulation.drives.plant import DrivenPlant


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
