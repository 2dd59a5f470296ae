"""Derivatives on the graph against derivatives in fifty digits."""

import mpmath
import numpy as np
import pytest

from nacelle.program.cost import count
from nacelle.program.derivative import jacobian, with_jacobians
from nacelle.program.trace import trace
from nacelle.spatial.scalar import (
    absolute,
    atan2,
    cos,
    exp,
    floor,
    maximum,
    minimum,
    pack,
    sign,
    sin,
    sqrt,
    tanh,
    where,
)
from nacelle.spatial.solve import solve


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
