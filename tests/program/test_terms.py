"""Terms of sums in the order in which they are ready."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.program.cost import cost
from nacelle.program.graph import Graph
from nacelle.program.program import Program, Variable
from nacelle.program.terms import late_terms_last
from nacelle.program.trace import graph_of, linear
from support.random_programs import assert_within, evaluate, random_inputs, random_program


def program(code: list[tuple[object, ...]], results: tuple[int, ...], inputs: int) -> Program:
    return Program("p", (Variable("x", (inputs,)),), (Variable("y", (len(results),)),), tuple(code), results)


def _folded(drawn: Program) -> tuple[Graph, tuple[Variable, ...], tuple[Variable, ...], list[int]]:
    graph, roots = graph_of(drawn)
    return graph, drawn.inputs, drawn.outputs, roots


def test_the_late_term_is_last_and_a_plain_one_first() -> None:
    # ((1/x0 + x1 x2) - x3) + sqrt(x1): x3 begins, then the product, the root, the quotient.
    code: list[tuple[object, ...]] = [("input", k) for k in range(4)]
    code += [("const", 1.0), ("sqrt", 0), ("div", 4, 5), ("mul", 1, 2), ("add", 6, 7), ("sub", 8, 3)]
    code += [("sqrt", 1), ("add", 9, 10)]
    found = late_terms_last(program(code, (11,), 4))
    steps = found.code
    last = steps[found.results[0]]
    assert "div" in {steps[a][0] for a in last[1:]}
    (before,) = [a for a in last[1:] if steps[a][0] != "div"]
    assert "sqrt" in {steps[a][0] for a in steps[before][1:]}
    (first,) = [a for a in steps[before][1:] if steps[a][0] != "sqrt"]
    assert {steps[a][0] for a in steps[first][1:]} == {"mul", "input"}
    assert cost(found) == cost(program(code, (11,), 4))


def test_sums_with_several_uses_are_kept() -> None:
    code: list[tuple[object, ...]] = [("input", k) for k in range(3)]
    code += [("add", 0, 1), ("add", 2, 3), ("mul", 3, 4), ("sqrt", 5), ("sub", 6, 4)]
    given = program(code, (7, 3), 3)
    found = late_terms_last(given)
    assert sum(step[0] in ("add", "sub") for step in found.code) == 3
    rows = random_inputs(given, 20, special=0.0)
    np.testing.assert_array_equal(evaluate(found, rows)[0], evaluate(given, rows)[0])


@pytest.mark.parametrize("seed", range(30))
def test_the_value_is_the_same_to_rounding_and_no_operation_more(seed: int) -> None:
    operations = ("add", "sub", "add", "sub", "mul", "div", "sqrt", "neg", "sin", "sign")
    drawn = random_program(seed, 120, operations=operations)
    # A graph folds x - x and 0 x, whatever x is.
    given = linear(drawn.name, *_folded(drawn))
    found = late_terms_last(given)
    assert cost(found) <= cost(given)
    inputs = random_inputs(given, 8, seed, special=0.0)
    with np.errstate(all="ignore"):
        assert_within(given, inputs, evaluate(found, inputs))
