"""Long work says what it does: the hook, and what the command line shows."""

from __future__ import annotations

import pytest

import nacelle
from nacelle.progress import reported_to, task


class Heard:
    """A listener that writes down what it hears."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def begin(self, what: str) -> None:
        self.lines.append(f"begin {what}")

    def part(self, done: float) -> None:
        self.lines.append(f"part {done:g}")

    def end(self) -> None:
        self.lines.append("end")


def test_tasks_reach_the_listener_of_their_block() -> None:
    heard = Heard()
    with task("nobody listens") as report:
        report(0.5)
    with reported_to(heard):
        with task("outer"), task("inner") as report:
            report(0.25)
        with pytest.raises(ZeroDivisionError), task("fails"):
            raise ZeroDivisionError
    with task("nobody listens any more"):
        pass
    assert heard.lines == ["begin outer", "begin inner", "part 0.25", "end", "end", "begin fails", "end"]


def test_workspaces_and_runs_report() -> None:
    robot, heard = nacelle.load("fivebar"), Heard()
    with reported_to(heard):
        nacelle.workspace(robot, {"x": (-0.05, 0.05, 3), "y": (0.25, 0.3, 3)})
        nacelle.simulate(robot, [0.0, 0.28], until=0.002, method="rk4")
    assert "begin 9 poses of fivebar" in heard.lines
    assert "begin simulating fivebar" in heard.lines
    assert "part 1" in heard.lines
