"""Solving small linear systems over any scalar.

For traced symbols a solve is one node of the graph, lowered late; for floats and batches LAPACK does it, for
other numbers elimination with pivoting.
"""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np

from nacelle.spatial.scalar import Array, Scalar, divide, minimum

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


def spd_figure(A: Array) -> Scalar:
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
        for place in np.ndindex(batch):
            with contextlib.suppress(np.linalg.LinAlgError):
                result[place] = np.linalg.solve(A_all[place], b_all[place])
        return result


def _solve_objects(A: Array, b: Array, kind: str) -> Array:
    """Hand a solve to the class of the scalars, or eliminate with pivoting."""
    owner = next((x for x in (*np.ravel(A), *np.ravel(b)) if hasattr(type(x), "solve")), None)
    if owner is not None:
        solved: Array = type(owner).solve(A, b, kind)
        return solved
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
