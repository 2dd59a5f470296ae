"""How the squared speed z(s) between nodes follows from the unknowns of a profile.

A part theta of the way through an interval of length d, with squared speeds z_0 and z_1 at its ends and the
bend b in its middle,

    z = (1 - theta) z_0 + theta z_1 + 4 theta (1 - theta) b,      u = s'' = z' / 2

so s'' is linear in s. Unknowns are z_i at the nodes and b_i between them: s'' may jump at nodes.

With a limited jerk it may not: z is a quadratic spline with a continuous derivative, and next to a stop,
where s = j t^3 / 6,

    z = z_1 theta^(4/3)

Unknowns are then the values c_i of Bezier's middle points, one for each interval that does not touch a stop:

    z_i = (d_i c_(i-1) + d_(i-1) c_i) / (d_(i-1) + d_i),      b_i = c_i / 2 - (z_i + z_(i+1)) / 4

and z_1 = c_1 / (1 + 2 d_1 / (3 d_0)) next to a stop. In both cases an interval depends on three neighbours
among the unknowns.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import roots_jacobi, roots_legendre

from nacelle.spatial.scalar import Array

# Points of the quadrature of the time in an interval.
_GAUSS = 5
# Pairs of the three unknowns of an interval.
FIRST, SECOND = np.triu_indices(3)


class Motion(NamedTuple):
    """s'', s'^2 and ds''/ds at points, or their derivatives by something."""

    u: Array
    z: Array
    rate: Array


