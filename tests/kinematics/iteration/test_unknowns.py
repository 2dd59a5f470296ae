"""What iteration finds at poses: along a path, and from guesses."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.kinematics.flags import Flag
from support import inner_loops


def test_following_a_path() -> None:
    """A path in order: the same as each pose for itself; gaps and poses out of reach keep their place."""
    leg = inner_loops.draw(0)
    robot = leg.robot
    hip = np.linspace(0.0, 0.5, 301) + 1.0
    knee = leg.knee + 0.3 * np.sin(np.linspace(0.0, 7.0, 301))
    x = leg.foot(hip, knee)
    x[100] = np.nan
    x[150] = 10.0
    path = nacelle.inverse_kinematics(robot, x, follow=True, limits=False)
    each = nacelle.inverse_kinematics(robot, x, limits=False)
    assert path.flags[100] == Flag.INVALID
    assert path.flags[150] == Flag.UNREACHABLE
    np.testing.assert_array_equal(path.flags, each.flags)
    good = path.flags == 0
    assert np.sum(good) > 250
    # A path may go round; angles are the same up to whole turns.
    assert np.max(np.abs(np.sin(0.5 * (path.y[good] - each.y[good])))) < 1e-12


def test_guesses() -> None:
    """Rows of a guess that have no solution count as none; what is no solution gets a clear error."""
    leg = inner_loops.draw(0)
    robot = leg.robot
    x = leg.foot(np.full(4, 1.0), leg.knee + np.linspace(-0.1, 0.1, 4))
    plain = nacelle.inverse_kinematics(robot, x, limits=False)
    holes = x.copy()
    holes[[0, 2]] = np.nan
    guess = nacelle.inverse_kinematics(robot, holes, limits=False)
    for follow in (False, True):
        again = nacelle.inverse_kinematics(robot, x, guess=guess, follow=follow, limits=False)
        assert np.all(again.flags == 0)
        np.testing.assert_allclose(again.actuators, plain.actuators, atol=1e-12)
    with pytest.raises(nacelle.KinematicsError, match="the guess is a solution of leg"):
        nacelle.inverse_kinematics(robot, x, **{"guess": x})
    fivebar = nacelle.load("fivebar")  # without unknowns
    other = nacelle.inverse_kinematics(fivebar, nacelle.reference_pose(fivebar))
    with pytest.raises(nacelle.KinematicsError, match="with 2 coordinates and 4 unknowns"):
        nacelle.inverse_kinematics(robot, x, guess=other)
