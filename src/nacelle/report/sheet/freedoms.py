"""Mobility: how the robot can move, by counting and by rank, in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from nacelle.errors import NacelleError
from nacelle.page.markup import bullets
from nacelle.report.sheet.content import figures, said_by
from nacelle.report.sheet.subject import Subject


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
