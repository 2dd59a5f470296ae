"""Arithmetic of the header on this machine."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nacelle.emit.cuda.plan import CudaOptions
from nacelle.program.program import Program, Variable
from support.cuda_run import Many

OPS = ("sqrt", "sin", "cos", "sign", "rcp")


def functions() -> Program:
    code = (("input", 0), ("const", 1.0), *((op, 0) for op in OPS[:4]), ("div", 1, 0))
    outputs = tuple(Variable(op) for op in OPS)
    return Program("functions", (Variable("x"),), outputs, code, (2, 3, 4, 5, 6))


@pytest.mark.parametrize(("real", "ulps"), [("double", 2.0), ("float", 3.0)])
def test_functions_are_within_units_in_the_last_place(real: str, ulps: float) -> None:
    many = Many([functions()], CudaOptions(real=real))
    rng = np.random.default_rng(5)
    x = np.concatenate([rng.uniform(-10, 10, 4000), 10.0 ** rng.uniform(-30, 30, 4000)])
    x = x.astype(many.kind)
    root, sine, cosine, sign, reciprocal = (column[:, 0] for column in many.run(0, [x[:, None]]))
    exact = x.astype(np.longdouble)
    positive, near = x > 0, np.abs(x) < 100
    for got, want, chosen in (
        (root, np.sqrt(np.abs(exact)), positive),
        (reciprocal, 1 / exact, np.full(len(x), True)),
    ):
        want = want.astype(many.kind)
        assert np.all(np.abs(got - want)[chosen] <= ulps * np.spacing(np.abs(want))[chosen])
    # Sines near their zeros are relative to the angle.
    unit = np.finfo(many.kind).eps
    assert np.max(np.abs(sine - np.sin(exact.astype(float)))[near]) < ulps * unit
    assert np.max(np.abs(cosine - np.cos(exact.astype(float)))[near]) < ulps * unit
    assert np.array_equal(sign, np.sign(x))


def test_what_is_not_plain() -> None:
    """√0 = 0; NaN where IEEE gives an infinity; NaN passes; sines of large angles are NaN."""
    many = Many([functions()], CudaOptions())
    special = np.array([0.0, -0.0, math.inf, math.nan, -4.0, 5e-324, 1e300])
    root, sine, cosine, sign, reciprocal = (column[:, 0] for column in many.run(0, [special[:, None]]))
    assert np.array_equal(root[:2], [0.0, 0.0])
    assert np.all(np.isnan(root[2:5]))
    assert np.isclose(root[6], 1e150)
    assert np.all(np.isnan(reciprocal[[0, 1, 2, 3, 5]]))
    assert reciprocal[6] == pytest.approx(1e-300)
    assert np.array_equal(sign[:2], [0.0, 0.0])
    assert np.array_equal(sign[[2, 4, 5]], [1.0, -1.0, 1.0])
    assert np.isnan(sign[3])
    assert np.all(np.isnan(sine[[2, 3, 6]]))
    assert np.all(np.isnan(cosine[[2, 3, 6]]))
