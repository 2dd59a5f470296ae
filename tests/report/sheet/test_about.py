"""The head of a data sheet."""

from __future__ import annotations

from nacelle.report.sheet.about import about
from nacelle.report.sheet.subject import subject_of


def test_the_figure_moves_and_sources_are_named() -> None:
    made = about(subject_of("fivebar"))
    assert made.moves
    assert "[OAM]" in made.markup()
    assert "scene-data" in made.figure
