"""Operating points: forces and accelerations that belong together, from either of them."""

from __future__ import annotations

import numpy as np

import nacelle
from nacelle.dynamics.operating_point import POINT_SHAPES, OperatingPoint, at_point, operating_point
from nacelle.dynamics.poses import sample_poses
from support.uncompiled import any_robot


def test_forward_is_the_inverse_of_inverse() -> None:
    robot = any_robot("fivebar")
    x = sample_poses(robot, 4, seed=2)
    v, a = np.random.default_rng(0).normal(size=(2, 4, 2)) * 0.3
    first, flags = operating_point(robot, x, v, a=a)
    again, _ = operating_point(robot, x, v, tau=first.tau)
    assert not flags.any()
    np.testing.assert_allclose(first.tau, nacelle.inverse_dynamics(robot, x, v, a).force, rtol=1e-12)
    np.testing.assert_allclose(again.a, a, atol=1e-9)


def test_a_point_travels_as_one() -> None:
    fields = at_point(lambda robot, point: point)(None, *range(5))
    assert fields == OperatingPoint(0, 1, 2, 3, 4)
    assert tuple(POINT_SHAPES) == OperatingPoint._fields
