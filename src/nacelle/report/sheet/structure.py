"""Structure: legs with their types, bodies, joints, closures, and how each leg is solved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from nacelle.errors import number_of
from nacelle.kinematics.legs.leg_type import LegType, leg_type
from nacelle.model.joint import LETTERS, MOTION, JointKind
from nacelle.model.leg import Leg
from nacelle.model.robot import Robot
from nacelle.page.markup import bullets, element, folded, paragraph, table, text
from nacelle.report.sheet.content import said_by, short, span_words
from nacelle.report.sheet.subject import Subject
from nacelle.report.summary import force_words
from nacelle.report.text import attached_parts


@dataclass(frozen=True)
class Letter:
    """A joint of a leg as a letter, "U"; brackets and bars between branches are letters too.

    Attributes:
        sign: the letter.
        active: whether a drive moves the joint.
    """

    sign: str
    active: bool = False


@dataclass(frozen=True, eq=False)
class Structure:
    """What a robot is made of.

    Attributes:
        command: the command that shows it.
        summary: what that command prints.
        letters: the type of each leg by letters.
        active: names of the active joints of each leg.
    """

    command: str
    summary: dict[str, Any]
    letters: tuple[tuple[Letter, ...], ...]
    active: tuple[tuple[str, ...], ...]

    def data(self) -> dict[str, Any]:
        """Legs, bodies and joints."""
        kept = ("motion", "elements", "legs", "nacelle", "joints", "loops", "tools", "payload", "modes")
        return {"command": self.command, **{name: self.summary[name] for name in kept}}

    def markup(self) -> str:
        """A line of counts, the legs, and all joints in a folded table."""
        data = self.summary
        kinds = {"rigid": "a rigid body", "point": "a point", "articulated": "a small mechanism"}
        kind = kinds.get(data["nacelle"]["kind"], data["nacelle"]["kind"])
        nacelle = f"the nacelle is {kind}, its" if kind != "none" else "there is no nacelle, the"
        legs = f"{number_of(len(data['legs']), 'leg')}, " if data["legs"] else ""
        about = (
            f"{legs}{number_of(len(data['bodies']), 'moving body', 'moving bodies')}, "
            f"{number_of(len(data['joints']), 'joint')}, {number_of(data['loops'], 'independent loop')} and "
            f"{number_of(len(data['actuators']), 'actuator')}; {nacelle} motion {data['motion']}."
        )
        return "".join(
            [
                said_by(self.command),
                paragraph(about),
                self._legs(),
                bullets(self._reasons()),
                self._others(),
                self._joints(),
            ]
        )

    def _legs(self) -> str:
        rows = []
        for leg, letters, active in zip(self.summary["legs"], self.letters, self.active, strict=True):
            rows.append(
                [
                    text(leg["name"]),
                    "".join(element("u", text(a.sign)) if a.active else text(a.sign) for a in letters),
                    text(", ".join(active) or "none"),
                    text(leg["method"]),
                    text(leg["elements"] or "–"),
                    str(len(leg["bodies"])),
                    str(len(leg["closures"])),
                ]
            )
        columns = ["leg", "type", "actuated", "inverse kinematics", "elements", "bodies>", "closures>"]
        return table(columns, rows) if rows else ""

    def _reasons(self) -> list[str]:
        names: dict[str, list[str]] = {}
        for leg in self.summary["legs"]:
            names.setdefault(leg["reason"], []).append(leg["name"])
        return [f"{', '.join(legs)}: no closed form, {reason}." for reason, legs in names.items() if reason]

    def _others(self) -> str:
        lines = attached_parts(self.summary, short)
        return bullets([f"{line[0].upper()}{line[1:]}." for line in lines])

    def _joints(self) -> str:
        rows = []
        for joint in self.summary["joints"]:
            angles = [step.is_rotation for step in MOTION[JointKind(joint["kind"])]]
            limits = [span_words(pair, angle) for pair, angle in zip(joint["limits"], angles, strict=False)]
            drive = " (active)" if joint["active"] else ""
            rows.append(
                [
                    text(joint["name"]),
                    text(joint["kind"] + drive),
                    text(joint["role"]),
                    text(f"{joint['predecessor']} – {joint['successor']}"),
                    text(force_words(joint) or "–"),
                    text(", ".join(words for words in limits if words != "–") or "–"),
                ]
            )
        columns = ["joint", "kind", "role", "between", "friction and springs", "limits"]
        return folded(f"All {len(rows)} joints", table(columns, rows))


def structure(subject: Subject) -> Structure:
    """Describe the structure of a robot."""
    robot = subject.robot
    driven = {actuator.joint for actuator in robot.actuators}
    return Structure(
        subject.command("show"),
        subject.summary,
        tuple(leg_letters(robot, leg) for leg in robot.legs),
        tuple(
            tuple(robot.joints[j].name for j in (*leg.joints, *leg.closures) if j in driven)
            for leg in robot.legs
        ),
    )


def leg_letters(robot: Robot, leg: Leg) -> tuple[Letter, ...]:
    """The type of a leg by letters, joints with a drive marked: U, P (active), S."""
    kind, driven = leg_type(robot, leg), {actuator.joint for actuator in robot.actuators}
    letters = _letters(robot, leg, kind, driven)
    if "".join(letter.sign for letter in letters) == kind.name:
        return letters
    # Names that join letters of their own (RPaR): the driver comes first.
    first = kind.parallelogram is not None and kind.parallelogram.root in driven
    return (Letter(kind.name[:1], first), Letter(kind.name[1:]))


def _letters(robot: Robot, leg: Leg, kind: LegType, driven: set[int]) -> tuple[Letter, ...]:
    if not kind.trunk:
        parts = [
            [Letter(LETTERS[robot.joints[j].kind], j in driven) for j in part]
            for part in (leg.joints, leg.closures)
        ]
        return (*parts[0], Letter("-"), *parts[1])

    def grouped(groups: Any) -> list[Letter]:
        return [
            Letter(group.letter, any(passed.joint in driven for passed in group.joints)) for group in groups
        ]

    trunk = grouped(kind.trunk)
    if not kind.branches:
        if kind.planar and trunk:
            trunk[-1] = Letter("R", trunk[-1].active)
        return tuple(trunk)
    branches = [letter for branch in kind.branches for letter in (Letter("|"), *grouped(branch))][1:]
    return (*trunk, Letter("["), *branches, Letter("]"))
