"""Admissible motions: what is checked at every sample, in every law, before a force leaves.

A state (x, v) of the platform with its unknowns y is admissible where all of these are positive:

    margins of the legs - NEAR_MARGIN               every leg reaches the pose, away from serial singularities
    numbers of the branch                           iterated loops are on the branch of the reference
    p - NEAR_MARGIN, p = s d |d| / prod_i |J_i|^2   no parallel singularity is near, or has been crossed
    distances of all joints from their limits
    speed_i - |q'_i|, q' = J v                      drives with a described speed

J are the rates of the actuators from the reduced twist, lengths in units of the robot's size, J_i its rows, d
its determinant and s the sign of d at the start: like the margins p is a squared inverse condition up to a
small factor, and below zero beyond the singularity. Drives that are redundant have no such sign: the
independence of the columns of J is p.

The desired motion is checked as it is stated (`_DESIRED_TOLERANCE`), the measured state with more room
(`MEASURED_TOLERANCE`):
controllers overshoot, encoders have noise. Of the desired motion the numbers must be finite, quaternions of
unit length, loops closed by the steps of a sample, and coordinates of drives with a described speed change by
no more than that within a sample. Of the measured state the readings are within the limits of the drives; its
pose is that at which the forces act, where a law knows it.

What is not admissible stops the controller at once: no force, unless a stop is to do more
(`nacelle.control.laws.safeguarded`), and the memory as it was but for the reason, the first that applies in
the order of `StopReason`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import IntEnum
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from nacelle.control.blocks.desired import close_loops
from nacelle.control.blocks.pose import pose_difference
from nacelle.control.blocks.signals import (
    StopReason,
    coordinate_difference,
    finite_force,
    halt_forces,
    presence_sign,
    select,
    wrap_angle,
)
from nacelle.control.kind import ControlStep, DesiredMotion
from nacelle.kinematics.branch import RELATION_TOLERANCE, branch_determinants
from nacelle.kinematics.configuration import configuration
from nacelle.kinematics.kinematic_model import inverse_jacobian
from nacelle.kinematics.margins import NEAR_MARGIN
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.shapes import twist_scales
from nacelle.kinematics.solve.newton_steps import loop_closing_step
from nacelle.model.robot import Robot
from nacelle.simulation.rigid_plant import joint_limits, limit_margins, widen_limits
from nacelle.spatial.scalar import Array, Scalar, absolute, divide, dot, pack, sign, where
from nacelle.spatial.solve import column_independence

# What a loop may leave open before the last of Newton's steps, over the robot's size: the step squares it.
_MAX_OPENING = 1e-4
# How far the square of a quaternion's length may be from 1.
_QUATERNION_TOLERANCE = 1e-3


class Tolerance(NamedTuple):
    """How far a state may go.

    Attributes:
        limits: beyond limits of joints, over the range; over 1 rad or the robot's size if one side is open.
        speed: multiple of the described speed.
        wrong: off relations of a branch's unknowns, rad or robot's sizes: as exactly as these are known.
    """

    limits: float
    speed: float
    wrong: float = RELATION_TOLERANCE


# A hundredth is more than single precision makes of a rate by differences.
_DESIRED_TOLERANCE, MEASURED_TOLERANCE = Tolerance(0.0, 1.01), Tolerance(0.02, 1.5)


# ---- what the check remembers


def setpoint_memory(robot: Robot) -> dict[str, int]:
    """Parts of the memory that the check of the desired motion takes, with their sizes."""
    mechanism, m = mechanism_of(robot), len(robot.actuators)
    return {
        "y_d": mechanism.unknown_count,
        "q_d": m if described_speeds(robot) else 0,
        "side": 1 if m == robot.motion.n else 0,
    }


def setpoint_memory_at_rest(robot: Robot, x: Array, y: Array) -> dict[str, Any]:
    """These parts at a start at rest, at a pose x (nx,) with y (ny,)."""
    side: Any = np.zeros(0)
    if len(robot.actuators) == robot.motion.n:
        side = pack([sign(determinant(inverse_jacobian(robot, x, y)["J"]))])
    return {"y_d": y, "q_d": 0.0, "side": side}


# ---- the check of a state


class Aspect(IntEnum):
    """What a number says of a state; in this order they are reasons of a stop."""

    FINITE = 0
    REACH = 1
    SINGULARITY = 2
    LIMITS = 3
    SPEED = 4


class Check(NamedTuple):
    """A number that is above zero where a state is admissible in one of its aspects."""

    aspect: Aspect
    number: Scalar


class KinematicState(NamedTuple):
    """Coordinates of the actuators, their Jacobian (actuators, n), and what is checked."""

    q: Array
    J: Array
    checks: list[Check]

    @property
    def numbers(self) -> list[Scalar]:
        """Numbers above zero if the state is admissible."""
        return [check.number for check in self.checks]


def first_failure(reason: StopReason, checks: Sequence[Check]) -> Scalar:
    """Zero where all numbers are above zero, else the reason of a stop.

    Args:
        reason: that of the aspect FINITE; those of other aspects follow it.
        checks: what is checked; of those that fail, or are not numbers, the first by its aspect counts.
    """
    failure: Scalar = 0.0
    for aspect, number in sorted(checks, key=lambda check: -check.aspect):
        failure = where(number, failure, float(reason + aspect))
    return failure


def check_state(robot: Robot, z: dict[str, Array], state: Sequence[Array], room: Tolerance) -> KinematicState:
    """A state (x, y, v) of the platform: reach, branch, singularities, limits, speeds.

    Args:
        robot: the model.
        z: memory with the part side.
        state: pose (nx,), passive coordinates at it (ny,), twist (n,).
        room: how far it may go.
    """
    x, y, v = state
    at, now = inverse_jacobian(robot, x, y), configuration(robot, x, y)
    J = np.asarray(at["J"])
    limits = limit_margins(robot, now, widen_limits(robot, joint_limits(robot, stops=True), room.limits))
    speeds = [room.speed * speed - absolute(dot(J[i], v)) for i, speed in described_speeds(robot).items()]
    checks = [Check(Aspect.REACH, margin - NEAR_MARGIN) for margin in at["margins"]]
    checks += [Check(Aspect.REACH, number) for number in branch_determinants(now, y, room.wrong)]
    checks.append(Check(Aspect.SINGULARITY, parallel_singularity_margin(robot, J, z["side"])))
    checks += [Check(Aspect.LIMITS, number) for number in limits]
    checks += [Check(Aspect.SPEED, number) for number in speeds]
    return KinematicState(np.asarray(at["q"]), J, checks)


def parallel_singularity_margin(robot: Robot, J: Array, side: Array, least: Scalar = NEAR_MARGIN) -> Scalar:
    """A number that is positive where no parallel singularity is near: (p - least) prod_i |J_i|^2.

    Args:
        robot: the robot.
        J: actuators' Jacobian (actuators, n).
        side: sign of its determinant where the controller started (1,); empty for redundant drives.
        least: what p is compared with.
    """
    J = _in_one_unit(robot, J)
    if not len(side):
        return column_independence(J, np.ones(robot.motion.n)) - least
    d = determinant(J)
    bound: Scalar = least
    for row in J:
        bound = bound * dot(row, row)
    return side[0] * (d * absolute(d)) - bound


def _in_one_unit(robot: Robot, J: Array) -> Array:
    """The actuators' Jacobian with columns in the unit of the first: those of that unit take no product."""
    units = twist_scales(robot)
    return np.asarray(J * (units / units[0]))


