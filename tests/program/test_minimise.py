"""Passes keep the value and save operations."""

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacelle.program.cost import cost, count
from nacelle.program.minimise import STRATEGIES, minimise, run_passes
from nacelle.program.program import Program, Variable
from nacelle.program.trace import trace
from nacelle.spatial.rotation import rotation_quat
from nacelle.spatial.scalar import cross, pack


def random_dag(seed, size):
    """A smooth random program: sums and products, quotients by and roots of numbers above one."""
    rng = np.random.default_rng(seed)
    code = [("input", k) for k in range(6)] + [("const", c) for c in (2.0, -1.5, 0.25, 1.0)]
    for _ in range(size):
        op = str(
            rng.choice(
                ["add", "sub", "mul", "neg", "div", "sqrt", "sin"], p=[0.3, 0.2, 0.34, 0.04, 0.05, 0.05, 0.02]
            )
        )
        a, b = (
            int(v) for v in rng.integers(max(0, len(code) - 20) if rng.random() < 0.7 else 0, len(code), 2)
        )
        if op in ("neg", "sin"):
            code.append((op, a))
        elif op in ("div", "sqrt"):
            code.append(("mul", b, b))
            code.append(("add", len(code) - 1, 9))
            code.append(("div", a, len(code) - 1) if op == "div" else ("sqrt", len(code) - 1))
        else:
            code.append((op, a, b))
    results = tuple(int(v) for v in rng.integers(len(code) // 2, len(code), 8))
    return Program("dag", (Variable("x", (6,)),), (Variable("y", (8,)),), tuple(code), results)


def assert_same_value(first, second, seed):
    """Equal in sixty digits, to what rounding of folded constants leaves."""
    rng = np.random.default_rng(seed)
    with mpmath.workdps(60):
        x = [mpmath.mpf(float(v)) for v in rng.normal(size=first.input_size)]
        for a, b in zip(first.evaluate(x), second.evaluate(x), strict=True):
            assert abs(a - b) <= 1e-13 * max(abs(a), 1)


@given(st.integers(0, 2**32), st.integers(1, 120))
def test_every_strategy_keeps_the_value(seed, size):
    program = random_dag(seed, size)
    program.check()
    for strategy in STRATEGIES:
        candidate = run_passes(program, strategy)
        candidate.check()
        assert_same_value(program, candidate, seed)


@given(st.integers(0, 2**32), st.integers(1, 200))
def test_minimise_keeps_the_value_and_never_costs_more(seed, size):
    program = random_dag(seed, size)
    smaller = minimise(program)
    smaller.check()
    assert_same_value(program, smaller, seed)
    assert cost(smaller) <= cost(program)
    assert (smaller.inputs, smaller.outputs) == (program.inputs, program.outputs)


def small(function, **inputs):
    program = minimise(trace(function, inputs).program())
    rng = np.random.default_rng(0)
    values = [rng.normal(size=shape) for shape in inputs.values()]
    flat = [entry for value in values for entry in np.ravel(value)]
    np.testing.assert_allclose(
        program.evaluate(flat), np.ravel(np.asarray(function(*values), dtype=float)), rtol=1e-12
    )
    return count(program)


@pytest.mark.parametrize(
    ("function", "inputs", "most"),
    [
        # Cofactors, determinant, one reciprocal, nine products: 42 in textbooks.
        (
            lambda A: (
                pack([cross(A[1], A[2]), cross(A[2], A[0]), cross(A[0], A[1])]) / (A[0] @ cross(A[1], A[2]))
            ),
            {"A": (3, 3)},
            42,
        ),
        # v + 2 w (q x v) + 2 q x (q x v): 18 products and 12 sums.
        (lambda q, v: v + 2.0 * cross(q[:3], cross(q[:3], v) + q[3] * v), {"q": (4,), "v": (3,)}, 30),
        # The matrix of a quaternion: 9 products with doubled factors and 12 sums, 3 doublings.
        (rotation_quat, {"quat": (4,)}, 24),
    ],
)
def test_common_identities(function, inputs, most):
    assert small(function, **inputs).total <= most
