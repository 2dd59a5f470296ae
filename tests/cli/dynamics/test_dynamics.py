"""The command dynamics."""

from __future__ import annotations

from pathlib import Path

import pytest

import nacelle
from support.command import run, run_json

pytestmark = pytest.mark.filterwarnings("error")


def test_samples_out_of_reach_along_a_motion() -> None:
    options = ("--radius", "260mm", "--duration", "0.1", "--rate", "200")
    found = run_json("dynamics", "fivebar", *options, code=3)
    assert 0 < found["failed"] == found["reasons"]["unreachable"] < found["samples"]


def test_dynamics_sizes_motors() -> None:
    found = run_json("dynamics", "fivebar", "--radius", "50mm", "--duration", "0.4", "--rate", "200")
    assert found["samples"] == 81
    assert [row["unit"] for row in found["actuators"]] == ["N*m", "N*m"]
    robot = nacelle.load("fivebar")
    course = nacelle.Circle(nacelle.reference_pose(robot), 0.05, motion=robot.motion, duration=0.4)
    loads = nacelle.size_motors(robot, course, rate=200.0).loads
    assert [row["peak_force"] for row in found["actuators"]] == [load.peak_force for load in loads]
    run("dynamics", "fivebar", "--trajectory", "line", "--to", "x=50mm", "--csv", "out.csv")
    lines = Path("out.csv").read_text().splitlines()
    assert lines[0].startswith("t [s],x [m],y [m],v_x,v_y,a_x,a_y,")
    assert len(lines) == 1002
    Path("way.csv").write_text("t,x,y\n0,0,0.28\n0.5,0.05,0.3\n1,0,0.28\n")
    assert run_json("dynamics", "fivebar", "--trajectory", "way.csv")["duration"] == 1.0
