"""Panels of charts: what is drawn of a result, decided here for pictures by matplotlib and for SVG of pages.

Entries of a quantity that have one unit are in one panel; its label says what they are, with the unit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nacelle.model.reduced import QUATERNION
from nacelle.report.results.quantity import ResultQuantity

# Curves of a panel and bars of a panel; of more the largest are drawn.
MAX_CURVES, MAX_BARS = 14, 24
# What a number without a unit has in the place of one.
NO_UNIT = "-"

# What is measured in a unit, where nothing better is said.
_QUANTITY_NAMES = {
    "m": "position",
    "rad": "angle",
    "m/s": "velocity",
    "rad/s": "angular velocity",
    "m/s^2": "acceleration",
    "rad/s^2": "angular acceleration",
    "N": "force",
    "N m": "torque",
    "J": "energy",
    "Hz": "frequency",
}
_UNIT_SUPERSCRIPTS = {"^2": "²", "^3": "³"}


@dataclass(frozen=True, eq=False)
class Panel:
    """Entries of one quantity that have one unit.

    Attributes:
        quantity: the quantity.
        unit: of the entries.
        entries: their places in it.
        limits: sizes of forces and the like that must not be exceeded.
    """

    quantity: ResultQuantity
    unit: str
    entries: list[int]
    limits: tuple[float, ...] = ()

    @property
    def label(self) -> str:
        """What the numbers are, with their unit."""
        names = tuple(self.quantity.names[k] for k in self.entries)
        usual = "quaternion" if names == QUATERNION else self.quantity.key
        name = self.quantity.label or quantity_name(self.unit, usual)
        return axis_label(name, self.unit)

    def largest(self, max_count: int) -> list[int]:
        """The entries with the largest values, at most `max_count`, in their order."""
        if len(self.entries) <= max_count:
            return self.entries
        values = np.abs(np.atleast_2d(self.quantity.values)[:, self.entries])
        sizes = np.max(np.where(np.isfinite(values), values, 0.0), axis=0, initial=0.0)
        return [self.entries[k] for k in sorted(np.argsort(-sizes, kind="stable")[:max_count])]


def panels_of(quantities: Sequence[ResultQuantity]) -> list[Panel]:
    """A panel for every unit of every quantity."""
    return [
        Panel(quantity, unit, entries)
        for quantity in quantities
        for unit, entries in quantity.groups().items()
        if len(entries)
    ]


def axis_label(name: str, unit: str) -> str:
    """The label of an axis: what it shows, and the unit in brackets."""
    for plain, raised in _UNIT_SUPERSCRIPTS.items():
        unit = unit.replace(plain, raised)
    return f"{name} ({unit or NO_UNIT})"


def quantity_name(unit: str, default: str) -> str:
    """What is measured in a unit."""
    return _QUANTITY_NAMES.get(unit, default)
