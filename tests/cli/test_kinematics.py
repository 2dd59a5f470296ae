"""Commands about poses: ik, fk and their tables, workspace."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nacelle
from support.command import run, run_json

pytestmark = pytest.mark.filterwarnings("error")


def test_ik_of_one_pose() -> None:
    found = run_json("ik", "delta", "--at", "x=100mm", "--at", "z=-0.55")
    robot = nacelle.load("delta")
    expected = nacelle.inverse_kinematics(robot, [0.1, 0.0, -0.55])
    assert list(found["actuators"].values()) == expected.q.tolist()
    assert set(found["joints"]) == {joint.name for joint in robot.joints}
    assert found["ok"] is True


@pytest.mark.slow
def test_ik_takes_rotations_and_modes() -> None:
    found = run_json("ik", "palida", "--at", "rz=10deg")
    assert found["pose"]["qz"] == pytest.approx(math.sin(math.radians(5)))
    assert run_json("ik", "quattro", "--at", "swing=20deg")["pose"]["swing"] == pytest.approx(
        math.radians(20)
    )
    assert set(run_json("ik", "dymo", "--mode", "planar")["pose"]) == {"x", "y", "rz"}


def test_large_tables_are_solved_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(3).uniform([-0.3, -0.3, -0.8], [0.3, 0.3, -0.4], (50, 3))
    Path("x.csv").write_text("x,y,z\n" + "\n".join(",".join(map(repr, row)) for row in x.tolist()))
    whole = run("ik", "delta", "--csv", "x.csv", "--joints", code=3).stdout
    monkeypatch.setattr("nacelle.cli.kinematics._BLOCK", 7)
    monkeypatch.setattr("nacelle.tables.csv._BLOCK", 11)
    assert run("ik", "delta", "--csv", "x.csv", "--joints", code=3).stdout == whole
    assert len(whole.splitlines()) == 51


@pytest.mark.slow
def test_dependent_coordinates() -> None:
    """The plate of a 3-RPS moves aside when it tilts: x = r (R_xx - R_yy) / 2, y = -r R_xy, r = 120 mm."""
    options = ("--at", "rx=10deg", "--at", "ry=-5deg")
    found = run_json("ik", "3rps", *options)
    assert list(found["dependent"]) == ["x", "y", "rz"]
    R = nacelle.inverse_kinematics(nacelle.load("3rps"), list(found["pose"].values())).bodies.R[1]
    assert found["dependent"]["x"] == pytest.approx(0.06 * (R[0, 0] - R[1, 1]), abs=1e-12)
    assert found["dependent"]["y"] == pytest.approx(-0.12 * R[0, 1], abs=1e-12)
    drives = [f"--q={name}={value!r}" for name, value in found["actuators"].items()]
    back = run_json("fk", "3rps", *drives)
    assert back["dependent"] == pytest.approx(found["dependent"], abs=1e-9)
    row = ",".join(repr(value) for value in found["pose"].values())
    Path("tilts.csv").write_text(f"{','.join(found['pose'])}\n{row}\n{row}\n")
    run("ik", "3rps", "--csv", "tilts.csv", "--out", "out.csv")
    header, line, _ = Path("out.csv").read_text().splitlines()
    columns = dict(zip(header.split(","), map(float, line.split(",")), strict=True))
    assert columns["dependent.x [m]"] == pytest.approx(found["dependent"]["x"], abs=1e-12)
    assert columns["dependent.rz [rad]"] == pytest.approx(found["dependent"]["rz"], abs=1e-12)
    table = run_json("ik", "3rps", "--csv", "out.csv")
    assert table["dependent"]["y"] == pytest.approx([found["dependent"]["y"]] * 2, abs=1e-12)
    run("fk", "3rps", "--csv", "out.csv", "--out", "back.csv")
    assert "dependent.x [m],dependent.y [m],dependent.rz [rad],flags" in Path("back.csv").read_text()
    assert "dependent" not in run_json("ik", "delta")


def test_ctrl_c_keeps_the_blocks_that_are_done(monkeypatch: pytest.MonkeyPatch) -> None:
    from nacelle.kinematics.solve import inverse

    Path("poses.csv").write_text("t,x,y\n" + "".join(f"{k},0,0.28\n" for k in range(10)), encoding="utf-8")
    solve, calls = inverse.inverse_kinematics, []

    def stops(*arguments: Any, **settings: Any) -> Any:
        calls.append(arguments)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return solve(*arguments, **settings)

    monkeypatch.setattr(inverse, "inverse_kinematics", stops)
    monkeypatch.setattr("nacelle.cli.kinematics._BLOCK", 4)
    done = run("ik", "fivebar", "--csv", "poses.csv", "--out", "joints.csv", code=130)
    assert done.stderr.splitlines()[-1] == "interrupted: 8 of 10 poses are kept; kept joints.csv"
    rows = Path("joints.csv").read_text(encoding="utf-8").splitlines()
    assert [float(row.split(",")[0]) for row in rows[1:]] == list(range(8))


@pytest.mark.slow
def test_fk_of_one_set_of_actuators() -> None:
    robot = nacelle.load("hexaglide")
    x = nacelle.reference_pose(robot)
    q = nacelle.inverse_kinematics(robot, x).q
    options = [
        f"--q={actuator.name}={value!r}" for actuator, value in zip(robot.actuators, q.tolist(), strict=True)
    ]
    found = run_json("fk", "hexaglide", *options)
    np.testing.assert_allclose(list(found["pose"].values()), x, atol=1e-12)
    assert "Newton's method" in run("fk", "hexaglide", *options, "--guess", "x=10mm").stdout


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
    assert found["actuators"] == [nacelle.inverse_kinematics(robot, [0, 0, -0.6]).q.tolist()]


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


def test_workspace_prints_and_writes() -> None:
    found = run_json("workspace", "fivebar", "--over", "x=-0.4:0.4:21", "--over", "y=0:400mm:11")
    assert found["points"] == 231
    assert 0 < found["inside_limits"] <= found["reachable"] <= 231
    run("workspace", "fivebar", "--over", "x=-0.4:0.4:21", "--over", "y=0:0.4:11", "--out", "w.png")
    assert Path("w.png").read_bytes().startswith(b"\x89PNG")
    run("workspace", "fivebar", "--over", "x=-0.4:0.4:21", "--out", "w.csv")
    assert len(Path("w.csv").read_text().splitlines()) == 22
    assert run_json("workspace", "fivebar", "--rays", "90")["volume"] > 0.01


@pytest.mark.slow
def test_workspaces_of_orientations_and_of_one_coordinate() -> None:
    tilts = ("--over", "rx=-40deg:40deg:9", "--over", "ry=-0.5:0.5:5")
    found = run_json("workspace", "gough-stewart", *tilts, "--at", "rz=10deg")
    assert (found["unit"], found["turned"], found["points"]) == ("rad^2", ["rx", "ry"], 45)
    assert found["over"]["rx"] == pytest.approx([-math.radians(40), math.radians(40), 9])
    run("workspace", "gough-stewart", *tilts, "--out", "tilts.png")
    assert Path("tilts.png").read_bytes().startswith(b"\x89PNG")
    run("workspace", "gough-stewart", *tilts, "--out", "tilts.csv")
    header, first, *_ = Path("tilts.csv").read_text().splitlines()
    assert header == "x [m],y [m],z [m],qx,qy,qz,qw,over.rx [rad],over.ry [rad],conditioning,flags"
    numbers = dict(zip(header.split(","), map(float, first.split(",")), strict=True))
    robot = nacelle.load("gough-stewart")
    assert numbers["over.rx [rad]"] == pytest.approx(-math.radians(40))
    grid = nacelle.workspace(robot, {"rx": (-math.radians(40), 0.5, 2), "ry": (-0.5, 0.5, 2)})
    np.testing.assert_allclose([*numbers.values()][:7], grid.x[0, 0], atol=1e-15)
    found = run_json("workspace", "delta", "--over", "z=-0.95:-0.3", "--out", "z.png")
    ((low, high),) = found["intervals"]
    assert -0.85 < low < -0.8 < -0.35 < high < -0.3
    assert Path("z.png").read_bytes().startswith(b"\x89PNG")
