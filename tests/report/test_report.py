"""Report.

flagged, formula, gallery, listing, lumping, operations, published, published frequencies, summary, table,
workspace.
"""

from __future__ import annotations

import dataclasses
import io
import json
import re
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import nacelle
from nacelle.errors import Problem
from nacelle.kinematics.mechanism.check import check_robot
from nacelle.report.flagged import flag_line
from nacelle.report.operations import operation_count
from nacelle.report.published import published_counts
from nacelle.report.summary import print_summary, problem_line, summary, tree_children
from nacelle.report.table import plain_table
from nacelle.report.workspace import workspace_data
from support import gallery
from support.gallery import draw_lumping
from support.library import NAMES, library_robot
from support.uncompiled import named_robot

# ---- Flagged samples in words


def test_legs_that_do_not_reach_are_named() -> None:
    robot = nacelle.load("delta")
    x = np.array([[0, 0, -0.6], [0.9, 0, -0.6], [np.nan, 0, 0], [0, 0, -3]])
    found = nacelle.inverse_kinematics(robot, x)
    short = np.count_nonzero((found.margins < 0.0) & (found.flags == 2)[:, None], axis=0)
    reported = flag_line(found.flags, "poses", robot, found.margins)
    legs = ", ".join(f"{leg.name}: {count}" for leg, count in zip(robot.legs, short, strict=True) if count)
    assert reported == f"3 of 4 poses are flagged: 1 invalid, 2 unreachable ({legs})"
    assert "leg1: 2" in legs


# ---- The gallery of the library and its page


@pytest.mark.slow
def test_the_gallery(tmp_path):
    first = gallery.write_gallery(tmp_path / "1", ["delta", "fivebar"])
    again = gallery.write_gallery(tmp_path / "2", ["delta", "fivebar"])
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in again]
    from matplotlib.image import imread

    assert imread(first[0]).shape[:2] == (592, 704)


def test_the_page_of_the_gallery_shows_the_library(request):
    page = request.config.rootpath / "docs" / "gallery.md"
    text = page.read_text(encoding="utf-8")
    maps = [(f"{name}-workspace-{'-'.join(over)}.png", name) for name, over in gallery.WORKSPACES]
    assert text == gallery.gallery_page([library_robot(name) for name in NAMES], "pictures", maps)
    pictures = list((page.parent / "pictures").glob("*.png"))
    assert {path.name for path in pictures} == {f"{name}.png" for name in NAMES} | {
        gallery.LUMPING,
        *(file for file, _ in maps),
        # On the page of natural frequencies, with the commands that draw them.
        "delta-flexible-mode.png",
        "delta-flexible-frequencies.png",
    }
    assert all(path.stat().st_size < 110_000 for path in pictures)


@pytest.mark.slow
def test_errors_are_on_the_picture(tmp_path: Path) -> None:
    """[CB1997] section 4.2: rods divided 2/3 and 1/3 are far better than rods that are left out."""
    path = draw_lumping(tmp_path / "lumping.svg")
    text = re.sub(r"<!--|-->", " ", path.read_text(encoding="utf-8"))
    divided = re.search(r"2/3 to the arm, 1/3 to the plate \(([\d.]+) % rms\)", text)
    without = re.search(r"rods left out \(([\d.]+) % rms\)", text)
    assert divided
    assert without
    assert 0.0 < float(divided[1]) < 0.2 * float(without[1])


def test_stages_add_up() -> None:
    """Counts of models: stages add up, and published counts stand beside."""
    found = operation_count(named_robot("fivebar"))
    assert found.total == found.count.total
    measured = operation_count(named_robot("fivebar"), input="elements")
    for one in (found, measured):
        if one.stages:
            assert sum(stage.add + stage.mul for stage in one.stages) == one.total
    data = found.data()
    assert data["robot"] == "fivebar"
    assert all(entry.total > found.total for entry in found.published_counts)


def test_the_nearest_singularities_of_a_grid() -> None:
    """Results as plain data: the nearest singularity of a grid is that of its poses."""
    robot = nacelle.load("fivebar")
    grid = nacelle.workspace(robot, {"x": (-0.2, 0.2, 9), "y": (0.1, 0.4, 9)})
    found = workspace_data(grid, singular=True)["singularities"]
    measured = nacelle.singularities(robot, grid.x[grid.inside_limits])
    assert found["parallel"]["measure"] == np.min(measured.parallel)
    assert found["serial"]["leg"] in ("left", "right")
    again = nacelle.singularities(robot, np.array(found["serial"]["at"]))
    assert np.isclose(np.min(again.serial), found["serial"]["measure"])


# ---- Published counts: those of the papers, and none where nobody has published one


def test_counts_of_the_papers() -> None:
    """[AGH2005]: 801 + and 1186 x; [OAM]: 404 + and 656 x from vision."""
    assert 801 + 1186 in {entry.total for entry in published_counts("palida", "inverse_dynamics", "pose")}
    assert 404 + 656 in {entry.total for entry in published_counts("fivebar", "inverse_dynamics", "elements")}
    assert published_counts("fivebar", "nothing", "pose") == ()
    for robot, source in product(("palida", "fivebar", "prrrp"), ("pose", "elements", "encoders")):
        for entry in published_counts(robot, "inverse_dynamics", source):
            assert sum(add + mul for _, add, mul in entry.stages) <= entry.total


@pytest.mark.parametrize("name", ["fivebar", "delta", "quattro"])
def test_numbers_fit(name: str) -> None:
    """A robot at a glance: numbers that fit the robot."""
    robot = library_robot(name)
    data = summary(nacelle.check(name))
    json.dumps(data)
    assert data["name"] == name
    assert len(data["legs"]) == len(robot.legs)
    assert len(data["joints"]) == len(robot.joints)
    tree = tree_children(robot)
    assert sorted(j for joints in tree.values() for j in joints) == list(range(robot.tree))
    for body, joints in tree.items():
        assert all(robot.joints[j].predecessor == body for j in joints)


def test_columns_move_together_where_there_is_little_room() -> None:
    """On a terminal as wide as cells with one blank between them no cell is folded."""
    cells = [f"{k}.25 N m" for k in range(9)]
    shown = {}
    for width in (120, 9 * len(cells[0]) + 8):
        table = plain_table(*(f"c{k}>" for k in range(9)))
        table.add_row(*cells)
        console = Console(width=width)
        with console.capture() as caught:
            console.print(table)
        shown[width] = [line.rstrip() for line in caught.get().splitlines()]
    wide, narrow = shown.values()
    assert wide[1] == "  ".join(cells)
    assert narrow[1] == " ".join(cells)
    assert len(wide) == len(narrow) == 2


def terminal_text(robot) -> str:
    console = Console(record=True, width=200, file=io.StringIO())
    print_summary(check_robot(robot), console)
    return console.export_text()


def test_names_are_no_markup() -> None:
    """The summary of a robot on a terminal: its numbers, and names that are no markup."""
    robot = dataclasses.replace(library_robot("fivebar"), name="[bold]x[/nothing]", title="[red]t")
    assert "[bold]x[/nothing]  [red]t" in terminal_text(robot)
    line = problem_line(Problem("a[b].yaml", 3, 4, "legs[0]", "no [x]", "write [y]", "warning"))
    console = Console(record=True, width=200, file=io.StringIO())
    console.print(line)
    assert console.export_text().strip() == "a[b].yaml:3:4: legs[0]: warning: no [x] (write [y])"
