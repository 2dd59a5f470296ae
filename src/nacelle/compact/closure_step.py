"""Newton's step that closes the loops, with the factors of the compact form.

While loops are open, Newton's step obeys the rows of the legs with their closure errors r,

    M u = g(w) + r          u step of a leg's rates, w of the platform's; M, g and r as in `constraints`

The rows of a leg that elimination leaves over, and the platform's own loops, determine the step of the
platform's dependent coordinates. The steps of the legs follow from it.

A rod between spherical joints is no unknown of this system: it follows its ends. With s (3,) the rod's vector
of length l at present, d (3,) the vector between the two points that hold its ends and d' the step of d, it
turns by the rotation vector

    s x (d + d') / l^2

in the axes of its joint on the body that carries it. It does not spin about itself.

Entries of M that vanish once the loops are closed are left out. The step then errs by the square of the
closure error, and the iteration still converges quadratically.
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
    """A step that closes the loops, m or rad.

    Attributes:
        dependent: steps of the platform's dependent coordinates (d,).
        rates: steps by rate, of the platform and of the legs that are solved numerically; rods left out.
        rods: for the joint of every rod its rotation vector (3,), rad, in the axes of the joint on the body
            that carries it.
        open: closure errors at the configuration, metres over the robot's size, or radians.
    """

    dependent: Array
    rates: Rates
    rods: dict[int, Array]
    open: list[Scalar]


def closure_step(legs: Legs, basis: Array, platform: Array | None = None) -> ClosureStep:
    """The step at a configuration.

    Args:
        legs: the robot, its legs eliminated.
        basis: the platform's rates (nw, d) at unit rates of its d dependent coordinates.
        platform: steps (nw,) of the platform's rates apart from these; none if None.
    """
    configured, mechanism = legs.configured, legs.plan.mechanism
    iterated = mechanism.iterated_legs
    gaps = {
        k: [
            constraint.open(configured.now, configured.joint_frames)
            for constraint in configured.constraints[k]
        ]
        for k in iterated
    }
    sides = {k: [value for values in gaps[k] for value in values] for k in iterated}
    loops = [loop.open(configured.now, configured.joint_frames) for loop in legs.loops]
    flat_gaps = [value for values in loops for value in values]
    known = np.zeros(len(basis)) if platform is None else platform
    step = _dependent_step(legs, basis, sides, flat_gaps, known)
    w: Rates = {
        rate: plus(inner(row, step), value)
        for rate, row, value in zip(mechanism.platform_rates, basis, known, strict=True)
    }
    frames = configured.platform.frames(w, {})
    rates = dict(w)
    for k in iterated:
        g_w = [
            g for constraint in configured.constraints[k] for g in constraint.rates(configured.trees, frames)
        ]
        right = [g + r for g, r in zip(g_w, sides[k], strict=True)]
        rates |= legs.factors[k].rates(right)
    size = configured.robot.numeric.size

    def report(constraint: Constraint | PlatformLoop, values: list[Scalar]) -> list[Scalar]:
        """The closure errors of a constraint's rows without units: radians, metres over the robot's size."""
        return [value * (1.0 / row.unit) for row, value in zip(constraint.rows, values, strict=True)]

    reported_gaps: list[Scalar] = []
    for k in iterated:
        for constraint, values in zip(configured.constraints[k], gaps[k], strict=True):
            reported_gaps += report(constraint, values) if constraint.reports_closure_error else []
    for loop, values in zip(legs.loops, loops, strict=True):
        reported_gaps += report(loop, values)
    rotations = {}
    for rod in (rod for k in iterated for rod in configured.constraints[k] if isinstance(rod, SphericalRod)):
        rotations[rod.link.joint], apart = _rod_rotation(configured, rod, rates, frames)
        reported_gaps += [value * (1.0 / size) for value in apart.tolist()]
    return ClosureStep(step, rates, rotations, reported_gaps)


def _dependent_step(
    legs: Legs, basis: Array, sides: dict[int, list[Scalar]], gaps: list[Scalar], known: Array
) -> Array:
    """Step (d,) of the dependent coordinates, at which the rows left over have no closure error.

    Args:
        legs: the robot, its legs eliminated.
        basis: as in `closure_step`.
        sides: closure errors r of the rows of each leg.
        gaps: closure errors of the platform's own loops.
        known: steps (nw,) of the platform's rates apart from these.
    """
    if not basis.shape[1]:
        return np.zeros(0)
    right = legs.dependent_right_hand_sides(gaps, sides)
    indices = {rate: index for index, rate in enumerate(legs.plan.mechanism.platform_rates)}
    D = [
        [inner(row.values(), (column[indices[rate]] for rate in row)) for column in basis.T]
        for row in legs.dependent_rows
    ]
    driven = [inner(row.values(), (known[indices[rate]] for rate in row)) for row in legs.dependent_rows]
    return np.asarray(solve(pack(D), -(right + pack(driven))))


def _rod_rotation(
    configured: ConfiguredRobot, constraint: SphericalRod, rates: Rates, frames: dict[int, MovingFrame]
) -> tuple[Array, Array]:
    """The rotation vector (3,) of a rod in its joint's axes, rad, and the gap d - s (3,) at its end, m."""
    robot, trees, rod, axes = configured.robot, configured.trees, constraint.link, constraint.sides.axes
    joint, end = robot.joints[rod.joint], robot.joints[rod.closure]
    frame = end.frame_predecessor if end.predecessor == rod.body else end.frame_successor
    along = product(joint.frame_successor.R.T, plus(frame.p, -joint.frame_successor.p))
    starts = np.cumsum([0, *(len(tree_joint.primitives) for tree_joint in robot.tree_joints)])
    s = product(transform_pose(Primitive.SPHERICAL, configured.now.steps[starts[rod.joint]]).R, along)
    # The vector of the constraint points from the leg outwards: from A to B only where the leg carries A.
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
    # The step of d is seen from the body that carries the joint, which itself turns by w.
    d_next = add(d, add(d_dot, -cross_nonzero(w, d)))
    back = joint.frame_predecessor.R.T
    d, d_next = (product(back, product(R.T, v)) for v in (d, d_next))
    return scale(divide(1.0, rod.length2), cross(s, d_next)), np.asarray(plus(d, -s))


def is_step_determined(plan: CompactPlan, count: int) -> bool:
    """Whether the rows determine the step, for `count` dependent coordinates of the platform.

    They do not where a leg with a closed form leaves rows over: only legs that are solved numerically have
    closure errors.
    """
    iterated = plan.mechanism.iterated_legs
    return count == len(plan.mechanism.dependent) and all(
        k in iterated for k, leg in enumerate(plan.legs) if leg.kept
    )
