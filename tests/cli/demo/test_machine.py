"""The machine is the one that the pages describe: its path, its parameters."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from nacelle.cli.demo.folder import DemoFolder
from nacelle.cli.demo.machine import SCENARIO, TRUE, machine
from nacelle.control.scenario.paths import scenario_path
from nacelle.kinematics.pose_input import reference_pose
from nacelle.library import load
from nacelle.model.linear_parameters import linear_parameters


def test_path_and_parameters(tmp_path: Path) -> None:
    robot, folder = load("palida"), DemoFolder(tmp_path)
    scenario = machine(robot, folder)
    path = scenario_path(robot, scenario.spec.path, tmp_path).trajectory
    t = np.linspace(0.5, 2.0, 7)
    x, v, _ = path(t)
    arm = x[:, :3] - reference_pose(robot)[:3]
    np.testing.assert_allclose(np.linalg.norm(arm, axis=1), 0.2, rtol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(v[:, :3], axis=1), 1.0, rtol=1e-9)
    tilt = np.radians(30.0)
    np.testing.assert_allclose(arm @ [0.0, -np.sin(tilt), np.cos(tilt)], 0.0, atol=1e-12)
    own, true = (linear_parameters(one).values for one in (robot, load(str(tmp_path / TRUE))))
    np.testing.assert_array_equal(true == 0.0, own == 0.0)
    change = np.abs(true[own != 0.0] / own[own != 0.0] - 1.0)
    assert 0.05 < change.max() <= 0.1 + 1e-12
    assert len(scenario.spec.controllers) == 3
    # The second call reads what the first has written.
    kept = (tmp_path / SCENARIO).stat().st_mtime_ns
    machine(robot, folder)
    assert (tmp_path / SCENARIO).stat().st_mtime_ns == kept
