"""What ends a run of a robot as numbers that are positive while all is well, over any scalar.

All of them come from one evaluation of the positions and of J_r^-1, without trigonometry: an angle is
given by its cosine and sine, and compared by them with those of its limits.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from nacelle.kinematics.actuation import actuator_rows, actuator_steps
from nacelle.kinematics.iteration.branch import branch_numbers, branch_of
from nacelle.kinematics.jacobian import scales
from nacelle.kinematics.limits import closure_steps
from nacelle.kinematics.margins import NEAR_MARGIN, margin_names, margins
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.tree.configuration import Configuration, configuration
from nacelle.kinematics.tree.rates import rate_map
from nacelle.kinematics.tree.spanning_tree import Step, Turn
from nacelle.model.joint import JointKind, Primitive
from nacelle.model.robot import Robot
from nacelle.simulation.flow import pose_of, state_size
from nacelle.spatial.physics import physics
from nacelle.spatial.scalar import Array, Scalar, divide, dot, pack, where
from nacelle.spatial.solve import solve

# The squared inverse condition below which a run ends near a parallel singularity.
SINGULAR = 1e-6
# How far beyond a limit a joint may be, rad or m: a run may start at a limit.
SLACK = 1e-9
# How near to a full turn from the reference orientation the platform may come, rad.
_NEAR_TURN = 0.05


class Limit(NamedTuple):
    """One limit of one coordinate.

    Attributes:
        name: what is said at it.
        joint: index of the joint, or of the actuator.
        place: which primitive of the joint; None for an actuator.
        pair: both limits of the coordinate.
        upper: whether it is the upper one.
        kind: of the coordinate: "prismatic", "revolute" or "spherical".
    """

    name: str
    joint: int
    place: int | None
    pair: tuple[float, float]
    upper: bool
    kind: str


def limits_of(robot: Robot) -> list[Limit]:
    """All limits of actuators and joints that can be met."""
    limits: list[Limit] = []
    driven = {}
    for k, actuator in enumerate(robot.actuators):
        primitive = robot.joints[actuator.joint].primitives[0]
        driven[actuator.joint] = actuator.position
        limits += _sides(actuator.name, k, None, actuator.position, _kind(primitive))
    for j, joint in enumerate(robot.joints):
        if joint.kind is JointKind.POINT:
            continue
        for place, (primitive, pair) in enumerate(zip(joint.primitives, joint.limits, strict=False)):
            if driven.get(j) == pair:
                continue
            name = joint.name if len(joint.primitives) == 1 else f"{joint.name} (axis {place + 1})"
            limits += _sides(f"joint {name}", j, place, pair, _kind(primitive))
    return limits


def _kind(primitive: Primitive) -> str:
    if primitive is Primitive.BALL:
        return "spherical"
    return "revolute" if primitive.turns else "prismatic"


def _sides(name: str, joint: int, place: int | None, pair: tuple[float, float], kind: str) -> Iterator[Limit]:
    low, high = pair
    if kind == "revolute" and high - low >= 2.0 * (np.pi - SLACK) and np.isfinite(high - low):
        return
    if low > (0.0 if kind == "spherical" else -np.inf):
        yield Limit(f"{name} is at its lower limit", joint, place, pair, False, kind)
    if high < (np.pi - SLACK if kind == "spherical" else np.inf):
        yield Limit(f"{name} is at its upper limit", joint, place, pair, True, kind)


def watched_names(robot: Robot) -> list[str]:
    """What is said at each of the numbers of `watched`."""
    names = ["a singularity is near"]
    names += [f"{owner} is near a serial singularity" for owner in margin_names(mechanism_of(robot))]
    branch = branch_of(robot)
    names += [f"a loop is at a singularity ({loop})" for loop in branch.names[: branch.signs]]
    if mechanism_of(robot).layout.angular is not None:
        names.append("the platform has turned round from its reference orientation")
    return names + [limit.name for limit in limits_of(robot)]


@physics(s=state_size, quat_0=(4,))
def watched(robot: Robot, s: Array, quat_0: Array) -> Array:
    """Numbers that are positive while all is well.

    The first is a bound: where it is positive no singularity is near; else the condition itself must say.
    """
    mechanism, n = mechanism_of(robot), robot.motion.n
    c, y = s[:n], s[2 * n :]
    now = configuration(robot, pose_of(mechanism, c, quat_0), y)
    values: list[Scalar] = [_condition_bound(now) - SINGULAR]
    values += [margin - NEAR_MARGIN for margin in margins(now)]
    # A step may pass a singularity of a loop, where its margin touches zero; there these change their sign.
    values += list(branch_numbers(now, y)[: branch_of(robot).signs])
    if mechanism.layout.angular is not None:
        turn = c[mechanism.layout.angular]
        values.append((2.0 * np.pi - _NEAR_TURN) ** 2 - dot(turn, turn))
    active = actuator_steps(robot, now.motion, now.steps)
    joints: dict[int, list[Step]] = {}
    for limit in limits_of(robot):
        if limit.place is None:
            step = active[limit.joint]
        else:
            if limit.joint not in joints:
                joints[limit.joint] = _steps(robot, now, limit.joint)
            step = joints[limit.joint][limit.place]
        values.append(_inside(limit, step))
    return pack(values)


def _condition_bound(now: Configuration) -> Scalar:
    """A lower bound of the squared inverse condition of the scaled J_r^-1: 1 / (tr B tr B^-1), B = A^T A.

    It is above the squared inverse condition over n^2.
    """
    rows, columns = scales(now.robot)
    A = actuator_rows(now.robot, now.motion) @ rate_map(now) / rows[:, None] * columns
    B = A.T @ A if A.shape[0] >= A.shape[1] else A @ A.T
    opposite = solve(B, np.eye(len(B)), "spd")
    return divide(1.0, np.trace(B) * np.trace(opposite))


def _steps(robot: Robot, now: Configuration, j: int) -> list[Step]:
    """Coordinates of the primitives of a joint; of a spherical closure only the tilt, as its cosine."""
    if j >= robot.tree:
        return closure_steps(robot.joints[j], now.motion)
    start = sum(len(joint.primitives) for joint in robot.joints[:j])
    return [
        1.0 - 2.0 * (step[0] * step[0] + step[1] * step[1]) if primitive is Primitive.BALL else step
        for primitive, step in zip(robot.joints[j].primitives, now.steps[start:], strict=False)
    ]


def _inside(limit: Limit, step: Any) -> Scalar:
    """A number that is positive before a limit."""
    low, high = limit.pair
    if limit.kind == "prismatic":
        return high + SLACK - step if limit.upper else step - low + SLACK
    if limit.kind == "spherical":
        return step - np.cos(high + SLACK) if limit.upper else np.cos(low - SLACK) - step
    assert isinstance(step, Turn)
    both = np.isfinite(low) and np.isfinite(high)
    middle = 0.5 * (low + high) if both else low if np.isfinite(low) else high
    # Angles count modulo a turn, around the middle of the limits, or around the only one.
    c = step.c * np.cos(middle) + step.s * np.sin(middle)
    s = step.s * np.cos(middle) - step.c * np.sin(middle)
    side = s if limit.upper else -s
    if not both:
        return SLACK - side
    return where(side, c - np.cos(0.5 * (high - low) + SLACK), 1.0)
