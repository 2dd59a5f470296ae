"""Springs between bodies as data: their numbers, their hash, their text."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import nacelle
from nacelle.model.line_spring import LineSpring
from support.compliant import with_all


def test_tension_is_stiffness_times_stretch() -> None:
    spring = LineSpring("s", (0, 1), (np.zeros(3), np.zeros(3)), 200.0, 0.3)
    assert spring.pull(0.4) == 200.0 * (0.4 - 0.3)


def test_springs_stops_and_rotors_are_numbers_of_the_robot_and_keep_their_hash_in_text() -> None:
    robot = with_all(nacelle.load("delta")).alike
    names = robot.parameter_names()
    assert {"springs.s0.first.x", "springs.s0.stiffness", "springs.s0.length", "springs.s0.damping"} <= set(
        names
    )
    assert sum(name.endswith(".stop.stiffness") for name in names) == 3
    vector = robot.parameter_vector()
    assert robot.with_parameters(vector).hash == robot.hash
    moved = robot.with_parameters(1.01 * robot.parameter_vector("drive"), "drive")
    assert moved.springs[0].stiffness == 1.01 * robot.springs[0].stiffness
    assert moved.hash != robot.hash
    text = robot.to_yaml()
    assert text.startswith("format: nacelle/2")
    assert nacelle.loads(text).hash == robot.hash
    assert replace(robot, springs=()).hash != robot.hash
