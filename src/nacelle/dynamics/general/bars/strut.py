"""Struts: legs that stand on the base and change their length (UPS, SPS, RPR).

With r = B - A, v and a its derivatives, l = |r|, a_1 the first axis of a universal joint at A, b = a_1 x r,
rho = |b|, y = a_1 . r and the inertia of all bodies in e_1 = b / rho, e_2, e_3 = r / l

    I_11(l) = p + 2 h l + m l^2      m, h: mass and first moment about B of what slides
    spin    ½ α'^2 (p_1 - D rho^2 / l^2)   beyond a strut with the same inertia about e_1 and e_2

Lagrange's equations give, up to a multiple of r,

    G = N a - 2 (r.v / l^2) Y v - weight + (H / rho^2) b - D (α'^2 y / l^2) a_1
    Y = p / l^2 + h / l,  N = Y + h / l,  α' = b.v / rho^2,  k = b.a,  n = r.v - y a_1.v
    H = (p_1 / rho^2) (k - 2 n α') - (D / l^2) (k - 2 (r.v / l^2) b.v)

and the actuator's force along r is l (f - (G.r + (h / l) (v.v - (r.v)^2 / l^2)) / l^2). The mass m moves
with B and is counted there. So may be the inertia of a rotor, which feels l'' alone: then N and h / l of the
actuator's force are that much less.
"""

from __future__ import annotations

import numpy as np

from nacelle.dynamics.friction import ball_friction
from nacelle.dynamics.general.bars.demand import Demand, drive_force, friction_along
from nacelle.dynamics.general.bars.rod import rotor
from nacelle.dynamics.general.bars.spin import Turning, residual_moments
from nacelle.dynamics.general.required import Counted
from nacelle.kinematics.bars.form import LegForm, clean
from nacelle.kinematics.general.vectors import is_zero
from nacelle.kinematics.legs.axes import TOLERANCE
from nacelle.model.joint import JointKind
from nacelle.spatial.rounding import first_largest
from nacelle.spatial.scalar import Array, Scalar, at_sample, cross, divide, dot, pack, sqrt


def end_mass(form: LegForm) -> Scalar:
    """Mass that moves with B: what slides."""
    return form.rod[0]


