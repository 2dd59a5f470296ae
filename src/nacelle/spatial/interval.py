"""Intervals as a scalar: bounds between which a result lies, whatever the rounding.

An interval [a, b] holds all real numbers from a to b. Every operation gives one that holds the exact result
at all numbers of its arguments (R. E. Moore, Interval Analysis, 1966):

    [a, b] + [c, d] = [a + c, b + d]        [a, b] [c, d] = [min, max of ac, ad, bc, bd]        and so on

with bounds rounded outwards. No rounding mode is changed. To the nearest double rounding is monotone, so

    up(z) = z + (|z| 2^-52 + 2^-1000)

computed in doubles is at least the next double above z, and so above the exact result that z is the rounding
of; down(z) = -up(-z). It is at most three units in the last place above z, and costs three operations of the
scalar contract. So bounds may be any scalar: floats, NumPy batches, or traced symbols, of which a program of
plain operations is made (`nacelle.program.interval`) that runs on every target. A product that a target fuses
with the sum `up` is rounded once less, which the same argument covers.

A NaN bound says nothing: nothing is proved from it, for comparisons with it are false. Quotients by intervals
that hold 0 and roots of intervals that hold negative numbers have NaN bounds.

Of the functions the error of a target's library is assumed: sine, cosine and angles are within 2^-50 and
2^-49 of the exact value, exp and tanh within 2^-50 of it, relative. Tests compare with 50 digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from nacelle.spatial import scalar
from nacelle.spatial.scalar import Scalar, maximum, minimum, where

_ULP, _TINY = 2.0**-52, 2.0**-1000
# Bounds of the errors of libraries: of sine and cosine, of angles, and of exp and tanh, relative.
_WAVE, _ANGLE, _RELATIVE = 2.0**-50, 2.0**-49, 2.0**-50
_PI_ABOVE = 3.1415926535897936
# By how much of a turn, and of the angle, an extreme of a sine counts as within an interval.
_TURN = 0.5 / math.pi
_EDGE = 2.0**-36


def round_up(z: Scalar) -> Scalar:
    """A number above every real number that rounds to z, and at least the next double above z."""
    return z + (scalar.absolute(z) * _ULP + _TINY)


def round_down(z: Scalar) -> Scalar:
    """A number below every real number that rounds to z, and at most the next double below z."""
    return z - (scalar.absolute(z) * _ULP + _TINY)


class Interval:
    """All real numbers from `lo` to `hi`; NaN bounds say nothing.

    Attributes:
        lo: lower bound, a scalar.
        hi: upper bound.
    """

    __slots__ = ("hi", "lo")
    # Arrays leave operations with intervals to these.
    __array_ufunc__ = None

    def __init__(self, lo: Scalar, hi: Scalar) -> None:
        self.lo, self.hi = lo, hi

    def __repr__(self) -> str:
        """The bounds."""
        return f"[{self.lo}, {self.hi}]"

    # ---- arithmetic

    def __neg__(self) -> Interval:
        return Interval(-self.hi, -self.lo)

    def __add__(self, other: Any) -> Interval:
        if not isinstance(other, Interval):
            return self if isinstance(other, float | int) and other == 0.0 else self + _as_interval(other)
        return _round_outwards(self.lo + other.lo, self.hi + other.hi)

    __radd__ = __add__

    def __sub__(self, other: Interval | float) -> Interval:
        return self + (-other)

    def __rsub__(self, other: float) -> Interval:
        return (-self) + other

    def __mul__(self, other: Interval | float) -> Interval:
        if not isinstance(other, Interval):
            return self._scale(other)
        if other is self:
            return self.square()
        products = (self.lo * other.lo, self.lo * other.hi, self.hi * other.lo, self.hi * other.hi)
        return _round_outwards(*_hull(products))

    __rmul__ = __mul__

    def _scale(self, factor: Scalar) -> Interval:
        """The product with a number, or with one number a sample."""
        if not isinstance(factor, float | int):
            return self * Interval(factor, factor)
        if factor < 0.0:
            return (-self)._scale(-factor)
        if factor == 0.0 or factor == 1.0:
            return self if factor else Interval(0.0, 0.0)
        if factor > 1.0 and math.frexp(factor)[0] == 0.5:
            # A power of two: exact.
            return Interval(self.lo * factor, self.hi * factor)
        return _round_outwards(self.lo * factor, self.hi * factor)

    def square(self) -> Interval:
        """The square, of one number with itself."""
        near, far = self._sizes()
        return Interval(maximum(round_down(near * near), 0.0), round_up(far * far))

    def _sizes(self) -> tuple[Scalar, Scalar]:
        """The smallest and the largest size of a number."""
        return maximum(maximum(self.lo, -self.hi), 0.0), maximum(self.hi, -self.lo)

    def reciprocal(self) -> Interval:
        """1 / x; NaN where x may be 0."""
        sign = maximum(self.lo, -self.hi)
        low, high = scalar.divide(1.0, self.hi), scalar.divide(1.0, self.lo)
        return Interval(where(sign, round_down(low), math.nan), where(sign, round_up(high), math.nan))

    def __truediv__(self, other: Interval | float) -> Interval:
        return self * _as_interval(other).reciprocal()

    def __rtruediv__(self, other: float) -> Interval:
        return self.reciprocal() * other

    # ---- the primitives of the scalar contract

    def __abs__(self) -> Interval:
        return Interval(*self._sizes())

    def sqrt(self) -> Interval:
        """Square root; NaN where a number may be negative."""
        lowest = scalar.sqrt(self.lo)
        low = maximum(round_down(lowest), 0.0)
        return Interval(low, maximum(round_up(scalar.sqrt(self.hi)), low))

    def sin(self) -> Interval:
        """Sine of an angle, rad."""
        return self._wave(scalar.sin, 0.25)

    def cos(self) -> Interval:
        """Cosine of an angle, rad."""
        return self._wave(scalar.cos, 0.0)

    def _wave(self, function: Callable[[Scalar], Scalar], peak: float) -> Interval:
        """A function of period 2 pi between -1 and 1, monotone between its peaks at `peak` turns and troughs.

        What may be an extreme for its rounding counts as one.
        """
        first, last = function(self.lo), function(self.hi)
        begin, end = self.lo * _TURN, self.hi * _TURN
        slack = (scalar.absolute(begin) + scalar.absolute(end) + 1.0) * _EDGE
        begin, end = begin - slack, end + slack

        def holds(offset: float) -> Scalar:
            return scalar.floor(end - offset) - scalar.floor(begin - offset)

        low = maximum(minimum(first, last) - _WAVE, -1.0)
        high = minimum(maximum(first, last) + _WAVE, 1.0)
        return Interval(where(holds(peak + 0.5), -1.0, low), where(holds(peak), 1.0, high))

    def atan2(self: Any, x: Any) -> Interval:
        """Angle of the points (x, self), rad; [-pi, pi] where they surround or touch the negative axis."""
        y, x = _as_interval(self), _as_interval(x)
        off_axis = maximum(x.lo, maximum(y.lo, -y.hi))
        angles = [scalar.atan2(v, u) for v in (y.lo, y.hi) for u in (x.lo, x.hi)]
        low, high = _hull(angles)
        return Interval(
            where(off_axis, maximum(low - _ANGLE, -_PI_ABOVE), -_PI_ABOVE),
            where(off_axis, minimum(high + _ANGLE, _PI_ABOVE), _PI_ABOVE),
        )

    def exp(self) -> Interval:
        """Exponential."""
        low, high = scalar.exp(self.lo), scalar.exp(self.hi)
        return Interval(maximum(low - (low * _RELATIVE + _TINY), 0.0), high + (high * _RELATIVE + _TINY))

    def tanh(self) -> Interval:
        """Hyperbolic tangent."""
        low, high = (scalar.tanh(bound) for bound in (self.lo, self.hi))
        low = low - (scalar.absolute(low) * _RELATIVE + _TINY)
        high = high + (scalar.absolute(high) * _RELATIVE + _TINY)
        return Interval(maximum(low, -1.0), minimum(high, 1.0))

    def sign(self) -> Interval:
        """Signs, -1, 0 and 1 as a program has them."""
        return Interval(scalar.sign(self.lo), scalar.sign(self.hi))

    def floor(self) -> Interval:
        """The largest whole numbers that are not above."""
        return Interval(scalar.floor(self.lo), scalar.floor(self.hi))

    def minimum(self: Any, other: Any) -> Interval:
        """The smaller of two."""
        first, second = _as_interval(self), _as_interval(other)
        return Interval(minimum(first.lo, second.lo), minimum(first.hi, second.hi))

    def maximum(self: Any, other: Any) -> Interval:
        """The larger of two."""
        first, second = _as_interval(self), _as_interval(other)
        return Interval(maximum(first.lo, second.lo), maximum(first.hi, second.hi))

    def where(self: Any, a: Any, b: Any) -> Interval:
        """`a` where self > 0, `b` where it is not, and both together where that is not decided."""
        condition, a, b = _as_interval(self), _as_interval(a), _as_interval(b)
        low, high = minimum(a.lo, b.lo), maximum(a.hi, b.hi)
        return Interval(
            where(condition.lo, a.lo, where(-condition.hi, b.lo, low)),
            where(condition.lo, a.hi, where(-condition.hi, b.hi, high)),
        )


def _round_outwards(lo: Scalar, hi: Scalar) -> Interval:
    return Interval(round_down(lo), round_up(hi))


def _hull(values: list[Scalar] | tuple[Scalar, ...]) -> tuple[Scalar, Scalar]:
    """The smallest and the largest of four."""
    a, b, c, d = values
    return minimum(minimum(a, b), minimum(c, d)), maximum(maximum(a, b), maximum(c, d))


def _as_interval(value: Any) -> Interval:
    return value if isinstance(value, Interval) else Interval(value, value)
