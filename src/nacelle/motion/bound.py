"""A certificate: how much faster than a motion any other along its path could be.

For every continuous y(s), integration by parts with z = 0 at the stops gives, for all motions within limits,

    T = integral of 1/sqrt(z) + y (u - z'/2) ds
      >= integral of min over z, u within the limits at s of  1/sqrt(z) + y' z / 2 + y u   ds

since u = z'/2. The right side is a lower bound of the optimum, whatever friction and limits are: nothing in
it is convex or local. It is tight for the costate of the optimum, so y is taken from the multipliers of a
profile. At a place u lies between bounds that the limits set at each z; the least value is taken over a grid
of z.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.special import roots_legendre

from nacelle.motion.interior_point import PointLimits
from nacelle.spatial.scalar import Array

# Values of z over that of the profile, ever denser about 1: where it is saturated, the edge is there.
_STEPS = np.geomspace(1e-7, 0.9, 90)
_RATIOS = np.concatenate(
    [np.geomspace(1e-3, 0.1, 10), 1.0 - _STEPS, [1.0], 1.0 + _STEPS, np.geomspace(2.0, 50, 30)]
)


# In the place of no bound, so that products stay finite.
_LARGE = 1e12


class Costate(NamedTuple):
    """A continuous function y(s) and its derivative at places (P,)."""

    y: Array
    slope: Array


def costate_at(s: Array, stops: Array, nodes: Array, z: Array, mean: Array) -> Costate:
    """The costate of a profile at places, from its means in the intervals.

    Next to a stop z = 2 u (s - a) and y' = z^(-3/2), so y has a part k (s - a)^(-1/2), k = 2 (2 u)^(-3/2),
    with its sign at each end. What is left of the means is interpolated to the nodes, linear between them.

    Args:
        s: places (P,).
        stops: where the motion rests.
        nodes: of the profile (N + 1,).
        z: squared speeds at the nodes (N + 1,).
        mean: y in each interval (N,).
    """
    y, slope, means = np.zeros_like(s), np.zeros_like(s), np.zeros_like(mean)
    for first, last in pairwise(np.searchsorted(nodes, stops - 1e-12 * nodes[-1])):
        for end, next_node, side in ((first, first + 1, 1.0), (last, last - 1, -1.0)):
            a, rise = nodes[end], z[next_node] / abs(nodes[next_node] - nodes[end])
            k = -2.0 * side * rise**-1.5
            here = (s >= nodes[first]) & (s <= nodes[last])
            way = np.abs(s[here] - a)
            y[here] += k / np.sqrt(way)
            slope[here] += -0.5 * side * k / way**1.5
            root = np.sqrt(np.abs(nodes[first : last + 1] - a))
            means[first:last] += 2.0 * k * side * np.diff(root) / np.diff(nodes[first : last + 1])
    middle, left = 0.5 * (nodes[1:] + nodes[:-1]), mean - means
    at_nodes = np.interp(nodes, middle, left)
    k = np.clip(np.searchsorted(nodes, s) - 1, 0, len(middle) - 1)
    slopes = np.diff(at_nodes) / np.diff(nodes)
    return Costate(y + np.interp(s, nodes, at_nodes), slope + slopes[k])


def bound_places(moves: Array) -> tuple[Array, Array]:
    """Parts of each interval and weights (N, 5), dense next to stops; nodes that move are marked."""
    x, w = roots_legendre(5)
    t = np.tile(0.5 * (1.0 + x), (len(moves) - 1, 1))
    weight = np.tile(0.5 * w, (len(moves) - 1, 1))
    # Next to a stop roots of the distance from it occur: theta = t^2 there.
    after, before = ~moves[:-1], ~moves[1:]
    theta = t.copy()
    theta[after] = t[after] ** 2
    theta[before] = 1.0 - t[before] ** 2
    ends = after | before
    weight[ends] *= 2.0 * t[ends]
    return theta, weight


def lower_bound(limits: PointLimits, width: Array, z: Array, costate: Costate) -> float:
    """The lower bound of the time, s.

    Args:
        limits: at places; what they leave for any internal forces counts.
        width: weights of the quadrature over s at the places (P,).
        z: squared speeds of the profile there (P,).
        costate: there.
    """
    grid = z[:, None] * _RATIOS
    rows, null = limits.rows, limits.null
    for _ in range(len(null)):
        rows, null = eliminate_internal(rows, null)
    low, high = _acceleration_bounds(replace(limits, rows=rows, null=null), grid)
    y = costate.y[:, None]
    u = np.where(y > 0.0, np.maximum(low, -_LARGE), np.minimum(high, _LARGE))
    value = 1.0 / np.sqrt(grid) + 0.5 * costate.slope[:, None] * grid + y * u
    return float(np.sum(width * np.min(np.where(low <= high, value, np.inf), axis=1)))


def eliminate_internal(rows: Array, null: Array) -> tuple[Array, Array]:
    """The rows that hold for some value of the last internal force, without it (Fourier and Motzkin).

    Rows S_i + n_i nu >= 0 and S_j + n_j nu >= 0 with n_i >= 0 >= n_j leave a nu exactly where

        n_i S_j - n_j S_i >= 0        for all such pairs

    Args:
        rows: coefficients of S (4, R, P).
        null: of the internal forces in them (k, R, P).
    """
    n = null[-1]
    order = np.argsort(n, axis=0)[None]
    rising = int(np.max(np.sum(n >= 0.0, axis=0), initial=0))
    falling = int(np.max(np.sum(n <= 0.0, axis=0), initial=0))

    def sort(values: Array) -> Array:
        return np.take_along_axis(values, order, axis=1)

    n, every = sort(n[None])[0], np.concatenate([rows, null[:-1]])
    every = sort(every)
    i, j = every[:, -rising:, None], every[:, None, :falling]
    up, down = n[-rising:, None], -n[None, :falling]
    both = up + down
    share = np.divide(up, both, out=np.full_like(both, 0.5), where=both > 0.0)
    # Where fewer rows rise or fall than elsewhere, pairs of one kind become rows that always hold.
    pairs = np.where((up >= 0.0) & (down >= 0.0), share * j + (1.0 - share) * i, 0.0)
    pairs = pairs.reshape(len(every), -1, n.shape[1])
    return pairs[:4], pairs[4:]


def _acceleration_bounds(limits: PointLimits, grid: Array) -> tuple[Array, Array]:
    """Least and largest u (P, M) within the limits at values of z (P, M)."""
    root = np.sqrt(grid)
    low, high = np.full(grid.shape, -np.inf), np.full(grid.shape, np.inf)
    for r in range(limits.rows.shape[1]):
        slope, e_z, e_root, e_1 = limits.rows[:, r, :, None]
        rest = e_z * grid + e_root * root + e_1
        with np.errstate(divide="ignore", invalid="ignore"):
            edge = -rest / slope
        low = np.where(slope > 0.0, np.maximum(low, edge), low)
        high = np.where(slope < 0.0, np.minimum(high, edge), high)
        nowhere = (slope == 0.0) & (rest < 0.0)
        low, high = np.where(nowhere, np.inf, low), np.where(nowhere, -np.inf, high)
    for c in range(limits.cones.shape[2]):
        F, e = limits.cones[:, :, c, :, None], limits.cone_rows[:, c, :, None]
        f = F[1] * grid + F[2] * root + F[3]
        g = e[1] * grid + e[2] * root + e[3]
        # |F_u u + f|^2 <= (e_u u + g)^2: a quadratic in u.
        a = np.sum(F[0] ** 2, axis=0) - e[0] ** 2
        half = np.sum(F[0] * f, axis=0) - e[0] * g
        rest = np.sum(f * f, axis=0) - g * g
        with np.errstate(divide="ignore", invalid="ignore"):
            width = np.sqrt(half * half - a * rest)
            low = np.where(a > 0.0, np.fmax(low, (-half - width) / a), low)
            high = np.where(a > 0.0, np.fmin(high, (-half + width) / a), high)
        nowhere = (a > 0.0) & ~np.isfinite(width)
        low, high = np.where(nowhere, np.inf, low), np.where(nowhere, -np.inf, high)
    return low, high
