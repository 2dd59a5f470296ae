"""The only solve of the smallest form: the platform's equilibrium, for the force densities.

    sum over legs of f_j [r_j; arm_j x r_j] = wrench

about a pole, arm_j from it to any point of the leg's line; at the end of a leg as pole this leg has no
moments. Where all legs stand on the base in a plane, three of six rows are constants times the component of
r_j across the plane: they are eliminated beforehand, and a 3 x 3 solve remains.
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np

from nacelle.dynamics.compact.demand import is_zero
from nacelle.spatial.rounding import first_largest
from nacelle.spatial.scalar import (
    Array,
    Scalar,
    absolute,
    at_sample,
    cross,
    divide,
    dot,
    minimum,
    pack,
    product,
)
from nacelle.spatial.solve import solve

# Entries of scaled sample matrices below this are zero: their loops are closed to 1e-15.
_FILLED = 1e-11
# Scores that differ by less are equal; sizes of pivots weigh a thousandth.
_NEAR = 1e-9


class Solved(NamedTuple):
    """Force densities (legs,), and the smallest pivot over the largest entry of its row as it was."""

    f: Array
    pivot: Scalar


def rows(force: Array, moment: Array, axes: tuple[int, ...]) -> Array:
    """The rows of a wrench [force; moment] that a motion with these twist axes feels."""
    return pack([force[k] if k < 3 else moment[k - 3] for k in axes])


def eliminate(
    A: list[list[Scalar]],
    b: list[Scalar],
    order: tuple[tuple[int, int], ...],
    units: tuple[Array, Array],
) -> Solved:
    """Gauss with pivots (row, column) in a given order.

    Args:
        A: rows of the matrix.
        b: right-hand side.
        order: pivots, one a row and one a column.
        units: of rows and of columns.
    """
    M = [[*row, right] for row, right in zip(A, b, strict=True)]
    n = len(M)
    left_rows = [row for row, _ in order]
    pivots: list[Scalar] = []
    shares: dict[int, Scalar] = {}
    for step, (row, column) in enumerate(order):
        pivots.append(M[row][column] * float(1.0 / (units[0][row] * units[1][column])))
        share = divide(1.0, M[row][column])
        shares[row] = share
        later = [c for _, c in order[step + 1 :]]
        for other in left_rows[step + 1 :]:
            if is_zero(M[other][column]):
                continue
            factor = M[other][column] * share
            for c in (*later, n):
                M[other][c] = M[other][c] - factor * M[row][c]
    f: dict[int, Scalar] = {}
    for step in reversed(range(n)):
        row, column = order[step]
        value = M[row][n]
        for _, c in order[step + 1 :]:
            value = value - M[row][c] * f[c]
        f[column] = value * shares[row]
    return Solved(pack([f[k] for k in range(n)]), _smallest(pivots))


def _smallest(values: list[Scalar]) -> Scalar:
    found = absolute(values[0])
    for value in values[1:]:
        found = minimum(found, absolute(value))
    return found


def pivot_order(samples: Array) -> tuple[tuple[int, int], ...]:
    """An order of pivots (row, column) that is good for all sample matrices (N, n, n) of floats.

    At each step the entry whose smallest size over the samples, against the largest entry of what is left,
    is best; entries that are zero in all samples make columns cheap and are preferred among near equals.
    """
    M = samples / np.max(np.abs(samples), axis=2, keepdims=True)
    n = M.shape[1]
    rows_left, columns_left = list(range(n)), list(range(n))
    order = []
    for _ in range(n):
        part = np.abs(M[:, rows_left][:, :, columns_left])
        largest = np.max(part, axis=(1, 2), keepdims=True)
        good = np.min(part / largest, axis=0)
        filled = np.sum(np.max(part, axis=0) > _FILLED, axis=0)
        score = np.where(good > 0.1 * np.max(good), -filled[None, :] + 1e-3 * good, -np.inf)
        i, j = np.unravel_index(_first_best(score), score.shape)
        row, column = rows_left[i], columns_left[j]
        order.append((row, column))
        rows_left.remove(row)
        columns_left.remove(column)
        for other in rows_left:
            factor = M[:, other, column] / M[:, row, column]
            M[:, other] = M[:, other] - factor[:, None] * M[:, row]
    return tuple(order)


def _first_best(score: Array) -> int:
    """The first entry whose score is the best but for a margin: columns weigh whole numbers."""
    return int(np.flatnonzero(score.ravel() >= np.max(score) - _NEAR)[0])


def balance(
    columns: list[Array],
    wrench: Array,
    order: tuple[tuple[int, int], ...] | None,
    units: tuple[Array, Array],
) -> Solved:
    """Solve with columns of rows already chosen, by elimination in a given order or by Cramer's rule."""
    n = len(columns)
    A = [[columns[j][i] for j in range(n)] for i in range(n)]
    if order is None:
        return Solved(solve(pack(A), wrench), _determinant(A, units))
    return eliminate(A, list(wrench), order, units)


