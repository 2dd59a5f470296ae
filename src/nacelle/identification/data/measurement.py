"""What was measured in one run: actuators' coordinates and forces over time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from nacelle.model.robot import Robot
from nacelle.results import Plottable
from nacelle.spatial.scalar import Array


class Conversion(NamedTuple):
    """How a signal was made of the numbers of a file: signal = factor number + offset."""

    factor: float
    offset: float


IDENTITY_CONVERSION = Conversion(1.0, 0.0)
"""The conversion of numbers that are the signal already."""


@dataclass(frozen=True)
class MeasurementSource:
    """Where the numbers of a measurement come from.

    Attributes:
        file: name of the file; "<python>" for arrays.
        rows: row of the file, counted from 1, that holds sample 0, or of every sample (N,) where they do not
            follow one another; 0 for arrays.
        columns: name of the file's column for each signal, such as {"q.strut1": "enc1", "time": "t"}.
        conversions: for each signal how its numbers were converted; as they are if left out.
        signs: for each signal the sign that it was read with, by the map or the description; 1 if left out.
        digest: SHA-256 of the file, in hexadecimal digits; empty for arrays.
    """

    file: str = "<python>"
    rows: int | Array = 0
    columns: dict[str, str] = field(default_factory=dict)
    conversions: dict[str, Conversion] = field(default_factory=dict)
    signs: dict[str, int] = field(default_factory=dict)
    digest: str = ""

    def column(self, signal: str) -> str:
        """The name of a signal's column in the file."""
        return self.columns.get(signal, signal)

    def row(self, sample: int) -> int:
        """The row of the file, counted from 1, that holds a sample."""
        return sample + self.rows if isinstance(self.rows, int) else int(self.rows[sample])


@dataclass(frozen=True, eq=False, repr=False)
class Measurement(Plottable):
    """Signals of one run, in SI units on the joint's side of gears; NaN where a sample is missing.

    Signals are named "time", "q.ACTUATOR", "force.ACTUATOR" and "reference.ACTUATOR".

    Attributes:
        robot: the robot that was measured.
        time: of every sample (N,), s.
        q: coordinates of the actuators (N, actuators), m or rad.
        tau: forces of the actuators (N, actuators), N or N m, positive along the joint's axis.
        reference: what the controller was to follow, (N, actuators) coordinates; None if it was not recorded.
        source: where the numbers come from.
        delay: how much later forces were recorded than they acted, s: the delay of a drive's filter.
    """

    robot: Robot
    time: Array
    q: Array
    tau: Array
    reference: Array | None = None
    source: MeasurementSource = field(default_factory=MeasurementSource)
    delay: float = 0.0

    def __len__(self) -> int:
        """Number of samples."""
        return len(self.time)

    @property
    def rate(self) -> float:
        """Samples a second, Hz, by the median of the steps."""
        return float(1.0 / np.median(np.diff(self.time)))
