"""Sums of scalars: values in order, and no operation for a zero."""

from __future__ import annotations

import numpy as np

from nacelle.elastic.beam.sums import summed
from nacelle.program.cost import count
from nacelle.program.trace import trace


def test_values_and_operations() -> None:
    assert summed([]) == 0.0
    values = np.random.default_rng(0).normal(size=6).tolist()
    assert summed(values) == np.add.accumulate(values)[-1]
    program = trace(lambda x: {"y": summed([x[0], x[1], x[2]])}, {"x": (3,)}).program()
    assert count(program).total == 2
