"""Programs: counts, derivatives, 50 digits, every operation, tracing."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
import pytest

from nacelle.program.cost import WEIGHTS, Count, cost, cost_of, count
from nacelle.program.derivative import cotangent_program, jacobian, tangent_program, with_jacobians
from nacelle.program.graph import Graph
from nacelle.program.precise import evaluate
from nacelle.program.program import ARITY, Program, Variable, regroup_inputs
from nacelle.program.trace import Symbol, input_symbols, node_of, program_graph, straight_line_program, trace
from nacelle.spatial import scalar
from nacelle.spatial.scalar import (
    absolute,
    atan2,
    cos,
    cross,
    exp,
    floor,
    maximum,
    minimum,
    pack,
    product,
    sign,
    sin,
    sqrt,
    tanh,
    where,
)
from nacelle.spatial.scalar import where as choose
from nacelle.spatial.solve import solve

# ---- Counts of operations against a count by hand


def function(x: Any) -> Any:
    a, b, c = x
    # 3 products, 1 quotient, 4 sums and differences; negations are free, what is written twice counts once.
    r = sqrt(a * a + b * b)
    return [-(a - b) / r, sin(c) * r, atan2(a - b, cos(c)), maximum(sign(c) + 2.0, a + b), floor(c)]


def test_count_and_cost() -> None:
    traced = trace(function, {"x": (3,)})
    program = traced.program()
    found = count(program)
    assert found == Count(add=4, mul=4, div=1, sqrt=1, trig=3, sign=1, other=2)
    assert found.total == 8
    assert str(found) == "8 operations: 4 +/-, 4 ×/÷ (1 ÷), 1 sqrt, 3 trig, 1 sign, 2 other"
    names = ["add"] * 4 + ["mul"] * 3 + ["div", "sqrt", "sin", "cos", "atan2", "sign", "max", "floor"]
    assert cost(program) == cost_of(traced.graph, traced.roots) == sum(WEIGHTS[name] for name in names)


# ---- directional
#
# Derivatives in a direction, as programs: against the Jacobian of the graph, and against each other.


def _function(A, b):
    """A solve, kinks, roots, an input that is an output, and an output without any input."""
    x = solve(A, b.reshape(-1, 1))[:, 0]
    return {"y": [scalar.sqrt(x @ x + 1.0), scalar.absolute(x[0]) * b[1]], "b": b, "none": 2.0}


SHAPES = {"A": (2, 2), "b": (2,)}


def test_both_are_the_jacobian_times_a_direction() -> None:
    rng = np.random.default_rng(0)
    made = trace(_function, SHAPES)
    program = made.program()
    pairs = [(output, by) for by in SHAPES for output in ("y", "b", "none")]
    whole = with_jacobians(trace(_function, SHAPES), pairs).program()
    A, b, dA, db = (rng.normal(size=shape) for shape in (4, 2, 4, 2))
    y_bar = rng.normal(size=5)
    entries = np.array(whole.evaluate([*A, *b])[5:])
    J = np.concatenate([entries[: 5 * 4].reshape(5, 4), entries[5 * 4 :].reshape(5, 2)], axis=1)
    moved = tangent_program(program)
    assert [v.name for v in (*moved.inputs, *moved.outputs)] == [
        "A",
        "b",
        "d_A",
        "d_b",
        "d_y",
        "d_b",
        "d_none",
    ]
    np.testing.assert_allclose(moved.evaluate([*A, *b, *dA, *db]), J @ [*dA, *db], atol=1e-13)
    back = cotangent_program(program)
    assert [v.name for v in (*back.inputs, *back.outputs)] == [
        "A",
        "b",
        "y_bar",
        "b_bar",
        "none_bar",
        "A_bar",
        "b_bar",
    ]
    np.testing.assert_allclose(back.evaluate([*A, *b, *y_bar]), y_bar @ J, atol=1e-13)
    with_values = tangent_program(program, by=("b",), values=True)
    got = with_values.evaluate([*A, *b, *db])
    np.testing.assert_allclose(got[:5], program.evaluate([*A, *b]), rtol=1e-13)
    np.testing.assert_allclose(got[5:], J[:, 4:] @ db, atol=1e-13)


def test_of_any_order() -> None:
    """The derivatives of x^4, again and again."""
    program = trace(lambda x: {"y": x * x * x * x}, {"x": ()}).program()
    second = tangent_program(cotangent_program(program))
    assert [v.name for v in second.inputs] == ["x", "y_bar", "d_x", "d_y_bar"]
    # x_bar = 4 x^3 y_bar; its tangent by x alone is 12 x^2 y_bar dx.
    np.testing.assert_allclose(second.evaluate([1.5, 2.0, 3.0, 0.0]), 12 * 1.5**2 * 2.0 * 3.0)
    third = tangent_program(second)
    # By x once more, all other directions held: 24 x y_bar dx dx.
    np.testing.assert_allclose(
        third.evaluate([1.5, 2.0, 3.0, 0.0, 0.5, 0.0, 0.0, 0.0]), 24 * 1.5 * 2.0 * 3.0 * 0.5
    )


# ---- Programs with 50 digits: against mpmath

VALUES = (0.3, -0.7, 1e-9, -1e-20, 2.5, -31.0, 1234.5, 1e6, math.pi, math.pi / 2, 0.5)


def program_of(op: str) -> Program:
    count = ARITY[op]
    code = (*(("input", k) for k in range(count)), (op, *range(count)))
    return Program(op, tuple(Variable(f"x{k}") for k in range(count)), (Variable("y"),), code, (count,))


@pytest.mark.parametrize("op", ["sqrt", "sin", "cos", "tanh", "exp", "atan2", "div"])
def test_functions_are_correctly_rounded(op: str) -> None:
    program = program_of(op)
    functions = {"div": mpmath.fdiv}
    with mpmath.workdps(60):
        for a in VALUES:
            pairs = [(a,)] if ARITY[op] == 1 else [(a, b) for b in (*VALUES, -2.5)]
            for arguments in pairs:
                if (op == "sqrt" and a < 0) or (op == "exp" and a > 700):
                    continue
                wanted = float(functions.get(op, getattr(mpmath, op, None))(*map(mpmath.mpf, arguments)))
                assert evaluate(program, arguments) == [wanted], (op, arguments)


@pytest.mark.parametrize(
    ("op", "arguments", "wanted"),
    [
        ("sign", (-0.0,), 0.0),
        ("sign", (-3.0,), -1.0),
        ("sign", (math.nan,), math.nan),
        ("floor", (-0.5,), -1.0),
        ("floor", (-3.0,), -3.0),
        ("floor", (2.75,), 2.0),
        ("floor", (1e300,), 1e300),
        ("floor", (-math.inf,), -math.inf),
        ("floor", (math.nan,), math.nan),
        ("where", (math.nan, 1.0, 2.0), 2.0),
        ("where", (1e-300, 1.0, 2.0), 1.0),
        ("min", (1.0, math.nan), math.nan),
        ("max", (1.0, 2.0), 2.0),
        ("sqrt", (-1.0,), math.nan),
        ("div", (1.0, 0.0), math.inf),
        ("div", (0.0, 0.0), math.nan),
        ("sin", (math.inf,), math.nan),
        ("tanh", (-math.inf,), -1.0),
        ("atan2", (0.0, -1.0), math.pi),
        ("abs", (-2.0,), 2.0),
        ("neg", (2.0,), -2.0),
    ],
)
def test_specials_as_in_every_target(op: str, arguments: tuple[float, ...], wanted: float) -> None:
    np.testing.assert_equal(evaluate(program_of(op), arguments), [wanted])


# ---- program
#
# Programs: every operation against Python's own, over floats, batches and mpmath; faults are refused.

PLAIN: dict[str, Any] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "neg": lambda a: -a, "abs": abs, "min": min, "max": max, "sqrt": math.sqrt, "sin": math.sin,
    "cos": math.cos, "tanh": math.tanh, "exp": math.exp, "atan2": math.atan2,
    "sign": lambda a: (a > 0.0) - (a < 0.0), "floor": lambda a: a // 1.0,
    "where": lambda c, a, b: a if c > 0.0 else b,
}  # fmt: skip


@pytest.mark.parametrize("op", PLAIN)
def test_operations(op: str) -> None:
    n = ARITY[op]
    code = (*(("input", k) for k in range(n)), (op, *range(n)))
    program = Program(op, (Variable("x", (n,)),), (Variable("y"),), code, (n,))
    program.check()
    x = np.random.default_rng(6).normal(size=(n, 20))
    x[0] = np.abs(x[0]) if op == "sqrt" else x[0]
    expected = [float(PLAIN[op](*map(float, column))) for column in x.T]
    np.testing.assert_allclose([program.evaluate(column.tolist())[0] for column in x.T], expected, rtol=1e-15)
    np.testing.assert_allclose(program.evaluate(list(x))[0], expected, rtol=1e-15)
    precise = [float(program.evaluate([mpmath.mpf(value) for value in column])[0]) for column in x.T]
    np.testing.assert_allclose(precise, expected, rtol=1e-14)


@pytest.mark.parametrize("step", [("add", 0, 1), ("cube", 0), ("input", 1), ("mul", 0), ("neg", -1)])
def test_faults(step: tuple[Any, ...]) -> None:
    program = Program("faulty", (Variable("x"),), (Variable("y"),), (("input", 0), step), (1,))
    with pytest.raises(ValueError, match="instruction 1 of faulty"):
        program.check()


# ---- Inputs in other groups


def test_inputs_move() -> None:
    code = (*(("input", k) for k in range(4)), ("sub", 0, 1), ("div", 4, 2), ("add", 5, 3))
    program = Program("p", (Variable("a", (2,)), Variable("b"), Variable("c")), (Variable("y"),), code, (6,))
    moved = regroup_inputs(program, {"x": ["c"], "none": [], "p": ["b", "a"]})
    moved.check()
    assert [(v.name, v.size) for v in moved.inputs] == [("x", 1), ("none", 0), ("p", 3)]
    assert moved.evaluate([4.0, 3.0, 1.0, 2.0]) == program.evaluate([1.0, 2.0, 3.0, 4.0])
    with pytest.raises(ValueError, match="has the inputs a, b, c, not a, b"):
        regroup_inputs(program, {"x": ["a", "b"]})


# ---- symbol
#
# Symbols record what is done with them: traced and evaluated, array code gives what NumPy gives.


def test_a_constant_has_its_value_and_an_input_none() -> None:
    graph = Graph()
    x = input_symbols(graph, 0, ())
    assert (x.sample, x.folded) == (None, x)
    two = Symbol(graph, node_of(graph, 2.0))
    assert (two.sample, two.folded) == (2.0, 2.0)
    assert node_of(graph, 2.0) == two.index
    for branch in (bool, float, lambda s: s < 1.0):
        with pytest.raises(TypeError, match="traced value"):
            branch(x)


# ---- A traced function has the values of the function itself, over all operations


def function_of_trace(A: Any, b: Any, s: Any) -> dict[str, Any]:
    return {
        "vector": cross(product(A, b), b) + sin(s) * b,
        "solved": solve(A, b),
        "scalar": atan2(exp(-s), cos(s)) * minimum(s, b[0]) - maximum(b[1], tanh(s)) / sqrt(absolute(b[2])),
        "chosen": choose(b[0] - s, A[0] * sign(s), A[1] ** 3),
    }


@pytest.mark.parametrize("seed", range(4))
def test_values(seed: int) -> None:
    rng = np.random.default_rng(seed)
    A, b, s = rng.normal(size=(3, 3)) + 2.0 * np.eye(3), rng.normal(size=3), float(rng.normal())
    program = trace(function_of_trace, {"A": (3, 3), "b": (3,), "s": ()}).program()
    assert [(out.name, out.shape) for out in program.outputs] == [
        ("vector", (3,)), ("solved", (3,)), ("scalar", ()), ("chosen", (3,)),
    ]  # fmt: skip
    flat = [*A.ravel().tolist(), *b.tolist(), s]
    expected = np.concatenate([np.ravel(value) for value in function_of_trace(A, b, s).values()])
    np.testing.assert_allclose(program.evaluate(flat), expected, rtol=1e-12)
    np.testing.assert_allclose(program.evaluate(flat)[3:6], np.linalg.solve(A, b), rtol=1e-12)
    graph, roots = program_graph(program)
    again = straight_line_program(program.name, graph, program.inputs, program.outputs, roots)
    assert again.evaluate(flat) == program.evaluate(flat)


# ---- Derivatives on the graph against derivatives in fifty digits


def everything(x, p):
    """All primitives, and a solve of each kind."""
    s = x[0] * x[0] + 2.0
    A = pack(
        [
            [4.0 + s, x[1], sin(x[2]), 0.1],
            [x[1], 5.0 + exp(0.1 * x[0]), x[2] * p[0], 0.2],
            [sin(x[2]), x[2] * p[0], 6.0 + cos(x[1]), 0.3],
            [0.1, 0.2, 0.3, 5.0 + tanh(x[0])],
        ]
    )
    b = pack([x[0], p[1], x[1] * x[2], 1.0])
    general, spd, small = solve(A, b), solve(A, b, "spd"), solve(A[:2, :2], b[:2])
    kinks = minimum(x[0], x[1]) + maximum(x[2], p[0]) / s + absolute(x[1]) * where(x[2], x[0], p[1])
    return {
        "y": pack([*general, *small]),
        "z": pack(
            [
                spd[0] * spd[3],
                atan2(x[0], s) + sqrt(s),
                kinks,
                (sign(x[0]) + floor(3.0 * x[2])) * x[1],
                x[1] / s - p[0],
            ]
        ),
    }


def mp_jacobian(x, p, output, by):
    """Central differences in fifty digits, step 1e-20: exact to far beyond double."""
    with mpmath.workdps(50):
        h = mpmath.mpf(10) ** -20
        values = {"x": [mpmath.mpf(float(v)) for v in x], "p": [mpmath.mpf(float(v)) for v in p]}
        columns = []
        for k in range(len(values[by])):
            ends = []
            for step in (h, -h):
                moved = {name: list(entries) for name, entries in values.items()}
                moved[by][k] += step
                arrays = {name: np.array(entries, dtype=object) for name, entries in moved.items()}
                ends.append(everything(arrays["x"], arrays["p"])[output])
            columns.append([float((a - b) / (2 * h)) for a, b in zip(*ends, strict=True)])
        return np.array(columns).T


@pytest.mark.parametrize("mode", ["forward", "reverse", "auto"])
@pytest.mark.parametrize(("output", "by"), [("y", "x"), ("y", "p"), ("z", "x"), ("z", "p")])
def test_jacobians(mode, output, by):
    traced = with_jacobians(trace(everything, {"x": (3,), "p": (2,)}), [(output, by)], mode)
    program = traced.program()
    start = sum(variable.size for variable in program.outputs[:-1])
    rng = np.random.default_rng(4)
    for _ in range(8):
        x, p = rng.normal(size=3), rng.normal(size=2)
        got = np.array(program.evaluate([*x, *p])[start:]).reshape(program.outputs[-1].shape)
        expected = mp_jacobian(x, p, output, by)
        assert np.max(np.abs(got - expected)) < 1e-12 * np.max(np.abs(expected))


def test_structural_zeros():
    def f(x):
        return pack([x[0] * x[1], x[2] + 1.0, 3.0, sin(x[1])])

    for mode in ("forward", "reverse"):
        pattern = [
            [entry is not None for entry in row] for row in jacobian(trace(f, {"x": (3,)}), "out", "x", mode)
        ]
        assert pattern == [
            [True, True, False],
            [False, False, True],
            [False, False, False],
            [False, True, False],
        ]


def test_a_solve_is_differentiated_as_a_whole():
    """Six directional derivatives of a 6 x 6 solve share its factorisation."""
    n = 6
    plain = trace(lambda A, b: solve(A, b, "spd"), {"A": (n, n), "b": (n,)})
    by_b = with_jacobians(plain, [("out", "b")], "forward")
    # The Jacobian is A^-1: six more substitutions, less the products by zeros of unit vectors.
    assert count(by_b.program()).total < 7 * count(plain.program()).total // 2


def test_unknown_names():
    traced = trace(everything, {"x": (3,), "p": (2,)})
    with pytest.raises(KeyError, match="known: y, z"):
        jacobian(traced, "w", "x")
    with pytest.raises(ValueError, match="forward, reverse or auto"):
        jacobian(traced, "y", "x", "sideways")
