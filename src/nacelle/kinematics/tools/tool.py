"""Tools: the pose of a named frame on the nacelle.

The frame of a tool is fixed to a body b of the nacelle at F = (R_F, p_F), constant in the body's frame. In
the base, with (R_b, p_b) the pose of the body,

    R_t = R_b R_F,      p_t = p_b + R_b p_F                    R (3, 3), p (3,) in m
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from nacelle.errors import KinematicsError, did_you_mean
from nacelle.kinematics.inverse import inverse_kinematics
from nacelle.kinematics.pose_input import checked_poses
from nacelle.model.platform import Motion, Tool
from nacelle.model.reduced import QUATERNION, layout_of
from nacelle.model.robot import Robot
from nacelle.pictures import Plot, html
from nacelle.spatial.rotation_path import quat_from_matrices
from nacelle.spatial.scalar import Array

TRANSLATIONS = ("x", "y", "z")


class ToolPose(NamedTuple):
    """Where a tool is: orientation R (..., 3, 3) and origin p (..., 3) of its frame in the base, m."""

    R: Array
    p: Array

    @property
    def plot(self) -> Callable[..., Any]:
        """The function that draws it, as of what is `Drawn`: a tuple has no other parents."""
        return Plot().__get__(self, type(self))

    def _repr_html_(self) -> str:
        """The table for notebooks."""
        return html(self)

    @property
    def quat_xyzw(self) -> Array:
        """The orientation as quaternions (..., 4), scalar last, w >= 0."""
        return quat_from_matrices(self.R)


def find_tool(robot: Robot, name: str) -> Tool:
    """A tool by its name.

    Raises:
        KinematicsError: if the robot has no such tool.
    """
    tools = {tool.name: tool for tool in robot.tools}
    if name not in tools:
        hint = did_you_mean(name, tools) or "it has none; its description names them under `tools`"
        raise KinematicsError(f"{robot.name} has no tool {name!r}; {hint}")
    return tools[name]


def tool_pose(robot: Robot, x: Any, tool: str) -> ToolPose:
    """Find where a tool is at poses of the nacelle: R_t = R_b R_F, p_t = p_b + R_b p_F in the base.

    Args:
        robot: the robot.
        x: reduced poses (..., nx).
        tool: name of the tool.

    Raises:
        KinematicsError: if the robot has no such tool, or x has the wrong shape.
        UnreachableError: if a single pose is out of reach; in a batch its numbers are NaN.
    """
    frame = find_tool(robot, tool)
    solution = inverse_kinematics(robot, x, limits=False)
    R, p = solution.bodies.R[..., frame.body, :, :], solution.bodies.p[..., frame.body, :]
    R = np.where(solution.reachable[..., None, None], R, np.nan)
    p = np.where(solution.reachable[..., None], p, np.nan)
    return ToolPose(R @ frame.frame.R, p + R @ frame.frame.p)


def tool_coordinates(robot: Robot, x: Any, tool: str, motion: Motion | None = None) -> Array:
    """Coordinates of a tool (..., nx of the motion) at poses x of the nacelle; the inverse of `tool_to_pose`.

    Args:
        robot: the robot.
        x: reduced poses (..., nx).
        tool: name of the tool.
        motion: which coordinates; those of the robot's motion if None.
    """
    poses, _ = checked_poses(robot, x)
    at = tool_pose(robot, poses, tool)
    own, layout = layout_of(robot.motion), layout_of(motion or robot.motion)
    result = np.empty((*poses.shape[:-1], layout.nx))
    for k, name in enumerate(layout.x_names):
        if name in TRANSLATIONS:
            result[..., k] = at.p[..., TRANSLATIONS.index(name)]
        elif name not in QUATERNION or layout.quaternion is None:
            result[..., k] = poses[..., own.x_index(name)]
    if layout.quaternion is not None:
        result[..., layout.quaternion] = at.quat_xyzw
    return result
