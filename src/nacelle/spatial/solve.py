"""Solving small linear systems over any scalar: square ones, and those with more rows than unknowns.

For traced symbols a solve is one node of the graph, lowered late; for floats and batches LAPACK does it, for
other numbers elimination with pivoting. Systems M X = B with more rows than unknowns are solved by modified
Gram-Schmidt without roots: M = Q R, Q^T Q = D diagonal, R unit upper triangular, so that R X = D^-1 Q^T B,
and B - M X is what of B is perpendicular to all columns of Q.
"""

from __future__ import annotations

import contextlib
import itertools
from typing import Any, NamedTuple

import numpy as np

from nacelle.spatial.scalar import (
    Array,
    Scalar,
    divide,
    dot,
    is_zero,
    maximum,
    minimum,
    nonzero,
    product,
    sum_of_products,
)


class LeastSquares(NamedTuple):
    """The least-squares solution of M X = B, and what of B is left.

    Attributes:
        X: (unknowns, columns).
        left: (rows, columns): the part of B across the range of M; zero where M X = B can be met.
    """

    X: Array
    left: Array


def least_squares(M: Array, B: Array) -> LeastSquares:
    """Solve M X = B by modified Gram-Schmidt without roots; M has full column rank.

    Column by column of M = Q R, Q's columns perpendicular to each other, not of unit length. For equations
    that can be met the error grows with the condition of M, not with its square.

    Args:
        M: matrix (rows, unknowns), rows >= unknowns.
        B: right-hand sides (rows, columns).
    """
    unknowns = M.shape[1]
    columns = _Columns(np.concatenate([M, B], axis=1))
    factors: list[list[Scalar]] = []
    for k in range(unknowns):
        row = columns.clear(k, divide(1.0, columns.square(k)))
        factors.append([0.0] * (k + 1) + row)
    X: list[list[Scalar]] = [[0.0] * B.shape[1] for _ in range(unknowns)]
    for k in reversed(range(unknowns)):
        for c in range(B.shape[1]):
            value = factors[k][unknowns + c]
            for j in range(k + 1, unknowns):
                if not is_zero(factors[k][j]):
                    value = value - factors[k][j] * X[j][c]
            X[k][c] = value
    left = [columns[unknowns + c] for c in range(B.shape[1])]
    return LeastSquares(_pack_rows(X, B.shape[1]), np.stack(left, axis=1) if left else np.zeros((len(M), 0)))


def column_independence(M: Array, scale: Array) -> Scalar:
    """How independent the columns of M are: min_k |q_k|^2 / max_k |m_k|^2, M = Q R as in `least_squares`.

    Args:
        M: matrix (rows, unknowns), rows >= unknowns > 0.
        scale: a positive factor (unknowns,) for each column, so that they are of one unit.
    """
    columns = _Columns(M)
    squares = scale * scale
    largest: Scalar = columns.square(0) * squares[0]
    smallest = largest
    for k in range(1, M.shape[1]):
        largest = maximum(largest, columns.square(k) * squares[k])
    for k in range(M.shape[1]):
        length = columns.square(k)
        smallest = minimum(smallest, length * squares[k])
        columns.clear(k, divide(1.0, length))
    return divide(smallest, largest)


def determinant_of_minors(M: Array) -> Scalar:
    """Det M (n, n) by minors of its last rows: without divisions, so no pivot has to be other than zero."""
    n = len(M)
    minors: dict[tuple[int, ...], Scalar] = {(): 1.0}
    for row in reversed(range(n)):
        larger: dict[tuple[int, ...], Scalar] = {}
        for columns in itertools.combinations(range(n), n - row):
            signs = [M[row, column] if k % 2 == 0 else -M[row, column] for k, column in enumerate(columns)]
            parts = [minors[columns[:k] + columns[k + 1 :]] for k in range(len(columns))]
            larger[columns] = sum_of_products(signs, parts)
        minors = larger
    return minors[tuple(range(n))]


class _Columns:
    """Columns of a matrix, of which one after the other is taken out of those behind it.

    Of traced ones only the entries are kept that are not the number 0, by row: loops of a large mechanism
    share few unknowns.
    """

    def __init__(self, M: Array) -> None:
        self.rows = len(M)
        self.plain = np.array(M) if M.dtype != object else None
        self.traced = [] if self.plain is not None else [nonzero(M[:, k]) for k in range(M.shape[1])]

    def __getitem__(self, k: int) -> Array:
        if self.plain is not None:
            return np.asarray(self.plain[:, k])
        column = np.full(self.rows, 0.0, dtype=object)
        for row, entry in self.traced[k].items():
            column[row] = entry
        return column

    def square(self, k: int) -> Scalar:
        """The square of the length of a column."""
        if self.plain is not None:
            return dot(self.plain[:, k], self.plain[:, k])
        entries = [self.traced[k][row] for row in sorted(self.traced[k])]
        return sum_of_products(entries, entries)

    def clear(self, k: int, reciprocal: Scalar) -> list[Scalar]:
        """Take q, the column k, out of those behind it, by factors (q . column) / (q . q), which it gives."""
        if self.plain is not None:
            # All columns at once, each sum in its order: the same bits as one by one.
            q, behind = self.plain[:, k], self.plain[:, k + 1 :]
            factors = product(q, behind) * reciprocal
            behind -= np.multiply.outer(q, factors)
            return list(factors.tolist())
        return [self._eliminate_traced(column, self.traced[k], reciprocal) for column in self.traced[k + 1 :]]

    @staticmethod
    def _eliminate_traced(column: dict[int, Scalar], q: dict[int, Scalar], reciprocal: Scalar) -> Scalar:
        common = sorted(q.keys() & column.keys())
        if not common:
            return 0.0
        factor = sum_of_products([q[row] for row in common], [column[row] for row in common]) * reciprocal
        for row in sorted(q):
            column[row] = column.get(row, 0.0) - factor * q[row]
        return factor


