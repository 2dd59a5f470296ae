"""The library in a list: a row for each robot, with numbers that are its own."""

from __future__ import annotations

import nacelle
from nacelle.report.listing import library_rows
from support.library import library_robot


def test_rows_are_those_of_the_robots() -> None:
    rows = {row["name"]: row for row in library_rows()}
    assert set(rows) >= set(nacelle.robot_names())
    for name in ("fivebar", "quattro"):
        robot = library_robot(name)
        numbers = set(rows[name].values()) - {name}
        assert {len(robot.legs), len(robot.actuators)} <= {v for v in numbers if isinstance(v, int)}
        assert robot.motion.name in numbers
        assert robot.title in numbers
