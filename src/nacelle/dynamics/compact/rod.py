"""Rods of constant length on a driven slider or arm (PUS, RUS, PSS, RSS, PRR, RRR).

The drive moves A along the line A_0 + q d, or on a circle about O, and |B - A| = L gives q without
trigonometry. With r = B - A, g_1 and g_2 the accelerations of A and B less gravity, and the rod's mass m,
first moment h and transverse inertia p about A, c_1 = h / L and c_2 = p / L^2, a rod is equal to masses at
its ends:

    G = c_2 g_2 + (c_1 - c_2) g_1 + turning
    force on the drive = f r + (m - 2 c_1 + c_2) g_1 + (c_1 - c_2) g_2 - turning

up to a multiple of r. What a universal joint adds (spin, unequal moments and products of inertia, a centre of
mass beside the axis) comes from the moments about its two axes: G = (M_a b - rho M_1 a_1) / rho^2 with
b = a_1 x r.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from nacelle.dynamics.compact.demand import Counts, Demand, drive_force, friction_along
from nacelle.dynamics.compact.form import LegForm
from nacelle.dynamics.friction import ball_friction
from nacelle.kinematics.general.vectors import is_zero
from nacelle.kinematics.legs.axes import TOLERANCE
from nacelle.model.joint import JointKind
from nacelle.spatial.rounding import first_largest
from nacelle.spatial.scalar import (
    Array,
    Scalar,
    at_sample,
    atan2,
    cross,
    divide,
    dot,
    norm,
    pack,
    sqrt,
)


class Driven(NamedTuple):
    """Where the drive stands.

    Attributes:
        r: B - A (3,).
        reach: dA/dq (3,).
        lever: r . dA/dq, whose square is the radicand.
        A: for an arm, A from the centre of its circle.
        K: for an arm, (B - O) . A.
        gate: the squared sine between rod and drive: the radicand over squares of lengths.
    """

    r: Array
    reach: Array
    lever: Scalar
    A: Array
    K: Scalar
    gate: Scalar


class Moved(NamedTuple):
    """How a rod and its drive move.

    Attributes:
        r: B - A (3,).
        v: its derivative.
        a: its second derivative.
        a1: acceleration of A.
        a2: acceleration of B.
        reach: dA/dq (3,).
        lever: r . dA/dq.
        share: 1 / lever.
        A: for an arm, A from the centre of its circle.
        q: coordinate of a slider.
        q_dot: rate of the drive.
        q_ddot: acceleration of the drive.
        gate: positive where the leg can be closed.
        by_end: whether a2 is known first, and a follows from it; else the other way round.
    """

    r: Array
    v: Array
    a: Array
    a1: Array
    a2: Array
    reach: Array
    lever: Scalar
    share: Scalar
    A: Array
    q: Scalar
    q_dot: Scalar
    q_ddot: Scalar
    gate: Scalar
    by_end: bool


def plane_axes(axis: Array) -> tuple[Array, Array]:
    """Two unit vectors with the axis of a turn: t_1 x t_2 = axis; along the base's axes where it is one."""
    number = at_sample(axis)
    k = first_largest(np.abs(number))
    if abs(abs(number[k]) - 1.0) < TOLERANCE:
        t1, t2 = np.eye(3)[(k + 1) % 3], np.eye(3)[(k + 2) % 3]
        return (t1, t2) if number[k] > 0.0 else (t2, t1)
    t1 = cross(np.eye(3)[2] if k != 2 else np.eye(3)[0], axis)
    t1 = t1 / norm(t1)
    return t1, cross(axis, t1)


def slider(form: LegForm, u: Array) -> Driven:
    """A on a line: u = B - A_0; r . d = -w with w = root sqrt(L^2 - |u|^2 + (u.d)^2)."""
    d = form.axis
    on = dot(u, d)
    across = u - on * d
    rest = form.length * form.length - dot(across, across)
    w = form.root * sqrt(rest)
    return Driven(across - w * d, d, -w, np.zeros(3), 0.0, rest / (form.length * form.length))


