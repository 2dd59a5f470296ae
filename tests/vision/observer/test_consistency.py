"""Normalised squares against drawn errors."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.vision.observer.consistency import chi_square_interval, consistency, nees
from nacelle.vision.observer.update import Innovation, Said


def test_normalised_errors():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((3, 3)) * np.array([1e-6, 1.0, 1e3])
    e = rng.standard_normal((4000, 3)) @ A
    squares = nees(e, np.broadcast_to(A.T @ A, (4000, 3, 3)))
    low, high = chi_square_interval(3 * 4000)
    assert low < np.mean(squares) / 3 < high
    assert high - low == pytest.approx(2 * 1.96 * np.sqrt(2 / 12000), rel=1e-2)


def test_innovations():
    each = (Innovation(0.0, "a", 2.0, 2, True), Innovation(0.0, "b", 99.0, 2, False))
    result = consistency([Said(each, 2.0, 2), Said((each[0],), 4.0, 2), Said()])
    assert (result.average, result.count, result.rejected) == (1.5, 2, 1)
    assert result.ok
    assert not consistency([Said(each[:1], 40.0, 2)]).ok
    assert np.isnan(consistency([Said(each[1:])]).average)
