"""Affine forms: results at points of a box never leave them, on NumPy and compiled, and they are tight."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from nacelle.compile.affine import AffineFunction, Forms
from nacelle.program.affine import affine_program, box_middle
from nacelle.program.program import Program, Variable
from program.test_interval import INPUTS, evaluate, points_leave, random_boxes, random_program


def enclosed(forms: Forms, t: np.ndarray) -> np.ndarray:
    """Bounds (..., k, 2) at points t (..., n), with the rounding of this evaluation."""
    value = forms.c + (forms.g * t[..., None, :]).sum(axis=-1)
    e = forms.e + 1e-13 * (np.abs(forms.c) + np.abs(forms.g).sum(axis=-1))
    return np.stack([value - e, value + e], axis=-1)


@pytest.mark.parametrize("seed", range(12))
def test_points_never_leave(seed: int) -> None:
    rng, program = np.random.default_rng(seed), random_program(seed)
    boxes = random_boxes(rng, 3000, INPUTS)
    with np.errstate(all="ignore"):
        compiled, plain = (AffineFunction(program, target=t)({"x": boxes})["y"] for t in ("jit", "numpy"))
    middle, half = box_middle(boxes[..., 0], boxes[..., 1])
    for _ in range(4):
        t = rng.choice([rng.uniform(-1.0, 1.0, middle.shape), np.sign(rng.normal(size=middle.shape))])
        points = np.clip(middle + half * t, boxes[..., 0], boxes[..., 1])
        values = evaluate(program, points)
        at = np.where(half > 0.0, (points - middle) / np.where(half > 0.0, half, 1.0), 0.0)
        for forms in (compiled, plain):
            assert not points_leave(values, forms.bounds).any()
            with np.errstate(invalid="ignore"):
                slack = (
                    1e-9
                    * (1.0 + np.abs(values))[..., None]
                    * [-1.0, 1.0]
                    * (half.max(axis=1) < 1e-7)[:, None, None]
                )
                assert not points_leave(values, enclosed(forms, at) + slack).any()


@pytest.mark.parametrize("seed", range(3))
def test_holds_exact_results(seed: int) -> None:
    program, rng = random_program(seed + 100, 25), np.random.default_rng(seed)
    points = rng.normal(size=(40, INPUTS))
    bounds = AffineFunction(program)({"x": np.stack([points, points], axis=-1)})["y"].bounds
    with mpmath.workdps(60):
        for row, bound in zip(points, bounds, strict=True):
            exact = program.evaluate([mpmath.mpf(value) for value in row])
            for value, (low, high) in zip(exact, bound, strict=True):
                assert not value < low
                assert not value > high


def test_rest_is_of_the_second_order() -> None:
    # sqrt(x^2 + y^2) / (2 + sin(x y)) at widths that halve: the rest falls by four, an interval's by two.
    code = (
        *(("input", 0), ("input", 1), ("mul", 0, 0), ("mul", 1, 1), ("add", 2, 3), ("sqrt", 4)),
        *(("mul", 0, 1), ("sin", 6), ("const", 2.0), ("add", 7, 8), ("div", 5, 9), ("atan2", 10, 0)),
    )
    program = Program("smooth", (Variable("x", (2,)),), (Variable("y"),), code, (11,))
    half = 0.2 * 0.5 ** np.arange(8)
    boxes = np.array([0.7, 1.1])[:, None] + half[:, None, None] * [-1.0, 1.0]
    rest = AffineFunction(program, target="numpy")({"x": boxes})["y"].e
    assert np.all(rest[:-1] / rest[1:] > 3.6)


def test_larger_of_two() -> None:
    # max(x y, 0.3) and min(x, y^2), over boxes on both sides of the edge and across it.
    code = (
        *(("input", 0), ("input", 1), ("mul", 0, 1), ("const", 0.3), ("max", 2, 3), ("mul", 1, 1)),
        ("min", 0, 5),
    )
    program = Program("edges", (Variable("x", (2,)),), (Variable("y", (2,)),), code, (4, 6))
    rng = np.random.default_rng(0)
    middle, half = rng.uniform(-1.0, 1.0, (4000, 2)), 10.0 ** rng.uniform(-8.0, 0.0, (4000, 2))
    boxes = np.stack([middle - half, middle + half], axis=-1)
    for target in ("jit", "numpy"):
        forms = AffineFunction(program, target=target)({"x": boxes})["y"]
        for _ in range(20):
            points = boxes[..., 0] + rng.uniform(0.0, 1.0, half.shape) * (boxes[..., 1] - boxes[..., 0])
            assert not points_leave(evaluate(program, points), forms.bounds).any()
    # Across the edge a form is linear: half of max(x, 0) on [-1, 1].
    code = (("input", 0), ("const", 0.0), ("max", 0, 1))
    edge = Program("edge", (Variable("x"),), (Variable("y"),), code, (2,))
    forms = AffineFunction(edge, target="numpy")({"x": np.array([[-1.0, 1.0]])})["y"]
    assert forms.g[0, 0] == pytest.approx(0.5)
    assert forms.e[0] == pytest.approx(0.25)


def test_inputs_that_are_forms() -> None:
    # z = x^2 as a form of its own, and a rest r: the bounds of z + r - x^2 are those of the forms alone.
    code = (("input", 0), ("input", 1), ("input", 2), ("mul", 0, 0), ("sub", 1, 3), ("add", 4, 2))
    variables = (Variable("x"), Variable("z"), Variable("r"))
    program = Program("gap", variables, (Variable("y"),), code, (5,))
    box = np.array([[0.9, 1.1]])
    z = Forms(np.array([1.005]), np.array([[0.2]]), np.array([0.005]))
    forms = AffineFunction(program, ("z",), ("r",), "numpy")({"x": box, "z": z, "r": np.array([1e-3])})["y"]
    assert abs(forms.c[0]) < 1e-15
    assert np.abs(forms.g).max() < 1e-15
    assert 0.011 <= forms.e[0] < 0.0110001
    affine_program(program, ("z",), ("r",)).check()


def test_says_nothing_where_a_function_is_not_defined() -> None:
    code = (("input", 0), ("sqrt", 0), ("const", 1.0), ("div", 2, 0), ("atan2", 1, 0), ("where", 1, 0, 2))
    program = Program("f", (Variable("x"),), (Variable("y", (4,)),), code, (1, 3, 4, 5))
    for target in ("jit", "numpy"):
        with np.errstate(all="ignore"):
            forms = AffineFunction(program, target=target)({"x": np.array([[-1.0, 2.0]])})["y"]
        assert np.isnan(forms.e).all()
