"""What came of a closed loop."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import nacelle
from nacelle.control.compare import Comparison
from nacelle.control.loop.closed_loop import closed_loop
from nacelle.control.named import controller
from nacelle.kinematics.trajectory.circle import Circle
from nacelle.model.robot import Robot
from nacelle.simulation.drives.drives import Drives
from nacelle.simulation.drives.plant import DrivenPlant
from nacelle.tables.csv import read_table


def test_samples_and_errors(comparison: Comparison, turn: Circle) -> None:
    run = comparison["sj"]
    assert run.time[0] == 0.0
    assert run.time[-1] == pytest.approx(turn.duration, abs=1.1e-3)
    x = run.simulation.at(run.time).x
    q = nacelle.inverse_kinematics(run.robot, x).actuators
    assert run.actual == pytest.approx(q, abs=1e-9)
    assert run.error == pytest.approx(
        nacelle.inverse_kinematics(run.robot, turn(run.time).x).actuators - q, abs=1e-9
    )
    assert run.tool_error == pytest.approx(np.linalg.norm(x - turn(run.time).x, axis=1), abs=1e-12)
    centre = nacelle.reference_pose(run.robot)
    across = np.abs(np.linalg.norm(x - centre, axis=1) - 0.05)
    assert run.contour_error == pytest.approx(across, abs=1e-6)
    assert np.all(run.contour_error <= run.tool_error + 1e-7)
    # A five-bar's point has no orientation, and moves along a circle.
    with pytest.warns(DeprecationWarning, match="turn_error is now called rotation_error"):
        assert not np.any(run.turn_error)
    assert not run.is_rotation_only


@pytest.mark.slow
def test_work_is_that_of_the_simulation(comparison: Comparison, fivebar: Robot, turn: Circle) -> None:
    driven = DrivenPlant(fivebar, Drives(lag=3e-4))
    lagging = closed_loop(driven, controller(fivebar, "cf-rb", period=1e-3), turn, settle=0.1)
    for run in (comparison["cf-rb"], lagging):
        work = run.simulation.work
        begin = int(np.argmin(np.abs(run.simulation.t)))
        assert float(np.sum(run.work)) == pytest.approx(work[-1] - work[begin], rel=1e-3, abs=1e-4)
        assert run.energy >= float(np.sum(run.work))


def test_commands_are_those_of_their_sample(fivebar: Robot, turn: Circle) -> None:
    """Fed forward alone, without feedback: the command of a sample is the model's force there."""
    law = controller(fivebar, "cf-rb-friction", period=1e-3)
    law = law.with_gains(stiffness=0.0, damping=0.0, integral=0.0)
    for delay in (0.0, 4e-4, 1e-3):
        run = closed_loop(fivebar, law, turn, delay=delay, settle=0.0)
        assert run.commanded[1:300] == pytest.approx(run.model_force[1:300], abs=1e-9)
    assert run.acting[2:300] == pytest.approx(run.model_force[1:299], abs=1e-9)


def test_saturation_is_counted(fivebar: Robot, turn: Circle) -> None:
    most = 0.9 * float(np.max(np.abs(nacelle.size_motors(fivebar, turn).force)))
    run = closed_loop(
        DrivenPlant(fivebar, Drives(limits=most)), controller(fivebar, "cf-rb", period=1e-3), turn, settle=0.1
    )
    assert np.max(np.abs(run.acting)) == most
    assert 0.0 < np.max(run.saturation) < 0.5
    assert any("saturates" in line for line in run.notes)


def test_files_and_words(comparison: Comparison, tmp_path: Path) -> None:
    run = comparison["sj"]
    run.to_csv(tmp_path / "run.csv")
    table = read_table(tmp_path / "run.csv")
    assert "left.motor.error" in table.names
    assert "x.desired" in table.names
    run.to_npz(tmp_path / "run.npz")
    kept = np.load(tmp_path / "run.npz")
    assert np.array_equal(kept["error"], run.error)
    assert kept["actuators"].tolist() == ["left.motor", "right.motor"]
    assert "left.motor" in run._repr_html_()
    assert repr(run).startswith("<ControlRun sj on fivebar: done")
    data = run.summary()
    assert data["tool"]["rms_error"] == pytest.approx(float(np.sqrt(np.mean(run.tool_error**2))))
    assert data["actuators"][0]["max_error"] == pytest.approx(float(np.max(np.abs(run.error[:, 0]))))
