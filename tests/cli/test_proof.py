"""The command of proofs: motions that are proved, violated, and margins with units."""

from __future__ import annotations

import pytest

import nacelle
from nacelle.trajectory import Circle
from support.command import run, run_json

pytestmark = pytest.mark.filterwarnings("error")

CIRCLE = ("prove", "fivebar", "--trajectory", "circle", "--duration", "1")


def test_motion_proved() -> None:
    said = run_json(*CIRCLE, "--radius", "30mm", "--clearance", "1mm", "--parallel", "0.05")
    robot = nacelle.load("fivebar")
    path = Circle(nacelle.reference_pose(robot), 0.03, motion=robot.motion, duration=1.0)
    here = nacelle.prove(robot, path, clearance=1e-3, parallel=0.05)
    assert said["proved"]
    assert said["unproved"] is None
    for name in ("least_way", "least_margin", "least_conditioning", "least_clearance"):
        assert said[name] == pytest.approx(getattr(here, name), rel=1e-9)
    assert "proved for 1 s" in run(*CIRCLE, "--radius", "30mm").output


def test_motion_beyond_reach() -> None:
    said = run_json(*CIRCLE, "--radius", "400mm", code=3)
    assert not said["proved"]
    assert said["unproved"]["violated"]
    assert said["unproved"]["start"] < said["unproved"]["stop"]
    assert "not proved: between" in run(*CIRCLE, "--radius", "400mm", code=3).output


def test_wrong_units() -> None:
    assert "unknown unit" in run(*CIRCLE, "--deviation", "1nm", code=1).output
    assert "clearance" in run(*CIRCLE, "--clearance", "-1mm", code=1).output


def test_tolerances() -> None:
    said = run_json("tolerances", "fivebar", "--tolerance", "number.*=0.1 mm", "--at", "x=50mm")
    assert said["proved"]
    assert 0.0 < said["attained_lengths"][0] <= said["lengths"][0]
    assert set(said["shares"]) == {"number.distal", "number.half_base", "number.proximal"}
    text = run("tolerances", "fivebar", "--tolerance", "number.*=0.1 mm").output
    assert "the position errs by at most 0.4" in text
