"""Steps of the integration."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.control.loop.steps import integration_step
from nacelle.simulation.drives.drives import Drives
from nacelle.simulation.drives.plant import DrivenPlant
from nacelle.simulation.plant import RigidPlant
from nacelle.spatial.scalar import Array


def _along(name: str) -> tuple[Array, Array, Array]:
    robot = nacelle.load(name)
    x = np.tile(nacelle.reference_pose(robot), (3, 1))
    return x, np.full((3, robot.motion.n), 0.1), np.zeros((3, len(robot.actuators)))


def test_current_loops_and_friction_shorten_steps() -> None:
    robot = nacelle.load("fivebar")
    x, v, u = _along("fivebar")
    without = RigidPlant(robot, friction=False)
    assert integration_step(without, x, v, u) == 1e-3
    driven = DrivenPlant(without, Drives(lag=1e-4))
    # An eigenvalue of 1 / lag: two time constants, or what the drives themselves say.
    assert integration_step(driven, x, v, u) == min(driven.default_step(driven.state(x[0], v[0])), 2e-4)
    steps = [integration_step(RigidPlant(robot, smooth=smooth), x, v, u) for smooth in (1e-4, 1e-5)]
    # The slope of friction at rest goes with 1 / smooth.
    assert steps[1] < 1e-3
    assert steps[0] / steps[1] == pytest.approx(10.0, rel=0.05) or steps[0] == 1e-3
    # Friction that jumps has no slope.
    assert integration_step(RigidPlant(robot), x, v, u) == 1e-3
