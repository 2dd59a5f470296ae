"""Quantities of kinematic results are their numbers."""

from __future__ import annotations

import numpy as np

import nacelle
from nacelle.report.results.kinematics import inverse_kinematics, trajectory
from support.library import library_robot


def test_coordinates_and_motions() -> None:
    robot = library_robot("fivebar")
    x = nacelle.reference_pose(robot)
    found = nacelle.inverse_kinematics(robot, x)
    actuators, margins = inverse_kinematics(found)
    np.testing.assert_array_equal(actuators.values, found.actuators)
    assert actuators.units == ("rad", "rad")
    assert margins.names == tuple(leg.name for leg in robot.legs)
    line = nacelle.Line(x, x + 0.01, motion=robot.motion, duration=0.5)
    pose, twist, _ = trajectory(line)
    np.testing.assert_array_equal(pose.values[-1], line(0.5).x)
    assert twist.units == ("m/s", "m/s")
