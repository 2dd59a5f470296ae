"""The Jacobian between nacelle and actuators: derivatives of inverse kinematics."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.dynamics.jacobian import jacobian
from nacelle.dynamics.poses import sample_poses
from support.uncompiled import any_robot


@pytest.mark.parametrize("name", ["delta", "fivebar"])
def test_inverse_jacobian_is_the_slope_of_inverse_kinematics(name: str) -> None:
    robot = any_robot(name)
    x, h = sample_poses(robot, 5, seed=1), 1e-6
    steps = h * np.eye(robot.motion.n)[:, None]
    high, low = (nacelle.inverse_kinematics(robot, x + sign * steps).actuators for sign in (1.0, -1.0))
    slopes = np.moveaxis((high - low) / (2 * h), 0, -1)
    found = jacobian(robot, x)
    np.testing.assert_allclose(found.inverse, slopes, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(
        found.direct @ found.inverse, np.broadcast_to(np.eye(robot.motion.n), slopes.shape), atol=1e-9
    )
