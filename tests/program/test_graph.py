"""The expression graph: what folds, what is shared, solves, splits."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nacelle.program.cost import count
from nacelle.program.graph import Graph
from nacelle.program.minimise import minimise
from nacelle.program.split import split
from nacelle.program.trace import Symbol, input_symbols, trace
from nacelle.spatial import scalar
from nacelle.spatial.batch import from_samples, to_samples
from nacelle.spatial.scalar import absolute, atan2, cos, floor, maximum, pack, sign, sin, sqrt, where
from nacelle.spatial.solve import solve


@pytest.fixture
def xy():
    g = Graph()
    return g, g.input(0), g.input(1)


def test_identities(xy):
    g, x, y = xy
    zero, one, two = g.const(0.0), g.const(1.0), g.const(2.0)
    assert g.add(x, zero) == x == g.add(zero, x) == g.sub(x, zero) == g.mul(one, x) == g.div(x, one)
    assert g.mul(x, zero) == zero == g.sub(x, x) == g.mul(zero, y)
    assert g.div(x, x) == one
    assert g.neg(g.neg(x)) == x
    assert g.add(x, x) == g.mul(two, x)
    assert g.div(x, two) == g.mul(x, g.const(0.5))


def test_commutative_arguments_meet(xy):
    g, x, y = xy
    assert g.add(x, y) == g.add(y, x)
    assert g.mul(x, y) == g.mul(y, x)
    assert g.binary("min", x, y) == g.binary("min", y, x)
    assert g.sub(x, y) == g.neg(g.sub(y, x))
    assert g.binary("atan2", x, y) != g.binary("atan2", y, x)
    assert g.div(x, y) != g.div(y, x)


def test_signs_are_pulled(xy):
    g, x, y = xy
    m = g.neg
    assert g.mul(m(x), y) == m(g.mul(x, y)) == g.mul(x, m(y))
    assert g.mul(m(x), m(y)) == g.mul(x, y)
    assert g.div(m(x), y) == m(g.div(x, y)) == g.div(x, m(y))
    assert g.add(m(x), m(y)) == m(g.add(x, y))
    assert g.add(x, m(y)) == g.sub(x, y)
    assert g.sub(x, m(y)) == g.add(x, y)
    assert g.sub(m(x), y) == m(g.add(x, y))
    assert g.mul(g.const(-3.0), x) == m(g.mul(g.const(3.0), x))
    assert g.unary("sin", m(x)) == m(g.unary("sin", x))
    assert g.unary("tanh", m(x)) == m(g.unary("tanh", x))
    assert g.unary("sign", m(x)) == m(g.unary("sign", x))
    assert g.unary("cos", m(x)) == g.unary("cos", x)
    assert g.unary("abs", m(x)) == g.unary("abs", x)


def test_constants_fold(xy):
    g, x, _ = xy
    assert g.nodes[g.unary("sqrt", g.const(2.0))] == ("const", math.sqrt(2.0))
    assert g.nodes[g.binary("atan2", g.const(1.0), g.const(-1.0))] == ("const", math.atan2(1.0, -1.0))
    assert g.nodes[g.binary("max", g.const(1.0), g.const(3.0))] == ("const", 3.0)
    assert g.nodes[g.unary("sign", g.const(-0.0))] == ("const", 0.0)
    assert g.nodes[g.unary("floor", g.const(-1.5))] == ("const", -2.0)
    assert g.unary("floor", g.unary("floor", x)) == g.unary("floor", x)
    assert g.unary("floor", g.neg(x)) != g.neg(g.unary("floor", x))
    assert g.mul(g.const(2.0), g.mul(g.const(3.0), x)) == g.mul(g.const(6.0), x)
    assert g.where(g.const(1.0), x, g.const(5.0)) == x
    assert g.where(g.const(0.0), x, g.const(5.0)) == g.const(5.0)
    assert g.where(x, x, x) == x
    assert g.nodes[g.unary("sqrt", g.const(-1.0))][0] == "sqrt"
    assert g.nodes[g.div(x, g.const(0.0))][0] == "div"


def test_symbols_in_array_code():
    g = Graph()
    x = input_symbols(g, 0, (3,))
    A = np.arange(9.0).reshape(3, 3)
    assert isinstance((A @ x)[0], Symbol)
    assert (2.0 * x)[1].index == (x + x)[1].index
    assert (np.float64(3.0) * x[0]).index == (x[0] * 3.0).index
    assert (np.eye(3) * x[0])[0, 1].index == g.const(0.0)
    assert (x[0] ** 3).index == (x[0] * (x[0] * x[0])).index
    assert (x[0] ** -2).index == (1.0 / (x[0] * x[0])).index


@pytest.mark.parametrize(
    "wrong",
    [
        lambda x: x if x > 0 else -x,
        lambda x: x and x,
        float,
        lambda x: x**0.5,
        math.sin,
        lambda x: max(x, 1.0),
    ],
)
def test_what_cannot_be_traced_says_so(wrong):
    with pytest.raises(TypeError, match=r"where|number|sqrt|compared"):
        trace(wrong, {"x": ()})


def test_primitives_with_numbers_on_either_side():
    def f(x):
        return scalar.pack(
            [
                scalar.atan2(1.0, x),
                scalar.atan2(x, 2.0),
                scalar.minimum(0.5, x),
                scalar.maximum(x, 0.5),
                scalar.where(x, 1.0, 2.0),
                scalar.where(x, x, 0.0),
                scalar.absolute(x),
                scalar.sign(x),
                scalar.floor(x),
                scalar.tanh(x),
                scalar.exp(x),
            ]
        )

    program = trace(f, {"x": ()}).program()
    for value in (-1.5, 0.0, 0.3, 2.0):
        np.testing.assert_array_equal(program.evaluate([value]), f(value))
    batch = np.array([-1.5, 0.0, 0.3, 2.0])
    np.testing.assert_array_equal(np.array(program.evaluate([batch])), f(batch))


def test_traces_cannot_be_mixed():
    kept = []
    trace(lambda x: kept.append(x) or x, {"x": ()})
    with pytest.raises(TypeError, match="two traces"):
        trace(lambda x: x + kept[0], {"x": ()})


# ---- Solves: one node, lowered by structure; counts as textbooks have them


def program(n, kind, columns=None):
    shape = (n,) if columns is None else (n, columns)
    return trace(lambda A, b: solve(A, b, kind), {"A": (n, n), "b": shape}).program()


@pytest.mark.parametrize("kind", ["general", "spd", "fixed"])
@pytest.mark.parametrize("n", range(1, 9))
def test_solutions(n, kind):
    rng = np.random.default_rng(n)
    for _ in range(20):
        A = rng.normal(size=(n, n))
        if kind != "general":
            A = A @ A.T + np.eye(n)
        b = rng.normal(size=n)
        x = np.array(program(n, kind).evaluate([*A.ravel(), *b]))
        reference = np.linalg.solve(A, b)
        bound = 50 * np.finfo(float).eps * np.linalg.cond(A) * np.max(np.abs(reference))
        assert np.max(np.abs(x - reference)) < bound


def test_pivoting_survives_zeros_on_the_diagonal():
    A = np.array([[0.0, 1, 0, 2, 0], [3, 0, 1, 0, 0], [0, 2, 0, 0, 1], [1, 0, 0, 0, 4], [0, 0, 5, 1, 0]])
    b = np.arange(1.0, 6.0)
    x = program(5, "general").evaluate([*A.ravel(), *b])
    np.testing.assert_allclose(x, np.linalg.solve(A, b), rtol=0, atol=1e-14)
    twice = [np.array([value, value]) for value in (*A.ravel(), *b)]
    np.testing.assert_allclose(program(5, "general").evaluate(twice), np.array([x, x]).T, rtol=0, atol=0)


def test_structural_zeros_cost_nothing():
    def diagonal(d, b):
        return solve(pack([[d[i] if i == j else 0.0 for j in range(5)] for i in range(5)]), b)

    counted = count(trace(diagonal, {"d": (5,), "b": (5,)}).program())
    assert (counted.add, counted.mul, counted.other) == (0, 10, 0)

    def triangular(L, b):
        return solve(pack([[L[i, j] if i >= j else 0.0 for j in range(4)] for i in range(4)]), b, "fixed")

    assert count(trace(triangular, {"L": (4, 4), "b": (4,)}).program()).add == 6


def test_several_right_hand_sides_share_the_elimination():
    one, three = count(program(6, "spd")), count(program(6, "spd", 3))
    # Each further right-hand side costs 30 additions and 36 products.
    assert (three.add, three.mul) == (one.add + 60, one.mul + 72)


@pytest.mark.parametrize(
    ("n", "kind", "add", "mul"),
    [
        # Cramer: 2 x 2 has 3 differences and 8 products with one reciprocal.
        (2, "general", 3, 9),
        # 3 x 3: nine cofactors (18, 9), the determinant (3, 2), x = C^T b / det (12, 6).
        (3, "general", 17, 34),
        # L D L^T: 35 + 15 products and 35 differences, substitution 15 + 6 + 15 and 30, 6 reciprocals.
        (6, "spd", 65, 92),
    ],
)
def test_counts_of_textbooks(n, kind, add, mul):
    counted = count(program(n, kind))
    assert (counted.add, counted.mul) == (add, mul)


def test_all_scalars_solve_alike():
    rng = np.random.default_rng(2)
    A, b = rng.normal(size=(4, 4)), rng.normal(size=4)
    reference = np.linalg.solve(A, b)
    np.testing.assert_allclose(solve(A, b), reference, rtol=1e-13)
    batch = rng.normal(size=(3, 4, 4))
    x = to_samples(solve(from_samples(batch, 2), b))
    np.testing.assert_allclose(x, np.linalg.solve(batch, np.stack([b] * 3)[..., None])[..., 0], rtol=1e-12)
    many = solve(A, np.stack([b, 2 * b], axis=1))
    np.testing.assert_allclose(many, np.stack([reference, 2 * reference], axis=1), rtol=1e-13)
    to_mp = np.vectorize(mpmath.mpf, otypes=[object])
    np.testing.assert_allclose(solve(to_mp(A), to_mp(b)).astype(float), reference, rtol=1e-13)
    spd = A @ A.T + np.eye(4)
    lower = np.tril(spd) + np.triu(np.full((4, 4), np.nan), 1)
    np.testing.assert_allclose(solve(lower, b, "spd"), np.linalg.solve(spd, b), rtol=1e-12)


# ---- Splitting a program: prologue and body give what the whole gives, and the body is as short as with
# constants.


def run(parts, p, *others):
    flat = parts.prologue.evaluate(list(p))
    return np.array(parts.body.evaluate([*flat, *np.concatenate([np.ravel(o) for o in others])]))


def pendulum(p, x):
    """Numbers that meet only in constants: m l^2 x'' + m g l sin x + c x'."""
    m, length, g, c = p
    return m * length * (length * x[2]) + g * (m * length) * sin(x[0]) + c * x[1]


