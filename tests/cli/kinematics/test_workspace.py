"""The command workspace."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import nacelle
from support.command import run, run_json

pytestmark = pytest.mark.filterwarnings("error")


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
