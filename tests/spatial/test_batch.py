"""Batches: arithmetic sample by sample, beside numbers and arrays, and there and back."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from nacelle.spatial.batch import Batch, from_samples, to_samples
from nacelle.spatial.solve import solve
from support.compare import assert_same

OPERATORS = [operator.add, operator.sub, operator.mul, operator.truediv]
X = np.array([1.5, -2.0, 0.25])
Y = np.array([4.0, 3.0, -0.5])


@pytest.mark.parametrize("function", OPERATORS)
def test_arithmetic(function: Callable[[Any, Any], Any]) -> None:
    np.testing.assert_array_equal(function(Batch(X), Batch(Y)).samples, function(X, Y))
    for number in (2, 2.5, np.float64(-3.0), np.int64(4)):
        np.testing.assert_array_equal(function(Batch(X), number).samples, function(X, number))
        np.testing.assert_array_equal(function(number, Batch(X)).samples, function(number, X))


@pytest.mark.parametrize("function", OPERATORS)
@pytest.mark.parametrize("as_object", [False, True])
def test_arithmetic_with_arrays(function: Callable[[Any, Any], Any], as_object: bool) -> None:
    """Entry by entry, whichever side the array is on."""
    array = np.array([[1.0, 2.0], [4.0, -5.0]])
    given_array = array.astype(object) if as_object else array
    for result, expected in (
        (function(given_array, Batch(X)), [function(array, x) for x in X]),
        (function(Batch(X), given_array), [function(x, array) for x in X]),
    ):
        assert result.shape == (2, 2)
        assert_same(to_samples(result), expected, 0.0)


def test_one_sided() -> None:
    np.testing.assert_array_equal((-Batch(X)).samples, -X)
    np.testing.assert_array_equal(abs(Batch(X)).samples, np.abs(X))


def test_division_by_zero_is_quiet_and_ieee() -> None:
    result = (Batch([1.0, -1.0, 0.0]) / Batch([0.0, 0.0, 0.0])).samples
    np.testing.assert_array_equal(result, [np.inf, -np.inf, np.nan])


@pytest.mark.parametrize(
    "ask",
    [
        bool,
        lambda batch: batch and 1,
        lambda batch: 1 if batch else 2,
        lambda batch: max(batch, 0.0),
        lambda batch: batch > 0,
    ],
)
def test_batches_do_not_decide(ask: Callable[[Batch], Any]) -> None:
    with pytest.raises(TypeError):
        ask(Batch(X))


@given(st.integers(0, 3), st.integers(0, 2), st.integers(0, 2**32 - 1))
def test_there_and_back(rank: int, axes: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape = tuple(int(n) for n in rng.integers(1, 4, axes + rank))
    batch = rng.normal(size=shape)
    array = from_samples(batch, rank)
    assert array.shape == shape[axes:]
    np.testing.assert_array_equal(to_samples(array), batch)


@given(hnp.arrays(float, (4, 3), elements=st.floats(-1e3, 1e3)))
def test_numbers_stand_for_all_samples(batch: np.ndarray) -> None:
    column = from_samples(batch, 1)
    column[1] = 7.0
    back = to_samples(column)
    np.testing.assert_array_equal(back[:, 1], np.full(4, 7.0))
    np.testing.assert_array_equal(back[:, 0], batch[:, 0])


@pytest.mark.parametrize("kind", ["general", "spd", "fixed"])
@pytest.mark.parametrize("shape", [(3,), (3, 2)])
def test_solve(kind: str, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(1)
    A = rng.normal(size=(5, 3, 3))
    A = A @ np.swapaxes(A, 1, 2) + np.eye(3)
    b = rng.normal(size=(5, *shape))
    expected = [np.linalg.solve(M, r) for M, r in zip(A, b, strict=True)]
    assert_same(to_samples(solve(from_samples(A, 2), from_samples(b, len(shape)), kind)), expected, 1e-13)
    # Floats on one side.
    assert_same(
        to_samples(solve(A[0], from_samples(b, len(shape)), kind)),
        [np.linalg.solve(A[0], r) for r in b],
        1e-13,
    )
    assert_same(
        to_samples(solve(from_samples(A, 2), b[0], kind)), [np.linalg.solve(M, b[0]) for M in A], 1e-13
    )


def test_solve_of_a_singular_sample_leaves_the_others() -> None:
    A = np.array([np.eye(2), np.zeros((2, 2)), 2.0 * np.eye(2)])
    x = to_samples(solve(from_samples(A, 2), np.array([1.0, 2.0])))
    np.testing.assert_array_equal(x, [[1.0, 2.0], [np.nan, np.nan], [0.5, 1.0]])


def test_operations_are_silent_and_leave_the_error_state_alone() -> None:
    huge, zero = Batch(np.array([1e300, -1e300])), Batch(np.zeros(2))
    with warnings.catch_warnings(), np.errstate(all="warn"):
        warnings.simplefilter("error")
        before = np.geterr()
        found = [huge * huge, 1.0 / zero, zero / zero, huge.exp(), (-huge * huge).sqrt()]
        assert np.geterr() == before
        with ThreadPoolExecutor(4) as pool:
            threads = list(pool.map(lambda _: (huge * huge / zero).samples, range(100)))
    assert np.isnan(found[2].samples).all()
    assert all(np.array_equal(samples, [np.inf, np.inf]) for samples in threads)
    with pytest.warns(RuntimeWarning, match="overflow"):
        np.multiply(huge.samples, huge.samples)