def test_numbers_that_meet_are_one_constant():
    parts = split(trace(pendulum, {"p": (4,), "x": (3,)}), [1.3, 0.7, 9.7, 0.11])
    assert count(parts.body).total == 5
    assert parts.body.inputs[0].shape == (3,)
    p, x = np.array([2.0, 0.5, 9.81, 0.3]), np.array([0.4, -1.0, 2.0])
    expected = 2.0 * 0.25 * 2.0 + 9.81 * 1.0 * np.sin(0.4) - 0.3
    assert np.isclose(run(parts, p, x)[0], expected, rtol=1e-14)


def kinks(p, x):
    """Functions whose side differs between samples."""
    a, b, c = p
    return {
        "abs": absolute(a) * x[0] - a * x[1],
        "sign": sign(b) * x[0] + x[1],
        "floor": floor(b) * x[0] - floor(a) * x[1],
        "max": maximum(a, b) * x[0] - a * x[0],
        "where": where(c, x[0], x[1]) + where(c, a, b) * x[0],
        "angle": atan2(a, c) * x[0],
    }


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(-3, 3).filter(lambda v: abs(v) > 0.01), min_size=5, max_size=5))
def test_kinks_do_not_follow_the_sample(values):
    traced = trace(kinks, {"p": (3,), "x": (2,)})
    parts = split(traced, [1.1, 0.7, 0.3])
    expected = traced.program().evaluate(values)
    assert np.allclose(run(parts, values[:3], values[3:]), expected, rtol=1e-13, atol=1e-13)


