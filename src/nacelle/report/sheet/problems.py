"""What the check of the description warns of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from nacelle.page.markup import paragraph, table, text
from nacelle.report.sheet.content import said_by
from nacelle.report.sheet.subject import Subject


@dataclass(frozen=True, eq=False)
class Problems:
    """Warnings of the check.

    Attributes:
        command: the command that prints them.
        problems: they.
    """

    command: str
    problems: list[dict[str, Any]]

    def data(self) -> dict[str, Any]:
        """Warnings as `nacelle check` gives them."""
        return {"command": self.command, "count": len(self.problems), "problems": self.problems}

    def markup(self) -> str:
        """A table of warnings, or that there are none."""
        if not self.problems:
            return said_by(self.command) + paragraph("The check of the description warns of nothing.")
        rows = [
            [text(problem["path"]), text(problem["message"]), text(problem["hint"])]
            for problem in self.problems
        ]
        return said_by(self.command) + table(["place", "warning", "hint"], rows)


def problems(subject: Subject) -> Problems:
    """Give the warnings of the check."""
    return Problems(subject.command("check"), subject.summary["problems"])
