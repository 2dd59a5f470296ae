"""The reference models: they fit each other at one state."""

from __future__ import annotations

import numpy as np

from nacelle.dynamics.formulations import reference
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.linear_parameters import linear_parameters
from support.compare import assert_same
from support.element_robots import general


def test_models_fit_each_other() -> None:
    """force = Y p; M a + h = A^T force; forward inverts inverse; power of gravity and loads."""
    robot = general("fivebar")
    n = robot.motion.n
    x, y = mechanism_of(robot).reference
    v, a, load = np.random.default_rng(0).normal(size=(3, n))
    inverse = reference.inverse(robot, x, y, v, a, load)
    back = reference.forward(robot, x, y, v, inverse["force"], load)
    assert_same(back["acceleration"], a, 1e-9)
    inertia, bias = reference.inertia(robot, x, y), reference.bias(robot, x, y, v)
    assert_same(inertia["M"] @ a + bias["h"], inverse["generalised"] + load, 1e-10)
    assert_same(inertia["A"].T @ inverse["force"], inverse["generalised"], 1e-10)
    free = reference.inverse(robot, x, y, v, a, np.zeros(n))
    Y = reference.regressor(robot, x, y, v, a)["Y"]
    assert_same(Y @ linear_parameters(robot).values, free["force"], 1e-9)
    energies = reference.energies(robot, x, y, v)
    assert_same(energies["kinetic"], 0.5 * v @ inertia["M"] @ v, 1e-11)
    assert 0.0 < inverse["parallel_margin"] <= 1.0
