"""Robots with a tool, and poses of them."""

from __future__ import annotations

import dataclasses
from functools import cache

import numpy as np
from scipy.spatial.transform import Rotation

from nacelle.kinematics.pose_input import reference_pose
from nacelle.model.platform import Motion, Tool
from nacelle.model.reduced import layout_of
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose
from support.uncompiled import any_robot

XYZ = Motion(("x", "y", "z"))


@cache
def with_tool(name: str, p: tuple[float, float, float] = (0.05, -0.03, 0.08)) -> Robot:
    """A robot with one more tool, "t", turned and shifted on its platform."""
    robot = any_robot(name)
    R = Rotation.from_rotvec([0.4, -0.7, 1.1]).as_matrix()
    frame = Pose(R, np.array(p)) if robot.platform_nv == 6 else Pose(np.eye(3), np.zeros(3))
    return dataclasses.replace(robot, tools=(*robot.tools, Tool("t", 1, frame)))


def near(robot: Robot, count: int = 6, size: float = 0.02) -> np.ndarray:
    """Poses near the reference."""
    rng = np.random.default_rng(3)
    layout = layout_of(robot.motion)
    x = np.tile(reference_pose(robot), (count, 1))
    linear, quat = layout.split_x(x)
    linear = linear + size * rng.normal(size=linear.shape)
    if quat is not None:
        turn = Rotation.from_rotvec(3.0 * size * rng.normal(size=(count, 3)))
        quat = (turn * Rotation.from_quat(quat)).as_quat()
    return layout.join_x(linear, quat)


def same_pose(robot: Robot, a: np.ndarray, b: np.ndarray, atol: float) -> None:
    """Compare poses; a quaternion and its negative are one orientation."""
    layout = layout_of(robot.motion)
    (la, qa), (lb, qb) = layout.split_x(a), layout.split_x(b)
    np.testing.assert_allclose(la, lb, atol=atol)
    if qa is not None:
        np.testing.assert_allclose(np.abs(np.sum(qa * qb, axis=-1)), 1.0, atol=atol)