def _pack_rows(rows: list[list[Scalar]], columns: int) -> Array:
    flat = [entry for row in rows for entry in row]
    plain = all(isinstance(entry, float | int) for entry in flat)
    result = np.empty(len(flat), dtype=float if plain else object)
    for k, entry in enumerate(flat):
        result[k] = entry
    return result.reshape(len(rows), columns)


KINDS = ("general", "spd", "fixed")


def solve(A: Array, b: Array, kind: str = "general") -> Array:
    """Solve A x = b.

    Args:
        A: matrix (n, n) of scalars.
        b: right-hand side (n,), or (n, k) for k of them.
        kind: "general" (pivoted), "spd" (A symmetric positive definite: only its lower triangle is
            read), or "fixed" (pivots in the given order, for matrices known to allow it).

    Returns:
        x, of the shape of b.
    """
    if kind not in KINDS:
        raise ValueError(f"unknown kind of solve {kind!r}; known: {', '.join(KINDS)}")
    if not b.size:
        # No unknowns: a leg whose joints are all fixed, a robot without passive ones.
        return b.copy()
    if A.dtype == object or b.dtype == object:
        return _solve_objects(A, b, kind)
    if kind == "spd":
        A = np.tril(A) + np.tril(A, -1).T
    if b.ndim > 1:
        return solve_batch(A, b)
    return solve_batch(A, b[:, None])[:, 0]


def spd_pivot_ratio(A: Array) -> Scalar:
    """How far a symmetric matrix (n, n) is from a singular one, 0 to 1, whatever the units of its rows.

    The smallest D_j / A_jj of A = L D L^T, the lower triangle is read; NaN where an entry A_jj is zero.
    Written as solves of the kind "spd" are (`nacelle.program.solve`), so that programs share the operations.
    """
    n = len(A)
    L: list[list[Scalar]] = [[] for _ in range(n)]
    W: list[list[Scalar]] = [[] for _ in range(n)]
    figure: Scalar = 1.0
    for j in range(n):
        for i in range(j, n):
            entry = A[i, j]
            for k in range(j):
                entry = entry - L[i][k] * W[j][k]
            W[i].append(entry)
        inverse = divide(1.0, W[j][j])
        for i in range(j + 1, n):
            L[i].append(W[i][j] * inverse)
        figure = minimum(figure, divide(W[j][j], A[j, j]))
    return figure


def solve_batch(A: Array, b: Array) -> Array:
    """Solve a batch (..., n, n), (..., n, k) of floats; singular samples give NaN."""
    try:
        return np.linalg.solve(A, b)
    except np.linalg.LinAlgError:
        batch = np.broadcast_shapes(A.shape[:-2], b.shape[:-2])
        result = np.full(batch + b.shape[-2:], np.nan)
        A_all, b_all = np.broadcast_to(A, batch + A.shape[-2:]), np.broadcast_to(b, result.shape)
        for index in np.ndindex(batch):
            with contextlib.suppress(np.linalg.LinAlgError):
                result[index] = np.linalg.solve(A_all[index], b_all[index])
        return result


def _solve_objects(A: Array, b: Array, kind: str) -> Array:
    """Hand a solve to the class of the scalars, or eliminate with pivoting."""
    owner = next((x for x in (*np.ravel(A), *np.ravel(b)) if hasattr(type(x), "solve")), None)
    if owner is not None:
        solution: Array = type(owner).solve(A, b, kind)
        return solution
    columns = b.reshape(len(A), -1)
    M: list[list[Any]] = [[*A[i], *columns[i]] for i in range(len(A))]
    n = len(M)
    for k in range(n):
        pivot = max(range(k, n), key=lambda i: abs(M[i][k]))
        M[k], M[pivot] = M[pivot], M[k]
        for i in range(k + 1, n):
            factor = M[i][k] / M[k][k]
            M[i] = [x - factor * y for x, y in zip(M[i], M[k], strict=True)]
    for k in reversed(range(n)):
        M[k] = [x / M[k][k] for x in M[k]]
        for i in range(k):
            factor = M[i][k]
            M[i] = [x - factor * y for x, y in zip(M[i], M[k], strict=True)]
    result = np.empty(columns.shape, dtype=object)
    for i in range(n):
        result[i] = M[i][n:]
    return result.reshape(b.shape)
