"""Entries of scenarios that depend on the robot."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.control.scenario.fields import for_actuators, pose_by_names
from nacelle.errors import KinematicsError

POSITION = ("length", "angle")


def test_quantities_of_actuators() -> None:
    space = nacelle.load("space")
    kinds = space.revolute_actuators
    given = ["1 mrad" if turns else "2 um" for turns in kinds]
    assert for_actuators(space, given, POSITION) == pytest.approx(
        [1e-3 if turns else 2e-6 for turns in kinds]
    )
    assert for_actuators(space, 0.0, POSITION) == 0.0
    with pytest.raises(KinematicsError, match="prismatic and revolute actuators: give a list"):
        for_actuators(space, "1 um", POSITION)
    with pytest.raises(KinematicsError, match="one for each of the 6 actuators"):
        for_actuators(space, ["1 um"], POSITION)
    with pytest.raises(KinematicsError, match="'mm' is not a unit of angle"):
        for_actuators(nacelle.load("fivebar"), "3 mm", POSITION)


def test_poses() -> None:
    robot = nacelle.load("gough-stewart")
    x = pose_by_names(robot, {"x": "10 mm", "rz": "90 deg"})
    assert x[0] == pytest.approx(0.01)
    assert x[3:] == pytest.approx([0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5)])
    assert pose_by_names(robot, {"z": 1.0}, "spindle") == pytest.approx(
        nacelle.pose(robot, z=1.0, tool="spindle")
    )
