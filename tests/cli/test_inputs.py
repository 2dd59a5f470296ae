"""Tables and options that ik and fk read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import nacelle
from support.command import run, run_json

pytestmark = pytest.mark.filterwarnings("error")


def test_tables_go_through_ik_and_fk() -> None:
    Path("poses.csv").write_text("t,x [mm],y,z\n0,0,0,-0.6\n1,100,0.02,-0.62\n2,3000,0,-0.6\n")
    run("ik", "delta", "--csv", "poses.csv", "--out", "joints.csv", code=3)
    lines = Path("joints.csv").read_text().splitlines()
    assert lines[0].startswith("t [s],x [m],y [m],z [m],leg1.motor [rad]")
    assert lines[3].endswith(",nan,nan,nan,2")
    Path("good.csv").write_text("\n".join(lines[:3]) + "\n")
    back = run_json("fk", "delta", "--csv", "good.csv")
    np.testing.assert_allclose(back["x"], [[0, 0, -0.6], [0.1, 0.02, -0.62]], atol=1e-14)
    # A line without a result keeps its place.
    again = run_json("fk", "delta", "--csv", "joints.csv", code=3)
    assert again["x"][2] == [None, None, None]
    assert (again["failed"], again["reasons"]) == (1, {"invalid": 1})
    assert run("fk", "delta", "--csv", "good.csv", "--out", "x.csv").stderr.splitlines()[-1] == (
        "2 lines, none is flagged"
    )
    Path("bad.csv").write_text("\n".join(lines[:2]).replace("0.518", "oops") + "\n")
    assert "bad.csv:2" in run("fk", "delta", "--csv", "bad.csv", code=1).stderr


def test_a_table_of_one_row() -> None:
    Path("one.csv").write_text("x,y,z\n0,0,-0.6\n")
    robot = nacelle.load("delta")
    found = run_json("ik", "delta", "--csv", "one.csv")
    assert found["actuators"] == [nacelle.inverse_kinematics(robot, [0, 0, -0.6]).actuators.tolist()]


def test_rows_with_gaps_keep_their_place() -> None:
    """Empty entries, nan and inf are flagged."""
    Path("gaps.csv").write_text(
        "t,x,y,z\n5,0,0,-0.6\n6,,0,-0.6\n# said\n7,nan,0,-0.6\n8,0,inf,-0.6\n9,0,0,-0.6\n"
    )
    run("ik", "delta", "--csv", "gaps.csv", "--out", "out.csv", code=3)
    lines = Path("out.csv").read_text().splitlines()[1:]
    assert [line.rsplit(",")[-1] for line in lines] == ["0", "1", "1", "1", "0"]
    assert [line.split(",")[0] for line in lines] == ["5.0", "6.0", "7.0", "8.0", "9.0"]
    assert lines[0].split(",")[1:] == lines[4].split(",")[1:]
    assert lines[1].split(",")[1:] == ["nan"] * 6 + ["1"]
    found = run_json("ik", "delta", "--csv", "gaps.csv", code=3)
    assert (found["failed"], found["reasons"]) == (3, {"invalid": 3})
    assert found["x"][1] == [None, None, None]


def test_quaternions_without_a_length_keep_their_place() -> None:
    Path("q.csv").write_text("x,y,z,qx,qy,qz,qw\n0,0,0.65,0,0,0,2\n0,0,0.65,0,0,0,0\n")
    found = run_json("ik", "palida", "--csv", "q.csv", code=3)
    assert found["x"][0][3:] == [0.0, 0.0, 0.0, 1.0]
    assert found["flags"][1] == ["invalid"]


def test_tables_with_all_joints_are_read_back() -> None:
    """A name is in a table once, with its unit; coordinates of spherical joints have none."""
    Path("poses.csv").write_text("x,y\n0.05,0.28\n0,0.3\n")
    run("ik", "fivebar", "--csv", "poses.csv", "--joints", "--out", "joints.csv")
    header = Path("joints.csv").read_text().splitlines()[0].split(",")
    names = [name.partition(" ")[0] for name in header]
    assert len(set(names)) == len(names)
    assert {name for name in header if not name.endswith("]")} == {"flags"}
    back = run_json("fk", "fivebar", "--csv", "joints.csv")
    np.testing.assert_allclose(back["x"], [[0.05, 0.28], [0.0, 0.3]], atol=1e-12)
