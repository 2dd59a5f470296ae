"""Corrections: what a measurement would be if some of its columns were meant otherwise.

With S (N, 2 m) the columns q_1 .. q_m, f_1 .. f_m as they were read, a correction takes

    column k = factor_k S[:, place_k] + offset_k          time = pace * time as read

It is linear, so that it acts on smoothed columns and their derivatives alike: those of order d are divided by
pace^d. Corrections are applied one after the other: `then`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from nacelle.spatial.scalar import Array


@dataclass(frozen=True)
class Correction:
    """How columns are meant.

    Attributes:
        places: for each column the one that holds it (2 m).
        factors: what it is multiplied with (2 m).
        offsets: what is added to it (2 m).
        pace: what time is multiplied with.
        kind: kind of the fault that it corrects, as in `findings`.
        columns: places of the columns that it is about.
        words: what is wrong.
        hint: what would be right.
    """

    places: tuple[int, ...]
    factors: tuple[float, ...]
    offsets: tuple[float, ...]
    pace: float = 1.0
    kind: str = ""
    columns: tuple[int, ...] = ()
    words: str = ""
    hint: str = ""

    @property
    def motion_key(self) -> tuple[object, ...]:
        """What the corrected coordinates depend on."""
        m = len(self.places) // 2
        return self.places[:m], self.factors[:m], self.offsets[:m], self.pace

    def apply(self, columns: Array, order: int = 0) -> Array:
        """The corrected columns (N, 2 m), or derivatives of them of an order."""
        corrected = columns[:, self.places] * np.array(self.factors)
        return np.asarray(corrected + np.array(self.offsets) if order == 0 else corrected / self.pace**order)

    def then(self, other: Correction) -> Correction:
        """This correction, then another one; kind, columns and words are the other's."""
        places = tuple(self.places[p] for p in other.places)
        factors = tuple(f * self.factors[p] for f, p in zip(other.factors, other.places, strict=True))
        offsets = tuple(
            f * self.offsets[p] + o
            for f, p, o in zip(other.factors, other.places, other.offsets, strict=True)
        )
        pace = self.pace * other.pace
        return replace(other, places=places, factors=factors, offsets=offsets, pace=pace)


def as_read(m: int) -> Correction:
    """Columns as they were read, for m actuators."""
    return Correction(tuple(range(2 * m)), (1.0,) * 2 * m, (0.0,) * 2 * m)


def exchanged(
    m: int, i: int, j: int, conversions: tuple[tuple[float, float], tuple[float, float]] | None = None
) -> Correction:
    """Columns i and j in each other's place.

    Args:
        m: number of actuators.
        i: the first column.
        j: the second one.
        conversions: (factor, offset) that made the two signals from the numbers of the file; alike if None.
    """
    start = as_read(m)
    places, factors, offsets = list(start.places), list(start.factors), list(start.offsets)
    places[i], places[j] = j, i
    if conversions is not None:
        (a, b), (c, d) = conversions
        # numbers (S_j - d) / c are converted as those of i, and the other way round
        factors[i], offsets[i] = a / c, b - d * a / c
        factors[j], offsets[j] = c / a, d - b * c / a
    return replace(
        start, places=tuple(places), factors=tuple(factors), offsets=tuple(offsets), columns=(i, j)
    )


def rescaled(m: int, columns: tuple[int, ...], factor: float) -> Correction:
    """Some columns times a factor."""
    start = as_read(m)
    factors = tuple(factor if k in columns else 1.0 for k in range(2 * m))
    return replace(start, factors=factors, columns=columns)


def offset_columns(m: int, offsets: Array) -> Correction:
    """Coordinates with offsets (m,) added."""
    return replace(as_read(m), offsets=(*(float(o) for o in offsets), *(0.0,) * m))
