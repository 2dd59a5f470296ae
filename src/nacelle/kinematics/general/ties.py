"""Ties: what closures and rods demand of the rates of a leg, row by row, in local axes.

    sum over rates of M_ik u_k = g_i(w)          rates u of the leg, rates w of the nacelle

A joint that closes a loop locks some components of the velocity v_rel and of the angular velocity w_rel of
its second side relative to the first: a row f . v_rel + n . w_rel = 0 for each, [f; n] its direction. What
the leg's own rates move of it is the left side, M_ik that of rate k alone, and what the nacelle moves is g_i.
Rows of a closure onto the nacelle are written in the axes of the leg's last link, those of a loop inside a
leg in the axes of the last link that both sides have in common. A multiplier of a row (N or N m) is the force
that the other side puts on the leg along it. The rows are written below, `tie_motion` has their right-hand
sides.

Rows of closures, rods, bars and idle spins over the rates of a leg.

With v and w the velocity and the angular velocity of the leg's side at unit rate, a row for every direction e
that a joint locks:

    point      v_k                          k = 1, 2, 3: all three offsets are locked, along the axes
    offset     e . v                        e normal to a plane or line, carried by the joint's first body
    angular    e . w                        e across the free rotation
    cross      (f_2 x e_1) . w              e_1 . f_2 = 0: the axes of a universal joint
    rod        d . v                        d = B - A: d . v_A = d . v_B, d . a_A = d . a_B + |v_B - v_A|^2
    spin       e . w                        an idle spin is set to zero
    coupling   sum of factors times rates   of coordinates of the leg: nothing of the nacelle is felt

Of a loop inside a leg v and w are those of one side less those of the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import NamedTuple

import numpy as np

from nacelle.kinematics.general.bars import Bar, flat
from nacelle.kinematics.general.leg_trees import LegTrees, NodeFrame
from nacelle.kinematics.general.motion import Columns, columns
from nacelle.kinematics.general.nacelle import PlacedNacelle
from nacelle.kinematics.general.rods import MassPointRod
from nacelle.kinematics.general.vectors import ZERO, add
from nacelle.kinematics.tree.closure import coupling_rates
from nacelle.model.joint import Joint
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array, Scalar, at_sample, cross, divide, dot, pack, plus, sqrt
from nacelle.spatial.screw import Twist


class TieKey(NamedTuple):
    """Which tie: the index of its leg, and its number among the ties of that leg."""

    leg: int
    number: int


class GivenLine(NamedTuple):
    """How a rod or strut moves, where that is given and not found from its ends; base axes, (3,) each.

    Attributes:
        direction: its direction x with first and second derivative (3, 3).
        r: B - A, m.
        v: its derivative, m/s.
        a: its second derivative, m/s^2.
        a_start: acceleration of A, m/s^2.
        length: of a strut, with its derivatives (3,).
    """

    direction: Array
    r: Array
    v: Array
    a: Array
    a_start: Array
    length: Array | None = None

    def through(self, change: Callable[[Array], Array]) -> GivenLine:
        """The same line with all its vectors changed, to other axes."""
        r, v, a, start = (change(vector) for vector in (self.r, self.v, self.a, self.a_start))
        return GivenLine(np.stack([change(row) for row in self.direction]), r, v, a, start, self.length)


@dataclass(frozen=True, eq=False)
class TieRow:
    """One row.

    Attributes:
        coefficients: M_ik by rate.
        kind: "point" (along the locked point), "offset", "angular", "cross", "rod", "strut", "spin",
            "coupling".
        force: direction (3,) along which the nacelle's point is felt, in the tie's axes.
        moment: the same for the nacelle's angular velocity.
    """

    coefficients: dict[int, Scalar]
    kind: str
    force: Array = field(default_factory=lambda: ZERO)
    moment: Array = field(default_factory=lambda: ZERO)


@dataclass(frozen=True, eq=False)
class Tie:
    """The rows of a closure, a rod or an idle spin, at a configuration.

    Attributes:
        axes: node in whose axes the rows are written.
        rows: the rows.
        body: nacelle body on the other side; None if there is none.
        local: the nacelle's point in the body's frame, where it is fixed there; else None.
        point: the nacelle's point, base axes; None inside a leg.
        node: the leg's node.
        own: the leg's point (3,) in the axes of its node, m.
        other: for a loop inside a leg the other node and its point.
        joint: index of the joint, of a rod its closure; -1 for a spin.
        first: whether the leg carries the joint's first frame, or the first end of a rod.
        arms: unit vectors e (on the first) and f (on the second side) of a universal joint, tie axes.
        free: axis of the only free rotation, where it is constant in the tie's axes.
        link: the rod or bar that the row belongs to.
        foot: a constant point of a strut's line, base axes, where moments are counted from such points.
        line: how a rod or strut moves, in the tie's axes, where that is given.
    """

    axes: int
    rows: tuple[TieRow, ...]
    _: KW_ONLY
    body: int | None = None
    local: Array | None = None
    point: Array | None = None
    node: int = 0
    own: Array = field(default_factory=lambda: ZERO)
    other: tuple[int, Array] | None = None
    joint: int = -1
    first: bool = True
    arms: tuple[Array, Array] | None = None
    free: Array | None = None
    link: MassPointRod | Bar | None = None
    foot: Array | None = None
    line: GivenLine | None = None

    @property
    def is_coupling(self) -> bool:
        """Whether it couples coordinates, and joins no points."""
        return self.rows[0].kind == "coupling"

    @property
    def bar(self) -> Bar | None:
        """The bar that the row belongs to."""
        return self.link if isinstance(self.link, Bar) else None

    @property
    def held(self) -> tuple[int, Array]:
        """The nacelle body on the other side, and the point (3,), m, that is fixed in its frame."""
        assert self.body is not None
        assert self.local is not None
        return self.body, self.local

    def hangs(self, trees: LegTrees) -> bool:
        """Whether a side of it hangs on the nacelle, and the other does not hang on the same body."""
        return (
            self.other is not None
            and self.axes == 0
            and any(trees.root(node) is not None for node in (self.node, self.other[0]))
        )

    def sides(self, trees: LegTrees) -> list[tuple[int, Array, float]]:
        """Nacelle bodies that a loop's sides hang on, the point (3,), base axes, m, and the rows' sign."""
        if not self.hangs(trees):
            return []
        assert self.other is not None
        hung = []
        for (node, point), sign in (((self.node, self.own), -1.0), (self.other, 1.0)):
            body = trees.root(node)
            if body is not None:
                hung.append((body, trees.point(node, point), sign))
        return hung


# ---- rows of closures, rods, bars and idle spins over the rates of a leg (`ties`)


_UNIT = np.eye(3)
# Entries of a constant unit vector below this are zero.
_ALIGNED = 1e-12


def locked_axes(joint: Joint) -> tuple[list[int], list[int], bool]:
    """Locked offsets, locked rotation axes (of the first frame), and whether a universal cross is locked."""
    offsets = [lock[1] for lock in joint.locks if len(lock) == 2]
    squares = [(lock[1], lock[2]) for lock in joint.locks if len(lock) == 3]
    if not squares:
        return offsets, [], False
    if squares == [(0, 1)]:
        return offsets, [], True
    return offsets, [0, 1, 2] if len(squares) == 3 else [0, 1], False


def basis(R: Array, axes: list[int]) -> list[Array]:
    """Directions (3,) that span the locked rotations of axes R (3, 3); unit vectors where they can be."""
    if len(axes) in (0, 3):
        return list(_UNIT[: len(axes)])
    free = R[:, 2]
    if free.dtype != object and np.count_nonzero(free) == 1:
        k = int(np.flatnonzero(free)[0])
        return [_UNIT[i] for i in range(3) if i != k]
    return [R[:, k] for k in axes]


def largest_entry(vector: Array) -> int:
    """Place of the largest entry of a constant unit vector (3,), the first of equals."""
    size = np.abs(at_sample(vector))
    return int(np.flatnonzero(size > np.max(size) - 1e-9)[0])


def short_basis(R: Array, axes: list[int]) -> list[Array]:
    """The same for a free axis f that is constant, with directions of two entries at most.

    e_i - (f_i / f_m) e_m for the two i beside the largest entry m of f.
    """
    if len(axes) in (0, 3):
        return list(_UNIT[: len(axes)])
    free = R[:, 2]
    size, m = np.abs(at_sample(free)), largest_entry(free)
    return [
        _UNIT[i] if size[i] < _ALIGNED else pack(_UNIT[i] - divide(free[i], free[m]) * _UNIT[m])
        for i in range(3)
        if i != m
    ]


class Axes(NamedTuple):
    """Axes of a closure's joint frames as columns, on the leg's side and on the other.

    Attributes:
        near: on the leg's side (3, 3).
        far: on the other side (3, 3).
        first: whether the leg carries the joint's first frame.
    """

    near: Array
    far: Array
    first: bool

    def of(self, number: int, axis: int) -> Array:
        """An axis (3,), unit vector in the tie's axes, of the joint's first (0) or second (1) frame."""
        return (self.near if self.first == (number == 0) else self.far)[:, axis]


def closure_rows(
    joint: Joint, moved: Columns, axes: Axes, directions: list[Array]
) -> tuple[tuple[TieRow, ...], tuple[Array, Array] | None]:
    """The rows of a closure, and the axes of a universal joint.

    Args:
        joint: the joint.
        moved: for every rate the velocity of the leg's point and the angular velocity.
        axes: of its joint frames.
        directions: that span the locked rotations.
    """
    offsets, _, crossed = locked_axes(joint)
    rows: list[TieRow] = []
    for k in offsets:
        if len(offsets) == 3:
            rows.append(TieRow({rate: v[k] for rate, (v, _) in moved.items()}, "point", force=_UNIT[k]))
        else:
            e = axes.of(0, k)
            rows.append(TieRow({rate: dot(e, v) for rate, (v, _) in moved.items()}, "offset", force=e))
    arms = (axes.of(0, 0), axes.of(1, 1)) if crossed else None
    angular = [("angular", e) for e in directions] + ([("cross", cross(arms[1], arms[0]))] if arms else [])
    for kind, e in angular:
        rows.append(TieRow({rate: dot(e, w) for rate, (_, w) in moved.items()}, kind, moment=e))
    return tuple(rows), arms


def _leg_side(trees: LegTrees, first: int, second: int) -> int:
    """Which of two bodies is the leg's: the only one, or the one on a node where the other is the base."""
    return 0 if first in trees.place and (second not in trees.place or trees.place[first].node) else 1


