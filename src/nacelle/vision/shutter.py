"""When a camera sees what: a global shutter, or regions of interest one after the other.

Exposure k begins at k / rate by the clock of the camera and lasts e; what it gives belongs to its middle.
With the offset o = (camera's clock) - (robot's clock) and the latency l from the end of the exposure to the
result:

    time_k = k / rate + e / 2  (camera's clock),     arrival_k = time_k - o + e / 2 + l  (robot's clock)

A global shutter sees all cylinders in each exposure. A sequential one reads a small region around one
cylinder in each: `rate` is then that of the regions, so a cylinder comes again after (number of cylinders) /
rate ([OAM], section 1: about 500 Hz).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from nacelle.errors import KinematicsError


@dataclass(frozen=True)
class Exposure:
    """One exposure.

    Attributes:
        time: its middle, by the camera's clock, s.
        arrival: when the controller has its result, by the robot's clock, s.
        cylinders: indices of the cylinders that it sees.
    """

    time: float
    arrival: float
    cylinders: tuple[int, ...]


@dataclass(frozen=True)
class Shutter:
    """How a camera takes its images.

    Attributes:
        rate: frames, or regions of interest, a second, Hz.
        exposure: how long each is exposed, s.
        latency: from the end of the exposure to the result, s.
        kind: "global" or "sequential".
        clock_offset: camera's clock minus robot's clock, s.
    """

    rate: float = 500.0
    exposure: float = 0.5e-3
    latency: float = 2e-3
    kind: Literal["global", "sequential"] = "sequential"
    clock_offset: float = 0.0

    def __post_init__(self) -> None:
        if not (np.isfinite(self.rate) and self.rate > 0.0):
            raise KinematicsError(f"the rate of a shutter is a positive number, got {self.rate}")
        if not 0.0 <= self.exposure <= 1.0 / self.rate:
            raise KinematicsError(
                f"an exposure of {self.exposure:g} s does not fit into a period of {1.0 / self.rate:g} s"
            )
        if not (self.latency >= 0.0 and np.isfinite(self.latency + self.clock_offset)):
            raise KinematicsError("the latency is not negative, and the clock's offset is finite")
        if self.kind not in ("global", "sequential"):
            raise KinematicsError(f"a shutter is global or sequential, not {self.kind!r}")

    def robot_time(self, time: float) -> float:
        """The time of the robot's clock, s, at a time of the camera's clock, s."""
        return time - self.clock_offset

    def exposures(self, start: float, stop: float, order: Sequence[int]) -> Iterator[Exposure]:
        """All exposures that end within an interval of the robot's clock, in the order of their times.

        Args:
            start: first time, s.
            stop: last time, s.
            order: indices of the cylinders; a sequential shutter takes them in turn.
        """
        if not order:
            return
        # Exposure k ends at k / rate + exposure - clock_offset by the robot's clock.
        shift = self.exposure - self.clock_offset
        first, last = (self.rate * (time - shift) for time in (start, stop))
        for k in range(int(np.ceil(first - 1e-9)), int(np.floor(last + 1e-9)) + 1):
            time = k / self.rate + 0.5 * self.exposure
            arrival = self.robot_time(time) + 0.5 * self.exposure + self.latency
            seen = tuple(order) if self.kind == "global" else (order[k % len(order)],)
            yield Exposure(time, arrival, seen)
