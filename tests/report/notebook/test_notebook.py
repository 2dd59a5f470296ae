"""Notebook: attributes, page, particular, robot."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.errors import NacelleError
from nacelle.report.draw import canvas
from nacelle.report.notebook.attributes import meanings
from nacelle.report.notebook.particular import tables
from support.library import library_robot
from support.page_reader import PageReader
from support.results import all_results, result_names, results, some_poses, with_names

# ---- Words about attributes: from docstrings; values in few words


def test_meanings_are_those_of_the_docstrings() -> None:
    listed = meanings(nacelle.InverseDynamics)
    assert listed["force"].startswith("force or torque of every actuator (..., actuators), N or N m")
    assert set(listed) >= {"robot", "x", "force", "flags"}
    assert "times" in meanings(nacelle.Sizing)


# ---- Tables of notebooks: sound, short HTML with the numbers of the result; names are escaped


@pytest.mark.parametrize("name", result_names())
def test_every_result_has_a_table(name: str) -> None:
    result = all_results()[name]()
    tags = PageReader(result._repr_html_()).tags
    assert "table" in tags
    assert tags.count("tr") < 130
    assert len(repr(result)) < 3000


def test_names_are_escaped() -> None:
    robot = with_names(library_robot("fivebar"), ["<script>alert(1)</script>", '"&'])
    for name in ("Robot", "InverseDynamics", "InverseKinematics, many", "Reactions", "Sizing"):
        text = results(robot)[name]()._repr_html_()
        assert "script" not in PageReader(text).tags
        assert "&lt;script&gt;" in text


def test_numbers_and_flags() -> None:
    robot = library_robot("fivebar")
    found = nacelle.inverse_dynamics(robot, some_poses(robot))
    text = found._repr_html_()
    assert "1 of 5 samples are flagged: 1 unreachable" in text
    assert f"{np.nanmax(found.force[:, 0]):.4g}" in text
    assert "N m" in text


def test_tables() -> None:
    """Tables of results that have more to say."""
    robot = library_robot("fivebar")
    mobility = nacelle.mobility(robot)
    text = "".join(tables(mobility))
    assert all(nacelle.page.markup.text(words) in text for words in mobility.sentences())
    base = nacelle.base_parameters(robot)
    assert f"{len(base.kept)} base parameters" in "".join(tables(base))
    assert tables(nacelle.reference_pose(robot)) == []


def test_a_robot_without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    """A robot in a notebook: its actuators, and a picture where there can be one."""

    def missing(name: str) -> object:
        raise NacelleError('pictures need matplotlib: pip install "nacelle[plot]"')

    monkeypatch.setattr(canvas, "mpl", missing)
    text = library_robot("fivebar")._repr_html_()
    assert "no picture: pictures need matplotlib" in text
    assert "left.motor" in text
