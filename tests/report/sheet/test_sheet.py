"""Sheet.

sheet, about, content, counts, drives, engines, freedoms, frequencies, masses, motion, parameters,
problems, region, singular, slices, structure, subject.
"""

from __future__ import annotations

import dataclasses
import json
import math
import multiprocessing
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nacelle
from nacelle.errors import MAX_PROBLEMS_LISTED, NacelleError, Problem
from nacelle.model.robot import Robot
from nacelle.report.sheet import loads
from nacelle.report.sheet.models import (
    engine_table,
    operation_section,
    operations_table,
    parameter_section,
)
from nacelle.report.sheet.region import describe_nearest_singularity, slice_map
from nacelle.report.sheet.sheet import TITLES, DataSheet, background_worker, data_sheet, make_sections
from nacelle.report.sheet.structure import problem_section, structure_section
from nacelle.report.sheet.subject import demonstration_motion, subject_of
from nacelle.report.summary import leg_letters
from nacelle.report.table import plain_table, table_html
from nacelle.scene.slices import round_limits, slice_coordinates, standard_slices
from support import described
from support.browser import chromium_page, fits, until
from support.page_reader import PageReader
from support.refusing import refuse_comparison

# ---- Data sheets: sections that fail say why, hostile names stay names, and a browser opens the page

HOSTILE = "</script><img src=x onerror=alert(1)>&\"'`$(rm)\u202e"

CHEAP = ("robot", "structure", "mobility", "workspace", "check")


def hostile(robot: Robot) -> Robot:
    """The robot with a hostile name, and hostile names of all its parts."""

    def renamed(parts: Any) -> Any:
        return tuple(dataclasses.replace(part, name=f"{HOSTILE}{k}") for k, part in enumerate(parts))

    parts = {name: renamed(getattr(robot, name)) for name in ("bodies", "joints", "legs", "actuators")}
    return dataclasses.replace(robot, name=HOSTILE, title=HOSTILE, sources=(HOSTILE,), **parts)


def test_hostile_names_stay_names(tmp_path: Path) -> None:
    sheet = data_sheet(hostile(nacelle.load("fivebar")), sections=CHEAP)
    read = PageReader(sheet.html())
    assert "img" not in read.tags
    shown = HOSTILE.replace("\u202e", "�")
    assert f"Data sheet of {shown}" in read.text
    assert f"{shown}0 - " in read.text  # a body in the table of joints
    assert json.loads(sheet.json())["robot"] == HOSTILE
    assert "made in Python" in read.text
    file = sheet.save(tmp_path / "sheet.html")
    with pytest.raises(NacelleError, match="exists already"):
        sheet.save(file)


def test_a_section_that_fails_says_why_and_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    from nacelle.report.sheet import sheet as module

    def refused(subject: object) -> object:
        raise NacelleError("the moon is <full>")

    def broken(subject: object) -> object:
        return {}["nothing"]

    makers = {**module._MAKERS, "workspace": refused, "mobility": broken}
    monkeypatch.setattr(module, "_MAKERS", makers)
    sheet = data_sheet("fivebar", sections=["mobility", "workspace", "verification", "check"], verifier=None)
    assert [part.name for part in sheet.sections] == ["mobility", "workspace", "verification", "check"]
    words = PageReader(sheet.html()).text
    assert "This section could not be made: the moon is <full>." in words
    assert "unexpected KeyError" in words
    assert "nacelle verify fivebar compares the robot" in words
    assert sheet["check"].data()["problems"] == []
    assert sheet.data()["sections"]["workspace"] == {"reason": "the moon is <full>"}


def test_sections_that_are_done_remain_after_an_interruption() -> None:
    subject = subject_of("fivebar")
    made = make_sections(subject, tuple(TITLES))
    sheet = DataSheet(subject, (next(made), next(made)), ("mobility",))
    words = PageReader(sheet.html()).text
    assert "what is missing: Mobility" in words
    assert "left.proximal-input" in words
    with pytest.raises(NacelleError, match=r"no section is called .structur.; .*structure"):
        data_sheet("fivebar", sections=["structur"])


