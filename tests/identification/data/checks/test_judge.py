"""The judge: least squares with bounds as scipy has them, and a wrong sign costs more than the right one."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from nacelle.identification.data.checks.correction import as_read, rescaled
from nacelle.identification.data.checks.judge import Judge, _bounded, rms_of, rows_rms
from nacelle.identification.data.checks.smoothing import smoothed
from support.library import library_robot
from support.measurements import Truth, measured


@pytest.mark.parametrize("seed", range(5))
def test_bounded_least_squares(seed: int) -> None:
    rng = np.random.default_rng(seed)
    A, b = rng.normal(size=(30, 5)), rng.normal(size=30)
    positive = np.array([False, True, True, False, True])
    H = A.T @ A + np.eye(5)
    bounds = (np.where(positive, 0.0, -np.inf), np.full(5, np.inf))
    exact = lsq_linear(np.vstack([A, np.eye(5)]), np.concatenate([b, np.zeros(5)]), bounds).x
    np.testing.assert_allclose(_bounded(H, A.T @ b, positive), exact, atol=1e-6)


def test_the_right_reading_costs_least() -> None:
    run = measured(library_robot("fivebar"), 3, Truth(duration=1.2))
    judge = Judge(run.robot, smoothed(run.time, np.concatenate([run.q, run.force], axis=1), 2))
    right = judge.verdict(as_read(2))
    assert right.lost == 0.0
    assert right.residual < 0.3
    for wrong in (rescaled(2, (2,), -1.0), rescaled(2, (2, 3), 1e3)):
        assert judge.verdict(wrong).cost > right.cost + 15.0


def test_units_of_forces() -> None:
    wave = np.sin(np.linspace(0.0, 2.0 * np.pi, 1000, endpoint=False))
    force = np.stack([2.0 * wave, 5.0 + 0.0 * wave], axis=1)
    np.testing.assert_allclose(rms_of(force), [1.05 * np.sqrt(2.0), 0.25], rtol=1e-6)
    # Rows of J^-T f for independent forces of these sizes.
    J = np.array([[[1.0, 0.0], [0.0, 2.0]]])
    np.testing.assert_allclose(rows_rms(J, np.array([3.0, 4.0])), [[3.0, 8.0]])
