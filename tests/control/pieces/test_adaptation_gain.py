"""The gain of adaptation: one time constant for all that a motion feels."""

from __future__ import annotations

import numpy as np

import nacelle
from nacelle.control.pieces.adaptation_gain import Felt, adaptation_gain, felt_along, gram
from nacelle.control.pieces.adapted import adapted_parameters, default_payload, parameter_scales
from support.adaptive_runs import lissajous, rows_of
from support.library import library_robot


def test_the_linear_form_along_a_motion_is_the_public_one():
    """Y and J of a desired motion, beside the API's."""
    robot = library_robot("fivebar")
    base = adapted_parameters(robot)
    rows = rows_of(lissajous(robot, 0.04, 0.0, 1.0), 1, 1.0)[:500]
    felt = felt_along(robot, base, rows, 0.01)
    x, v, a = rows[:, :2], rows[:, 2:4], rows[:, 4:]
    Y = nacelle.regressor(robot, x, v, a, smooth=0.01, parameters=base).Y
    np.testing.assert_allclose(felt.Y, Y, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(felt.J @ v[..., None], _rates(robot, x, v)[..., None], rtol=1e-7, atol=1e-8)


def _rates(robot, x, v, h=1e-6):
    ahead, behind = (nacelle.inverse_kinematics(robot, x + s * h * v).actuators for s in (1.0, -1.0))
    return (ahead - behind) / (2.0 * h)


def test_all_that_is_felt_has_the_time_constant():
    """Eigenvalues of P G are 1 / t for what is felt well, and smaller for what is hardly felt."""
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(400, 2, 5)) * np.array([1.0, 0.3, 10.0, 0.1, 1e-6])
    K = np.array([[3.0, 1.0], [1.0, 2.0]])
    G = gram(Felt(Y, np.broadcast_to(np.eye(2), (400, 2, 2))), K)
    P = adaptation_gain(G, np.array([1.0, 1.0, 0.1, 1.0, 1.0]), 0.2)
    values = np.sort(np.linalg.eigvals(P @ G).real)
    np.testing.assert_allclose(values[1:], 5.0, rtol=1e-2)
    assert values[0] < 1e-3
    assert np.linalg.eigvalsh(P)[0] > 0.0


def test_scales_of_units_do_not_matter():
    """Parameters in other units have the gain in other units."""
    robot = library_robot("fivebar")
    base = adapted_parameters(robot)
    rows = rows_of(lissajous(robot, 0.04, 0.0, 1.0), 1, 1.0)
    felt = felt_along(robot, base, rows, 0.01)
    scale = parameter_scales(robot, base, default_payload(robot))
    units = np.geomspace(1e-3, 1e3, len(base))
    P = adaptation_gain(gram(felt, np.eye(2)), scale, 0.2)
    other = adaptation_gain(gram(Felt(felt.Y * units, felt.J), np.eye(2)), scale / units, 0.2)
    np.testing.assert_allclose(other * units * units[:, None], P, rtol=1e-6, atol=1e-9 * np.abs(P).max())