def _determinant(A: list[list[Scalar]], units: tuple[Array, Array]) -> Scalar:
    """Size of the determinant without units, for up to three unknowns."""
    n = len(A)
    if n == 1:
        found = A[0][0]
    elif n == 2:
        found = A[0][0] * A[1][1] - A[0][1] * A[1][0]
    else:
        rows_ = [pack(row) for row in A]
        found = dot(rows_[0], cross(rows_[1], rows_[2]))
    return absolute(found * float(1.0 / (np.prod(units[0]) * np.prod(units[1]))))


def flat_anchors(anchors: Array) -> Array | None:
    """Normal of the plane of anchors (N, 3), floats, along an axis of the base; None if there is none."""
    spread = np.ptp(anchors, axis=0)
    flat = [k for k in range(3) if spread[k] <= 1e-13 * max(float(np.max(np.abs(anchors))), 1e-300)]
    return np.eye(3)[flat[0]] if flat and len(anchors) == 6 else None


def balance_flat(anchors: Array, columns: list[Array], force: Array, moment: Array, normal: int) -> Solved:
    """Solve for six legs whose anchors (6, 3), floats, lie in a plane square to an axis of the base.

    Columns are r_j / (n . r_j). With g_j = f_j (n . r_j) the rows of the force along n and of the moments
    across it are constant:
    sum g_j = F_n, sum g_j A_j = n x M. Three of the g_j follow from the others, and the rest of the rows
    make a 3 x 3 solve. Moments are about a point of the plane.
    """
    i, j, k = (normal + 1) % 3, (normal + 2) % 3, normal
    C = np.stack([np.ones(6), anchors[:, i], anchors[:, j]])
    numbers = at_sample(anchors)
    three, others = _split(at_sample(C))
    symbols = anchors.dtype == object
    inverse = solve(C[:, three], np.eye(3)) if symbols else np.linalg.inv(C[:, three])
    K = product(-inverse, C[:, others])
    # A_i g -> -M_j, A_j g -> M_i for arms in the plane: (A x n g) has components A_j g, -A_i g.
    right = pack([force[k], -moment[j], moment[i]])
    g0 = inverse @ right
    xi, eta = [column[i] for column in columns], [column[j] for column in columns]
    turn = [anchors[m, i] * eta[m] - anchors[m, j] * xi[m] for m in range(6)]
    table = [xi, eta, turn]
    A = pack(
        [[row[others[c]] + dot(pack([row[m] for m in three]), K[:, c]) for c in range(3)] for row in table]
    )
    b = pack(
        [
            value - dot(pack([row[m] for m in three]), g0)
            for value, row in zip((force[i], force[j], moment[k]), table, strict=True)
        ]
    )
    g_rest = solve(A, b)
    size = float(np.max(np.ptp(numbers, axis=0)))
    pivot = _determinant([list(row) for row in A], (np.array([1.0, 1.0, size]), np.ones(3)))
    g_three = g0 + K @ g_rest
    g: list[Scalar] = [0.0] * 6
    for c, m in enumerate(others):
        g[m] = g_rest[c]
    for c, m in enumerate(three):
        g[m] = g_three[c]
    return Solved(pack(g), pivot)


def _split(C: Array) -> tuple[list[int], list[int]]:
    """Three legs whose constant columns stand well apart, and the other three."""
    triples = list(combinations(range(6), 3))
    best = triples[first_largest([abs(_det(C[:, three])) for three in triples])]
    return list(best), [m for m in range(6) if m not in best]


def _det(A: Array) -> float:
    return float(np.linalg.det(A))
