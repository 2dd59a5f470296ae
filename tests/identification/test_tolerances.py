"""What tolerances of lengths and zeros add to deviations, against robots whose geometry is off at random."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nacelle.errors import IdentificationError
from nacelle.identification.experiment import perturb_parameters
from nacelle.identification.identify import Identification, identify
from nacelle.identification.tolerances import GeometryErrors
from support.identification import exact_run, fourier, truth_of
from support.library import library_robot

_PART = 0.003


def identified(seed: int) -> tuple[Identification, np.ndarray]:
    """A five-bar whose lengths and zeros are off the description, and the errors of its estimates."""
    robot, rng = library_robot("fivebar"), np.random.default_rng(seed)
    lengths = robot.numbers.vector("geometry")
    moved = robot.with_numbers(lengths + _PART * robot.size * rng.normal(size=len(lengths)), "geometry")
    true = perturb_parameters(moved, seed=seed)
    run = exact_run(moved, fourier(moved, 0.04, frequency=1.0), true=true, periods=4.0)
    measured = run.noisy(force=0.005, encoder=1e-6, seed=seed)
    measured = replace(measured, robot=robot, q=measured.q + _PART * rng.normal(size=2))
    result = replace(identify(robot, measured, allow=("all",)), tolerance=_PART * robot.size)
    return result, result.estimator.coef_ - truth_of(result.base, true)


@pytest.mark.parametrize("count", [4, pytest.param(30, marks=pytest.mark.soak)])
def test_intervals_cover_with_wrong_lengths(count: int) -> None:
    inside = []
    for seed in range(count):
        result, errors = identified(seed)
        noise = result.estimator.std_
        inside.append(
            [np.abs(errors) < 1.96 * noise, np.abs(errors) < 1.96 * np.hypot(noise, result.systematic)]
        )
    alone, both = np.mean(inside, axis=(0, 2))
    assert alone < 0.8
    assert both > 0.9


def test_a_tolerance_of_zero_adds_nothing() -> None:
    result, _ = identified(0)
    assert np.all(replace(result, tolerance=0.0).systematic == 0.0)
    wide, narrow = (replace(result, tolerance=tolerance).systematic for tolerance in (1e-3, 1e-5))
    # Small ones are what the residuals say nothing about: proportional.
    assert np.all(wide > narrow)
    assert np.allclose(replace(result, tolerance=1e-6).systematic, 0.1 * narrow, rtol=1e-2)
    with pytest.raises(IdentificationError, match="tolerance of lengths"):
        replace(result, tolerance=-1.0)


def test_residuals_limit_errors_as_samples_do() -> None:
    """Errors that are drawn at random and weighted by the probability of the residuals."""
    rng = np.random.default_rng(0)
    slopes, shown = rng.normal(size=(3, 2)), rng.normal(size=(2, 2))
    information, is_angle = shown.T @ shown, np.array([False, True])
    errors = GeometryErrors(slopes, information, np.array([1.0, -0.5]), is_angle)
    p = rng.normal(size=(400000, 2)) * [0.8, 1.5]
    weights = np.exp(p @ errors.score - 0.5 * np.einsum("ni,ij,nj->n", p, information, p))
    expected = np.sqrt(np.average((p @ slopes.T) ** 2, axis=0, weights=weights))
    assert np.allclose(errors.deviations(0.8, 1.5), expected, rtol=0.01)
