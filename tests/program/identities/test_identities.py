"""Identities: by numbers, rounding, numbers as inputs, values made from others."""

from __future__ import annotations

import dataclasses
import math
from decimal import Decimal
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from nacelle.program.cost import cost, count
from nacelle.program.identities.merge import (
    apply_identities,
    apply_split_identities,
    merge_equal_values,
    programs_agree,
)
from nacelle.program.identities.rebuild import cheapest_definitions, program_of_classes
from nacelle.program.identities.values import (
    DIRECTIONS,
    UNIT,
    PreciseInputs,
    ValueClasses,
    operation_rounding,
)
from nacelle.program.precise import evaluate, evaluate_decimal
from nacelle.program.program import ARITY, Program, Variable, apply, variable_slices
from nacelle.program.split import split
from nacelle.program.trace import trace
from nacelle.spatial.scalar import Array, pack
from support.random_programs import error_bounds, random_program

# ---- Programs written instruction by instruction, and samples, for the search of identities


def samples(size: int, seed: int = 0, proof: int = 4, check: int = 2) -> PreciseInputs:
    """Independent inputs between 0.5 and 1.5 in size."""
    rng = np.random.default_rng(seed)

    def row() -> tuple[Decimal, ...]:
        values = rng.uniform(0.5, 1.5, size) * rng.choice([-1.0, 1.0], size)
        return tuple(Decimal(float(value)) for value in values)

    return PreciseInputs(
        tuple(row() for _ in range(proof)), tuple(row() for _ in range(check)), (0.0,) * size
    )


class Writer:
    """Writes instructions as they come: nothing is folded, nothing is shared."""

    def __init__(self, inputs: int) -> None:
        self.inputs = inputs
        self.code: list[tuple[Any, ...]] = [("input", k) for k in range(inputs)]

    def __call__(self, op: str, *arguments: Any) -> int:
        self.code.append((op, *arguments))
        return len(self.code) - 1

    def const(self, value: float) -> int:
        return self("const", value)

    def program(self, *results: int) -> Program:
        outputs = (Variable("out", (len(results),)),)
        program = Program("test", (Variable("x", (self.inputs,)),), outputs, tuple(self.code), results)
        program.check()
        return program


# ---- Changes by rounding, to first order, against differences with 60 digits


@pytest.mark.parametrize("op", ["add", "sub", "mul", "div", "neg", "sqrt", "sin", "cos"])
def test_first_order_changes(op: str) -> None:
    rng = np.random.default_rng(9)
    arguments = list(rng.uniform(0.3, 2.0, (ARITY[op], 4)))
    changes = list(UNIT * rng.normal(size=(ARITY[op], 2, 4, DIRECTIONS)))
    value = np.array([float(apply(op, *map(float, row))) for row in zip(*arguments, strict=True)])
    slope = {"sin": np.cos(arguments[0]), "cos": -np.sin(arguments[0])}.get(op)
    found = operation_rounding(op, value, arguments, changes, slope)
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

    found = apply_split_identities(parts, sample, PreciseInputs(rows(4), rows(2), (0.0,) * 4))
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
    values = ValueClasses(program, given_samples.proof, given_samples.sizes)
    found = program_of_classes(values, cheapest_definitions(values))
    assert count(found).total == 3
    assert programs_agree(found, program, given_samples.check)


def test_products_and_multiples_are_made_from_others() -> None:
    w = Writer(4)
    a, b = w("add", 0, 1), w("sub", 2, 3)
    spread = w("sub", w("add", w("mul", 0, 2), w("mul", 1, 2)), w("add", w("mul", 0, 3), w("mul", 1, 3)))
    multiple = w("add", w("add", w("mul", w.const(0.7), 0), w("mul", w.const(0.7), 1)), w("sub", 3, 3))
    program = w.program(a, b, spread, multiple)
    given_samples = samples(4)
    values = ValueClasses(program, given_samples.proof, given_samples.sizes)
    found = program_of_classes(values, cheapest_definitions(values))
    assert count(found).total == 4


def test_a_factor_in_doubt_is_a_constant_that_is_there() -> None:
    """600.06 - 600 is 0.06 but for the rounding of 600.06, which is 1e-12 of the difference."""
    w = Writer(3)
    factor = w.const(0.06)
    xy, other = w("mul", 0, 1), w("mul", factor, 2)
    large, less = w("mul", w("mul", w.const(600.06), 0), 1), w("mul", w("mul", w.const(600.0), 1), 0)
    program = w.program(w("sub", large, less), xy, other)
    given_samples = samples(3)
    values = ValueClasses(program, given_samples.proof, given_samples.sizes)
    found = program_of_classes(values, cheapest_definitions(values))
    assert count(found).total == 3
    assert [op[1] for op in found.code if op[0] == "const"] == [0.06]