@pytest.mark.slow
def test_a_browser_opens_the_page_and_the_robot_moves(tmp_path: Path) -> None:
    sheet = data_sheet("fivebar", sections=CHEAP)
    assert sheet._repr_html_().startswith('<iframe srcdoc="&lt;!DOCTYPE html&gt;')
    file = sheet.save(tmp_path / "sheet.html")
    place = "document.querySelector('input[type=range]').value"
    with chromium_page(390) as page:
        page.goto(file.as_uri())
        assert fits(page)
        before = page.evaluate(place)
        until(page, f"{place} != {before!r}")
        page.locator("nav a", has_text="Workspace").click()
        assert page.locator("#workspace svg.map").is_visible()
        page.set_viewport_size({"width": 1280, "height": 900})
        assert fits(page)


@pytest.mark.slow
def test_it_prints(tmp_path: Path) -> None:
    """On A4 paper nothing is cut, folded tables are open, the robot keeps its proportion."""
    file = data_sheet("fivebar", sections=CHEAP).save(tmp_path / "sheet.html")
    with chromium_page(690) as page:
        page.goto(file.as_uri())
        until(page, "document.querySelector('.scene-view canvas') !== null")
        page.emulate_media(media="print")
        assert fits(page)
        cut = "e => e.scrollWidth > e.clientWidth + 1"
        assert page.evaluate(f"[...document.querySelectorAll('.wide')].filter({cut}).length") == 0
        folded = "[...document.querySelectorAll('details > :not(summary)')].map(e => e.offsetHeight)"
        assert min(page.evaluate(folded)) > 20
        shape = page.evaluate(
            "(c => [c.width / c.height, c.clientWidth / c.clientHeight])"
            "(document.querySelector('.scene-view canvas'))"
        )
        assert shape[1] == pytest.approx(shape[0], rel=0.01)
        assert not page.is_visible(".scene-bar")


def test_published_counts_are_beside_ours() -> None:
    """Operation counts on a data sheet, beside published ones."""
    count = nacelle.operation_count(nacelle.load("3rrr"), "jacobian")
    page = operations_table((("nacelle ops 3rrr jacobian", count),))
    assert f"<strong>{count.total}</strong>" in page
    assert "93: HybrDyn" in page


def test_limits_are_shown_and_a_missing_motion_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    """Actuators on a data sheet: without a motion the reason is given."""
    from nacelle.report.sheet import subject as module

    def refused(robot: Robot) -> object:
        raise NacelleError("it <cannot> move")

    monkeypatch.setattr(module, "standard_motion", refused)
    made = loads.actuator_section(subject_of("delta"))
    assert "60 N m" in made.markup
    assert "There is no standard motion: it &lt;cannot&gt; move." in made.markup
    assert made.data["motion"] == {"reason": "it <cannot> move"}


def test_a_quantity_that_fails_or_is_missing_is_seen() -> None:
    """The table of engines: what fails is seen."""

    def quantity(name: str, error: float | None, ok: bool) -> dict[str, object]:
        return {"name": name, "error": error, "tolerance": 1e-9, "ok": ok}

    one = {"engine": "a", "version": "1", "quantities": [quantity("q", 1e-3, False)]}
    two = {"engine": "b", "version": "2", "quantities": [quantity("r", None, False)]}
    shown = engine_table({"engines": [one, two]})
    assert "<strong>1.0e-03 fails</strong>" in shown
    assert "<strong>no number fails</strong>" in shown
    assert shown.count("–") == 2


def test_sums_and_reasons(monkeypatch: pytest.MonkeyPatch) -> None:
    """Masses on a data sheet: sums, and reasons where forces are not determined."""

    def refused(*_: object, **__: object) -> object:
        raise NacelleError("too few actuators")

    monkeypatch.setattr(loads, "size_motors", refused)
    monkeypatch.setattr(loads, "peak_reactions", refused)
    page = loads.mass_section(subject_of("delta")).markup
    assert f"{sum(body.mass for body in nacelle.load('delta').bodies):.4g} kg" in page
    assert page.count("Not determined: too few actuators.") == 2


@pytest.mark.parametrize("name", ["fivebar", "c5"])
def test_the_shown_motion_is_within_limits_and_closed(name: str) -> None:
    """Motions that are chosen: within reach, and the same as the command's."""
    robot = nacelle.load(name)
    times, x = demonstration_motion(robot)
    assert np.all(nacelle.inverse_kinematics(robot, x).ok)
    np.testing.assert_allclose(x[-1], x[0], atol=1e-9)
    assert len(times) == len(x) > 40
    # Every coordinate moves, by little from one time to the next.
    assert np.all(np.ptp(x, axis=0) > 0.01)
    assert np.max(np.abs(np.diff(x, axis=0))) < 0.15


