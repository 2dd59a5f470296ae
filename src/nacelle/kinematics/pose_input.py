"""Poses in the public API: from the ways in which users write them to the reduced pose x."""

from __future__ import annotations

from typing import Any

import numpy as np

from nacelle.errors import KinematicsError, did_you_mean
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.reduced import ROTATIONS, layout_of
from nacelle.model.robot import Robot
from nacelle.spatial.rotation_path import quat_exp, quat_from_matrices, quat_multiply
from nacelle.spatial.scalar import Array

# A quaternion that is shorter is no orientation.
SHORTEST = 1e-12


def pose(
    robot: Robot,
    position: Any = None,
    *,
    quat_xyzw: Any = None,
    rotation_matrix: Any = None,
    rotation_vector: Any = None,
    cardan: Any = None,
    tool: str | None = None,
    **coordinates: Any,
) -> Array:
    """Make a reduced pose x (..., nx) of a robot, from the pose of its nacelle or of a tool.

    Args:
        robot: the robot.
        position: origin of the platform frame (..., 3) in metres; coordinates that the motion does not have
            are left out. The reference position if None.
        quat_xyzw: orientation as a quaternion (..., 4), scalar last.
        rotation_matrix: the same as a matrix (..., 3, 3).
        rotation_vector: the same as axis times angle (..., 3), rad.
        cardan: the same as angles (..., 3) about x, the new y and the newest z, rad: R = Rx Ry Rz.
        tool: name of a tool. Position, x, y, z and orientation are then those of its frame; all of them that
            are given must be met, by iteration where there is parasitic motion. Angles and joints of the
            nacelle keep their meaning; those that are not given stay as in the reference pose, or follow
            where the place or the orientation of the tool needs them (a tilting table, a spherical robot).
        **coordinates: single coordinates by name: "x", "rz", a joint of the nacelle.

    Raises:
        KinematicsError: if an orientation is given twice, or a name is not a coordinate.
        UnreachableError: if a tool cannot be there; in a batch the pose is NaN.
    """
    layout = layout_of(robot.motion)
    orientation = [
        name
        for name, value in (
            ("quat_xyzw", quat_xyzw),
            ("rotation_matrix", rotation_matrix),
            ("rotation_vector", rotation_vector),
            ("cardan", cardan),
        )
        if value is not None
    ]
    if len(orientation) > 1:
        raise KinematicsError(f"the orientation is given twice: {' and '.join(orientation)}")
    if tool is not None:
        return _pose_for_tool(
            robot,
            tool,
            position,
            _orientation(quat_xyzw, rotation_matrix, rotation_vector, cardan) if orientation else None,
            coordinates,
        )
    if orientation and layout.quaternion is None:
        raise KinematicsError(
            f"the motion {robot.motion.name} of {robot.name} has no free orientation; give its angles by name"
        )
    values: dict[str, Array] = {}
    if position is not None:
        p = np.asarray(position, dtype=float)
        if p.shape[-1:] != (3,):
            raise KinematicsError(f"position has shape (..., 3), got {p.shape}")
        values |= {axis: p[..., k] for k, axis in enumerate("xyz") if axis in layout.x_names}
    if orientation:
        quat = _orientation(quat_xyzw, rotation_matrix, rotation_vector, cardan)
        values |= {name: quat[..., k] for k, name in enumerate(("qx", "qy", "qz", "qw"))}
    for name, value in coordinates.items():
        if name not in layout.x_names or name in ("qx", "qy", "qz", "qw"):
            known = [name for name in layout.x_names if name not in ("qx", "qy", "qz", "qw")]
            raise KinematicsError(f"{robot.name} has no coordinate {name!r}; {did_you_mean(name, known)}")
        values[name] = np.asarray(value, dtype=float)
    try:
        batch = np.broadcast_shapes(*(value.shape for value in values.values()))
    except ValueError:
        told = ", ".join(f"{name} {value.shape}" for name, value in values.items())
        raise KinematicsError(f"the coordinates do not broadcast: {told}") from None
    x = np.broadcast_to(reference_pose(robot), (*batch, layout.nx)).copy()
    for name, value in values.items():
        x[..., layout.x_names.index(name)] = value
    return x


def _pose_for_tool(
    robot: Robot, tool: str, position: Any, quat: Array | None, coordinates: dict[str, Any]
) -> Array:
    from nacelle.kinematics.tools.tool import pose_for_tool

    values = {name: np.asarray(value, dtype=float) for name, value in coordinates.items()}
    if position is not None:
        p = _shaped("position", position, (3,))
        values = {axis: p[..., k] for k, axis in enumerate("xyz")} | values
    return pose_for_tool(robot, tool, values, quat)


