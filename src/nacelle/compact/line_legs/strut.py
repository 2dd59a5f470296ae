"""Struts: legs that are joined to the base and change their length (UPS, SPS, RPR).

With r = B - A, v and a its derivatives, l = |r|, mu = r.v / l^2 = l' / l, a_1 the first axis of a universal
joint at A, b = a_1 x r, rho = |b|, y = a_1 . r, alpha' = b.v / rho^2 the rate about a_1, and the inertia of
all bodies in e_1 = b / rho, e_2, e_3 = r / l

    I_11(l) = p + 2 h l + m l^2              m, h: mass and first moment about B of what slides
    spin    alpha'^2 (p_1 - D rho^2) / 2     beyond a strut with the same inertia about e_1 and e_2

where p_1 is the inertia about r and that of the cross about a_1, D = (p_33 + p - p_22) / l^2. Lagrange's
equations give, up to a multiple of r,

    G = N a - 2 mu Y v - weight + (H / rho^2) b - T a_1
    Y = p / l^2 + h / l      N = Y + h / l      n = r.v - y a_1.v
    H = (p_1 / rho^2) (b.a - 2 n alpha') - D (b.a - 2 mu b.v)      T = D y alpha'^2

and with f the force density, the actuator's force along r is l (f - (G.r + (h / l) (v.v - mu r.v)) / l^2).
In the direction x = r / l, with r.v = 0 and mu = 0 there, all but the first two terms is the same over l, and

    l G = (p + 2 h l) x'' + 2 h l' x' + ...

The mass m moves with B and is counted there. So is the inertia of a rotor, which feels l'' alone: N and h / l
of the actuator's force are that much less. The angular velocity in e_1, e_2, e_3 is

    w_1 = (y mu - a_1.v) / rho      w_2 = alpha' rho / l      w_3 = alpha' y / l

and the moments about a_1 and e_1 of a body with the inertia I about A are

    M = I w' + w x I w,      M_a = (rho M_2 + y M_3) / l,      M_1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from nacelle.compact.line_legs.geometry import LegForm, round_to_zero
from nacelle.compact.line_legs.known import has_offset_mass
from nacelle.compact.line_legs.rod import add_end_friction, friction_along, geared_inertia
from nacelle.dynamics.friction import spherical_friction
from nacelle.dynamics.physics import Physics
from nacelle.kinematics.legs.chain import TOLERANCE
from nacelle.model.joint import JointKind
from nacelle.spatial.rounding import index_of_largest
from nacelle.spatial.scalar import Array, Scalar, cross, divide, dot, is_zero, pack, sample_values, sqrt


class StrutMotion(NamedTuple):
    """How a strut moves, in the axes that its form is given in.

    Attributes:
        r: B - A (3,), m.
        v: its derivative (3,), m/s.
        a: its second derivative (3,), m/s^2.
        gravity: acceleration of gravity (3,), m/s^2.
        w_end: angular velocity of the platform (3,), rad/s.
        length: where r is the direction x, its derivatives x' and x'': the length l with its derivatives.
    """

    r: Array
    v: Array
    a: Array
    gravity: Array
    w_end: Array
    length: Array | None = None


class StrutLine(NamedTuple):
    """The line of a strut and its rates.

    Attributes:
        first: the first axis a_1 (3,) at A, or a multiple of it.
        stretch: the multiple.
        y: a_1 . r, m.
        b: a_1 x r (3,), m.
        av: a_1 . v, m/s.
        rho2: b . b, m^2.
        rv: r . v, m^2/s.
        n: r . v - y a_1 . v, or that multiple's square times it.
        l: |r|, m.
        il: 1 / l.
        il2: 1 / l^2.
    """

    first: Array
    stretch: Scalar
    y: Scalar
    b: Array
    av: Scalar
    rho2: Scalar
    rv: Scalar
    n: Scalar
    l: Scalar
    il: Scalar
    il2: Scalar


def line_of(form: LegForm, r: Array, v: Array, *, stretched: bool, unit: bool = False) -> StrutLine:
    """The line along r that moves by v; an axis of any length is enough, and one with an entry 1 is short.

    Args:
        form: the leg.
        r: B - A (3,), or the direction x.
        v: its derivative.
        stretched: whether the axis may have any length.
        unit: whether r is a direction, of length 1.
    """
    stretch = _axis_scale(form.first) if stretched else 1.0
    first = round_to_zero(stretch * form.first)
    y, b = dot(first, r), cross(first, r)
    av = dot(first, v)
    if unit:
        rho2 = stretch * stretch - y * y
        return StrutLine(first, stretch, y, b, av, rho2, 0.0, -(y * av), 1.0, 1.0, 1.0)
    if stretch == 1.0:
        rho2 = dot(b, b)
        l2 = rho2 + y * y if form.joint_at_a == "U" else dot(r, r)
        n = dot(r - y * first, v)
        rv = n + y * av if form.joint_at_a == "U" else dot(r, v)
    else:
        c = stretch * stretch
        l2, rv = dot(r, r), dot(r, v)
        rho2, n = c * l2 - y * y, c * rv - y * av
    l = sqrt(l2)
    il = divide(1.0, l)
    return StrutLine(first, stretch, y, b, av, rho2, rv, n, l, il, il * il)


def _axis_scale(axis: Array) -> Scalar:
    """What makes the largest entry of an axis 1 in size; 1 for axes of the base."""
    number = sample_values(axis)
    k = index_of_largest(np.abs(number))
    if abs(number[k]) == 1.0:
        return 1.0
    return divide(1.0, axis[k] if number[k] > 0.0 else -axis[k])


@dataclass(frozen=True)
class StrutRotation:
    """Angular velocity and acceleration in e_1, e_2, e_3, and 1 / rho, rho / l, y / l."""

    w: Array
    dw: Array
    irho: Scalar
    up: Scalar
    along: Scalar


def strut_rotation(line: StrutLine, at: StrutMotion, bv: Scalar, ba: Scalar) -> StrutRotation:
    """How a strut turns, from its line with a first axis of unit length, its motion, b.v and b.a."""
    y, av, n, il, il2 = line.y, line.av, line.n, line.il, line.il2
    a1a, ra, vv = dot(line.first, at.a), dot(at.r, at.a), dot(at.v, at.v)
    rho = sqrt(line.rho2)
    irho = divide(1.0, rho)
    sigma = irho * irho
    rate = bv * sigma
    accel = (ba - 2.0 * n * rate) * sigma
    drho = n * irho
    mu = line.rv * il2
    dmu = (ra + vv) * il2 - 2.0 * mu * mu
    up, along = rho * il, y * il
    # Derivatives of rho / l and y / l.
    dup, dalong = drho * il - up * mu, av * il - along * mu
    w1 = (y * mu - av) * irho
    dw1 = (av * mu + y * dmu - a1a) * irho - w1 * (drho * irho)
    w = pack([w1, rate * up, rate * along])
    dw = pack([dw1, accel * up + rate * dup, accel * along + rate * dalong])
    return StrutRotation(w, dw, irho, up, along)


def residual_moments(products: Array, rotation: StrutRotation) -> tuple[Scalar, Scalar]:
    """Moments (M_a, M_1) of products of inertia (I_12, I_13, I_23), and of nothing else."""
    p12, p13, p23 = products
    w, dw = rotation.w, rotation.dw

    def times(u: Array) -> Array:
        return pack([p12 * u[1] + p13 * u[2], p12 * u[0] + p23 * u[2], p13 * u[0] + p23 * u[1]])

    M = times(dw) + cross(w, times(w))
    return rotation.up * M[1] + rotation.along * M[2], M[0]


class StrutForces(NamedTuple):
    """What a strut requires of the platform and of its actuator, up to the force density f along its line.

    The platform feels f r - G at B; the actuator's force is l f, with its sign, and own.

    Attributes:
        G: force at B (3,), N.
        moment: on the platform (3,), N m, from friction in the joint at B.
        residual_force: the actuator's force without the force density, N or N m.
    """

    G: Array
    moment: Array
    residual_force: Scalar


def strut_forces(form: LegForm, at: StrutMotion, up: int, physics: Physics) -> StrutForces:
    """Demand of a strut whose rotor's inertia counts as a mass at B.

    What of that mass moves across r, and its weight, is taken away again.

    Multiples of r are free: with r = z (t; 1), z the component along the axis `up`, only what is left of a
    vector u after (u_z / z) r was taken away counts, and its component along `up` is zero.

    Args:
        form: the leg.
        at: how it moves.
        up: axis along which r never vanishes.
        physics: what is included.
    """
    length, side, at_end = at.length, form.drive.side, geared_inertia(form.drive.joint)
    products, offset = _products(form), has_offset_mass(form.tube)
    stretched = products is None and not offset
    line = line_of(form, at.r, at.v, stretched=stretched, unit=length is not None)
    r, iz = at.r, divide(1.0, at.r[up])
    column = pack([1.0 if k == up else r[k] * iz for k in range(3)])

    def across(u: Array) -> Array:
        return pack([0.0 if k == up else u[k] - column[k] * u[up] for k in range(3)])

    if length is None:
        mu = line.rv * line.il2
        p, hl = form.tube[4] + form.rod[4], form.rod[3] * line.il
        Y = p * line.il2 + hl
        hl = hl - at_end
        lateral = _Lateral(across(at.v), across(at.a), (mu, mu + mu))
        G = (Y + hl) * lateral.a - (lateral.mu[1] * Y) * lateral.v
        spin, moment = _rotational_force(form, at, line, lateral, physics, _Column(across, column, iz, up))
        G = G + spin
        kappa = dot(G, r) + hl * (dot(at.v, at.v) - mu * line.rv)
        l, rate, along = line.l, line.rv * line.il, line.rv
        force = -(side * line.il) * kappa
    else:
        d, d_dot, _ = length
        # All of this times d, so that it is linear in x, x' and x''.
        h = form.rod[3] - at_end * d
        lateral = _Lateral(across(at.v), across(at.a), (0.0, 0.0))
        G = (form.tube[4] + form.rod[4] + (form.rod[3] + h) * d) * lateral.a
        G = G + ((d_dot + d_dot) * h) * lateral.v
        spin, moment = _rotational_force(form, at, line, lateral, physics, _Column(across, column, iz, up))
        G = divide(1.0, d) * (G + spin)
        l, rate, along = d, d_dot, d_dot
        force = -side * (dot(G, r) + h * dot(at.v, at.v))
    force = force + friction_along(form.drive.friction(), side * rate, side * along, physics)
    spring = form.drive.joint.springs[0] if physics.springs and form.drive.joint.springs else None
    if spring is not None:
        force = force + spring.holding_force(side * l + form.drive.zero)
    if not is_zero(at_end):
        # Only what is across r is left here; the rest goes to the force along r.
        weight = at_end * at.gravity
        G = G + across(weight)
        force = force + ((side * line.l) * iz) * weight[up]
    return StrutForces(G, moment, force)


class _Lateral(NamedTuple):
    """What of v and a is left without multiples of r, and mu = l' / l with its double."""

    v: Array
    a: Array
    mu: tuple[Scalar, Scalar]


