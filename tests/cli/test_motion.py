"""The command of fastest motions: paths, limits, tables and pictures."""

from __future__ import annotations

from pathlib import Path

import pytest

import nacelle
from nacelle.motion import time_optimal
from nacelle.trajectory import pick_and_place, read_waypoints
from support.command import run, run_json

pytestmark = pytest.mark.filterwarnings("error")


def test_pick_and_place() -> None:
    hop = run_json("fast", "fivebar", "--path", "20-100-20", "--reserve", "0.1", "--csv", "fast.csv")
    robot = nacelle.load("fivebar")
    x = nacelle.reference_pose(robot) - [0.05, 0.0]
    limits = nacelle.motion.DriveLimits(reserve=0.1)
    here = time_optimal(robot, pick_and_place(x, "20-100-20", motion=robot.motion), drives=limits)
    assert hop["duration"] == pytest.approx(here.duration, rel=1e-9)
    assert 0.99 * hop["duration"] < hop["lower_bound"] < hop["duration"]
    assert {row["of"] for row in hop["limits"]} == {actuator.name for actuator in robot.actuators}
    assert read_waypoints(Path("fast.csv"), robot.motion).times[-1] == pytest.approx(
        hop["duration"], abs=1e-3
    )
    text = run("fast", "fivebar", "--path", "20-100-20", "--back", "--acceleration", "50").output
    assert "from rest to rest" in text
    assert "acceleration" in text


def test_other_paths() -> None:
    line = run_json("fast", "fivebar", "--path", "line", "--to", "x=50mm")
    circle = run_json("fast", "fivebar", "--path", "circle", "--radius", "20mm", "--no-friction")
    assert 0.0 < line["duration"] < circle["duration"]
    Path("way.csv").write_text("x [mm],y [mm]\n0,280\n50,300\n0,310\n")
    assert run_json("fast", "fivebar", "--path", "way.csv", "--blend", "10mm")["length"] > 0.1
    assert "no pick-and-place path" in run("fast", "fivebar", "--path", "25-30", code=1).output
