"""Ties: what closures and rods demand of the rates of a leg, row by row, in local axes.

    sum over rates of M_ik u_k = g_i(w)          rates u of the leg, rates w of the nacelle

A joint that closes a loop locks some components of the velocity v_rel and of the angular velocity w_rel of
its second side relative to the first: a row f . v_rel + n . w_rel = 0 for each, [f; n] its direction. What
the leg's own rates move of it is the left side, M_ik that of rate k alone, and what the nacelle moves is g_i.
Rows of a closure onto the nacelle are written in the axes of the leg's last link, those of a loop inside a
leg in the axes of the last link that both sides have in common. A multiplier of a row (N or N m) is the force
that the other side puts on the leg along it.

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

Ties in motion: right-hand sides of their rows, and what their multipliers do on the nacelle.

A tie joins a point of a leg to one of the nacelle (or of the same leg); v, a are velocities and accelerations
of the two points, w angular velocities, in the tie's axes; r, s mark the leg's side and the far one. A row
says M u = f . v_s or n . w_s for the rates u of the leg. Differentiated, M u' = b, with all accelerations
taken at constant u (those of the nacelle with its w') and v_rel = v_s - v_r, a_rel = a_s - a_r:

    point      a_rel, entry by entry
    offset     e . (a_rel - 2 w_c x v_rel)                     e carried by the side c
    angular    e . (w_s' - w_r' - w_r x w_s)
    cross      n . (w_s' - w_r') + n' . (w_s - w_r)            n = f x e of a universal joint
    rod        d . a_rel + v_rel . v_rel                       d . d constant, twice differentiated
    strut      (d . a_rel + v_rel . v_rel - l'^2) / d_k        d . d = l^2; the row is over the entry d_k
    coupling   0                                               its factors are constant

The multiplier of a row is a force along f and a moment along n: `weighed` sums them up, `onto_nacelle` gives
what they are along the nacelle's rates. Gravity is taken off both sides alike; m/s, rad/s, N, N m.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import NamedTuple

import numpy as np

from nacelle.compact.bars.known import Bar, flat
from nacelle.compact.leg_trees import Idle, LegTrees, NodeFrame
from nacelle.compact.motion import Columns, NodeMotion, columns, outward, velocity
from nacelle.compact.nacelle import MovingFrame, PlacedNacelle
from nacelle.compact.vectors import ZERO, add, crossed, scaled
from nacelle.kinematics.legs.rods import MassPointRod
from nacelle.model.joint import Joint
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array, Scalar, at_sample, cross, divide, dot, pack, plus, sqrt
from nacelle.spatial.screw import AngularMotion, Twist
from nacelle.tree.closure import coupling_rates


@dataclass(frozen=True, eq=False)
class TieMotion:
    """What ties need to know of the motion: nodes at given rates, and the nacelle.

    Attributes:
        trees: the trees.
        u: rates of the legs.
        nodes: motion of the nodes where the leg rates are constant.
        frames: motion of the nacelle.
        weightless: the same nodes without gravity.
        free: the same nacelle without gravity.
        gravity: (3,), base axes, m/s^2; it is taken off the accelerations of nodes and nacelle alike.
        heavy: nodes whose inertia needs the acceleration, gravity taken off, where they hold the nacelle.
        friction: whether friction will need the velocities of rods and bars.
    """

    trees: LegTrees
    u: dict[int, Scalar]
    nodes: dict[int, NodeMotion]
    frames: dict[int, MovingFrame]
    weightless: dict[int, NodeMotion]
    free: dict[int, MovingFrame]
    gravity: Array
    heavy: frozenset[int] = frozenset()
    friction: bool = True

    def _has_gravity(self, tie: Tie) -> bool:
        """Whether both sides of a tie are compared with gravity.

        It cancels, and would be turned into the tie's axes for nothing, unless inertia needs it there, or the
        axes are those of the base.
        """
        return tie.axes != tie.node or tie.node in self.heavy

    def acceleration(self, tie: Tie) -> Array:
        """Acceleration (3,) of the leg's point of a tie onto the nacelle, in the tie's axes, m/s^2.

        In base axes gravity is a constant: it is not turned into the leg's axes and back.
        """
        if tie.line is not None:
            return add(tie.line.a_start, -self.trees.down(tie.axes, self.gravity))
        if tie.axes == tie.node:
            return self.nodes[tie.node].acceleration(tie.own)
        bare = self.weightless[tie.node].acceleration(tie.own)
        return add(self.trees.up(tie.node, bare, tie.axes), -self.trees.down(tie.axes, self.gravity))

    def slip(self, tie: Tie) -> Array:
        """Velocity (3,) of the far point of a tie relative to the leg's point, in the tie's axes, m/s."""
        return slip(self.trees, tie, self.u, self.frames)

    def end_acceleration(self, tie: Tie) -> Array:
        """Acceleration (3,) of the nacelle's point of a tie, in the tie's axes, m/s^2, gravity taken off."""
        if self._has_gravity(tie):
            return self.trees.down(tie.axes, self.frames[tie.held[0]].acceleration(tie.held[1]))
        bare = self.free[tie.held[0]].acceleration(tie.held[1])
        return add(self.trees.down(tie.axes, bare), -self.trees.down(tie.axes, self.gravity))

    def gap(self, tie: Tie) -> Array:
        """Acceleration (3,) of the nacelle's point less that of the leg's, in the tie's axes, m/s^2."""
        if tie.line is not None:
            return tie.line.a
        weighs = self._has_gravity(tie)
        far = far_acceleration(tie, self.frames if weighs else self.free)
        own = self.acceleration(tie) if weighs else self.weightless[tie.node].acceleration(tie.own)
        return add(self.trees.down(tie.axes, far), -own)

    def relative(self, tie: Tie) -> dict[int, NodeMotion]:
        """Motion of the nodes of a loop inside a leg, relative to what both sides have in common."""
        if tie.axes == 0 and tie.hangs(self.trees):
            return self.nodes
        return outward(self.trees, self.u, {}, {}, top=tie.axes)


