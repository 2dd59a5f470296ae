"""Rounding: which numbers are taken for the rounding of others, so that no decision hangs on last bits.

Sums of products differ in their last bits between machines (order of summation, fused products), and terms
that cancel leave something like 1e-17 on one machine and 0 on another. What is decided from such numbers
(which entries of a frame are zero, which constants are equal, and so which operations a program has) must
be the same on all of them. So

- sums of constants run in a fixed order, and a sum that is smaller than `CANCELLED` of the sizes of its terms
  is zero;
- two numbers of a robot that differ by no more than `ULPS` units in the last place are one, and so are two
  constants of a program that differ by no more than `FOLDED_ULPS`: the first that appears, in the order in
  which the robot or the program lists them, is the value of both (`Constants`).

The margin is far above what rounding makes of equal numbers, and far below what the tolerances of a robot
make of different ones.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Two floats that differ by no more units in the last place count as one number: 7e-15 at most, relative.
ULPS = 32
# The same for constants that a program has folded: differences have enlarged the rounding of their terms.
FOLDED_ULPS = 256
# Candidates that differ by less than this part are equally good: the first of them is taken.
EQUALLY_GOOD = 1e-9
# A sum that is smaller than this part of the sizes of its terms is zero.
CANCELLED = ULPS * 2.0**-53
_SMALL = 64 * CANCELLED
# Arrays with fewer entries are summed by one call.
_FEW = 4096

Row = tuple[float, float, float]
Rows = Sequence[Sequence[float]]


def cancelling_sum(a: float, b: float) -> float:
    """Sum of two floats; 0 where they cancel to rounding."""
    result = a + b
    return 0.0 if abs(result) < CANCELLED * (abs(a) + abs(b)) else result


def folded_sum(a: float, b: float) -> float:
    """Sum of two constants of a program; 0 where they cancel within the margin of its constants."""
    result = a + b
    return 0.0 if abs(result) < FOLDED_ULPS * 2.0**-53 * (abs(a) + abs(b)) else result


def ordered_sum(terms: list[float]) -> float:
    """Sum of floats in their order; 0 where they cancel to rounding."""
    result = sizes = 0.0
    for term in terms:
        result += term
        sizes += abs(term)
    return 0.0 if abs(result) < CANCELLED * sizes else result


def sum_of_three(a: float, b: float, c: float) -> float:
    """The same for three floats."""
    result = a + b + c
    return 0.0 if abs(result) < CANCELLED * (abs(a) + abs(b) + abs(c)) else result


def cancelling_array_sum(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """Sum of arrays of floats; 0 where entries cancel to rounding."""
    if a.ndim == b.ndim == 1 and len(a) < 8:
        return np.array([cancelling_sum(x, y) for x, y in zip(a.tolist(), b.tolist(), strict=True)])
    result = a + b
    return np.where(np.abs(result) < CANCELLED * (np.abs(a) + np.abs(b)), 0.0, result)


def compose_rows(R: Rows, p: Sequence[float], S: Rows, s: Sequence[float]) -> tuple[list[Row], list[float]]:
    """`compose_poses` of numbers in lists; R and S are rotations, row by row."""
    (k, l, m), (n, o, q), (r, t, u) = S
    x, y, z = s
    shifted = bool(x or y or z)
    rows, position = [], []
    for (a, b, c), d in zip(R, p, strict=True):
        e, f, g = a * k + b * n + c * r, a * l + b * o + c * t, a * m + b * q + c * u
        # The terms of these sums are no larger than 1: what is larger than this has not cancelled.
        if -_SMALL < e < _SMALL:
            e = sum_of_three(a * k, b * n, c * r)
        if -_SMALL < f < _SMALL:
            f = sum_of_three(a * l, b * o, c * t)
        if -_SMALL < g < _SMALL:
            g = sum_of_three(a * m, b * q, c * u)
        rows.append((e, f, g))
        # Zeros have signs: a place of 0 is added up though nothing is shifted.
        position.append(cancelling_sum(sum_of_three(a * x, b * y, c * z), d) if shifted or not d else d)
    return rows, position


def compose_poses(
    R: NDArray[Any], p: NDArray[Any], S: NDArray[Any], s: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """R S (3, 3) and R s + p (3,) of floats, summed in order; what cancels to rounding is 0."""
    rows, position = compose_rows(R.tolist(), p.tolist(), S.tolist(), s.tolist())
    return np.array(rows), np.array(position)


def ordered_product(A: NDArray[Any], B: NDArray[Any]) -> NDArray[Any]:
    """Product (..., m, k) (..., k, n) of floats, summed in order; what cancels to rounding is 0."""
    if A.ndim == 2 and A.shape[1] == 3 and A.shape[0] * B.shape[1] <= 12:
        columns, rows = B.T.tolist(), []
        for a, b, c in A.tolist():
            row = []
            for u, v, w in columns:
                x, y, z = a * u, b * v, c * w
                entry = x + y + z
                row.append(0.0 if abs(entry) < CANCELLED * (abs(x) + abs(y) + abs(z)) else entry)
            rows.append(row)
        return np.array(rows)
    terms = A[..., None] * B[..., None, :, :]
    sums = _sum_in_order(terms)
    return np.where(np.abs(sums) < CANCELLED * _sum_in_order(np.abs(terms)), 0.0, sums)


def _sum_in_order(terms: NDArray[Any]) -> NDArray[Any]:
    """Sums over the last axis but one, in order."""
    if terms.size < _FEW:
        # All partial sums in one call: quicker where most of the time goes into calls.
        return np.asarray(np.add.accumulate(terms, axis=-2)[..., -1, :])
    result = terms[..., 0, :]
    for k in range(1, terms.shape[-2]):
        result = result + terms[..., k, :]
    return result


def index_of_largest(values: Any) -> int:
    """Index of the largest of some floats; among those that are as large but for a margin, the first.

    Raises:
        ValueError: if one of them is no number.
    """
    floats = [float(value) for value in np.ravel(values)]
    if any(value != value for value in floats):
        raise ValueError("the largest of values that are no numbers")
    largest = max(floats)
    return next(k for k, value in enumerate(floats) if value >= largest - EQUALLY_GOOD * abs(largest))


def index_of_smallest(values: Any) -> int:
    """Index of the smallest of some sizes; among those as small within rounding, the first."""
    floats = [float(value) for value in np.ravel(values)]
    bound = min(floats) + EQUALLY_GOOD * max(floats)
    return next(k for k, value in enumerate(floats) if value <= bound)


def clean_rounding(values: NDArray[Any]) -> NDArray[Any]:
    """Floats with those set to 0 that are rounding compared with 1, and to +-1 where they are that."""
    if values.dtype == object:
        # Floats that remember how they were made stay what they are.
        flat = [
            float(v) if isinstance(v, np.floating) or not isinstance(v, float) else v for v in values.ravel()
        ]
        result = np.empty(values.size, dtype=object)
        result[:] = [_clean_entry(value) for value in flat]
        return result.reshape(values.shape)
    rounded = np.where(np.abs(values) < CANCELLED, 0.0, values)
    whole = np.abs(np.abs(rounded) - 1.0) < CANCELLED
    return np.where(whole, np.copysign(1.0, rounded), rounded) + 0.0


def _clean_entry(value: float) -> float:
    if abs(value) < CANCELLED:
        return 0.0
    return math.copysign(1.0, value) if abs(abs(value) - 1.0) < CANCELLED else value


# Factors that cost nothing, or that write the same number in every program.
_EXACT = (0.25, 0.5, 1.0, 2.0, 3.0, 4.0)

_pack, _unpack = struct.Struct("<d").pack, struct.Struct("<q").unpack


def _float_index(size: float) -> int:
    """Number of a positive float among all floats: neighbours differ by one."""
    return int(_unpack(_pack(size))[0])


class Constants:
    """The constants that a program, or a robot, has so far.

    Attributes:
        unify: gives the constant that a number is: an earlier one within the margin, or a new one; signs are
            apart.
    """

    __slots__ = ("_seen", "unify")

    def __init__(self, ulps: int = ULPS) -> None:
        """Start with small whole numbers and halves; numbers within `ulps` units of rounding are one."""
        self._use(_UniqueFloats(ulps))
        self._seen[0.0] = 0.0
        for value in _EXACT:
            self.unify(value)

    def _use(self, seen: _UniqueFloats) -> None:
        self._seen = seen
        # Looking up a number that has been seen, which is nearly every one, runs no Python.
        self.unify: Callable[[float], float] = seen.__getitem__

    def copy(self) -> Constants:
        """The same constants, to go on from."""
        duplicate = Constants.__new__(Constants)
        duplicate._use(self._seen.copy())
        return duplicate


class _UniqueFloats(dict[float, float]):
    """The constant of every number that was asked for, of either sign; others are found when they are."""

    __slots__ = ("_buckets", "_ulps")

    def __init__(self, ulps: int) -> None:
        super().__init__()
        self._ulps = ulps
        # Buckets as wide as the margin: a neighbour within it is in the same one or the next.
        self._buckets: dict[int, list[tuple[int, float]]] = {}

    def copy(self) -> _UniqueFloats:
        duplicate = _UniqueFloats(self._ulps)
        duplicate.update(self)
        duplicate._buckets = {index: near.copy() for index, near in self._buckets.items()}
        return duplicate

    def __missing__(self, value: float) -> float:
        size = abs(value)
        same = self.get(size)
        if same is None:
            same = self[size] = self._nearest_or_new(size)
        if value < 0.0:
            same = -same
            # A recorded float notes on its tape that it is negated, each time anew.
            if type(value) is float:
                self[value] = same
        return same

    def _nearest_or_new(self, size: float) -> float:
        if not size < float("inf"):
            return size
        index = _float_index(size)
        bucket = index // self._ulps
        nearest: tuple[int, float] | None = None
        for k in (bucket - 1, bucket, bucket + 1):
            for neighbour, value in self._buckets.get(k, ()):
                distance = abs(neighbour - index)
                if distance <= self._ulps and (nearest is None or distance < nearest[0]):
                    nearest = (distance, value)
        if nearest is not None:
            return nearest[1]
        self._buckets.setdefault(bucket, []).append((index, size))
        return size


def median(values: NDArray[Any]) -> NDArray[Any]:
    """Medians over the first axis of values (N, ...), N > 0."""
    ordered = np.sort(values, axis=0)
    return np.asarray(0.5 * (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]))
