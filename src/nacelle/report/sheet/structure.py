"""What the robot is: at a glance, its structure and mobility, and what the check warns of.

At a glance: what it is, where its numbers come from, and how it moves. Structure: legs with their types,
bodies, joints, closures, and how each leg is solved. Mobility: how the robot can move, by counting and by
rank, in words.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from nacelle.errors import LISTED, NacelleError, number_of
from nacelle.kinematics.legs.leg_type import LegType, leg_type
from nacelle.model.joint import LETTERS, MOTION, JointKind
from nacelle.model.leg import PLATFORM, Leg
from nacelle.model.robot import Robot
from nacelle.page.markup import bullets, element, folded, paragraph, table, text
from nacelle.report.sheet.content import figures, said_by, short, span_words
from nacelle.report.sheet.subject import Subject, shown_motion
from nacelle.report.summary import attached_parts, force_words
from nacelle.scene.figure import SceneItem, body_points, scene_figure
from nacelle.scene.geometry import robot_geometry
from nacelle.scene.motion import poses_along, still

# ---- the robot at a glance


@dataclass(frozen=True, eq=False)
class About:
    """A robot at a glance.

    Attributes:
        command: the command that shows it.
        summary: what that command prints.
        figure: markup of the figure in space; empty if there is none.
        moves: whether the figure moves.
        reason: why there is no figure, in words.
    """

    command: str
    summary: dict[str, Any]
    figure: str
    moves: bool
    reason: str

    def data(self) -> dict[str, Any]:
        """Name, title, sources and reference pose."""
        kept = ("name", "title", "notes", "sources", "hash", "motion", "gravity", "reference")
        return {"command": self.command, **{name: self.summary[name] for name in kept}}

    def markup(self) -> str:
        """The figure, notes, reference pose and sources."""
        data = self.summary
        position = " ".join(short(value) for value in data["reference"]["position"])
        turned = " ".join(short(value) for value in data["reference"]["quat_xyzw"])
        gravity = " ".join(short(value) for value in data["gravity"])
        parts = [
            self.figure or paragraph(f"There is no figure: {self.reason}."),
            said_by(self.command),
            paragraph(data["notes"]) if data["notes"] else "",
            paragraph(
                f"Reference pose: position {position} m, quaternion x y z w {turned}; gravity {gravity} "
                f"m/s²; hash {data['hash'][:16]}.",
                "quiet",
            ),
        ]
        if data["sources"]:
            parts.append(element("h3", text("Sources of the description")) + bullets(data["sources"]))
        return "".join(parts)


def about(subject: Subject) -> About:
    """Draw a robot, moving along the shown motion."""
    robot, command = subject.robot, subject.command("show")
    try:
        times, x = shown_motion(robot)
        moves = len(times) > 1
        motion = poses_along(robot, times, x) if moves else still(robot)
        traces = (body_points(motion, PLATFORM),) if moves else ()
        figure = scene_figure(
            [SceneItem(robot_geometry(robot, motion), motion, traces=traces)],
            caption="From the reference pose along each of its coordinates and back, within limits; turn it "
            "with the mouse or a finger."
            if moves
            else "The reference pose; no motion about it is within limits and away from singularities.",
        )
    except NacelleError as error:
        return About(command, subject.summary, "", False, str(error))
    return About(command, subject.summary, figure, moves, "")


# ---- structure


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


# ---- mobility


@dataclass(frozen=True, eq=False)
class Freedoms:
    """Mobility of a robot.

    Attributes:
        command: the command that shows it.
        mobility: what that command says of it.
    """

    command: str
    mobility: dict[str, Any]

    def data(self) -> dict[str, Any]:
        """The mobility as `nacelle show` gives it."""
        return {"command": self.command, "mobility": self.mobility}

    def markup(self) -> str:
        """Counts, and sentences."""
        m = self.mobility
        planar = m["counted_planar"]
        return (
            said_by(self.command)
            + figures(
                (str(m["platform"]), f"motions of the {m['mover']}"),
                (str(m["true"]), "motions of all, by rank"),
                (str(m["counted"]), "counted in space (Chebyshev-Grübler-Kutzbach)"),
                *([] if planar is None else [(str(planar), "counted in the plane")]),
                (str(m["idle_count"]), "idle motions"),
                (str(m["overconstrained"]), "superfluous closure equations"),
                (f"{m['controlled']} by {m['actuators']}", "controlled motions, by actuators"),
            )
            + bullets(m["sentences"])
        )


def freedoms(subject: Subject) -> Freedoms:
    """Give the mobility of a robot.

    Raises:
        NacelleError: if its loops do not close.
    """
    mobility = subject.summary["mobility"]
    if mobility is None:
        raise NacelleError("the loops do not close in the reference pose")
    return Freedoms(subject.command("show"), mobility)


# ---- warnings of the check


@dataclass(frozen=True, eq=False)
class Problems:
    """Warnings of the check.

    Attributes:
        command: the command that prints them.
        count: how many there are.
        problems: the first of them.
    """

    command: str
    count: int
    problems: list[dict[str, Any]]

    def data(self) -> dict[str, Any]:
        """Warnings as `nacelle check` gives them."""
        return {"command": self.command, "count": self.count, "problems": self.problems}

    def markup(self) -> str:
        """A table of warnings, or that there are none."""
        if not self.problems:
            return said_by(self.command) + paragraph("The check of the description warns of nothing.")
        rows = [
            [text(problem["path"]), text(problem["message"]), text(problem["hint"])]
            for problem in self.problems
        ]
        more = self.count - len(self.problems)
        left = paragraph(f"{more} more are not listed.") if more else ""
        return said_by(self.command) + table(["place", "warning", "hint"], rows) + left


def problems(subject: Subject) -> Problems:
    """Give the warnings of the check."""
    listed = [problem.as_dict() for problem in subject.problems[:LISTED]]
    return Problems(subject.command("check"), len(subject.problems), listed)
