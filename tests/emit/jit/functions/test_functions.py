"""Elementary functions in native code: errors against mpmath, special values, lanes."""

from __future__ import annotations

import ctypes
import itertools
import math
import sys
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from nacelle.emit.jit.functions.formula import DoubleDouble, Formula
from nacelle.emit.jit.functions.texts import LARGEST
from nacelle.emit.jit.target import (
    DEFAULT,
    JitOptions,
    Library,
    address,
    compile_kernel,
    compile_text,
    module_source,
    module_texts,
)
from nacelle.program.program import Program, Variable
from support.functions import FUNCTIONS, largest_ulp_error, values

# ---- arctangent
#
# The angle of a point: errors against mpmath in all octants and of all sizes, special values of C99.

COUNT = 800


def points(kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates y and x."""
    rng = np.random.default_rng(4)

    def sizes(least: float, most: float) -> np.ndarray:
        return rng.choice([-1.0, 1.0], COUNT) * 2.0 ** rng.uniform(least, most, COUNT)

    match kind:
        case "usual":
            return rng.normal(size=COUNT), rng.normal(size=COUNT)
        case "where the formula changes":
            eighths = np.pi / 8 * rng.integers(-8, 9, COUNT)
            angle = eighths + 1e-3 * rng.normal(size=COUNT) ** 3
            return np.sin(angle), np.cos(angle)
        case "every size":
            return sizes(-1074.0, 1023.9), sizes(-1074.0, 1023.9)
        case "largest":
            return sizes(1020.0, 1023.99), sizes(1020.0, 1023.99)
        case _:
            return sizes(-1074.0, -1020.0), sizes(-1074.0, -1020.0)


@pytest.mark.parametrize("kind", ["usual", "where the formula changes", "every size", "largest", "smallest"])
def test_errors(kind: str) -> None:
    assert largest_ulp_error("atan2", *points(kind)) <= 1.0


def test_special_values() -> None:
    """Zeros, infinities and NaN with every other value, as C99 Annex F and Python's `math` have it."""
    special = (
        0.0,
        -0.0,
        math.inf,
        -math.inf,
        math.nan,
        1.0,
        -1.0,
        5e-324,
        -5e-324,
        1.7e308,
        -1.7e308,
        3e-200,
    )
    grid = np.array(list(itertools.product(special, special)))
    expected = np.array([math.atan2(y, x) for y, x in grid])
    for width in (1, 2, 4, 8):
        got = values("atan2", *grid.T, width=width)
        np.testing.assert_allclose(got, expected, rtol=3e-16, atol=0.0)
        numbers = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(got[numbers]), np.signbit(expected[numbers]))


# ---- Exponential and hyperbolic tangent: errors against mpmath over all ranges, special values

# Units in the last place.
BOUNDS = {"exp": 0.9, "tanh": 1.0}


def sizes(least: float, most: float) -> np.ndarray:
    """Numbers of both signs, evenly over the exponents of two."""
    rng = np.random.default_rng(2)
    return rng.choice([-1.0, 1.0], COUNT) * 2.0 ** rng.uniform(least, most, COUNT)


@pytest.mark.parametrize(
    ("op", "least", "most"),
    [
        ("exp", -1.0, 1.0),
        ("exp", -709.0, 709.7),
        ("exp", -745.1, -707.0),  # subnormal results
        ("exp", 707.5, 709.78),
        ("tanh", -0.4, 0.4),
        ("tanh", 0.1, 0.7),  # where the power of two begins to count
        ("tanh", -20.0, 20.0),
    ],
)
def test_errors_of_exponential(op: str, least: float, most: float) -> None:
    assert largest_ulp_error(op, np.random.default_rng(3).uniform(least, most, COUNT)) <= BOUNDS[op]


@pytest.mark.parametrize("op", ["exp", "tanh"])
def test_errors_of_every_size(op: str) -> None:
    assert largest_ulp_error(op, sizes(-1074.0, 4.5)) <= BOUNDS[op]


def test_exp_of_special_values() -> None:
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 709.782712893384, 709.7827128933841, 1e300])
    expected = [1.0, 1.0, np.inf, 0.0, np.nan, 1.797693134862273e308, np.inf, np.inf]
    np.testing.assert_allclose(values("exp", x), expected, rtol=2e-16, atol=0.0)
    x = np.array([-745.1332191019411, -745.1332191019412, -746.0, -1e300, -1e5, 5e-324, -5e-324, 711.0])
    np.testing.assert_array_equal(values("exp", x), [5e-324, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, np.inf])