def strut(
    form: LegForm,
    numeric: LegForm,
    r: Array,
    v: Array,
    a: Array,
    gravity: Array,
    w_platform: Array,
    extra: Scalar,
    up: int,
    counted: Counted,
    *,
    geared: bool = False,
) -> Demand:
    """Demand of a strut from the motion of B against A, with a mass `extra` of the platform at B.

    All vectors are in the axes that `form` is given in. With `geared` the rotor's inertia is part of `extra`,
    and its motion across r and its weight are taken away again.

    Multiples of r are free: with r = z (t; 1), z the component along the axis `up`, only what is left of a
    vector u after (u_z / z) r was taken away counted, and its component along `up` is zero.
    """
    spins = form.pivot == "U"
    products, beside = _products(form, numeric), _beside(numeric)
    # An axis of any length is enough: one with an entry 1 saves products.
    stretch = 1.0 if products is not None or beside else _stretch(form.first)
    first = clean(stretch * form.first)
    c = stretch * stretch
    y, b = dot(first, r), cross(first, r)
    along = dot(first, v)
    if stretch == 1.0:
        rho2 = dot(b, b)
        l2 = rho2 + y * y if spins else dot(r, r)
        n = dot(r - y * first, v)
        rv = n + y * along if spins else dot(r, v)
    else:
        l2, rv = dot(r, r), dot(r, v)
        rho2, n = c * l2 - y * y, c * rv - y * along
    l = sqrt(l2)
    il = divide(1.0, l)
    w = il * il
    iz = divide(1.0, r[up])
    column = pack([1.0 if k == up else r[k] * iz for k in range(3)])

    def across(u: Array) -> Array:
        return pack([0.0 if k == up else u[k] - column[k] * u[up] for k in range(3)])

    va, aa = across(v), across(a)
    m = rv * w
    m2 = m + m
    at_end = rotor(form) if geared else 0.0
    p = form.tube[4] + form.rod[4]
    s = form.rod[3] * il
    Y = p * w + s
    s = s - at_end
    N = Y + s
    weight = (form.tube[3] + form.rod[3]) * il
    G = N * aa - (m2 * Y) * va
    moment: Array = np.zeros(3)
    if spins:
        sigma = divide(1.0, rho2)
        # b is perpendicular to r, so the parts along r do not count.
        h, k = _dot_across(b, va, up), _dot_across(b, aa, up)
        rate = h * sigma
        p33 = form.tube[9] + form.rod[9]
        p22 = form.tube[6] + form.rod[6]
        p1 = (form.cross + p33) * c
        D = (p33 + p - p22) * w
        H = (p1 * sigma) * (k - (2.0 * n) * rate) - D * (k - m2 * h)
        H = H + stretch * friction_along(form.passive.first, stretch * rate, h, counted)
        # Moment about e_1 over rho, that is -G along the first axis.
        T: Scalar = (D * y) * (rate * rate)
        if counted.friction and form.passive.second:
            turn = form.passive.side * (m * y - along)
            irho = divide(1.0, sqrt(rho2))
            second = friction_along(form.passive.second, turn * irho, turn, counted)
            T = T + form.passive.side * second * irho
        if products is not None or beside:
            turning = Turning.of_strut(
                y, rho2, l, il, rv, along, n, h, k, dot(first, a), dot(r, a), dot(v, v)
            )
            if products is not None:
                Ma, M1 = residual_moments(products, turning)
                H, T = H + Ma, T + M1 * turning.irho
            if beside:
                Ma, M1 = _weight_beside(form, turning, first, b, r, gravity, il)
                H, T = H + Ma, T + M1 * turning.irho
        if counted.friction and form.passive.end and form.passive.end_kind is JointKind.SPHERICAL:
            # Spin about r: the part of the angular velocity along it is rate y / l^2.
            w_rod = w * cross(r, v) + (rate * y * w) * r
            moment = ball_friction(form.passive.end, w_platform - w_rod, counted.smooth)
            H = H - dot(first, moment)
            T = T - dot(b, moment) * sigma
        G = G + _turned_force(H, T, sigma, weight, first, b, rho2, column, iz, gravity, up)
    else:
        pull, moment = _free_end(form, r, v, w, w_platform, counted)
        G = G + across(pull - weight * gravity)
    kappa = dot(G, r) + s * (dot(v, v) - m * rv)
    side = form.drive.side
    own = drive_force(form.drive, side * l + form.drive.zero, (side * rv) * il, side * rv, counted)
    inertia = 0.0 if geared else rotor(form)
    if not is_zero(inertia):
        own = own + (side * inertia) * (il * (dot(r, a) + dot(v, v) - m * rv))
    gain = (side * l) * iz
    own = own - (side * il) * kappa
    if not (is_zero(extra) and is_zero(at_end)):
        # Of the mass at B, too, only what is across r is left here; the rest goes to the force along r.
        hung = (extra - at_end) * gravity
        G = G + extra * aa - across(hung)
        own = own + gain * (extra * a[up] - hung[up])
    return Demand(column, G, moment, gain, own)


def strut_inertia(form: LegForm, numeric: LegForm, r: Array, extra: Scalar, *, geared: bool = False) -> Array:
    """Inertia (3, 3) at B of a strut, with a mass `extra` there.

    (N + extra) 1 - (N - rotor) r r^T / l^2 + (p_1 / rho^2 - D / l^2) b b^T / rho^2, and of products of
    inertia, with s = b / rho^2, t = (y r / l^2 - a_1) / rho,

        2 p_23 (rho y / l^2) s s^T + (p_12 rho + p_13 y) / l (s t^T + t s^T).
    """
    products = _products(form, numeric)
    stretch = 1.0 if products is not None else _stretch(form.first)
    first, c = clean(stretch * form.first), stretch * stretch
    y, b = dot(first, r), cross(first, r)
    if form.pivot != "U":
        l2, rho2 = dot(r, r), 0.0
    elif stretch == 1.0:
        rho2 = dot(b, b)
        l2 = rho2 + y * y
    else:
        l2 = dot(r, r)
        rho2 = c * l2 - y * y
    il = divide(1.0, sqrt(l2))
    w = il * il
    p = form.tube[4] + form.rod[4]
    s = form.rod[3] * il
    inertia = rotor(form)
    N = p * w + s + s
    if geared:
        N, inertia = N - inertia, 0.0
    along = ((N - inertia) * w) * r
    chi: Scalar = 0.0
    t: Array | None = None
    if form.pivot == "U":
        sigma = divide(1.0, rho2)
        p33, p22 = form.tube[9] + form.rod[9], form.tube[6] + form.rod[6]
        chi = (((form.cross + p33) * c) * sigma - (p33 + p - p22) * w) * sigma
        if products is not None:
            p12, p13, p23 = products
            share = divide(1.0, sqrt(rho2))
            rho = rho2 * share
            chi = chi + (2.0 * p23) * ((rho * y) * w) * (sigma * sigma)
            t = (((p12 * rho + p13 * y) * il) * (share * sigma)) * ((y * w) * r - first)
    spun = chi * b
    whole = N + extra

    def entry(i: int, j: int) -> Scalar:
        value = spun[i] * b[j] - along[i] * r[j]
        if t is not None:
            value = value + t[i] * b[j] + b[i] * t[j]
        return whole + value if i == j else value

    return pack([[entry(max(i, j), min(i, j)) for j in range(3)] for i in range(3)])


