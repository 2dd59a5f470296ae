"""Why a pose cannot be taken, and how near a singularity is, in words."""

from __future__ import annotations

import math

import numpy as np

from nacelle.errors import KinematicsError, SingularError, UnreachableError
from nacelle.kinematics.flags import Flag
from nacelle.kinematics.inverse import InverseKinematics
from nacelle.kinematics.limits import has_limit, outside
from nacelle.kinematics.singularity import Singularities
from nacelle.model.joint import Joint, JointKind, Primitive

# At most so many joints beyond their limits are named.
_NAMED = 4


def failure_words(error: KinematicsError) -> str:
    """Why a pose has no solution: the legs that do not reach, a singular leg, or loops that stay open."""
    if isinstance(error, UnreachableError) and error.legs:
        legs = ", ".join(error.legs)
        return f"out of reach: {legs} {'is' if len(error.legs) == 1 else 'are'} too short or too long"
    if isinstance(error, SingularError):
        return f"{error.kind} singularity: {_plain(error)}"
    return f"out of reach: {_plain(error)}"


def _plain(error: KinematicsError) -> str:
    """The message of an error without the robot's name before it."""
    return str(error).partition(": ")[2] or str(error)


def limit_words(solution: InverseKinematics) -> str:
    """Which joints and drives are beyond their limits at one pose, with their values; "" if none is."""
    robot = solution.robot
    beyond: dict[int, str] = {}
    for j, joint in enumerate(robot.joints):
        if has_limit(joint) and joint.kind is not JointKind.POINT:
            q = solution.joint(joint.name)
            if bool(outside(joint, q)):
                beyond[j] = _joint_words(joint, q)
    for k, actuator in enumerate(robot.actuators):
        value, (low, high) = float(solution.actuators[k]), actuator.position
        angle = robot.revolute_actuators[k]
        if not low - 1e-9 <= value <= high + 1e-9:
            beyond[actuator.joint] = (
                f"{actuator.name} at {_shown(value, angle)} ({_range_words(low, high, angle)})"
            )
    more = f" and {len(beyond) - _NAMED} more" if len(beyond) > _NAMED else ""
    return ", ".join([*beyond.values()][:_NAMED]) + more


def branch_words(flags: int) -> str:
    """What is to be said of a pose that has a solution on another branch; "" if it has not."""
    if flags & int(Flag.OTHER_BRANCH):
        return "the loops close only on a branch that is not connected with the reference pose"
    return ""


def singularity_words(measures: Singularities) -> tuple[str, float]:
    """The kind of the nearest singularity and its measure at one pose: 1 is best, 0 is singular."""
    legs = [leg.name for leg in measures.robot.legs]
    values = {"parallel": float(measures.parallel), "constraint": float(measures.constraint)}
    if measures.serial.shape[-1]:
        worst = int(np.argmin(measures.serial))
        name = f"serial ({legs[worst]})" if worst < len(legs) else "serial"
        values = {name: float(measures.serial[worst]), **values}
    kind = min(values, key=lambda key: values[key])
    return kind, values[kind]


def _joint_words(joint: Joint, q: np.ndarray) -> str:
    """A joint beyond its limits: the coordinate that is, its value and the limits."""
    place = 0
    for primitive, (low, high) in zip(joint.primitives, joint.limits, strict=False):
        if primitive is Primitive.SPHERICAL:
            tilt = math.acos(min(1.0, max(-1.0, 1.0 - 2.0 * float(q[place] ** 2 + q[place + 1] ** 2))))
            if tilt > high:
                return f"{joint.name} tilted by {_shown(tilt, True)} ({_range_words(low, high, True)})"
        elif not low - 1e-9 <= float(q[place]) <= high + 1e-9:
            angle = primitive.is_rotation
            return f"{joint.name} at {_shown(float(q[place]), angle)} ({_range_words(low, high, angle)})"
        place += primitive.nq
    return joint.name


def _range_words(low: float, high: float, angle: bool) -> str:
    if math.isfinite(low) and math.isfinite(high):
        return f"limits {_shown(low, angle)} to {_shown(high, angle)}"
    return f"limit {_shown(low if math.isfinite(low) else high, angle)}"


def _shown(value: float, angle: bool) -> str:
    return f"{math.degrees(value):.1f}°" if angle else f"{value * 1e3:.1f} mm"
