"""The page of a study: what it holds, that names stay words, and that a brush reaches every chart."""

from __future__ import annotations

import base64
import csv
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacelle.errors import NacelleError, UnreachableError
from nacelle.library import load
from nacelle.page import markup
from nacelle.spatial.scalar import Array
from nacelle.studies import page as study
from nacelle.studies.page import Design, Note, study_page
from nacelle.studies.statistics import Estimate, Sensitivity
from nacelle.studies.table import FAILED, OK, QUANTITY, SINGULAR, STATUSES, VARIABLE, Column, StudyTable
from support.browser import chromium_page, fits, until
from support.hostile_names import HOSTILE
from support.page_reader import PageReader

COLUMNS = (
    Column("radius", VARIABLE, "m", "of the base"),
    Column("length", VARIABLE, "m"),
    Column("ratio", VARIABLE),
    Column("mass", VARIABLE, "kg"),
    Column("torque", QUANTITY, "N m", "largest over the cycle", "minimise"),
    Column("condition", QUANTITY, goal="minimise"),
    Column("stiffness", QUANTITY, "N/m"),
    Column("share", QUANTITY),
)


def random_table(count: int = 1000, seed: int = 0) -> StudyTable:
    rng = np.random.default_rng(seed)
    values = rng.uniform(1.0, 2.0, (count, len(COLUMNS)))
    status = rng.choice([OK, OK, OK, SINGULAR, FAILED], count)
    values[status == FAILED, 4:] = np.nan
    values[rng.random(count) < 0.02, 6] = np.inf
    reason = np.where(status == FAILED, "legs 1 and 2 coincide", "")
    return StudyTable(COLUMNS, values, status, reason)


def page_data(page: str) -> dict[str, Any]:
    (text,) = re.findall(r'class="study-data">(.*?)</script>', page)
    return json.loads(text)


def numbers(text: str, kind: str) -> Array:
    return np.frombuffer(base64.b64decode(text), dtype=kind)


# ---- what the page holds


def test_the_page_has_its_sections_and_counts() -> None:
    table = random_table()
    front = np.array([3, 14, 15])
    text = study_page(table, title="Study", notes=[Note("Robot", "delta & others")], front=front)
    reader = PageReader(text)
    assert [value for name, value in reader.attributes if name == "href"] == [
        "#summary",
        "#front",
        "#parallel",
        "#histograms",
        "#variants",
    ]
    assert "Robot: delta & others" in reader.lines
    assert any(f"; {np.sum(table.status == OK)} are ok; 3 are on the Pareto front" in x for x in reader.lines)
    for code in (OK, SINGULAR, FAILED):
        number = int(np.sum(table.status == code))
        assert f"{STATUSES[code]} | {number} | {number / 10.0:.2g} %" in reader.lines
    assert f"{np.sum(table.status == FAILED)} times: legs 1 and 2 coincide" in reader.lines
    finite = table["stiffness"][np.isfinite(table["stiffness"])]
    row = next(line for line in reader.lines if line.startswith("stiffness"))
    assert row.split(" | ")[3:] == [
        str(len(finite)),
        *(f"{f(finite):.5g}" for f in (np.min, np.median, np.max)),
    ]
    # A drawing for readers without JavaScript: every variant that has both objectives, and the front.
    static = text.partition("<noscript>")[2].partition("</noscript>")[0]
    assert static.count("study-point") == int(np.sum(np.isfinite(table["torque"])))
    assert static.count("study-front") == int(np.sum(np.isfinite(table["torque"][front])))


