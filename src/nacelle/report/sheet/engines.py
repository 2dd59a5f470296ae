"""Verification: the same robot in other engines, as `nacelle verify` compares it.

The comparison is made elsewhere (`nacelle.verify`) and handed in as plain data.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from nacelle.errors import NacelleError
from nacelle.model.robot import Robot
from nacelle.page.markup import bullets, element, paragraph, table, text
from nacelle.report.sheet.content import said_by, short
from nacelle.report.sheet.subject import Subject


class EngineComparison(Protocol):
    """What a comparison with other engines gives (`nacelle.verify.Report`)."""

    def as_dict(self) -> dict[str, Any]:
        """The comparison as plain data."""


# Compares a robot with other engines.
Verifier = Callable[[Robot], EngineComparison]


@dataclass(frozen=True, eq=False)
class Engines:
    """A comparison with other engines.

    Attributes:
        command: the command that makes it.
        numbers: what it prints.
    """

    command: str
    numbers: dict[str, Any]

    def data(self) -> dict[str, Any]:
        """The comparison as `nacelle verify` gives it."""
        return {"command": self.command, **self.numbers}

    def markup(self) -> str:
        """The verdict, and the largest error of every quantity beside what is allowed."""
        data = self.numbers
        names = " and ".join(f"{engine['engine']} {engine['version']}" for engine in data["engines"])
        words = "agrees with" if data["ok"] else "does not agree with"
        verdict = element(
            "div",
            paragraph(f"nacelle {words} {names}."),
            paragraph(
                f"{data['states']} random states of the workspace (seed {data['seed']}), condition number of "
                f"the scaled Jacobian up to {short(data['condition'], 3)}."
            ),
            kind=f"verdict {'good' if data['ok'] else 'poor'}",
        )
        notes = [f"{engine['engine']}: {note}." for engine in data["engines"] for note in engine["notes"]]
        return said_by(self.command) + verdict + engine_table(data) + bullets(notes)


def engine_table(comparison: dict[str, Any]) -> str:
    """The largest relative error of every quantity, an engine a column.

    Args:
        comparison: `nacelle.verify.Report.as_dict()`.
    """
    engines = comparison["engines"]
    entries = [{q["name"]: q for q in engine["quantities"]} for engine in engines]
    names = list(dict.fromkeys(name for listed in entries for name in listed))
    rows = []
    for name in names:
        allowed = next(listed[name]["tolerance"] for listed in entries if name in listed)
        rows.append([text(name), f"{allowed:.0e}", *(_error(listed.get(name)) for listed in entries)])
    heads = [text(f"{engine['engine']} {engine['version']}") + ">" for engine in engines]
    return table(["largest relative error", "allowed>", *heads], rows)


def _error(quantity: dict[str, Any] | None) -> str:
    if quantity is None:
        return "–"
    shown = "no number" if quantity["error"] is None else f"{quantity['error']:.1e}"
    return shown if quantity["ok"] else element("strong", f"{shown} fails")


def engines(subject: Subject, verifier: Verifier | None) -> Engines:
    """Compare a robot with other engines.

    Args:
        subject: the robot.
        verifier: what compares it, such as `nacelle.verify.verify`; None if nothing does.

    Raises:
        NacelleError: if nothing compares it, engines are missing, or the robot cannot be rebuilt there.
    """
    command = subject.command("verify")
    if verifier is None:
        raise NacelleError(
            f"no other engine was asked; {command} compares the robot with Pinocchio and MuJoCo"
        )
    return Engines(command, verifier(subject.robot).as_dict())
