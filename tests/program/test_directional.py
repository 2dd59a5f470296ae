"""Derivatives in a direction, as programs: against the Jacobian of the graph, and against each other."""

from __future__ import annotations

import numpy as np

from nacelle.program.derivative import with_jacobians
from nacelle.program.directional import cotangent, directional_program
from nacelle.program.trace import trace
from nacelle.spatial import scalar
from nacelle.spatial.solve import solve


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
    moved = directional_program(program)
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
    back = cotangent(program)
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
    with_values = directional_program(program, by=("b",), values=True)
    got = with_values.evaluate([*A, *b, *db])
    np.testing.assert_allclose(got[:5], program.evaluate([*A, *b]), rtol=1e-13)
    np.testing.assert_allclose(got[5:], J[:, 4:] @ db, atol=1e-13)


def test_of_any_order() -> None:
    """The derivatives of x^4, again and again."""
    program = trace(lambda x: {"y": x * x * x * x}, {"x": ()}).program()
    second = directional_program(cotangent(program))
    assert [v.name for v in second.inputs] == ["x", "y_bar", "d_x", "d_y_bar"]
    # x_bar = 4 x^3 y_bar; its tangent by x alone is 12 x^2 y_bar dx.
    np.testing.assert_allclose(second.evaluate([1.5, 2.0, 3.0, 0.0]), 12 * 1.5**2 * 2.0 * 3.0)
    third = directional_program(second)
    # By x once more, all other directions held: 24 x y_bar dx dx.
    np.testing.assert_allclose(
        third.evaluate([1.5, 2.0, 3.0, 0.0, 0.5, 0.0, 0.0, 0.0]), 24 * 1.5 * 2.0 * 3.0 * 0.5
    )