class Shapes:
    """The shapes of z(s) on nodes.

    Attributes:
        step: lengths of the intervals (N,).
        stops: numbers of the nodes where the motion rests.
        smooth: whether s'' is continuous.
        stride: by how many unknowns the first of the three of an interval is beyond that of the one before.
        free: which unknowns are not zero by a stop (n,).
    """

    def __init__(self, step: Array, stops: Array, smooth: bool) -> None:
        self.step, self.stops, self.smooth = step, stops, smooth
        N = len(step)
        self.after, self.before = np.zeros(N, dtype=bool), np.zeros(N, dtype=bool)
        self.after[stops[:-1]], self.before[stops[1:] - 1] = True, True
        self.stride = 1 if smooth else 2
        self.free = np.ones(N + 2 if smooth else 2 * N + 1, dtype=bool)
        if smooth:
            self.free[[0, -1]] = False
            self.free[1:-1][self.after | self.before] = False
        else:
            self.free[2 * stops] = False

    def locals(self, i: Array, theta: Array) -> Motion:
        """Derivatives of the motion by (z_0, b, z_1) at parts theta (P,) of intervals i (P,), each (3, P)."""
        d, none = self.step[i], np.zeros_like(theta)
        z = np.stack([1.0 - theta, 4.0 * theta * (1.0 - theta), theta])
        u = np.stack([-0.5 / d, 2.0 * (1.0 - 2.0 * theta) / d, 0.5 / d])
        rate = np.stack([none, -4.0 / d**2, none])
        if self.smooth:
            for ends, side in ((self.after[i], 1.0), (self.before[i], -1.0)):
                way = (theta if side > 0.0 else 1.0 - theta)[ends]
                # Of the node that moves: the last of the three after a stop, the first before one.
                moving = 2 if side > 0.0 else 0
                for part in (u, z, rate):
                    part[:, ends] = 0.0
                z[moving, ends] = way ** (4.0 / 3.0)
                u[moving, ends] = side * 2.0 / 3.0 * way ** (1.0 / 3.0) / d[ends]
                rate[moving, ends] = 2.0 / 9.0 * way ** (-2.0 / 3.0) / d[ends] ** 2
        return Motion(u, z, rate)

    def at(self, z: Array, b: Array, i: Array, theta: Array) -> Motion:
        """The motion of a profile z (N + 1,), b (N,) at parts theta (P,) of intervals i (P,)."""
        near = np.stack([z[i], b[i], z[i + 1]])
        return Motion(*(np.einsum("ap,ap->p", part, near) for part in self.locals(i, theta)))

    @cached_property
    def spline(self) -> Array:
        """Derivatives of (z_0, b, z_1) by the three unknowns of the intervals (3, 3, N)."""
        d, N = self.step, len(self.step)
        L = np.zeros((3, 3, N))
        left, right = np.roll(d, 1), np.roll(d, -1)
        # Next to an interval that touches a stop the end's value follows from the middle one alone.
        first, last = np.roll(self.after, 1), np.roll(self.before, -1)
        L[0, 0], L[0, 1] = np.where(first, 0.0, d / (left + d)), np.where(first, 0.0, left / (left + d))
        L[2, 1], L[2, 2] = np.where(last, 0.0, right / (d + right)), np.where(last, 0.0, d / (d + right))
        L[0, 1] += np.where(first, 1.0 / (1.0 + 2.0 * d / (3.0 * left)), 0.0)
        L[2, 1] += np.where(last, 1.0 / (1.0 + 2.0 * d / (3.0 * right)), 0.0)
        L[1] = -0.25 * (L[0] + L[2])
        L[1, 1] += 0.5
        for ends, last_row, first_row in ((self.after, 2, 0), (self.before, 0, 2)):
            k = np.flatnonzero(ends)
            L[:, :, k] = 0.0
            L[last_row, last_row, k] = L[first_row, 1, k + (1 if last_row == 2 else -1)]
        return L

    def by_unknowns(self, locals_: Array, i: Array) -> Array:
        """Derivatives (3, P) by (z_0, b, z_1) of intervals i (P,) as those by their three unknowns."""
        if not self.smooth:
            return locals_
        return np.asarray(np.einsum("tp,tap->ap", locals_, self.spline[:, :, i]))

    def unknowns(self, z: Array, b: Array) -> Array:
        """Unknowns (n,) of a profile."""
        if self.smooth:
            return np.where(self.free, np.pad(2.0 * b + 0.5 * (z[1:] + z[:-1]), 1), 0.0)
        x = np.empty(len(self.free))
        x[::2], x[1::2] = z, b
        return x

    def profile(self, x: Array) -> tuple[Array, Array]:
        """Squared speeds z (N + 1,) and bends b (N,) of unknowns."""
        if not self.smooth:
            return x[::2].copy(), x[1::2].copy()
        N = len(self.step)
        near = x[np.arange(N) + np.arange(3)[:, None]]
        z_0, b, z_1 = np.einsum("tan,an->tn", self.spline, near)
        return np.append(z_0, z_1[-1]), b

    def quadrature(self) -> tuple[Array, Array, Array]:
        """Weights (6, N) of places of an interval at which 1 / sqrt(z) is summed, and z there.

        By the unknowns: derivatives (3, 6, N), and their products by pairs (6, 6, N). The last place is the
        end, of no weight: z is to be positive there, too.
        """
        theta, weight = self.quadrature_places()
        N = len(self.step)
        i = np.tile(np.arange(N), len(theta))
        z = self.by_unknowns(self.locals(i, theta.ravel()).z, i).reshape(3, len(theta), N)
        return weight, z, z[FIRST] * z[SECOND]

    def quadrature_places(self) -> tuple[Array, Array]:
        """Parts of intervals (6, N) at which 1 / sqrt(z) is summed, with weights."""
        N = len(self.step)
        theta, weight = (np.tile(part[:, None], N) for part in _INNER)
        # Next to a stop the root of z is in the weight.
        start, v = _AT_SMOOTH_STOP if self.smooth else _AT_STOP
        theta[:, self.after], weight[:, self.after] = start[:, None], v[:, None]
        theta[:, self.before], weight[:, self.before] = 1.0 - start[:, None], v[:, None]
        theta = np.concatenate([theta, np.where(self.before, 0.5, 1.0)[None]])
        return theta, np.concatenate([weight * self.step, np.zeros((1, N))])


def _rule(power: float) -> tuple[Array, Array]:
    """Nodes and weights of Gauss's rule on (0, 1) for functions of the form theta^power f(theta)."""
    y, v = roots_jacobi(_GAUSS, 0.0, power)
    theta = 0.5 * (1.0 + y)
    return theta, v / np.sum(v) / (1.0 + power) * theta**-power


def _even_rule() -> tuple[Array, Array]:
    x, w = roots_legendre(_GAUSS)
    return 0.5 * (1.0 + x), 0.5 * w


_INNER, _AT_STOP, _AT_SMOOTH_STOP = _even_rule(), _rule(-0.5), _rule(-2.0 / 3.0)
