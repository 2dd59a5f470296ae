"""Sums and vectors whose zeros cost nothing, over any scalar.

In a trace every + and * becomes an operation of the program. Here 0 + a gives a and 0 b gives 0 without one,
so that constants that are zero (axes along coordinate axes, points at origins) leave no trace.
`acceleration_matrix` gives

    T r = w' x r + w x (w x r),      T = skew(w') + skew(w) skew(w)          (3, 3), 1/s^2

the acceleration of a point at r (3,) of a body relative to its origin, with six products for all points.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from nacelle.spatial.scalar import Array, Scalar, cross, is_zero, pack, plus

ZERO = np.zeros(3)


def all_zero(vector: Array) -> bool:
    """Whether all entries are the number 0."""
    return all(is_zero(entry) for entry in vector.tolist())


def add(a: Array, b: Array) -> Array:
    """Sum of two vectors."""
    if all_zero(b):
        return a
    return b if all_zero(a) else np.asarray(plus(a, b))


def scale(factor: Scalar, vector: Array) -> Array:
    """A vector times a scalar."""
    if is_zero(factor) or all_zero(vector):
        return np.zeros(len(vector))
    return pack([factor * entry for entry in vector.tolist()])


def add_product(total: Scalar, factor: Scalar, value: Scalar) -> Scalar:
    """The sum total + factor value."""
    if is_zero(factor) or is_zero(value):
        return total
    return factor * value if is_zero(total) else total + factor * value


def inner(a: Iterable[Scalar], b: Iterable[Scalar], start: Scalar = 0.0) -> Scalar:
    """Inner product of two lists, added to `start`."""
    total = start
    for x, y in zip(a, b, strict=True):
        total = add_product(total, x, y)
    return total


def cross_nonzero(w: Array, vector: Array) -> Array:
    """Cross product w x vector (3,)."""
    return ZERO if all_zero(w) or all_zero(vector) else cross(w, vector)


def acceleration_matrix(w: Array, w_dot: Array) -> Array:
    """The matrix (3, 3) of w' x r + w x (w x r) over r."""
    x, y, z = w.tolist()
    a, b, c = w_dot.tolist()
    xy, xz, yz = x * y, x * z, y * z
    xx, yy, zz = x * x, y * y, z * z
    return pack(
        [
            [-(yy + zz), xy - c, xz + b],
            [xy + c, -(xx + zz), yz - a],
            [xz - b, yz + a, -(xx + yy)],
        ]
    )
