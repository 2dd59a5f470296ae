"""Quantities of results about flexible robots."""

from __future__ import annotations

import numpy as np

from nacelle.elastic.linear.frequencies import FrequencyMap, NaturalFrequencies
from nacelle.elastic.linear.statics import Buckling, StaticDeflection
from nacelle.report.results import names
from nacelle.report.results.quantity import ResultQuantity, alone, quantity_of_rows

_AXES = (("x", "m"), ("y", "m"), ("z", "m"), ("rx", "rad"), ("ry", "rad"), ("rz", "rad"))


def natural_frequencies(result: NaturalFrequencies) -> list[ResultQuantity]:
    """Frequencies and damping ratios of all modes."""
    modes = result.frequencies.shape[-1]
    return [
        quantity_of_rows("frequencies", _modes(modes, "Hz"), result.frequencies, words="natural frequency"),
        quantity_of_rows("damping", _modes(modes, "-"), result.damping, words="damping ratio"),
    ]


def frequency_map(result: FrequencyMap) -> list[ResultQuantity]:
    """Frequencies of all modes over the map."""
    values = np.asarray(result.frequencies, dtype=float)
    return [
        quantity_of_rows("frequencies", _modes(values.shape[-1], "Hz"), values, words="natural frequency")
    ]


def buckling(result: Buckling) -> list[ResultQuantity]:
    """Load factors at which the robot buckles; infinite ones are left open."""
    values = np.asarray(result.factors, dtype=float)
    return [quantity_of_rows("factors", _modes(values.shape[-1], "-"), values, words="load factor")]


def static_deflection(result: StaticDeflection) -> list[ResultQuantity]:
    """Displacement of the platform, forces that hold the robot, and how far the load may grow."""
    return [
        quantity_of_rows("displacement", list(_AXES), result.displacement(), words="displacement"),
        quantity_of_rows("forces", names.actuators(result.robot), result.force),
        alone("load factor", "-", result.factor),
    ]


def _modes(count: int, unit: str) -> list[tuple[str, str]]:
    return [(f"mode {k + 1}", unit) for k in range(count)]
