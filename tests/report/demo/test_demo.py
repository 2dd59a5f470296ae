"""Demo: circle, counted, exported, flexible, identified, parts, space, step, verified."""

from __future__ import annotations

import dataclasses
import math
import re
from pathlib import Path

import numpy as np
import pytest

from nacelle.kinematics.inverse import inverse_kinematics
from nacelle.kinematics.pose_input import reference_pose
from nacelle.library import load
from nacelle.report.demo.page import demo_page
from nacelle.report.demo.parts import ChartBar, bar_chart, log_dots
from nacelle.report.demo.space import drive_arrows
from nacelle.report.demo.step import FAILED, STOPPED, DemoStep
from nacelle.report.demo.verified import Agreement
from nacelle.scene.motion import still
from support.browser import chromium_page, fits, until
from support.demo_steps import flown, steps, verified

# ---- Errors along the circle


def test_errors_of_the_tool() -> None:
    result = flown()
    first, last = result.flights[0], result.flights[-1]
    by_hand = np.sqrt(np.mean(np.sum((first.tool - result.desired) ** 2, axis=1)))
    assert result.rms(first) == pytest.approx(by_hand)
    assert result.rms(first) / result.rms(last) == pytest.approx(25.0)
    assert "25 times as closely" in result.claim
    assert result.data()["tool_rms"]["sj"] == pytest.approx(by_hand)
    assert [line.split()[0] for line in result.lines()[1:]] == ["sj", "cf-rb", "cf-rb-friction"]


# ---- Bars and dots are where their numbers are


def test_bars_are_as_long_as_their_parts() -> None:
    chart = bar_chart([ChartBar("a<b", (30.0, 10.0)), ChartBar("c", (20.0, 0.0))], ["x", "y"], "title")
    wide = [
        float(w)
        for w in re.findall(r'width="([\d.]+)"[^>]*class="part|class="part p\d"[^>]*width="([\d.]+)"', chart)
        for w in w
        if w
    ]
    # Two squares of the legend, then the parts.
    np.testing.assert_allclose(np.array(wide[2:]) / wide[2], [1.0, 1 / 3, 2 / 3, 0.0], atol=1e-3)
    assert "a&lt;b" in chart


def test_dots_lie_on_a_logarithmic_axis() -> None:
    chart = log_dots([("q", [1e-15, 1e-13]), ("r", [0.0, math.nan])], ["one", "two"], x="error", title="t")
    places = [float(x) for x in re.findall(r'marker s\d"[^>]*translate\(([\d.]+) ', chart)]
    ticks = [float(x) for x in re.findall(r'x="([\d.]+)" y="[\d.]+" text-anchor="middle">1e', chart)]
    assert len(places) == 2 + 3
    np.testing.assert_allclose(places[2:], [ticks[0], ticks[-1], ticks[0]], atol=0.11)


# ---- Arrows of drives along their axes


def test_forces_point_along_the_struts() -> None:
    """On PaLiDA from the anchor of each strut in the base to that on the platform."""
    robot = load("palida")
    (arrows,) = drive_arrows(robot, still(robot), np.arange(1.0, 7.0)[None], 0.1)
    p = inverse_kinematics(robot, reference_pose(robot)).bodies.p
    for k, leg in enumerate(robot.legs):
        first, last = p[leg.bodies[0]], p[leg.bodies[-1]]
        strut = (last - first) / np.linalg.norm(last - first)
        np.testing.assert_allclose(arrows.vectors[0, k], (k + 1.0) * strut, atol=1e-12)
        beside = arrows.points[0, k] - last
        np.testing.assert_allclose([np.linalg.norm(beside), beside @ strut], [0.1, 0.0], atol=1e-12)


def test_torques_are_apart() -> None:
    (arrows,) = drive_arrows(load("fivebar"), still(load("fivebar")), np.array([[1.0, -2.0]]))
    assert arrows.unit == "N m"
    np.testing.assert_allclose(np.linalg.norm(arrows.vectors[0], axis=1), [1.0, 2.0])


def test_all_steps_are_plain_data() -> None:
    """Steps as plain data."""
    import json

    listed = json.loads(json.dumps([step.data() for step in steps()], allow_nan=False))
    assert all("result" in step and "message" not in step for step in listed)
    assert DemoStep("a", "A", FAILED, 1.0, None, "why").data() == {
        "step": "a",
        "title": "A",
        "state": "failed",
        "seconds": 1.0,
        "message": "why",
    }


def test_a_quantity_of_one_engine_alone() -> None:
    """Agreement with engines in words."""
    more = Agreement("mujoco", "4.0.0", {"own solver": 2e-13})
    result = dataclasses.replace(verified(), agreements=(verified().agreements[0], more))
    chart, cells = result.content()
    # Three quantities of one, one of the other: a mark each, and one each in the legend.
    assert chart.count("marker s0") == 4
    assert chart.count("marker s1") == 2
    assert "2.0e-13" in cells
    assert "nan" not in chart + cells


# ---- The page, as a reader opens it


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("demo") / "a report.html"
    file.write_text(demo_page(load("palida"), steps(), "0.1"), encoding="utf-8")
    return file


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 390])
def test_it_opens_and_moves(page_file: Path, width: int) -> None:
    """From file://, without a request, an error, or anything wider than the screen."""
    with chromium_page(width) as page:
        page.goto(page_file.as_uri())
        until(page, "document.querySelector('.scene-view canvas') !== null")
        clock = "document.querySelector('.scene-bar output').textContent"
        first = page.evaluate(clock)
        until(page, f"{clock} !== {first!r}")
        assert fits(page)
        assert page.evaluate("document.querySelectorAll('section').length") == 6
        assert page.evaluate("document.querySelectorAll('section svg').length") >= 5
        page.evaluate("location.hash = '#flexible'")
        assert "Table II" in page.text_content("#flexible svg")


@pytest.mark.slow
def test_it_prints(page_file: Path) -> None:
    """On A4 paper nothing is cut: commands wrap, folded tables are open, the robot keeps its proportion."""
    with chromium_page(690) as page:
        page.goto(page_file.as_uri())
        until(page, "document.querySelector('.scene-view canvas') !== null")
        page.emulate_media(media="print")
        assert fits(page)
        cut = "e => e.scrollWidth > e.clientWidth + 1"
        assert page.evaluate(f"[...document.querySelectorAll('pre, .wide')].filter({cut}).length") == 0
        folded = "[...document.querySelectorAll('details > :not(summary)')].map(e => e.offsetHeight)"
        heights = page.evaluate(folded)
        assert heights
        assert min(heights) > 20
        shape = page.evaluate(
            "(c => [c.width / c.height, c.clientWidth / c.clientHeight])"
            "(document.querySelector('.scene-view canvas'))"
        )
        assert shape[1] == pytest.approx(shape[0], rel=0.01)
        assert not page.is_visible(".scene-bar")


def test_what_failed_is_said() -> None:
    broken = [
        DemoStep("a", "Broken <1>", FAILED, 2.0, None, "no <engine>"),
        DemoStep("b", "Stopped", STOPPED, 1.0, None, "Ctrl-C"),
        DemoStep("c", "Later"),
    ]
    page = demo_page(load("palida"), broken, "0.1")
    assert "3 of 3 steps have no result" in page
    assert "no &lt;engine&gt;" in page
    assert "this step was not begun" in page
