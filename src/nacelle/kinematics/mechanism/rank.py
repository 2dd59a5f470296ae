"""Ranks, null spaces and ranges of scaled matrices of floats, by their singular values.

    A = W S V^T,      S = diag(s_1 >= s_2 >= ...),      rank A = number of s_k > 1e-8 s_1

A (m, n) with rows and columns over their units, so that all entries are pure numbers of order one. The
columns of V beyond the rank are an orthonormal basis of the null space, A x = 0: motions that no closure
prevents. The columns of W up to the rank are one of the range, all values A x. Loops are closed to 1e-15, so
true zeros come out below 1e-13.
"""

from __future__ import annotations

import numpy as np

from nacelle.spatial.scalar import Array

# Singular values below this part of the largest count as zero: closures hold to 1e-15, so true zeros
# come out below 1e-13, and a generic pose keeps the others well above.
RANK_TOLERANCE = 1e-8
# Scaled matrices have entries of order one; a matrix below this is nothing but rounding.
_UNIT = 1e-3


def null_space(matrix: Array, rounding: float = 0.0) -> Array:
    """Orthonormal basis (n, n - rank) of the null space of a scaled matrix (m, n), as columns.

    Entries of it up to `rounding` are zero.
    """
    if matrix.shape[0] == 0 or matrix.shape[1] == 0:
        return np.eye(matrix.shape[1])
    _, s, Vt = np.linalg.svd(matrix)
    rank = int(np.sum(s > RANK_TOLERANCE * max(float(s[0]), _UNIT)))
    return np.where(np.abs(Vt[rank:].T) > rounding, Vt[rank:].T, 0.0)


def rank_of(matrix: Array) -> int:
    """Rank of a matrix (rows, columns) without units: columns less the dimension of its null space."""
    return int(matrix.shape[1] - null_space(matrix).shape[1])


def range_of(matrix: Array) -> Array:
    """Orthonormal basis (m, rank) of the range of a matrix (m, n), as columns."""
    if matrix.shape[1] == 0:
        return np.zeros((matrix.shape[0], 0))
    U, s, _ = np.linalg.svd(matrix, full_matrices=False)
    return np.asarray(U[:, s > RANK_TOLERANCE * max(float(s[0]), _UNIT)])


def unit_rows(matrix: Array) -> Array:
    """The rows of a matrix (m, n) over their lengths; those of zeros as they are."""
    norms = np.linalg.norm(matrix, axis=1, keepdims=True)
    return np.asarray(matrix / np.where(norms > 0.0, norms, 1.0))