def far_acceleration(tie: Tie, frames: dict[int, MovingFrame]) -> Array:
    """Acceleration (3,) of the nacelle's point of a tie, base axes, m/s^2."""
    assert tie.body is not None
    assert tie.point is not None
    frame = frames[tie.body]
    if tie.local is not None:
        return frame.acceleration(tie.local)
    return frame.acceleration_at(plus(tie.point, -frame.pose.p))


def outer_velocity(trees: LegTrees, tie: Tie, frames: dict[int, MovingFrame]) -> Twist:
    """Velocity (3,) of the nacelle's point, m/s, and its angular velocity (3,), rad/s, in the tie's axes."""
    assert tie.body is not None
    assert tie.point is not None
    frame = frames[tie.body]
    if tie.local is not None:
        v = frame.velocity(tie.local)
    else:
        v = frame.velocity_at(plus(tie.point, -frame.pose.p))
    return Twist(trees.down(tie.axes, v), trees.down(tie.axes, frame.w))


def given_rates(trees: LegTrees, tie: Tie, frames: dict[int, MovingFrame]) -> list[Scalar]:
    """Right-hand sides g_i(w) of the rows M u = g for the rates: f . v of the nacelle's point, or n . w."""
    if tie.body is None:
        v, w = ZERO, ZERO
        for body, point, sign in tie.sides(trees):
            frame = frames[body]
            v = add(v, scaled(sign, frame.velocity_at(plus(point, -frame.pose.p))))
            w = add(w, scaled(sign, frame.w))
        return [_felt(row, v, w) for row in tie.rows]
    v, w = outer_velocity(trees, tie, frames)
    return [_felt(row, v, w) for row in tie.rows]


def _felt(row: TieRow, v: Array, w: Array) -> Scalar:
    return dot(row.moment, w) if row.kind in ("angular", "cross", "spin") else dot(row.force, v)


def given_accelerations(tie: Tie, state: TieMotion) -> list[Scalar]:
    """Right-hand sides b of M u' = b for the accelerations of the leg's rates, m/s^2 or rad/s^2."""
    trees = state.trees
    if tie.link is not None and tie.body is not None:
        return [_swung(tie, state) if _is_swung(tie, state) else _line_acceleration(tie, state)]
    if tie.is_coupling:
        return [0.0]
    if tie.joint < 0:
        return [-dot(row.moment, state.nodes[tie.node].w_dot) for row in tie.rows]
    if tie.body is None:
        return _inner_accelerations(tie, state)
    own = state.nodes[tie.node]
    frame = state.frames[tie.body]
    down = trees.down
    far = AngularMotion(down(tie.axes, frame.w), down(tie.axes, frame.w_dot))
    return second_derivatives(
        tie, state.gap(tie), AngularMotion(own.w, own.w_dot), far, lambda: state.slip(tie)
    )


