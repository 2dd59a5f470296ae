from __future__ import annotations

import os
from pathlib import Path

import pytest

import nacelle
from nacelle.robots import text
from nacelle.view.watch import Watched, in_mode


def test_a_file_is_read_when_it_has_changed(tmp_path: Path) -> None:
    file = tmp_path / "own.yaml"
    file.write_text(text("fivebar"), encoding="utf-8")
    watched = Watched(file)
    robot = watched.load()
    assert watched.changed() is None
    file.write_text(text("fivebar") + "\nwrong: 1\n", encoding="utf-8")
    reading = watched.changed()
    assert reading is not None
    assert reading.robot is None
    assert "own.yaml:" in reading.problems[0]
    assert watched.changed() is None
    file.unlink()
    assert watched.changed() is None
    file.write_text(text("fivebar"), encoding="utf-8")
    os.utime(file, (1.0, 1.0))
    mended = watched.changed()
    assert mended is not None
    assert mended.robot is not None
    assert mended.robot.hash == robot.hash


def test_robots_of_the_library_never_change_and_modes_are_checked() -> None:
    watched = Watched("fivebar")
    robot = watched.load()
    assert watched.changed() is None
    with pytest.raises(nacelle.NacelleError, match="nosuch"):
        in_mode(robot, "nosuch")
