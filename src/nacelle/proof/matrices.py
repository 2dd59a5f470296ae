"""Boxes and matrices of them: arrays (..., 2) of lower and upper bounds, rounded outwards.

Products with a matrix of numbers go by middle and radius (S. M. Rump, BIT 39, 1999): of the floats C and the
box <M, R>, all matrices between M - R and M + R,

    C <M, R> = <C M, |C| R + (n + 3) 2^-52 |C| |M| + 2^-1000>

where the second term bounds the rounding of C M in any order of summation, fused or not. Radii, sums of
numbers that are not negative, are enlarged by the factor 1 + 2^-30, far more than their own rounding.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nacelle.spatial.interval import round_down, round_up
from nacelle.spatial.scalar import Array

_LARGER = 1.0 + 2.0**-30
_TINY = 2.0**-1000


class MiddleRadius(NamedTuple):
    """All arrays between middle - radius and middle + radius."""

    middle: Array
    radius: Array

    @property
    def box(self) -> Array:
        """The same as bounds (..., 2)."""
        return np.stack([round_down(self.middle - self.radius), round_up(self.middle + self.radius)], axis=-1)

    @property
    def size(self) -> Array:
        """The largest absolute value of each entry."""
        return np.asarray(round_up(np.abs(self.middle) + self.radius))


def point(values: Array) -> Array:
    """Numbers as boxes (..., 2)."""
    return np.stack([values, values], axis=-1)


def around(middle: Array, radius: Array) -> Array:
    """The box (..., 2) of all numbers within a radius of others."""
    return MiddleRadius(*np.broadcast_arrays(middle, radius)).box


def middle_radius(box: Array) -> MiddleRadius:
    """A box (..., 2) by its middle and a radius that covers it."""
    middle = 0.5 * (box[..., 0] + box[..., 1])
    radius = np.maximum(round_up(box[..., 1] - middle), round_up(middle - box[..., 0]))
    return MiddleRadius(middle, radius)


def add_boxes(*boxes: Array) -> Array:
    """Sums of boxes."""
    low, high = boxes[0][..., 0], boxes[0][..., 1]
    for box in boxes[1:]:
        low, high = round_down(low + box[..., 0]), round_up(high + box[..., 1])
    return np.stack([low, high], axis=-1)


def either_way(box: Array) -> Array:
    """The products of a box (..., 2) with all numbers from -1 to 1."""
    size = np.max(np.abs(box), axis=-1)
    return np.stack([-size, size], axis=-1)


def product(C: Array, box: Array) -> MiddleRadius:
    """C B (..., m, k) of numbers C (..., m, n) and a box B (..., n, k, 2)."""
    middle, radius = middle_radius(box)
    size, rounding = np.abs(C), (C.shape[-1] + 3) * 2.0**-52
    return MiddleRadius(C @ middle, (size @ (radius + rounding * np.abs(middle))) * _LARGER + _TINY)


def identity_less_product(C: Array, box: Array) -> MiddleRadius:
    """1 - C B (..., n, n), for square products."""
    CB = product(C, box)
    middle = np.eye(C.shape[-2]) - CB.middle
    return MiddleRadius(middle, (CB.radius + 2.0**-52 * np.abs(middle)) * _LARGER)


def spectral_norm(C: Array) -> Array:
    """A bound (...) of the largest singular value of numbers C (..., m, n).

    For a symmetric G |G|^2 = |G^2|, and row sums bound |G^8|; the rounding of a product is within its size in
    the Frobenius norm.
    """
    size = np.max(np.abs(C), axis=(-2, -1)) + _TINY
    scaled = C / size[..., None, None]
    rounding = (max(C.shape[-2:]) + 5) * 2.0**-52
    G, squares = np.swapaxes(scaled, -1, -2) @ scaled, [np.sum(scaled**2, axis=(-2, -1))]
    for _ in range(3):
        G = 0.5 * (G + np.swapaxes(G, -1, -2))
        squares.append(np.sum(G**2, axis=(-2, -1)))
        G = G @ G
    bound = np.max(np.sum(np.abs(G), axis=-1), axis=-1)
    for square in reversed(squares):
        bound = np.sqrt(bound + rounding * square)
    return np.asarray(size * bound * _LARGER)


def inverse_condition(box: Array) -> Array:
    """A lower bound (...) of s_min / s_max of all matrices of a box (..., m, n, 2), m >= n; NaN if none.

    With C the pseudo-inverse of the middle and |1 - C A| <= r < 1 every A of the box has the rank n and
    s_min(A) >= (1 - r) / |C|; s_max(A) <= |M| + |R|_F.
    """
    middle, radius = middle_radius(box)
    good = np.all(np.isfinite(middle) & np.isfinite(radius), axis=(-2, -1))
    safe = np.where(good[..., None, None], middle, np.eye(*middle.shape[-2:]))
    C = np.linalg.pinv(safe)
    rest = identity_less_product(C, box).size
    rest_norm = np.sqrt(np.max(np.sum(rest, axis=-1), axis=-1) * np.max(np.sum(rest, axis=-2), axis=-1))
    largest = spectral_norm(safe) + np.sqrt(np.sum(radius**2, axis=(-2, -1)))
    with np.errstate(invalid="ignore"):
        bound = (1.0 - rest_norm * _LARGER) / (spectral_norm(C) * largest * _LARGER)
        return np.where(good & (bound > 0.0), bound, np.nan)
