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
        v: its derivative.
        a: its second derivative.
        gravity: acceleration of gravity.
        w_end: angular velocity of the platform.
    """

    r: Array
    v: Array
    a: Array
    gravity: Array
    w_end: Array


class Line(NamedTuple):
    """The line of a strut.

    Attributes:
        first: the first axis a_1 at A, or a multiple of it.
        stretch: the multiple.
        y: a_1 . r.
        b: a_1 x r.
        rho2: b . b.
        l: |r|.
        il: 1 / l.
        il2: 1 / l^2.
    """

    first: Array
    stretch: Scalar
    y: Scalar
    b: Array
    rho2: Scalar
    l: Scalar
    il: Scalar
    il2: Scalar


def line_of(form: LegForm, r: Array, *, stretched: bool) -> Line:
    """The line along r; an axis of any length is enough, and one with an entry 1 saves products."""
    stretch = _stretch(form.first) if stretched else 1.0
    first = clean(stretch * form.first)
    y, b = dot(first, r), cross(first, r)
    rho2: Scalar = 0.0
    if form.pivot != "U":
        l2 = dot(r, r)
    elif stretch == 1.0:
        rho2 = dot(b, b)
        l2 = rho2 + y * y
    else:
        l2 = dot(r, r)
        rho2 = (stretch * stretch) * l2 - y * y
    l = sqrt(l2)
    il = divide(1.0, l)
    return Line(first, stretch, y, b, rho2, l, il, il * il)


def _stretch(axis: Array) -> Scalar:
    """What makes the largest entry of an axis 1 in size; 1 for axes of the base."""
    number = at_sample(axis)
    k = first_largest(np.abs(number))
    if abs(number[k]) == 1.0:
        return 1.0
    return divide(1.0, axis[k] if number[k] > 0.0 else -axis[k])


@dataclass(frozen=True)
class Turning:
    """Angular velocity and acceleration in e_1, e_2, e_3, and 1 / rho, rho / l, y / l."""

    w: Array
    dw: Array
    irho: Scalar
    up: Scalar
    along: Scalar


def strut_turning(
    line: Line, at: StrutMotion, rates: tuple[Scalar, Scalar, Scalar], across: tuple[Scalar, Scalar]
) -> Turning:
    """How a strut turns.

    Args:
        line: its line, with a first axis of unit length.
        at: its motion.
        rates: r.v, a_1.v and n = r.v - y a_1.v.
        across: b.v and b.a.
    """
    y, il, il2 = line.y, line.il, line.il2
    (rv, av, n), (bv, ba) = rates, across
    a1a, ra, vv = dot(line.first, at.a), dot(at.r, at.a), dot(at.v, at.v)
    rho = sqrt(line.rho2)
    irho = divide(1.0, rho)
    sigma = irho * irho
    rate = bv * sigma
    accel = (ba - 2.0 * n * rate) * sigma
    drho = n * irho
    mu = rv * il2
    dmu = (ra + vv) * il2 - 2.0 * mu * mu
    up, along = rho * il, y * il
    # Derivatives of rho / l and y / l.
    dup, dalong = drho * il - up * mu, av * il - along * mu
    w1 = (y * mu - av) * irho
    dw1 = (av * mu + y * dmu - a1a) * irho - w1 * (drho * irho)
    w = pack([w1, rate * up, rate * along])
    dw = pack([dw1, accel * up + rate * dup, accel * along + rate * dalong])
    return Turning(w, dw, irho, up, along)


def residual_moments(products: Array, turning: Turning) -> tuple[Scalar, Scalar]:
    """Moments (M_a, M_1) of products of inertia (I_12, I_13, I_23), and of nothing else."""
    p12, p13, p23 = products
    w, dw = turning.w, turning.dw

    def times(u: Array) -> Array:
        return pack([p12 * u[1] + p13 * u[2], p12 * u[0] + p23 * u[2], p13 * u[0] + p23 * u[1]])

    M = times(dw) + cross(w, times(w))
    return turning.up * M[1] + turning.along * M[2], M[0]
