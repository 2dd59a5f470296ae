"""Shape functions of beams point by point, in forty digits, and integrals over a beam."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import mpmath
import numpy as np

from nacelle.elastic.beam.functions import Function, Piecewise, Wave

# Nodes and weights are floats: integrals have fifteen digits, their derivatives as many.
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(18)


def points(pieces: int = 1) -> list[tuple[Fraction, Any]]:
    """Places in [0, 1] with their weights, so many in each of equal pieces."""
    return [
        ((k + (Fraction(x) + 1) / 2) / pieces, mpmath.mpf(w) / (2 * pieces))
        for k in range(pieces)
        for x, w in zip(_NODES.tolist(), _WEIGHTS.tolist(), strict=True)
    ]


def value(f: Function | None, xi: Fraction) -> Any:
    """A function at a place."""
    if f is None:
        return mpmath.mpf(0)
    if isinstance(f, Wave):
        angle = f.k * mpmath.pi * rational(xi)
        return mpmath.mpf(f.factor) * (mpmath.cos(angle) if f.cosine else mpmath.sin(angle))
    piece = next(c for c, end in zip(f.pieces, f.breaks[1:], strict=True) if xi <= end)
    return rational(sum((c * xi**k for k, c in enumerate(piece)), Fraction(0)))


def rational(number: Fraction) -> Any:
    """A rational number in the digits of mpmath."""
    return mpmath.mpf(number.numerator) / mpmath.mpf(number.denominator)


def integral(f: Function, g: Function) -> Any:
    """Integral of f g over [0, 1]."""
    pieces = max(len(h.pieces) if isinstance(h, Piecewise) else 1 for h in (f, g))
    return mpmath.fsum(w * value(f, xi) * value(g, xi) for xi, w in points(pieces))