def arm(form: LegForm, u: Array) -> Driven:
    """A on a circle: u = B - O, K = u.A = (u.u + E^2 - L^2) / 2, A = (u_p K -+ w n x u_p) / |u_p|^2."""
    n = form.axis
    t1, t2 = plane_axes(n)
    x, y = dot(u, t1), dot(u, t2)
    flat = x * x + y * y
    if form.pivot == "R":
        u, square = x * t1 + y * t2, flat
    elif n.dtype != object and np.count_nonzero(n) == 1:
        square = flat + dot(u, n) * dot(u, n)
    else:
        square = dot(u, u)
    E2, L2 = form.arm * form.arm, form.length * form.length
    K = 0.5 * square + 0.5 * (E2 - L2)
    rest = E2 * flat - K * K
    w = form.root * sqrt(rest)
    share = divide(1.0, flat)
    c, s = (x * K - y * w) * share, (y * K + x * w) * share
    A = c * t1 + s * t2
    return Driven(u - A, c * t2 - s * t1, -w, A, K, rest / (E2 * L2))


def placed(form: LegForm, u: Array) -> Driven:
    """Where the drive stands for an end u = B from A at q = 0, or from the centre of the circle."""
    if form.pivot == "R":
        u = _flat(u, form.first)
    return arm(form, u) if form.drive.turns else slider(form, u)


def from_end(form: LegForm, numeric: LegForm, u: Array, v2: Array, a2: Array, counts: Counts) -> Moved:
    """The motion of a rod from that of its end; u is B from A at q = 0, or from the centre of the circle."""
    turns = form.drive.turns
    at = placed(form, u)
    if form.pivot == "R":
        v2, a2 = _flat(v2, form.first), _flat(a2, form.first)
    r, reach = at.r, at.reach
    share = divide(1.0, at.lever)
    q_dot = dot(r, v2) * share
    v = v2 - q_dot * reach
    if turns and not _needs_rate(form, numeric, counts):
        # v.v and r.A of an arm in one, with v2.v2, which legs may share.
        push = dot(r, a2) + dot(v2, v2) - q_dot * (2.0 * dot(v2, reach) - q_dot * at.K)
    else:
        push = dot(r, a2) + dot(v, v)
        if turns:
            push = push + (q_dot * q_dot) * (at.K - form.arm * form.arm)
    q_ddot = push * share
    a1 = q_ddot * reach - (q_dot * q_dot) * at.A if turns else q_ddot * reach
    q = 0.0 if turns else dot(u - r, reach)
    return Moved(r, v, a2 - a1, a1, a2, reach, at.lever, share, at.A, q, q_dot, q_ddot, at.gate, True)


def from_drive(
    form: LegForm, r: Array, v: Array, a2: Array, A: Array, q: Scalar, q_dot: Scalar, q_ddot: Scalar
) -> Moved:
    """The motion of a rod from that of its drive (A: of an arm, from its centre), with r and dr/dt known."""
    if form.drive.turns:
        reach = cross(form.axis, A)
        a1 = q_ddot * reach - (q_dot * q_dot) * A
    else:
        reach = form.axis
        a1 = q_ddot * reach
    lever = dot(r, reach)
    return Moved(r, v, a2 - a1, a1, a2, reach, lever, divide(1.0, lever), A, q, q_dot, q_ddot, 1.0, True)


def from_elements(form: LegForm, drive: Array, rod: Array) -> Moved:
    """The motion of a rod from its elements ([OAM] (66)).

    Args:
        form: the leg.
        drive: direction of the arm with its two derivatives (3, 3), or length of the slide with its (3,).
        rod: direction of the rod with its two derivatives (3, 3).
    """
    L = form.length
    r, v, a = L * rod[0], L * rod[1], L * rod[2]
    if not form.drive.turns:
        reach, a1, A = form.axis, drive[2] * form.axis, np.zeros(3)
        q, q_dot, q_ddot = drive
    else:
        A, a1 = form.arm * drive[0], form.arm * drive[2]
        reach = cross(form.axis, A)
        q, turned = 0.0, cross(form.axis, drive[0])
        q_dot, q_ddot = dot(turned, drive[1]), dot(turned, drive[2])
    lever = dot(r, reach)
    return Moved(r, v, a, a1, a1 + a, reach, lever, divide(1.0, lever), A, q, q_dot, q_ddot, 1.0, False)


