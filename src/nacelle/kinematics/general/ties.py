"""Ties: what closures and rods demand of the rates of a leg, row by row, in local axes.

    sum over rates of M_ik u_k = g_i(w)          rates u of the leg, rates w of the nacelle

Rows of a closure onto the nacelle are written in the axes of the leg's last link, those of a loop inside a
leg in the axes of the last link that both sides have in common. A locked point gives three rows, along the
axes; locked rotations a row along each direction; a rod between two points A and B (d = B - A) the row

    d . v_A = d . v_B,      d . a_A = d . a_B + |v_B - v_A|^2;

of a leg that is a bar, `bars` has the row.

A multiplier of a row is the force that the other side puts on the leg along it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from nacelle.kinematics.general.bars import Bar, flat
from nacelle.kinematics.general.chain import Chains
from nacelle.kinematics.general.motion import columns
from nacelle.kinematics.general.nacelle import Nacelle
from nacelle.kinematics.general.vectors import ZERO, add
from nacelle.model.joint import Joint
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array, Scalar, at_sample, cross, divide, dot, pack, plus, sqrt

_UNIT = np.eye(3)
# Entries of a constant unit vector below this are zero.
_ALIGNED = 1e-12


@dataclass(frozen=True)
class Rod:
    """A body between two spherical joints that is three masses: at A, at B and between them.

    Attributes:
        body: its index.
        joint: the tree joint at A.
        closure: the closure at B.
        bodies: the bodies that carry A and B.
        points: A and B in the frames of these bodies.
        masses: at A, at B, and between them, kg.
        length2: square of the distance of A and B, m^2.
        rubs: whether its joints have friction.
    """

    body: int
    joint: int
    closure: int
    bodies: tuple[int, int]
    points: tuple[Array, Array]
    masses: tuple[Scalar, Scalar, Scalar]
    length2: Scalar
    rubs: bool = False

    def turns_alone(self, friction: bool) -> bool:
        """Whether the velocity of B against A is needed for its length alone: no friction at its ends."""
        return not (friction and self.rubs)


@dataclass(frozen=True)
class Wrench:
    """A force at a point of a nacelle body and a moment, in the axes of a node."""

    body: int
    point: Array
    force: Array
    moment: Array


@dataclass(frozen=True, eq=False)
class Row:
    """One row.

    Attributes:
        coefficients: M_ik by rate.
        kind: "point" (along the locked point), "offset", "angular", "rod", "strut" or "spin".
        force: direction along which the nacelle's point is felt, in the tie's axes.
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
        own: the leg's point in the axes of its node.
        other: for a loop inside a leg the other node and its point.
        joint: index of the joint, of a rod its closure; -1 for a spin.
        first: whether the leg carries the joint's first frame, or the first end of a rod.
        arms: unit vectors e (on the first) and f (on the second side) of a universal joint, tie axes.
        free: axis of the only free rotation, where it is constant in the tie's axes.
        link: the rod or bar that the row belongs to.
        foot: a constant point of a strut's line, base axes, where moments are counted from such points.
    """

    axes: int
    rows: tuple[Row, ...]
    body: int | None
    local: Array | None
    point: Array | None
    node: int
    own: Array
    other: tuple[int, Array] | None = None
    joint: int = -1
    first: bool = True
    arms: tuple[Array, Array] | None = None
    free: Array | None = None
    link: Rod | Bar | None = None
    foot: Array | None = None

    @property
    def bar(self) -> Bar | None:
        """The bar that the row belongs to."""
        return self.link if isinstance(self.link, Bar) else None

    @property
    def held(self) -> tuple[int, Array]:
        """The nacelle body on the other side, and the point in its frame, where it is fixed there."""
        assert self.body is not None
        assert self.local is not None
        return self.body, self.local

    def hangs(self, chains: Chains) -> bool:
        """Whether a side of it hangs on the nacelle, and the other does not hang on the same body."""
        return (
            self.other is not None
            and self.axes == 0
            and any(chains.root(node) is not None for node in (self.node, self.other[0]))
        )

    def sides(self, chains: Chains) -> list[tuple[int, Array, float]]:
        """Nacelle bodies that a loop's sides hang on, the point in base axes, and the sign in its rows."""
        if not self.hangs(chains):
            return []
        assert self.other is not None
        found = []
        for (node, point), sign in (((self.node, self.own), -1.0), (self.other, 1.0)):
            body = chains.root(node)
            if body is not None:
                found.append((body, chains.point(node, point), sign))
        return found


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
    """Directions that span the locked rotations: coordinate axes where the free one is a coordinate axis."""
    if len(axes) in (0, 3):
        return list(_UNIT[: len(axes)])
    free = R[:, 2]
    if free.dtype != object and np.count_nonzero(free) == 1:
        k = int(np.flatnonzero(free)[0])
        return [_UNIT[i] for i in range(3) if i != k]
    return [R[:, k] for k in axes]


