"""Newton's step towards closed loops, with the factors of the compact form.

At open loops a row says M u = g(w) + r, where r is what it leaves open along its direction (`constraints`).
The rows that the legs leave over, and the platform's own loops, give the steps of what is dependent; the legs
follow. A rod then turns to where its ends will be: with s its present direction of length l, in the axes of
its joint, which turn with the body that carries it, w = s x (d + d') / l^2; it does not spin in them.

Entries of M that vanish at closed loops are left out: the step is off by the square of what is open, and
the iteration still converges quadratically.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nacelle.compact.configured import CompactPlan, ConfiguredRobot
from nacelle.compact.constraints import Constraint, PlatformLoop, SphericalRod
from nacelle.compact.legs import Legs, Rates
from nacelle.compact.motion import node_twist, point_unit_twists
from nacelle.compact.platform import MovingFrame
from nacelle.compact.vectors import ZERO, add, cross_nonzero, inner, scale
from nacelle.model.joint import Primitive
from nacelle.spatial.scalar import Array, Scalar, cross, divide, pack, plus, product
from nacelle.spatial.solve import solve
from nacelle.tree.spanning_tree import transform_pose


@dataclass(frozen=True, eq=False)
class ClosureStep:
    """A step towards closed loops.

    Attributes:
        dependent: steps of the dependent numbers.
        rates: steps of all rates that were found: platform and legs, rods left out.
        rods: for the joint of every rod its rotation, in the axes of the joint on the body that carries it.
        open: what the loops leave open, metres over the robot's size, or radians.
    """

    dependent: Array
    rates: Rates
    rods: dict[int, Array]
    open: list[Scalar]


def closure_step(legs: Legs, basis: Array) -> ClosureStep:
    """The step at a configuration.

    Args:
        legs: the robot, eliminated.
        basis: the platform's rates (nw, d) at unit rates of the d dependent numbers.
    """
    configured, mechanism = legs.configured, legs.plan.mechanism
    chosen = mechanism.iterated_legs
    gaps = {
        k: [
            constraint.open(configured.now, configured.joint_frames)
            for constraint in configured.constraints[k]
        ]
        for k in chosen
    }
    sides = {k: [value for values in gaps[k] for value in values] for k in chosen}
    loops = [loop.open(configured.now, configured.joint_frames) for loop in legs.loops]
    flat_gaps = [value for values in loops for value in values]
    step = _dependent_step(legs, basis, sides, flat_gaps)
    w: Rates = {rate: inner(row, step) for rate, row in zip(mechanism.platform_rates, basis, strict=True)}
    frames = configured.platform.frames(w, {})
    rates = dict(w)
    for k in chosen:
        far = [
            g for constraint in configured.constraints[k] for g in constraint.rates(configured.trees, frames)
        ]
        right = [a + b for a, b in zip(far, sides[k], strict=True)]
        rates |= legs.factors[k].rates(right)
    size = configured.robot.numeric.size

    def report(constraint: Constraint | PlatformLoop, values: list[Scalar]) -> list[Scalar]:
        """What the rows of a constraint leave open, without units."""
        return [value * (1.0 / row.unit) for row, value in zip(constraint.rows, values, strict=True)]

    reported_gaps: list[Scalar] = []
    for k in chosen:
        for constraint, values in zip(configured.constraints[k], gaps[k], strict=True):
            reported_gaps += report(constraint, values) if constraint.reports_closure_error else []
    for loop, values in zip(legs.loops, loops, strict=True):
        reported_gaps += report(loop, values)
    rotations = {}
    for rod in (rod for k in chosen for rod in configured.constraints[k] if isinstance(rod, SphericalRod)):
        rotations[rod.link.joint], apart = _rod_rotation(configured, rod, rates, frames)
        reported_gaps += [value * (1.0 / size) for value in apart.tolist()]
    return ClosureStep(step, rates, rotations, reported_gaps)


def _dependent_step(legs: Legs, basis: Array, sides: dict[int, list[Scalar]], gaps: list[Scalar]) -> Array:
    """Steps of the dependent numbers: the rows that are left over shall leave nothing open."""
    if not basis.shape[1]:
        return np.zeros(0)
    right = legs.dependent_right_hand_sides(gaps, sides)
    indices = {rate: index for index, rate in enumerate(legs.plan.mechanism.platform_rates)}
    D = [
        [inner(row.values(), (column[indices[rate]] for rate in row)) for column in basis.T]
        for row in legs.dependent_rows
    ]
    return np.asarray(solve(pack(D), -right))


def _rod_rotation(
    configured: ConfiguredRobot, constraint: SphericalRod, rates: Rates, frames: dict[int, MovingFrame]
) -> tuple[Array, Array]:
    """The rotation of a rod in its joint's axes, and how far its end is from where it is held."""
    robot, trees, rod, axes = configured.robot, configured.trees, constraint.link, constraint.sides.axes
    joint, end = robot.joints[rod.joint], robot.joints[rod.closure]
    frame = end.frame_predecessor if end.predecessor == rod.body else end.frame_successor
    along = product(joint.frame_successor.R.T, plus(frame.p, -joint.frame_successor.p))
    starts = np.cumsum([0, *(len(tree_joint.primitives) for tree_joint in robot.tree_joints)])
    s = product(transform_pose(Primitive.SPHERICAL, configured.now.steps[starts[rod.joint]]).R, along)
    # The constraint's vector leads from the leg's side to the other: from A to B where the leg carries A.
    sign = 1.0 if constraint.first else -1.0

    vectors = [scale(sign, v) for v in (constraint.d, constraint.relative_velocity(trees, rates, frames))]
    if rod.bodies[0] in trees.node_frames:
        node, body_pose = trees.node_frames[rod.bodies[0]]
        top = trees.common(node, axes)
        d, d_dot = (trees.down(node, trees.up(axes, v, top), top) for v in vectors)
        w = node_twist(trees, node, ZERO, point_unit_twists(trees, node, ZERO), rates, frames).w
        R = body_pose.R
    else:
        d, d_dot = (trees.up(axes, v) for v in vectors)
        w, R = frames[rod.bodies[0]].w, configured.platform.poses[rod.bodies[0]].R
    # The joint's axes turn with the body that carries them.
    d_next = add(d, add(d_dot, -cross_nonzero(w, d)))
    back = joint.frame_predecessor.R.T
    d, d_next = (product(back, product(R.T, v)) for v in (d, d_next))
    return scale(divide(1.0, rod.length2), cross(s, d_next)), np.asarray(plus(d, -s))


def is_step_determined(plan: CompactPlan, count: int) -> bool:
    """Whether the step can be found so, for `count` dependent numbers of the platform.

    Legs that leave rows over must themselves be solved numerically.
    """
    iterated = plan.mechanism.iterated_legs
    return count == len(plan.mechanism.dependent) and all(
        k in iterated for k, leg in enumerate(plan.legs) if leg.kept
    )
