"""How data sheets name a robot in commands."""

from __future__ import annotations

import dataclasses
import shlex

import nacelle
from nacelle.report.sheet.subject import subject_of


def test_commands_name_the_robot_so_that_a_shell_runs_them() -> None:
    robot = nacelle.load("fivebar")
    assert subject_of(robot).command("ops", "jacobian") == "nacelle ops fivebar jacobian"
    named = subject_of(dataclasses.replace(robot, name="a 'b' $(c)"))
    assert shlex.split(named.command("show")) == ["nacelle", "show", "a 'b' $(c).yaml"]
    assert not named.described
    changed = robot.with_parameters(1.1 * robot.parameter_vector("inertia"), "inertia")
    assert subject_of(changed).source == "fivebar.yaml"
