"""What the check of the description warns of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from nacelle.errors import LISTED
from nacelle.page.markup import paragraph, table, text
from nacelle.report.sheet.content import said_by
from nacelle.report.sheet.subject import Subject


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
