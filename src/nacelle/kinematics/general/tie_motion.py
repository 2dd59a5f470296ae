"""Ties in motion: right-hand sides of their rows, and what their multipliers do on the nacelle.

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
from dataclasses import dataclass

from nacelle.kinematics.general.bars import flat
from nacelle.kinematics.general.leg_trees import Idle, LegTrees
from nacelle.kinematics.general.motion import Columns, NodeMotion, columns, outward, velocity
from nacelle.kinematics.general.nacelle import MovingFrame, PlacedNacelle
from nacelle.kinematics.general.ties import Tie, TieRow, largest_entry
from nacelle.kinematics.general.vectors import ZERO, add, crossed, scaled
from nacelle.spatial.scalar import Array, Scalar, cross, divide, dot, plus
from nacelle.spatial.screw import AngularMotion, Twist


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
