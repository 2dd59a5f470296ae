"""Random states in a robot's workspace: poses ever further from the reference, while the robot follows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from nacelle.dynamics.jacobian import jacobian
from nacelle.kinematics.flags import Flag, has_failed
from nacelle.kinematics.pose_input import reference_pose
from nacelle.kinematics.shapes import twist_scales
from nacelle.kinematics.solve.inverse import inverse_kinematics
from nacelle.model.joint import UNBOUNDED, Joint
from nacelle.model.reduced import layout_of
from nacelle.model.robot import Robot
from nacelle.spatial.rotation import quat_exp, quat_multiply
from nacelle.spatial.scalar import Array
from nacelle.verify.engine import VerifyError

# The condition number of the scaled Jacobian beyond which a state is left out: what is lost there is
# precision, not truth.
CONDITION = 1e3
# How far poses are sought, over the robot's size and in radians, and the share of good ones below which the
# search goes no further out.
_FIRST, _GROWTH, _LAST = 0.01, 1.6, 1.2
_LEAST_SHARE = 0.15
_REASONS = ("out of reach", "beyond limits", "near a singularity")


@dataclass(frozen=True, eq=False)
class RandomStates:
    """Random states, and what was left out on the way.

    Attributes:
        x: reduced poses (states, nx).
        v: reduced twists (states, n).
        a: their derivatives (states, n).
        external: wrenches [f; n] on all bodies (states, bodies, 6), about their origins, base axes.
        push: numbers near 1 (states, actuators), by which forces differ from those of the motion.
        condition: of the scaled Jacobian (states,).
        rejected: how many poses were left out, by reason.
    """

    x: Array
    v: Array
    a: Array
    external: Array
    push: Array
    condition: Array
    rejected: dict[str, int]

    def __len__(self) -> int:
        """Number of states."""
        return len(self.x)


def random_states(robot: Robot, count: int, seed: int) -> RandomStates:
    """Draw states in the workspace.

    Raises:
        VerifyError: if hardly any pose near the reference can be used.
    """
    rng = np.random.default_rng(seed)
    rejected = dict.fromkeys(_REASONS, 0)
    poses: list[Array] = []
    conditions: list[Array] = []
    # The smallest reach is drawn from until there are enough poses, in case the others give none.
    reach, usable, tries = _FIRST, 0, 0
    batch = max(count, 16)
    while reach <= _LAST or (usable < count and tries < 40):
        tries += 1
        x = _random_poses(robot, min(reach, _LAST), batch, rng)
        good, condition, reasons = _judge_poses(robot, x)
        for reason, number in reasons.items():
            rejected[reason] += number
        poses.append(x[good])
        conditions.append(condition[good])
        usable += int(np.sum(good))
        share = float(np.mean(good))
        if share < _LEAST_SHARE:
            if usable >= count or tries >= 40:
                break
            reach = max(reach / _GROWTH**2, 1e-6)
        else:
            reach *= _GROWTH
    x, condition = np.concatenate(poses), np.concatenate(conditions)
    if len(x) < count:
        reasons_left = ", ".join(f"{number} {reason}" for reason, number in rejected.items() if number)
        raise VerifyError(
            f"{robot.name}: of the poses near the reference {len(x)} can be used, not {count}: {reasons_left}"
        )
    # As many from every reach, by chance.
    pick = np.sort(rng.permutation(len(x))[:count])
    n, unit = robot.motion.n, twist_scales(robot)
    weight = sum(body.mass for body in robot.bodies) * 9.81 or 1.0
    wrench = np.array([1.0] * 3 + [robot.size] * 3) * (0.05 * weight)
    external = rng.normal(size=(count, len(robot.bodies), 6)) * wrench
    external[:, 0] = 0.0
    return RandomStates(
        x=x[pick],
        v=rng.normal(size=(count, n)) * unit,
        a=rng.normal(size=(count, n)) * unit * 10.0,
        external=external,
        push=1.0 + 0.3 * rng.normal(size=(count, len(robot.actuators))),
        condition=condition[pick],
        rejected={reason: number for reason, number in rejected.items() if number},
    )


def _random_poses(robot: Robot, reach: float, count: int, rng: np.random.Generator) -> Array:
    """Poses around the reference, moved and turned by up to `reach` in every coordinate."""
    x = np.tile(reference_pose(robot), (count, 1))
    return integrate_poses(
        robot, x, rng.uniform(-reach, reach, (count, robot.motion.n)) * twist_scales(robot)
    )


def integrate_poses(robot: Robot, x: Array, step: Array) -> Array:
    """Poses (..., nx) moved by steps along the reduced twist (..., n): m, and rotation vectors in rad."""
    layout = layout_of(robot.motion)
    linear, rotation_vector = layout.split_v(step)
    plain, quat = layout.split_x(x)
    if rotation_vector is not None and quat is not None:
        quat = quat_multiply(quat_exp(rotation_vector), quat)
    return layout.join_x(plain + linear, quat)


def _without_compliant_limits(robot: Robot) -> Robot:
    """The robot without the limits at which it has end stops, so that states are drawn beyond them, too."""
    if not any(any(joint.stops) for joint in robot.joints):
        return robot

    def free(joint: Joint) -> Joint:
        if not joint.stops:
            return joint
        axes = zip(joint.limits, joint.stops, strict=True)
        return replace(joint, limits=tuple(pair if stop is None else UNBOUNDED for pair, stop in axes))

    joints = tuple(map(free, robot.joints))
    actuators = tuple(
        replace(a, position=UNBOUNDED) if any(robot.joints[a.joint].stops) else a for a in robot.actuators
    )
    return replace(robot, joints=joints, actuators=actuators)


def _judge_poses(robot: Robot, x: Array) -> tuple[Array, Array, dict[str, int]]:
    """Which poses are good, their condition numbers, and how many are not, by reason."""
    flags = inverse_kinematics(_without_compliant_limits(robot), x).flags
    J = jacobian(robot, x)
    with np.errstate(all="ignore"):
        condition = 1.0 / J.conditioning
        singular = (J.flags & int(Flag.SINGULAR)) != 0
        near = ((flags | J.flags) & int(Flag.NEAR_SINGULAR)) != 0
        poor = near | singular | ~(condition < CONDITION)
    lost = has_failed(flags) | ((flags & int(Flag.OTHER_BRANCH)) != 0)
    beyond = ~lost & ((flags & int(Flag.OUT_OF_LIMITS)) != 0)
    poor &= ~lost & ~beyond
    counts = [int(np.sum(mask)) for mask in (lost, beyond, poor)]
    return ~(lost | beyond | poor), condition, dict(zip(_REASONS, counts, strict=True))