def _is_swung(tie: Tie, state: TieMotion) -> bool:
    """Whether A of a rod moves on a circle, and the velocity of B against A is needed for nothing else."""
    trees, link = state.trees, tie.link
    if link is None or tie.rows[0].kind != "rod" or link.resists_rotation(state.friction):
        return False
    path = trees.path(tie.node, tie.axes)
    return len(path) == 1 and path[0] not in trees.roots and trees.node(path[0]).primitive.is_rotation


def _swung(tie: Tie, state: TieMotion) -> Scalar:
    """Right-hand side of a rod's row where A moves on a circle, v_A = u c.

        d.a_B + |v|^2 - d.a_A = d.a_B + v_B.v_B - u (2 v_B.c - u k),      k = c.c + d.r

    with r from the axis to A: v_B.v_B is the same for all legs of a nacelle that does not turn.
    """
    body, B = tie.held
    trees, d = state.trees, tie.rows[0].force
    node = trees.node(tie.node)
    (axis,), (rate,) = node.axes, node.rates
    r = tie.own - dot(axis, tie.own) * axis
    k = dot(r, r) + dot(d, trees.up(tie.node, r, tie.axes))
    c, u = tie_columns(trees, tie)[rate][0], state.u[rate]
    far = trees.down(tie.axes, state.free[body].acceleration(B))
    v, _ = outer_velocity(trees, tie, state.frames)
    return dot(d, far) + dot(v, v) - u * (2.0 * dot(v, c) - u * k)


def _line_acceleration(tie: Tie, state: TieMotion) -> Scalar:
    """Right-hand side of the row of a rod or strut."""
    v, (row,) = state.slip(tie), tie.rows
    value = dot(row.force, state.gap(tie))
    if tie.bar is None or not tie.bar.is_strut:
        return value + dot(v, v)
    assert tie.point is not None
    d = plus(state.trees.seen(tie.axes, tie.point), -tie.own)
    rate = state.u[tie.bar.rate]
    return value + (dot(v, v) - rate * rate) * divide(1.0, d[tie.bar.up])


def _inner_accelerations(tie: Tie, state: TieMotion) -> list[Scalar]:
    assert tie.other is not None
    trees, nodes = state.trees, state.relative(tie)
    up = trees.up

    def at(node: int, point: Array) -> tuple[Array, AngularMotion]:
        motion = nodes[node]
        a = up(node, motion.acceleration(point), tie.axes)
        return a, AngularMotion(up(node, motion.w, tie.axes), up(node, motion.w_dot, tie.axes))

    a, own = at(tie.node, tie.own)
    b, far = at(*tie.other)
    return second_derivatives(tie, add(b, -a), own, far, lambda: state.slip(tie))


def second_derivatives(
    tie: Tie,
    gap: Array,
    own: AngularMotion,
    far: AngularMotion,
    slipping: Callable[[], Array],
) -> list[Scalar]:
    """Right-hand sides b of M u' = b, row by row, m/s^2 or rad/s^2.

    Args:
        tie: the tie.
        gap: acceleration of the far point less that of the leg's (3,), tie axes, at constant leg rates.
        own: angular velocity and its derivative on the leg's side.
        far: the same on the other side.
        slipping: gives the velocity of the far point less that of the leg's (3,), where a row needs it.
    """
    (w, w_dot), (z, z_dot) = own, far
    right: list[Scalar] = []
    twisted: Array | None = None
    slip: Array | None = None
    for row in tie.rows:
        if row.kind == "point":
            right.append(gap[_place(tie, row)])
        elif row.kind == "rod":
            slip = slipping() if slip is None else slip
            right.append(dot(row.force, gap) + dot(slip, slip))
        elif row.kind == "offset":
            slip = slipping() if slip is None else slip
            # e . (far - own) for the side that does not carry e, less 2 w x slip of the side that does:
            # slip is the velocity of the far point relative to the leg's.
            carrier = w if tie.first else z
            right.append(dot(row.force, add(gap, scaled(-2.0, crossed(carrier, slip)))))
        elif row.kind == "angular":
            twisted = crossed(w, _relative(tie, w, z)) if twisted is None else twisted
            right.append(dot(row.moment, add(add(z_dot, -w_dot), -twisted)))
        elif row.kind == "spin":
            # The axis turns with the body: its own change, w x n, is across w.
            right.append(dot(row.moment, add(z_dot, -w_dot)))
        else:
            assert tie.arms is not None
            e, f = tie.arms
            first, second = (w, z) if tie.first else (z, w)
            rate = add(cross(cross(second, f), e), cross(f, cross(first, e)))
            right.append(dot(row.moment, add(z_dot, -w_dot)) + dot(rate, add(z, -w)))
    return right


