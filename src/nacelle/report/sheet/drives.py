"""Actuators with their limits, and what a standard motion requires of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from nacelle.errors import NacelleError
from nacelle.page.markup import element, paragraph, percent, table, text
from nacelle.page.svg import Series, line_chart
from nacelle.report.plain import sizing_data
from nacelle.report.sheet.content import said_by, short, span_words
from nacelle.report.sheet.motion import StandardMotion
from nacelle.report.sheet.subject import Subject


@dataclass(frozen=True, eq=False)
class ActuatorLoads:
    """Actuators and their loads.

    Attributes:
        show: the command that lists the actuators.
        actuators: what it prints of them.
        command: the command that gives the loads; empty if there is no motion.
        motion: the standard motion; None if there is none.
        reason: why there is none, in words.
    """

    show: str
    actuators: list[dict[str, Any]]
    command: str
    motion: StandardMotion | None
    reason: str

    def data(self) -> dict[str, Any]:
        """Limits of all actuators, and their loads along the motion."""
        limits = {"command": self.show, "actuators": self.actuators}
        if self.motion is None:
            return {"limits": limits, "motion": {"reason": self.reason}}
        about = {"words": self.motion.words, "loads": self._loads}
        return {"limits": limits, "motion": about}

    @property
    def _loads(self) -> dict[str, Any]:
        assert self.motion is not None
        return {"command": self.command, **sizing_data(self.motion.sizing)}

    def markup(self) -> str:
        """A table of limits, a table of loads, forces over time."""
        if not self.actuators:
            return said_by(self.show) + paragraph("The robot has no actuator.")
        return (
            said_by(self.show) + self._limits() + element("h3", "Loads on a standard motion") + self._motion()
        )

    def _limits(self) -> str:
        rows = []
        for actuator in self.actuators:
            angle = actuator["kind"] == "revolute"
            rows.append(
                [
                    text(actuator["name"]),
                    text(f"{actuator['joint']}, {actuator['kind']}"),
                    short(actuator["gear_ratio"]),
                    short(actuator["rotor_inertia"], 4, "kg m²" if angle else "kg"),
                    text(span_words(actuator["position"], angle)),
                    short(actuator["speed"], 4, "rad/s" if angle else "m/s"),
                    short(actuator["force"], 4, "N m" if angle else "N"),
                ]
            )
        columns = ["actuator", "joint", "gear>", "rotor inertia>", "range>", "speed limit>", "force limit>"]
        table_of_limits = table(columns, rows)
        unlimited = [a["name"] for a in self.actuators if a["force"] is None and a["speed"] is None]
        if len(unlimited) == len(self.actuators):
            return table_of_limits + paragraph("No drive has a limit of force or speed.", "quiet")
        return table_of_limits

    def _motion(self) -> str:
        if self.motion is None:
            return paragraph(f"There is no standard motion: {self.reason}.")
        rows = []
        for load in self._loads["actuators"]:
            angle = load["unit"] != "N"
            force, speed = ("N m", "rad/s") if angle else ("N", "m/s")
            rows.append(
                [
                    text(load["actuator"]),
                    short(load["peak_force"], 4, force),
                    short(load["rms_force"], 4, force),
                    _used(load["peak_force"], load["force_limit"]),
                    short(load["peak_speed"], 4, speed),
                    _used(load["peak_speed"], load["speed_limit"]),
                    short(load["peak_power"], 4, "W"),
                    short(load["lowest_power"], 4, "W"),
                    text(span_words(load["range"], angle)),
                ]
            )
        columns = ["actuator", "peak force>", "rms force>", "of limit>", "peak speed>", "of limit>"]
        columns += ["peak power>", "braking>", "range>"]
        words = f"{self.motion.words}, from rest to rest, friction included."
        beyond = [
            f"{load.name} goes beyond its limit of {', '.join(load.beyond)}."
            for load in self.motion.sizing.loads
            if load.beyond
        ]
        return (
            said_by(self.command)
            + paragraph(words[:1].upper() + words[1:])
            + table(columns, rows)
            + "".join(paragraph(line) for line in beyond)
            + self._charts()
        )

    def _charts(self) -> str:
        assert self.motion is not None
        sizing = self.motion.sizing
        times, every = sizing.times, max(1, len(sizing.times) // 250)
        parts = []
        for revolute, label in ((False, "force (N)"), (True, "torque (N m)")):
            series = [
                Series(load.name, times[::every], np.asarray(sizing.force[::every, k]))
                for k, load in enumerate(sizing.loads)
                if load.revolute == revolute
            ]
            if series:
                parts.append(
                    line_chart(series, x="time (s)", y=label, title="Drive forces along the standard motion")
                )
        return "".join(parts)


def _used(value: float, limit: float) -> str:
    return percent(value / limit) if math.isfinite(limit) and limit > 0.0 else "–"


def drives(subject: Subject) -> ActuatorLoads:
    """List the actuators of a robot and what the standard motion requires of them."""
    show, actuators = subject.command("show"), subject.summary["actuators"]
    try:
        motion = subject.motion
    except NacelleError as error:
        return ActuatorLoads(show, actuators, "", None, str(error))
    return ActuatorLoads(show, actuators, subject.command("dynamics", *motion.arguments), motion, "")
