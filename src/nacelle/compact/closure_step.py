"""Newton's step towards closed loops, with the factors of the compact form.

At open loops a row says M u = g(w) + r, where r is what it leaves open along its direction:

    point, offset    e . gap                  gap from the leg's joint frame to the other one
    angular          e . phi                  phi the small rotation that takes the leg's axes to the others
    cross            +- e_1 . f_2             the cosine that shall vanish
    rod              (d . d - l^2) / 2        d from end to end, l the rod's length
    coupling         offset - sum factor q

The rows that the legs leave over, and the nacelle's own loops, give the steps of what is dependent; the legs
follow. A rod then turns to where its ends will be: with s its present direction of length l, in the axes of
its joint, which turn with the body that carries it, w = s x (d + d') / l^2; it does not spin in them.

Entries of M that vanish at closed loops are left out: the step is off by the square of what is open, and
the iteration still converges quadratically.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nacelle.compact.legs import Legs, NacelleLoop, Rates
from nacelle.compact.motion import angular_velocity, columns, with_root
from nacelle.compact.nacelle import MovingFrame
from nacelle.compact.placed import CompactPlan, Placed
from nacelle.compact.ties import Tie, TieRow, given_rates, locked_axes, slip
from nacelle.compact.vectors import ZERO, add, crossed, inner, plus_times, scaled
from nacelle.kinematics.legs.rods import MassPointRod
from nacelle.kinematics.mechanism.assembly import coupling_scale
from nacelle.model.joint import Joint, Primitive
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array, Scalar, cross, divide, dot, pack, plus, product
from nacelle.spatial.screw import Twist
from nacelle.spatial.solve import solve
from nacelle.tree.closure import coupling_gap
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
    gaps = {k: [_open(placed, tie) for tie in placed.ties[k]] for k in chosen}
    sides = {k: [value for values in gaps[k] for value in values] for k in chosen}
    loops = [_open_loop(placed, loop) for loop in legs.loops]
    own = [value for values in loops for value in values]
    step = _dependent_step(legs, basis, sides, own)
    w: Rates = {}
    for place, rate in enumerate(mechanism.w_rates):
        value: Scalar = 0.0
        for k, entry in enumerate(step.tolist()):
            value = plus_times(value, basis[place, k], entry)
        w[rate] = value
    frames = placed.nacelle.frames(w, {}, ZERO)
    rates = dict(w)
    for k in chosen:
        given = [g for tie in placed.ties[k] for g in given_rates(placed.trees, tie, frames)]
        right = [a + b for a, b in zip(given, sides[k], strict=True)]
        rates |= legs.factors[k].rates(right)
    size = placed.robot.numeric.size

    def plain(tie: Tie, row: TieRow, value: Scalar) -> Scalar:
        """What a row leaves open, without units."""
        if tie.is_coupling:
            return value * (1.0 / coupling_scale(placed.robot.numeric, placed.robot.joints[tie.joint]))
        return value * (1.0 / size) if row.kind in ("point", "offset") else value

    listed = [
        plain(tie, row, value)
        for k in chosen
        for tie, values in zip(placed.ties[k], gaps[k], strict=True)
        for row, value in zip(tie.rows, values, strict=True)
        if row.kind not in ("rod", "spin")
    ]
    for loop, values in zip(legs.loops, loops, strict=True):
        listed += [plain(loop.tie, row, v) for row, v in zip(loop.tie.rows, values, strict=True)]
    rotations = {}
    for k in chosen:
        for tie in placed.ties[k]:
            if isinstance(tie.link, MassPointRod):
                rotations[tie.link.joint], apart = _rod_rotation(placed, tie, tie.link, rates, frames)
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


def _open(placed: Placed, tie: Tie) -> list[Scalar]:
    """What the rows of a tie leave open."""
    if tie.joint < 0:
        return [0.0] * len(tie.rows)
    if tie.is_coupling:
        return [-coupling_gap(placed.robot.joints[tie.joint], placed.now.motion)]
    if isinstance(tie.link, MassPointRod):
        d = tie.rows[0].force
        return [0.5 * (dot(d, d) - tie.link.length2)]
    first, second = placed.joint_frames(tie.joint, tie.axes)
    near, far = (first, second) if tie.first else (second, first)
    return _gaps(placed.robot.joints[tie.joint], tie, near, far, 1.0 if tie.first else -1.0)


def _open_loop(placed: Placed, loop: NacelleLoop) -> list[Scalar]:
    """What the rows of a loop of the nacelle leave open: of the second body against the first."""
    if loop.tie.joint < 0:
        return [0.0] * len(loop.tie.rows)
    if loop.tie.is_coupling:
        return [coupling_gap(placed.robot.joints[loop.tie.joint], placed.now.motion)]
    frames = placed.joint_frames(loop.tie.joint, 0)
    return _gaps(placed.robot.joints[loop.tie.joint], loop.tie, *frames, 1.0)


def _gaps(joint: Joint, tie: Tie, near: Pose, far: Pose, sign: float) -> list[Scalar]:
    """The same for two joint frames in the tie's axes; `sign` is that of the cosine of a universal joint."""
    gap = np.asarray(plus(far.p, -near.p))
    _, locked, _ = locked_axes(joint)
    misalignment: Array = ZERO
    if len(locked) == 3:
        parts = [scaled(0.5, cross(near.R[:, k], far.R[:, k])) for k in range(3)]
        misalignment = add(add(parts[0], parts[1]), parts[2])
    elif locked:
        misalignment = cross(near.R[:, 2], far.R[:, 2])
    values = []
    for row in tie.rows:
        if row.kind == "angular":
            values.append(dot(row.moment, misalignment))
        elif row.kind == "cross":
            assert tie.arms is not None
            values.append(sign * dot(*tie.arms))
        else:
            values.append(inner(row.force.tolist(), gap.tolist()))
    return values


