"""Directions of legs and their rates against motions in time; their covariances by differences."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.kinematics.jacobian import twist_units
from nacelle.vision.cylinders import visible_cylinders
from nacelle.vision.observer.elements import element_states
from nacelle.vision.observer.process import Displacer


@pytest.mark.parametrize("name", ["fivebar", "gough-stewart"])
def test_element_states(name):
    robot = nacelle.load(name)
    cylinders, displaced, n = visible_cylinders(robot), Displacer(robot), robot.motion.n
    rng = np.random.default_rng(2)
    ik = nacelle.inverse_kinematics(robot, nacelle.reference_pose(robot))
    v = 0.3 * twist_units(robot) * rng.uniform(-1.0, 1.0, n)
    A = 1e-4 * rng.standard_normal((2 * n, 2 * n)) * np.tile(twist_units(robot), 2)
    now = element_states(robot, cylinders, ik.x, v, A.T @ A, guess=ik.y)

    def axes(x):
        R = nacelle.inverse_kinematics(robot, x, limits=False).bodies.R
        return np.array([R[c.body] @ c.direction for c in cylinders])

    h = 1e-6
    rate = (axes(displaced(ik.x, ik.y, h * v)) - axes(displaced(ik.x, ik.y, -h * v))) / (2.0 * h)
    np.testing.assert_allclose(now.direction, axes(ik.x), atol=1e-14)
    np.testing.assert_allclose(now.rate, rate, atol=1e-8)
    slopes = []
    for k, unit in enumerate(np.tile(twist_units(robot), 2)):
        ends = []
        for s in (1e-6 * unit, -1e-6 * unit):
            e = s * np.eye(2 * n)[k]
            one = element_states(robot, cylinders, displaced(ik.x, ik.y, e[:n]), v + e[n:], np.eye(2 * n))
            ends.append(np.concatenate([one.direction, one.rate], axis=1))
        slopes.append((ends[0] - ends[1]) / (2e-6 * unit))
    D = np.moveaxis(np.array(slopes), 0, -1)
    expected = D @ (A.T @ A) @ np.swapaxes(D, 1, 2)
    np.testing.assert_allclose(now.covariance, expected, atol=1e-6 * np.max(np.abs(expected)))
