"""The command ik."""

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
    assert list(found["actuators"].values()) == expected.actuators.tolist()
    assert set(found["joints"]) == {joint.name for joint in robot.joints}
    assert found["ok"] is True


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
    monkeypatch.setattr("nacelle.cli.kinematics.ik._BLOCK", 7)
    monkeypatch.setattr("nacelle.tables.csv._BLOCK", 11)
    assert run("ik", "delta", "--csv", "x.csv", "--joints", code=3).stdout == whole
    assert len(whole.splitlines()) == 51


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
    from nacelle.kinematics import inverse

    Path("poses.csv").write_text("t,x,y\n" + "".join(f"{k},0,0.28\n" for k in range(10)), encoding="utf-8")
    solve, calls = inverse.inverse_kinematics, []

    def stops(*arguments: Any, **settings: Any) -> Any:
        calls.append(arguments)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return solve(*arguments, **settings)

    monkeypatch.setattr(inverse, "inverse_kinematics", stops)
    monkeypatch.setattr("nacelle.cli.kinematics.ik._BLOCK", 4)
    done = run("ik", "fivebar", "--csv", "poses.csv", "--out", "joints.csv", code=130)
    assert done.stderr.splitlines()[-1] == "interrupted: 8 of 10 poses are kept; kept joints.csv"
    rows = Path("joints.csv").read_text(encoding="utf-8").splitlines()
    assert [float(row.split(",")[0]) for row in rows[1:]] == list(range(8))
