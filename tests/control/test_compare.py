"""Controllers side by side."""

from __future__ import annotations

import json

import numpy as np
import pytest

from nacelle.control.compare import Comparison, compare
from nacelle.control.loop.closed_loop import closed_loop
from nacelle.control.named import controller
from nacelle.errors import KinematicsError
from nacelle.kinematics.trajectory.circle import Circle
from nacelle.model.robot import Robot


def test_runs_are_those_of_each_alone(comparison: Comparison, fivebar: Robot, turn: Circle) -> None:
    alone = closed_loop(fivebar, controller(fivebar, "cf-rb", period=1e-3), turn, settle=0.3)
    assert np.array_equal(alone.error, comparison["cf-rb"].error)


def test_table_and_summary(comparison: Comparison) -> None:
    table = comparison.table
    assert [row[0] for row in table[::2]] == ["sj", "cf-rb", "cf-rb-friction"]
    assert all(len(row) == len(comparison.columns) for row in table)
    place = comparison.columns.index("right.motor (rad)")
    assert table[3][place] == np.max(np.abs(comparison["cf-rb"].error[:, 1]))
    data = json.loads(json.dumps(comparison.summary(), allow_nan=False))
    assert [run["label"] for run in data["runs"]] == ["sj", "cf-rb", "cf-rb-friction"]
    assert comparison.ok
    assert "cf-rb-friction" in comparison._repr_html_()


def test_mistakes(comparison: Comparison, fivebar: Robot, turn: Circle) -> None:
    one = controller(fivebar, "sj", period=1e-3)
    with pytest.raises(KinematicsError, match="a label of its own"):
        compare(fivebar, [one, one], turn)
    with pytest.raises(KinematicsError, match="one controller or more"):
        compare(fivebar, [], turn)
    with pytest.raises(KinematicsError, match="did you mean 'cf-rb'"):
        comparison["cf-br"]