def rod(
    form: LegForm,
    numeric: LegForm,
    moved: Moved,
    gravity: Array,
    w_platform: Array,
    extra: Scalar,
    counts: Counts,
) -> Demand:
    """Demand of a rod, with a mass `extra` of the platform at B; vectors in the axes of `form`."""
    turns = form.drive.turns
    if form.pivot == "R":
        gravity = _flat(gravity, form.first)
    r, reach = moved.r, moved.reach
    L2 = form.length * form.length
    mass, c1, c2 = form.rod[0], form.rod[3] / form.length, form.rod[4] / L2
    if moved.by_end or not is_zero(extra):
        G = (c2 + extra) * (moved.a2 - gravity) + (c1 - c2) * (moved.a1 - gravity)
    else:
        G = c1 * (moved.a1 - gravity) + c2 * moved.a
    part = _turning(form, numeric, moved, gravity, w_platform, counts)
    G = G + part.G + part.free
    # Along the drive: (c_1 - c_2) g_B, the mass at A, the carriage, the turning part.
    if moved.by_end:
        at_A = mass - 2.0 * c1 + c2
        own = (c1 - c2) * dot(moved.a2 - gravity, reach)
    else:
        at_A = mass - c1
        own = (c1 - c2) * dot(moved.a, reach)
    own = own + dot(part.force - part.G, reach) + part.reaction
    if turns:
        own = own + (at_A * form.arm * form.arm + form.carriage[9] + rotor(form)) * moved.q_ddot
        own = own - (at_A + form.carriage[1] / form.arm) * dot(gravity, reach)
        own = own + (form.carriage[2] / form.arm) * dot(gravity, moved.A)
    else:
        carried = at_A + form.carriage[0]
        own = own + (carried + rotor(form)) * moved.q_ddot - carried * dot(gravity, reach)
    q: Scalar = moved.q
    if turns and form.drive.joint.springs:
        q = atan2(dot(moved.A, cross(form.axis, form.start)), dot(moved.A, form.start))
    own = own + drive_force(form.drive, q, moved.q_dot, moved.q_dot, counts)
    demand = Demand(r, G, part.moment, moved.lever, own, (moved.gate, *part.gates), share=moved.share)
    if form.pivot != "R":
        return demand
    turn = (1.0 / L2) * dot(form.first, cross(r, moved.v))
    return replace(demand, turn=turn, lean=_lean(form, moved))


def _lean(form: LegForm, moved: Moved) -> Array:
    """The force at B that a moment of 1 about A asks for, along an arm, so that its drive feels none."""
    if form.drive.turns:
        return np.asarray((-dot(form.axis, form.first) * moved.share) * moved.A)
    # On a slider across the slide.
    across = cross(form.first, form.axis)
    return np.asarray(divide(1.0, dot(form.first, cross(moved.r, across))) * across)


def _needs_rate(form: LegForm, numeric: LegForm, counts: Counts) -> bool:
    """Whether the velocity of B against A is needed for itself."""
    if counts.friction and (
        form.passive.first or form.passive.second or form.passive.ball or form.passive.end
    ):
        return True
    return form.pivot == "U" and bool(np.any(numeric.rod[4:] != 0.0) or np.any(numeric.rod[1:3] != 0.0))


def _flat(vector: Array, axis: Array) -> Array:
    """What of a vector lies across an axis of the base."""
    k = first_largest(np.abs(at_sample(axis)))
    return np.asarray(pack([0.0 if j == k else vector[j] for j in range(3)]))