class _Column(NamedTuple):
    """How multiples of r are taken away: a function, t = r / z and 1 / z, the axis `up`."""

    across: Callable[[Array], Array]
    column: Array
    iz: Scalar
    up: int


def _rotational_force(
    form: LegForm, at: StrutMotion, line: StrutLine, lateral: _Lateral, physics: Physics, off: _Column
) -> tuple[Array, Array]:
    """Weight, spin and friction of a strut: force at B, and the moment there.

    Of a direction, r of length 1, the force is one times l.
    """
    first, stretch, y, b, av, rho2, _, n, *_, il, il2 = line
    gravity, up, (mu, twice_mu) = at.gravity, off.up, lateral.mu
    weight = (form.tube[3] + form.rod[3]) * il
    p = form.tube[4] + form.rod[4]
    if form.joint_at_a != "U":
        pull, moment = _end_friction(form, at, il2, physics)
        return off.across(pull - weight * gravity), moment
    moment = np.zeros(3)
    products = _products(form)
    sigma = divide(1.0, rho2)
    # b is perpendicular to r, so the parts along r do not count.
    bv, ba = _dot_across(b, lateral.v, up), _dot_across(b, lateral.a, up)
    rate = bv * sigma
    p22, p33 = form.tube[6] + form.rod[6], form.tube[9] + form.rod[9]
    p1 = (form.cross + p33) * (stretch * stretch)
    D = (p33 + p - p22) * il2
    H = (p1 * sigma) * (ba - (2.0 * n) * rate) - D * (ba - twice_mu * bv)
    H = H + stretch * friction_along(form.passive.first, stretch * rate, bv, physics)
    T: Scalar = (D * y) * (rate * rate)
    if physics.friction and form.passive.second:
        second_rate = form.passive.side * (mu * y - av)
        irho = divide(1.0, sqrt(rho2))
        second = friction_along(form.passive.second, second_rate * irho, second_rate, physics)
        T = T + form.passive.side * second * irho
    if products is not None or has_offset_mass(form.tube):
        rotation = strut_rotation(line, at, bv, ba)
        if products is not None:
            M_a, M_1 = residual_moments(products, rotation)
            H, T = H + M_a, T + M_1 * rotation.irho
        if has_offset_mass(form.tube):
            M_a, M_1 = _offset_weight_moments(form, at, line, rotation)
            H, T = H + M_a, T + M_1 * rotation.irho
    if physics.friction and form.passive.end and form.passive.end_kind is JointKind.SPHERICAL:
        # Spin about r: the part of the angular velocity along it is rate y / l^2.
        w = il2 * cross(at.r, at.v) + (rate * y * il2) * at.r
        moment = spherical_friction(form.passive.end, at.w_end - w, physics.smooth)
        H = H - dot(first, moment)
        T = T - dot(b, moment) * sigma
    return _rotation_force(line, off, H, T, sigma, m=weight, g=gravity), moment


