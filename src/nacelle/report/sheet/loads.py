"""Loads: what a standard motion and gravity require of the actuators, and what joints transmit.

Actuators are listed with their limits and what a standard motion requires of them, then masses and inertia,
what gravity requires of the drives in the reference pose, and what joints transmit there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from nacelle.dynamics.reactions import peak_reactions
from nacelle.dynamics.sizing import size_motors
from nacelle.errors import NacelleError
from nacelle.kinematics.trajectory import Line
from nacelle.page.markup import element, folded, paragraph, percent, table, text
from nacelle.page.svg import Series, line_chart
from nacelle.report.plain import reactions_data, sizing_data
from nacelle.report.sheet.content import figures, long_table, said_by, short, span_words
from nacelle.report.sheet.subject import StandardMotion, Subject

# ---- actuators along a standard motion


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


# ---- masses and loads at rest


# At rest a few samples say everything.
_REST = ("--trajectory", "rest", "--rate", "10")


@dataclass(frozen=True, eq=False)
class WeightTable:
    """What a robot weighs, and how that is carried.

    Attributes:
        show: the command that lists the bodies.
        bodies: what it prints of them.
        gravity: acceleration of gravity, m/s^2.
        hold: what the actuators hold at rest, with its command; or the reason why that is not determined.
        reactions: what joints transmit at rest, with its command; or the reason.
        size: the robot's size, m.
    """

    show: str
    bodies: list[dict[str, Any]]
    gravity: list[float]
    hold: dict[str, Any]
    reactions: dict[str, Any]
    size: float

    def data(self) -> dict[str, Any]:
        """Bodies, forces that hold the robot, reactions of joints."""
        return {
            "bodies": {"command": self.show, "bodies": self.bodies, "gravity": self.gravity},
            "hold": self.hold,
            "reactions": self.reactions,
        }

    def markup(self) -> str:
        """Sums, a table of bodies, forces at rest, reactions at rest."""
        total = sum(body["mass"] for body in self.bodies)
        massless = sum(not body["mass"] for body in self.bodies)
        strength = sum(value * value for value in self.gravity) ** 0.5
        rows = [
            [
                text(body["name"]),
                short(body["mass"]) if body["mass"] else "massless",
                " ".join(short(value, 3) for value in body["com"]) if body["mass"] else "–",
                " ".join(short(value, 3) for value in body["inertia_about_com"]) if body["mass"] else "–",
            ]
            for body in self.bodies
        ]
        columns = ["body", "mass kg>", "centre of mass m", "inertia about it, xx xy xz yy yz zz, kg m²"]
        return (
            said_by(self.show)
            + figures(
                (f"{short(total)} kg", "all moving bodies"),
                (f"{short(total * strength)} N", "their weight"),
                (str(len(self.bodies) - massless), "bodies with mass"),
                (str(massless), "massless bodies"),
            )
            + long_table("Bodies", columns, rows)
            + element("h3", "Held against gravity at the reference pose")
            + self._held()
            + element("h3", "Joint reactions at rest in the reference pose")
            + self._reactions()
        )

    def _held(self) -> str:
        if "reason" in self.hold:
            return paragraph(f"Not determined: {self.hold['reason']}.")
        rows = [
            [text(load["actuator"]), short(load["peak_force"], 4, "N" if load["unit"] == "N" else "N m")]
            for load in self.hold["actuators"]
        ]
        return said_by(self.hold["command"]) + table(["actuator", "force at rest, without sign>"], rows)

    def _reactions(self) -> str:
        if "reason" in self.reactions:
            return paragraph(f"Not determined: {self.reactions['reason']}.")
        joints = self.reactions["joints"]
        force = max((joint["force"] for joint in joints), default=0.0)
        moment = max([force * self.size, *(joint["moment"] for joint in joints)])

        def shown(value: float, largest: float) -> str:
            return "0" if abs(value) <= 1e-12 * largest else short(value)

        redundant = bool(self.reactions["redundancy"])
        rows = [
            [
                text(joint["name"]),
                text(joint["kind"]),
                *(shown(joint[name], force) for name in ("force", "radial", "axial")),
                *(shown(joint[name], moment) for name in ("moment", "tilting", "torque")),
                *([text(" ".join(joint["open"]))] if redundant else []),
            ]
            for joint in joints
        ]
        columns = ["joint", "kind", "force N>", "radial N>", "axial N>"]
        columns += ["moment N m>", "tilting N m>", "torque N m>", *(["open"] if redundant else [])]
        most = max(joints, key=lambda joint: joint["force"])
        words = f"Largest force: {short(most['force'])} N in {most['name']}."
        if redundant:
            words += (
                f" {self.reactions['redundancy']} superfluous closure equations leave inner stress open in "
                "the components listed; their least-norm share is given."
            )
        return (
            said_by(self.reactions["command"])
            + paragraph(words)
            + folded(f"All {len(rows)} joints", table(columns, rows))
        )


def masses(subject: Subject) -> WeightTable:
    """Weigh a robot."""
    robot, data = subject.robot, subject.summary
    rest = Line(subject.reference, subject.reference, motion=robot.motion, duration=1.0)
    try:
        held = sizing_data(size_motors(robot, rest, rate=10.0))
        hold = {"command": subject.command("dynamics", *_REST), **held}
    except NacelleError as error:
        hold = {"reason": str(error)}
    try:
        carried = reactions_data(peak_reactions(robot, rest, rate=10.0))
        reactions = {"command": subject.command("reactions", *_REST), **carried}
    except NacelleError as error:
        reactions = {"reason": str(error)}
    return WeightTable(subject.command("show"), data["bodies"], data["gravity"], hold, reactions, robot.size)
