"""The summary of a robot on a terminal: its numbers, and names that are no markup."""

from __future__ import annotations

import dataclasses
import io

from rich.console import Console

from nacelle.errors import Problem
from nacelle.kinematics.mechanism.check import check_robot
from nacelle.report.text import problem_line, show
from support.library import library_robot


def shown(robot) -> str:
    console = Console(record=True, width=200, file=io.StringIO())
    show(check_robot(robot), console)
    return console.export_text()


def test_everything_is_named() -> None:
    robot = library_robot("fivebar")
    text = shown(robot)
    for name in (*(joint.name for joint in robot.joints), *(body.name for body in robot.bodies)):
        assert name in text
    assert f"2 legs, {len(robot.bodies) - 1} moving bodies, {len(robot.joints)} joints" in text
    assert robot.hash[:16] in text
    for title in ("Legs", "Joints", "Actuators", "Bodies", "Mobility", "Parameters", "Platform"):
        assert f"\n{title}\n" in text
    assert " deg" in text
    assert " N m" in text


def test_names_are_no_markup() -> None:
    robot = dataclasses.replace(library_robot("fivebar"), name="[bold]x[/nothing]", title="[red]t")
    assert "[bold]x[/nothing]  [red]t" in shown(robot)
    line = problem_line(Problem("a[b].yaml", 3, 4, "legs[0]", "no [x]", "write [y]", "warning"))
    console = Console(record=True, width=200, file=io.StringIO())
    console.print(line)
    assert console.export_text().strip() == "a[b].yaml:3:4: legs[0]: warning: no [x] (write [y])"