def test_tanh_of_special_values() -> None:
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, -1e-310, 1e300])
    expected = np.array([0.0, -0.0, 1.0, -1.0, np.nan, 5e-324, -1e-310, 1.0])
    np.testing.assert_array_equal(values("tanh", x), expected)
    np.testing.assert_array_equal(np.signbit(values("tanh", x)[:4]), [False, True, False, True])
    x = sizes(-1000.0, 10.0)
    assert values("tanh", -x).tobytes() == (-values("tanh", x)).tobytes()
    assert np.all(np.abs(values("tanh", x)) <= 1.0)


# ---- formula
#
# Pieces of formulas: polynomials, and sums, products and quotients that keep what rounding loses.


def run(name: str, *arguments: float, fma: bool) -> tuple[float, float]:
    """Two results of a piece of a formula of four numbers."""
    f = Formula(1, "", "piece", "", fma=fma)
    # Not of the module alone, and with results that it stores.
    f.lines[0] = f"define void @piece(ptr %out, {', '.join(f'double %{k}' for k in 'abcd')}) #0 {{"
    match name:
        case "sum":
            pair = f.fast_two_sum("%a", "%b")
        case "remainder":
            pair = f.remainder("%c", "%a", "%b"), "%a"
        case "quotient":
            pair = f.quotient(DoubleDouble("%a", "%b"), DoubleDouble("%c", "%d"))
        case _:
            pair = f.polynomial([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7], "%a"), "%a"
    for k, value in enumerate(pair):
        f(f"store double {value}, ptr {f.value(f'getelementptr double, ptr %out, i64 {k}')}")
    text = f.text()
    library = Library(compile_text(module_source([text], DEFAULT, 1)), ("piece",))
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, *[ctypes.c_double] * 4)(library.address("piece"))
    out = np.empty(2)
    call(address(out), *arguments, *[0.0] * (4 - len(arguments)))
    return float(out[0]), float(out[1])


KINDS = sorted({False, DEFAULT.target_machine().fma})


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


# ---- large angles
#
# Angles beyond what π/2 in three parts reduces: errors against mpmath, in lanes beside small angles.

# Of all doubles the nearest to a multiple of π/2 (Muller 2016, 11.3.2), and the ends of the range.
HARD = (6381956970095103.0 * 2.0**797, sys.float_info.max, np.nextafter(LARGEST, np.inf), LARGEST)


@pytest.mark.parametrize("op", ["sin", "cos"])
def test_errors_of_large_angles(op: str) -> None:
    rng = np.random.default_rng(1)
    x = np.ldexp(rng.uniform(-2.0, 2.0, 600), rng.integers(16, 1023, 600))
    assert largest_ulp_error(op, np.concatenate([x, HARD, -np.array(HARD)])) <= 0.9


def test_other_lanes_keep_their_values() -> None:
    x = np.linspace(-3.0, 3.0, 64)
    mixed = np.where(np.arange(64) % 3 == 0, 1e22, x)
    mixed[1] = np.inf
    for width in (2, 4, 8):
        got = values("sin", mixed, width=width)
        assert np.isnan(got[1])
        same = (mixed == x) & np.isfinite(mixed)
        assert got[same].tobytes() == values("sin", x, width=width)[same].tobytes()
        # The sine of 1e22 is -0.8522008497671888 (W. Kahan's example).
        assert np.all(got[::3] == -0.8522008497671888)


# ---- Which functions are written, and that programs take sine and cosine of a value from one call


def test_programs_call_once_for_a_pair() -> None:
    """A whole program gives the functions' values, for a sample alone and in a batch."""
    code = (("input", 0), ("input", 1), *((op, 0) for op in FUNCTIONS[:-1]), ("atan2", 0, 1))
    inputs, outputs = (Variable("x", (2,)),), (Variable("y", (5,)),)
    program = Program("functions", inputs, outputs, code, tuple(range(2, 7)))
    many, _ = module_texts(program, JitOptions(width=2))
    assert many.count(" @v_sincos(") == 2  # its definition, and one call
    made = compile_kernel(program, JitOptions(width=2))
    x, y = np.random.default_rng(0).normal(size=(16, 2)), np.empty((16, 5))
    made.run([x], [y])
    for k, op in enumerate(FUNCTIONS):
        arguments = (x[:, 0], x[:, 1]) if op == "atan2" else (x[:, 0],)
        assert y[:, k].tobytes() == values(op, *arguments).tobytes()
    one_x, one_y = np.empty((1, 2)), np.empty((1, 5))
    bound = made.bind([one_x], [one_y])
    for row, results in zip(x, y, strict=True):
        one_x[0] = row
        bound()
        assert one_y[0].tobytes() == results.tobytes()


# ---- trigonometry
#
# Sine and cosine: errors against mpmath, next to zero and to multiples of π/2, too; special values.


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
def test_errors_of_trigonometry(op: str, kind: str) -> None:
    assert largest_ulp_error(op, arguments(kind)) <= 0.9


def test_special_values_of_trigonometry() -> None:
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
