"""Page: markup, svg, svg map."""

from __future__ import annotations

import base64
import hashlib
import html
import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacelle.page import markup
from nacelle.page.markup import document, escape_text, format_number, format_percent
from nacelle.page.svg import CellKind, ChartPanel, MapAxis, MapPoint, map_chart, span, ticks

# ---- What pages carry: a style and scripts that cannot end their own element, with their hashes


@pytest.mark.parametrize("name", markup.SCRIPTS)
def test_scripts_end_no_element_and_are_allowed_by_their_hash(name: str) -> None:
    code = markup.script(name)
    assert "</script" not in code.lower()
    assert "<!--" not in code
    page = document("t", scripts=(name,))
    (run,) = [part.partition("</script>")[0] for part in page.split("<script>")[1:]]
    assert base64.b64encode(hashlib.sha256(run.encode()).digest()).decode() in page.partition("<style>")[0]


def test_pages_without_scripts_run_none() -> None:
    page = document("a < b", "<p>c</p>")
    assert "<script" not in page
    assert "script-src 'none'" in page
    assert "<title>a &lt; b</title>" in page
    assert "</style" not in markup.style()


# ---- Words stay words: escaped, without signs that a page cannot hold; numbers without a value are words


@pytest.mark.slow
@given(st.text())
def test_any_text_is_shown_as_it_is(words: str) -> None:
    marked = escape_text(words)
    assert not set(marked) & set("<>\"'")
    kept = [
        a == b
        for a, b in zip(html.unescape(marked).replace("\r", " "), words.replace("\r", " "), strict=False)
    ]
    plain = [letter.isprintable() for letter in words]
    assert all(same for same, shown in zip(kept, plain, strict=False) if shown)
    marked.encode("utf-8")


def test_numbers() -> None:
    assert format_number(math.nan) == "not known"
    assert format_number(math.inf) == "unbounded"
    assert format_number(-math.inf) == "unbounded below"
    assert format_number(-0.0) == "0"
    assert format_number(-1234.5678) == "-1235"
    assert format_percent(0.01234) == "1.2 %"
    assert format_percent(math.inf) == "unbounded"
    assert format_percent(4.03) == "403 %"
    assert format_percent(1e6) == "over 10 000 %"


# ---- Axes and curves: round numbers, gaps, and many points in a pixel

FINITE = st.floats(-1e9, 1e9, allow_nan=False)


@given(FINITE, st.floats(1e-6, 1e9), st.integers(2, 12))
def test_ticks_are_round_and_within(low: float, width: float, most: int) -> None:
    high = low + width
    values = ticks(low, high, most)
    assert len(values) <= most + 1
    slack = 1e-6 * width + 1e-12 * abs(low)
    assert all(low - slack <= value <= high + slack for value in values)
    if len(values) > 1:
        step = values[1] - values[0]
        assert float(f"{step:.0e}"[0]) in (1.0, 2.0, 5.0) or width < 1e-9 * abs(low)


@given(st.lists(st.one_of(FINITE, st.just(np.nan), st.just(np.inf)), max_size=8))
def test_span_holds_all_finite_values(values: list[float]) -> None:
    low, high = span(np.array(values))
    assert low < high
    assert all(low <= value <= high for value in values if np.isfinite(value))
    low, high = span(np.array(values), around=0.0)
    assert low == -high


def test_curves_have_gaps_and_dots() -> None:
    panel = ChartPanel(0.0, 0.0, 100.0, 100.0, (0.0, 10.0), (0.0, 1.0))
    time = np.arange(11.0)
    path = panel.curve(time, time / 10.0, [slice(0, 3), slice(5, 6), slice(8, 8)], "x")
    assert path.count("M") == 2
    assert path.count("L") == 2
    assert "h0" in path
    assert panel.curve(time, time, [], "x") == ""


def test_many_points_in_a_pixel_keep_their_extremes() -> None:
    panel = ChartPanel(0.0, 0.0, 100.0, 100.0, (0.0, 1.0), (-1.0, 1.0))
    time = np.linspace(0.0, 1.0, 20001)
    values = 0.5 * np.sin(300.0 * time)
    values[7777] = 0.9
    values[15000] = -0.9
    path = panel.curve(time, values, [slice(0, len(time))], "x")
    points = np.array([[float(n) for n in pair] for pair in re.findall(r"[ML]([-\d.]+) ([-\d.]+)", path)])
    assert len(points) <= 2 * 101
    assert np.min(points[:, 1]) == 5.0
    assert np.max(points[:, 1]) == 95.0
    assert np.all(np.diff(points[:, 0]) >= 0.0)


def test_areas_of_cells_are_those_of_the_map() -> None:
    """Maps: every cell is drawn once, in its own colour."""
    kind_of = np.array([[0, 0, -1], [0, 1, 1], [1, 1, 1], [-1, 0, 1]])
    page = map_chart(
        MapAxis(np.linspace(0.0, 3.0, 4), "x (m)"),
        MapAxis(np.linspace(0.0, 2.0, 3), "y (m)"),
        kind_of,
        [CellKind("<a>", "#123456"), CellKind("b")],
        marks=[MapPoint(1.0, 1.0, "here")],
    )
    assert "&lt;a&gt;" in page
    assert "here" in page
    areas = []
    for path in re.findall(r'<path d="(M[^"]*Z)"', page):
        boxes = re.findall(r"M([\d.]+) ([\d.]+)H([\d.]+)V([\d.]+)", path)
        areas.append(sum((float(c) - float(a)) * (float(d) - float(b)) for a, b, c, d in boxes))
    assert np.isclose(areas[0] / areas[1], np.sum(kind_of == 0) / np.sum(kind_of == 1), rtol=1e-2)
