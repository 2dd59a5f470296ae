"""The command `excite`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.support.command import run, run_json
from tests.support.library import library_robot

import nacelle
from nacelle.identification.excitation.problem import Design
from nacelle.identification.excitation.result import read_motion

QUICK = ("fivebar", "--starts", "1", "--iterations", "8", "--harmonics", "6", "--duration", "1")


def test_the_motion_is_printed_and_written():
    result = run("excite", *QUICK, "--csv", "motion.csv", "--rate", "100", "--out", "motion.yaml")
    for words in ("fivebar: combined excitation of 21 base parameters, 1 s", "condition", "least well", "%"):
        assert words in result.stdout
    for kind in ("speed", "acceleration", "force", "position", "leg margin", "conditioning"):
        assert kind in result.stdout
    motion = read_motion("motion.yaml")
    table = nacelle.read_waypoints(Path("motion.csv"), library_robot("fivebar").motion)
    assert len(table.points) == 101
    assert np.allclose(table.points, motion(table.times).x)
    assert "exists already" in run("excite", *QUICK, "--out", "motion.yaml", code=1).output


def test_json_is_the_data_of_python():
    data = run_json("excite", *QUICK, "--seed", "2", "--speed", "8rad/s", "--force", "50%")
    made = nacelle.excite(
        library_robot("fivebar"),
        starts=1,
        iterations=8,
        harmonics=6,
        duration=1.0,
        seed=2,
        speed=8.0,
        force=6.0,
    )
    assert data["condition"] == pytest.approx(made.condition, rel=1e-12)
    assert data["parts"] == made.data()["parts"]
    assert data["limits"]["speed"] == [8.0, 8.0]
    assert data["limits"]["force"] == [6.0, 6.0]
    assert all(use["use"] <= 1.0 for use in data["uses"])


def test_limits_of_single_actuators():
    limited = ("--acceleration", "300rad/s^2", "--acceleration", "left.motor=100rad/s^2")
    data = run_json("excite", *QUICK[:-2], "--frequency", "1.25", *limited)
    assert data["limits"]["acceleration"] == [100.0, 300.0]
    assert data["duration"] == pytest.approx(0.8)


def test_ctrl_c_keeps_the_best_so_far(monkeypatch):
    evaluate, calls = Design.evaluate, []

    def interrupted(self, *arguments):
        calls.append(1)
        if len(calls) > 5:
            raise KeyboardInterrupt
        return evaluate(self, *arguments)

    monkeypatch.setattr(Design, "evaluate", interrupted)
    result = run("excite", *QUICK, "--out", "motion.yaml", code=130)
    assert "interrupted: the best motion so far is kept" in result.stdout
    assert read_motion("motion.yaml").duration == 1.0


@pytest.mark.slow
def test_a_picture_of_the_forces():
    run("excite", *QUICK, "--plot", "forces.png", "--strategy", "separate")
    assert Path("forces.png").stat().st_size > 10_000
