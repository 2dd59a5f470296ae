"""Fits of zeros: what columns explain, against least squares."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.identification.data.checks.zero_model import ZeroFit, _explained


def test_what_a_pair_of_waves_explains() -> None:
    """Squares that fall where two more columns are fitted, beside those that are there already."""
    rng = np.random.default_rng(0)
    W, waves = rng.normal(size=(50, 4)), rng.normal(size=(50, 6))
    y = rng.normal(size=50)
    basis, _ = np.linalg.qr(W)
    residual = y - basis @ (basis.T @ y)
    found = _explained(waves, basis, residual)
    for k in range(3):
        more = np.column_stack([W, waves[:, k], waves[:, 3 + k]])
        left = y - more @ np.linalg.lstsq(more, y, rcond=None)[0]
        assert found[k] == pytest.approx(residual @ residual - left @ left)
    # A pair of which one is the other explains nothing that can be trusted.
    same = np.column_stack([waves[:, 0], waves[:, 0]])
    assert _explained(same, basis, residual)[0] == 0.0


def test_costs_and_noise_of_a_fit() -> None:
    """Rows of forces first, then those of the prior."""
    basis, _ = np.linalg.qr(np.random.default_rng(1).normal(size=(6, 2)))
    residual = np.array([3.0, 4.0, 0.0, 0.0, 1.0, 0.0])
    fit = ZeroFit(np.zeros(2), np.zeros((3, 2)), residual, basis, np.zeros(1), np.zeros((3, 2)), 4, 2.5)
    assert fit.cost == 26.0
    assert fit.noise == pytest.approx(np.sqrt(25.0 / 2.5))
    left = fit.projected(np.eye(6))
    np.testing.assert_allclose(left @ left, left, atol=1e-14)
    np.testing.assert_allclose(left @ basis, 0.0, atol=1e-14)
