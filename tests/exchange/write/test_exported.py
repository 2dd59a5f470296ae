"""Exporting a robot: files, their names, and that nothing is written where something is wrong."""

from pathlib import Path

import mujoco as mj
import pytest

import nacelle
from nacelle.exchange.write.exported import _WRITERS
from nacelle.export.export import ROBOT_TARGETS
from support.library import library_robot


def test_files_and_their_names(tmp_path: Path) -> None:
    robot = library_robot("fivebar")
    done = nacelle.export_robot(robot, "urdf", out=tmp_path)
    assert [file.name for file in done.files] == ["fivebar.urdf", "fivebar.yaml"]
    assert done.files[0].read_text() == done.text
    named = nacelle.export_robot(robot, "mjcf", out=tmp_path / "mine.xml", name="my robot!")
    assert mj.MjModel.from_xml_path(str(named.files[0])).nu == 2
    assert '<mujoco model="my-robot">' in named.text
    assert nacelle.export_robot(robot, "sdf").files == ()


def test_nothing_is_replaced_or_half_written(tmp_path: Path) -> None:
    robot = library_robot("fivebar")
    beside = tmp_path / "a.yaml"
    beside.write_text("mine")
    with pytest.raises(nacelle.ExportError, match=r"a\.yaml is there already"):
        nacelle.export_robot(robot, "urdf", out=tmp_path / "a.urdf")
    with pytest.raises(nacelle.ExportError, match="beside the robot"):
        nacelle.export_robot(robot, "urdf", out=tmp_path / "b.yaml")
    with pytest.raises(nacelle.ExportError, match="there is no folder"):
        nacelle.export_robot(robot, "mjcf", out=tmp_path / "c" / "d.xml")
    with pytest.raises(nacelle.ExportError, match="did you mean 'mjcf'"):
        nacelle.export_robot(robot, "mjfc", out=tmp_path / "e.xml")
    assert [file.name for file in tmp_path.iterdir()] == ["a.yaml"]
    assert beside.read_text() == "mine"
    nacelle.export_robot(robot, "urdf", out=tmp_path / "a.urdf", force=True)
    assert beside.read_text() != "mine"


def test_one_list_of_formats() -> None:
    assert tuple(_WRITERS) == ROBOT_TARGETS
    with pytest.raises(nacelle.ExportError, match="export_robot writes it"):
        nacelle.export(library_robot("fivebar"), "inverse_dynamics", out="x", target="mjcf")
