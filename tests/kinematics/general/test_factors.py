"""Elimination of a leg's rows: rates and forces as dense linear algebra has them."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.kinematics.general.factors import factorise, find_order

# Rates of a leg: two are active. One row more than rates.
RATES, ACTIVE = (3, 4, 7, 8), frozenset({4, 8})


def leg(seed: int) -> tuple[np.ndarray, list[dict[int, float]], frozenset[tuple[int, int]]]:
    """Sample matrices (samples, rows, rates) of one pattern, the last as rows, and its zeros."""
    rng = np.random.default_rng(seed)
    pattern = np.array([[1, 1, 0, 0], [1, 0, 1, 0], [0, 1, 1, 1], [1, 0, 0, 1], [0, 0, 1, 1]])
    M = rng.normal(size=(4, 5, 4)) * pattern
    rows = [{rate: float(row[k]) for k, rate in enumerate(RATES)} for row in M[-1]]
    zeros = frozenset((i, RATES[k]) for i, k in zip(*np.nonzero(pattern == 0), strict=True))
    return M, rows, zeros


@pytest.mark.parametrize("seed", range(4))
def test_rates_and_forces(seed: int) -> None:
    samples, rows, zeros = leg(seed)
    order = find_order(samples, RATES, ACTIVE, [0.0] * 5)
    assert {rate for _, rate in order.active} == ACTIVE
    assert len(order.left) == 1
    assert {row for row, _ in order.pivots} | {*order.left} == set(range(5))
    factors, M = factorise(rows, order, zeros), samples[-1]
    rng = np.random.default_rng(seed)

    u = rng.normal(size=4)
    found = factors.rates((M @ u).tolist())
    np.testing.assert_allclose([found[rate] for rate in RATES], u, atol=1e-10)
    given = {rate: u[RATES.index(rate)] for rate in ACTIVE}
    found = factors.rates((M @ u).tolist(), given)
    np.testing.assert_allclose([found[rate] for rate in RATES], u, atol=1e-10)

    def spread(multipliers: dict[int, float]) -> np.ndarray:
        return M.T @ [multipliers.get(row, 0.0) for row in range(5)]

    gamma = rng.normal(size=4)
    by_rate = dict(zip(RATES, gamma.tolist(), strict=True))
    held, _ = factors.forces(by_rate, held=True)
    np.testing.assert_allclose(spread(held), gamma, atol=1e-10)
    # With free actuators the rows hold the passive rates; what is left along active ones is theirs.
    free, own = factors.forces(by_rate)
    left = gamma - spread(free)
    for k, rate in enumerate(RATES):
        assert abs(left[k] - own.get(rate, 0.0)) < 1e-10
    for row in order.free:
        alone = spread(factors.remaining(row))
        assert all(abs(alone[RATES.index(rate)]) < 1e-10 for _, rate in order.passive)


def test_pivots_are_strong_at_the_worst_sample() -> None:
    """An entry that vanishes at one sample is no pivot, however large it is at the others."""
    samples = np.array([[[5.0, 1.0], [1.0, 1.0]], [[0.0, 1.0], [1.0, 2.0]]])
    order = find_order(samples, (0, 1), frozenset({1}), [0.0, 0.0])
    assert order.passive == ((1, 0),)
    assert order.active == ((0, 1),)
