"""The commands about poses and motion: ik, fk, workspace, draw, dynamics, verify, show --elements."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import nacelle
from nacelle.cli import app

pytestmark = pytest.mark.filterwarnings("error")


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(*arguments: str, code: int = 0) -> Any:
    result = CliRunner().invoke(app, list(arguments))
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code == code, result.output
    return result


def run_json(*arguments: str, code: int = 0) -> Any:
    return json.loads(run(*arguments, "--json", code=code).stdout, parse_constant=pytest.fail)


def test_ik_of_one_pose() -> None:
    found = run_json("ik", "delta", "--at", "x=100mm", "--at", "z=-0.55")
    robot = nacelle.load("delta")
    expected = nacelle.inverse_kinematics(robot, [0.1, 0.0, -0.55])
    assert list(found["actuators"].values()) == expected.actuators.tolist()
    assert set(found["joints"]) == {joint.name for joint in robot.joints}
    assert found["ok"] is True
    text = run("ik", "delta", "--at", "x=100mm", "--at", "z=-0.55").stdout
    assert f"{math.degrees(expected.actuators[0]):.4f} deg" in text


def test_ik_takes_rotations_and_modes() -> None:
    found = run_json("ik", "palida", "--at", "rz=10deg")
    assert found["pose"]["qz"] == pytest.approx(math.sin(math.radians(5)))
    assert run_json("ik", "quattro", "--at", "swing=20deg")["pose"]["swing"] == pytest.approx(
        math.radians(20)
    )
    assert set(run_json("ik", "dymo", "--mode", "planar")["pose"]) == {"x", "y", "rz"}


def test_tables_go_through_ik_and_fk() -> None:
    Path("poses.csv").write_text("t,x [mm],y,z\n0,0,0,-0.6\n1,100,0.02,-0.62\n2,3000,0,-0.6\n")
    result = run("ik", "delta", "--csv", "poses.csv", "--out", "joints.csv")
    assert "1 of 3 poses are flagged" in result.stderr
    lines = Path("joints.csv").read_text().splitlines()
    assert lines[0].startswith("t [s],x [m],y [m],z [m],leg1.motor [rad]")
    assert lines[3].endswith(",nan,nan,nan,2")
    Path("good.csv").write_text("\n".join(lines[:3]) + "\n")
    back = run_json("fk", "delta", "--csv", "good.csv")
    np.testing.assert_allclose(back["x"], [[0, 0, -0.6], [0.1, 0.02, -0.62]], atol=1e-14)
    # A line without a result keeps its place.
    assert run_json("fk", "delta", "--csv", "joints.csv")["x"][2] == [None, None, None]
    Path("bad.csv").write_text("\n".join(lines[:2]).replace("0.518", "oops") + "\n")
    assert "bad.csv:2" in run("fk", "delta", "--csv", "bad.csv", code=1).stderr
    assert "exists already" in run("ik", "delta", "--csv", "poses.csv", "--out", "good.csv", code=1).stderr


def test_fk_of_one_set_of_actuators() -> None:
    robot = nacelle.load("hexaglide")
    x = nacelle.reference_pose(robot)
    q = nacelle.inverse_kinematics(robot, x).actuators
    options = [
        f"--q={actuator.name}={value!r}" for actuator, value in zip(robot.actuators, q.tolist(), strict=True)
    ]
    found = run_json("fk", "hexaglide", *options)
    np.testing.assert_allclose(list(found["pose"].values()), x, atol=1e-12)
    assert "steps" in run("fk", "hexaglide", *options, "--guess", "x=10mm").stdout


def test_workspace_prints_and_writes() -> None:
    found = run_json("workspace", "fivebar", "--over", "x=-0.4:0.4:21", "--over", "y=0:400mm:11")
    assert found["points"] == 231
    assert 0 < found["inside_limits"] <= found["reachable"] <= 231
    run("workspace", "fivebar", "--over", "x=-0.4:0.4:21", "--over", "y=0:0.4:11", "--out", "w.png")
    assert Path("w.png").read_bytes().startswith(b"\x89PNG")
    run("workspace", "fivebar", "--over", "x=-0.4:0.4:21", "--out", "w.csv")
    assert len(Path("w.csv").read_text().splitlines()) == 22
    assert run_json("workspace", "fivebar", "--rays", "90")["volume"] > 0.01


def test_workspaces_of_orientations_and_of_one_coordinate() -> None:
    tilts = ("--over", "rx=-40deg:40deg:9", "--over", "ry=-0.5:0.5:5")
    found = run_json("workspace", "gough-stewart", *tilts, "--at", "rz=10deg")
    assert (found["unit"], found["turned"], found["points"]) == ("rad^2", ["rx", "ry"], 45)
    assert found["over"]["rx"] == pytest.approx([-math.radians(40), math.radians(40), 9])
    text = run("workspace", "gough-stewart", *tilts, "--out", "tilts.png").stdout
    assert "turned by the rotation vector [rx, ry, 0] in base axes" in text
    assert "rx in steps of 10 deg" in text
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
    text = run("workspace", "delta", "--over", "z=-0.95:-0.3").stdout
    assert f"within limits: z from {low:.5g} m to {high:.5g} m" in text
    assert "vary twice" in run("workspace", "delta", "--over", "z=-1:0", "--over", "z=-1:0", code=1).stderr


def test_draw() -> None:
    run("draw", "delta", "--out", "d.svg", "--at", "x=50mm", "--names", "--frames")
    assert "<svg" in Path("d.svg").read_text()
    assert "exists already" in run("draw", "delta", "--out", "d.svg", code=1).stderr
    assert ".png" in run("draw", "delta", "--out", "d.bmp", code=1).stderr


def test_dynamics_sizes_motors() -> None:
    found = run_json("dynamics", "fivebar", "--radius", "50mm", "--duration", "0.4", "--rate", "200")
    assert found["samples"] == 81
    assert [row["unit"] for row in found["actuators"]] == ["N*m", "N*m"]
    robot = nacelle.load("fivebar")
    course = nacelle.Circle(nacelle.reference_pose(robot), 0.05, motion=robot.motion, duration=0.4)
    loads = nacelle.size_motors(robot, course, rate=200.0).loads
    assert [row["peak_force"] for row in found["actuators"]] == [load.peak_force for load in loads]
    text = run("dynamics", "fivebar", "--trajectory", "line", "--to", "x=50mm", "--csv", "out.csv").stdout
    assert "rad/s" in text
    lines = Path("out.csv").read_text().splitlines()
    assert lines[0].startswith("t [s],x [m],y [m],v_x,v_y,a_x,a_y,")
    assert len(lines) == 1002
    Path("way.csv").write_text("t,x,y\n0,0,0.28\n0.5,0.05,0.3\n1,0,0.28\n")
    assert run_json("dynamics", "fivebar", "--trajectory", "way.csv")["duration"] == 1.0


def test_verify_agrees() -> None:
    found = run_json("verify", "prrrp", "--states", "3")
    assert found["ok"] is True
    assert "agrees" in run("verify", "prrrp", "--against", "pinocchio", "--states", "2").stdout
    assert "pinocchio" in run("verify", "prrrp", "--against", "drake", code=1).stderr


def test_show_elements() -> None:
    assert "Kinematic elements" in run("show", "fivebar", "--elements").stdout
    assert "\\begin" in run("show", "fivebar", "--latex").stdout
    assert run("show", "dymo", "--elements", code=1).stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("ik", "delta", "--at", "w=1"), "no coordinate is called 'w'; known: x, y, z"),
        (("ik", "delta", "--at", "x"), "'x' is not NAME=VALUE"),
        (("ik", "delta", "--at", "x=1deg"), "'1deg'"),
        (("ik", "delta", "--at", "x=0.1", "--at", "x=0.2"), "x is given twice"),
        (("ik", "delta", "--at", "z=-5"), "legs 'leg1', 'leg2', 'leg3' do not reach the pose [0, 0, -5]"),
        (("ik", "delta", "--mode", "upside"), "delta has no mode 'upside'"),
        (("ik", "delta", "--csv", "none.csv"), "none.csv: cannot be read"),
        (("fk", "delta", "--q", "leg1.motor=1"), "--q leg2.motor=VALUE and 1 more"),
        (("fk", "delta", "--q", "leg1.moter=1"), "did you mean 'leg1.motor'?"),
        (("workspace", "delta"), "--over NAME=LOW:HIGH"),
        (("workspace", "delta", "--over", "x=1:0"), "the range of x is empty"),
        (("workspace", "delta", "--over", "x=0"), "is not NAME=LOW:HIGH"),
        (("workspace", "delta", "--over", "x=0:1:many"), "'many' is not a number of points"),
        (("workspace", "delta", "--over", "q=0:1"), "no coordinate is called 'q'"),
        (("dynamics", "delta", "--trajectory", "loop"), "'loop' is no trajectory"),
        (("dynamics", "delta", "--trajectory", "line"), "a line needs its end"),
        (("dynamics", "delta", "--radius", "2m", "--rate", "50"), "reaches no pose of this trajectory"),
        (("dynamics", "delta", "--duration", "-1"), "the duration must be above zero"),
    ],
)
def test_mistakes(arguments: tuple[str, ...], words: str) -> None:
    result = run(*arguments, code=1)
    assert words in result.stderr
    assert result.stdout == ""
    assert run_json(*arguments, code=1)["ok"] is False