def test_a_value_that_varies_less_than_a_constant_is_rounded_becomes_it() -> None:
    """(0.35 x + 0.35 x) / x + 1e-19 y varies, but within the rounding of 0.7, which comes later."""
    w = Writer(3)
    half = w("mul", w.const(0.35), 0)
    nearly = w("add", w("div", w("add", half, half), 0), w("mul", w.const(1e-19), 1))
    program = w.program(w("mul", nearly, 2), w("mul", w.const(0.7), 1))
    given_samples = samples(3)
    values = ValueClasses(program, given_samples.proof, given_samples.sizes)
    found = program_of_classes(values, cheapest_definitions(values))
    assert count(found).total == 2


# ---- Classes of equal values: up to sign, constants, and numbers that differ by rounding alone


def values_of(program: Program, **options: float) -> ValueClasses:
    given = samples(program.input_size)
    return ValueClasses(program, given.proof, given.sizes, **options)


def test_rounding_of_numbers_explains_a_deviation_or_not() -> None:
    """0.1 x + 0.2 x is 0.3 x but for the rounding of these numbers."""
    w = Writer(1)
    parts = w("add", w("mul", w.const(0.1), 0), w("mul", w.const(0.2), 0))
    program = w.program(parts, w("mul", w.const(0.3), 0))
    a, b = values_of(program).results
    assert a == b
    a, b = values_of(program, units=0.0).results
    assert a != b


# ---- Identities by numbers: planted ones are found, near ones are not, cases are not taken for one side

seeds = st.integers(0, 2**32 - 1)
# What has random values: cases and transcendental functions.
SMOOTH = ("add", "sub", "mul", "div", "neg", "sin", "cos")


def same(program: Program) -> bool:
    """Whether both results of a program are one instruction, up to sign."""
    first, second = program.results
    return _without_sign(program, first) == _without_sign(program, second)


def _without_sign(program: Program, k: int) -> int:
    op, *rest = program.code[k]
    return int(rest[0]) if op == "neg" else k


# ---- planted identities


def _square(w: Writer, a: int, b: int, c: int) -> tuple[int, int]:
    s = w("add", a, b)
    first = w("mul", s, s)
    ab = w("mul", a, b)
    second = w("add", w("add", w("mul", a, a), w("mul", b, b)), w("add", ab, ab))
    return first, second


def _spread(w: Writer, a: int, b: int, c: int) -> tuple[int, int]:
    return w("mul", a, w("add", b, c)), w("add", w("mul", a, b), w("mul", a, c))


def _negative(w: Writer, a: int, b: int, c: int) -> tuple[int, int]:
    return w("mul", w("sub", a, b), c), w("sub", w("mul", b, c), w("mul", a, c))


def _double_angle(w: Writer, a: int, b: int, c: int) -> tuple[int, int]:
    two = w.const(2.0)
    first = w("sin", w("mul", two, a))
    return first, w("mul", two, w("mul", w("sin", a), w("cos", a)))


def _rounded(w: Writer, a: int, b: int, c: int) -> tuple[int, int]:
    parts = w("add", w("mul", w.const(0.1), a), w("mul", w.const(0.2), a))
    return parts, w("mul", w.const(0.3), a)


def _thirds(w: Writer, a: int, b: int, c: int) -> tuple[int, int]:
    """Three directions 120 degrees apart, rounded: their squares along any direction sum to 3/2."""
    total = None
    for k in range(3):
        x, y = math.cos(2.0 * math.pi * k / 3.0), math.sin(2.0 * math.pi * k / 3.0)
        part = w("add", w("mul", w.const(x), a), w("mul", w.const(y), b))
        square = w("mul", part, part)
        total = square if total is None else w("add", total, square)
    assert total is not None
    whole = w("add", w("mul", a, a), w("mul", b, b))
    return total, w("mul", w.const(1.5), whole)


PLANTED = (_square, _spread, _negative, _double_angle, _rounded, _thirds)


@pytest.mark.parametrize("planted", PLANTED)
def test_planted_identities_are_found(planted: Any) -> None:
    w = Writer(3)
    program = w.program(*planted(w, 0, 1, 2))
    found = merge_equal_values(program, samples(3))
    assert same(found)
    assert programs_agree(found, program, samples(3, seed=5).check)


def test_a_program_that_gives_no_number_does_not_agree() -> None:
    """0/0 in the place of a result, and the other way round; where both give none they agree."""
    w = Writer(1)
    zero = w("sub", 0, 0)
    number, none = w.program(w("add", 0, 0)), w.program(w("div", zero, zero))
    rows = samples(1).check
    assert not programs_agree(none, number, rows)
    assert not programs_agree(number, none, rows)
    assert programs_agree(none, none, rows)


