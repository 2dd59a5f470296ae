"""Coupled coordinates: which of them follow from the others, and how.

Couplings demand C q = o over the coordinates of revolute and prismatic joints of the tree, C (couplings,
joints) constant. One joint of each coupling is taken out of the iteration,

    q_e = K q_r + k,      K = -C_e^-1 C_r,   k = C_e^-1 o

the one that moves fastest, so that a screw is found by its travel and a motor behind a gear by the joint that
it drives: coordinates that are solved numerically have the robot's own scale. Coordinates of the motion are
given and never taken out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from nacelle.kinematics.mechanism.rank import RANK_TOLERANCE, null_space
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array, Scalar

# A joint is fast where it moves by so much (rad, or the robot's size) while the platform moves by 1.
_FAST_JOINT = 10.0


@dataclass(frozen=True, eq=False)
class CoupledFollowers:
    """Joints whose coordinates follow from those of others.

    Attributes:
        joints: the joints q_e, in the order of the couplings.
        leaders: the joints q_r.
        K: (followers, leaders), rad or m per rad or m.
        offset: (followers,), rad or m.
    """

    joints: tuple[int, ...] = ()
    leaders: tuple[int, ...] = ()
    K: Array = field(default_factory=lambda: np.zeros((0, 0)))
    offset: Array = field(default_factory=lambda: np.zeros(0))

    def coordinates(self, leader_coordinates: Mapping[int, Scalar]) -> dict[int, Scalar]:
        """Coordinates of the followers, by joint, from those of the leaders; rad or m."""
        result: dict[int, Scalar] = {}
        for i, joint in enumerate(self.joints):
            value: Scalar = float(self.offset[i])
            for factor, leader in zip(self.K[i].tolist(), self.leaders, strict=True):
                if factor:
                    value = value + factor * leader_coordinates[leader]
            result[joint] = value
        return result


def rate_amplification(J: Array, independent: Sequence[int]) -> Array:
    """How much faster than the platform rates move (rates,), 1 for all but those that couplings make fast.

    u = U v over rates without units, where J u = 0: a joint whose row of U is large turns by so much while
    the platform moves by its own size, as a screw of small pitch and the bearing behind it do.

    Args:
        J: Jacobian of the closures (rows, rates), without units.
        independent: places of the entries of v.
    """
    N = null_space(J)
    U = np.max(np.abs(N @ np.linalg.pinv(N[list(independent)])), axis=1)
    return np.where(U > _FAST_JOINT, U, 1.0)


def coupled_followers(robot: Robot) -> CoupledFollowers:
    """Choose the joints that follow: by elimination with the fastest joint of each coupling as pivot."""
    joints = robot.coupled_joints
    if not joints:
        return CoupledFollowers()
    column_of = {j: k for k, j in enumerate(joints)}
    C, o = np.zeros((len(robot.couplings), len(joints))), np.zeros(len(robot.couplings))
    for i, index in enumerate(robot.couplings):
        o[i] = robot.joints[index].offset
        for j, factor in robot.joints[index].terms:
            C[i, column_of[j]] = factor
    units = np.array([1.0 if robot.joints[j].primitives[0].is_rotation else robot.size for j in joints])
    held = {robot.joint(name) for name in robot.motion.joint_names}
    free = [k for k, j in enumerate(joints) if j not in held]
    A, pivots = C * units, []
    for i in range(len(A)):
        size = np.abs(A[i])
        top = float(np.max(size, initial=0.0))
        # A factor that is small compared with the others is that of a fast joint.
        able = [k for k in free if k not in pivots and size[k] > 1e-9 * max(top, 1e-300)]
        if not able:
            # Between coordinates that are given, or said already: the motion does not fit, as mobility says.
            return CoupledFollowers()
        best = min(able, key=lambda k: (round(float(size[k] / top), 9), k))
        pivots.append(best)
        for row in range(len(A)):
            if row != i:
                A[row] -= A[row, best] / A[i, best] * A[i]
                A[row, best] = 0.0
    others = [k for k in range(len(joints)) if k not in pivots]
    inverse = np.linalg.inv(C[:, pivots])
    # Ratios are written in few digits: so are what follows from them.
    K, offset = -inverse @ C[:, others] + 0.0, inverse @ o + 0.0
    return CoupledFollowers(
        tuple(joints[k] for k in pivots),
        tuple(joints[k] for k in others),
        np.where(np.abs(K) < 1e-14, 0.0, K),
        offset,
    )


def holding_couplings(robot: Robot, J: Array, motion: Array) -> tuple[str, ...]:
    """Couplings without each of which the coordinates of the motion could move: names, in order.

    Args:
        robot: the robot.
        J: Jacobian of its closures (rows, rates) without units.
        motion: which rates are those of the motion (rates,).
    """
    starts = np.cumsum([0, *(len(joint.locks) for joint in robot.closures)])
    return tuple(
        joint.name
        for joint, row in zip(robot.closures, starts, strict=False)
        if joint.is_coupling
        and np.max(np.abs(null_space(np.delete(J, row, axis=0))[motion]), initial=0.0) > RANK_TOLERANCE
    )
