"""Programs from classes of values: one instruction a class, operands before those that use them."""

from __future__ import annotations

import pytest

from nacelle.program.cost import count
from nacelle.program.identities.values import Values
from nacelle.program.identities.written import child_classes, class_order, written
from support.identities import Writer, samples


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