def closure_tie(robot: Robot, trees: LegTrees, nacelle: PlacedNacelle, index: int) -> Tie:
    """The rows of a closure."""
    joint = robot.joints[index]
    bodies = (joint.predecessor, joint.successor)
    frames = (joint.frame_predecessor, joint.frame_successor)
    side = _leg_side(trees, *bodies)
    (node, frame), body, first = trees.place[bodies[side]], bodies[1 - side], side == 0
    own = frame @ frames[side]
    if body in trees.place:
        other, far = trees.place[body]
        near, outer = NodeFrame(node, own), NodeFrame(other, far @ frames[1 - side])
        return _inner(trees, joint, index, near, outer, first=first)
    held = nacelle.poses[body] @ frames[1 - side]
    far_axes = np.stack([trees.down(node, held.R[:, k]) for k in range(3)], axis=1)
    offsets, locked, _ = locked_axes(joint)
    place, point = own.p, held.p
    local: Array | None = frames[1 - side].p
    if 0 < len(offsets) < 3:
        if first:
            # The leg carries the plane or line: its material point under the nacelle's point.
            place = trees.seen(node, point)
        else:
            # The nacelle carries it: its material point under the leg's point.
            point, local = trees.point(node, own.p), None
    moved = columns(trees, node, place)
    rows, arms = closure_rows(joint, moved, Axes(own.R, far_axes, first), short_basis(own.R, locked))
    free = own.R[:, 2] if len(locked) == 2 else None
    tie = Tie(node, rows, body=body, local=local, point=point, node=node, own=place)
    return replace(tie, joint=index, first=first, arms=arms, free=free)