def largest_entry(vector: Array) -> int:
    """Place of the largest entry of a constant unit vector, the first of equals."""
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


def closure_tie(robot: Robot, chains: Chains, nacelle: Nacelle, index: int) -> Tie:
    """The rows of a closure."""
    joint = robot.joints[index]
    bodies = (joint.predecessor, joint.successor)
    frames = (joint.frame_predecessor, joint.frame_successor)
    inside = [body in chains.place for body in bodies]
    # The leg's side: the only one, or the one that hangs on a node where the other is the base.
    side = 0 if inside[0] and (not inside[1] or chains.place[bodies[0]][0]) else 1
    node, frame = chains.place[bodies[side]]
    own = frame @ frames[side]
    if inside[1 - side]:
        far, far_frame = chains.place[bodies[1 - side]]
        return _inner(chains, joint, index, (node, own), (far, far_frame @ frames[1 - side]), side == 0)
    body = bodies[1 - side]
    outer = nacelle.poses[body] @ frames[1 - side]
    turn = [chains.down(node, outer.R[:, k]) for k in range(3)]
    return _outer(chains, joint, index, node, own, body, frames[1 - side].p, outer.p, turn, side == 0)


def _outer(
    chains: Chains,
    joint: Joint,
    index: int,
    node: int,
    own: Pose,
    body: int,
    local: Array,
    point: Array,
    turn: list[Array],
    first: bool,
) -> Tie:
    offsets, locked, crossed = locked_axes(joint)
    rows: list[Row] = []
    place: Array = own.p
    partial = 0 < len(offsets) < 3
    fixed: Array | None = local
    if partial:
        if first:
            # The leg carries the plane or line: its material point under the nacelle's point.
            place = chains.seen(node, point)
        else:
            # The nacelle carries it: its material point under the leg's point.
            point, fixed = chains.point(node, own.p), None
    moved = columns(chains, node, place)
    if len(offsets) == 3:
        for k in range(3):
            rows.append(Row({rate: v[k] for rate, (v, _) in moved.items()}, "point", force=_UNIT[k]))
    else:
        for k in offsets:
            e = own.R[:, k] if first else turn[k]
            rows.append(Row({rate: dot(e, v) for rate, (v, _) in moved.items()}, "offset", force=e))
    for e in short_basis(own.R, locked):
        rows.append(Row({rate: dot(e, w) for rate, (_, w) in moved.items()}, "angular", moment=e))
    arms = None
    if crossed:
        arms = (own.R[:, 0], turn[1]) if first else (turn[0], own.R[:, 1])
        e = cross(arms[1], arms[0])
        rows.append(Row({rate: dot(e, w) for rate, (_, w) in moved.items()}, "cross", moment=e))
    free = own.R[:, 2] if len(locked) == 2 else None
    return Tie(node, tuple(rows), body, fixed, point, node, place, None, index, first, arms, free)


def _inner(
    chains: Chains, joint: Joint, index: int, near: tuple[int, Pose], far: tuple[int, Pose], first: bool
) -> Tie:
    """A loop inside a leg: rows near - far = 0 in the axes of what both have in common."""
    (node, own), (other, outer) = near, far
    top = chains.common(node, other)
    offsets, locked, crossed = locked_axes(joint)
    P, Q = own.p, outer.p
    if 0 < len(offsets) < 3:
        # The side that carries the plane or line: its material point under the other's point.
        if first:
            P = chains.seen(node, chains.point(other, Q, top), top)
        else:
            Q = chains.seen(other, chains.point(node, P, top), top)
    moved = _difference(columns(chains, node, P, top), columns(chains, other, Q, top))
    near_axes = [chains.up(node, own.R[:, k], top) for k in range(3)]
    far_axes = [chains.up(other, outer.R[:, k], top) for k in range(3)]
    rows: list[Row] = []
    if len(offsets) == 3:
        for k in range(3):
            rows.append(Row({rate: v[k] for rate, (v, _) in moved.items()}, "point", force=_UNIT[k]))
    else:
        for k in offsets:
            e = near_axes[k] if first else far_axes[k]
            rows.append(Row({rate: dot(e, v) for rate, (v, _) in moved.items()}, "offset", force=e))
    fixed = {node: own.R, other: outer.R}.get(top)
    directions = basis(np.stack(far_axes, axis=1), locked) if fixed is None else short_basis(fixed, locked)
    for e in directions:
        rows.append(Row({rate: dot(e, w) for rate, (_, w) in moved.items()}, "angular", moment=e))
    arms = None
    if crossed:
        arms = (near_axes[0], far_axes[1]) if first else (far_axes[0], near_axes[1])
        e = cross(arms[1], arms[0])
        rows.append(Row({rate: dot(e, w) for rate, (_, w) in moved.items()}, "cross", moment=e))
    return Tie(top, tuple(rows), None, None, None, node, P, (other, Q), index, first, arms)


