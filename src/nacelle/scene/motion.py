"""Where all bodies of a robot are over time: positions and unit quaternions, base axes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nacelle.errors import KinematicsError
from nacelle.kinematics.pose_input import reference_pose
from nacelle.kinematics.solve.inverse import inverse_kinematics
from nacelle.model.robot import Robot
from nacelle.spatial.rotation import quat_from_matrices, rotation_matrices
from nacelle.spatial.scalar import Array


@dataclass(frozen=True, eq=False)
class PosesOverTime:
    """Poses of all bodies at T times.

    Attributes:
        times: (T,), s.
        position: origins of all B bodies (T, B, 3) in the base, m.
        quaternion: rotations of all bodies in the base (T, B, 4), scalar first (w x y z), unit, without
            jumps of the sign from one time to the next.
        ok: whether the pose has a solution (T,); where it has none the bodies stay where they were last, or
            where they are first.
    """

    times: Array
    position: Array
    quaternion: Array
    ok: Array


def poses_along(robot: Robot, times: Any, x: Any) -> PosesOverTime:
    """Poses of all bodies along poses of the platform.

    Args:
        robot: the robot.
        times: (T,), s, increasing.
        x: reduced poses (T, nx).

    Raises:
        KinematicsError: if x has the wrong shape, or as many times are not given.
        UnreachableError: if no pose is within reach.
    """
    times, x = np.asarray(times, dtype=float), np.asarray(x, dtype=float)
    if x.ndim != 2 or times.shape != x.shape[:1] or not len(times):
        raise KinematicsError(
            f"a motion has times (T,) and poses (T, nx), T at least 1; not {times.shape} and {x.shape}"
        )
    joints = inverse_kinematics(robot, x, follow=len(x) > 1, limits=False)
    R, p = joints.bodies
    ok = joints.reachable & np.all(np.isfinite(R), axis=(1, 2, 3)) & np.all(np.isfinite(p), axis=(1, 2))
    if not ok.any():
        inverse_kinematics(robot, x[0], limits=False)  # raises, and says which leg does not reach
    indices = np.maximum.accumulate(np.where(ok, np.arange(len(ok)), -1))
    indices = np.where(indices < 0, int(np.argmax(ok)), indices)
    R, p = np.asarray(R)[indices], np.asarray(p)[indices]
    return PosesOverTime(times, p, continuous_quaternions(R), ok)


def motion_at_rest(robot: Robot, x: Any = None) -> PosesOverTime:
    """One pose as a motion of one sample; the reference pose if x (nx,) is None.

    Raises:
        UnreachableError: if the pose is out of reach.
    """
    pose = reference_pose(robot) if x is None else np.asarray(x, dtype=float)
    bodies = inverse_kinematics(robot, pose, limits=False).bodies
    return PosesOverTime(
        np.zeros(1), bodies.p[None], continuous_quaternions(bodies.R[None]), np.ones(1, dtype=bool)
    )


def continuous_quaternions(R: Array) -> Array:
    """Unit quaternions (T, ..., 4), scalar first, of rotations (T, ..., 3, 3), continuous in time."""
    quat = np.roll(quat_from_matrices(R), 1, axis=-1)
    signs = np.where(np.sum(quat[1:] * quat[:-1], axis=-1) < 0.0, -1.0, 1.0)
    quat[1:] *= np.cumprod(signs, axis=0)[..., None]
    return quat


def rotation_matrices_wxyz(quat: Array) -> Array:
    """Rotation matrices (..., 3, 3) of unit quaternions (..., 4), scalar first."""
    return rotation_matrices(np.roll(quat, -1, axis=-1))
