"""Functions of one variable xi in [0, 1], and exact integrals of their products.

Shape functions are piecewise polynomials with rational coefficients, or sines and cosines of k pi xi. The
integral over [0, 1] of a product of two of them has a closed form, so what is made of shape functions does
not depend on a machine's quadrature or linear algebra:

    polynomials     sums of rational numbers, rounded once
    sin, cos        of the same k 1/2; sin k, cos l: k (1 - (-1)^(k + l)) / (pi (k^2 - l^2)), k != l
    xi^p sin, cos   by parts, from p down to 0, in decimals: terms of high powers cancel each other
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import TypeAlias

Coefficients = tuple[Fraction, ...]

_PI = Decimal(
    "3.1415926535897932384626433832795028841971693993751058209749445923078164062862089986280348253421170679821481"
)


@dataclass(frozen=True)
class Piecewise:
    """A piecewise polynomial.

    Attributes:
        breaks: ends of the pieces, from 0 to 1.
        pieces: of each piece the coefficients of 1, xi, xi^2, ...
    """

    breaks: tuple[Fraction, ...]
    pieces: tuple[Coefficients, ...]

    def derivative(self) -> Piecewise:
        """Its derivative."""
        pieces = tuple(tuple(k * c for k, c in enumerate(piece))[1:] for piece in self.pieces)
        return Piecewise(self.breaks, pieces)

    def scale(self, factor: Fraction | float) -> Piecewise:
        """Its product with a number."""
        exact = Fraction(factor)
        return Piecewise(self.breaks, tuple(tuple(exact * c for c in piece) for piece in self.pieces))

    def plus(self, other: Piecewise) -> Piecewise:
        """The sum of two polynomials over the same pieces."""
        pieces = []
        for a, b in zip(self.pieces, other.pieces, strict=True):
            longer, shorter = (a, b) if len(a) >= len(b) else (b, a)
            pieces.append(tuple(c + (shorter[k] if k < len(shorter) else 0) for k, c in enumerate(longer)))
        return Piecewise(self.breaks, tuple(pieces))

    def exact(self, xi: Fraction | int) -> Fraction:
        """Its value, in the first piece that reaches xi."""
        piece = next(p for p, end in zip(self.pieces, self.breaks[1:], strict=True) if xi <= end)
        return sum((c * Fraction(xi) ** k for k, c in enumerate(piece)), Fraction(0))

    def at(self, xi: float) -> float:
        """Its value at xi."""
        return float(self.exact(Fraction(xi)))


@dataclass(frozen=True)
class Wave:
    """factor sin(k pi xi), or with `cosine` factor cos(k pi xi); k a whole number above 0."""

    k: int
    factor: float = 1.0
    cosine: bool = False

    def derivative(self) -> Wave:
        """Its derivative."""
        sign = -1.0 if self.cosine else 1.0
        return Wave(self.k, sign * self.k * math.pi * self.factor, not self.cosine)

    def scale(self, factor: float) -> Wave:
        """Its product with a number."""
        return Wave(self.k, self.factor * factor, self.cosine)

    def at(self, xi: float) -> float:
        """Its value at xi; exact at the ends."""
        if xi in (0.0, 1.0):
            return self.factor * (-1.0 if self.k % 2 and xi == 1.0 else 1.0) if self.cosine else 0.0
        angle = self.k * math.pi * xi
        return self.factor * (math.cos(angle) if self.cosine else math.sin(angle))


Function: TypeAlias = Piecewise | Wave


def polynomial(coefficients: Sequence[Fraction | int]) -> Piecewise:
    """A polynomial over all of [0, 1]."""
    return Piecewise((Fraction(0), Fraction(1)), (tuple(Fraction(c) for c in coefficients),))


ONE = polynomial([1])
XI = polynomial([0, 1])


def integral_of_product(f: Function, g: Function) -> float:
    """Integral of f g over [0, 1]."""
    if isinstance(f, Piecewise) and isinstance(g, Piecewise):
        return float(_polynomial_integral(f, g))
    if isinstance(f, Wave) and isinstance(g, Wave):
        return _wave_integral(f, g)
    wave, poly = (f, g) if isinstance(f, Wave) else (g, f)
    assert isinstance(wave, Wave)
    assert isinstance(poly, Piecewise)
    if len(poly.pieces) > 1:
        raise ValueError("sines go with polynomials over one piece only")
    with localcontext() as context:
        context.prec = 100
        total = sum(
            (_decimal(c) * _moment(p, wave.k, wave.cosine) for p, c in enumerate(poly.pieces[0])),
            Decimal(0),
        )
        return wave.factor * float(total)


def _decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


def _polynomial_integral(f: Piecewise, g: Piecewise) -> Fraction:
    if len(f.pieces) < len(g.pieces):
        f, g = g, f
    if len(g.pieces) == 1:
        g = Piecewise(f.breaks, g.pieces * len(f.pieces))
    total = Fraction(0)
    for a, b, start, end in zip(f.pieces, g.pieces, f.breaks, f.breaks[1:], strict=False):
        total += _product_integral(a, b, start, end)
    return total


def _product_integral(a: Coefficients, b: Coefficients, start: Fraction, end: Fraction) -> Fraction:
    """Integral of a product from start to end, exact, in whole numbers over one denominator: that is fast."""
    if not a or not b:
        return Fraction(0)
    (p, below_a), (q, below_b) = _integer_coefficients(a), _integer_coefficients(b)
    orders = range(1, len(a) + len(b))
    common, ends = math.lcm(*orders), math.lcm(start.denominator, end.denominator)
    low, high = int(start * ends), int(end * ends)
    weights = [
        (high**order - low**order) * ends ** (len(orders) - order) * (common // order) for order in orders
    ]
    total = sum(x * y * weights[i + j] for i, x in enumerate(p) if x for j, y in enumerate(q) if y)
    return Fraction(total, common * ends ** len(orders) * below_a * below_b)


def _integer_coefficients(piece: Coefficients) -> tuple[list[int], int]:
    """Coefficients as whole numbers over a denominator."""
    below = math.lcm(*(c.denominator for c in piece))
    return [c.numerator * (below // c.denominator) for c in piece], below


def _wave_integral(f: Wave, g: Wave) -> float:
    if f.cosine == g.cosine:
        return 0.5 * f.factor * g.factor if f.k == g.k else 0.0
    sine, cosine = (g, f) if f.cosine else (f, g)
    k, l = sine.k, cosine.k
    if (k + l) % 2 == 0:
        return 0.0
    return 2.0 * k / (math.pi * (k * k - l * l)) * f.factor * g.factor


def _moment(p: int, k: int, cosine: bool) -> Decimal:
    """Integral of xi^p sin(k pi xi), or of xi^p cos(k pi xi), over [0, 1], to the digits of the context."""
    a, end = k * _PI, -1 if k % 2 else 1
    if cosine:
        return Decimal(0) if p == 0 else -p / a * _moment(p - 1, k, False)
    if p == 0:
        return (1 - end) / a
    return -end / a + p / a * _moment(p - 1, k, True)
