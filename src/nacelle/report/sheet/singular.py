"""Singularities: how near the poses of the slices come to them, and of which kind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from nacelle.kinematics.singularity import MET, NEAR
from nacelle.model.reduced import layout_of
from nacelle.page.markup import paragraph, table, text
from nacelle.report.plain import workspace_data
from nacelle.report.sheet.content import said_by, short
from nacelle.report.sheet.subject import Subject

_MEANING = {
    "serial": "a leg is stretched or folded: it moves while the {} rests",
    "parallel": "with the actuators locked the {} moves",
    "constraint": "the {} gains a motion that its legs should lock",
}


@dataclass(frozen=True, eq=False)
class NearestSingularities:
    """The nearest singularities of a slice.

    Attributes:
        command: the command that finds them.
        over: the coordinates of the slice.
        numbers: for each kind its measure, the pose, and the leg of a serial one.
    """

    command: str
    over: tuple[str, ...]
    numbers: dict[str, Any]


@dataclass(frozen=True, eq=False)
class Singular:
    """The nearest singularities within limits.

    Attributes:
        slices: those of every slice.
        coordinates: names of the coordinates of a pose.
        mover: what moves, in a word: the nacelle, or the mechanism.
    """

    slices: tuple[NearestSingularities, ...]
    coordinates: tuple[str, ...]
    mover: str

    def data(self) -> dict[str, Any]:
        """Measures and poses, slice by slice."""
        return {
            "slices": [{"command": cut.command, "singularities": cut.numbers} for cut in self.slices],
        }

    def markup(self) -> str:
        """The nearest one in words, then all kinds slice by slice."""
        entries = [
            (number["measure"], kind, number, cut)
            for cut in self.slices
            for kind, number in cut.numbers.items()
        ]
        if not entries:
            return paragraph("No pose of the slices is within limits: nothing was measured.")
        measure, kind, number, _ = min(entries, key=lambda entry: entry[0])
        near = "is met" if measure < MET else "is near" if measure < NEAR else "is the nearest"
        leg = f", leg {number['leg']}" if number["leg"] else ""
        parts = [
            paragraph(
                f"Within limits a {kind} singularity {near}: measure {short(measure, 3)} at "
                f"{self._pose(number['at'])}{leg} ({_MEANING[kind].format(self.mover)})."
            ),
            paragraph("Measures are inverse condition numbers: 1 at best, 0 at a singularity.", "quiet"),
        ]
        for cut in self.slices:
            rows = [
                [
                    text(name),
                    short(entry["measure"], 3),
                    text(self._pose(entry["at"])),
                    text(entry["leg"] or "–"),
                ]
                for name, entry in cut.numbers.items()
            ]
            parts.append(paragraph(f"Over {' and '.join(cut.over)}:"))
            parts.append(table(["kind", "lowest measure>", "at", "leg"], rows))
            parts.append(said_by(cut.command))
        return "".join(parts)

    def _pose(self, x: list[float]) -> str:
        return ", ".join(
            f"{name} = {short(value, 3)}" for name, value in zip(self.coordinates, x, strict=True)
        )


def singular(subject: Subject) -> Singular:
    """Measure how near the slices of a robot come to singularities.

    Raises:
        NacelleError: if no pose near the reference is reached within limits.
    """
    cuts = []
    for cut, grid in subject.slices:
        data = workspace_data(grid, singular=True)
        command = subject.command("workspace", *cut.arguments, "--singularities")
        cuts.append(NearestSingularities(command, grid.names, data["singularities"]))
    return Singular(tuple(cuts), layout_of(subject.robot.motion).x_names, subject.robot.mover)
