"""Tables of notebooks: sound, short HTML with the numbers of the result; names are escaped."""

from __future__ import annotations

from html.parser import HTMLParser

import numpy as np
import pytest

import nacelle
from support.library import library_robot
from support.results import all_results, result_names, results, some_poses, with_names


class Sound(HTMLParser):
    """Elements that are closed in the order in which they are opened."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)
        if tag not in ("img", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("name", result_names())
def test_every_result_has_a_table(name: str) -> None:
    result = all_results()[name]()
    tags = Sound(result._repr_html_()).tags
    assert "table" in tags
    assert tags.count("tr") < 130
    assert len(repr(result)) < 3000


def test_names_are_escaped() -> None:
    robot = with_names(library_robot("fivebar"), ["<script>alert(1)</script>", '"&'])
    for name in ("Robot", "InverseDynamics", "InverseKinematics, many", "Reactions", "Sizing"):
        text = results(robot)[name]()._repr_html_()
        assert "script" not in Sound(text).tags
        assert "&lt;script&gt;" in text


def test_numbers_and_flags() -> None:
    robot = library_robot("fivebar")
    found = nacelle.inverse_dynamics(robot, some_poses(robot))
    text = found._repr_html_()
    assert "1 of 5 samples are flagged: 1 unreachable" in text
    assert f"{np.nanmax(found.force[:, 0]):.4g}" in text
    assert "N m" in text
