"""Motions that are chosen: within reach, and the same as the command's."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.report.sheet.motion import shown_motion


@pytest.mark.parametrize("name", ["fivebar", "c5"])
def test_the_shown_motion_is_within_limits_and_closed(name: str) -> None:
    robot = nacelle.load(name)
    times, x = shown_motion(robot)
    assert np.all(nacelle.inverse_kinematics(robot, x).ok)
    np.testing.assert_allclose(x[-1], x[0], atol=1e-9)
    assert len(times) == len(x) > 40
    # Every coordinate moves, by little from one time to the next.
    assert np.all(np.ptp(x, axis=0) > 0.01)
    assert np.max(np.abs(np.diff(x, axis=0))) < 0.15
