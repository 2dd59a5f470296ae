"""A body with a payload on it has the sum of both inertias."""

from __future__ import annotations

import numpy as np

import nacelle
from nacelle.model.loaded import body_parameters, has_mass
from support.uncompiled import any_robot


def test_parameters_add_up() -> None:
    robot = any_robot("delta")
    carrying = nacelle.with_payload(robot, 2.0, com=[0.0, 0.1, -0.2])
    added = body_parameters(carrying, 1) - body_parameters(robot, 1)
    expected = [2.0, 0.0, 0.2, -0.4]
    np.testing.assert_allclose(added[:4], expected, atol=1e-14)
    # About the body's origin a point mass has m (c.c 1 - c c^T): xx, xy, yy, xz, yz, zz.
    np.testing.assert_allclose(added[4:], [0.1, 0.0, 0.08, 0.0, 0.04, 0.02], atol=1e-14)


def test_who_has_mass() -> None:
    robot = any_robot("fivebar")
    assert [has_mass(robot, k) for k in range(2, len(robot.bodies))] == [True] * (len(robot.bodies) - 2)
    assert not has_mass(robot, 0)
