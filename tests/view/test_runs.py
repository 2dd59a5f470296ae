from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import nacelle
from nacelle.view.runs import read_run


def test_a_run_is_read_back(tmp_path: Path) -> None:
    robot = nacelle.load("fivebar")
    run = nacelle.simulate(robot, nacelle.reference_pose(robot), until=0.05, method="rk4", step=0.005)
    run.to_csv(tmp_path / "run.csv")
    run.to_npz(tmp_path / "run.npz")
    for name in ("run.csv", "run.npz"):
        motion = read_run(robot, tmp_path / name)
        np.testing.assert_allclose(motion.times, run.t)
        np.testing.assert_allclose(motion.x, run.x, rtol=1e-12)


def test_what_is_no_run_of_the_robot_is_said(tmp_path: Path) -> None:
    robot = nacelle.load("fivebar")
    other = tmp_path / "other.csv"
    other.write_text("t,x,y,z\n0,0,0,1\n1,0,0,1\n", encoding="utf-8")
    with pytest.raises(nacelle.NacelleError, match="is no run of fivebar"):
        read_run(robot, other)
    untimed = tmp_path / "untimed.csv"
    untimed.write_text("x,y\n0,0.28\n0,0.3\n", encoding="utf-8")
    with pytest.raises(nacelle.NacelleError, match="no column t"):
        read_run(robot, untimed)
    with pytest.raises(nacelle.NacelleError, match="there is no such file"):
        read_run(robot, tmp_path / "missing.npz")
    np.savez(tmp_path / "wrong.npz", t=[0.0, 1.0], x=np.zeros((2, 7)))
    with pytest.raises(nacelle.NacelleError, match="no run of fivebar"):
        read_run(robot, tmp_path / "wrong.npz")
    (tmp_path / "text.npz").write_text("no numbers", encoding="utf-8")
    with pytest.raises(nacelle.NacelleError, match="no npz file"):
        read_run(robot, tmp_path / "text.npz")
