"""Arrows of drives along their axes."""

from __future__ import annotations

import numpy as np

from nacelle.kinematics.inverse import inverse_kinematics
from nacelle.kinematics.pose_input import reference_pose
from nacelle.library import load
from nacelle.report.demo.space import drive_arrows
from nacelle.scene.motion import still


def test_forces_point_along_the_struts() -> None:
    """On PaLiDA from the anchor of each strut in the base to that on the platform."""
    robot = load("palida")
    (arrows,) = drive_arrows(robot, still(robot), np.arange(1.0, 7.0)[None], 0.1)
    p = inverse_kinematics(robot, reference_pose(robot)).bodies.p
    for k, leg in enumerate(robot.legs):
        first, last = p[leg.bodies[0]], p[leg.bodies[-1]]
        strut = (last - first) / np.linalg.norm(last - first)
        np.testing.assert_allclose(arrows.vectors[0, k], (k + 1.0) * strut, atol=1e-12)
        beside = arrows.points[0, k] - last
        np.testing.assert_allclose([np.linalg.norm(beside), beside @ strut], [0.1, 0.0], atol=1e-12)


def test_torques_are_apart() -> None:
    (arrows,) = drive_arrows(load("fivebar"), still(load("fivebar")), np.array([[1.0, -2.0]]))
    assert arrows.unit == "N m"
    np.testing.assert_allclose(np.linalg.norm(arrows.vectors[0], axis=1), [1.0, 2.0])
