"""Affine forms as a scalar: a linear function over a box, and a bound of what it leaves open.

Over a box x_i = m_i + h_i t_i, |t_i| <= 1, a form (c, g, e) holds a function f if

    |f(x) - (c + g . t)| <= e        for all x of the box

(J. Stolfi, L. H. de Figueiredo, Self-Validated Numerical Methods, 1997, with one term e for what is not
linear). Sums are exact but for rounding; a product, and a smooth function by its tangent at c,

    (c + p)(d + q) = c d + c q + d p + p q,        f(c + p) = f(c) + f'(c) p + remainder,

leave terms of the second order in the box's widths, where those of intervals are of the first. The square of
a variable of a product lies in [0, 1], which moves c and halves that part of e.

Coefficients are rounded to the nearest double; e takes up all roundings: of a result z 2^-52 |z| at least,
twice the largest error, so that sums of errors may be rounded themselves (`_above`). Where a function is not
defined on all of the box e is NaN, and nothing is proved from it. Entries are scalars of any kind, as those
of intervals are (`nacelle.spatial.interval`), whose assumptions about sine, cosine and angles are made here,
too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce
from typing import Any

from nacelle.spatial import scalar
from nacelle.spatial.interval import Interval, round_down, round_up
from nacelle.spatial.scalar import Scalar, absolute, is_zero, maximum, where

_ULP, _TINY = 2.0**-52, 2.0**-1000
# Bounds of the errors of libraries, as of intervals.
_WAVE, _ANGLE = 2.0**-50, 2.0**-49
_ABOVE = 1.0 + 2.0**-44


class Affine:
    """All functions over a box within e of c + g . t.

    Attributes:
        c: value in the middle.
        g: change (n,) from the middle to the end of each side of the box.
        e: bound of the rest, not below 0; NaN says nothing.
    """

    __slots__ = ("_span", "c", "e", "g")
    __array_ufunc__ = None

    def __init__(self, c: Scalar, g: tuple[Scalar, ...], e: Scalar, span: Scalar | None = None) -> None:
        self.c, self.g, self.e = c, g, e
        self._span = span

    @property
    def span(self) -> Scalar:
        """Sum of |g|, to rounding."""
        if self._span is None:
            self._span = _total([absolute(entry) for entry in self.g if not is_zero(entry)])
        return self._span

    @property
    def reach(self) -> Scalar:
        """A bound of |f - c|."""
        return _above(self.span + self.e)

    @property
    def interval(self) -> Interval:
        """Bounds of the values."""
        return Interval(round_down(self.c - self.reach), round_up(self.c + self.reach))

    # ---- arithmetic

    def __neg__(self) -> Affine:
        return Affine(-self.c, tuple(-entry for entry in self.g), self.e, self._span)

    def __add__(self, other: Any) -> Affine:
        operand = self._like(other)
        if operand is None:
            return self
        result = Affine(
            self.c + operand.c, tuple(_plus(a, b) for a, b in zip(self.g, operand.g, strict=True)), 0.0
        )
        result.e = _above(self.e + operand.e + _ULP * (absolute(result.c) + result.span))
        return result

    __radd__ = __add__

    def __sub__(self, other: Any) -> Affine:
        return self.__add__(-other)

    def __rsub__(self, other: Any) -> Affine:
        return self.__neg__().__add__(other)

    def __mul__(self, other: Any) -> Affine:
        if not isinstance(other, Affine):
            return self._multiply_number(other)
        if other is self:
            return self.square()
        c, d = self.c, other.c
        squares = [_times(a, b) for a, b in zip(self.g, other.g, strict=True)]
        shift = 0.5 * _total([entry for entry in squares if not is_zero(entry)])
        diagonal = 0.5 * _total([absolute(entry) for entry in squares if not is_zero(entry)])
        result = Affine(
            c * d + shift,
            tuple(_plus(_times(c, b), _times(d, a)) for a, b in zip(self.g, other.g, strict=True)),
            0.0,
        )
        first, second = absolute(c) + self.span, absolute(d) + other.span
        # Each product and sum of coefficients errs by less than 2^-52 of the largest that they can be.
        open_part = self.span * other.span - diagonal + first * other.e + second * self.e + self.e * other.e
        result.e = _above(open_part + (4.0 + len(self.g)) * _ULP * (first * second))
        return result

    __rmul__ = __mul__

    def _multiply_number(self, factor: Scalar) -> Affine:
        """The product with a number."""
        if is_zero(factor):
            return Affine(0.0, (0.0,) * len(self.g), 0.0, 0.0)
        size = absolute(factor)
        exact = isinstance(factor, float | int) and math.frexp(abs(factor))[0] == 0.5 and size >= 1.0
        e = self.e * size
        if not exact:
            e = _above(e + _ULP * size * (absolute(self.c) + self.span))
        return Affine(self.c * factor, tuple(_times(entry, factor) for entry in self.g), e)

    def square(self) -> Affine:
        """The square of one function."""
        c, s = self.c, self.span
        # (g . t)^2 lies in [0, s^2].
        half = 0.5 * (s * s)
        size = absolute(c) + s
        e = _above(half + self.e * (2.0 * size + self.e) + 4.0 * _ULP * (size * size))
        return Affine(c * c + half, tuple(_times(2.0 * c, entry) for entry in self.g), e)

    def reciprocal(self) -> Affine:
        """1 / f; NaN where f may be 0.

        1/x = 1/c - (x - c)/c^2 + (x - c)^2/(c^2 x), of which the last has the sign of c.
        """
        reach = self.reach
        nearest = round_down(absolute(self.c) - reach)
        inverse = scalar.divide(1.0, self.c)
        slope = inverse * inverse
        part = 0.5 * slope * scalar.divide(reach * reach, nearest)
        e = _above(
            slope * self.e + part * (1.0 + 8.0 * _ULP) + 8.0 * _ULP * (absolute(inverse) + slope * reach)
        )
        return Affine(
            inverse + where(self.c, part, -part),
            tuple(_times(entry, -slope) for entry in self.g),
            where(nearest, e, math.nan),
        )

    def __truediv__(self, other: Any) -> Affine:
        if isinstance(other, Affine):
            return self * other.reciprocal()
        return self.__mul__(self._constant(other).reciprocal())

    def __rtruediv__(self, other: Any) -> Affine:
        return self.reciprocal().__mul__(other)

    # ---- the primitives of the scalar contract

    def __abs__(self) -> Affine:
        return self.where(self, -self)

    def sqrt(self) -> Affine:
        """Square root; NaN where f may be negative.

        sqrt(x) = r + (x - c)/(2 r) - (sqrt(x) - r)^2/(2 r), r = sqrt(c).
        """
        reach, root = self.reach, scalar.sqrt(self.c)
        slope = scalar.divide(0.5, root)
        low = scalar.sqrt(round_down(self.c - reach))
        sum_ = root + low
        part = 0.5 * slope * scalar.divide(reach * reach, sum_ * sum_)
        e = _above(slope * self.e + part * (1.0 + 16.0 * _ULP) + 8.0 * _ULP * (root + slope * reach))
        return Affine(root - part, tuple(_times(entry, slope) for entry in self.g), e)

    def sin(self) -> Affine:
        """Sine of an angle, rad."""
        return self._wave(scalar.sin(self.c), scalar.cos(self.c))

    def cos(self) -> Affine:
        """Cosine of an angle, rad."""
        return self._wave(scalar.cos(self.c), -scalar.sin(self.c))

    def _wave(self, value: Scalar, slope: Scalar) -> Affine:
        reach = self.reach
        e = _above(self.e + 0.5 * (reach * reach) + (_WAVE + 4.0 * _ULP) * (1.0 + reach))
        return Affine(value, tuple(_times(entry, slope) for entry in self.g), e)

    def atan2(self: Any, x: Any) -> Affine:
        """Angle of the points (x, self), rad; all angles where they surround or touch the negative axis.

        With the middle (u, v), atan2(y, x) = atan2(v, u) + atan(t), t = (u y - v x)/(u x + v y), and
        |atan(t) - t| <= |t|^3/3.
        """
        like = self if isinstance(self, Affine) else x
        y, x = like._constant(self), like._constant(x)
        u, v = x.c, y.c
        t = (y * u - x * v) * (x * u + y * v).reciprocal()
        size = absolute(t.c) + t.reach
        angle: Affine = t + scalar.atan2(v, u)
        e = angle.e + size * size * size * 0.34 + 2.0 * _ANGLE
        rows, columns = y.interval, x.interval
        off_cut = maximum(columns.lo, maximum(rows.lo, -rows.hi))
        every = 6.3 + angle.span + absolute(angle.c)
        angle.e = where(off_cut, _above(e), every) + _propagate_nan(y.e) + _propagate_nan(x.e)
        return angle

    def where(self: Any, a: Any, b: Any) -> Affine:
        """`a` where self > 0, `b` where it is not, and both together where that is not decided."""
        like = next(value for value in (self, a, b) if isinstance(value, Affine))
        condition, a, b = (like._constant(value) for value in (self, a, b))
        first, second = a.interval, b.interval
        both = Interval(scalar.minimum(first.lo, second.lo), scalar.maximum(first.hi, second.hi))
        return _choose(condition, a, b, _from_interval(both, len(a.g)))

    def maximum(self: Any, other: Any) -> Affine:
        """The larger of two.

        Of d between l < 0 and h > 0 max(d, 0) lies between k d and k d - k l, k = h/(h - l): with another k
        from 0 to 1, as it is rounded, between k d and k d + max(-k l, (1 - k) h).
        """
        like = self if isinstance(self, Affine) else other
        a, b = like._constant(self), like._constant(other)
        d = a - b
        sides = d.interval
        share = scalar.minimum(scalar.maximum(scalar.divide(sides.hi, sides.hi - sides.lo + _TINY), 0.0), 1.0)
        above = 0.5 * scalar.maximum(share * -sides.lo, (1.0 - share) * sides.hi)
        both = b + d * share + above
        both.e = _above(both.e + above)
        return _choose(d, a, b, both)

    def minimum(self: Any, other: Any) -> Affine:
        """The smaller of two."""
        like = self if isinstance(self, Affine) else other
        return -Affine.maximum(-like._constant(self), -like._constant(other))

    def exp(self) -> Affine:
        """Exponential."""
        return self._by_interval(Interval.exp)

    def tanh(self) -> Affine:
        """Hyperbolic tangent."""
        return self._by_interval(Interval.tanh)

    def sign(self) -> Affine:
        """Signs, -1, 0 and 1 as a program has them."""
        return self._by_interval(Interval.sign)

    def floor(self) -> Affine:
        """The largest whole numbers that are not above."""
        return self._by_interval(Interval.floor)

    def _by_interval(self, function: Callable[[Interval], Interval]) -> Affine:
        return _from_interval(function(self.interval), len(self.g))

    def _constant(self, value: Any) -> Affine:
        return value if isinstance(value, Affine) else Affine(value, (0.0,) * len(self.g), 0.0, 0.0)

    def _like(self, value: Any) -> Affine | None:
        """The operand of a sum; None for the number 0."""
        return None if not isinstance(value, Affine) and is_zero(value) else self._constant(value)


def _from_interval(bounds: Interval, size: int) -> Affine:
    middle = 0.5 * bounds.lo + 0.5 * bounds.hi
    e = maximum(round_up(bounds.hi - middle), round_up(middle - bounds.lo))
    return Affine(middle, (0.0,) * size, e, 0.0)


def _choose(condition: Affine, a: Affine, b: Affine, both: Affine) -> Affine:
    """`a` where a form is above 0, `b` where it is not, and `both` where that is not decided."""
    sides = condition.interval

    def pick(positive: Scalar, negative: Scalar, open_: Scalar) -> Scalar:
        if is_zero(positive) and is_zero(negative) and is_zero(open_):
            return 0.0
        return where(sides.lo, positive, where(-sides.hi, negative, open_))

    g = tuple(pick(*entries) for entries in zip(a.g, b.g, both.g, strict=True))
    return Affine(pick(a.c, b.c, both.c), g, pick(a.e, b.e, both.e) + _propagate_nan(condition.e))


def _above(error: Scalar) -> Scalar:
    """A bound of an error from a sum of a few that was rounded itself."""
    return error * _ABOVE + _TINY


def _propagate_nan(error: Scalar) -> Scalar:
    """NaN where an error is; else 0."""
    return scalar.minimum(error, 0.0)


def _total(terms: list[Scalar]) -> Scalar:
    return reduce(lambda a, b: a + b, terms) if terms else 0.0


def _plus(a: Scalar, b: Scalar) -> Scalar:
    return b if is_zero(a) else a if is_zero(b) else a + b


def _times(a: Scalar, b: Scalar) -> Scalar:
    return 0.0 if is_zero(a) or is_zero(b) else a * b
