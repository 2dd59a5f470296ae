"""Classes of equal values: up to sign, constants, and numbers that differ by rounding alone."""

from __future__ import annotations

from nacelle.program.identities.values import Values
from nacelle.program.program import Program
from support.identities import Writer, samples


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
