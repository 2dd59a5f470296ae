"""Operations of all models in their smallest form, beside what is published."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from nacelle.elastic.named import ELASTIC_NAMES
from nacelle.errors import NacelleError
from nacelle.page.markup import bullets, element, paragraph, table, text
from nacelle.report.operations import Operations, operation_count
from nacelle.report.published import published_inputs
from nacelle.report.sheet.subject import Subject

# Models that are counted, and whether friction acts in them.
MODELS = (
    ("inverse_kinematics", False),
    ("jacobian", False),
    ("inverse_dynamics", True),
    ("forward_dynamics", True),
    ("mass_matrix", False),
    ("regressor", True),
)
_WORDS = {
    "inverse_kinematics": "inverse kinematics",
    "jacobian": "Jacobian",
    "inverse_dynamics": "inverse dynamics",
    "forward_dynamics": "forward dynamics",
    "mass_matrix": "mass matrix",
    "regressor": "regressor",
    "elastic_inverse_dynamics": "inverse dynamics, flexible",
    "elastic_forward_dynamics": "forward dynamics, flexible",
}


@dataclass(frozen=True, eq=False)
class Counts:
    """Operation counts of a robot.

    Attributes:
        entries: each with the command that counts it.
        reasons: for every model that was not counted why, in words.
        friction: whether a joint of the robot has friction.
    """

    entries: tuple[tuple[str, Operations], ...]
    reasons: dict[str, str]
    friction: bool

    def data(self) -> dict[str, Any]:
        """All counts by class."""
        return {
            "models": [{"command": command, **count.data()} for command, count in self.entries],
            "reasons": self.reasons,
        }

    def markup(self) -> str:
        """A table of counts with the published ones below their own."""
        about = "" if self.friction else " No joint has friction, so that there is one count for each model."
        iterated = [count for _, count in self.entries if count.iteration is not None]
        parts = [
            paragraph(
                "Geometry and parameters are constants; additions and subtractions are one class, products "
                "and quotients the other, roots, sines and cosines apart." + about
            ),
            operations_table(self.entries),
        ]
        if iterated and iterated[0].iteration is not None:
            parts.append(
                paragraph(
                    "Legs without a closed form are solved by Newton's method; every iteration takes "
                    f"{iterated[0].iteration}, which is not in the counts."
                )
            )
        parts.append(bullets(f"{_WORDS[name]}: {reason}." for name, reason in self.reasons.items()))
        return "".join(parts)


def operations_table(entries: tuple[tuple[str, Operations], ...]) -> str:
    """Operation counts as a table, each with its command and what others have published of it."""
    rows = []
    for command, count in entries:
        name = _WORDS.get(count.model, count.model)
        name += f" from {count.input}" if count.input != "pose" else ""
        name += ", with friction" if count.friction else ""
        listed = "".join(
            element("span", text(f"{entry.total}: {entry.source}; {entry.contains}"), kind="more")
            for entry in count.published
        )
        small = count.count
        apart = [
            f"{number} {what}"
            for number, what in ((small.sqrt, "√"), (small.trig, "sin, cos, atan2"), (small.other, "others"))
            if number
        ]
        rows.append(
            [
                text(name) + element("span", element("code", text(command)), kind="more"),
                str(small.add),
                str(small.mul),
                element("strong", str(small.total)),
                text(", ".join(apart) or "–"),
                listed or "–",
            ]
        )
    return table(["model", "+/−>", "×/÷>", "together>", "apart", "published"], rows)


def counts(subject: Subject) -> Counts:
    """Count the operations of a robot's models."""
    robot, entries, reasons = subject.robot, [], {}
    flexible = any(body.section is not None for body in robot.bodies) or any(
        joint.drive_stiffness for joint in robot.joints
    )
    wanted = [
        (name, friction, source)
        for name, acts in (*MODELS, *((name, True) for name in ELASTIC_NAMES if flexible))
        for friction in ((False, True) if acts and subject.has_friction else (False,))
        # From other inputs than the pose where somebody has published that.
        for source in dict.fromkeys(("pose", *published_inputs(robot.name, name)))
        if friction == subject.has_friction or source == "pose"
    ]
    for name, friction, source in wanted:
        options = [*(["--friction"] if friction else []), *(["--input", source] if source != "pose" else [])]
        command = subject.command("ops", name, *options)
        try:
            entries.append((command, operation_count(robot, name, input=source, friction=friction)))
        except NacelleError as error:
            reasons[name] = str(error)
    return Counts(tuple(entries), reasons, subject.has_friction)