def _inner(trees: LegTrees, joint: Joint, index: int, near: NodeFrame, far: NodeFrame, *, first: bool) -> Tie:
    """A loop inside a leg: rows near - far = 0 in the axes of what both have in common."""
    (node, own), (other, outer) = near, far
    top = trees.common(node, other)
    offsets, locked, _ = locked_axes(joint)
    P, Q = own.p, outer.p
    if 0 < len(offsets) < 3:
        # The side that carries the plane or line: its material point under the other's point.
        if first:
            P = trees.seen(node, trees.point(other, Q, top), top)
        else:
            Q = trees.seen(other, trees.point(node, P, top), top)
    moved = _difference(columns(trees, node, P, top), columns(trees, other, Q, top))
    near_axes, far_axes = (
        np.stack([trees.up(k, frame.R[:, i], top) for i in range(3)], axis=1) for k, frame in (near, far)
    )
    fixed = {node: own.R, other: outer.R}.get(top)
    directions = basis(far_axes, locked) if fixed is None else short_basis(fixed, locked)
    rows, arms = closure_rows(joint, moved, Axes(near_axes, far_axes, first), directions)
    return Tie(top, rows, node=node, own=P, other=(other, Q), joint=index, first=first, arms=arms)


def _difference(near: Columns, far: Columns) -> Columns:
    difference = dict(near)
    for rate, (v, w) in far.items():
        before = difference.get(rate, Twist(ZERO, ZERO))
        difference[rate] = Twist(add(before.v, -v), add(before.w, -w))
    return difference


def _seen_line(trees: LegTrees, axes: int, line: GivenLine | None) -> GivenLine | None:
    """A line in the axes of a tie."""
    return None if line is None else line.through(lambda vector: trees.down(axes, vector))


