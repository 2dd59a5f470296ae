"""Compliance of two bars that meet at a point."""

from __future__ import annotations

import numpy as np

import nacelle
from support.flexible import prrrp
from support.flexible.prrrp import BEAM, DIRECTION, EA


def test_compliance_is_that_of_two_bars() -> None:
    robot, x = prrrp.robot_at(0.0, 0.0)
    bars = [DIRECTION, DIRECTION * [-1.0, 1.0]]
    K = sum(EA / BEAM * np.outer(u, u) for u in bars)
    c = nacelle.compliance(robot, x)
    np.testing.assert_allclose(c[np.ix_([0, 2], [0, 2])], np.linalg.inv(K), rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(np.delete(c, [0, 2], axis=0), 0.0, atol=1e-20)
    batch = nacelle.compliance(robot, np.stack([x, [9.0, 9.0]]))
    np.testing.assert_allclose(batch[0], c, atol=1e-15)
    assert np.all(np.isnan(batch[1]))
    push = {"P": np.array([3.0, 0.0, -2.0, 0.0, 0.0, 0.0])}
    linear = nacelle.static_deflection(robot, x, external=push, nonlinear=False)
    np.testing.assert_allclose(linear.displacement(), c @ push["P"], atol=1e-15)
