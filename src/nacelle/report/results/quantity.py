"""Quantities of results: named numbers with units, of one sample or of many."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nacelle.errors import NacelleError
from nacelle.spatial.scalar import Array

SAMPLE = "sample (-)"
TIME = "time (s)"


@dataclass(frozen=True, eq=False)
class ResultQuantity:
    """A quantity of a result: numbers with names and units, at one sample or along many.

    Attributes:
        key: what it is called, in arguments and tables: "forces".
        names: of the entries (n,).
        units: of the entries (n,); "-" without one.
        values: (n,) at one sample, (N, n) along many.
        x_label: of the axis along which the samples are, with its unit.
        x: places of the samples on it (N,); their numbers from 1 if None.
        logarithmic: whether sizes differ by powers of ten.
        label: what the numbers are; what is measured in their units if empty.
    """

    key: str
    names: tuple[str, ...]
    units: tuple[str, ...]
    values: Array
    x_label: str = SAMPLE
    x: Array | None = None
    logarithmic: bool = False
    label: str = ""

    def __post_init__(self) -> None:
        """Check the shapes, so that no name comes to another's number."""
        if not len(self.names) == len(self.units) == self.values.shape[-1] or self.values.ndim > 2:
            raise ValueError(
                f"{self.key}: {len(self.names)} names, {len(self.units)} units, values {self.values.shape}"
            )

    @property
    def single(self) -> bool:
        """Whether there is one sample, and no row of them."""
        return self.values.ndim == 1

    def along(self) -> Array:
        """Places of the samples (N,) on the axis."""
        count = 1 if self.single else len(self.values)
        return np.arange(1.0, count + 1.0) if self.x is None else np.asarray(self.x, dtype=float)

    def groups(self) -> dict[str, list[int]]:
        """Places of the entries by unit, in their order."""
        groups: dict[str, list[int]] = {}
        for k, unit in enumerate(self.units):
            groups.setdefault(unit, []).append(k)
        return groups


def make_quantity(key: str, labels: Sequence[tuple[str, str]], values: Any, **options: Any) -> ResultQuantity:
    """A quantity of values (..., n), whose batch becomes one row of samples.

    Args:
        key: what it is called.
        labels: name and unit of every entry (n).
        values: (..., n).
        **options: the other attributes of `ResultQuantity`.
    """
    array = np.asarray(values, dtype=float)
    if array.ndim > 2:
        array = array.reshape(-1, array.shape[-1])
    names, units = tuple(name for name, _ in labels), tuple(unit or "-" for _, unit in labels)
    return ResultQuantity(key, names, units, array, **options)


def make_single_quantity(key: str, unit: str, values: Any, **options: Any) -> ResultQuantity:
    """A quantity of one entry, values (...)."""
    return make_quantity(key, [(key, unit)], np.asarray(values, dtype=float)[..., None], **options)


# ---- of any result


def spaced_class_name(name: str) -> str:
    """The name of a class as separate words, such as "inverse dynamics"."""
    return "".join(f" {sign.lower()}" if sign.isupper() else sign for sign in name).strip()


def robot_of_result(result: Any) -> Any:
    """The robot that a result is about, or its name; None if it is about none."""
    for holder in (result, getattr(result, "base", None), getattr(result, "state", None)):
        # A simulation of a plant without a robot says so by an error.
        with contextlib.suppress(NacelleError):
            robot = getattr(holder, "robot", None)
            if robot is not None:
                return robot
    return getattr(getattr(result, "grid", None), "robot", None)