def test_numbers_in_the_page_are_those_of_the_table() -> None:
    table = random_table(50)
    front = np.zeros(50, dtype=bool)
    front[[2, 40]] = True
    feasible = table["mass"] < 1.4
    data = page_data(study_page(table, title="Study", front=front, feasible=feasible))
    assert [column["name"] for column in data["columns"]] == [*table.names]
    for column, values in zip(data["columns"], table.values.T, strict=True):
        known = np.where(np.isfinite(values), values, np.nan)
        np.testing.assert_allclose(numbers(column["values"], "<f4"), known, rtol=1e-7)
    np.testing.assert_array_equal(numbers(data["status"], "u1"), table.status)
    np.testing.assert_array_equal(numbers(data["rows"], "<u4"), np.arange(50))
    np.testing.assert_array_equal(numbers(data["front"], "u1"), front)
    np.testing.assert_array_equal(numbers(data["feasible"], "u1"), feasible)
    assert (data["axes"], data["map"]) == ([4, 5], [0, 1, 4])


@pytest.mark.parametrize("shape", [(0, 2), (1, 2), (30, 1), (5, 3)])
def test_small_tables_have_a_page(shape: tuple[int, int]) -> None:
    columns = (Column("a", VARIABLE), Column("q", QUANTITY), Column("r", QUANTITY))[: shape[1]]
    table = StudyTable(columns, np.full(shape, np.nan), np.full(shape[0], FAILED), np.full(shape[0], "why"))
    text = study_page(table, title="Study")
    assert len(numbers(page_data(text)["rows"], "<u4")) == shape[0]
    assert "nan" not in PageReader(text).text.lower()


def test_rows_that_are_not_there_are_refused() -> None:
    table = random_table(10)
    with pytest.raises(NacelleError, match="not in the table"):
        study_page(table, title="Study", front=np.array([10]))
    with pytest.raises(NacelleError, match="not in the table"):
        study_page(table, title="Study", designs=[Design(12, load("fivebar"), "best")])


@given(st.integers(1, 300), st.sets(st.integers(0, 299)), st.sets(st.integers(0, 299), max_size=5))
def test_the_page_of_many_variants_holds_the_front_and_an_even_subset(
    count: int, front: set[int], best: set[int]
) -> None:
    first, chosen = (np.array(sorted(k for k in rows if k < count), dtype=int) for rows in (front, best))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(study, "MAX_ROWS", 100)
        rows = study._page_rows(count, first, chosen)
    assert np.all(np.diff(rows) > 0)
    assert len(rows) == min(count, 100)
    assert np.isin(chosen, rows).all()
    assert np.isin(first, rows).sum() >= min(len(first), 50)
    if count > 100 and len(first) < 20:
        assert np.max(np.diff([-1, *rows, count])) <= 3 * (count / (100 - len(first) - len(chosen)) + 1)


def test_a_subset_is_named_on_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study, "MAX_ROWS", 100)
    table = random_table(1000)
    text = study_page(table, title="Study", front=np.array([17, 512]))
    data = page_data(text)
    rows = numbers(data["rows"], "<u4")
    assert rows[numbers(data["front"], "u1") == 1].tolist() == [17, 512]
    np.testing.assert_allclose(numbers(data["columns"][1]["values"], "<f4"), table["length"][rows], rtol=1e-7)
    assert "table of variants hold 100 of them: the best designs, 2 of the front" in PageReader(text).text
    assert "Variants: 1000" in PageReader(text).text


