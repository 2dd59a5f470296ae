"""Rates with their derivatives: what [OAM] adds up for a kinematic element.

A rate r (k,) is linear in the entries of a motion basis u (c,): r = M u, M (k, c) the motion constraints
([OAM] (41), (55)) or the kinematic coordinates ([OAM] (49), (50)), whichever u is. It is held with its value
and the value of its derivative, so products with vectors that move are differentiated as they are made:

    w x s       M = -skew(s) M_w,      (w x s)' = w' x s + w x s'
    n . r       M = n^T M_r,           (n . r)' = n . r' + n' . r
    r / c       M = M_r / c,           (r / c)' = (r' - c' r / c) / c

in base axes, m/s, rad/s and their derivatives.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nacelle.spatial.rotation import skew
from nacelle.spatial.scalar import Array, Scalar, cross, divide, dot


@dataclass(frozen=True)
class Rate:
    """A rate of k numbers over a motion basis of c; of one number if the arrays have a dimension less.

    Attributes:
        M: (k, c): the rate for unit values of the basis.
        now: (k,) its value.
        next: (k,) the value of its derivative.
    """

    M: Array
    now: Array
    next: Array

    def __add__(self, other: Rate) -> Rate:
        return Rate(self.M + other.M, self.now + other.now, self.next + other.next)

    def __sub__(self, other: Rate) -> Rate:
        return Rate(self.M - other.M, self.now - other.now, self.next - other.next)

    def __getitem__(self, place: int | slice) -> Rate:
        return Rate(self.M[place], self.now[place], self.next[place])

    def times(self, factor: Scalar) -> Rate:
        """The rate times a constant."""
        return Rate(self.M * factor, self.now * factor, self.next * factor)


def still(count: int) -> Rate:
    """The rate (3,) of what rests, over a basis of some numbers."""
    return Rate(np.zeros((3, count)), np.zeros(3), np.zeros(3))


def turned(w: Rate, r: Array, r_rate: Array) -> Rate:
    """Give w x r for an angular velocity w and a vector r (3,) that has the rate r_rate."""
    return Rate(-skew(r) @ w.M, cross(w.now, r), cross(w.next, r) + cross(w.now, r_rate))


def crossed(x: Array, x_rate: Rate) -> Rate:
    """Give x x x' with its derivative x x x'' ([OAM] (12), (13))."""
    return Rate(skew(x) @ x_rate.M, cross(x, x_rate.now), cross(x, x_rate.next))


def along(rate: Rate, s: Array, s_rate: Array) -> Rate:
    """A rate of one number times a vector s (3,) that has the rate s_rate."""
    return Rate(np.outer(s, rate.M), s * rate.now, s * rate.next + s_rate * rate.now)


def dotted(rate: Rate, n: Array, n_rate: Array) -> Rate:
    """Give n . r for a rate r (3,) and a vector n (3,) that has the rate n_rate."""
    return Rate(n @ rate.M, dot(n, rate.now), dot(n, rate.next) + dot(n_rate, rate.now))


def over(rate: Rate, divisor: Scalar, divisor_rate: Scalar) -> Rate:
    """A rate of one number over a divisor that has the rate divisor_rate."""
    reciprocal = divide(1.0, divisor)
    now = rate.now * reciprocal
    return Rate(rate.M * reciprocal, now, (rate.next - divisor_rate * now) * reciprocal)


def component(rate: Rate, n: tuple[Array, Array], s: tuple[Array, Array]) -> Rate:
    """The rate q' with n . (rate - q' s) = 0, for vectors n and s (3,), each given with its own rate."""
    divisor_rate = dot(n[1], s[0]) + dot(n[0], s[1])
    return over(dotted(rate, *n), dot(n[0], s[0]), divisor_rate)


@dataclass(frozen=True)
class Rigid:
    """How a rigid body moves.

    Attributes:
        p: a point of the body (3,), m, base axes.
        v: velocity of that point.
        w: angular velocity.
    """

    p: Array
    v: Rate
    w: Rate

    def at(self, point: Array) -> Rate:
        """Velocity of the body's point at `point` (3,), base axes: v + w x r ([OAM] (14), (15))."""
        r = point - self.p
        return self.v + turned(self.w, r, cross(self.w.now, r))

    def carried(self, direction: Array) -> Array:
        """Rate (3,) of a direction that is fixed to the body: w x direction."""
        return cross(self.w.now, direction)


def resting(count: int) -> Rigid:
    """The base."""
    return Rigid(np.zeros(3), still(count), still(count))
