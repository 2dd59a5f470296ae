"""Shape functions of a beam that bends in one plane.

A deflection v(x) comes with the rotation psi(x) of the section. A section that shears has (Timoshenko)

    psi - s psi'' = v',   s = E I / (kappa G A)        moments in balance with shear forces at rest

so that psi = v' + s v''' + s^2 v^(5) + ... for polynomials and psi = v' / (1 + s (k pi / L)^2) for sines;
without shear s = 0 and psi = v' (Euler and Bernoulli). x = L xi.

    hermite   n elements, cubics between nodes with v and psi at each
    modes     a cubic for every end rotation that carries a moment (and for the deflection of the end, in a
              clamped frame), and the first n modes of the beam whose ends do not move: Craig and Bampton;
              sines where neither end carries a moment

A pinned frame passes through both ends, v(0) = v(L) = 0; a clamped one is fixed to the start, v(0) = psi(0) =
0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from nacelle.elastic.beam.functions import (
    Coefficients,
    Function,
    Piecewise,
    Wave,
    integral_of_product,
    polynomial,
)

# Modes are found with this many polynomials beyond their number, and rounded to this many digits: what is
# rounded is a shape function as good, and the same on every machine.
_MORE, _DIGITS = 8, 10


class Bend(NamedTuple):
    """A shape of a bending beam.

    Deflection v (m) and rotation psi (rad) of the section, for a unit coordinate.
    """

    v: Function
    psi: Function


@dataclass(frozen=True)
class Plane:
    """What the shapes in one plane depend on.

    Attributes:
        length: of the beam L, m.
        s: E I / (kappa G A), m^2; 0 without shear.
        pinned: whether the frame passes through both ends.
        start: whether the start carries a moment.
        end: whether the end carries a moment.
        hermite: whether elements are taken, not modes.
        number: of elements or interior modes.
    """

    length: float
    s: float
    pinned: bool
    start: bool
    end: bool
    hermite: bool
    number: int


@lru_cache(maxsize=64)
def bends(plane: Plane) -> tuple[Bend, ...]:
    """The shapes in one plane."""
    return tuple(_elements(plane) if plane.hermite else [*_boundary(plane), *_interior(plane)])


def _rotation(v: Function, plane: Plane) -> Function:
    """The rotation psi of the section that belongs to a deflection v."""
    slope = v.derivative().scaled(1.0 / plane.length)
    if isinstance(slope, Wave):
        return slope.scaled(1.0 / (1.0 + plane.s * (slope.k * math.pi / plane.length) ** 2))
    total, term = slope, slope
    factor = Fraction(plane.s) / Fraction(plane.length) ** 2
    while plane.s and any(len(piece) > 2 for piece in term.pieces):
        term = term.derivative().derivative().scaled(factor)
        total = total.plus(term)
    return total


# ---- elements


def _elements(plane: Plane) -> list[Bend]:
    n = plane.number
    breaks = tuple(Fraction(k, n) for k in range(n + 1))
    shapes = []
    for node in range(n + 1):
        for kind in range(2):  # deflection, rotation
            if (kind == 0 and (node == 0 or (node == n and plane.pinned))) or (
                kind == 1 and node == 0 and not plane.pinned
            ):
                continue
            v: list[Coefficients] = [(Fraction(0),)] * n
            psi: list[Coefficients] = [(Fraction(0),)] * n
            for element, end in ((node - 1, 1), (node, 0)):
                if 0 <= element < n:
                    values = [0, 0, 0, 0]
                    values[2 * end + kind] = 1
                    v[element], psi[element] = _cubic(values, breaks[element], breaks[element + 1], plane)
            shapes.append(Bend(Piecewise(breaks, tuple(v)), Piecewise(breaks, tuple(psi))))
    return shapes


def _cubic(
    values: Sequence[int], start: Fraction, end: Fraction, plane: Plane
) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
    """Coefficients of the cubic v and its psi with given v and psi at both ends of an element."""
    L, s = Fraction(plane.length), Fraction(plane.s)
    rows = []
    for xi in (start, end):
        rows.append([xi**k for k in range(4)])
        rows.append([Fraction(0), 1 / L, 2 * xi / L, 3 * xi**2 / L + 6 * s / L**3])
    c = _solved(rows, [Fraction(value) for value in values])
    return tuple(c), (c[1] / L + 6 * s * c[3] / L**3, 2 * c[2] / L, 3 * c[3] / L)


def _solved(rows: list[list[Fraction]], right: list[Fraction]) -> list[Fraction]:
    """Solve a small system of rational numbers by elimination."""
    n = len(rows)
    A = [[*row, value] for row, value in zip(rows, right, strict=True)]
    for k in range(n):
        pivot = next(i for i in range(k, n) if A[i][k] != 0)
        A[k], A[pivot] = A[pivot], A[k]
        A[k] = [entry / A[k][k] for entry in A[k]]
        for i in range(n):
            if i != k and A[i][k] != 0:
                A[i] = [a - A[i][k] * b for a, b in zip(A[i], A[k], strict=True)]
    return [row[n] for row in A]


# ---- modes


def _boundary(plane: Plane) -> list[Bend]:
    """One static shape for each movement of an end: cubics, the other movements zero, no moment elsewhere."""
    moving: list[Callable[[Piecewise], Fraction]] = []
    conditions: list[Callable[[Piecewise], Fraction]] = [lambda v: v.exact(0)]

    def psi(xi: int) -> Callable[[Piecewise], Fraction]:
        return lambda v: _polynomial(_rotation(v, plane)).exact(xi)

    def moment(xi: int) -> Callable[[Piecewise], Fraction]:
        return lambda v: _polynomial(_rotation(v, plane)).derivative().exact(xi)

    if plane.pinned:
        conditions.append(lambda v: v.exact(1))
        (moving if plane.start else conditions).append(psi(0) if plane.start else moment(0))
    else:
        conditions.append(psi(0))
        moving.append(lambda v: v.exact(1))
    (moving if plane.end else conditions).append(psi(1) if plane.end else moment(1))
    powers = [polynomial([0] * k + [1]) for k in range(4)]
    rows = [[condition(power) for power in powers] for condition in (*conditions, *moving)]
    shapes = []
    for k in range(len(moving)):
        right = [Fraction(int(i == len(conditions) + k)) for i in range(4)]
        v = polynomial(_solved(rows, right))
        shapes.append(Bend(v, _rotation(v, plane)))
    return shapes


def _polynomial(f: Function) -> Piecewise:
    assert isinstance(f, Piecewise)
    return f


def _interior(plane: Plane) -> list[Bend]:
    """The first modes of the beam with ends that do not move."""
    start, end = plane.start or not plane.pinned, plane.end
    if not start and not end:
        waves = [Wave(k) for k in range(1, plane.number + 1)]
        return [Bend(wave, _rotation(wave, plane)) for wave in waves]
    if plane.number == 0:
        return []
    fixed = Plane(plane.length, plane.s, True, start, end, False, 0)
    corrections = dict(zip([xi for xi, on in ((0, start), (1, end)) if on], _boundary(fixed), strict=True))
    candidates: list[Bend] = []
    # With shear the first ones are cubics, of which the corrections leave nothing.
    first = len(corrections) if plane.s else 0
    for degree in range(first, first + plane.number + _MORE):
        v = _times(_legendre(degree), [0, 1, -1])
        for xi, on in ((0, start), (1, end)):
            if on and not plane.s:  # slopes vanish by a factor more
                v = _times(v, [0, 1] if xi == 0 else [1, -1])
        shape = polynomial(v)
        for xi, correction in corrections.items() if plane.s else ():
            slope = _polynomial(_rotation(polynomial(v), plane)).exact(xi)
            shape = shape.plus(_polynomial(correction.v).scaled(-slope))
        candidates.append(Bend(shape, _rotation(shape, plane)))
    K = np.array([[_energy(a, b, plane) for b in candidates] for a in candidates])
    M = np.array([[integral_of_product(a.v, b.v) for b in candidates] for a in candidates])
    shapes = []
    for column in _lowest(K, M, plane.number):
        v_total: Piecewise | None = None
        for coefficient, candidate in zip(column, candidates, strict=True):
            term = _polynomial(candidate.v).scaled(Fraction(coefficient))
            v_total = term if v_total is None else v_total.plus(term)
        assert v_total is not None
        shapes.append(Bend(v_total, _rotation(v_total, plane)))
    return shapes


def _times(a: Sequence[Fraction | int], b: Sequence[Fraction | int]) -> list[Fraction]:
    result = [Fraction(0)] * (len(a) + len(b) - 1)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            result[i + j] += Fraction(x) * Fraction(y)
    return result


def _legendre(n: int) -> list[Fraction]:
    """Coefficients of Legendre's polynomial P_n(2 xi - 1)."""
    return [Fraction((-1) ** (n + k) * math.comb(n, k) * math.comb(n + k, k)) for k in range(n + 1)]