def test_bars_show_sensitivities() -> None:
    """Variables by size, from zero, 130 pixels for 1; of Sobol indices two bars each, 260 pixels for 1."""
    half = [Estimate(value, value - 0.1, value + 0.1) for value in (0.1, -0.9, np.nan, 0.5)]
    unknown = (Estimate(np.nan, np.nan, np.nan),) * 4
    ranks = [Sensitivity("torque", tuple(half)), Sensitivity("share", unknown)]
    text = study_page(random_table(100), title="Study", sensitivities=ranks)
    chart = text.partition('id="sensitivities"')[2].partition("</section>")[0]
    assert re.findall(r">(radius|length|ratio|mass)<", chart) == ["length", "mass", "radius", "ratio"]
    bars = re.findall(r'<rect.*?x="([\d.]*)".*?width="([\d.]*)"', chart)
    assert bars == [("153.0", "117.0"), ("270.0", "65.0"), ("270.0", "13.0")]
    assert "Rank correlations" in chart
    assert "share" not in chart
    sobol = Sensitivity("torque", (Estimate(0.25, 0.0, 2.0),) * 4, (Estimate(0.5, np.nan, np.nan),) * 4)
    text = study_page(random_table(100), title="Study", sensitivities=[sobol])
    chart = text.partition('id="sensitivities"')[2].partition("</section>")[0]
    assert re.findall(r'<rect.*?width="([\d.]*)"', chart) == ["65.0", "130.0"] * 4
    # Intervals end where the axis does.
    assert len(re.findall(r'<line[^>]*x1="140.0"[^>]*x2="400.0"', chart)) == 4
    assert "Sobol indices): blue alone" in chart
    assert "sensitivities" not in study_page(random_table(100), title="Study")


# ---- names stay words, and nothing but the page's own scripts runs