@settings(max_examples=40, deadline=None)
@given(seeds, st.sampled_from(PLANTED))
def test_identities_between_random_values_are_found(seed: int, planted: Any) -> None:
    base = random_program(seed, 30, operations=SMOOTH)
    assume(base.input_size >= 1)
    w = Writer(base.input_size)
    w.code = list(base.code)
    rng = np.random.default_rng(seed)
    places = [int(k) for k in rng.integers(len(base.code), size=3)]
    program = w.program(*planted(w, *places))
    given_samples = samples(base.input_size, seed)
    rows = (*given_samples.proof, *given_samples.check)
    exposed = Program("all", program.inputs, (Variable("v", (3,)),), program.code, tuple(places))
    values = [[float(v) for v in evaluate_decimal(exposed, row)] for row in rows]
    sizes = np.abs(np.array(values))
    # What is not a number, or lost beside another by all digits of double, proves nothing.
    assume(bool(np.all(np.isfinite(sizes))) and np.min(sizes) > 1e-4 and np.max(sizes) < 1e4)
    found = merge_equal_values(program, given_samples)
    assert same(found) or all(found.code[k][0] == "const" for k in found.results)


@pytest.mark.parametrize("planted", PLANTED)
@pytest.mark.parametrize("apart", [1e-9, -1e-10, 1e-11, -1e-12, 1e-13])
def test_near_identities_are_not_taken(planted: Any, apart: float) -> None:
    w = Writer(3)
    first, second = planted(w, 0, 1, 2)
    program = w.program(first, w("mul", w.const(1.0 + apart), second))
    for found in (merge_equal_values(program, samples(3)), apply_identities(program, samples(3))):
        for row in samples(3, seed=9, check=6).check:
            ours, theirs = evaluate_decimal(found, row), evaluate_decimal(program, row)
            for a, b in zip(ours, theirs, strict=True):
                assert abs(a - b) <= Decimal("2e-15") * abs(b)


@settings(max_examples=40, deadline=None)
@given(seeds, st.floats(-13.0, -9.0))
def test_near_values_stay_apart(seed: int, power: float) -> None:
    w = Writer(3)
    rng = np.random.default_rng(seed)
    length = float(rng.uniform(0.2, 2.0))

    def leg(length: float) -> int:
        side = w("sub", 0, w.const(length))
        return w("sqrt", w("add", w("mul", side, side), w("mul", 1, 1)))

    program = w.program(leg(length), leg(length * (1.0 + 10.0**power)))
    found = merge_equal_values(program, samples(3, seed))
    assert not same(found)


def test_what_is_left_of_a_cancellation_is_not_zero() -> None:
    w = Writer(3)
    small = w("mul", w.const(1e-25), 1)
    program = w.program(w("sub", w("add", 0, small), 0), 2)
    found = merge_equal_values(program, samples(3))
    row = samples(3, seed=3).check[0]
    ours, theirs = evaluate_decimal(found, row)[0], evaluate_decimal(program, row)[0]
    assert abs(ours - theirs) <= Decimal("1e-30") * abs(theirs) != 0


def test_zeros_and_constants_take_products_with_them() -> None:
    w = Writer(3)
    s, c = w("sin", 0), w("cos", 0)
    one = w("add", w("mul", s, s), w("mul", c, c))
    nothing = w("sub", w("mul", w("add", 1, 2), w("sub", 1, 2)), w("sub", w("mul", 1, 1), w("mul", 2, 2)))
    program = w.program(w("mul", one, 1), w("add", 2, w("mul", nothing, w("sin", 1))))
    assert count(merge_equal_values(program, samples(3))).total == 0


# ---- cases


@pytest.mark.parametrize("op", ["abs", "sign", "floor", "tanh", "exp", "min", "max", "where"])
def test_the_side_of_a_case_proves_nothing(op: str) -> None:
    """All inputs are positive, the first the largest; no value may be taken for its argument."""
    w = Writer(3)
    arguments = {"min": (0, 1), "max": (0, 1), "where": (0, 1, 2)}.get(op, (0,))
    made = w(op, *arguments)
    results = [made, *arguments, w.const(1.0)]
    program = w.program(*results)
    rng = np.random.default_rng(0)
    rows = [tuple(Decimal(float(v)) for v in (3.0, *rng.uniform(1.0, 2.0, 2))) for _ in range(6)]
    rows = [(row[0] + k, *row[1:]) for k, row in enumerate(rows)]
    found = merge_equal_values(program, PreciseInputs(tuple(rows[:4]), tuple(rows[4:]), (0.0,) * 3))
    assert found.results[0] not in found.results[1:]
    assert [code[0] for code in found.code].count(op) == 1


