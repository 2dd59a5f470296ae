"""Coefficients and constants are what mpmath makes of their definitions, bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import pytest
from mpmath import mp

from nacelle.emit.jit.functions import coefficients

Real = Any


def interpolated(function: Callable[[Real], Real], nodes: list[Real]) -> list[float]:
    """Coefficients of the polynomial that meets a function at nodes, lowest first."""
    matrix = mpmath.matrix([[x**k for k in range(len(nodes))] for x in nodes])
    return [float(c) for c in mpmath.lu_solve(matrix, mpmath.matrix([function(x) for x in nodes]))]


def zeros(count: int) -> list[Real]:
    """Zeros of the Chebyshev polynomial of this degree, falling."""
    return [mp.cos(mp.pi * (2 * k + 1) / (2 * count)) for k in range(count)]


def from_zero(bound: Real, count: int) -> list[Real]:
    """Nodes in (0, bound]: the zeros stretched so that the least, which is left out, is 0."""
    *points, least = zeros(count + 1)
    return [bound * (x - least) / (1 - least) for x in points]


def around_zero(bound: Real, count: int) -> list[Real]:
    """Nodes in [-bound, bound]; next to 0 in its place, where the functions are limits."""
    return [bound * x if abs(x) > 1e-20 else mpmath.mpf(10) ** -30 for x in zeros(count)]


@pytest.fixture(autouse=True)
def digits() -> Any:
    with mpmath.workprec(400):
        yield


def test_sine() -> None:
    def remaining(z: Real) -> Real:
        return (mp.sin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z

    assert interpolated(remaining, from_zero((mp.pi / 4) ** 2, 6)) == list(coefficients.SIN)


def test_cosine() -> None:
    def remaining(z: Real) -> Real:
        return (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2

    assert interpolated(remaining, from_zero((mp.pi / 4) ** 2, 6)) == list(coefficients.COS)


def test_exponential() -> None:
    def remaining(r: Real) -> Real:
        return (mp.exp(r) - 1 - r) / r**2

    assert interpolated(remaining, around_zero(mp.log(2) / 2, 11)) == list(coefficients.EXP)


def test_arctangent() -> None:
    def remaining(z: Real) -> Real:
        return (mp.atan(mp.sqrt(z)) / mp.sqrt(z) - 1) / z

    assert interpolated(remaining, from_zero(mp.tan(mp.pi / 8) ** 2, 11)) == list(coefficients.ATAN)


def parts(number: Real, *bits: int) -> tuple[float, ...]:
    """A number in parts of so many bits: cut off, and rounded if they are 53."""
    made = []
    for count in bits:
        mantissa, exponent = mpmath.frexp(number)
        whole = mpmath.floor(mantissa * 2**count) if count < 53 else mpmath.nint(mantissa * 2**count)
        made.append(mpmath.ldexp(whole, exponent - count))
        number = number - made[-1]
    return tuple(float(part) for part in made)


def test_constants() -> None:
    assert parts(mp.pi / 2, 37, 37, 53) == coefficients.HALF_PI
    assert parts(mp.pi / 2, 53, 53) == coefficients.HALF_PI_PAIR
    assert parts(mp.pi / 4, 50, 53) == coefficients.QUARTER_PI
    assert parts(mp.log(2), 42, 53) == coefficients.LN2
    with mpmath.workprec(1400):
        assert int(mpmath.floor(mpmath.ldexp(2 / mp.pi, 1280))) == coefficients.TWO_OVER_PI
