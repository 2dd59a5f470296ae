"""What a data sheet is about: a robot, how commands name it, and what several sections have in common."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from nacelle import robots
from nacelle.errors import DescriptionError, NacelleError, Problem
from nacelle.kinematics.mechanism.check import Check, check_robot
from nacelle.kinematics.pose_input import reference_pose
from nacelle.kinematics.workspace import Workspace, workspace
from nacelle.library import check
from nacelle.model.payload import carrying
from nacelle.model.read import read_text
from nacelle.model.robot import Robot
from nacelle.report.sheet.motion import StandardMotion, standard_motion
from nacelle.report.sheet.slices import SliceRanges, slices
from nacelle.report.summary import summary
from nacelle.spatial.scalar import Array

# Commands that depend on what the robot carries.
_LOADED = (
    "dynamics",
    "reactions",
    "linearise",
    "modes",
    "balance",
    "verify",
    "simulate",
    "control",
    "base",
    "ops",
)


@dataclass(frozen=True, eq=False)
class Subject:
    """A robot and how it is named on the command line.

    Attributes:
        check: what the checks say of the robot.
        source: name of a robot of the library or a file, as a command takes it.
        mode: one of its modes of operation; empty for its own.
        payload: which payloads it carries (`nacelle.carrying`); those of the description if none.
        problems: errors and warnings of the description, in none of its modes.
        described: whether `source` is there; otherwise the robot was made in Python, and has no file yet.
    """

    check: Check
    source: str
    mode: str = ""
    payload: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    described: bool = True

    @property
    def robot(self) -> Robot:
        """The robot, in its mode."""
        return self.check.robot

    def command(self, name: str, *arguments: str) -> str:
        """A command about the robot that a shell runs as it is: `nacelle NAME ROBOT ARGUMENTS`."""
        options = ["--mode", self.mode] if self.mode and name != "check" else []
        if name in _LOADED:
            options += [option for text in self.payload for option in ("--payload", text)]
        return shlex.join(["nacelle", name, self.source, *arguments, *options])

    @cached_property
    def summary(self) -> dict[str, Any]:
        """What `nacelle show` says."""
        return summary(self.check)

    @cached_property
    def reference(self) -> Array:
        """The reference pose (nx,)."""
        return reference_pose(self.robot)

    @cached_property
    def has_friction(self) -> bool:
        """Whether a joint has friction."""
        return any(axis for joint in self.robot.joints for axis in joint.friction)

    @cached_property
    def slices(self) -> tuple[tuple[SliceRanges, Workspace], ...]:
        """Slices through the workspace by the rule of `slices`, with their grids."""
        return tuple((cut, workspace(self.robot, cut.ranges)) for cut in slices(self.robot))

    @cached_property
    def motion(self) -> StandardMotion:
        """The motion along which drives are sized, by the rule of `motion`."""
        return standard_motion(self.robot)


def subject_of(robot: Robot | str, mode: str = "", payload: Sequence[str] = ()) -> Subject:
    """Read and check what a data sheet is about.

    Args:
        robot: a robot, the name of one of the library, or a YAML file.
        mode: one of its modes of operation; empty for its own.
        payload: which payloads it carries (`nacelle.carrying`); those of the description if none.

    Raises:
        NacelleError: if there is no such robot, mode or payload, or its description is wrong.
    """
    if isinstance(robot, Robot):
        source, described = _source(robot)
        checked = check_robot(robot)
    else:
        source, described = str(robot), True
        checked = check(robot)
    problems = checked.problems
    if mode:
        try:
            checked = check_robot(checked.robot.in_mode(mode))
        except KeyError as error:
            raise NacelleError(str(error.args[0])) from None
    if checked.errors:
        raise DescriptionError(checked.errors)
    if payload:
        checked = check_robot(carrying(checked.robot, *payload))
    return Subject(checked, source, mode, tuple(payload), problems, described)


def _source(robot: Robot) -> tuple[str, bool]:
    """How a command names a robot that was made in Python: by the library, or by a file yet to be written."""
    if robot.name in robots.all_names():
        shipped, _ = read_text(robots.text(robot.name), f"{robot.name}.yaml")
        if shipped.hash == robot.hash:
            return robot.name, True
    return f"{robot.name}.yaml", False
