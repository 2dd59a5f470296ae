"""Sine and cosine: errors against mpmath, next to zero and to multiples of π/2, too; special values."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from nacelle.emit.jit.functions.trigonometry import LARGEST
from support.functions import values, worst

COUNT = 800


def arguments(kind: str) -> np.ndarray:
    rng = np.random.default_rng(0)
    if kind == "usual":
        return rng.uniform(-10.0, 10.0, COUNT)
    if kind == "every size":
        return rng.choice([-1.0, 1.0], COUNT) * 2.0 ** rng.uniform(-1074.0, 17.0, COUNT)
    turns = rng.integers(1, int(LARGEST * 2.0 / np.pi), COUNT)
    with mpmath.workprec(120):
        near = np.array([float(int(k) * mpmath.pi / 2) for k in turns])
    if kind == "next to quarter turns":
        return near
    # Between them, where the nearest multiple of π/2 changes.
    return near + np.pi / 4


@pytest.mark.parametrize("kind", ["usual", "every size", "next to quarter turns", "between quarter turns"])
@pytest.mark.parametrize("op", ["sin", "cos"])
def test_errors(op: str, kind: str) -> None:
    assert worst(op, arguments(kind)) <= 0.9


def test_special_values() -> None:
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, -5e-324, 1e-200])
    sin, cos = values("sin", x), values("cos", x)
    assert sin[[0, 1, 5, 6, 7]].tobytes() == x[[0, 1, 5, 6, 7]].tobytes()
    assert np.all(cos[[0, 1, 5, 6, 7]] == 1.0)
    assert np.all(np.isnan(sin[2:5]))
    assert np.all(np.isnan(cos[2:5]))


def test_symmetry() -> None:
    x = np.concatenate([arguments("usual"), arguments("next to quarter turns")])
    assert values("sin", -x).tobytes() == (-values("sin", x)).tobytes()
    assert values("cos", -x).tobytes() == values("cos", x).tobytes()
