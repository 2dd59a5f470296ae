"""Where tools are."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.control.loop.places import places


def test_nacelle_and_tool() -> None:
    robot = nacelle.load("gough-stewart")
    x = np.stack([nacelle.pose(robot, rotation_vector=[0.0, 0.0, angle]) for angle in (0.0, 1e-9, 0.2)])
    at = places(robot, x)
    assert at.p == pytest.approx(x[:, :3])
    first = places(robot, x[:1])
    still = type(at)(np.repeat(first.p, 3, axis=0), np.repeat(first.R, 3, axis=0))
    assert at.angle_to(still) == pytest.approx([0.0, 1e-9, 0.2], rel=1e-6)
    assert at.rotations_from(at)[:, 2] == pytest.approx([0.0, 1e-9, 0.2], rel=1e-6)
    tool = places(robot, x, "spindle")
    assert tool.p[2] == pytest.approx(nacelle.tool_pose(robot, x[2], "spindle").p)
