"""Velocities and accelerations of all bodies and all joints, from the motion of the nacelle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nacelle.errors import KinematicsError, SingularError
from nacelle.kinematics import functions
from nacelle.kinematics.flags import Flag, failed
from nacelle.kinematics.inverse import NEAR_GATE, unknowns, unreachable
from nacelle.kinematics.mechanism import mechanism
from nacelle.kinematics.native import native
from nacelle.kinematics.pose_input import checked_poses, checked_rates
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array


@dataclass(frozen=True, eq=False)
class BodyMotion:
    """How all bodies move.

    Attributes:
        twist: [v; w] (..., bodies, 6) of each body at its frame's origin, base axes, m/s and rad/s.
        acceleration: its time derivative.
        flags: for every sample what was found (`Flag`).
    """

    twist: Array
    acceleration: Array
    flags: Array


@dataclass(frozen=True, eq=False)
class JointMotion:
    """How all joints of the tree move.

    Attributes:
        q: coordinates (..., nq).
        rate: rates (..., nv); of balls the angular velocity in the successor's frame.
        acceleration: derivatives of the rates.
        actuators: coordinates, rates and accelerations of the actuators (..., actuators).
        flags: for every sample what was found (`Flag`).
    """

    q: Array
    rate: Array
    acceleration: Array
    actuators: tuple[Array, Array, Array]
    flags: Array


def solved(robot: Robot, x: Any, *others: Array) -> tuple[Array, Array, Array]:
    """Take poses and find what needs iteration: (x, y, flags), all with the common batch shape."""
    poses, valid = checked_poses(robot, x)
    try:
        batch = np.broadcast_shapes(poses.shape[:-1], *(other.shape[:-1] for other in others))
    except ValueError:
        shapes = ", ".join(str(array.shape) for array in (poses, *others))
        raise KinematicsError(f"the batch dimensions do not broadcast: {shapes}") from None
    y, closed = unknowns(mechanism(robot), poses)
    flags = np.where(valid, np.where(closed, 0, int(Flag.UNREACHABLE)), int(Flag.INVALID))
    for other in others:
        finite = np.all(np.isfinite(other), axis=-1)
        flags = flags | np.where(finite, 0, int(Flag.INVALID))
    return poses, y, np.broadcast_to(flags, batch).copy()


def settle(robot: Robot, x: Array, found: dict[str, Array], flags: Array) -> dict[str, Array]:
    """Flag samples out of reach or near a serial singularity, and set the results of failed ones to NaN.

    Raises:
        UnreachableError: if there is only one sample, and it is out of reach.
        SingularError: if there is only one sample, and a leg is at a serial singularity.
        KinematicsError: if there is only one sample, and it is not finite.
    """
    gates = found.pop("gates")
    open_loops = bool(np.any((flags & int(Flag.UNREACHABLE)) != 0))
    results = list(found.values())
    finite = np.ones(flags.shape, dtype=bool)
    for value in results:
        finite &= np.all(np.isfinite(value), axis=tuple(range(flags.ndim, value.ndim)))
    with np.errstate(invalid="ignore"):
        reached = np.all(gates >= 0.0, axis=-1)
        near = np.any(gates < NEAR_GATE, axis=-1)
    invalid = (flags & int(Flag.INVALID)) != 0
    flags |= np.where(reached | invalid, 0, int(Flag.UNREACHABLE))
    flags |= np.where(reached & ~finite & ~failed(flags), int(Flag.SINGULAR), 0)
    flags |= np.where(near & ~failed(flags), int(Flag.NEAR_SINGULAR), 0)
    bad = failed(flags)
    if flags.ndim == 0 and bad:
        if invalid:
            raise KinematicsError("a velocity, an acceleration or a force is not finite")
        if reached and not open_loops:
            legs = [leg.name for leg, gate in zip(robot.legs, gates, strict=True) if not gate > 0.0]
            who = f"leg {legs[0]!r}" if len(legs) == 1 else "a leg"
            raise SingularError(
                f"{robot.name}: {who} is at a serial singularity, stretched or folded, where its rates are "
                "not determined",
                "serial",
            )
        raise unreachable(robot, x, gates, closed=not open_loops)
    for value in results:
        value[bad] = np.nan
    return found


def body_motion(robot: Robot, x: Any, v: Any = None, a: Any = None) -> BodyMotion:
    """Twists and accelerations of all bodies.

    Args:
        robot: the robot.
        x: reduced poses (..., nx).
        v: reduced twists (..., n); zero if None.
        a: their derivatives (..., n); zero if None.

    Raises:
        KinematicsError: if shapes are wrong or a single sample is not finite.
        UnreachableError: if a single pose is out of reach; in a batch it is flagged.
    """
    n = robot.motion.n
    v = checked_rates(robot, "the twist v", np.zeros(n) if v is None else v)
    a = checked_rates(robot, "the acceleration a", np.zeros(n) if a is None else a)
    poses, y, flags = solved(robot, x, v, a)
    found = settle(robot, poses, native(functions.body_motions, robot)(poses, y, v, a), flags)
    return BodyMotion(found["twist"], found["acceleration"], flags)


def joint_motion(robot: Robot, x: Any, v: Any = None, a: Any = None) -> JointMotion:
    """Coordinates, rates and accelerations of all joints of the tree; arguments as in `body_motion`."""
    n = robot.motion.n
    v = checked_rates(robot, "the twist v", np.zeros(n) if v is None else v)
    a = checked_rates(robot, "the acceleration a", np.zeros(n) if a is None else a)
    poses, y, flags = solved(robot, x, v, a)
    found = settle(robot, poses, native(functions.joint_motions, robot)(poses, y, v, a), flags)
    active = (found["active"], found["active_rate"], found["active_acceleration"])
    return JointMotion(found["q"], found["rate"], found["acceleration"], active, flags)
