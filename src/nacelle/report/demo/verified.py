"""The step `verified`: the robot beside itself in other engines."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from nacelle.page.markup import folded, paragraph, table, text
from nacelle.report.demo.parts import log_dots

# What is printed on the screen; the page has everything.
_PRINTED = ("inverse dynamics", "forward dynamics")


@dataclass(frozen=True)
class Agreement:
    """How an engine agrees.

    Attributes:
        engine: its name.
        version: its version.
        errors: largest relative error of each quantity over all states, by its name.
    """

    engine: str
    version: str
    errors: dict[str, float]


@dataclass(frozen=True)
class Verified:
    """A robot compared with other engines.

    Attributes:
        robot: its title.
        states: random states that were compared.
        agreements: one for each engine that is installed.
        missing: engines that are not installed.
        commands: what gives the numbers.
    """

    robot: str
    states: int
    agreements: tuple[Agreement, ...]
    missing: tuple[str, ...]
    commands: tuple[str, ...]

    @property
    def worst(self) -> float:
        """The largest relative error of all; zero without an engine."""
        return max((error for one in self.agreements for error in one.errors.values()), default=0.0)

    @property
    def claim(self) -> str:
        """What the step shows."""
        if not self.agreements:
            return f"Not compared: {self.absence()}"
        engines = " and ".join(f"{one.engine} {one.version}" for one in self.agreements)
        return (
            f"{engines}, built from the same description, give the same motion, forces and energies at "
            f"{self.states} random states: the largest relative error is {self.worst:.1e}."
        )

    def absence(self) -> str:
        """Which engines are missing, and how to get them; empty if none is."""
        if not self.missing:
            return ""
        verb = "are" if len(self.missing) > 1 else "is"
        return f"{' and '.join(self.missing)} {verb} not installed (pip install 'nacelle[verify]')."

    def rows(self) -> list[tuple[str, list[float]]]:
        """Quantities with the error of each engine; NaN where an engine does not compute one."""
        names = list(dict.fromkeys(name for one in self.agreements for name in one.errors))
        return [(name, [one.errors.get(name, float("nan")) for one in self.agreements]) for name in names]

    def lines(self) -> list[str]:
        """The result on a screen."""
        if not self.agreements:
            return [self.claim]
        head = "".join(f"{f'{one.engine} {one.version}':>18}" for one in self.agreements)
        shown = [row for row in self.rows() if row[0] in _PRINTED]
        shown.append(
            (f"largest of {len(self.rows())} quantities", [self.largest(one) for one in self.agreements])
        )
        lines = [f"{f'relative error, {self.states} states':<28}{head}"]
        lines += [f"{name:<28}{''.join(f'{error:>18.1e}' for error in errors)}" for name, errors in shown]
        return lines + ([self.absence()] if self.missing else [])

    @staticmethod
    def largest(agreement: Agreement) -> float:
        """The largest error of an engine."""
        return max(agreement.errors.values())

    def content(self) -> list[str]:
        """The result in a page."""
        if not self.agreements:
            return []
        engines = [f"{one.engine} {one.version}" for one in self.agreements]
        rows = self.rows()
        parts = [
            log_dots(
                rows,
                engines,
                x="largest relative error over all states (1 is 100 %)",
                title="How far the other engines are from nacelle; numbers have about 16 digits.",
            ),
            folded(
                f"All {len(rows)} quantities, largest relative errors",
                table(
                    ["quantity", *(f"{text(engine)}>" for engine in engines)],
                    [[text(name), *map(_cell, errors)] for name, errors in rows],
                ),
            ),
        ]
        return [*parts, paragraph(self.absence())] if self.missing else parts

    def data(self) -> dict[str, Any]:
        """The numbers as plain data."""
        return {
            "states": self.states,
            "engines": [asdict(one) for one in self.agreements],
            "missing": list(self.missing),
        }


def _cell(error: float) -> str:
    """An error in a table; nothing where an engine does not compute the quantity."""
    if math.isnan(error):
        return ""
    return f"{error:.1e}" if error else "0"
