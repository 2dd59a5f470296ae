"""Solving small linear systems over any scalar.

For traced symbols a solve is one node of the graph, lowered late; for floats and lanes it is done
here by LAPACK, for other numbers by elimination with pivoting.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nacelle.spatial.scalar import Array

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
    rows = np.shape(A)[0]
    # Lanes trail: b is (n, ...) for a vector and (n, k, ...) for several right-hand sides.
    lanes = max(np.ndim(A) - 2, 0)
    if A.dtype == object or b.dtype == object:
        return _solve_objects(A, b, kind)
    many = np.ndim(b) - lanes > 1 if lanes else np.ndim(b) > 1
    A_last = np.moveaxis(np.asarray(A, dtype=float), (0, 1), (-2, -1))
    if kind == "spd":
        lower = np.tril(A_last)
        A_last = lower + np.swapaxes(np.tril(A_last, -1), -1, -2)
    if many:
        x = _guarded(A_last, np.moveaxis(np.asarray(b, dtype=float), (0, 1), (-2, -1)))
        return np.moveaxis(x, (-2, -1), (0, 1))
    b_last = np.moveaxis(np.asarray(b, dtype=float), 0, -1)
    x = _guarded(A_last, b_last[..., None])[..., 0]
    assert x.shape[-1] == rows
    return np.moveaxis(x, -1, 0)


def _guarded(A: Array, b: Array) -> Array:
    """Solve a batch; singular samples give NaN and leave the others alone."""
    A = np.broadcast_to(A, np.broadcast_shapes(A.shape[:-2], b.shape[:-2]) + A.shape[-2:])
    try:
        return np.linalg.solve(A, b)
    except np.linalg.LinAlgError:
        result = np.full(np.broadcast_shapes(A.shape[:-2], b.shape[:-2]) + b.shape[-2:], np.nan)
        for place in np.ndindex(result.shape[:-2]):
            try:
                result[place] = np.linalg.solve(A[place], np.broadcast_to(b, result.shape)[place])
            except np.linalg.LinAlgError:
                continue
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
