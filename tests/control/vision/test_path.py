"""A path that fits any robot."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.control.vision.path import round_path


@pytest.mark.parametrize("name", ["fivebar", "3rps", "gough-stewart"])
def test_it_is_round_within_reach_and_ends_at_rest(name: str) -> None:
    robot = nacelle.load(name)
    path = round_path(robot, 0.4)
    samples = nacelle.along(robot, path, np.linspace(0.0, path.duration, 50))
    assert bool(np.all(nacelle.inverse_kinematics(robot, samples.x).ok))
    np.testing.assert_allclose(samples.v[[0, -1]], 0.0, atol=1e-12)
    np.testing.assert_allclose(samples.x[0], samples.x[-1], atol=1e-12)
    assert np.max(np.ptp(samples.x, axis=0)) > 0.01
