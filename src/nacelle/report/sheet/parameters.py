"""Base parameters: how many there are, and what each is a sum of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from nacelle.dynamics.base_parameters.base_parameters import BaseParameters, base_parameters
from nacelle.page.markup import folded, paragraph, table, text
from nacelle.report.sheet.content import figures, said_by, short
from nacelle.report.sheet.subject import Subject


@dataclass(frozen=True, eq=False)
class Parameters:
    """Base parameters of a robot.

    Attributes:
        command: the command that gives them.
        base: they.
        show: the command that counts all numbers of the robot.
        numbers: how many numbers the robot has, by group.
    """

    command: str
    base: BaseParameters
    show: str
    numbers: dict[str, int]

    def data(self) -> dict[str, Any]:
        """Base parameters as `nacelle base` gives them."""
        return {
            "base": {"command": self.command, **self.base.data()},
            "numbers": {"command": self.show, "parameters": self.numbers},
        }

    def markup(self) -> str:
        """Counts, then the groupings folded."""
        base = self.base
        rows = [
            [text(grouping), short(float(value), 6)]
            for grouping, value in zip(base.groupings, base.values.tolist(), strict=True)
        ]
        nothing = [name for name, effect in base.effects.items() if effect == "no effect"]
        sure = f"The rank has a gap of {base.gap:.0e}"
        if base.structural == len(base):
            sure += " and is what the rules of mechanics leave."
        else:
            sure += f"; the rules of mechanics leave {base.structural}."
        if not base.certain:
            sure += " It is in doubt: some parameters can hardly be distinguished."
        parts = [
            said_by(self.command),
            figures(
                (str(len(base)), "base parameters"),
                (str(len(base.choice.names)), "parameters that take part"),
                (str(len(base.rigid)), "of inertia, rotors, springs"),
                (str(len(base.friction)), "of friction"),
            ),
            paragraph(sure),
            folded(f"All {len(rows)} base parameters and what each is a sum of", _groupings(rows)),
        ]
        if nothing:
            parts.append(folded(f"{len(nothing)} parameters without effect", paragraph(", ".join(nothing))))
        return "".join(parts)


def _groupings(rows: list[list[str]]) -> str:
    return table(["[name]base parameter", "value (SI)>"], rows)


def parameters(subject: Subject) -> Parameters:
    """Find the base parameters of a robot."""
    base = base_parameters(subject.robot)
    return Parameters(subject.command("base"), base, subject.command("show"), subject.summary["parameters"])
