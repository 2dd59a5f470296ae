"""Tables of results that have more to say."""

from __future__ import annotations

import nacelle
from nacelle.report.notebook.particular import tables
from support.library import library_robot


def test_tables() -> None:
    robot = library_robot("fivebar")
    mobility = nacelle.mobility(robot)
    text = "".join(tables(mobility))
    assert all(nacelle.page.markup.text(words) in text for words in mobility.sentences())
    base = nacelle.base_parameters(robot)
    assert f"{len(base.kept)} base parameters" in "".join(tables(base))
    assert tables(nacelle.reference_pose(robot)) == []
