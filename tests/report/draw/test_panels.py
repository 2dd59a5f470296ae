"""Panels: of many entries the largest are drawn; bars have the numbers."""

from __future__ import annotations

import numpy as np

from nacelle.report.draw.panels import MOST_CURVES, draw_bars, draw_panels, panels_of, runs
from nacelle.report.results.quantity import quantity_of_rows
from support.drawings import figure_axes


def test_of_many_entries_the_largest_are_drawn() -> None:
    sizes = np.arange(40.0)
    values = sizes * np.ones((3, 1))
    (panel,) = panels_of([quantity_of_rows("forces", [(f"joint {k}", "N") for k in range(40)], values)])
    assert panel.largest(MOST_CURVES) == list(range(40 - MOST_CURVES, 40))
    (ax,) = draw_panels([panel], shown=False).axes
    assert ax.get_title(loc="right").startswith(f"{MOST_CURVES} of 40")


def test_bars() -> None:
    ax = figure_axes(True)
    draw_bars(ax, ["a", "b", "c"], {"": np.array([2.0, np.nan, 1e-20])}, numbers=True)
    assert [bar.get_width() for bar in ax.patches] == [2.0, 0.0, 1e-20]
    assert [text.get_text() for text in ax.texts] == ["2", "no result", "0"]


def test_runs() -> None:
    assert list(runs(np.array([True, False, True, True]))) == [(0, 1), (2, 4)]
