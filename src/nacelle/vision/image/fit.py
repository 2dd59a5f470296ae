"""The edges of a cylinder from the pixels around them, by the pixel model.

With F_k (`filled`) what is inside edge k, and the grey levels b_0, b_1 outside the two edges and c between
them, the mean value of a pixel is

    I = b_0 (1 - F_0) + c (F_0 + F_1 - 1) + b_1 (1 - F_1)

linear in the levels, and smooth in the normals n_k. These move on the unit sphere, n_k + alpha m_k +
beta n_k x m_k, with m_k the ray to the middle of the edge: alpha shifts the edge there, beta turns it.
Weighted least squares over alpha, beta of both edges and the levels, by Gauss-Newton; with the noise of the
pixel model it is the most likely solution, and its covariance

    C = (J^T W J)^-1,     J = dI/d(alpha, beta, levels),     W = 1 / variance

is the Cramér-Rao bound at the solution, without biases of second order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nacelle.spatial.scalar import Array
from nacelle.vision.image.band import Band
from nacelle.vision.image.patch import Patch
from nacelle.vision.image.pixel_model import PixelModel, filled

_STEPS = 15
# The iteration ends with a step whose square is this small beside the variances.
_DONE = 1e-4


@dataclass(frozen=True, eq=False)
class EdgeFit:
    """Edges of a cylinder in an image.

    Attributes:
        sides: which of the edges 0 and 1 there are.
        normals: unit normals (sides, 3) of their planes, camera axes.
        covariance: of the normals, one after the other (3 sides, 3 sides).
        levels: grey levels outside edge 0, within, outside edge 1; those that there are.
        misfit: weighted sum of squared residuals over degrees of freedom: 1 where the model is right.
        pixels: how many pixels were used.
        converged: whether the iteration ended.
    """

    sides: tuple[int, ...]
    normals: Array
    covariance: Array
    levels: Array
    misfit: float
    pixels: int
    converged: bool

    def covariance_of(self, side: int) -> Array:
        """Covariance (3, 3) of one normal."""
        k = 3 * self.sides.index(side)
        return np.asarray(self.covariance[k : k + 3, k : k + 3])


def tangents(normals: Array, middles: Array) -> Array:
    """For each normal (..., 3) the two directions (..., 2, 3) in which it may move: m and n x m, unit."""
    m = middles - np.sum(middles * normals, axis=-1, keepdims=True) * normals
    m = m / np.linalg.norm(m, axis=-1, keepdims=True)
    return np.stack([m, np.cross(normals, m)], axis=-2)


def edge_response(
    patch: Patch, normals: Array, basis: Array, sides: Sequence[int], blur: float
) -> tuple[Array, Array]:
    """F (sides, k) of pixels and its derivatives (sides, 2, k) along the tangents of the normals.

    Args:
        patch: the pixels (k,).
        normals: of the edges (sides, 3).
        basis: their tangents (sides, 2, 3).
        sides: for each whether it is edge 0, inside where n . d > 0, or 1, inside where n . d < 0.
        blur: of the point spread, px.
    """
    F, D = np.empty((len(normals), len(patch.x))), np.zeros((len(normals), 2, len(patch.x)))
    reach = 6.0 * blur + 1.0
    for k, (n, side) in enumerate(zip(normals, sides, strict=True)):
        sign = 1.0 if side == 0 else -1.0
        edge = patch.from_plane(sign * n)
        near = np.flatnonzero(np.abs(edge.s) < reach)
        there = edge.some(near)
        F[k] = edge.s > 0.0
        F[k, near], slope = filled(there.s, there.a, there.b, blur)
        slope *= sign / there.slope
        x, y = patch.x[near], patch.y[near]
        for i, w in enumerate(basis[k]):
            D[k, i, near] = slope * (w[0] * x + w[1] * y + w[2])
    return F, D


def mixture(F: Array, sides: Sequence[int]) -> Array:
    """How the levels mix in pixels (levels, k): outside edge 0, within, outside edge 1, for given sides."""
    within = np.sum(F, axis=0) - (len(F) - 1.0)
    outside = {side: 1.0 - f for side, f in zip(sides, F, strict=True)}
    columns = [outside.get(0), within, outside.get(1)]
    return np.stack([column for column in columns if column is not None])


def jacobian_rows(F: Array, D: Array, levels: Array, sides: Sequence[int]) -> Array:
    """J^T (2 sides + levels, k), J = dI/d(alpha_0, beta_0, alpha_1, beta_1, levels)."""
    inner = levels[1] if 0 in sides else levels[0]
    outer = {0: levels[0], 1: levels[-1]}
    moved = [(inner - outer[side]) * d for side, d in zip(sides, D, strict=True)]
    return np.concatenate([*moved, mixture(F, sides)])


def fit_edges(band: Band, values: Array, normals: Array, model: PixelModel) -> EdgeFit | None:
    """Fit the edges of a cylinder to the values (k,) of the pixels of a band.

    Args:
        band: the pixels around the edges.
        values: their grey levels; NaN where there are none.
        normals: both normals to start from (2, 3), within about the blur of the edges.
        model: the pixel model; its grey levels are not used.

    Returns:
        The edges; None where the pixels do not determine them.
    """
    good = np.isfinite(values)
    patch, values = (band.patch, values) if np.all(good) else (band.patch.some(good), values[good])
    sides = band.sides
    n = np.asarray(normals, dtype=float)[list(sides)]
    unknowns = 2 * len(sides) + len(sides) + 1
    if len(values) <= 2 * unknowns:
        return None
    for _ in range(_STEPS):
        basis = tangents(n, band.middles)
        F, D = edge_response(patch, n, basis, sides, model.blur)
        mix = mixture(F, sides)
        levels = np.linalg.lstsq(mix @ mix.T, mix @ values, rcond=None)[0]
        means = levels @ mix
        weight = 1.0 / np.sqrt(model.variance(means))
        J, residuals = jacobian_rows(F, D, levels, sides) * weight, (values - means) * weight
        bound = information_inverse(J)
        if bound is None:
            return None
        inverse = bound
        step = (inverse @ (J @ residuals))[: 2 * len(sides)]
        moves = step.reshape(-1, 2)
        n = n + np.einsum("ki,kij->kj", moves, basis)
        n = n / np.linalg.norm(n, axis=-1, keepdims=True)
        converged = bool(np.all(step**2 < _DONE * np.diag(inverse)[: len(step)]))
        if converged:
            break
    spread = spread_of(basis)
    covariance = spread @ inverse[: 2 * len(sides), : 2 * len(sides)] @ spread.T
    misfit = float(residuals @ residuals) / (len(values) - unknowns)
    return EdgeFit(sides, n, covariance, levels, misfit, len(values), converged)


def spread_of(basis: Array) -> Array:
    """The matrix (3 sides, 2 sides) from moves along tangents (sides, 2, 3) to the normals."""
    result = np.zeros((3 * len(basis), 2 * len(basis)))
    for k, directions in enumerate(basis):
        result[3 * k : 3 * k + 3, 2 * k : 2 * k + 2] = directions.T
    return result


def information_inverse(J: Array) -> Array | None:
    """(J J^T)^-1 from weighted derivatives J (unknowns, k); None where it does not exist."""
    A = J @ J.T
    scale = np.sqrt(np.diag(A))
    if not (np.all(np.isfinite(scale)) and np.all(scale > 0.0)):
        return None
    A = A / np.outer(scale, scale)
    if np.linalg.eigvalsh(A)[0] < 1e-12:
        return None
    return np.asarray(np.linalg.inv(A) / np.outer(scale, scale))
