"""Curves of forces along a motion."""

from dataclasses import replace

import numpy as np

import nacelle
from nacelle.kinematics.pose_input import reference_pose
from nacelle.report.draw.curves import plot_forces
from support.library import library_robot


def test_forces_along_a_motion_have_their_limits():
    robot = library_robot("delta")
    path = nacelle.Circle(reference_pose(robot), 0.1, motion=robot.motion, duration=0.5)
    found = nacelle.size_motors(robot, path, rate=100.0)
    figure = plot_forces(found, title="Forces", shown=False)
    (ax,) = figure.axes
    assert ax.get_ylabel() == "torque (N m)"
    curves = {line.get_label(): line for line in ax.lines}
    for k, load in enumerate(found.loads):
        np.testing.assert_array_equal(curves[load.name].get_ydata(), found.force[:, k])
    assert set(curves["limit"].get_ydata()) == {60.0}
    mixed = replace(found, loads=(replace(found.loads[0], revolute=False), *found.loads[1:]))
    assert len(plot_forces(mixed, shown=False).axes) == 2
