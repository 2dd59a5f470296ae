"""The reduced pose x from the ways in which users write poses.

x (nx,) has the coordinates of the robot's motion alone: translations of the platform frame's origin in the
base (m), a unit quaternion where the orientation is free, else single angles (rad), then joints of the
platform. An orientation R (3, 3) of the platform in the base may be given in four ways, all made a
quaternion:

    quat_xyzw (x, y, z, w)      rotation_matrix R      rotation_vector r, R = exp(skew(r))
    cardan (a, b, c), R = Rx(a) Ry(b) Rz(c)

The pose of a tool, T = P F with P the pose of its body and F the constant one of the tool on it, is
solved for x: exactly where the motion allows it, by iteration where there is parasitic motion.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from nacelle.errors import KinematicsError, did_you_mean
from nacelle.kinematics.pose_input import reference_pose
from nacelle.kinematics.tools import TRANSLATIONS, find_tool, tool_pose, tool_to_pose
from nacelle.model.platform import Motion
from nacelle.model.reduced import QUATERNION, ROTATIONS, layout_of
from nacelle.model.robot import Robot
from nacelle.spatial.rotation import quat_exp, quat_from_matrices, quat_multiply
from nacelle.spatial.scalar import Array


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
    """Make a reduced pose x (..., nx) of a robot, from the pose of its platform or of a tool.

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
            platform keep their meaning; those that are not given stay as in the reference pose, or follow
            where the place or the orientation of the tool needs them (a tilting table, a spherical robot).
        **coordinates: single coordinates by name: "x", "rz", a joint of the platform.

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
    quat = _orientation(quat_xyzw, rotation_matrix, rotation_vector, cardan) if orientation else None
    if tool is not None:
        named = {name: np.asarray(value, dtype=float) for name, value in coordinates.items()}
        if position is not None:
            p = _check_shape("position", position, (3,))
            named = {axis: p[..., k] for k, axis in enumerate(TRANSLATIONS)} | named
        return _pose_for_tool(robot, tool, named, quat)
    if quat is not None and layout.quaternion is None:
        raise KinematicsError(
            f"the motion {robot.motion.name} of {robot.name} has no free orientation; give its angles by name"
        )
    values: dict[str, Array] = {}
    if position is not None:
        p = _check_shape("position", position, (3,))
        values |= {axis: p[..., k] for k, axis in enumerate("xyz") if axis in layout.x_names}
    if quat is not None:
        values |= {name: quat[..., k] for k, name in enumerate(QUATERNION)}
    for name, value in coordinates.items():
        if name not in layout.x_names or name in QUATERNION:
            names = [name for name in layout.x_names if name not in QUATERNION]
            raise KinematicsError(f"{robot.name} has no coordinate {name!r}; {did_you_mean(name, names)}")
        values[name] = np.asarray(value, dtype=float)
    x = np.broadcast_to(reference_pose(robot), (*_batch_shape(values), layout.nx)).copy()
    for name, value in values.items():
        x[..., layout.x_names.index(name)] = value
    return x


def _pose_for_tool(robot: Robot, tool: str, values: Mapping[str, Array], quat_xyzw: Array | None) -> Array:
    """Poses of the platform from named coordinates of a tool, as `pose` takes them."""
    names_of_tool = [*TRANSLATIONS, *(n for n in robot.motion.coordinates if n not in TRANSLATIONS)]
    free = layout_of(robot.motion).quaternion is not None
    if free:
        names_of_tool = [name for name in names_of_tool if name not in ROTATIONS]
    for name in values:
        if name not in names_of_tool:
            raise KinematicsError(
                f"{robot.name} has no coordinate {name!r}; {did_you_mean(name, names_of_tool)}"
            )
    names = [name for name in names_of_tool if name in values]
    find_tool(robot, tool)
    if quat_xyzw is not None:
        clash = [name for name in names if name in ROTATIONS]
        if clash:
            raise KinematicsError(f"the orientation of the tool is given twice: {clash[0]} and as a whole")
        names += ROTATIONS
    elif free and set(TRANSLATIONS) & set(names) <= set(robot.motion.coordinates):
        # An orientation that is not given stays as in the reference pose.
        quat_xyzw = tool_pose(robot, reference_pose(robot), tool).quat_xyzw
        names += ROTATIONS
    if not names:
        return reference_pose(robot)
    motion = Motion(tuple(names))
    layout = layout_of(motion)
    coordinates = np.empty((*_batch_shape(values, quat_xyzw), layout.nx))
    for name, value in values.items():
        coordinates[..., layout.x_index(name)] = value
    if quat_xyzw is not None:
        coordinates[..., layout.quaternion] = quat_xyzw
    return tool_to_pose(robot, coordinates, tool, motion)


def _batch_shape(values: Mapping[str, Array], quat_xyzw: Array | None = None) -> tuple[int, ...]:
    """The common batch shape of named coordinates (...) and of an orientation (..., 4)."""
    try:
        shapes_of_quat = [] if quat_xyzw is None else [quat_xyzw.shape[:-1]]
        return np.broadcast_shapes(*(value.shape for value in values.values()), *shapes_of_quat)
    except ValueError:
        shapes = ", ".join(f"{name} {value.shape}" for name, value in values.items())
        raise KinematicsError(f"the coordinates do not broadcast: {shapes}") from None


def _orientation(quat_xyzw: Any, rotation_matrix: Any, rotation_vector: Any, cardan: Any) -> Array:
    if quat_xyzw is not None:
        return _check_shape("quat_xyzw", quat_xyzw, (4,))
    if rotation_matrix is not None:
        R = _check_shape("rotation_matrix", rotation_matrix, (3, 3))
        with np.errstate(invalid="ignore"):
            off = np.max(np.abs(R @ np.swapaxes(R, -1, -2) - np.eye(3)), axis=(-1, -2), initial=0.0)
            if np.any(off > 1e-6) or np.any(np.linalg.det(np.nan_to_num(R, nan=1.0)) < -0.5):
                raise KinematicsError(
                    "rotation_matrix is no rotation: its columns must be of unit length, perpendicular to "
                    "each other and right-handed"
                )
        return quat_from_matrices(R)
    if rotation_vector is not None:
        return quat_exp(_check_shape("rotation_vector", rotation_vector, (3,)))
    angles = _check_shape("cardan", cardan, (3,))
    parts = [quat_exp(angles[..., k : k + 1] * np.eye(3)[k]) for k in range(3)]
    return quat_multiply(quat_multiply(parts[0], parts[1]), parts[2])


def _check_shape(name: str, value: Any, shape: tuple[int, ...]) -> Array:
    array = np.asarray(value, dtype=float)
    if array.shape[-len(shape) :] != shape:
        dimensions = ", ".join(map(str, shape))
        raise KinematicsError(f"{name} has shape (..., {dimensions}), got {array.shape}")
    return array