def _rod_rotation(
    placed: Placed, tie: Tie, rod: MassPointRod, rates: Rates, frames: dict[int, MovingFrame]
) -> tuple[Array, Array]:
    """The rotation of a rod in its joint's axes, and how far its end is from where it is held."""
    robot, trees = placed.robot, placed.trees
    joint, end = robot.joints[rod.joint], robot.joints[rod.closure]
    frame = end.frame_predecessor if end.predecessor == rod.body else end.frame_successor
    along = product(joint.frame_successor.R.T, plus(frame.p, -joint.frame_successor.p))
    starts = np.cumsum([0, *(len(other.primitives) for other in robot.tree_joints)])
    s = product(step_motion(Primitive.SPHERICAL, placed.now.steps[starts[rod.joint]]).R, along)
    # The tie's vector leads from the leg's side to the other: from A to B where the leg carries A.
    sign = 1.0 if tie.first else -1.0

    vectors = [scaled(sign, v) for v in (tie.rows[0].force, slip(trees, tie, rates, frames))]
    if rod.bodies[0] in trees.place:
        node, own = trees.place[rod.bodies[0]]
        top = trees.common(node, tie.axes)
        d, d_dot = (trees.down(node, trees.up(tie.axes, v, top), top) for v in vectors)
        twist = Twist(ZERO, angular_velocity(columns(trees, node, ZERO), rates))
        w, R = with_root(trees, node, ZERO, twist, frames).w, own.R
    else:
        d, d_dot = (trees.up(tie.axes, v) for v in vectors)
        w, R = frames[rod.bodies[0]].w, placed.nacelle.poses[rod.bodies[0]].R
    # The joint's axes turn with the body that carries them.
    moved = add(d, add(d_dot, -crossed(w, d)))
    axes = joint.frame_predecessor.R.T
    d, moved = (product(axes, product(R.T, v)) for v in (d, moved))
    return scaled(divide(1.0, rod.length2), cross(s, moved)), np.asarray(plus(d, -s))


def finds_step(plan: CompactPlan, count: int) -> bool:
    """Whether the step can be found so, for `count` dependent numbers of the nacelle.

    Legs that leave rows over must themselves be found by iteration.
    """
    own = plan.mechanism.iterated_legs
    return count == len(plan.mechanism.dependent) and all(
        k in own for k, leg in enumerate(plan.legs) if leg.kept
    )
