"""A step of the demonstration as it came out: a result, or why there is none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

DONE, FAILED, STOPPED, LEFT = "done", "failed", "stopped", "not run"


class Result(Protocol):
    """What a step has computed, to be printed, shown and handed to programs."""

    @property
    def claim(self) -> str:
        """What the step shows, one sentence of plain words."""

    @property
    def commands(self) -> tuple[str, ...]:
        """The commands that give its numbers."""

    def lines(self) -> list[str]:
        """The result on a screen, plain words."""

    def content(self) -> list[str]:
        """The result in a page, markup: figures and tables."""

    def data(self) -> dict[str, Any]:
        """The numbers as plain data, SI units."""


@dataclass(frozen=True)
class DemoStep:
    """A step of the demonstration.

    Attributes:
        key: its anchor in the page.
        title: plain words.
        state: `DONE`, `FAILED`, `STOPPED` (Ctrl-C) or `LEFT` (not begun).
        seconds: how long it took.
        result: what it has computed; None if there is none.
        message: why there is none.
    """

    key: str
    title: str
    state: str = LEFT
    seconds: float = 0.0
    result: Result | None = None
    message: str = ""

    def data(self) -> dict[str, Any]:
        """The step as plain data."""
        own = {"step": self.key, "title": self.title, "state": self.state, "seconds": self.seconds}
        if self.message:
            own["message"] = self.message
        return own | ({} if self.result is None else {"result": self.result.data()})


@dataclass(frozen=True)
class DemoTask:
    """A step to be done: its anchor, its title, and what computes it."""

    key: str
    title: str
    compute: Callable[[], Result]
