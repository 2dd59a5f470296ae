"""Signals of a sample: presence, angles, rates, limits."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.control.pieces.signals import difference, finite_limits, limited, present, rate_of
from support.library import library_robot


@pytest.mark.parametrize(("value", "there"), [(1.0, 1.0), (-5e8, 1.0), (np.nan, -1.0), (-np.inf, -1.0)])
def test_present(value: float, there: float) -> None:
    assert present(value) == there


def test_angles_differ_by_less_than_half_a_turn() -> None:
    robot = library_robot("fivebar")
    a, b = np.array([3.1, -7.0]), np.array([-3.1, 6.0])
    off = difference(robot, a, b)
    assert np.all(np.abs(off) <= np.pi)
    assert np.max(np.abs(np.exp(1j * off) - np.exp(1j * (a - b)))) < 1e-14
    # Lengths do not come round.
    lengths = library_robot("palida")
    assert np.array_equal(difference(lengths, np.full(6, 9.0), np.full(6, 1.0)), np.full(6, 8.0))


def test_rate_follows_a_ramp_and_starts_at_zero() -> None:
    T, share = 1e-3, 0.5
    k = {"period": np.array([T]), "smoothing": np.array([share])}
    z = {"error": np.zeros(1), "rate": np.zeros(1), "started": np.zeros(1)}
    for sample in range(30):
        error = np.array([2.0 * T * (sample + 5)])
        rate = rate_of(error, z, k)
        assert abs(rate[0] - 2.0 * (1.0 - (1.0 - share) ** sample)) < 1e-10
        z = {"error": error, "rate": rate, "started": np.ones(1)}


def test_limits() -> None:
    most = finite_limits(np.array([1.0, np.inf]))
    assert limited(np.array([5.0, -5e9]), most).tolist() == [1.0, -5e9]