def _energy(a: Bend, b: Bend, plane: Plane) -> float:
    """Twice the strain energy of two shapes, over E I."""
    L = plane.length
    total = integral_of_product(a.psi.derivative(), b.psi.derivative()) / L
    if plane.s:
        shears = [
            _polynomial(f.v).derivative().scaled(1.0 / L).plus(_polynomial(f.psi).scaled(-1)) for f in (a, b)
        ]
        total += integral_of_product(shears[0], shears[1]) * L / plane.s
    return total


def _lowest(K: np.ndarray, M: np.ndarray, number: int) -> list[list[float]]:
    """The eigenvectors of the lowest values of K c = w^2 M c, of size 1/sqrt 2 in M as sines, rounded."""
    scale = 1.0 / np.sqrt(np.diag(M))
    factor = np.linalg.cholesky(M * np.outer(scale, scale))
    half = np.linalg.solve(factor, K * np.outer(scale, scale))
    values, vectors = np.linalg.eigh(np.linalg.solve(factor, half.T))
    columns = np.linalg.solve(factor.T, vectors[:, np.argsort(values)[:number]]) * scale[:, None]
    result = []
    for column in columns.T:
        size = float(np.max(np.abs(column)))
        turned = column if column[int(np.argmax(np.abs(column) > 1e-3 * size))] > 0.0 else -column
        result.append(
            [float(f"{entry / size:.{_DIGITS}f}") * float(f"{size:.6g}") / math.sqrt(2.0) for entry in turned]
        )
    return result
