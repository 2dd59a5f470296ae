"""Sine and cosine of a float, the same on every machine.

Libraries round them differently in the last bit, and NumPy's vector instructions differ again. Here both are
computed in whole numbers, as multiples of 2^-200, and rounded once: the nearest float.
"""

from __future__ import annotations

import math
from functools import lru_cache

_BITS = 200
_ONE = 1 << _BITS
# Below this an angle is its own sine, and its cosine is 1, to rounding.
_SMALL = 1e-8
# Beyond this the reduction would lose digits.
_LARGE = 1e15


def _inverse_tangent(n: int) -> int:
    """atan(1/n) by its series."""
    power = total = _ONE // n
    k = 1
    while power:
        power //= -n * n
        k += 2
        total += power // k
    return total


# Machin: pi / 4 = 4 atan(1/5) - atan(1/239); half of pi, with the last bits of the series cut off.
_HALF_PI = 2 * (4 * _inverse_tangent(5) - _inverse_tangent(239))


def _series(term: int, k: int, square: int) -> int:
    """Sum of the alternating series that begins with a term x^k / k!, from the square of x."""
    total = term
    while abs(term) > 1:
        k += 2
        term = -(term * square >> _BITS) // (k * (k - 1))
        total += term
    return total


@lru_cache(maxsize=4096)
def sine_cosine(angle: float) -> tuple[float, float]:
    """Sine and cosine of an angle in radians."""
    if abs(angle) < _SMALL:
        return angle, 1.0
    if not abs(angle) < _LARGE:
        return math.sin(angle), math.cos(angle)
    numerator, denominator = angle.as_integer_ratio()
    whole = numerator * _ONE // denominator
    quarter = (2 * whole + _HALF_PI) // (2 * _HALF_PI)
    x = whole - quarter * _HALF_PI
    square = x * x >> _BITS
    s, c = _series(x, 1, square) / _ONE, _series(_ONE, 0, square) / _ONE
    turns = ((s, c), (c, -s), (-s, -c), (-c, s))
    return turns[quarter % 4]