def strut_inertia(form: LegForm, r: Array) -> Array:
    """Inertia (3, 3) at B of a strut whose rotor counts as a mass there.

    N (1 - r r^T / l^2) + (p_1 / rho^2 - D) b b^T / rho^2, N less the rotor, and of products of
    inertia, with s = b / rho^2, t = (y r / l^2 - a_1) / rho,

        2 p_23 (rho y / l^2) s s^T + (p_12 rho + p_13 y) / l (s t^T + t s^T).
    """
    products = _products(form)
    first, stretch, y, b, _, rho2, *_, il, il2 = line_of(form, r, np.zeros(3), stretched=products is None)
    p, hl = form.tube[4] + form.rod[4], form.rod[3] * il
    N = p * il2 + hl + hl - geared_inertia(form.drive.joint)
    along = (N * il2) * r
    chi: Scalar = 0.0
    t: Array | None = None
    if form.joint_at_a == "U":
        sigma = divide(1.0, rho2)
        p22, p33 = form.tube[6] + form.rod[6], form.tube[9] + form.rod[9]
        chi = (((form.cross + p33) * (stretch * stretch)) * sigma - (p33 + p - p22) * il2) * sigma
        if products is not None:
            p12, p13, p23 = products
            irho = divide(1.0, sqrt(rho2))
            rho = rho2 * irho
            chi = chi + (2.0 * p23) * ((rho * y) * il2) * (sigma * sigma)
            t = (((p12 * rho + p13 * y) * il) * (irho * sigma)) * ((y * il2) * r - first)
    spun = chi * b

    def entry(i: int, j: int) -> Scalar:
        value = spun[i] * b[j] - along[i] * r[j]
        if t is not None:
            value = value + t[i] * b[j] + b[i] * t[j]
        return N + value if i == j else value

    return pack([[entry(max(i, j), min(i, j)) for j in range(3)] for i in range(3)])


