"""Sizing of motors along a motion."""

from __future__ import annotations

import numpy as np

import nacelle
from support.library import library_robot


def test_sizing_counts_what_the_motion_asks_for() -> None:
    robot = library_robot("delta")
    course = nacelle.Circle(nacelle.reference_pose(robot), 0.1, motion=robot.motion, duration=0.5)
    sizing = nacelle.size_motors(robot, course, rate=400.0)
    assert len(sizing.times) == 201
    for k, load in enumerate(sizing.loads):
        assert load.peak_force == np.max(np.abs(sizing.force[:, k]))
        assert load.rms_force < load.peak_force
        assert load.peak_power == np.max(sizing.force[:, k] * sizing.rate[:, k])
        assert load.within
    frozen = nacelle.size_motors(robot, nacelle.time_scaled(course, 0.1))
    assert not all(load.within for load in frozen.loads)


WRENCH = np.array([20.0, -5.0, 30.0, 1.0, 2.0, -3.0])


def test_sizing_takes_wrenches() -> None:
    robot = nacelle.load("delta")
    x = nacelle.reference_pose(robot)
    rest = nacelle.Line(x, x, motion=robot.motion, duration=0.1)
    found = nacelle.size_motors(robot, rest, rate=100.0, external={"flange": WRENCH})
    expected = nacelle.inverse_dynamics(robot, x, external={"flange": WRENCH}).force
    np.testing.assert_allclose([load.peak_force for load in found.loads], np.abs(expected), rtol=1e-12)
