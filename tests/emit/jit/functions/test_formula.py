"""Pieces of formulas: polynomials, and sums, products and quotients that keep what rounding loses."""

from __future__ import annotations

import ctypes
from fractions import Fraction

import numpy as np
import pytest

from nacelle.emit.jit.functions.formula import Formula
from nacelle.emit.jit.library import Library, address
from nacelle.emit.jit.target import DEFAULT, compile_text, module


def run(name: str, *arguments: float, fma: bool) -> tuple[float, float]:
    """Two results of a piece of a formula of four numbers."""
    f = Formula(1, "", fma=fma)
    f(f"define void @piece(ptr %out, {', '.join(f'double %{k}' for k in 'abcd')}) #0 {{", "start:")
    match name:
        case "sum":
            pair = f.sum_and_rest("%a", "%b")
        case "remainder":
            pair = f.remainder("%c", "%a", "%b"), "%a"
        case "quotient":
            pair = f.quotient(("%a", "%b"), ("%c", "%d"))
        case _:
            pair = f.polynomial([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7], "%a"), "%a"
    for k, value in enumerate(pair):
        f(f"store double {value}, ptr {f.value(f'getelementptr double, ptr %out, i64 {k}')}")
    text = f.text("", "void")
    library = Library(compile_text(module([text], DEFAULT, 1)), ("piece",))
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, *[ctypes.c_double] * 4)(library.address("piece"))
    out = np.empty(2)
    call(address(out), *arguments, *[0.0] * (4 - len(arguments)))
    return float(out[0]), float(out[1])


KINDS = sorted({False, DEFAULT.of_machine().fma})


@pytest.mark.parametrize("fma", KINDS)
def test_what_rounding_loses(fma: bool) -> None:
    a, b = 1.0 / 3.0, 1.0 / 7e5
    total, rest = run("sum", a, b, fma=fma)
    assert Fraction(total) + Fraction(rest) == Fraction(a) + Fraction(b)
    product = a * b
    left, _ = run("remainder", a, b, product, fma=fma)
    assert Fraction(left) == Fraction(product) - Fraction(a) * Fraction(b) != 0
    above, below = (a, 1e-18), (b, -1e-24)
    rough, rest = run("quotient", *above, *below, fma=fma)
    true = sum(map(Fraction, above)) / sum(map(Fraction, below))
    assert abs((Fraction(rough) + Fraction(rest)) / true - 1) < 1e-30
    assert rest != 0.0


@pytest.mark.parametrize("fma", KINDS)
def test_polynomial(fma: bool) -> None:
    value, _ = run("polynomial", 0.9, fma=fma)
    assert value == pytest.approx(sum(0.1 * (k + 1) * 0.9**k for k in range(7)), rel=1e-15)
