"""Mobility on a data sheet."""

from __future__ import annotations

from nacelle.report.sheet.freedoms import freedoms
from nacelle.report.sheet.subject import subject_of


def test_planar_robots_are_counted_in_the_plane_too() -> None:
    made = freedoms(subject_of("fivebar"))
    assert made.data()["mobility"]["counted_planar"] == 2
    assert "counted in the plane" in made.markup()
    assert "counted in the plane" not in freedoms(subject_of("delta")).markup()