def rod_tie(trees: LegTrees, nacelle: PlacedNacelle, rod: MassPointRod, line: GivenLine | None = None) -> Tie:
    """The row of a rod; its point A is on the leg, or on the nacelle where B is on the leg.

    Args:
        trees: the legs' frames.
        nacelle: the nacelle.
        rod: the rod.
        line: how it moves, base axes, where that is given.
    """
    side = _leg_side(trees, *rod.bodies)
    (node, frame), body = trees.place[rod.bodies[side]], rod.bodies[1 - side]
    A, B = (frame @ Pose(np.eye(3), rod.points[side])).p, rod.points[1 - side]
    if body in trees.place:
        other, far = trees.place[body]
        Q = (far @ Pose(np.eye(3), B)).p
        top = trees.common(node, other)
        d = np.asarray(plus(trees.point(other, Q, top), -trees.point(node, A, top)))
        moved = _difference(columns(trees, node, A, top), columns(trees, other, Q, top))
        tie = Tie(top, _along(d, moved), node=node, own=A, other=(other, Q))
        return replace(tie, joint=rod.closure, first=side == 0, link=rod)
    given_point = body in nacelle.given
    point = nacelle.point(body, B) if given_point else (nacelle.poses[body] @ Pose(np.eye(3), B)).p
    # Beside a single joint the base's axes are cheaper: nothing of the nacelle's is turned.
    axes = 0 if len(trees.path(node)) <= 1 else node
    given = _seen_line(trees, axes, line)
    if given is not None:
        d = given.r
    else:
        d = np.asarray(plus(point, -trees.point(node, A)) if axes == 0 else plus(trees.seen(node, point), -A))
    moved = columns(trees, node, A, None if axes == node else 0)
    tie = Tie(axes, _along(d, moved), body=body, local=B, point=point, node=node, own=A, line=given)
    return replace(tie, joint=rod.closure, first=side == 0, link=rod)


def _along(d: Array, moved: Columns) -> tuple[TieRow]:
    """The row of a rod that lies along d."""
    return (TieRow({rate: dot(d, v) for rate, (v, _) in moved.items()}, "rod", force=d),)


def bar_tie(
    trees: LegTrees, nacelle: PlacedNacelle, leg: int, bar: Bar, line: GivenLine | None = None
) -> Tie:
    """The row of a bar, in the leg's own axes where it has some; of a strut over an entry of its direction.

    With z that entry the row of a strut is (d / z) . v_B = (l / z) l': an entry of its column is constant.

    Args:
        trees: the legs' frames.
        nacelle: the nacelle.
        leg: index of the leg.
        bar: the bar.
        line: how it moves, base axes, where that is given.
    """
    form, axes = bar.form, trees.frames.get(leg, 0)
    if bar.is_strut:
        node, A = axes, trees.seen(axes, bar.A)
    else:
        node, frame = trees.place[bar.carrier]
        A = (frame @ Pose(np.eye(3), bar.A)).p
    point = nacelle.point(form.body, form.B)
    own = bar.seen(trees.node(axes).G.R if axes else None)
    given = _seen_line(trees, axes, line)
    if given is not None:
        given = given.through(lambda vector: flat(own, vector))
        # Of a strut the direction alone counts: its length is 1.
        d, length = (given.direction[0], 1.0) if bar.is_strut else (given.r, None)
    else:
        d, length = flat(own, np.asarray(plus(trees.seen(axes, point), -trees.point(node, A, axes)))), None
    if bar.is_strut:
        reciprocal = divide(1.0, d[bar.up])
        gain = form.drive.side * ((sqrt(dot(d, d)) if length is None else length) * reciprocal)
        d = pack([1.0 if k == bar.up else d[k] * reciprocal for k in range(3)])
        rows = (TieRow({bar.rate: gain}, "strut", force=d),)
    else:
        rows = _along(d, columns(trees, node, A, axes))
    tie = Tie(axes, rows, body=form.body, local=form.B, point=point, node=node, own=A)
    return replace(tie, link=bar, line=given)


def coupling_tie(robot: Robot, index: int) -> Tie:
    """The row of a coupling: its factors over the rates of the coupled joints."""
    factors: dict[int, Scalar] = dict(coupling_rates(robot, robot.joints[index]))
    return Tie(0, (TieRow(factors, "coupling"),), joint=index)


def spin_tie(trees: LegTrees, body: int, axis: Sequence[float]) -> Tie:
    """An idle spin that is set to zero: axis . w = 0, in the axes of the body's node."""
    node, frame = trees.place[body]
    e = frame.R @ np.array(axis)
    moved = columns(trees, node, ZERO)
    row = TieRow({rate: dot(e, w) for rate, (_, w) in moved.items()}, "spin", moment=e)
    return Tie(node, (row,), node=node)
