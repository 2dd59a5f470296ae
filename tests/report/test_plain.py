"""Results as plain data: the nearest singularity of a grid is that of its poses."""

from __future__ import annotations

import numpy as np

import nacelle
from nacelle.report.plain import workspace_data


def test_the_nearest_singularities_of_a_grid() -> None:
    robot = nacelle.load("fivebar")
    grid = nacelle.workspace(robot, {"x": (-0.2, 0.2, 9), "y": (0.1, 0.4, 9)})
    found = workspace_data(grid, singular=True)["singularities"]
    measured = nacelle.singularities(robot, grid.x[grid.inside_limits])
    assert found["parallel"]["measure"] == np.min(measured.parallel)
    assert found["serial"]["leg"] in ("left", "right")
    again = nacelle.singularities(robot, np.array(found["serial"]["at"]))
    assert np.isclose(np.min(again.serial), found["serial"]["measure"])
