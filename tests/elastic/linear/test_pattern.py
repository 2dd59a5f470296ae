"""Entries that the pattern leaves out are zero wherever the robot is; those in it are not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from nacelle.elastic.dynamics import positions
from nacelle.elastic.dynamics.plan import rate_choice
from nacelle.elastic.frames import frames_at
from nacelle.elastic.linear.pattern import pattern_of
from nacelle.model.robot import Robot
from support.elastic_states import general_state
from support.flexible_robots import flexible


@pytest.mark.parametrize("make", [lambda: flexible("fivebar"), lambda: flexible("delta", number=1)])
def test_places(make: Callable[[], Robot]) -> None:
    robot = make()
    own = rate_choice(robot).extended
    pattern = pattern_of(own)
    p = general_state(robot, np.random.default_rng(2)).p
    frames = frames_at(own, *positions.split_positions(own, p))
    for matrix, places in (
        (np.triu(frames.mass_matrix()), pattern.mass),
        (frames.constraints(), pattern.constraints),
        (frames.actuator_rows(), pattern.actuators),
    ):
        outside = np.asarray(matrix, dtype=float).copy()
        inside = np.abs(outside[places])
        outside[places] = 0.0
        assert not np.any(outside)
        assert np.count_nonzero(inside) > 0.3 * inside.size
    assert pattern.mass[0].size < 0.6 * pattern.rates**2 / 2
