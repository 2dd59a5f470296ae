"""Masses and inertia, what gravity requires of the drives in the reference pose, and what joints transmit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from nacelle.dynamics.reactions.peak import peak_reactions
from nacelle.dynamics.sizing import size_motors
from nacelle.errors import NacelleError
from nacelle.kinematics.trajectory import Line
from nacelle.page.markup import element, folded, paragraph, table, text
from nacelle.report.plain import reactions_data, sizing_data
from nacelle.report.sheet.content import figures, long_table, said_by, short
from nacelle.report.sheet.subject import Subject

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
