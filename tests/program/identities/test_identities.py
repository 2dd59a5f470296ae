"""Identities: rounding, numbers as inputs, values made from others."""

from __future__ import annotations

from decimal import Decimal

import mpmath
import numpy as np
import pytest

from nacelle.program.cost import count
from nacelle.program.identities.merge import agrees
from nacelle.program.identities.noise import DIRECTIONS, UNIT, of_operation
from nacelle.program.identities.parametric import split_with_identities
from nacelle.program.identities.rebuild import rebuilt
from nacelle.program.identities.samples import PreciseInputs
from nacelle.program.identities.values import Values
from nacelle.program.identities.written import written
from nacelle.program.program import ARITY, Program, apply
from nacelle.program.split import split
from nacelle.program.trace import trace
from nacelle.spatial.scalar import Array, pack
from support.identities import Writer, samples

# ---- Changes by rounding, to first order, against differences with 60 digits


@pytest.mark.parametrize("op", ["add", "sub", "mul", "div", "neg", "sqrt", "sin", "cos"])
def test_first_order_changes(op: str) -> None:
    rng = np.random.default_rng(9)
    arguments = list(rng.uniform(0.3, 2.0, (ARITY[op], 4)))
    changes = list(UNIT * rng.normal(size=(ARITY[op], 2, 4, DIRECTIONS)))
    value = np.array([float(apply(op, *map(float, row))) for row in zip(*arguments, strict=True)])
    slope = {"sin": np.cos(arguments[0]), "cos": -np.sin(arguments[0])}.get(op)
    found = of_operation(op, value, arguments, changes, slope)
    with mpmath.workdps(60):
        for place in np.ndindex(found.shape):
            x = [mpmath.mpf(float(a[place[1]])) for a in arguments]
            dx = [mpmath.mpf(float(change[place])) for change in changes]
            moved = apply(op, *(a + d for a, d in zip(x, dx, strict=True)))
            assert found[place] == pytest.approx(float(moved - apply(op, *x)), rel=1e-12, abs=1e-29)


# ---- parametric
#
# Identities of programs with numbers as inputs: they hold for all numbers, not at the sample alone.


def hidden(p: Array, x: Array) -> Array:
    """(p_0 + p_1) x_0, spread; and a product that both outputs have."""
    return pack([p[0] * x[0] + p[1] * x[0], (p[0] + p[1]) * x[0] * x[1]])


def test_products_that_are_equal_for_all_numbers_are_one() -> None:
    sample = (0.3, 0.8)
    parts = split(trace(hidden, {"p": (2,), "x": (2,)}), sample, minimised=False)
    random = np.random.default_rng(0)

    def rows(count: int) -> tuple[tuple[Decimal, ...], ...]:
        return tuple(tuple(Decimal(float(v)) for v in random.uniform(0.5, 1.5, 4)) for _ in range(count))

    found = split_with_identities(parts, sample, PreciseInputs(rows(4), rows(2), (0.0,) * 4))
    assert count(found.body).total == 2
    assert count(found.body).total < count(parts.body).total
    for numbers in ((0.3, 0.8), (1.7, -0.2)):
        prepared = found.prologue.evaluate(list(numbers))
        x = [0.6, -1.1]
        expected = [(numbers[0] + numbers[1]) * x[0], (numbers[0] + numbers[1]) * x[0] * x[1]]
        np.testing.assert_allclose(found.body.evaluate([*prepared, *x]), expected, rtol=1e-14)


# ---- Values made from others that are computed anyway


def test_a_sum_of_others_is_made_from_them() -> None:
    """(a + b)(c + d) - a d - b c is a c + b d, and both of these are computed anyway."""
    w = Writer(4)
    ac, bd = w("mul", 0, 2), w("mul", 1, 3)
    whole = w("mul", w("add", 0, 1), w("add", 2, 3))
    program = w.program(w("sub", w("sub", whole, w("mul", 0, 3)), w("mul", 1, 2)), ac, bd)
    given_samples = samples(4)
    values = Values(program, given_samples.proof, given_samples.sizes)
    found = written(values, rebuilt(values))
    assert count(found).total == 3
    assert agrees(found, program, given_samples.check)


def test_products_and_multiples_are_made_from_others() -> None:
    w = Writer(4)
    a, b = w("add", 0, 1), w("sub", 2, 3)
    spread = w("sub", w("add", w("mul", 0, 2), w("mul", 1, 2)), w("add", w("mul", 0, 3), w("mul", 1, 3)))
    multiple = w("add", w("add", w("mul", w.const(0.7), 0), w("mul", w.const(0.7), 1)), w("sub", 3, 3))
    program = w.program(a, b, spread, multiple)
    given_samples = samples(4)
    values = Values(program, given_samples.proof, given_samples.sizes)
    found = written(values, rebuilt(values))
    assert count(found).total == 4


def test_a_factor_in_doubt_is_a_constant_that_is_there() -> None:
    """600.06 - 600 is 0.06 but for the rounding of 600.06, which is 1e-12 of the difference."""
    w = Writer(3)
    factor = w.const(0.06)
    xy, other = w("mul", 0, 1), w("mul", factor, 2)
    large, less = w("mul", w("mul", w.const(600.06), 0), 1), w("mul", w("mul", w.const(600.0), 1), 0)
    program = w.program(w("sub", large, less), xy, other)
    given_samples = samples(3)
    values = Values(program, given_samples.proof, given_samples.sizes)
    found = written(values, rebuilt(values))
    assert count(found).total == 3
    assert [op[1] for op in found.code if op[0] == "const"] == [0.06]


def test_a_value_that_varies_less_than_a_constant_is_rounded_becomes_it() -> None:
    """(0.35 x + 0.35 x) / x + 1e-19 y varies, but within the rounding of 0.7, which comes later."""
    w = Writer(3)
    half = w("mul", w.const(0.35), 0)
    nearly = w("add", w("div", w("add", half, half), 0), w("mul", w.const(1e-19), 1))
    program = w.program(w("mul", nearly, 2), w("mul", w.const(0.7), 1))
    given_samples = samples(3)
    values = Values(program, given_samples.proof, given_samples.sizes)
    found = written(values, rebuilt(values))
    assert count(found).total == 2


# ---- Classes of equal values: up to sign, constants, and numbers that differ by rounding alone


def values_of(program: Program, **options: float) -> Values:
    given = samples(program.input_size)
    return Values(program, given.proof, given.sizes, **options)


def test_rounding_of_numbers_explains_a_deviation_or_not() -> None:
    """0.1 x + 0.2 x is 0.3 x but for the rounding of these numbers."""
    w = Writer(1)
    parts = w("add", w("mul", w.const(0.1), 0), w("mul", w.const(0.2), 0))
    program = w.program(parts, w("mul", w.const(0.3), 0))
    a, b = values_of(program).results
    assert a == b
    a, b = values_of(program, units=0.0).results
    assert a != b
