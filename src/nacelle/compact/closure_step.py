"""Newton's step towards closed loops, with the factors of the compact form.

At open loops a row says M u = g(w) + r, where r is what it leaves open along its direction (`constraints`).
The rows that the legs leave over, and the nacelle's own loops, give the steps of what is dependent; the legs
follow. A rod then turns to where its ends will be: with s its present direction of length l, in the axes of
its joint, which turn with the body that carries it, w = s x (d + d') / l^2; it does not spin in them.

Entries of M that vanish at closed loops are left out: the step is off by the square of what is open, and
the iteration still converges quadratically.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nacelle.compact.constraints import Constraint, PlatformLoop, SphericalRod
from nacelle.compact.legs import Legs, Rates
from nacelle.compact.motion import angular_velocity, columns, with_root
from nacelle.compact.nacelle import MovingFrame
from nacelle.compact.placed import CompactPlan, Placed
from nacelle.compact.vectors import ZERO, add, crossed, plus_times, scaled
from nacelle.model.joint import Primitive
from nacelle.spatial.scalar import Array, Scalar, cross, divide, pack, plus, product
from nacelle.spatial.screw import Twist
from nacelle.spatial.solve import solve
from nacelle.tree.spanning_tree import step_motion


@dataclass(frozen=True, eq=False)
class ClosureStep:
    """A step towards closed loops.

    Attributes:
        dependent: steps of the dependent numbers.
        rates: steps of all rates that were found: nacelle and legs, rods left out.
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
        basis: the nacelle's rates (nw, d) at unit rates of the d dependent numbers.
    """
    placed, mechanism = legs.placed, legs.plan.mechanism
    chosen = mechanism.iterated_legs
    gaps = {
        k: [constraint.open(placed.now, placed.joint_frames) for constraint in placed.constraints[k]]
        for k in chosen
    }
    sides = {k: [value for values in gaps[k] for value in values] for k in chosen}
    loops = [loop.open(placed.now, placed.joint_frames) for loop in legs.loops]
    own = [value for values in loops for value in values]
    step = _dependent_step(legs, basis, sides, own)
    w: Rates = {}
    for place, rate in enumerate(mechanism.w_rates):
        value: Scalar = 0.0
        for k, entry in enumerate(step.tolist()):
            value = plus_times(value, basis[place, k], entry)
        w[rate] = value
    frames = placed.nacelle.frames(w, {})
    rates = dict(w)
    for k in chosen:
        given = [g for constraint in placed.constraints[k] for g in constraint.rates(placed.trees, frames)]
        right = [a + b for a, b in zip(given, sides[k], strict=True)]
        rates |= legs.factors[k].rates(right)
    size = placed.robot.numeric.size

    def reported(constraint: Constraint | PlatformLoop, values: list[Scalar]) -> list[Scalar]:
        """What the rows of a constraint leave open, without units."""
        return [value * (1.0 / row.unit) for row, value in zip(constraint.rows, values, strict=True)]

    listed: list[Scalar] = []
    for k in chosen:
        for constraint, values in zip(placed.constraints[k], gaps[k], strict=True):
            listed += reported(constraint, values) if constraint.reports_gaps else []
    for loop, values in zip(legs.loops, loops, strict=True):
        listed += reported(loop, values)
    rotations = {}
    for rod in (rod for k in chosen for rod in placed.constraints[k] if isinstance(rod, SphericalRod)):
        rotations[rod.link.joint], apart = _rod_rotation(placed, rod, rates, frames)
        listed += [value * (1.0 / size) for value in apart.tolist()]
    return ClosureStep(step, rates, rotations, listed)


def _dependent_step(legs: Legs, basis: Array, sides: dict[int, list[Scalar]], own: list[Scalar]) -> Array:
    """Steps of the dependent numbers: the rows that are left over shall leave nothing open."""
    if not basis.shape[1]:
        return np.zeros(0)
    right = legs.left_over(own, sides)
    places = {rate: place for place, rate in enumerate(legs.plan.mechanism.w_rates)}
    D = []
    for row_ in legs.dependent_rows:
        entries: list[Scalar] = []
        for k in range(basis.shape[1]):
            entry: Scalar = 0.0
            for rate, factor in row_.items():
                entry = plus_times(entry, factor, basis[places[rate], k])
            entries.append(entry)
        D.append(entries)
    return np.asarray(solve(pack(D), -right))


def _rod_rotation(
    placed: Placed, constraint: SphericalRod, rates: Rates, frames: dict[int, MovingFrame]
) -> tuple[Array, Array]:
    """The rotation of a rod in its joint's axes, and how far its end is from where it is held."""
    robot, trees, rod, axes = placed.robot, placed.trees, constraint.link, constraint.sides.axes
    joint, end = robot.joints[rod.joint], robot.joints[rod.closure]
    frame = end.frame_predecessor if end.predecessor == rod.body else end.frame_successor
    along = product(joint.frame_successor.R.T, plus(frame.p, -joint.frame_successor.p))
    starts = np.cumsum([0, *(len(other.primitives) for other in robot.tree_joints)])
    s = product(step_motion(Primitive.SPHERICAL, placed.now.steps[starts[rod.joint]]).R, along)
    # The constraint's vector leads from the leg's side to the other: from A to B where the leg carries A.
    sign = 1.0 if constraint.first else -1.0

    vectors = [scaled(sign, v) for v in (constraint.d, constraint.slip(trees, rates, frames))]
    if rod.bodies[0] in trees.place:
        node, own = trees.place[rod.bodies[0]]
        top = trees.common(node, axes)
        d, d_dot = (trees.down(node, trees.up(axes, v, top), top) for v in vectors)
        twist = Twist(ZERO, angular_velocity(columns(trees, node, ZERO), rates))
        w, R = with_root(trees, node, ZERO, twist, frames).w, own.R
    else:
        d, d_dot = (trees.up(axes, v) for v in vectors)
        w, R = frames[rod.bodies[0]].w, placed.nacelle.poses[rod.bodies[0]].R
    # The joint's axes turn with the body that carries them.
    moved = add(d, add(d_dot, -crossed(w, d)))
    back = joint.frame_predecessor.R.T
    d, moved = (product(back, product(R.T, v)) for v in (d, moved))
    return scaled(divide(1.0, rod.length2), cross(s, moved)), np.asarray(plus(d, -s))


def finds_step(plan: CompactPlan, count: int) -> bool:
    """Whether the step can be found so, for `count` dependent numbers of the nacelle.

    Legs that leave rows over must themselves be found by iteration.
    """
    own = plan.mechanism.iterated_legs
    return count == len(plan.mechanism.dependent) and all(
        k in own for k, leg in enumerate(plan.legs) if leg.kept
    )