class _Part(NamedTuple):
    """What the rod's turning adds.

    Attributes:
        moment: on the platform.
        G: force at B.
        free: force at B that is square to the drive's motion.
        force: of inertia, on the rod as a whole.
        reaction: on the drive.
        gates: positive where the leg can be closed.
    """

    moment: Array
    G: Array
    free: Array
    force: Array
    reaction: Scalar
    gates: tuple[Scalar, ...]


def _turning(
    form: LegForm, numeric: LegForm, at: Moved, gravity: Array, w_platform: Array, counts: Counts
) -> _Part:
    zero = np.zeros(3)
    v, a, q_dot, g1 = at.v, at.a, at.q_dot, at.a1 - gravity
    if form.pivot == "S":
        return _between_balls(form, at, w_platform, counts)
    if form.pivot == "R":
        return _hinged(form, numeric, at, g1, w_platform, counts)
    L, r, first = form.length, at.r, form.first
    y, b = dot(first, r), cross(first, r)
    rho2 = dot(b, b)
    sigma = divide(1.0, rho2)
    av, h, k = dot(first, v), dot(b, v), dot(b, a)
    n = -(y * av)
    rate = h * sigma
    turned = dot(form.axis, first) * q_dot if form.drive.turns else 0.0
    moment: Array = zero
    M_a: Scalar = friction_along(form.passive.first, rate - turned, rate - turned, counts)
    reaction: Scalar = -(dot(form.axis, first) * M_a) if form.drive.turns else 0.0
    M_a = M_a + friction_along(form.passive.still, rate, h, counts)
    T: Scalar = 0.0
    force = zero
    inertia, p = numeric.rod, form.rod
    p1 = form.cross + p[9]
    uneven = p[9] + p[4] - p[6]
    accel = (k - (2.0 * n) * rate) * sigma
    general = _general(inertia)
    if not general:
        D = uneven / (L * L)
        M_a = M_a + p1 * accel - D * k
        T = (D * y) * (rate * rate)
    else:
        irho = divide(1.0, sqrt(rho2))
        rho = rho2 * irho
        drho = n * irho
        up, along = rho / L, y / L
        w1 = -(av * irho)
        dw1 = -(dot(first, a) + w1 * drho) * irho
        w = pack([w1, rate * up, rate * along])
        dw = pack([dw1, accel * up + rate * (drho / L), accel * along + rate * (av / L)])
        M, P = _own_axes(p, w, dw, g1, b * irho, r / L)
        M_a = M_a + form.cross * accel + up * M[1] + along * M[2]
        T = M[0] * irho
        force = P
    if counts.friction and form.passive.second:
        side = form.passive.side
        irho = divide(1.0, sqrt(rho2))
        T = T + side * friction_along(form.passive.second, -(side * av) * irho, -(side * av), counts) * irho
    if counts.friction and form.passive.end and form.passive.end_kind is JointKind.SPHERICAL:
        w_rod = (1.0 / (L * L)) * (cross(r, v) + (rate * y) * r)
        moment = ball_friction(form.passive.end, w_platform - w_rod, counts.smooth)
        M_a = M_a - dot(first, moment)
        T = T - dot(b, moment) * sigma
    # A rod that nothing turns needs rho^2 for its gate alone, which L^2 - y^2 gives for less.
    across = 1.0 - (1.0 / (L * L)) * (y * y) if is_zero(M_a) and is_zero(T) else rho2 / (L * L)
    return _Part(moment, (M_a * sigma) * b - T * first, zero, force, reaction, (across,))


def _general(parameters: Array) -> bool:
    """Whether a rod has products of inertia, or its centre of mass beside its axis."""
    products = float(np.max(np.abs(parameters[[5, 7, 8]])))
    beside = float(np.max(np.abs(parameters[1:3])))
    return products > TOLERANCE * float(
        np.max(np.abs(parameters[4:]), initial=1e-300)
    ) or beside > TOLERANCE * max(float(np.max(np.abs(parameters[1:4]))), 1e-300)


