"""Where variants really are when their actuators are where those of the nominal robot would be.

A controller that knows the nominal numbers p0 commands q = q(x; p0). A robot with other numbers p then stands
at the pose x_p with q(x_p; p) = q, found by Newton's iteration with the exact Jacobian,

    x_p <- x_p + X(x_p) J_r(x_p; p) (q - q(x_p; p)),       x' = X v,

and its error is x_p - x: lengths in m, rotations as the angle or the rotation vector in base axes, rad.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from nacelle.errors import KinematicsError
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.pose_input import is_angle
from nacelle.model.robot import Robot
from nacelle.spatial.rotation import quat_conjugate, quat_log, quat_multiply
from nacelle.spatial.scalar import Array
from nacelle.studies.channels import JACOBIAN, TANGENT, ChannelProgram, Q, States
from nacelle.tree.spanning_tree import wrap_angles

# Newton's iteration: the most steps, and what is left at the end, rad or robot sizes.
_STEPS, _CLOSED = 20, 1e-12
CHANNELS = frozenset({Q, JACOBIAN, TANGENT})
POSITION, ROTATION = "position", "rotation"


@dataclass(frozen=True)
class PoseErrorQuantity:
    """The largest error of the pose over some states.

    Attributes:
        coordinate: "position" (distance, m), "rotation" (angle, rad), or a coordinate of the motion, whose
            error keeps its sign.
        states: motion or region.
        unit: SI.
    """

    coordinate: str
    states: str = ""
    unit: str = "m"


def pose_error_unit(robot: Robot, coordinate: str) -> str:
    """Unit of the error of a coordinate.

    Raises:
        KinematicsError: if the robot has no such coordinate.
    """
    if coordinate in (POSITION, ROTATION):
        return "m" if coordinate == POSITION else "rad"
    if coordinate not in robot.motion.coordinates:
        names = ", ".join((POSITION, ROTATION, *robot.motion.coordinates))
        raise KinematicsError(f"{robot.name} has no error of {coordinate!r}; known: {names}")
    return "rad" if is_angle(robot, coordinate) else "m"


def pose_errors(program: ChannelProgram, nominal: Array, numbers: Array, states: States) -> Array:
    """Errors (N, S, n) along the coordinates of the motion; NaN where a variant does not reach there.

    Args:
        program: of the channels `CHANNELS`.
        nominal: numbers (k,) that the controller knows.
        numbers: of the variants (N, k).
        states: poses of the nominal robot.
    """
    robot = program.robot
    layout = mechanism_of(robot).layout
    commanded = np.concatenate([part.values["q"] for part in program.parts(nominal[None], states)], axis=1)
    scale = np.where(robot.revolute_actuators, 1.0, robot.size)
    x = np.broadcast_to(states.x, (len(numbers), *states.x.shape)).copy()
    failed = np.zeros(x.shape[:2], dtype=bool)
    for _ in range(_STEPS):
        at = replace(states, x=x)
        left = 0.0
        for part in program.parts(numbers, at):
            gap = commanded[:, part.states] - part.values["q"]
            gap = np.where(robot.revolute_actuators, wrap_angles(gap, 0.0), gap)
            bad = part.failed[..., None]
            J = np.where(bad[..., None], np.eye(*part.values["J"].shape[-2:]), part.values["J"])
            v = np.einsum("nsij,nsj->nsi", np.linalg.pinv(J), np.where(bad, 0.0, gap))
            x[:, part.states] += np.einsum(
                "nsij,nsj->nsi", np.where(bad[..., None], 0.0, part.values["tangent"]), v
            )
            failed[:, part.states] |= part.failed
            left = max(left, float(np.max(np.abs(np.where(bad, 0.0, gap)) / scale, initial=0.0)))
        if layout.quaternion is not None:
            quaternion = x[..., layout.quaternion]
            x[..., layout.quaternion] = quaternion / np.linalg.norm(quaternion, axis=-1, keepdims=True)
        if left < _CLOSED:
            break
    error = np.empty((*x.shape[:2], robot.motion.n))
    for k, name in enumerate(robot.motion.coordinates):
        if layout.quaternion is None or name not in ("rx", "ry", "rz"):
            index = layout.x_names.index(name)
            error[..., k] = x[..., index] - states.x[:, index]
    if layout.quaternion is not None:
        rotation = quat_multiply(x[..., layout.quaternion], quat_conjugate(states.x[:, layout.quaternion]))
        error[..., layout.angular] = quat_log(rotation)
    error[failed] = np.nan
    return error


def largest_error(robot: Robot, errors: Array, coordinate: str) -> Array:
    """The largest error (N,) of a coordinate over the states of errors (N, S, n)."""
    if coordinate in (POSITION, ROTATION):
        angles = [is_angle(robot, name) == (coordinate == ROTATION) for name in robot.motion.coordinates]
        return np.asarray(np.max(np.linalg.norm(errors[..., angles], axis=-1), axis=1))
    values = errors[..., robot.motion.coordinates.index(coordinate)]
    index = np.argmax(np.abs(np.nan_to_num(values, nan=np.inf)), axis=1)
    return np.asarray(values[np.arange(len(values)), index])
