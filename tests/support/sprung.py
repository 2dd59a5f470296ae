"""Robots on springs, pushed: motion inside the workspace whose energy is kept."""

from __future__ import annotations

import dataclasses

import numpy as np

import nacelle
from nacelle.model.joint import Spring
from support.library import library_robot

Array = np.ndarray

# Springs that keep the heavier robots well inside their workspaces.
HEAVY = [("gough-stewart", 2e4), ("delta", 200.0), ("quattro", 300.0)]


def sprung_robot(name: str, stiffness: float) -> tuple[nacelle.Robot, Array]:
    """A robot whose actuators hold it on springs at its reference pose, and that pose."""
    robot = library_robot(name)
    x = nacelle.reference_pose(robot)
    q = nacelle.inverse_kinematics(robot, x).q
    hold = nacelle.gravity_forces(robot, x, coordinates="actuators")
    joints = list(robot.joints)
    for actuator, value, force in zip(robot.actuators, q, hold, strict=True):
        spring = Spring(stiffness, float(value + force / stiffness))
        joints[actuator.joint] = dataclasses.replace(joints[actuator.joint], springs=(spring,))
    return dataclasses.replace(robot, joints=tuple(joints)), x


def random_twist(robot: nacelle.Robot) -> Array:
    """A push: the twist at the start."""
    v = np.zeros(robot.motion.n)
    v[: min(3, len(v))] = [0.2, 0.1, -0.05][: min(3, len(v))]
    return v