def test_an_identity_of_the_numbers_costs_nothing():
    def turned(p, x):
        c, s = cos(p[0]), sin(p[0])
        return (c * c + s * s) * x[0] + (c * s - s * c) * x[1]

    parts = split(trace(turned, {"p": (1,), "x": (2,)}), [0.6])
    assert count(parts.body).total == 0


def test_a_declared_zero_is_zero_for_good():
    parts = split(trace(lambda p, x: p[0] * x[0] + p[1] * x[1], {"p": (2,), "x": (2,)}), [0.0, 0.9])
    assert count(parts.body).total == 1


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(["general", "spd", "fixed"]), st.integers(2, 5))
def test_body_is_as_short_as_with_constants(seed, kind, n):
    """A solve whose matrix holds numbers and states: the same operations as with the sample folded."""
    rng = np.random.default_rng(seed)
    B = rng.normal(size=(n, n)) * (rng.random((n, n)) < 0.6)

    def function(p, x):
        A = B @ np.diag(p) @ B.T + np.diag(p) + np.diag(x * x)
        return {"y": solve(A, p * x + p[::-1], kind), "r": sqrt(p[0] * p[0] + 1.0) * x}

    sample = rng.uniform(0.5, 2.0, n)
    parts = split(trace(function, {"p": (n,), "x": (n,)}), sample)
    constant = minimise(trace(lambda x: function(sample, x), {"x": (n,)}).program())
    if kind != "general" or n <= 3:
        # Exchanged rows stay exchanged: which is larger depends on the numbers.
        assert count(parts.body).total <= count(constant).total
    p, x = rng.uniform(0.5, 2.0, n), rng.normal(size=n)
    expected = trace(lambda x: function(p, x), {"x": (n,)}).program().evaluate(x)
    assert np.allclose(run(parts, p, x), expected, rtol=1e-10, atol=1e-10)
