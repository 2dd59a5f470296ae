"""Identities: join, noise, parametric, rebuild, values, written."""

from __future__ import annotations

from decimal import Decimal

import mpmath
import numpy as np
import pytest

from nacelle.program.cost import count
from nacelle.program.identities.join import _looked_up, other_makings
from nacelle.program.identities.merge import agrees
from nacelle.program.identities.noise import DIRECTIONS, UNIT, Directions, largest, of_operation, typical
from nacelle.program.identities.parametric import split_with_identities
from nacelle.program.identities.rebuild import rebuilt
from nacelle.program.identities.samples import PreciseInputs
from nacelle.program.identities.values import Values
from nacelle.program.identities.written import child_classes, class_order, written
from nacelle.program.program import ARITY, Program, apply
from nacelle.program.split import split
from nacelle.program.trace import trace
from nacelle.spatial.scalar import Array, pack
from support.identities import Writer, samples

# ---- Sums, products and multiples among values: those that there are, and no others


def test_planted_relations_are_found_and_no_others() -> None:
    w = Writer(4)
    a, b = w("add", 0, 1), w("mul", 2, 3)
    # a + b, a b and 2.5 a, each written so that no instruction shows it.
    total = w("sub", w("add", w("add", 0, b), w("mul", w.const(2.0), 1)), 1)
    product = w("add", w("mul", w("mul", 0, 2), 3), w("mul", w("mul", 1, 2), 3))
    multiple = w("add", w("mul", w.const(2.5), 0), w("mul", w.const(2.5), 1))
    stranger = w("mul", w("add", 0, 2), w("add", 1, 3))
    program = w.program(a, b, total, product, multiple, stranger)
    given = samples(4)
    values = Values(program, given.proof, given.sizes)
    one, two, sum_, product_, multiple_, other = (ref >> 1 for ref in values.results)
    found = other_makings(
        values, [one, two, sum_, product_, multiple_, other], [sum_, product_, multiple_, other]
    )
    assert (0, ("add", *sorted((2 * one, 2 * two)))) in found[sum_]
    assert (0, ("mul", *sorted((2 * one, 2 * two)))) in found[product_]
    factors = [values.constants[making[1][1] >> 1] for making in found[multiple_] if making[1][2] == 2 * one]
    assert factors == [2.5]
    assert not found[other]


def test_nothing_from_nothing() -> None:
    w = Writer(1)
    given = samples(1)
    values = Values(w.program(w("add", 0, 0)), given.proof, given.sizes)
    assert other_makings(values, [], []) == {}


@pytest.mark.parametrize("seed", range(4))
def test_pairs_are_those_of_all_pairs(seed: int) -> None:
    """Sums of either sign, terms that are far apart in size, and terms that are there twice."""
    random = np.random.default_rng(seed)
    own = random.standard_normal(60) * 10.0 ** random.integers(-3, 3, 60)
    column = np.concatenate([own, -own, own[:5]])
    first, second = random.integers(0, len(column), (2, 80))
    targets = np.concatenate([column[first] + column[second], random.standard_normal(20)])
    targets = targets[targets != 0.0]
    t, a, b = _looked_up(column, targets, np.abs(column))
    near = np.abs(column[:, None] + column - targets[:, None, None]) <= 1e-11 * (
        np.abs(column[:, None]) + np.abs(column)
    )
    # One partner for every first term that has any, in the order of targets and terms.
    assert list(zip(t, a, strict=True)) == list(zip(*np.nonzero(near.any(axis=2)), strict=True))
    assert near[t, a, b].all()
    assert (np.bincount(t, minlength=80)[:70] > 0).all()


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


def test_directions() -> None:
    """About one unit of rounding, of either sign, the same whatever is drawn first."""
    ahead, one_by_one = Directions(), Directions()
    last = ahead[5000]
    table = np.array([one_by_one[k] for k in range(5001)])
    np.testing.assert_array_equal(table[-1], last)
    sizes = np.abs(table) / UNIT
    assert 0.5 <= sizes.min() < 0.51 < 1.49 < sizes.max() <= 1.5
    assert abs(np.mean(np.sign(table))) < 0.02
    np.testing.assert_allclose(typical(table), np.sqrt(np.mean(table**2, axis=1)), rtol=1e-14)
    np.testing.assert_array_equal(largest(table), np.abs(table).max(axis=1))


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


def test_equal_values_are_one_class_with_a_sign() -> None:
    w = Writer(3)
    first = w("mul", w("sub", 0, 1), 2)
    second = w("sub", w("mul", 1, 2), w("mul", 0, 2))
    other = w("mul", w("add", 0, 1), 2)
    a, b, c = values_of(w.program(first, second, other)).results
    assert a >> 1 == b >> 1 != c >> 1
    assert (a ^ b) & 1  # one is the negative of the other


def test_constants_and_zeros() -> None:
    w = Writer(2)
    square = w("add", w("mul", 0, 0), w("mul", 1, 1))
    one = w("div", square, w("add", w("mul", 1, 1), w("mul", 0, 0)))
    nothing = w("sub", w("mul", 0, 1), w("mul", 1, 0))
    values = values_of(w.program(one, nothing))
    assert values.constants[values.results[0] >> 1] == 1.0
    assert values.results[1] == values.zero


def test_rounding_of_numbers_explains_a_deviation_or_not() -> None:
    """0.1 x + 0.2 x is 0.3 x but for the rounding of these numbers."""
    w = Writer(1)
    parts = w("add", w("mul", w.const(0.1), 0), w("mul", w.const(0.2), 0))
    program = w.program(parts, w("mul", w.const(0.3), 0))
    a, b = values_of(program).results
    assert a == b
    a, b = values_of(program, units=0.0).results
    assert a != b


def test_a_class_knows_all_that_makes_it() -> None:
    w = Writer(2)
    first, second = w("add", 0, 1), w("sub", 0, w("neg", 1))
    values = values_of(w.program(first, second, w("sub", w("neg", 0), 1)))
    (k,) = {ref >> 1 for ref in values.results}
    assert len(values.makings[k]) >= 2


# ---- Programs from classes of values: one instruction a class, operands before those that use them


def test_equal_values_are_written_once() -> None:
    w = Writer(3)
    first = w("mul", w("sub", 0, 1), 2)
    second = w("sub", w("mul", 1, 2), w("mul", 0, 2))
    one = w("div", w("add", 0, 1), w("add", 1, 0))
    program = w.program(first, second, one)
    given = samples(3)
    values = Values(program, given.proof, given.sizes)
    found = written(values)
    assert count(found).total == 2  # a difference and a product
    row = [0.3, -0.7, 1.9]
    assert found.evaluate(row) == pytest.approx(program.evaluate(row), rel=1e-15)
    chosen = [makings[0] for makings in values.makings]
    place = {k: n for n, k in enumerate(class_order(values, chosen))}
    for k, at in place.items():
        assert all(place[child] < at for child in child_classes(values, chosen[k], k))
