"""The line of a strut, how it turns on a universal joint, and what products of inertia require.

With a_1 the first axis at A, r = B - A, l = |r|, mu = r.v / l^2, y = a_1 . r, b = a_1 x r, rho = |b| and
alpha' = b.v / rho^2, the angular velocity in e_1 = b / rho, e_2, e_3 = r / l is

    w_1 = (y mu - a_1.v) / rho      w_2 = alpha' rho / l      w_3 = alpha' y / l

and the moments about a_1 and e_1 of a body with the inertia I about A are

    M = I w' + w x I w,      M_a = (rho M_2 + y M_3) / l,      M_1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from nacelle.kinematics.bars.form import LegForm, clean
from nacelle.spatial.rounding import first_largest
from nacelle.spatial.scalar import Array, Scalar, at_sample, cross, divide, dot, pack, sqrt


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
    stretch = _stretch(form.first) if stretched else 1.0
    first = clean(stretch * form.first)
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


def _stretch(axis: Array) -> Scalar:
    """What makes the largest entry of an axis 1 in size; 1 for axes of the base."""
    number = at_sample(axis)
    k = first_largest(np.abs(number))
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
