"""The results of a study as a table: a row for each variant, a column for each variable and quantity."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nacelle.spatial.scalar import Array

OK, UNREACHABLE, SINGULAR, OUT_OF_LIMITS, OTHER_BRANCH, NOT_A_ROBOT, FAILED = range(7)
"""What became of a variant; the first that holds of those behind `OK`, the last two before all."""
STATUSES = (
    "ok",
    "out of reach",
    "singular",
    "beyond limits",
    "on another branch",
    "not a robot",
    "failed",
)
VARIABLE, QUANTITY = "variable", "quantity"


@dataclass(frozen=True)
class Column:
    """A column of a study's table.

    Attributes:
        name: unique in the table.
        kind: `VARIABLE` or `QUANTITY`.
        unit: SI, such as "N m"; empty for pure numbers.
        text: what it is, a line.
        goal: "minimise" or "maximise" where it is an objective; else empty.
    """

    name: str
    kind: str
    unit: str = ""
    text: str = ""
    goal: str = ""


@dataclass(frozen=True, eq=False)
class StudyTable:
    """Variants of a study and what was found of them.

    Attributes:
        columns: variables first, then quantities.
        values: (N, columns), SI units; NaN where a variant has no such quantity.
        status: of every variant (N,), an index of `STATUSES`.
        reason: why a variant is no robot or has failed, text (N,); empty elsewhere.
    """

    columns: tuple[Column, ...]
    values: Array
    status: Array
    reason: NDArray[np.str_]

    def __len__(self) -> int:
        """How many variants."""
        return len(self.values)

    def __getitem__(self, name: str) -> Array:
        """A column (N,)."""
        return np.asarray(self.values[:, self.names.index(name)])

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(column.name for column in self.columns)

    @property
    def ok(self) -> Array:
        """Which variants (N,) are robots that make all motions of the study."""
        return np.asarray(self.status == OK)

    @property
    def reasons(self) -> dict[str, int]:
        """Why variants are no robots or have failed, with how often each came."""
        return dict(Counter(self.reason[self.reason != ""].tolist()))

    def select(self, rows: Array) -> StudyTable:
        """Some of the variants, in the order of `rows`: indices, or a mask (N,)."""
        return StudyTable(self.columns, self.values[rows], self.status[rows], self.reason[rows])
