"""Numbers beside each other: bars of engines and of published counts."""

from __future__ import annotations

from nacelle.report.draw.compared import plot_agreement
from support.drawings import figure_axes
from support.results import agreement


def test_errors_of_engines_beside_what_is_allowed() -> None:
    ax = plot_agreement(agreement(), ax=figure_axes(True))
    assert [bar.get_width() for bar in ax.patches] == [3e-12, 0.0, 3e-12, 2e-8]
    assert "does not agree" in ax.get_title()
    assert ax.get_xscale() == "log"