def _stretch(axis: Array) -> Scalar:
    """What makes the largest entry of an axis 1 in size; 1 for axes of the base."""
    number = at_sample(axis)
    k = first_largest(np.abs(number))
    if abs(number[k]) == 1.0:
        return 1.0
    return divide(1.0, axis[k] if number[k] > 0.0 else -axis[k])


def _dot_across(b: Array, u: Array, up: int) -> Scalar:
    """B . u for a vector u without component along `up`."""
    i, j = (up + 1) % 3, (up + 2) % 3
    return b[i] * u[i] + b[j] * u[j]


def _turned_force(
    H: Scalar,
    T: Scalar,
    sigma: Scalar,
    weight: Scalar,
    first: Array,
    b: Array,
    rho2: Scalar,
    column: Array,
    iz: Scalar,
    gravity: Array,
    up: int,
) -> Array:
    """What of (H / rho^2) b - T a_1 - weight g is left without multiples of r."""
    X = H * sigma
    down = X * b[up] - T * first[up] - weight * gravity[up]
    found: list[Scalar] = [0.0] * 3
    for k in ((up + 1) % 3, (up + 2) % 3):
        rest = weight * gravity[k]
        if is_zero(first[k]) and is_zero(first[up]):
            # Square to the first axis b_k - t_k b_z is +-rho^2 / z: no need for X.
            other = 3 - k - up
            sign = first[other] * (1.0 if (other + 1) % 3 == up else -1.0)
            found[k] = (sign * iz) * H - rest + column[k] * (weight * gravity[up])
        else:
            found[k] = X * b[k] - T * first[k] - rest - column[k] * down
    return pack(found)


def _free_end(
    form: LegForm, r: Array, v: Array, w: Scalar, w_platform: Array, counted: Counted
) -> tuple[Array, Array]:
    """Friction at both ends of a strut on a ball or a hinge: force at B, moment on the platform."""
    moment: Array = np.zeros(3)
    if not counted.friction:
        return np.zeros(3), moment
    turn = w * cross(r, v)
    if form.pivot == "S":
        total: Array = np.zeros(3)
        if form.passive.ball:
            total = total + ball_friction(form.passive.ball, turn, counted.smooth)
        if form.passive.end:
            moment = ball_friction(form.passive.end, w_platform - turn, counted.smooth)
            total = total - moment
        return w * cross(total, r), moment
    axis = form.first
    rate = dot(axis, turn)
    own = friction_along(form.passive.first, rate, rate, counted)
    if form.passive.end_kind is JointKind.REVOLUTE:
        other = form.passive.end_side * (dot(axis, w_platform) - rate)
        end = form.passive.end_side * friction_along(form.passive.end, other, other, counted)
        own, moment = own - end, end * axis
    return (own * w) * cross(axis, r), moment


def _products(form: LegForm, numeric: LegForm) -> Array | None:
    """Products of inertia (12, 13, 23) of tube and rod together; None where there are none."""
    found = numeric.tube[[5, 7, 8]] + numeric.rod[[5, 7, 8]]
    largest = float(np.max(np.abs(numeric.tube[4:]) + np.abs(numeric.rod[4:]), initial=0.0))
    if np.max(np.abs(found)) <= TOLERANCE * largest:
        return None
    return np.asarray(form.tube[[5, 7, 8]] + form.rod[[5, 7, 8]])


def _beside(numeric: LegForm) -> bool:
    """Whether the tube's centre of mass lies beside the axis."""
    moments = numeric.tube[1:4]
    return bool(np.max(np.abs(moments[:2])) > TOLERANCE * max(float(np.max(np.abs(moments))), 1e-300))


def _weight_beside(
    form: LegForm, turning: Turning, first: Array, b: Array, r: Array, gravity: Array, il: Scalar
) -> tuple[Scalar, Scalar]:
    """Moments (about a_1, about e_1) of the weight of a tube whose centre of mass lies beside its axis."""
    e1 = b * turning.irho
    e3 = r * il
    e2 = cross(e3, e1)
    c = form.tube[1] * e1 + form.tube[2] * e2
    n = cross(gravity, c)
    return dot(first, n), dot(e1, n)