def _difference(
    near: dict[int, tuple[Array, Array]], far: dict[int, tuple[Array, Array]]
) -> dict[int, tuple[Array, Array]]:
    found = dict(near)
    for rate, (v, w) in far.items():
        before = found.get(rate, (ZERO, ZERO))
        found[rate] = (add(before[0], -v), add(before[1], -w))
    return found


def rod_tie(chains: Chains, nacelle: Nacelle, rod: Rod) -> Tie:
    """The row of a rod; its point A is on the leg, or on the nacelle where B is on the leg."""
    inside = [body in chains.place for body in rod.bodies]
    side = 0 if inside[0] and (not inside[1] or chains.place[rod.bodies[0]][0]) else 1
    node, frame = chains.place[rod.bodies[side]]
    A = (frame @ Pose(np.eye(3), rod.points[side])).p
    B = rod.points[1 - side]
    body = rod.bodies[1 - side]
    if inside[1 - side]:
        other, far = chains.place[body]
        Q = (far @ Pose(np.eye(3), B)).p
        top = chains.common(node, other)
        d = np.asarray(plus(chains.point(other, Q, top), -chains.point(node, A, top)))
        moved = _difference(columns(chains, node, A, top), columns(chains, other, Q, top))
        row = Row({rate: dot(d, v) for rate, (v, _) in moved.items()}, "rod", force=d)
        return Tie(top, (row,), None, None, None, node, A, (other, Q), rod.closure, side == 0, link=rod)
    point = (nacelle.poses[body] @ Pose(np.eye(3), B)).p
    # Beside a single joint the base's axes are cheaper: nothing of the nacelle's is turned.
    axes = 0 if len(chains.path(node)) <= 1 else node
    d = np.asarray(plus(point, -chains.point(node, A)) if axes == 0 else plus(chains.seen(node, point), -A))
    moved = columns(chains, node, A, None if axes == node else 0)
    row = Row({rate: dot(d, v) for rate, (v, _) in moved.items()}, "rod", force=d)
    return Tie(axes, (row,), body, B, point, node, A, None, rod.closure, side == 0, link=rod)


def bar_tie(chains: Chains, nacelle: Nacelle, leg: int, bar: Bar) -> Tie:
    """The row of a bar, in the leg's own axes where it has some; of a strut over an entry of its direction.

    With z that entry the row of a strut is (d / z) . v_B = (l / z) l': an entry of its column is constant.
    """
    form, axes = bar.form, chains.frames.get(leg, 0)
    if bar.is_strut:
        node, A = axes, chains.seen(axes, bar.A)
    else:
        node, frame = chains.place[bar.carrier]
        A = (frame @ Pose(np.eye(3), bar.A)).p
    point = nacelle.point(form.body, form.B)
    own = bar.seen(chains.node(axes).G.R if axes else None)
    d = flat(own, np.asarray(plus(chains.seen(axes, point), -chains.point(node, A, axes))))
    if bar.is_strut:
        share = divide(1.0, d[bar.up])
        gain = form.drive.side * (sqrt(dot(d, d)) * share)
        d = pack([1.0 if k == bar.up else d[k] * share for k in range(3)])
        row = Row({bar.rate: gain}, "strut", force=d)
    else:
        moved = columns(chains, node, A, axes)
        row = Row({rate: dot(d, v) for rate, (v, _) in moved.items()}, "rod", force=d)
    return Tie(axes, (row,), form.body, form.B, point, node, A, link=bar)


def spin_tie(chains: Chains, body: int, axis: Sequence[float]) -> Tie:
    """An idle spin that is set to zero: axis . w = 0, in the axes of the body's node."""
    node, frame = chains.place[body]
    e = frame.R @ np.array(axis)
    moved = columns(chains, node, ZERO)
    row = Row({rate: dot(e, w) for rate, (_, w) in moved.items()}, "spin", moment=e)
    return Tie(node, (row,), None, None, None, node, ZERO)
