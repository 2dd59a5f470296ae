"""Anchors on the base that are not where the description says: how the legs move with them.

The joint j that holds a leg on the base is displaced by o_j (3,), m, base axes. All that hangs on it is
carried along, and the leg's own joints move so that the closures stay closed while the platform keeps its
pose x:

    M_l u_l + N_l w + c_j o_j' = 0,     c_j (rows, 3) what a translation of the carried bodies opens

(`nacelle.kinematics.configuration`): a displacement acts as three more rates of the tree, which gives the
derivatives. Positions are those of the displaced robot itself (`with_anchors`). Directions in which a
displacement cannot be closed (out of the plane of a planar robot) are left out: they would break the robot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from nacelle.kinematics.configuration import (
    Configuration,
    closure_equations_at,
    configuration,
    coordinate_selections,
)
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.leg import BASE
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array, pack, plus
from nacelle.tree.closure import closure_state
from nacelle.tree.rates import RightHandSides, solve_rates
from nacelle.tree.spanning_tree import TreeKinematics

Anchors = tuple[tuple[int, tuple[float, ...]], ...]
"""Displacements of anchors as plain numbers: for each the joint and a unit direction in the base (3,)."""

# What a displacement of 1 may leave open of the closures, apart from rounding.
_CLOSURE_TOLERANCE = 1e-7


@lru_cache(maxsize=64)
def anchors_of(robot: Robot) -> Anchors:
    """All displacements of anchors that the robot's closures allow, joint by joint."""
    result: list[tuple[int, tuple[float, ...]]] = []
    for j in base_joints(robot):
        result += [(j, tuple(e.tolist())) for e in free_directions(robot, (j,))]
    return tuple(result)


def base_joints(robot: Robot) -> tuple[int, ...]:
    """The joints of the tree that hold legs on the base."""
    return tuple(j for j, joint in enumerate(robot.tree_joints) if joint.predecessor == BASE)


def offset_shape(robot: Robot) -> tuple[int]:
    """Shape of the displacements of all anchors, three numbers each."""
    return (3 * len(base_joints(robot)),)


def offset_map(robot: Robot, anchors: Anchors) -> Array:
    """From displacements along the directions `anchors` to those of all anchors, (3 joints, anchors)."""
    offset = {j: 3 * k for k, j in enumerate(base_joints(robot))}
    D = np.zeros((*offset_shape(robot), len(anchors)))
    for k, (j, e) in enumerate(anchors):
        D[offset[j] : offset[j] + 3, k] = e
    return D


def with_anchors(robot: Robot, offsets: Array) -> Robot:
    """The robot with displaced anchors: offsets (3 joints,), m, base axes, numbers or symbols."""
    joints = list(robot.joints)
    for k, j in enumerate(base_joints(robot)):
        R, p = joints[j].frame_predecessor
        frame = Pose(R, plus(p, offsets[3 * k : 3 * k + 3]))
        joints[j] = replace(joints[j], frame_predecessor=frame)
    result = replace(robot, joints=tuple(joints))
    # What is decided from numbers, for instance how a leg is solved, is decided for the described robot.
    object.__setattr__(result, "numeric", robot.numeric)
    object.__setattr__(result, "is_like_numeric", False)
    return result


def anchor_names(robot: Robot, anchors: Anchors) -> tuple[str, ...]:
    """Names of displacements: joint and direction, "leg1.shoulder x"."""
    return tuple(f"{robot.joints[j].name} {_direction_name(np.array(e))}" for j, e in anchors)


def _direction_name(e: Array) -> str:
    for k, axis in enumerate("xyz"):
        if abs(e[k]) > 1.0 - 1e-12:
            return axis
    return "(" + " ".join(f"{value:.3g}" for value in e) + ")"


def free_directions(robot: Robot, joints: Sequence[int]) -> list[Array]:
    """Unit directions (3,) in which anchors may be displaced together, along the base's axes where possible.

    Args:
        robot: the robot.
        joints: the joints of the tree that hold a leg on the base.
    """
    x, y = mechanism_of(robot).reference
    every: Anchors = tuple((j, tuple(e.tolist())) for j in joints for e in np.eye(3))
    now = configuration(robot, x, y)
    u = anchored_rates(now, x, y, every)
    opened = closure_state(robot, with_anchor_rates(now.motion, robot, every)).jacobian @ u
    opened = opened.reshape(len(opened), len(joints), 3).sum(axis=1)
    _, s, V = np.linalg.svd(np.asarray(opened, dtype=float), full_matrices=True)
    rank = int(np.sum(s > _CLOSURE_TOLERANCE))
    free = np.eye(3) - V[:rank].T @ V[:rank]
    kept: list[Array] = []
    for e in free.T:
        left = e - sum((b * float(b @ e) for b in kept), np.zeros(3))
        length = float(np.linalg.norm(left))
        if length > 1e-3 and len(kept) < 3 - rank:
            unit = left / length
            kept.append(np.where(np.abs(unit) < 1e-12, 0.0, unit))
    return kept


def bodies_on_joint(robot: Robot, joint: int) -> Array:
    """Which bodies (bodies,) hang on a joint of the tree, of bool."""
    beyond = np.zeros(len(robot.bodies), dtype=bool)
    for j, tree_joint in enumerate(robot.tree_joints):
        beyond[tree_joint.successor] = j == joint or beyond[tree_joint.predecessor]
    return beyond


def with_anchor_rates(motion: TreeKinematics, robot: Robot, anchors: Anchors) -> TreeKinematics:
    """The tree with displacements of anchors as further rates, after those that it has."""
    columns = [pack([*e, 0.0, 0.0, 0.0]) for _, e in anchors]
    movers = [bodies_on_joint(robot, j) for j, _ in anchors]
    return TreeKinematics(
        motion.poses,
        np.concatenate([motion.columns, np.stack(columns, axis=1)], axis=1),
        np.concatenate([motion.movers, np.stack(movers, axis=1)], axis=1),
    )


def anchored_rates(now: Configuration, x: Array, y: Array, anchors: Anchors) -> Array:
    """Rates (rates + anchors, anchors) of the tree with anchors at unit rates of each, the pose x held."""
    robot, mechanism = now.robot, now.mechanism
    opened = closure_state(robot, with_anchor_rates(now.motion, robot, anchors)).jacobian[:, -len(anchors) :]
    system = closure_equations_at(now)
    free, dependent = coordinate_selections(mechanism, x, y[: mechanism.dependent_count])
    columns = []
    for k, (j, _) in enumerate(anchors):
        # The legs that move with an anchor: its own, or all where the platform yields too.
        legs_of_joint = [k for k, leg in enumerate(robot.legs) if j in leg.joints]
        legs = None if mechanism.parasitic else legs_of_joint
        columns.append(
            solve_rates(system, free, dependent, right=RightHandSides(opened[:, k]), legs=legs).u[:, -1]
        )
    return np.concatenate([np.stack(columns, axis=1), np.eye(len(anchors))])
