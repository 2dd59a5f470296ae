"""Angular dampers as data: their number, their hash, their text."""

from __future__ import annotations

from dataclasses import replace

import nacelle
from nacelle.model.damper import Damper


def test_dampers_are_numbers_of_the_robot_and_keep_their_hash_in_text() -> None:
    plain = nacelle.load("fivebar")
    robot = replace(plain, dampers=(Damper("grease", (0, 2), 0.3), Damper("oil", (2, 3), 0.5)))
    assert robot.hash != plain.hash
    assert robot.parameter_names("drive")[-2:] == ("dampers.grease.damping", "dampers.oil.damping")
    moved = robot.with_parameters(2.0 * robot.parameter_vector("drive"), "drive")
    assert [damper.damping for damper in moved.dampers] == [0.6, 1.0]
    text = robot.to_yaml()
    assert text.startswith("format: nacelle/2")
    assert nacelle.loads(text).hash == robot.hash
