"""Inputs in other groups."""

from __future__ import annotations

import pytest

from nacelle.program.program import Program, Variable
from nacelle.program.regroup import regrouped


def test_inputs_move() -> None:
    code = (*(("input", k) for k in range(4)), ("sub", 0, 1), ("div", 4, 2), ("add", 5, 3))
    program = Program("p", (Variable("a", (2,)), Variable("b"), Variable("c")), (Variable("y"),), code, (6,))
    moved = regrouped(program, {"x": ["c"], "none": [], "p": ["b", "a"]})
    moved.check()
    assert [(v.name, v.size) for v in moved.inputs] == [("x", 1), ("none", 0), ("p", 3)]
    assert moved.evaluate([4.0, 3.0, 1.0, 2.0]) == program.evaluate([1.0, 2.0, 3.0, 4.0])
    with pytest.raises(ValueError, match="has the inputs a, b, c, not a, b"):
        regrouped(program, {"x": ["a", "b"]})
