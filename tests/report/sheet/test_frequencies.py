"""Natural frequencies on a data sheet: a rigid robot without springs has none."""

from __future__ import annotations

from nacelle.report.sheet.frequencies import frequencies
from nacelle.report.sheet.subject import subject_of


def test_a_rigid_robot_says_why_it_has_none() -> None:
    made = frequencies(subject_of("fivebar"))
    assert "the robot is rigid" in made.markup()
    assert "no joint has a spring" in made.linear["reason"]