def test_counts_are_those_of_the_base_parameters() -> None:
    """Base parameters on a data sheet."""
    base = nacelle.base_parameters(nacelle.load("fivebar"))
    page = parameter_section(subject_of("fivebar")).markup
    assert f"All {len(base)} base parameters" in page
    assert page.count("<tr>") == len(base) + 1


def test_warnings_beyond_the_first_are_counted() -> None:
    """Warnings on a data sheet."""
    subject = subject_of("fivebar")
    warning = Problem("a.yaml", 1, 1, "legs", "<too> heavy", "weigh it", "warning")
    page = problem_section(
        dataclasses.replace(subject, problems=(warning,) * (MAX_PROBLEMS_LISTED + 2))
    ).markup
    assert "&lt;too&gt; heavy" in page
    assert "2 more are not listed." in page
    assert "warns of nothing" in problem_section(subject).markup


def test_hatched_where_limits_are_exceeded_empty_out_of_reach() -> None:
    """Maps of slices: cells are coloured where the platform can be."""
    grid = nacelle.workspace(nacelle.load("fivebar"), {"x": (-0.5, 0.5, 21), "y": (-0.5, 0.5, 21)})
    page = slice_map(grid)
    assert 'fill="url(#hatch)" shape-rendering' in page
    assert "reached beyond limits" in page
    high = nacelle.workspace(nacelle.load("fivebar"), {"x": (-0.05, 0.05, 5), "y": (0.3, 0.35, 5)})
    assert "reached beyond limits" not in slice_map(high)
    assert page.count("<path d=") > slice_map(high).count("<path d=")


def test_the_nearest_is_named_with_its_leg() -> None:
    """Singularities on a data sheet: the nearest of all slices is named."""

    def entry(measure: float, leg: str = "") -> dict[str, object]:
        return {"measure": measure, "at": [0.5], "leg": leg}

    one = {"serial": entry(0.5, "left"), "parallel": entry(0.2)}
    two = {"serial": entry(1e-9, "right"), "parallel": entry(0.3)}
    words = describe_nearest_singularity([one, two], ("x",), "mechanism")
    assert "a serial singularity is met: measure 1e-09 at x = 0.5, leg right" in words
    assert "it moves while the mechanism rests" in words
    assert "nothing was measured" in describe_nearest_singularity([], ("x",), "platform")


# ---- Slices: which coordinates, and ranges that hold all that is within limits


def test_coordinates_come_in_pairs_of_one_unit() -> None:
    assert slice_coordinates(nacelle.load("gough-stewart")) == [("x", "y"), ("x", "z"), ("rx", "ry")]
    assert slice_coordinates(nacelle.load("3rps")) == [("z",), ("rx", "ry")]
    assert slice_coordinates(nacelle.load("3rrr")) == [("x", "y"), ("rz",)]


def test_nothing_within_limits_lies_outside_the_slice() -> None:
    robot = nacelle.load("fivebar")
    (cut,) = standard_slices(robot)
    assert not cut.open
    (ax, bx, _), (ay, by, _) = cut.ranges.values()
    wide = nacelle.workspace(robot, {"x": (-1.0, 1.0, 101), "y": (-1.0, 1.0, 101)})
    x, y = wide.x[wide.inside_limits].T
    assert ax <= x.min() + 1e-9 < x.max() - 1e-9 <= bx
    assert ay <= y.min() + 1e-9 < y.max() - 1e-9 <= by
    # And little more than that.
    assert np.all(np.array([bx - ax, by - ay]) < 1.3 * np.array([np.ptp(x), np.ptp(y)]))


def test_ranges_are_round_and_the_same_for_commands() -> None:
    assert round_limits(-0.1234, 0.5671, False) == ("-0.13:0.57", (-0.13, 0.57))
    words, ends = round_limits(-math.pi, math.pi, True)
    assert words == "-180deg:180deg"
    assert np.allclose(ends, [-math.pi, math.pi])


# ---- Types of legs by letters, with the drive underlined


