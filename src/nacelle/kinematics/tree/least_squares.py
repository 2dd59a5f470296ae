"""Small linear systems M X = B that have more rows than unknowns, over any scalar.

Modified Gram-Schmidt without roots: M = Q R, Q^T Q = D diagonal, R unit upper triangular, so that
R X = D^-1 Q^T B, and B - M X is what of B is perpendicular to all columns of Q.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nacelle.spatial.scalar import Array, Scalar, divide, dot, maximum, minimum


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
    columns = [M[:, k] for k in range(unknowns)] + [B[:, k] for k in range(B.shape[1])]
    factors: list[list[Scalar]] = []
    for k in range(unknowns):
        q = columns[k]
        reciprocal = divide(1.0, dot(q, q))
        row: list[Scalar] = [0.0] * len(columns)
        for j in range(k + 1, len(columns)):
            row[j] = dot(q, columns[j]) * reciprocal
            columns[j] = columns[j] - row[j] * q
        factors.append(row)
    X: list[list[Scalar]] = [[0.0] * B.shape[1] for _ in range(unknowns)]
    for k in reversed(range(unknowns)):
        for c in range(B.shape[1]):
            value = factors[k][unknowns + c]
            for j in range(k + 1, unknowns):
                value = value - factors[k][j] * X[j][c]
            X[k][c] = value
    shape = (unknowns, B.shape[1])
    left = np.stack(columns[unknowns:], axis=1) if B.shape[1] else np.zeros((len(M), 0))
    return LeastSquares(_array(X, shape), left)


def independence(M: Array, scale: Array) -> Scalar:
    """How independent the columns of M are: min_k |q_k|^2 / max_k |m_k|^2, M = Q R as in `least_squares`.

    Args:
        M: matrix (rows, unknowns), rows >= unknowns > 0.
        scale: a positive factor (unknowns,) for each column, so that they are of one unit.
    """
    columns = [M[:, k] for k in range(M.shape[1])]
    squares = scale * scale
    largest: Scalar = dot(columns[0], columns[0]) * squares[0]
    smallest = largest
    for k in range(1, len(columns)):
        largest = maximum(largest, dot(columns[k], columns[k]) * squares[k])
    for k, q in enumerate(columns):
        length = dot(q, q)
        smallest = minimum(smallest, length * squares[k])
        reciprocal = divide(1.0, length)
        for j in range(k + 1, len(columns)):
            columns[j] = columns[j] - (dot(q, columns[j]) * reciprocal) * q
    return divide(smallest, largest)


def _array(rows: list[list[Scalar]], shape: tuple[int, int]) -> Array:
    flat = [entry for row in rows for entry in row]
    plain = all(isinstance(entry, float | int) for entry in flat)
    result = np.empty(len(flat), dtype=float if plain else object)
    for k, entry in enumerate(flat):
        result[k] = entry
    return result.reshape(shape)
