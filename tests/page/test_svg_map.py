"""Maps: every cell is drawn once, in its own colour."""

from __future__ import annotations

import re

import numpy as np

from nacelle.page.svg_map import CellKind, MapPoint, map_chart


def test_areas_of_cells_are_those_of_the_map() -> None:
    places = (np.linspace(0.0, 3.0, 4), np.linspace(0.0, 2.0, 3))
    kind_of = np.array([[0, 0, -1], [0, 1, 1], [1, 1, 1], [-1, 0, 1]])
    page = map_chart(
        places,
        kind_of,
        [CellKind("<a>", "#123456"), CellKind("b")],
        labels=("x (m)", "y (m)"),
        marks=[MapPoint(1.0, 1.0, "here")],
    )
    assert "&lt;a&gt;" in page
    assert "here" in page
    areas = []
    for path in re.findall(r'<path d="(M[^"]*Z)"', page):
        boxes = re.findall(r"M([\d.]+) ([\d.]+)H([\d.]+)V([\d.]+)", path)
        areas.append(sum((float(c) - float(a)) * (float(d) - float(b)) for a, b, c, d in boxes))
    assert np.isclose(areas[0] / areas[1], np.sum(kind_of == 0) / np.sum(kind_of == 1), rtol=1e-2)
