"""Reduction: which columns of a linear form are independent, and how the others follow from them.

Columns are taken in a given order as long as they are independent of those taken before; with W the form over
sample states, B the columns that are kept and D the others,

    W_D = W_B A,      so that      W p = W_B (p_B + A p_D):

p_D may be set to zero if p_B becomes p_B + A p_D ([AGH2005] (22), (23)).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nacelle.spatial.scalar import Array

# A column whose part across those kept before is smaller than this part of it depends on them.
DEPENDENT = 1e-8


@dataclass(frozen=True, eq=False)
class Reduction:
    """Independent columns.

    Attributes:
        kept: places of the independent columns, in ascending order.
        K: (kept, columns) with W = W_kept K.
        gap: the smallest part of a kept column across those before, over the largest of one that depends on
            them: how sharply the rank is determined.
    """

    kept: tuple[int, ...]
    K: Array
    gap: float


def reduction(W: Array, order: Sequence[int]) -> Reduction:
    """Find independent columns of W (rows, columns).

    Args:
        W: (rows, columns) without units, columns without effect exactly zero.
        order: of preference.
    """
    size = np.linalg.norm(W, axis=0)
    Q = np.zeros((0, len(W)))
    kept: list[int] = []
    least, most = 1.0, 0.0
    for k in order:
        if size[k] == 0.0:
            continue
        column = W[:, k] / size[k]
        for _ in range(2):
            column = column - (Q @ column) @ Q
        part = float(np.linalg.norm(column))
        if part < DEPENDENT:
            most = max(most, part)
            continue
        least = min(least, part)
        kept.append(k)
        Q = np.vstack([Q, column / part])
    kept.sort()
    scale = size[kept]
    A = W[:, kept] / scale
    K = np.linalg.lstsq(A, W, rcond=None)[0] if kept else np.zeros((0, W.shape[1]))
    if kept:
        K = K + np.linalg.lstsq(A, W - A @ K, rcond=None)[0]
        K = np.where(np.abs(K) <= DEPENDENT * size, 0.0, K) / scale[:, None]
        K[:, kept] = np.eye(len(kept))
    return Reduction(tuple(kept), K, least / max(most, np.finfo(float).eps))
