"""The step `circle`: a path under several controllers, errors over time and the robot in 3D."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nacelle.model.robot import Robot
from nacelle.page.markup import paragraph, table, text
from nacelle.page.svg import Series, line_chart
from nacelle.spatial.scalar import Array

# Samples of the curves in the page.
_CURVE = 900


@dataclass(frozen=True, eq=False)
class Flight:
    """The path as run by one controller, N samples.

    Attributes:
        label: the controller.
        x: poses (N, nx).
        tool: positions of the tool (N, 3), m, base axes.
        error: errors of the actuators (N, actuators), m or rad.
        force: of the drives (N, actuators), N or N m.
    """

    label: str
    x: Array
    tool: Array
    error: Array
    force: Array


@dataclass(frozen=True, eq=False)
class CircleRuns:
    """A path under several controllers.

    Attributes:
        robot: the model that the controllers have.
        path: the path in words: "circle of 0.2 m radius, ... at 1 m/s".
        machine: what moves, in words.
        time: (N,), s.
        desired: positions of the tool on the path (N, 3), m.
        flights: one for each controller, the same time.
        commands: what gives the numbers.
    """

    robot: Robot
    path: str
    machine: str
    time: Array
    desired: Array
    flights: tuple[Flight, ...]
    commands: tuple[str, ...]

    def tool_error(self, flight: Flight) -> Array:
        """Distances (N,) of the tool from the path's point of the time, m."""
        return np.asarray(np.linalg.norm(flight.tool - self.desired, axis=1))

    def rms(self, flight: Flight) -> float:
        """Root of the mean of the squares of these, m."""
        return float(np.sqrt(np.mean(np.square(self.tool_error(flight)))))

    @property
    def claim(self) -> str:
        """What the step shows."""
        first, last = self.flights[0], self.flights[-1]
        return (
            f"The same feedback with the model's forces fed forward ({last.label}) follows the path "
            f"{self.rms(first) / self.rms(last):.0f} times as closely as without a model ({first.label}): "
            f"{1e3 * self.rms(last):.2f} instead of {1e3 * self.rms(first):.2f} mm rms at the tool."
        )

    def lines(self) -> list[str]:
        """The result on a screen."""
        lines = [self.path]
        for flight in self.flights:
            most = 1e3 * float(np.max(self.tool_error(flight)))
            off = f"{1e3 * self.rms(flight):>7.3f} mm rms, {most:>7.3f} mm at most"
            lines.append(f"{flight.label:<16}tool off by {off}")
        return lines

    def content(self) -> list[str]:
        """The result in a page: errors over time and a table; the robot in 3D is the page's own."""
        every = max(1, len(self.time) // _CURVE)
        series = [
            Series(flight.label, self.time[::every], 1e3 * self.tool_error(flight)[::every])
            for flight in self.flights
        ]
        revolute = self.robot.revolute_actuators
        units = ["mrad" if turns else "mm" for turns in revolute]
        heads = [f"{text(a.name)} ({unit})>" for a, unit in zip(self.robot.actuators, units, strict=True)]
        rows = []
        for flight in self.flights:
            errors = 1e3 * np.sqrt(np.mean(np.square(flight.error), axis=0))
            rows.append([text(flight.label), *(f"{v:#.3g}" for v in [1e3 * self.rms(flight), *errors])])
        return [
            paragraph(
                f"What moves is a simulated machine: {self.machine}. The three controllers have the same "
                "feedback of each drive; cf-rb feeds forward the forces of the rigid model, cf-rb-friction "
                "those of the model with friction."
            ),
            line_chart(
                series,
                x="time (s)",
                y="distance of the tool from where it should be (mm)",
                title=f"The {self.path}: errors of the tool.",
            ),
            table(["rms error", "tool (mm)>", *heads], rows),
        ]

    def data(self) -> dict[str, Any]:
        """The numbers as plain data."""
        return {
            "path": self.path,
            "machine": self.machine,
            "tool_rms": {flight.label: self.rms(flight) for flight in self.flights},
            "actuator_rms": {
                flight.label: np.sqrt(np.mean(np.square(flight.error), axis=0)).tolist()
                for flight in self.flights
            },
        }
