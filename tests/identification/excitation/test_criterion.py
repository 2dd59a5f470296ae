"""Criteria of excitation: what they are, and their derivatives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacelle.identification.excitation.criterion import condition, criterion


def _rows(seed: int, rows: int = 12, columns: int = 5) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(rows, columns)) * rng.uniform(0.1, 3.0, columns)


@given(st.integers(0, 10_000), st.sampled_from([2.0, 8.0, 64.0]))
def test_the_smooth_condition_is_above_the_condition_by_a_known_factor(seed, order):
    R = _rows(seed)
    smooth = np.exp(criterion("condition", R, order).value)
    exact = np.linalg.cond(R)
    assert exact * (1 - 1e-12) <= smooth <= exact * 5 ** (2.0 / order) * (1 + 1e-12)
    assert condition(R) == pytest.approx(exact, rel=1e-10)


@pytest.mark.parametrize("name", ["condition", "log-det"])
@given(st.integers(0, 10_000))
def test_derivatives_are_those_of_differences(name, seed):
    R, step = _rows(seed), _rows(seed + 1)
    _, slope = criterion(name, R, 4.0)
    h = 1e-6
    along = (criterion(name, R + h * step, 4.0).value - criterion(name, R - h * step, 4.0).value) / (2 * h)
    assert along == pytest.approx(float(np.sum(slope * step)), rel=1e-5, abs=1e-6)


@given(st.integers(0, 10_000))
def test_units_shift_the_determinant_alone(seed):
    R = _rows(seed)
    units = np.random.default_rng(seed + 5).uniform(0.1, 10.0, 5)
    shift = criterion("log-det", R).value - criterion("log-det", R * units).value
    assert shift == pytest.approx(np.sum(np.log(units)), rel=1e-9)
    sign, value = np.linalg.slogdet(R.T @ R)
    assert sign > 0
    assert criterion("log-det", R).value == pytest.approx(-0.5 * value, rel=1e-9, abs=1e-9)
