"""Rates with their derivatives: what [OAM] adds up for a kinematic element.

A rate r (k,) is linear in the entries of a motion basis u (c,): r = M u, M (k, c) the motion constraints
([OAM] (41), (55)) or the kinematic coordinates ([OAM] (49), (50)), whichever u is. It is held with its value
and the value of its derivative, so products with vectors that move are differentiated as they are made:

    w x s       M = -skew(s) M_w,      (w x s)' = w' x s + w x s'
    n . r       M = n^T M_r,           (n . r)' = n . r' + n' . r

in base axes, m/s, rad/s and their derivatives. Rates C_u u + C_g g = 0 that vanish give some of them, u, from
the others, g: first M and u, then, with u in the derivatives of the products, u' (`solved_rates`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from nacelle.kinematics.tree.least_squares import least_squares
from nacelle.spatial.rotation import skew
from nacelle.spatial.scalar import Array, cross, dot, pack


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

    def through(self, A: Array) -> Rate:
        """The rate A r for a constant matrix A: A M, and A times its values now and next."""
        return Rate(A @ self.M, A @ self.now, A @ self.next)


def zero_rate(count: int) -> Rate:
    """The rate (3,) of what rests, over a basis of some numbers."""
    return Rate(np.zeros((3, count)), np.zeros(3), np.zeros(3))


def stacked(rates: Sequence[Rate]) -> Rate:
    """Several rates as one, those of one number as a row each."""
    return Rate(
        np.concatenate([np.atleast_2d(rate.M) for rate in rates]),
        pack([entry for rate in rates for entry in np.ravel(rate.now)]),
        pack([entry for rate in rates for entry in np.ravel(rate.next)]),
    )


def cross_and_rate(w: Rate, r: Array, r_rate: Array | None = None) -> Rate:
    """Give w x r for an angular velocity w and a vector r (3,) that has the rate r_rate; without: w x r."""
    now = cross(w.now, r)
    return Rate(-skew(r) @ w.M, now, cross(w.next, r) + cross(w.now, now if r_rate is None else r_rate))


def times(rate: Rate, s: Array, s_rate: Array) -> Rate:
    """A rate of one number times a vector s (3,) that has the rate s_rate."""
    return Rate(np.outer(s, rate.M), s * rate.now, s * rate.next + s_rate * rate.now)


def dotted(rate: Rate, n: Array, n_rate: Array) -> Rate:
    """Give n . r for a rate r (3,) and a vector n (3,) that has the rate n_rate."""
    return Rate(n @ rate.M, dot(n, rate.now), dot(n, rate.next) + dot(n_rate, rate.now))


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
        return self.v + cross_and_rate(self.w, point - self.p)

    def fixed(self, direction: Array) -> Array:
        """Rate (3,) of a direction that is fixed to the body: w x direction."""
        return cross(self.w.now, direction)


def resting(count: int) -> Rigid:
    """The base."""
    return Rigid(np.zeros(3), zero_rate(count), zero_rate(count))


def solved_rates(rows: Callable[[Rate, Rate], Sequence[Rate]], count: int, given: Rate) -> tuple[Rate, Rate]:
    """Rates u (count,) for which rows(u, given) vanish, and what of the rows is left: least squares.

    Args:
        rows: rates of u and of the given ones that are zero, at least as many as u.
        count: of unknown rates.
        given: the given rates, over their basis of c numbers.

    Returns:
        u and the rows left, which no u meets; both over the basis of the given rates.
    """
    c = given.M.shape[1]
    wide = Rate(np.concatenate([np.zeros((len(given.M), count)), given.M], axis=1), given.now, given.next)

    def at(now: Array) -> Rate:
        return stacked(rows(Rate(np.eye(count, count + c), now, np.zeros(count)), wide))

    still_ = at(np.zeros(count))
    C = still_.M[:, :count]
    speed = least_squares(C, -np.concatenate([still_.M[:, count:], still_.now[:, None]], axis=1))
    acceleration = least_squares(C, -at(speed.X[:, c]).next[:, None])
    return (
        Rate(speed.X[:, :c], speed.X[:, c], acceleration.X[:, 0]),
        Rate(speed.left[:, :c], speed.left[:, c], acceleration.left[:, 0]),
    )
