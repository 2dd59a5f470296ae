"""Exact integrals of products of shape functions, against quadrature in forty digits."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest

from nacelle.elastic.beam.bending import Plane, bends
from nacelle.elastic.beam.functions import ONE, XI, Function, Piecewise, Wave, integral_of_product, polynomial
from support.beam_quadrature import integral, value

PIECES = Piecewise(
    (Fraction(0), Fraction(1, 2), Fraction(1)),
    ((Fraction(1), Fraction(-2), Fraction(1, 3)), (Fraction(2), Fraction(0), Fraction(0), Fraction(-5))),
)
CUBIC = polynomial([1, -3, 0, 2])
# The highest mode of a beam clamped at both ends: coefficients of 1e7 that cancel each other.
MODE = bends(Plane(0.4, 0.0, True, True, True, False, 6))[-1].v
PAIRS: list[tuple[Function, Function]] = [
    (PIECES, PIECES),
    (PIECES, CUBIC),
    (CUBIC, XI),
    (Wave(2, 0.7), Wave(2, -1.3)),
    (Wave(1), Wave(3)),
    (Wave(2), Wave(5, 2.0, True)),
    (Wave(3, cosine=True), Wave(2)),
    (Wave(1, cosine=True), Wave(3, cosine=True)),
    (Wave(3), CUBIC),
    (Wave(3, 1.5, True), CUBIC),
    (Wave(1), ONE),
    (MODE, Wave(2)),
    (MODE, Wave(1)),
    (MODE.derivative(), Wave(1, cosine=True)),
    (MODE, MODE),
]


@pytest.mark.parametrize("pair", PAIRS)
def test_integrals(pair: tuple[Function, Function]) -> None:
    f, g = pair
    with mpmath.workdps(40):
        expected = integral(f, g)
        size = mpmath.sqrt(integral(f, f) * integral(g, g))
        assert abs(integral_of_product(f, g) - expected) < 1e-14 * size
        assert abs(integral_of_product(g, f) - expected) < 1e-14 * size


@pytest.mark.parametrize("f", [PIECES, MODE, Wave(3, 0.6), Wave(2, 0.6, True)])
def test_derivatives_and_values(f: Function) -> None:
    xi, step = Fraction(3, 8), Fraction(1, 10**15)
    with mpmath.workdps(60):
        slope = (value(f, xi + step) - value(f, xi - step)) / (2 * mpmath.mpf(10) ** -15)
        assert abs(value(f.derivative(), xi) - slope) < 1e-15 * max(1, abs(slope))
        assert abs(f.at(float(xi)) - value(f, xi)) < 1e-14 * max(1, abs(value(f, xi)))


def test_ends_are_exact() -> None:
    assert Wave(3).at(1.0) == 0.0
    assert Wave(3, 2.0, True).at(1.0) == -2.0
    assert Wave(2, 2.0, True).at(1.0) == 2.0


def test_sines_over_pieces_are_refused() -> None:
    with pytest.raises(ValueError, match="one piece"):
        integral_of_product(Wave(1), PIECES)