def _own_axes(p: Array, w: Array, dw: Array, g1: Array, e1: Array, e3: Array) -> tuple[Array, Array]:
    """Moment about A in e_1, e_2, e_3 and force in base axes, beyond an even rod with its mass on its axis.

    The even rod, inertia p_4 about e_1 and e_2 and first moment p_3, is in the masses at the ends.
    """
    e2 = cross(e3, e1)
    p11, p12, p22, p13, p23, p33 = p[4:]

    def times(u: Array) -> Array:
        return pack(
            [
                p12 * u[1] + p13 * u[2],
                p12 * u[0] + (p22 - p11) * u[1] + p23 * u[2],
                p13 * u[0] + p23 * u[1] + p33 * u[2],
            ]
        )

    c = pack([p[1], p[2], 0.0])
    g = pack([dot(e1, g1), dot(e2, g1), dot(e3, g1)])
    Iw = times(w)
    M = times(dw) + cross(w, Iw) + cross(c, g)
    f = cross(dw, c) + cross(w, cross(w, c))
    return M, f[0] * e1 + f[1] * e2 + f[2] * e3


def _between_balls(form: LegForm, at: Moved, w_platform: Array, counts: Counts) -> _Part:
    """A rod between balls: even, without spin; friction in its balls."""
    zero = np.zeros(3)
    if not counts.friction or not (form.passive.ball or form.passive.end):
        return _Part(zero, zero, zero, zero, 0.0, ())
    w2 = 1.0 / (form.length * form.length)
    turn = w2 * cross(at.r, at.v)
    total: Array = zero
    moment: Array = zero
    reaction: Scalar = 0.0
    if form.passive.ball:
        under = at.q_dot * form.axis if form.drive.turns else zero
        own = ball_friction(form.passive.ball, turn - under, counts.smooth)
        total = total + own
        reaction = -dot(form.axis, own) if form.drive.turns else 0.0
    if form.passive.end:
        moment = ball_friction(form.passive.end, w_platform - turn, counts.smooth)
        total = total - moment
    return _Part(moment, w2 * cross(total, at.r), zero, zero, reaction, ())


def _hinged(
    form: LegForm, numeric: LegForm, at: Moved, g1: Array, w_platform: Array, counts: Counts
) -> _Part:
    """A rod in a plane: a centre of mass beside its axis, friction in both hinges."""
    axis, r, zero = form.first, at.r, np.zeros(3)
    w2 = 1.0 / (form.length * form.length)
    # The first moment across r, along axis x r: e_2 = e_3 x e_1 = -axis x e_3.
    beside = float(abs(numeric.rod[2])) > TOLERANCE * max(float(np.max(np.abs(numeric.rod[1:4]))), 1e-300)
    cp = -form.rod[2] / form.length if beside else 0.0
    G = -cp * cross(axis, g1) if beside else zero
    force = cp * cross(axis, at.a) if beside else zero
    if not counts.friction:
        return _Part(zero, G, zero, force, 0.0, ())
    moment: Array = zero
    rate = w2 * dot(axis, cross(r, at.v))
    side_drive = dot(form.axis, axis) if form.drive.turns else 0.0
    turned = side_drive * at.q_dot if form.drive.turns else 0.0
    own = friction_along(form.passive.first, rate - turned, rate - turned, counts)
    reaction = -(side_drive * own) if form.drive.turns else 0.0
    if form.passive.end_kind is JointKind.REVOLUTE:
        side = form.passive.end_side
        other = side * (dot(axis, w_platform) - rate)
        end = side * friction_along(form.passive.end, other, other, counts)
        own, moment = own - end, end * axis
    free = zero if is_zero(own) else own * _lean(form, at)
    return _Part(moment, G, free, force, reaction, ())


def rotor(form: LegForm) -> Scalar:
    """Inertia of the drive's rotor, seen from the joint."""
    joint = form.drive.joint
    return 0.0 if is_zero(joint.rotor_inertia) else joint.gear_ratio * joint.gear_ratio * joint.rotor_inertia
