"""Poses and rates as users give them: checked, normalised, spread over a batch."""

from __future__ import annotations

from typing import Any

import numpy as np

from nacelle.errors import KinematicsError
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.reduced import ROTATIONS, layout_of
from nacelle.model.robot import Robot
from nacelle.spatial.rotation import quat_exp, quat_multiply
from nacelle.spatial.scalar import Array

# A quaternion that is shorter is no orientation.
SHORTEST_QUATERNION = 1e-12


def is_angle(robot: Robot, name: str) -> bool:
    """Whether a coordinate of the motion is an angle; otherwise it is a length."""
    if name in robot.motion.joint_names:
        return robot.joints[robot.joint(name)].primitives[0].is_rotation
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
    """The reference pose of the description as x (nx,): m, and rad or quat_xyzw, base axes."""
    return mechanism_of(robot).reference[0].copy()


def displace_pose(robot: Robot, x: Array, step: Array) -> Array:
    """Poses (..., nx) moved by steps (..., n) of their coordinates; of a quaternion exp(step) q, rad."""
    layout = layout_of(robot.motion)
    (linear, quat), (moves, vector) = layout.split_x(x), layout.split_v(step)
    rotated = None if quat is None or vector is None else quat_multiply(quat_exp(vector), quat)
    return layout.join_x(linear + moves, rotated)


def check_poses(robot: Robot, x: Any) -> tuple[Array, Array]:
    """Take poses (..., nx): quaternions are normalised, and samples that cannot be poses are marked.

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
    finite, length = np.isfinite(poses), np.array(1.0)
    valid = np.all(finite, axis=-1)
    if layout.quaternion is not None:
        with np.errstate(all="ignore"):
            # Summed in this order: a single pose must get the same bits as in a batch (`single_sample`).
            a, b, c, d = np.moveaxis(poses[..., layout.quaternion], -1, 0)
            length = np.sqrt(a * a + b * b + c * c + d * d)
            valid &= (length > SHORTEST_QUATERNION) & (length < np.inf)
            poses[..., layout.quaternion] /= length[..., None]
    if poses.ndim == 1 and not valid:
        bad = [name for name, good in zip(layout.x_names, finite, strict=True) if not good]
        size = "no length" if not length > SHORTEST_QUATERNION else "a length beyond all numbers"
        reason = f"{', '.join(bad)} not finite" if bad else f"its quaternion has {size}; unit length is right"
        raise KinematicsError(f"this is no pose of {robot.name}: {reason}")
    poses[~valid] = np.nan
    return poses, valid


def check_rates(robot: Robot, name: str, values: Any) -> Array:
    """Take reduced twists or accelerations (..., n); zero if None.

    Raises:
        KinematicsError: if the shape is wrong.
    """
    rates = np.zeros(robot.motion.n) if values is None else np.asarray(values, dtype=float)
    if rates.shape[-1:] != (robot.motion.n,):
        raise KinematicsError(
            f"{name} of {robot.name} has {robot.motion.n} numbers ({', '.join(robot.motion.coordinates)}), "
            f"so its shape is (..., {robot.motion.n}), got {rates.shape}"
        )
    return rates


def check_twist_and_derivative(robot: Robot, v: Any, a: Any) -> tuple[Array, Array]:
    """Take a twist v (..., n) and its derivative a (..., n), base axes, SI units; zero if None."""
    return check_rates(robot, "the twist v", v), check_rates(robot, "the acceleration a", a)


def check_actuators(robot: Robot, values: Any, what: str) -> Array:
    """Take a number for every actuator (..., actuators).

    Raises:
        KinematicsError: if the shape is wrong.
    """
    count, checked = len(robot.actuators), np.asarray(values, dtype=float)
    if checked.shape[-1:] != (count,):
        names = ", ".join(actuator.name for actuator in robot.actuators)
        raise KinematicsError(
            f"{robot.name} has {count} actuators ({names}), so {what} has the shape (..., {count}), "
            f"got {checked.shape}"
        )
    return checked
