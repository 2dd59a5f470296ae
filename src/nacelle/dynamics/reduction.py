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
from decimal import Decimal, localcontext

import numpy as np

from nacelle.program.precise import arithmetic
from nacelle.spatial.scalar import Array

# A column whose part across those kept before is smaller than this part of it depends on them.
DEPENDENT = 1e-8
# A column that need not be kept is, where it is this independent.
_OPTIONAL = 1e-2
# Of columns of a group that are as independent but for this part, the first is taken.
_AS_GOOD = 1e-3
# Refinement in many digits: steps, and what may be left of a column.
_STEPS = 3
_LEFT = Decimal("1e-13")


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
    def ascending(self) -> Reduction:
        """The same with the columns in the order of their places."""
        order = np.argsort(self.kept)
        return replace(self, kept=tuple(self.kept[k] for k in order), K=self.K[order])


def reduction(W: Array, order: Sequence[Sequence[int]], *, optional: Collection[int] = ()) -> Reduction:
    """Find independent columns of W (rows, columns).

    Args:
        W: (rows, columns), columns without effect exactly zero.
        order: of preference: groups of columns, of which the most independent one is taken first.
        optional: columns that may be left out: no other column is lost without them.
    """
    size = np.linalg.norm(W, axis=0)
    scaled = W / np.where(size > 0.0, size, 1.0)
    # Lengths and angles of the columns are all that counts: of many rows as many as columns remain.
    if W.shape[0] > W.shape[1]:
        scaled = np.asarray(np.linalg.qr(scaled, mode="r"))
    kept, least, most = _taken(
        scaled, [[k for k in group if size[k] > 0.0] for group in order], set(optional)
    )
    if not kept:
        return Reduction((), np.zeros((0, W.shape[1])), least, most)
    A = scaled[:, kept]
    K = np.linalg.lstsq(A, scaled, rcond=None)[0]
    K = K + np.linalg.lstsq(A, scaled - A @ K, rcond=None)[0]
    K = np.where(np.abs(K) <= DEPENDENT, 0.0, K) * size / size[kept][:, None]
    K[:, kept] = np.eye(len(kept))
    return Reduction(tuple(kept), K, least, most)


def _taken(W: Array, order: Sequence[Sequence[int]], optional: set[int]) -> tuple[list[int], float, float]:
    """Columns of unit length that are independent; their smallest part, and the largest of the others."""
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
    return kept, least, most


def precise_factors(found: Reduction, columns: Sequence[Sequence[Decimal]]) -> list[dict[int, Decimal]]:
    """For every column the factors of the kept ones that give it, {place among the kept: factor}.

    The factors of `found` that are not zero are solved for again, with residuals in many digits,

        k <- k + B^+ (w - B k)             B the kept columns that take part, B^+ in double,

    so that they do not have the rounding of the columns. Where these few do not give a column, all do.

    Args:
        found: the reduction in double.
        columns: the columns over sample states, each (rows,), in many digits.
    """
    doubles = np.array([[float(value) for value in column] for column in columns])
    inverses: dict[tuple[int, ...], Array] = {}

    def solved(k: int, places: tuple[int, ...]) -> tuple[dict[int, Decimal], bool]:
        if places not in inverses:
            B = doubles[[found.kept[place] for place in places]].T
            size = np.linalg.norm(B, axis=0)
            inverses[places] = np.linalg.pinv(B / size) / size[:, None]
        factors = [Decimal(float(found.K[place, k])) for place in places]
        largest = max(map(abs, columns[k]))
        scale = Decimal(0)
        for _ in range(_STEPS):
            left = list(columns[k])
            for factor, place in zip(factors, places, strict=True):
                left = [a - factor * b for a, b in zip(left, columns[found.kept[place]], strict=True)]
            scale = max(map(abs, left))
            if not scale:
                break
            step = inverses[places] @ np.array([float(value / scale) for value in left])
            factors = [f + Decimal(float(part)) * scale for f, part in zip(factors, step, strict=True)]
        return dict(zip(places, factors, strict=True)), scale <= _LEFT * largest

    listed = []
    with localcontext(arithmetic()):
        for k in range(len(columns)):
            if k in found.kept:
                listed.append({found.kept.index(k): Decimal(1)})
                continue
            acting = tuple(np.flatnonzero(found.K[:, k]).tolist())
            factors, closed = solved(k, acting) if acting else ({}, True)
            listed.append(factors if closed else solved(k, tuple(range(len(found.kept))))[0])
    return listed