def _dot_across(b: Array, u: Array, up: int) -> Scalar:
    """B . u for a vector u without component along `up`."""
    i, j = (up + 1) % 3, (up + 2) % 3
    return b[i] * u[i] + b[j] * u[j]


def _rotation_force(
    line: StrutLine, off: _Column, H: Scalar, T: Scalar, sigma: Scalar, *, m: Scalar, g: Array
) -> Array:
    """What of (H / rho^2) b - T a_1 - m g is left without multiples of r.

    Args:
        line: the strut's line.
        off: how multiples of r are taken away.
        H: as there, N m.
        T: as there, N.
        sigma: 1 / rho^2.
        m: mass that hangs at B, kg.
        g: acceleration of gravity (3,), m/s^2.
    """
    first, b = line.first, line.b
    _, t, iz, up = off
    X = H * sigma
    down = X * b[up] - T * first[up] - m * g[up]
    force: list[Scalar] = [0.0] * 3
    for k in ((up + 1) % 3, (up + 2) % 3):
        weight = m * g[k]
        if is_zero(first[k]) and is_zero(first[up]):
            # Perpendicular to the first axis b_k - t_k b_z is +-rho^2 / z: no need for X.
            third = 3 - k - up
            sign = first[third] * (1.0 if (third + 1) % 3 == up else -1.0)
            force[k] = (sign * iz) * H - weight + t[k] * (m * g[up])
        else:
            force[k] = X * b[k] - T * first[k] - weight - t[k] * down
    return pack(force)