def test_hostile_names_are_words() -> None:
    names = [*HOSTILE, "</script><script>alert(1)</script>", "--><!--", "[bar]x", "a>", "'\"", "\u200f\u05d0"]
    columns = tuple(
        Column(name, VARIABLE if k % 2 else QUANTITY, name[:9], name, "minimise")
        for k, name in enumerate(names)
    )
    values = np.random.default_rng(1).random((len(names), len(names)))
    table = StudyTable(columns, values, np.full(len(names), FAILED), np.array(names))
    robot = load("fivebar")
    text = study_page(
        table,
        title="</title><script>alert(2)</script>",
        notes=[Note(name, name) for name in names],
        front=np.arange(3),
        designs=[Design(k, robot, names[-6 + k]) for k in range(2)],
        sensitivities=[Sensitivity(name, (Estimate(0.5, 0.0, 1.0),) * (len(names) // 2)) for name in names],
    )
    text.encode("utf-8")
    reader = PageReader(text)
    # Data of the charts and of the figure in space, and the two scripts that draw them.
    assert reader.tags.count("script") == 4
    assert "alert" not in "".join(value for name, value in reader.attributes if name.startswith("on"))
    assert not set("\u202e\u2066\x00") & set(text)
    shown = [column["name"] for column in page_data(text)["columns"]]
    assert shown[-6:] == names[-6:]
    assert "\u202e" not in "".join(shown)


def test_only_its_own_scripts_run() -> None:
    text = study_page(random_table(20), title="Study")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == f"'sha256-{markup.script_hash(markup.script('study'))}'"
    reader = PageReader(text)
    assert not [name for name, _ in reader.attributes if name.startswith("on") or name == "src"]
    assert "three" not in rules["script-src"]
    assert len(text) < 80_000


# ---- designs in space


def test_designs_stand_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    table = random_table(100)
    delta, fivebar = load("delta"), load("fivebar")
    rest = study.motion_at_rest

    def refuse_fivebar(robot: object) -> object:
        if robot is fivebar:
            raise UnreachableError("leg left does not reach")
        return rest(robot)

    monkeypatch.setattr(study, "motion_at_rest", refuse_fivebar)
    designs = [Design(7, delta, "lightest"), Design(3, fivebar, "odd"), Design(-1, delta, "stiffest")]
    text = study_page(table, title="Study", front=np.array([7]), designs=designs)
    assert page_data(text)["designs"] == [{"at": 7, "item": 0}, {"at": 3, "item": -1}, {"at": 99, "item": 1}]
    (scene,) = re.findall(r'class="scene-data">(.*?)</script>', text)
    items = json.loads(scene)["items"]
    assert [item["name"] for item in items] == ["1 lightest", "3 stiffest"]
    # No two robots meet: the frames of their bodies are apart along the row.
    row = np.array(study._TO_THE_RIGHT[None])
    ends = [
        (numbers(item["position"], "<f4").reshape(-1, 3) + np.array(item["offset"])) @ row for item in items
    ]
    assert np.max(ends[0]) < np.min(ends[1])
    reader = PageReader(text)
    assert "2 odd is not drawn: leg left does not reach" in reader.text
    cells = [f"{table['torque'][design.row]:.5g}".replace("nan", "not known") for design in designs]
    assert f"torque | N m | {' | '.join(cells)}" in reader.lines


# ---- in a browser

AXIS = 48.0  # of the first column, pixels from the left
COUNT = "document.querySelector('.study-bar output').textContent"
PIXELS = "document.querySelector('.study-{} canvas:nth-of-type(2)').toDataURL()"
# How much of the figure in space is covered.
COVERED = (
    "(() => { const pixels = document.createElement('canvas').getContext('2d');"
    " pixels.drawImage(document.querySelector('.scene-view canvas'), 0, 0, 300, 150);"
    " return pixels.getImageData(0, 0, 300, 150).data.reduce((sum, n, k) => sum + (k % 4 === 3) * n); })()"
)


def drag(page: Any, chart: str, start: tuple[float, float], stop: tuple[float, float]) -> None:
    """Drag from point to point of a chart, in parts of its width and height."""
    canvas = page.locator(f".study-{chart} canvas").last
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    points = [(box["x"] + a * box["width"], box["y"] + b * box["height"]) for a, b in (start, stop)]
    page.mouse.move(*points[0])
    page.mouse.down()
    page.mouse.move(*points[1], steps=3)
    page.mouse.up()


def selected(page: Any) -> int:
    return int(page.evaluate(COUNT).split()[0])


@pytest.mark.slow
def test_a_brush_reaches_every_chart(tmp_path: Path) -> None:
    table, robot = random_table(), load("fivebar")
    # As a 32-bit number 1.3 is less than 1.3; typed, it counts nevertheless.
    table.values[0, [0, 4]] = 1.3
    designs = [Design(k, robot, f"number {k}") for k in (5, 6)]
    file = tmp_path / "study.html"
    file.write_text(study_page(table, title="Study", front=np.arange(4), designs=designs), encoding="utf-8")
    with chromium_page(1200, 900) as page:
        page.goto(file.as_uri())
        until(page, f"{COUNT} === '1000 of 1000 selected'")
        until(page, "document.querySelector('figure.scene3d')?.dataset.ready === 'true'")
        assert fits(page)
        opaque = page.evaluate(COVERED)
        before = {chart: page.evaluate(PIXELS.format(chart)) for chart in ("scatter", "map", "histograms")}
        # The upper half of the first axis.
        first = AXIS / page.locator(".study-parallel").bounding_box()["width"]
        drag(page, "parallel", (first, 0.0), (0.1, 0.51))
        until(page, f"!{COUNT}.startsWith('1000')")
        low = float(page.get_by_label("radius (m) from").input_value())
        assert 1.4 < low < 1.6
        assert page.get_by_label("radius (m) to").input_value() == f"{np.max(table['radius']):.5g}"
        assert selected(page) == pytest.approx(np.sum(table["radius"] >= low), abs=1)
        for chart, picture in before.items():
            until(page, f"{PIXELS.format(chart)} !== {json.dumps(picture)}")
        page.set_viewport_size({"width": 800, "height": 900})
        assert fits(page)
        # A typed end is exact; failed variants have no torque and drop out.
        page.get_by_label("radius (m) from").fill("1.3")
        page.get_by_label("torque (N m) ↓ to").fill("1.75")
        page.keyboard.press("Enter")
        chosen = (table["radius"] >= 1.3) & (table["torque"] <= 1.75)
        until(page, f"{COUNT} === '{np.sum(chosen)} of 1000 selected'")
        assert [chosen[5], chosen[6]] == [True, False]
        assert page.evaluate(COVERED) < 0.8 * opaque
        until(
            page,
            f"document.querySelector('.study-table p').textContent.startsWith('200 of {np.sum(chosen)}')",
        )
        page.wait_for_timeout(300)
        with page.expect_download() as download:
            page.get_by_role("button", name="Download").click()
        head, *lines = csv.reader(Path(download.value.path()).read_text(encoding="utf-8").splitlines())
        assert head[:2] == ["variant", "radius [m]"]
        assert [int(line[0]) for line in lines] == np.flatnonzero(chosen).tolist()
        read = np.array([line[1:-1] for line in lines], dtype=float)
        known = np.where(np.isfinite(table.values[chosen]), table.values[chosen], np.nan)
        np.testing.assert_allclose(read, known, rtol=6e-7)
        page.get_by_role("button", name="Clear").click()
        until(page, f"{COUNT} === '1000 of 1000 selected'")
        page.get_by_label("singular").uncheck()
        until(page, f"{COUNT} === '{np.sum(table.status != SINGULAR)} of 1000 selected'")
        drag(page, "scatter", (0.3, 0.3), (0.6, 0.6))
        until(page, f"{COUNT}.split(' ')[0] < 300")
        assert selected(page) > 0


# Notes the numbers that charts draw, with the left end of each.
WATCH = """
const fillText = CanvasRenderingContext2D.prototype.fillText;
window.drawn = [];
CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
  const width = this.measureText(text).width, part = { left: 0, center: 0.5, right: 1 }[this.textAlign];
  const chart = this.canvas.parentElement.querySelector("[role=img]");
  drawn.push([chart.getAttribute("aria-label"), text, x - part * width]);
  return fillText.call(this, text, x, y);
};
"""


@pytest.mark.slow
def test_numbers_of_any_size_are_on_the_axes(tmp_path: Path) -> None:
    """Two ticks or more with one exponent, none cut off; and a filter of what is feasible."""
    values = np.random.default_rng(2).uniform(-0.99e-4, 0.99e-4, (500, 4))
    scales = (1.0, 1.0, 1e4, 1e10)
    columns = tuple(Column(name, VARIABLE, "m") for name in ("small", "other", "one", "large"))
    table = StudyTable(columns, values * scales, np.full(500, OK), np.full(500, ""))
    feasible = values[:, 0] > 0.0
    file = tmp_path / "study.html"
    file.write_text(study_page(table, title="Study", feasible=feasible), encoding="utf-8")
    with chromium_page(1200, 900) as page:
        page.add_init_script(WATCH)
        page.goto(file.as_uri())
        until(page, f"{COUNT} === '500 of 500 selected'")
        until(page, "drawn.some(([chart]) => chart.startsWith('Histogram of large'))")
        page.get_by_label(f"feasible only ({feasible.sum()})").check()
        until(page, f"{COUNT} === '{feasible.sum()} of 500 selected'")
        caption = "document.querySelector('.study-table p').textContent"
        until(page, f"{caption} === '200 of {feasible.sum()} selected variants.'")
        drawn = page.evaluate("drawn")
        page.get_by_role("button", name="Clear").click()
        until(page, f"{COUNT} === '500 of 500 selected'")
    assert min(left for _, _, left in drawn) >= 0.0
    for name, mark in {"small": "50e-6", "one": "0.5", "large": "500e3"}.items():
        texts = {text for chart, text, _ in drawn if chart.startswith(f"Histogram of {name}")}
        assert texts == {f"-{mark}", "0", mark}


@pytest.mark.slow
def test_the_tables_need_no_script(tmp_path: Path) -> None:
    file = tmp_path / "study.html"
    file.write_text(study_page(random_table(), title="Study", front=np.arange(4)), encoding="utf-8")
    with chromium_page(800, java_script_enabled=False) as page:
        page.goto(file.as_uri())
        assert page.locator("#front svg").is_visible()
        assert page.locator("#summary table").first.is_visible()
        assert not page.locator(".study-bar").is_visible()
