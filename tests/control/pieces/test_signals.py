"""Signals of a sample: what is missing, what is limited, what stops a controller."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.control.pieces.signals import (
    STOPPED,
    UNLIMITED,
    difference,
    either,
    finite_force,
    finite_limits,
    halted,
    present,
    rate_of,
    waited,
    weakest,
    within_limits,
)
from support.library import library_robot

Z = {"missed": np.array([2.0]), "stopped": np.zeros(1), "x": np.array([1.0, 2.0])}


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e12])
def test_readings_that_cannot_be(bad: float) -> None:
    assert present(bad) < 0.0 < present(-3.0)
    assert weakest([present(1.0), present(bad)]) < 0.0 < weakest([present(1.0), present(0.0)])


def test_waiting_ends_at_patience() -> None:
    k = {"patience": np.array([3.0])}
    missed, stopped = waited([1.0, -1.0], Z, k)
    assert (missed[0], stopped[0]) == (3.0, 0.0)
    missed, stopped = waited([-1.0], {**Z, "missed": missed}, k)
    assert (missed[0], stopped[0]) == (4.0, STOPPED)
    missed, stopped = waited([1.0], {**Z, "missed": missed, "stopped": stopped}, k)
    assert (missed[0], stopped[0]) == (0.0, STOPPED)


def test_angles_are_compared_within_half_a_turn() -> None:
    turned = difference(library_robot("fivebar"), np.array([3.0, 0.1]), np.array([-3.0, 0.3]))
    np.testing.assert_allclose(turned, [6.0 - 2.0 * np.pi, -0.2])
    slid = difference(library_robot("prrrp"), np.array([3.0, 0.1]), np.array([-3.0, 0.3]))
    np.testing.assert_allclose(slid, [6.0, -0.2])


def test_forces_stay_within_limits() -> None:
    limits = finite_limits(np.array([2.0, np.inf]))
    assert limits.tolist() == [2.0, UNLIMITED]
    assert within_limits(np.array([-5.0, 1e9]), limits).tolist() == [-2.0, 1e9]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_forces_that_are_numbers(bad: float) -> None:
    assert finite_force(np.array([1.0, UNLIMITED])) > 0.0 > finite_force(np.array([1.0, bad]))
    assert halted(0.0, np.array([1.0, -2.0])).tolist() == [1.0, -2.0]
    assert halted(3.0, np.array([1.0, bad])).tolist() == [0.0, 0.0]


def test_nothing_to_choose_from() -> None:
    assert either(1.0, np.zeros(0), np.zeros(0)).shape == (0,)


def test_rate_follows_a_ramp_and_starts_at_zero() -> None:
    T, share = 1e-3, 0.5
    k = {"period": np.array([T]), "smoothing": np.array([share])}
    z = {"error": np.zeros(1), "rate": np.zeros(1), "started": np.zeros(1)}
    for sample in range(30):
        error = np.array([2.0 * T * (sample + 5)])
        rate = rate_of(error, z, k)
        assert abs(rate[0] - 2.0 * (1.0 - (1.0 - share) ** sample)) < 1e-10
        z = {"error": error, "rate": rate, "started": np.ones(1)}
