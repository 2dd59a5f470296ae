"""The expression graph: what folds, what is shared."""

import math

import numpy as np
import pytest

from nacelle.program.graph import Graph
from nacelle.program.symbol import Symbol, symbols
from nacelle.program.trace import trace
from nacelle.spatial import scalar


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
    x = symbols(g, 0, (3,))
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
