"""The step `counted`: operations of a model beside those that are published."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from nacelle.page.markup import table, text
from nacelle.report.demo.parts import ChartBar, bar_chart
from nacelle.report.operations import Operations


@dataclass(frozen=True)
class CountedOperations:
    """Operations of the inverse dynamics of a robot.

    Attributes:
        operations: the count, with what is published.
        commands: what gives the numbers.
    """

    operations: Operations
    commands: tuple[str, ...]

    @property
    def claim(self) -> str:
        """What the step shows."""
        own, others = self.operations.total, self.operations.published
        words = f"From the pose to all drive forces nacelle needs {own} operations"
        if not others:
            return f"{words}."
        least = min(others, key=lambda entry: entry.total)
        return f"{words}, {100.0 * own / least.total:.0f} % of the {least.total} of {least.source}."

    def _stages(self) -> list[tuple[str, list[tuple[str, int, int]]]]:
        """Who counted, and the stages of each: name, +/-, x and ÷."""
        own = [(stage.name, stage.add, stage.mul) for stage in self.operations.stages]
        total = (("all", self.operations.count.add, self.operations.count.mul),)
        listed = [("nacelle", own or list(total))]
        return listed + [(entry.source, list(entry.stages)) for entry in self.operations.published]

    def lines(self) -> list[str]:
        """The result on a screen."""
        lines = [
            f"{self.operations.total:>5} nacelle, {self.operations.model.replace('_', ' ')} with friction"
        ]
        lines += [f"{entry.total:>5} {entry.source}, {entry.contains}" for entry in self.operations.published]
        return lines

    def content(self) -> list[str]:
        """The result in a page."""
        stages = self._stages()
        names = list(dict.fromkeys(name for _, listed in stages for name, _, _ in listed))
        bars = []
        for who, listed in stages:
            sums = {name: float(add + mul) for name, add, mul in listed}
            bars.append(ChartBar(who, tuple(sums.get(name, 0.0) for name in names)))
        rows = [
            [text(who), text(name), str(add), str(mul), str(add + mul)]
            for who, listed in stages
            for name, add, mul in listed
        ]
        return [
            bar_chart(bars, names, "Additions and products of the inverse dynamics with friction."),
            table(["counted by", "part", "+ and −>", "× and ÷>", "together>"], rows),
        ]

    def data(self) -> dict[str, Any]:
        """The numbers as plain data."""
        return self.operations.data()
