"""Bounds of the inverse condition number of matrices over boxes.

With the singular value decomposition J_m = U S V^T of the middle, in doubles, and B = U^T J V for any J of
the box, |B - S| <= D entry by entry. U and V are orthogonal to rounding, which the bounds take into account.
As |A|_2 <= sqrt(|A|_1 |A|_inf),

    s_min(J) >= s_n (1 - |S^-1 D|),    s_max(J) <= s_1 + |D|              for n columns, from the first n rows

and as s_min |w| <= |J w| <= s_max |w| for any vector w, with the last and the first column of V,

    s_min(J) <= |B e_n|,               s_max(J) >= |B e_1|.

Where the last singular value may vanish on the box, B = [B_1, b; c^T, d] without its last row and column
decides: with delta = d - c^T B_1^-1 b, beta = |B_1^-1 b| and gamma = |c^T B_1^-1|,

    min(s_min(B_1), |delta|) / ((1 + beta) (1 + gamma)) <= s_min(J) <= |delta|,      |delta - d| <= gamma |b|,

and d is linear up to the second order: |d| above one number shows that the margin is kept, below another
that it is not. Both signs of d may appear on the box.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nacelle.compile.affine import Forms
from nacelle.spatial.scalar import Array

# Rounding of the bounds themselves, relative, and how far from orthogonal U and V may be.
_ROUNDED = 1e-12


class Conditioning(NamedTuple):
    """What is known of s_min / s_max of matrices over boxes (N,); NaN where nothing is.

    Attributes:
        lower: below it no matrix of the box is; negative if one may be singular.
        upper: above it none is.
        last: a form d (N,) that decides where the box is not decided as a whole; its e is 0.
        kept: where |d| is above this, the margin is kept.
        missed: where |d| is below this, it is not.
    """

    lower: Array
    upper: Array
    last: Forms
    kept: Array
    missed: Array


def bound_conditioning(J: Forms, margin: float) -> Conditioning:
    """Bounds of the inverse condition numbers of matrices (N, m, n), m >= n, and what decides a margin."""
    known = [np.isfinite(values).reshape(len(values), -1).all(axis=1) for values in J]
    finite = np.asarray(known[0] & known[1] & known[2])
    count, sides = len(finite), J.g.shape[-1]
    last = Forms(np.full(count, np.nan), np.full((count, sides), np.nan), np.zeros(count))
    lower, upper, kept_from, missed_to = np.full((4, count), np.nan)
    result = Conditioning(lower, upper, last, kept_from, missed_to)
    if not finite.any():
        return result
    c, g, e = J.c[finite], J.g[finite], J.e[finite]
    m, n = c.shape[-2:]
    U, s, Vt = np.linalg.svd(c)
    left, right = np.swapaxes(U, -1, -2), np.swapaxes(Vt, -1, -2)
    g = np.moveaxis(g, -1, 1)
    # Sums of products of that many terms, and those of the sides, err by less than this in every entry.
    size = np.abs(c) + np.abs(g).sum(axis=1)
    rounding = 4.0 * (m + n + sides + 4) * 2.0**-52 * size.sum(axis=(-1, -2))[:, None, None]
    middle, moves = left @ c @ right, left[:, None] @ g @ right[:, None]
    rest = np.abs(left) @ e @ np.abs(right) + rounding
    S = np.zeros_like(c)
    S[:, np.arange(n), np.arange(n)] = s
    D = np.abs(moves).sum(axis=1) + rest + np.abs(middle - S)
    with np.errstate(all="ignore"):
        smallest = s[:, -1] * (1.0 - _norm(D[:, :n] / s[:, :, None]))
        largest, least_largest = (
            (s[:, 0] + _norm(D)) * (1.0 + _ROUNDED),
            (s[:, 0] - D[:, 0, 0]) * (1.0 - _ROUNDED),
        )
        column = D[:, :, -1].copy()
        column[:, n - 1] += s[:, -1]
        below = smallest / largest - _ROUNDED
        above = (
            np.sqrt((column**2).sum(axis=-1)) / np.where(least_largest > 0.0, least_largest, np.nan)
            + _ROUNDED
        )
        orthogonal = _defect(U) + _defect(right) < 0.1 * _ROUNDED
        if m == n:
            first, D1, b, a = s[:, :-1], D[:, :-1, :-1], D[:, :-1, -1], D[:, -1, :-1]
            by_rows, by_columns = (_norm(D1 / scaled) for scaled in (first[:, :, None], first[:, None, :]))
            regular = (by_rows < 1.0) & (by_columns < 1.0)
            beta = _length(b / first) / (1.0 - by_rows)
            gamma = _length(a / first) / (1.0 - by_columns)
            slant, rest_of_d = (1.0 + beta) * (1.0 + gamma), gamma * _length(b) + rest[:, -1, -1]
            kept = (margin * largest * slant + rest_of_d) * (1.0 + _ROUNDED) + _ROUNDED * largest
            missed = (margin * least_largest - rest_of_d) * (1.0 - _ROUNDED) - _ROUNDED * largest
            good = np.min(first, axis=1, initial=np.inf) * (1.0 - by_rows) > 1.001 * margin * largest * slant
            result.kept[finite] = np.where(regular & good & orthogonal, kept, np.nan)
            result.missed[finite] = np.where(regular & orthogonal, missed, np.nan)
            last.c[finite], last.g[finite] = middle[:, -1, -1], moves[:, :, -1, -1]
    result.lower[finite] = np.where(orthogonal, below, np.nan)
    result.upper[finite] = np.where(orthogonal, above, np.nan)
    return result


def _norm(D: Array) -> Array:
    """An upper bound (N,) of the 2-norms of matrices of at most these sizes (N, m, n)."""
    rows, columns = D.sum(axis=-1).max(axis=-1, initial=0.0), D.sum(axis=-2).max(axis=-1, initial=0.0)
    return np.asarray(np.sqrt(rows * columns))


def _length(v: Array) -> Array:
    return np.asarray(np.sqrt((v**2).sum(axis=-1)))


def _defect(Q: Array) -> Array:
    product = np.swapaxes(Q, -1, -2) @ Q
    return np.asarray(np.abs(product - np.eye(Q.shape[-1])).sum(axis=(-1, -2)))
