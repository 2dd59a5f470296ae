"""Values made from others that are computed anyway."""

from __future__ import annotations

from nacelle.program.cost import count
from nacelle.program.identities.merge import agrees
from nacelle.program.identities.rebuild import rebuilt
from nacelle.program.identities.values import Values
from nacelle.program.identities.written import written
from support.identities import Writer, samples


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
