"""Sums, products and multiples among values: those that there are, and no others."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.program.identities.join import _looked_up, other_makings
from nacelle.program.identities.values import Values
from support.identities import Writer, samples


def test_planted_relations_are_found_and_no_others() -> None:
    w = Writer(4)
    a, b = w("add", 0, 1), w("mul", 2, 3)
    # a + b, a b and 2.5 a, each written so that no instruction shows it.
    total = w("sub", w("add", w("add", 0, b), w("mul", w.const(2.0), 1)), 1)
    product = w("add", w("mul", w("mul", 0, 2), 3), w("mul", w("mul", 1, 2), 3))
    multiple = w("add", w("mul", w.const(2.5), 0), w("mul", w.const(2.5), 1))
    stranger = w("mul", w("add", 0, 2), w("add", 1, 3))
    program = w.program(a, b, total, product, multiple, stranger)
    given = samples(4)
    values = Values(program, given.proof, given.sizes)
    one, two, sum_, product_, multiple_, other = (ref >> 1 for ref in values.results)
    found = other_makings(
        values, [one, two, sum_, product_, multiple_, other], [sum_, product_, multiple_, other]
    )
    assert (0, ("add", *sorted((2 * one, 2 * two)))) in found[sum_]
    assert (0, ("mul", *sorted((2 * one, 2 * two)))) in found[product_]
    factors = [values.constants[making[1][1] >> 1] for making in found[multiple_] if making[1][2] == 2 * one]
    assert factors == [2.5]
    assert not found[other]


def test_nothing_from_nothing() -> None:
    w = Writer(1)
    given = samples(1)
    values = Values(w.program(w("add", 0, 0)), given.proof, given.sizes)
    assert other_makings(values, [], []) == {}


@pytest.mark.parametrize("seed", range(4))
def test_pairs_are_those_of_all_pairs(seed: int) -> None:
    """Sums of either sign, terms that are far apart in size, and terms that are there twice."""
    random = np.random.default_rng(seed)
    own = random.standard_normal(60) * 10.0 ** random.integers(-3, 3, 60)
    column = np.concatenate([own, -own, own[:5]])
    first, second = random.integers(0, len(column), (2, 80))
    targets = np.concatenate([column[first] + column[second], random.standard_normal(20)])
    targets = targets[targets != 0.0]
    t, a, b = _looked_up(column, targets, np.abs(column))
    near = np.abs(column[:, None] + column - targets[:, None, None]) <= 1e-11 * (
        np.abs(column[:, None]) + np.abs(column)
    )
    # One partner for every first term that has any, in the order of targets and terms.
    assert list(zip(t, a, strict=True)) == list(zip(*np.nonzero(near.any(axis=2)), strict=True))
    assert near[t, a, b].all()
    assert (np.bincount(t, minlength=80)[:70] > 0).all()
