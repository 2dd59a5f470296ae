"""The scalar contract: the same numbers from floats, batches, mpmath numbers and symbols."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacelle.program.trace import Symbol
from nacelle.spatial import scalar
from nacelle.spatial.batch import Batch, from_samples, to_samples
from support.compare import assert_same
from support.symbol import symbol, symbols, value, values

reals = st.floats(-10, 10, allow_subnormal=False)
positive = st.floats(1e-3, 10)

ONE: dict[str, tuple[Callable[[float], float], Any]] = {
    "sqrt": (math.sqrt, positive),
    "sin": (math.sin, reals),
    "cos": (math.cos, reals),
    "tanh": (math.tanh, reals),
    "exp": (math.exp, reals),
    "absolute": (abs, reals),
    "sign": (lambda x: float(x > 0) - float(x < 0), reals),
    "floor": (lambda x: float(x // 1.0), reals),
}
TWO: dict[str, Callable[[float, float], float]] = {
    "atan2": math.atan2,
    "minimum": min,
    "maximum": max,
}


def close(actual: Any, expected: float) -> bool:
    return math.isclose(float(actual), expected, rel_tol=4e-16, abs_tol=1e-300)


@pytest.mark.parametrize("name", ONE)
class TestOneArgument:
    @given(data=st.data())
    def test_float(self, name: str, data: st.DataObject) -> None:
        reference, domain = ONE[name]
        x = data.draw(domain)
        assert close(getattr(scalar, name)(x), reference(x))

    @given(data=st.data())
    def test_mpmath(self, name: str, data: st.DataObject) -> None:
        reference, domain = ONE[name]
        x = data.draw(domain)
        result = getattr(scalar, name)(mpmath.mpf(x))
        assert isinstance(result, mpmath.mpf)
        assert close(result, reference(x))

    @given(data=st.data())
    def test_symbol(self, name: str, data: st.DataObject) -> None:
        reference, domain = ONE[name]
        x = data.draw(domain)
        result = getattr(scalar, name)(symbol(x))
        assert isinstance(result, Symbol)
        assert close(value(result), reference(x))

    @given(data=st.data())
    def test_batch(self, name: str, data: st.DataObject) -> None:
        reference, domain = ONE[name]
        samples = data.draw(st.lists(domain, min_size=1, max_size=6))
        result = getattr(scalar, name)(Batch(samples))
        assert result.samples.shape == (len(samples),)
        assert all(close(r, reference(x)) for r, x in zip(result.samples, samples, strict=True))

    @pytest.mark.parametrize("wrap", [mpmath.mpf, symbol, float])
    def test_array_of_objects(self, name: str, wrap: Callable[[float], Any]) -> None:
        """An array of objects is taken entry by entry, whatever the entries are."""
        reference, _ = ONE[name]
        numbers = [0.3, 1.7, 2.0]
        array = np.empty(3, dtype=object)
        array[:] = [wrap(x) for x in numbers]
        result = getattr(scalar, name)(array)
        assert result.shape == (3,)
        assert all(close(value(r), reference(x)) for r, x in zip(result, numbers, strict=True))


# Kinds of scalars that meet in one expression; symbols and mpmath numbers never do.
MIXED = [
    (left, right)
    for left in (float, np.float64, mpmath.mpf, symbol)
    for right in (float, np.float64, mpmath.mpf, symbol)
    if {left, right} != {mpmath.mpf, symbol}
]
PAIRS = [(1.5, -0.5), (-0.5, 1.5), (-2.0, -2.0), (0.0, -1.0), (0.25, 0.0)]


@pytest.mark.parametrize("name", TWO)
@pytest.mark.parametrize(("a", "b"), PAIRS)
class TestTwoArguments:
    @pytest.mark.parametrize(("left", "right"), MIXED)
    def test_mixed(self, name: str, a: float, b: float, left: Any, right: Any) -> None:
        assert close(value(getattr(scalar, name)(left(a), right(b))), TWO[name](a, b))

    def test_batches(self, name: str, a: float, b: float) -> None:
        function, reference = getattr(scalar, name), TWO[name]
        x = [a, b, 0.5]
        batch, turned = Batch(x), Batch([-v for v in x])
        for result, expected in (
            (function(batch, b), [reference(v, b) for v in x]),
            (function(a, batch), [reference(a, v) for v in x]),
            (function(batch, turned), [reference(v, -v) for v in x]),
        ):
            assert all(close(r, e) for r, e in zip(result.samples, expected, strict=True))


@pytest.mark.parametrize("name", TWO)
def test_array_and_single_batch(name: str) -> None:
    """An array of batches with one batch: entry by entry."""
    function, reference = getattr(scalar, name), TWO[name]
    rows, others = [[1.5, 1.0], [-0.25, 2.0]], [0.5, -0.5]
    array, batch = from_samples(rows, 1), Batch(others)
    left, right = to_samples(function(array, batch)), to_samples(function(batch, array))
    for k, (row, other) in enumerate(zip(rows, others, strict=True)):
        assert all(close(r, reference(v, other)) for r, v in zip(left[k], row, strict=True))
        assert all(close(r, reference(other, v)) for r, v in zip(right[k], row, strict=True))


@pytest.mark.parametrize("name", TWO)
@pytest.mark.parametrize("wrap", [mpmath.mpf, symbol, float])
def test_arrays_of_objects(name: str, wrap: Callable[[float], Any]) -> None:
    function, reference = getattr(scalar, name), TWO[name]
    for a, b in PAIRS:
        array = np.empty(2, dtype=object)
        array[:] = [wrap(a), wrap(b)]
        for result, expected in (
            (function(array, 0.5), [reference(a, 0.5), reference(b, 0.5)]),
            (function(0.5, array), [reference(0.5, a), reference(0.5, b)]),
            (function(array, array[::-1]), [reference(a, b), reference(b, a)]),
        ):
            assert all(close(value(r), e) for r, e in zip(result, expected, strict=True))


CONDITIONS = [1.0, 1e-300, 0.0, -0.0, -1.0]


@pytest.mark.parametrize("condition", CONDITIONS)
class TestWhere:
    """`where` takes a where the condition is above zero: zero and below give b, for every scalar."""

    @pytest.mark.parametrize(("wrap", "wrap_values"), MIXED)
    def test_scalars(self, condition: float, wrap: Any, wrap_values: Any) -> None:
        chosen = scalar.where(wrap(condition), wrap_values(2.0), wrap_values(3.0))
        assert value(chosen) == (2.0 if condition > 0 else 3.0)

    def test_condition_batch(self, condition: float) -> None:
        chosen = scalar.where(Batch([condition, 1.0, -1.0]), 2.0, Batch([3.0, 4.0, 5.0]))
        np.testing.assert_array_equal(chosen.samples, [2.0 if condition > 0 else 3.0, 2.0, 5.0])

    @pytest.mark.parametrize("loaded", [True, False])
    def test_value_batches(self, condition: float, loaded: bool, monkeypatch: pytest.MonkeyPatch) -> None:
        """Whether mpmath is loaded must not change what is chosen."""
        if not loaded:
            monkeypatch.delitem(scalar.sys.modules, "mpmath")
        chosen = scalar.where(condition, Batch([1.0, 2.0]), Batch([-1.0, -2.0]))
        np.testing.assert_array_equal(chosen.samples, [1.0, 2.0] if condition > 0 else [-1.0, -2.0])
        mixed = scalar.where(condition, Batch([1.0, 2.0]), 7.0)
        expected = [1.0, 2.0] if condition > 0 else [7.0, 7.0]
        np.testing.assert_array_equal(np.broadcast_to(to_samples(mixed), (2,)), expected)

    @pytest.mark.parametrize("loaded", [True, False])
    def test_arrays_of_values(self, condition: float, loaded: bool, monkeypatch: pytest.MonkeyPatch) -> None:
        """A single condition chooses between whole arrays of floats."""
        if not loaded:
            monkeypatch.delitem(scalar.sys.modules, "mpmath")
        a = np.array([1.0, 2.0, 3.0])
        chosen = np.broadcast_to(scalar.where(condition, a, 7.0), (3,))
        np.testing.assert_array_equal(chosen, a if condition > 0 else np.full(3, 7.0))
        each = scalar.where(np.array([condition, 1.0, -1.0]), a, 7.0)
        np.testing.assert_array_equal(each, [1.0 if condition > 0 else 7.0, 2.0, 7.0])


@pytest.mark.parametrize("wrap", [mpmath.mpf, symbol, float])
def test_where_of_arrays_of_objects(wrap: Callable[[float], Any]) -> None:
    condition, a = np.empty(5, dtype=object), np.empty(5, dtype=object)
    condition[:] = [wrap(c) for c in CONDITIONS]
    a[:] = [wrap(v) for v in range(5)]
    chosen = scalar.where(condition, a, 7.0)
    assert [value(c) for c in chosen] == [0.0, 1.0, 7.0, 7.0, 7.0]


def test_where_evaluates_nan_as_not_above_zero() -> None:
    assert scalar.where(math.nan, 1.0, 2.0) == 2.0
    np.testing.assert_array_equal(scalar.where(np.array([math.nan, 1.0]), 1.0, 2.0), [2.0, 1.0])


def test_sign_of_zero_is_zero() -> None:
    assert scalar.sign(0.0) == 0.0
    assert scalar.sign(-0.0) == 0.0
    assert scalar.sign(mpmath.mpf(0)) == 0
    np.testing.assert_array_equal(scalar.sign(np.array([-2.0, 0.0, 3.0])), [-1.0, 0.0, 1.0])


@pytest.mark.parametrize(
    ("y", "x", "angle"),
    [
        (0.0, -1.0, math.pi),
        (1.0, 0.0, math.pi / 2),
        (-1.0, 0.0, -math.pi / 2),
        (0.0, 1.0, 0.0),
        (0.0, 0.0, 0.0),
        (-1.0, -1.0, -3 * math.pi / 4),
    ],
)
def test_atan2_quadrants(y: float, x: float, angle: float) -> None:
    assert scalar.atan2(y, x) == angle
    assert float(scalar.atan2(mpmath.mpf(y), mpmath.mpf(x))) == pytest.approx(angle, abs=1e-16)


# -------------------------------------------------------------------------------------------- pack


def test_pack_floats_is_an_array_of_floats() -> None:
    packed = scalar.pack([[1, 2.0], [np.float64(3), 4]])
    assert packed.dtype == float
    np.testing.assert_array_equal(packed, [[1.0, 2.0], [3.0, 4.0]])


@pytest.mark.parametrize("kind", [np.int64, np.int32, np.float32, np.float64, int, float])
def test_pack_numbers_of_any_type(kind: Any) -> None:
    packed = scalar.pack([kind(2), 0.5])
    assert packed.dtype == float
    np.testing.assert_array_equal(packed, [2.0, 0.5])


def test_pack_of_an_array() -> None:
    array = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(scalar.pack(array), array)
    assert scalar.pack(np.arange(3)).dtype == float


def test_pack_batches() -> None:
    """Batches are scalars: they do not add an axis, and numbers stand for all samples."""
    batch = Batch([1.0, 2.0, 3.0])
    packed = scalar.pack([[1.0, 2.0, 3.0], [batch, 0.0, -batch], [0.0, 0.0, 1]])
    assert packed.shape == (3, 3)
    samples = to_samples(packed)
    for k in range(3):
        np.testing.assert_array_equal(samples[k], [[1.0, 2.0, 3.0], [k + 1, 0.0, -k - 1], [0.0, 0.0, 1.0]])


def test_pack_arrays_of_objects() -> None:
    """Rows that are arrays already, of floats and of objects, stack to one array."""
    packed = scalar.pack([symbols([1.0, 2.0]), np.array([3.0, 4.0])])
    assert packed.shape == (2, 2)
    np.testing.assert_array_equal(values(packed), [[1.0, 2.0], [3.0, 4.0]])


@pytest.mark.parametrize("wrap", [mpmath.mpf, symbol])
def test_pack_objects(wrap: Callable[[float], Any]) -> None:
    packed = scalar.pack([[wrap(1.0), 0.0], [2.0, 3]])
    assert packed.dtype == object
    assert packed.shape == (2, 2)
    np.testing.assert_array_equal(values(packed), [[1.0, 0.0], [2.0, 3.0]])


# ------------------------------------------------------------------------------------- linear algebra

KINDS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "float": (np.asarray, np.asarray),
    "mpmath": (
        np.vectorize(lambda v: mpmath.mpf(float(v)), otypes=[object]),
        np.vectorize(float),
    ),
    "symbol": (symbols, values),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_vector_algebra(kind: str, seed: int) -> None:
    into, out = KINDS[kind]
    rng = np.random.default_rng(seed)
    a, b, A, B = rng.normal(size=3), rng.normal(size=3), rng.normal(size=(3, 3)), rng.normal(size=(3, 3))
    sa, sb, sA, sB = into(a), into(b), into(A), into(B)
    assert_same(out(scalar.dot(sa, sb)), a @ b, 1e-15)
    assert_same(out(scalar.norm(sa)), np.linalg.norm(a), 1e-15)
    assert_same(out(scalar.cross(sa, sb)), np.cross(a, b), 1e-15)
    assert_same(out(sA @ sb), A @ b, 1e-15)
    assert_same(out(sA @ sB), A @ B, 1e-15)
    assert_same(out(sA.T), A.T, 0.0)
    # Numbers of the robot are floats, states are of the other kind.
    assert_same(out(A @ sb), A @ b, 1e-15)
    assert_same(out(sA @ B), A @ B, 1e-15)
    assert_same(out(scalar.dot(a, sb)), a @ b, 1e-15)
    assert_same(out(scalar.cross(a, sb)), np.cross(a, b), 1e-15)


def test_vector_algebra_of_batches() -> None:
    rng = np.random.default_rng(8)
    a, b = rng.normal(size=(2, 4, 3))
    A, B = rng.normal(size=(2, 4, 3, 3))
    c, C = rng.normal(size=3), rng.normal(size=(3, 3))
    la, lb, lA, lB = from_samples(a, 1), from_samples(b, 1), from_samples(A, 2), from_samples(B, 2)
    for result, expected in (
        (scalar.dot(la, lb), np.einsum("ki,ki->k", a, b)),
        (scalar.norm(la), np.linalg.norm(a, axis=1)),
        (scalar.cross(la, lb), np.cross(a, b)),
        (lA @ lb, np.einsum("kij,kj->ki", A, b)),
        (lA @ lB, A @ B),
        (lA.T, np.swapaxes(A, 1, 2)),
        # Floats beside batches.
        (C @ lb, b @ C.T),
        (lA @ c, A @ c),
        (lA @ C, A @ C),
        (C @ lA, C @ A),
        (scalar.dot(c, lb), b @ c),
        (scalar.cross(c, lb), np.cross(c, b)),
        (scalar.cross(lb, c), np.cross(b, c)),
    ):
        assert_same(to_samples(result), expected, 1e-15)


def test_divide() -> None:
    """A quotient of floats follows IEEE 754, with no error and no warning."""
    assert scalar.divide(1.0, 4.0) == 0.25
    assert scalar.divide(1.0, 0.0) == math.inf
    assert scalar.divide(-1, 0) == -math.inf
    assert math.isnan(scalar.divide(0.0, 0.0))
    assert value(scalar.divide(symbol(1.0), 4.0)) == 0.25
    assert value(scalar.divide(1.0, symbol(4.0))) == 0.25
    assert scalar.divide(mpmath.mpf(1), 4.0) == mpmath.mpf("0.25")
    np.testing.assert_array_equal(scalar.divide(1.0, Batch([2.0, 0.0])).samples, [0.5, math.inf])
    np.testing.assert_array_equal(scalar.divide(np.array([1.0, 3.0]), 2.0), [0.5, 1.5])


@pytest.mark.filterwarnings("error")
def test_divide_numpy_floats_by_zero() -> None:
    """Numbers that came out of an array are floats too."""
    assert scalar.divide(np.float64(1.0), np.float64(0.0)) == math.inf


@given(st.integers(1, 4), st.integers(1, 5), st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_sparse_product_is_the_product(m: int, k: int, n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(m, k)) * (rng.random((m, k)) < 0.5)
    B = rng.normal(size=(k, n)) * (rng.random((k, n)) < 0.5)
    assert np.array_equal(scalar.sparse_product(A.astype(object), B).astype(float), scalar.product(A, B))
