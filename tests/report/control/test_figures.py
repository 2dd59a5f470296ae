"""Pictures and tables of closed loops."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.control.compare import Comparison, compare
from nacelle.control.loop.closed_loop import LoopOptions
from nacelle.control.named import controller
from nacelle.errors import NacelleError
from nacelle.report.control import average_forces, plot_runs, prediction_error, result_table
from nacelle.trajectory.paths import Circle


@pytest.fixture(scope="module")
def runs() -> Comparison:
    robot = nacelle.load("fivebar")
    circle = Circle(nacelle.reference_pose(robot), 0.05, motion=robot.motion, duration=0.4)
    return compare(
        robot,
        [controller(robot, name, period=1e-3) for name in ("sj", "cf-rb")],
        circle,
        options=LoopOptions(settle=0.1),
    )


def test_errors_are_those_of_the_runs(runs: Comparison) -> None:
    figure = runs.plot(shown=False)
    assert len(figure.axes) == 2
    lines = figure.axes[1].get_lines()
    assert [line.get_label() for line in lines] == ["sj", "cf-rb"]
    assert lines[0].get_ydata() == pytest.approx(1e3 * runs["sj"].error[:, 1])


def test_forces_and_their_prediction_error(runs: Comparison) -> None:
    run = runs["cf-rb"]
    figure = run.plot("forces", actuators=["right.motor"], average=0.0, shown=False)
    (ax,) = figure.axes
    assert ax.get_lines()[0].get_ydata() == pytest.approx(run.acting_forces[:, 1])
    off = run.acting_forces - run.model_force
    expected = np.sqrt(np.mean(off**2, axis=0) / np.mean(run.acting_forces**2, axis=0))
    assert prediction_error(run, 0.0) == pytest.approx(expected)
    assert f"{100.0 * expected[1]:.3g} %" in ax.get_title(loc="right")
    assert average_forces(run, 4e-3)[50] == pytest.approx(np.mean(run.acting_forces[48:53], axis=0))


def test_path(runs: Comparison) -> None:
    left, right = runs.plot("path", shown=False).axes
    assert right.get_lines()[0].get_ydata() == pytest.approx(1e3 * runs["sj"].contour_error)
    assert left.get_lines()[0].get_label() == "desired"


def test_table(runs: Comparison) -> None:
    table = result_table(runs.runs)
    assert list(table.columns[0].cells)[:2] == ["left.motor (mrad)", "right.motor (mrad)"]
    first, largest = (float(part) for part in str(next(iter(table.columns[2].cells))).split("/"))
    error = 1e3 * runs["cf-rb"].error[:, 0]
    assert first == pytest.approx(float(np.sqrt(np.mean(error**2))), rel=1e-2)
    assert largest == pytest.approx(float(np.max(np.abs(error))), rel=1e-2)


def test_mistakes(runs: Comparison) -> None:
    with pytest.raises(NacelleError, match="no figure is called 'error'; did you mean 'errors'"):
        plot_runs(runs.runs, "error")
    with pytest.raises(NacelleError, match="there is no actuator 'arm'"):
        plot_runs(runs.runs, actuators=["arm"])
