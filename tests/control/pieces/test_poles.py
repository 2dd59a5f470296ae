"""Gains of a sampled double integrator from its poles."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import cont2discrete

from nacelle.control.pieces.poles import gains_of_poles


@pytest.mark.parametrize("damping", [0.4, 0.7, 1.0, 1.5])
@pytest.mark.parametrize("period", [1e-4, 5e-4, 5e-3])
def test_the_sampled_loop_has_the_samples_of_the_poles(damping: float, period: float) -> None:
    """Against the exact discretisation of both, the loop and the system that it is to be."""
    k_p, k_d = gains_of_poles(10.0, damping, period)
    A, B, C, D = np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([[0.0], [1.0]]), np.eye(2), np.zeros((2, 1))
    F, G, *_ = cont2discrete((A, B, C, D), period)
    closed = np.poly(F - G @ np.array([[k_p, k_d]]))
    w = 20.0 * np.pi
    wanted = np.exp(period * np.roots([1.0, 2.0 * damping * w, w * w]))
    np.testing.assert_allclose(closed, np.poly(wanted).real, atol=1e-9)


def test_without_a_sample_time_they_are_those_of_the_continuous_loop() -> None:
    w = 20.0 * np.pi
    np.testing.assert_allclose(gains_of_poles(10.0, 0.7, 1e-6), [w * w, 1.4 * w], rtol=1e-3)
