"""Where a tool is, or the frame of the nacelle, at poses of a run."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nacelle.kinematics.inverse import inverse_kinematics
from nacelle.kinematics.tools.tool import tool_pose
from nacelle.model.leg import PLATFORM
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array


class FramePlaces(NamedTuple):
    """Origins p (N, 3), m, and orientations R (N, 3, 3) of a frame in the base."""

    p: Array
    R: Array

    def angle_to(self, other: FramePlaces) -> Array:
        """Angles (N,) of the rotations from others to these, rad."""
        return np.asarray(np.linalg.norm(_vectors(self.R, other.R), axis=1))

    def rotations_from(self, other: FramePlaces) -> Array:
        """Rotation vectors (N, 3) from the first orientation of others to these, rad, base axes."""
        return _vectors(self.R, np.broadcast_to(other.R[:1], self.R.shape))


def places(robot: Robot, x: Array, tool: str = "") -> FramePlaces:
    """Where a tool, or the nacelle's frame, is at reduced poses (N, nx)."""
    if tool:
        at = tool_pose(robot, x, tool)
        return FramePlaces(at.p, at.R)
    bodies = inverse_kinematics(robot, x, limits=False).bodies
    return FramePlaces(bodies.p[:, PLATFORM], bodies.R[:, PLATFORM])


def _vectors(R: Array, R_0: Array) -> Array:
    """Rotation vectors (N, 3) of R R_0^T, rad."""
    turn = R @ np.swapaxes(R_0, -1, -2)
    # The axis times the sine, and the cosine: exact for small angles.
    axis = 0.5 * np.stack(
        [
            turn[:, 2, 1] - turn[:, 1, 2],
            turn[:, 0, 2] - turn[:, 2, 0],
            turn[:, 1, 0] - turn[:, 0, 1],
        ],
        axis=1,
    )
    sine = np.linalg.norm(axis, axis=1)
    angle = np.arctan2(sine, 0.5 * (np.trace(turn, axis1=1, axis2=2) - 1.0))
    return np.asarray(axis * np.where(sine > 0.0, angle / np.where(sine > 0.0, sine, 1.0), 1.0)[:, None])