def conditioning(robot: Robot, J: Array) -> Scalar:
    """How far a pose is from parallel singularities: p of the head of this module, without its sign.

    Args:
        robot: the robot.
        J: actuators' Jacobian (actuators, n).
    """
    J = _in_one_unit(robot, J)
    if len(J) != robot.motion.n:
        return column_independence(J, np.ones(robot.motion.n))
    d, rows = determinant(J), 1.0
    for row in J:
        rows = rows * dot(row, row)
    return divide(d * d, rows)


def determinant(A: Array) -> Scalar:
    """The determinant of a square matrix of any scalar, without division: minors of the last rows first.

    A minor of k rows is expanded along its first row by those of k - 1, each of which is made once.
    """
    n = len(A)
    minors: dict[tuple[int, ...], Scalar] = {(): 1.0}
    for size, row in enumerate(A[::-1], 1):
        for columns in combinations(range(n), size):
            value: Scalar = 0.0
            for k, j in enumerate(columns):
                term = row[j] * minors[columns[:k] + columns[k + 1 :]]
                value = value - term if k % 2 else value + term
            minors[columns] = value
    return minors[tuple(range(n))]


def described_speeds(robot: Robot) -> dict[int, float]:
    """Speeds of the drives that have one in the description, rad/s or m/s, by the actuator."""
    speeds = (float(actuator.speed) for actuator in robot.actuators)
    return {i: speed for i, speed in enumerate(speeds) if math.isfinite(speed)}


# ---- the desired motion


class Setpoint(NamedTuple):
    """The desired motion: zero if it is admissible or why it is not, and parts of the memory after it."""

    reason: Scalar
    memory: dict[str, Any]


def check_setpoint(
    robot: Robot,
    z: dict[str, Array],
    motion: DesiredMotion,
    k: dict[str, Array],
    branch_tolerance: float = RELATION_TOLERANCE,
) -> Setpoint:
    """Whether the desired motion of a sample may be followed.

    Args:
        robot: the model.
        z: memory with the parts `setpoint_memory` and started.
        motion: the desired motion.
        k: gains with the part period.
        branch_tolerance: as in `Tolerance`.
    """
    closed = close_loops(robot, z["y_d"], motion.x)
    at = check_state(
        robot, z, (motion.x, closed.y, motion.v), _DESIRED_TOLERANCE._replace(wrong=branch_tolerance)
    )
    total = sum(absolute(entry) for part in motion for entry in part)
    checks = [
        *at.checks,
        Check(Aspect.REACH, _MAX_OPENING - closed.error),
        Check(Aspect.FINITE, presence_sign(total)),
    ]
    quaternion = mechanism_of(robot).layout.quaternion
    if quaternion is not None:
        # Absolute entries: of unit quaternions, at which identities are sought, the square is the constant 1.
        quat = absolute(motion.x[quaternion])
        checks.append(Check(Aspect.FINITE, _QUATERNION_TOLERANCE - absolute(dot(quat, quat) - 1.0)))
    speeds = described_speeds(robot)
    if speeds:
        step = coordinate_difference(robot, at.q, z["q_d"])
        # The first sample has none before it.
        for i, speed in speeds.items():
            slack = (_DESIRED_TOLERANCE.speed * speed) * k["period"][0] - absolute(step[i])
            checks.append(Check(Aspect.SPEED, where(z["started"][0], slack, 1.0)))
    parts = {"y_d": closed.y, "q_d": at.q if speeds else np.zeros(0), "side": z["side"]}
    return Setpoint(first_failure(StopReason.DESIRED_NOT_FINITE, checks), parts)