def _end_friction(form: LegForm, at: StrutMotion, il2: Scalar, physics: Physics) -> tuple[Array, Array]:
    """Friction at both ends of a strut on a spherical or revolute joint: force at B, moment there."""
    moment: Array = np.zeros(3)
    if not physics.friction:
        return np.zeros(3), moment
    w = il2 * cross(at.r, at.v)
    if form.joint_at_a == "S":
        total: Array = np.zeros(3)
        if form.passive.spherical:
            total = total + spherical_friction(form.passive.spherical, w, physics.smooth)
        if form.passive.end:
            moment = spherical_friction(form.passive.end, at.w_end - w, physics.smooth)
            total = total - moment
        return il2 * cross(total, at.r), moment
    rate = dot(form.first, w)
    about_a = friction_along(form.passive.first, rate, rate, physics)
    about_a, moment = add_end_friction(form, about_a, rate, at.w_end, physics)
    return (about_a * il2) * cross(form.first, at.r), moment


def _products(form: LegForm) -> Array | None:
    """Products of inertia (12, 13, 23) of tube and rod together; None where they vanish."""
    tube, rod = sample_values(form.tube), sample_values(form.rod)
    products = tube[[5, 7, 8]] + rod[[5, 7, 8]]
    largest = float(np.max(np.abs(tube[4:]) + np.abs(rod[4:]), initial=0.0))
    if np.max(np.abs(products)) <= TOLERANCE * largest:
        return None
    return np.asarray(form.tube[[5, 7, 8]] + form.rod[[5, 7, 8]])


def _offset_weight_moments(
    form: LegForm, at: StrutMotion, line: StrutLine, rotation: StrutRotation
) -> tuple[Scalar, Scalar]:
    """Moments (about a_1, about e_1) of the weight of a tube whose centre of mass lies off its axis."""
    e1 = line.b * rotation.irho
    e3 = at.r * line.il
    e2 = cross(e3, e1)
    c = form.tube[1] * e1 + form.tube[2] * e2
    n = cross(at.gravity, c)
    return dot(line.first, n), dot(e1, n)
