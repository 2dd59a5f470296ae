"""How certain shifts are: correlated scores, and costs that are no parabolas."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from nacelle.identification.data.checks.zero_shift import Scan, Shift, score_variance

# Cost of the best fit, what a row is uncertain by, and the deviation of a shift.
COST, ROW, DEVIATION = 2.0, 0.1, 0.01


def test_variance_of_correlated_scores() -> None:
    """A moving mean over five samples of white noise has a sum five times as far from zero."""
    rng = np.random.default_rng(0)
    white = rng.normal(size=(400, 2004))
    means = np.cumsum(white, axis=1)
    smooth = (means[:, 5:] - means[:, :-5]) / 5.0
    estimates = [score_variance(row) for row in smooth]
    assert np.mean(estimates) == pytest.approx(np.var(np.sum(smooth, axis=1)), rel=0.25)


def scan(below: list[float], above: list[float]) -> Scan:
    """A scan with these costs at shifts of 0.12, 0.25 and 0.5."""
    fit: Any = SimpleNamespace(cost=COST, zeros=np.zeros(1))
    sides: Any = tuple(
        tuple(
            SimpleNamespace(cost=cost, zeros=np.array([side * size]))
            for size, cost in zip((0.12, 0.25, 0.5), costs, strict=False)
        )
        for side, costs in ((-1.0, below), (1.0, above))
    )
    model: Any = None
    return Scan(model, fit, np.ones(1), Shift(np.ones(1), fit, 0.0, DEVIATION, ROW), sides)


def parabola(size: float) -> float:
    return COST + (ROW * size / DEVIATION) ** 2


def test_what_is_visible_follows_from_costs() -> None:
    exact = [parabola(size) for size in (0.12, 0.25, 0.5)]
    assert scan(exact, exact).visible(7.0) == pytest.approx(7.0 * DEVIATION)
    # T is 3 at 0.12 and 11 at 0.25: 7 half way between.
    flat = [COST + (3.0 * ROW) ** 2, COST + (11.0 * ROW) ** 2, exact[2]]
    assert scan(exact, flat).visible(7.0) == pytest.approx(0.185)
    assert scan(flat, exact).visible(7.0) == pytest.approx(0.185)
    # No poses from 0.25 on, or nowhere to one side; beyond the last size in proportion.
    assert scan(exact, flat[:1]).visible(7.0) == pytest.approx(0.25)
    assert scan(exact, []).visible(7.0) == pytest.approx(7.0 * DEVIATION)
    assert scan(exact, [flat[0]] * 3).visible(7.0) == pytest.approx(0.5 * 7.0 / 3.0)