# ---- the measured state


def check_measured(
    robot: Robot,
    z: dict[str, Array],
    step: ControlStep,
    k: dict[str, Array],
    q: Array | None,
    branch_tolerance: float = RELATION_TOLERANCE,
) -> Scalar:
    """Zero where the measured state may be driven, else why it may not.

    Args:
        robot: the model.
        z: memory with the part side.
        step: of the law; with the state at which its forces act, or the rates of its actuators.
        k: gains with the part period.
        q: readings (actuators,), NaN for a missing one; None where the platform is observed otherwise.
        branch_tolerance: as in `Tolerance`.
    """
    checks: list[Check] = []
    if step.state is not None:
        x, y, v = step.state
        at = check_state(robot, z, (x, y, v), MEASURED_TOLERANCE._replace(wrong=branch_tolerance))
        checks += at.checks
        speeds = described_speeds(robot)
        if speeds and "x" in z:
            # The filtered rate of readings that jump is small: the step itself counts, but for the first.
            displacement = pose_difference(robot, x, z["x"], z["y"])
            for i, speed in speeds.items():
                slack = (MEASURED_TOLERANCE.speed * speed) * k["period"][0] - absolute(
                    dot(at.J[i], displacement)
                )
                checks.append(Check(Aspect.SPEED, where(z["started"][0], slack, 1.0)))
        if len(y):
            checks.append(Check(Aspect.REACH, _MAX_OPENING - loop_closing_step(robot, y, x)["error"]))
    if step.rate is not None:
        checks += [
            Check(Aspect.SPEED, MEASURED_TOLERANCE.speed * speed - absolute(step.rate[i]))
            for i, speed in described_speeds(robot).items()
        ]
    if q is not None:
        checks += [Check(Aspect.LIMITS, number) for number in _reading_margins(robot, q)]
    return first_failure(StopReason.FORCE_NOT_FINITE, checks)


def _reading_margins(robot: Robot, q: Array) -> list[Scalar]:
    """Numbers that are positive where readings are within the limits of the drives, or missing."""
    numbers = []
    limits = [limit for limit in joint_limits(robot, stops=True) if limit.primitive is None]
    for limit in widen_limits(robot, limits, MEASURED_TOLERANCE.limits):
        low, high = limit.pair
        middle = 0.5 * (low + high) if math.isfinite(high - low) else low if math.isfinite(low) else high
        off = q[limit.joint] - middle
        if limit.kind == "revolute":
            off = wrap_angle(off)
        room = (high - middle) - off if limit.upper else off - (low - middle)
        numbers.append(where(presence_sign(q[limit.joint]), room, 1.0))
    return numbers


# ---- what leaves


def release_force(
    robot: Robot,
    z: dict[str, Array],
    step: ControlStep,
    motion: DesiredMotion,
    k: dict[str, Array],
    *,
    q: Array | None = None,
    further: Sequence[tuple[int, Scalar]] = (),
    branch_tolerance: float = RELATION_TOLERANCE,
) -> ControlStep:
    """What a sample gives: that of the law where all is admissible, else no force and why it stopped.

    Once a controller has stopped there are no forces, and the memory stays as it was.

    Args:
        robot: the model.
        z: parts of the memory before the sample.
        step: what the law gives, forces within the limits of the drives.
        motion: the desired motion.
        k: gains with the part period.
        q: readings (actuators,); None where the platform is observed otherwise.
        further: other reasons of a stop, each with a number above zero where it does not apply.
        branch_tolerance: as in `Tolerance`.
    """
    setpoint = check_setpoint(robot, z, motion, k, branch_tolerance)
    measured = check_measured(robot, z, step, k, q, branch_tolerance)
    # A force that is not a number at an admissible state is one that the desired motion requires.
    reason = where(finite_force(step.tau), step.memory["stopped"][0], float(StopReason.FORCE_NOT_FINITE))
    for code, number in further:
        reason = where(number, reason, float(code))
    reason = where(setpoint.reason, setpoint.reason, where(measured, measured, reason))
    stopped = where(z["stopped"][0], z["stopped"][0], reason)
    memory = {name: select(stopped, z[name], part) for name, part in (step.memory | setpoint.memory).items()}
    return ControlStep(halt_forces(stopped, step.tau), memory | {"stopped": pack([stopped])})