@pytest.mark.parametrize(
    ("name", "letters"), [("gough-stewart", "U(P)S"), ("delta", "(R)[SS|SS]"), ("fivebar", "(R)RR")]
)
def test_letters_of_legs(name: str, letters: str) -> None:
    robot = nacelle.load(name)
    shown = table_html(plain_table("leg", rows=[[leg_letters(robot, robot.legs[0])]]))
    assert f"<td>{letters.replace('(', '<u>').replace(')', '</u>')}</td>" in shown


def test_a_robot_without_legs_has_no_table_of_them() -> None:
    made = structure_section(subject_of(str(Path(described.__file__).with_name("differential_wrist.yaml"))))
    assert "0 legs" not in made.markup
    assert '<th scope="col">leg</th>' not in made.markup
    assert "no platform" in made.markup


def test_commands_name_the_robot_so_that_a_shell_runs_them() -> None:
    """How data sheets name a robot in commands."""
    robot = nacelle.load("fivebar")
    assert subject_of(robot).command("ops", "jacobian") == "nacelle ops fivebar jacobian"
    named = subject_of(dataclasses.replace(robot, name="a 'b' $(c)"))
    assert shlex.split(named.command("show")) == ["nacelle", "show", "a 'b' $(c).yaml"]
    assert not named.has_source
    changed = robot.with_parameters(1.1 * robot.parameter_vector("inertia"), "inertia")
    assert subject_of(changed).source == "fivebar.yaml"


# ---- A process beside this one makes the sections that take long

NAMES = ("check", "operations", "verification")


@pytest.mark.slow
def test_another_process_counts_the_same() -> None:
    subject = subject_of("prrrp")
    with background_worker(NAMES, "prrrp", verifier=refuse_comparison) as beside:
        assert beside is not None
        assert not beside.has("check")
        assert beside._answer.poll(300.0)
        assert beside.has("operations")
        made = beside.section("operations")
        assert made is not None
        assert made.content is not None
        assert made.content.data == operation_section(subject).data
        # The next one comes from there or is made here, with the same outcome.
        (last,) = make_sections(subject, NAMES[2:], refuse_comparison, worker=beside)
        assert last.reason == "prrrp is in no other engine"
    assert not multiprocessing.active_children()


@pytest.mark.slow
def test_what_is_begun_here_is_not_begun_there() -> None:
    with background_worker(NAMES, "prrrp", verifier=refuse_comparison) as beside:
        assert beside is not None
        assert not beside.has("operations")
        (process,) = multiprocessing.active_children()
        process.join()
        # Sent before the other process ended, and still there.
        assert beside.has("verification")
        made = beside.section("verification")
        assert made is not None
        assert made.reason == "prrrp is in no other engine"
        assert list(beside._sections) == ["verification"]


@pytest.mark.slow
def test_sections_that_are_made_elsewhere_come_last() -> None:
    subject = subject_of("prrrp")
    with background_worker(("robot", "operations"), "prrrp") as beside:
        assert beside is not None
        assert beside._answer.poll(300.0)
        made = list(make_sections(subject, ("operations", "check"), worker=beside))
        assert made[1] is beside._sections["operations"]
    assert [section.name for section in made] == ["check", "operations"]


@pytest.mark.slow
def test_what_a_robot_carries() -> None:
    """The other process has the robot with its payload, and says so in the commands."""
    subject = subject_of("prrrp", payload=("2 kg",))
    with background_worker(("check", "operations"), "prrrp", payload=("2 kg",)) as beside:
        assert beside is not None
        assert beside._answer.poll(300.0)
        made = beside.section("operations")
    assert made is not None
    assert made.content is not None
    assert made.content.markup == operation_section(subject).markup
    assert "--payload" in made.content.markup


@pytest.mark.slow
def test_a_process_that_ends_without_an_answer() -> None:
    """What is asked for is to be made here."""
    with background_worker(NAMES, "prrrp") as beside:
        assert beside is not None
        for process in multiprocessing.active_children():
            process.terminate()
            process.join()
        assert beside.section("operations") is None
    # A robot that is not there.
    with background_worker(NAMES, "no-such-robot") as beside:
        assert beside is not None
        for process in multiprocessing.active_children():
            process.join()
        assert beside.section("operations") is None


@pytest.mark.parametrize("names", [("robot", "structure"), ("operations",), ("verification", "check")])
def test_nothing_that_is_worth_a_process(names: tuple[str, ...]) -> None:
    with background_worker(names, "prrrp") as beside:
        assert beside is None
