"""Paths that fit a robot."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.control.scenario.fit import fitting_size, offset, usable_poses, workspace_middle
from nacelle.errors import KinematicsError
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array


def test_the_middle_is_in_the_middle() -> None:
    """Of the 3-RRR, whose symmetry puts it at the centre of its bases, from a reference pose elsewhere."""
    robot = nacelle.load("fivebar")
    x = workspace_middle(robot)
    # Symmetric about x = 0; as far up as down, to a step of a fiftieth of the size.
    assert abs(x[0]) < 1e-9
    away = robot.size / 50.0 * np.arange(60)
    up, down = (
        float(np.argmin(usable_poses(robot, offset(robot, x, np.outer(sign * away, [0.0, 1.0])))))
        for sign in (1, -1)
    )
    assert abs(up - down) <= 2.0


def test_size_is_half_of_the_largest(fivebar: Robot) -> None:
    x = nacelle.reference_pose(fivebar)

    def line(size: float) -> Array:
        return offset(fivebar, x, np.outer(np.linspace(0.0, size, 20), [0.0, 1.0]))

    size = fitting_size(fivebar, line, 1.0, "line")
    assert usable_poses(fivebar, line(1.9 * size)).all()
    assert not usable_poses(fivebar, line(2.0 * size + 1.0 / 20.0)).all()
    with pytest.raises(KinematicsError, match="no line about this pose fits fivebar"):
        fitting_size(fivebar, lambda size: line(size) + 10.0, 1.0, "line")
