"""Factors of dependent columns, rounded once.

In double the factors A of W_D = W_B A have the rounding of the columns, enlarged by the condition of W_B: it
would reach every constant that is made with them. A column depends on few of those that were kept, though,
and which ones is certain: with these alone, and columns in many digits, the factors are exact but for what
rounding of the robot's own numbers makes of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal, localcontext

import numpy as np

from nacelle.dynamics.reduction.reduction import Reduction
from nacelle.program.precise import arithmetic
from nacelle.spatial.scalar import Array

# Refinement in many digits: steps, and what may be left of a column.
_STEPS = 3
_LEFT = Decimal("1e-13")


def precise_factors(found: Reduction, columns: Sequence[Sequence[Decimal]]) -> list[dict[int, Decimal]]:
    """The `factors` of a reduction, not more than rounding off.

    Those of `found` that are not zero are solved for again, with residuals in many digits,

        k <- k + B^+ (w - B k)             B the kept columns that take part, B^+ in double,

    so that they do not have the rounding of the columns in double. Where that does not give a column its
    factors are left as they are.

    Args:
        found: the reduction in double.
        columns: the columns over sample states, each (rows,), in many digits; more rows than factors of any
            column.
    """
    refine = _Refinement(found, columns)
    factors = []
    with localcontext(arithmetic()):
        for k, plain in enumerate(found.factors):
            exact = k in found.kept or not plain
            factors.append(plain if exact else refine.solved(k, plain) or plain)
    return factors


class _Refinement:
    """Factors of columns in many digits."""

    def __init__(self, found: Reduction, columns: Sequence[Sequence[Decimal]]) -> None:
        self._kept, self._columns = [columns[k] for k in found.kept], columns
        self._doubles = np.array([[float(value) for value in column] for column in self._kept])
        self._inverses: dict[tuple[int, ...], Array] = {}

    def _inverse(self, places: tuple[int, ...]) -> Array:
        """B^+ in double."""
        inverse = self._inverses.get(places)
        if inverse is None:
            B = self._doubles[list(places)].T
            size = np.linalg.norm(B, axis=0)
            inverse = self._inverses[places] = np.linalg.pinv(B / size) / size[:, None]
        return inverse

    def solved(self, k: int, factors: dict[int, Decimal]) -> dict[int, Decimal] | None:
        """The factors for one column, from some that are near; None where they do not give it."""
        scale, largest = Decimal(0), max(map(abs, self._columns[k]))
        for _ in range(_STEPS):
            left = list(self._columns[k])
            for place, factor in factors.items():
                left = [a - factor * b for a, b in zip(left, self._kept[place], strict=True)]
            scale = max(map(abs, left))
            if not scale:
                break
            step = self._inverse(tuple(factors)) @ np.array([float(value / scale) for value in left])
            factors = {
                place: factor + Decimal(float(part)) * scale
                for (place, factor), part in zip(factors.items(), step, strict=True)
            }
        if scale > _LEFT * largest:
            return None
        acting = {
            place: factor
            for place, factor in factors.items()
            if abs(factor) * max(map(abs, self._kept[place])) > _LEFT * largest
        }
        return factors if len(acting) == len(factors) else self.solved(k, acting)