@pytest.mark.parametrize("op", ["abs", "sign", "floor", "tanh", "exp", "min", "max", "where"])
def test_equal_cases_are_one(op: str) -> None:
    w = Writer(3)
    first = [w("add", 0, 1), 2, 1]
    second = [w("sub", 0, w("neg", 1)), 2, 1]
    number = {"min": 2, "max": 2, "where": 3}.get(op, 1)
    made = [w(op, *arguments[:number]) for arguments in (first, second)]
    assert same(merge_equal_values(w.program(*made), samples(3)))


def test_a_condition_with_samples_on_either_side_takes_part() -> None:
    """|x| x = x^2 on the one side and -x^2 on the other."""
    w = Writer(1)
    size = w("where", 0, 0, w("neg", 0))
    program = w.program(w("mul", size, size), w("mul", 0, 0))
    rows = [(Decimal(value),) for value in ("0.5", "0.75", "-0.625", "-1.25", "1.5", "-1.75")]
    both = PreciseInputs(tuple(rows[:4]), tuple(rows[4:]), (0.0,))
    assert same(merge_equal_values(program, both))
    one = PreciseInputs((rows[0], rows[1], rows[4], rows[1]), (rows[5],), (0.0,))
    assert not same(merge_equal_values(program, one))


def test_identities_of_special_samples_are_refused() -> None:
    """Inputs that agree where identities are sought, but not where they are checked."""
    w = Writer(2)
    program = w.program(w("add", 0, 0), w("add", 0, 1))
    proof = tuple((Decimal(k + 2) / 3, Decimal(k + 2) / 3) for k in range(4))
    assert (
        merge_equal_values(program, PreciseInputs(proof, ((Decimal(1), Decimal(2)),), (0.0, 0.0))) == program
    )


def test_a_value_is_not_made_by_cancellation() -> None:
    """The product is small beside the sum that it is part of: from that sum it would lose eight digits."""
    w = Writer(4)
    product = w("mul", w("mul", w("mul", 0, 1), w("add", 2, 3)), w("sub", 2, 1))
    large = w("mul", w.const(1e8), 3)
    program = w.program(product, w("add", product, large), large)
    small = apply_identities(program, samples(4))
    for row in samples(4, seed=4, check=8).check:
        inputs = [float(value) for value in row]
        true, found = evaluate(program, inputs)[0], small.evaluate(inputs)[0]
        assert abs(found - true) <= 4e-15 * abs(true)


def regular_results(program: Program, inputs: list[float]) -> list[bool]:
    """Whether each result follows from finite values whose rounding errors decide no choice on the way."""
    every = dataclasses.replace(
        program, outputs=(Variable("all", (len(program.code),)),), results=tuple(range(len(program.code)))
    )
    regular: list[bool] = []
    for (op, *arguments), value, error in zip(program.code, *error_bounds(every, inputs), strict=True):
        operands = arguments if op not in ("const", "input") else []
        # Of a zero the sign is open: an atan2 of it may be another one.
        fine = error < 1e-3 and not (op == "atan2" and value in (0.0, math.pi))
        ordinary = value == 0.0 or 1e-100 < abs(value) < 1e100
        regular.append(fine and ordinary and all(regular[k] for k in operands))
    return [regular[k] for k in program.results]


@settings(max_examples=30, deadline=None)
@given(seeds)
@example(636)
@example(3922173)
def test_random_programs_keep_their_values(seed: int) -> None:
    """Results are kept to 1e-13 of the largest of their output.

    A pass takes values for real numbers: 0 / x is 0 also where x is NaN, a / a is 1 up to rounding, and the
    sign of a zero is not kept (in the two examples atan2(-0, -1) and 0 / NaN). Results that pass through such
    values are left out.
    """
    program = random_program(seed, 60)
    precise = samples(program.input_size, seed)
    found = apply_identities(program, precise)
    assert cost(found) <= cost(program)
    for row in precise.check:
        ours, theirs = evaluate_decimal(found, row), evaluate_decimal(program, row)
        regular = regular_results(program, [float(value) for value in row])
        for _, span in variable_slices(program.outputs):
            largest = max((abs(b) for b in theirs[span] if b.is_finite()), default=Decimal(0))
            for a, b, fine in zip(ours[span], theirs[span], regular[span], strict=True):
                assert not fine or abs(a - b) <= Decimal("1e-13") * largest


def test_a_program_without_finite_values() -> None:
    program = random_program(16455388, 60)
    found = apply_identities(program, samples(program.input_size, 0))
    assert cost(found) <= cost(program)
