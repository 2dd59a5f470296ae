"""What checks find in a measurement: kind, place, what is wrong and what would be right."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np

from nacelle.errors import IdentificationError, MeasurementError, Problem
from nacelle.identification.data.measurement import Measurement
from nacelle.results import HasTable
from nacelle.spatial.scalar import Array

KINDS = {
    "missing": "samples that have no number",
    "time": "time that goes back or stands still",
    "gap": "samples that are not there at all",
    "sampling": "unequal steps between samples",
    "drops": "samples that are lost, which the stamps do not show",
    "duplicates": "samples that are repeated",
    "constant": "a signal that never changes",
    "jump": "a coordinate that jumps from one sample to the next",
    "outliers": "single forces that are far off",
    "clipped": "forces cut off at a limit",
    "resolution": "forces counted in coarse steps",
    "swapped": "two columns in each other's place",
    "sign": "a column with the wrong sign",
    "unit": "a column in another unit",
    "zero": "an encoder that counts from another zero",
    "gear": "an axis with another gear ratio, or other counts a turn",
    "reach": "coordinates that belong to no pose",
    "branch": "forward kinematics that leaves its branch",
    "reference": "a reference that is not what was followed",
    "misfit": "forces that the model does not explain",
    "suspect": "a fault that the residuals of the fit show",
}
"""All kinds of findings, in the order of the checks."""


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong with a measurement.

    Attributes:
        kind: one of `KINDS`.
        signals: names of the signals, such as "q.strut1".
        column: columns of the file that hold them, as words.
        sample: the first sample concerned, counted from 0; -1 for the whole column.
        row: its row in the file; 0 for the whole column.
        count: how many samples are concerned.
        message: what is wrong.
        hint: what would be right.
        severity: "error" if nothing should be estimated from such data, or "warning".
    """

    kind: str
    signals: tuple[str, ...]
    column: str
    sample: int
    row: int
    count: int
    message: str
    hint: str
    severity: str = "error"

    def problem(self, file: str) -> Problem:
        """The finding as a problem of a file."""
        column = min(self.row, 1)
        return Problem(file, self.row, column, self.column, self.message, self.hint, self.severity)


def make_finding(
    measurement: Measurement,
    kind: str,
    signals: str | tuple[str, ...],
    message: str,
    *,
    hint: str,
    samples: Array | None = None,
    severity: str = "error",
) -> Finding:
    """Make a finding about signals, at some samples or at all of them (None)."""
    named = (signals,) if isinstance(signals, str) else signals
    column = ", ".join(dict.fromkeys(measurement.source.column(name) for name in named))
    first = -1 if samples is None else int(np.min(samples))
    row = 0 if samples is None else measurement.source.row(first)
    count = len(measurement) if samples is None else len(samples)
    return Finding(kind, named, column, first, row, count, message, hint, severity)


@dataclass(frozen=True)
class Findings(HasTable):
    """All findings of the checks of one measurement.

    Attributes:
        file: the measurement's file.
        entries: the findings, in the order of the checks.
        skipped_checks: messages about the checks that could not be made, with the reason.
    """

    file: str
    entries: tuple[Finding, ...]
    skipped_checks: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Finding]:
        """The findings, in the order of the checks."""
        return iter(self.entries)

    def __len__(self) -> int:
        """How many there are."""
        return len(self.entries)

    @property
    def ok(self) -> bool:
        """Whether nothing forbids to estimate from the measurement."""
        return not any(entry.severity == "error" for entry in self.entries)

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kinds of what was found, each once."""
        return tuple(dict.fromkeys(entry.kind for entry in self.entries))

    def raise_for_errors(self, allow: Collection[str] = ()) -> None:
        """Raise what forbids to estimate from the measurement.

        Args:
            allow: kinds of findings that are overruled; "all" overrules every one.

        Raises:
            MeasurementError: with a problem for each finding that is an error and not overruled.
            IdentificationError: if `allow` has an unknown kind.
        """
        unknown = sorted(set(allow) - {*KINDS, "all"})
        if unknown:
            raise IdentificationError(
                f"no kind of finding: {', '.join(unknown)}; there are {', '.join(KINDS)}, all"
            )
        if "all" in allow:
            return
        left = [e for e in self.entries if e.severity == "error" and e.kind not in allow]
        if left:
            kinds = ", ".join(dict.fromkeys(entry.kind for entry in left))
            raise MeasurementError(
                f"the measurement has faults (to overrule them, allow: {kinds}):",
                [entry.problem(self.file) for entry in left],
            )

    def __str__(self) -> str:
        """All findings, one a line."""
        lines = [str(entry.problem(self.file)) for entry in self.entries] or [f"{self.file}: no faults found"]
        lines += [f"{self.file}: not checked: {reason}" for reason in self.skipped_checks]
        return "\n".join(lines)