def _relative(tie: Tie, w: Array, z: Array) -> Array:
    """What w x z needs of z: for one free rotation about a constant axis f, z - w = f (z - w)_m / f_m."""
    if tie.free is None:
        return z
    m = largest_entry(tie.free)
    return scaled((z[m] - w[m]) * divide(1.0, tie.free[m]), tie.free)


def _place(tie: Tie, row: TieRow) -> int:
    return [other for other in tie.rows if other.kind == "point"].index(row)


def tie_columns(trees: LegTrees, tie: Tie) -> Columns:
    """Columns (v, w), (3,) each, of the leg's point of a tie onto the nacelle, by rate, in the tie's axes."""
    return columns(trees, tie.node, tie.own, None if tie.axes == tie.node else tie.axes)


def slip(trees: LegTrees, tie: Tie, u: dict[int, Scalar], frames: dict[int, MovingFrame]) -> Array:
    """Velocity (3,), m/s, of the far point relative to the leg's point, in the tie's axes."""
    if tie.line is not None:
        return tie.line.v
    if tie.bar is not None:
        v, _ = outer_velocity(trees, tie, frames)
        form = tie.bar.seen(trees.node(tie.axes).G.R if tie.axes else None)
        return flat(form, add(v, -velocity(tie_columns(trees, tie), u)))
    if tie.other is None:
        own = velocity(tie_columns(trees, tie), u)
        v, _ = outer_velocity(trees, tie, frames)
        return add(v, -own)
    near = columns(trees, tie.node, tie.own, tie.axes)
    far = columns(trees, *tie.other, tie.axes)
    v = add(velocity(far, u), -velocity(near, u))
    for body, point, sign in tie.sides(trees):
        v = add(v, scaled(sign, frames[body].velocity_at(plus(point, -frames[body].pose.p))))
    return v


def onto_nacelle(
    trees: LegTrees,
    nacelle: PlacedNacelle,
    tie: Tie,
    force: Array,
    moment: Array,
    *,
    idle: Idle | None = None,
) -> dict[int, Scalar]:
    """What a force at the nacelle's point of a tie and a moment, tie axes, do along the nacelle's rates.

    Args:
        trees: the trees.
        nacelle: the nacelle.
        tie: the tie.
        force: the force (3,), N.
        moment: the moment (3,), N m.
        idle: direction in which the force does no work.
    """
    if tie.body is not None and tie.point is not None:
        up = trees.up(tie.axes, force) if idle is None else trees.up_beside(tie.axes, force, idle)
        return nacelle.onto(tie.body, tie.point, up, trees.up(tie.axes, moment), tie.local)
    forces: dict[int, Scalar] = {}
    for body, point, sign in tie.sides(trees):
        for rate, value in nacelle.onto(body, point, scaled(sign, force), scaled(sign, moment)).items():
            forces[rate] = forces[rate] + value if rate in forces else value
    return forces


def weighed(tie: Tie, multipliers: Sequence[Scalar | None]) -> tuple[Array, Array]:
    """Force and moment (3,), tie axes: sum of multiplier times direction over rows; None counts nothing."""
    force: Array = ZERO
    moment: Array = ZERO
    for row, value in zip(tie.rows, multipliers, strict=True):
        if value is not None:
            force = add(force, scaled(value, row.force))
            moment = add(moment, scaled(value, row.moment))
    return force, moment


# ---- ties: what closures and rods demand of the rates of a leg, row by row, in local axes


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
