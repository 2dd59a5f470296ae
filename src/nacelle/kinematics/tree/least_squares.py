"""Small linear systems M X = B that have more rows than unknowns, over any scalar.

Modified Gram-Schmidt without roots: M = Q R, Q^T Q = D diagonal, R unit upper triangular, so that
R X = D^-1 Q^T B, and B - M X is what of B is perpendicular to all columns of Q.
"""

from __future__ import annotations

from typing import NamedTuple

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
    shape = (unknowns, B.shape[1])
    left = [columns[unknowns + c] for c in range(B.shape[1])]
    return LeastSquares(_array(X, shape), np.stack(left, axis=1) if left else np.zeros((len(M), 0)))


def independence(M: Array, scale: Array) -> Scalar:
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
        return [self._cleared(column, self.traced[k], reciprocal) for column in self.traced[k + 1 :]]

    @staticmethod
    def _cleared(column: dict[int, Scalar], q: dict[int, Scalar], reciprocal: Scalar) -> Scalar:
        common = sorted(q.keys() & column.keys())
        if not common:
            return 0.0
        factor = sum_of_products([q[row] for row in common], [column[row] for row in common]) * reciprocal
        for row in sorted(q):
            column[row] = column.get(row, 0.0) - factor * q[row]
        return factor


def _array(rows: list[list[Scalar]], shape: tuple[int, int]) -> Array:
    flat = [entry for row in rows for entry in row]
    plain = all(isinstance(entry, float | int) for entry in flat)
    result = np.empty(len(flat), dtype=float if plain else object)
    for k, entry in enumerate(flat):
        result[k] = entry
    return result.reshape(shape)
