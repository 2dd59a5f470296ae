"""Reduction: which columns of a linear form are independent, and how the others follow from them.

Columns are taken in a given order as long as they are independent of those taken before; with W the form over
sample states, B the columns that are kept and D the others,

    W_D = W_B A,      so that      W p = W_B (p_B + A p_D):

p_D may be set to zero if p_B becomes p_B + A p_D ([AGH2005] (22), (23)). Base parameters are what is left
(`base_parameters`), and so are the inertial numbers of the smallest form (`general.basis`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np

from nacelle.spatial.scalar import Array

# A column whose part across those kept before is smaller than this part of it depends on them.
DEPENDENT = 1e-8
# A column that need not be kept is, where it is this independent.
_OPTIONAL = 1e-2
# Of columns of a group that are as independent but for this part, the first is taken.
_AS_GOOD = 1e-3


@dataclass(frozen=True, eq=False)
class Reduction:
    """Independent columns.

    Attributes:
        kept: places of the independent columns, in the order in which they were taken.
        K: (kept, columns) with W = W_kept K.
        least: the smallest part of a kept column across those before.
        most: the largest part of one that depends on them.
    """

    kept: tuple[int, ...]
    K: Array
    least: float
    most: float

    @property
    def gap(self) -> float:
        """How sharply the rank is determined: the smallest part accepted over the largest one rejected."""
        return self.least / max(self.most, float(np.finfo(float).eps))

    @property
    def factors(self) -> list[dict[int, Decimal]]:
        """For every column the factors of the kept ones that are not zero, {place among the kept: factor}."""
        return [
            {place: Decimal(float(column[place])) for place in np.flatnonzero(column).tolist()}
            for column in self.K.T
        ]

    @property
    def ascending(self) -> Reduction:
        """The same with the columns in the order of their places."""
        order = np.argsort(self.kept)
        return replace(self, kept=tuple(self.kept[k] for k in order), K=self.K[order])


def compressed(W: Array) -> Array:
    """As many rows as columns of W (rows, columns), if it has more, with the same lengths and angles."""
    if W.shape[0] <= W.shape[1]:
        return W
    # What is exactly zero stays so, whatever the library makes of it.
    return np.where(np.any(W, axis=0), np.linalg.qr(W, mode="r"), 0.0)


def reduction(
    W: Array,
    order: Sequence[Sequence[int]],
    *,
    optional: Collection[int] = (),
    nothing: float = DEPENDENT,
) -> Reduction:
    """Find independent columns of W (rows, columns).

    Args:
        W: (rows, columns), columns without effect exactly zero.
        order: of preference: groups of columns, of which the most independent one is taken first.
        optional: columns that may be left out: no other column is lost without them.
        nothing: factors of columns of unit length that are smaller than this are zero.
    """
    size = np.linalg.norm(W, axis=0)
    scaled = compressed(W / np.where(size > 0.0, size, 1.0))
    kept, Q, least, most = _taken(
        scaled, [[k for k in group if size[k] > 0.0] for group in order], set(optional)
    )
    # The kept columns are Q^T R with R upper triangular; once more for what rounding has left.
    A = scaled[:, kept]
    R = np.triu(Q @ A)
    K = np.linalg.solve(R, Q @ scaled)
    K = K + np.linalg.solve(R, Q @ (scaled - A @ K))
    K = np.where(np.abs(K) <= nothing, 0.0, K) * size / size[kept][:, None]
    K[:, kept] = np.eye(len(kept))
    return Reduction(tuple(kept), K, least, most)


def _taken(
    W: Array, order: Sequence[Sequence[int]], optional: set[int]
) -> tuple[list[int], Array, float, float]:
    """Columns of unit length that are independent; these made orthonormal, as rows Q (kept, rows).

    Then come the smallest part of such a column across those before, and the largest of the others.
    """
    Q = np.zeros((0, len(W)))
    kept: list[int] = []
    least, most = 1.0, 0.0
    for group in order:
        places = list(group)
        left = W[:, places]
        for _ in range(2):
            left = left - Q.T @ (Q @ left)
        while places:
            parts = np.linalg.norm(left, axis=0)
            chosen = int(np.flatnonzero(parts >= np.max(parts) * (1.0 - _AS_GOOD))[0])
            part, column, k = float(parts[chosen]), left[:, chosen], places.pop(chosen)
            left = np.delete(left, chosen, axis=1)
            if part < DEPENDENT:
                most = max(most, part)
            elif k not in optional or part >= _OPTIONAL:
                least = min(least, part)
                kept.append(k)
                column = column / part
                column = column - Q.T @ (Q @ column)
                column = column / np.linalg.norm(column)
                Q = np.vstack([Q, column])
                left = left - np.outer(column, column @ left)
    return kept, Q, least, most