def _orientation(quat_xyzw: Any, rotation_matrix: Any, rotation_vector: Any, cardan: Any) -> Array:
    if quat_xyzw is not None:
        return _shaped("quat_xyzw", quat_xyzw, (4,))
    if rotation_matrix is not None:
        R = _shaped("rotation_matrix", rotation_matrix, (3, 3))
        with np.errstate(invalid="ignore"):
            off = np.max(np.abs(R @ np.swapaxes(R, -1, -2) - np.eye(3)), axis=(-1, -2), initial=0.0)
            if np.any(off > 1e-6) or np.any(np.linalg.det(np.nan_to_num(R, nan=1.0)) < -0.5):
                raise KinematicsError(
                    "rotation_matrix is no rotation: its columns must be of unit length, square to each "
                    "other and right-handed"
                )
        return quat_from_matrices(R)
    if rotation_vector is not None:
        return quat_exp(_shaped("rotation_vector", rotation_vector, (3,)))
    angles = _shaped("cardan", cardan, (3,))
    parts = [quat_exp(angles[..., k : k + 1] * np.eye(3)[k]) for k in range(3)]
    return quat_multiply(quat_multiply(parts[0], parts[1]), parts[2])


def _shaped(name: str, value: Any, shape: tuple[int, ...]) -> Array:
    array = np.asarray(value, dtype=float)
    if array.shape[-len(shape) :] != shape:
        wanted = ", ".join(map(str, shape))
        raise KinematicsError(f"{name} has the shape (..., {wanted}), got {array.shape}")
    return array


def is_angle(robot: Robot, name: str) -> bool:
    """Whether a coordinate of the motion is an angle; otherwise it is a length."""
    if name in robot.motion.joint_names:
        return robot.joints[robot.joint(name)].primitives[0].turns
    return name in ROTATIONS


def broadcast_guess(values: Array, shape: tuple[int, ...]) -> Array:
    """Spread guesses over a batch.

    Raises:
        KinematicsError: if they do not fit.
    """
    try:
        return np.broadcast_to(values, shape)
    except ValueError:
        raise KinematicsError(
            f"the guess is for a batch {values.shape[:-1]}, the samples are a batch {shape[:-1]}; give one "
            "guess, or one for each"
        ) from None


def reference_pose(robot: Robot) -> Array:
    """The reference pose as x (nx,)."""
    return mechanism_of(robot).reference[0].copy()


def checked_poses(robot: Robot, x: Any) -> tuple[Array, Array]:
    """Take poses (..., nx): quaternions are normalised, and samples that cannot be poses are told.

    Returns:
        The poses, and for each whether it is valid; invalid ones are NaN.

    Raises:
        KinematicsError: if the shape is wrong, or a single pose is invalid.
    """
    layout = layout_of(robot.motion)
    poses = np.array(x, dtype=float)
    if poses.shape[-1:] != (layout.nx,):
        raise KinematicsError(
            f"a pose of {robot.name} has {layout.nx} numbers ({', '.join(layout.x_names)}), so x has the "
            f"shape (..., {layout.nx}), got {poses.shape}"
        )
    finite = np.isfinite(poses)
    valid = np.all(finite, axis=-1)
    if layout.quaternion is not None:
        with np.errstate(all="ignore"):
            # Summed in this order: a single pose must get the same bits as in a batch (`one_state`).
            a, b, c, d = np.moveaxis(poses[..., layout.quaternion], -1, 0)
            length = np.sqrt(a * a + b * b + c * c + d * d)
            valid &= length > SHORTEST
            poses[..., layout.quaternion] /= length[..., None]
    if poses.ndim == 1 and not valid:
        bad = [name for name, good in zip(layout.x_names, finite, strict=True) if not good]
        reason = f"{', '.join(bad)} not finite" if bad else "its quaternion has no length"
        raise KinematicsError(f"this is no pose of {robot.name}: {reason}")
    poses[~valid] = np.nan
    return poses, valid


def checked_rates(robot: Robot, name: str, values: Any) -> Array:
    """Take reduced twists or accelerations (..., n).

    Raises:
        KinematicsError: if the shape is wrong.
    """
    rates = np.asarray(values, dtype=float)
    if rates.shape[-1:] != (robot.motion.n,):
        raise KinematicsError(
            f"{name} of {robot.name} has {robot.motion.n} numbers ({', '.join(robot.motion.coordinates)}), "
            f"so its shape is (..., {robot.motion.n}), got {rates.shape}"
        )
    return rates
