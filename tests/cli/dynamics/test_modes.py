"""The command modes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import nacelle
from nacelle import robots
from support.command import run, run_json

pytestmark = pytest.mark.filterwarnings("error")


def test_modes_at_a_pose() -> None:
    found = run_json("modes", "prrrp", "--at", "x=320mm", "--modes", "4")
    robot = nacelle.load("prrrp")
    x = nacelle.pose(robot, None, x=0.32)
    result = nacelle.natural_frequencies(robot, x, modes=4)
    np.testing.assert_allclose(found["frequencies"], result.frequencies)
    np.testing.assert_allclose(found["effective_mass"], result.effective_mass, atol=1e-12)
    assert found["buckling_factor"] is None
    text = run("modes", "prrrp", "--unlocked", "--plot", "mode.png", "--shape", "3").stdout
    assert text.count("rigid motion") == 2
    assert "28.34 Hz" in text
    assert Path("mode.png").read_bytes().startswith(b"\x89PNG")


def test_paths_and_maps() -> None:
    line = ("--along", "line", "--at", "x=250mm", "--to", "x=350mm", "--points", "5", "--modes", "3")
    found = run_json("modes", "prrrp", *line)
    assert np.shape(found["frequencies"]) == (5, 3)
    assert "mode" in run("modes", "prrrp", *line, "--plot", "path.svg").stdout
    over = ("--map", "x=0.2:0.41:6", "--map", "z=0.2:0.3:3", "--modes", "2")
    found = run_json("modes", "prrrp", *over)
    assert np.shape(found["frequencies"]) == (6, 3, 2)
    assert found["frequencies"][-1][0][0] is None
    text = run("modes", "prrrp", *over, "--plot", "map.png", "--shape", "2").stdout
    assert "18 poses over x, z, 12 within limits" in text
    assert Path("map.png").read_bytes().startswith(b"\x89PNG")


def test_buckling_is_told() -> None:
    text = robots.text("prrrp").replace("gravity: 0 0 0 m/s^2", "gravity: 0 0 -9.81 m/s^2")
    Path("heavy.yaml").write_text(text, encoding="utf-8")
    result = run("modes", "heavy.yaml")
    assert "28.34 Hz" in result.stdout
    assert "it has buckled: gravity and wrenches may grow by a factor of 0.77" in " ".join(
        result.stderr.split()
    )
