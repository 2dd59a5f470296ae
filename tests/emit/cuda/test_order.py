"""Orders for many registers."""

from __future__ import annotations

import pytest

from nacelle.emit.cuda.lower import lowered
from nacelle.emit.cuda.order import clusters, fewest_values_first, flow_of, ordered, set_aside
from nacelle.emit.cuda.residence import moves
from nacelle.program.program import Program, Variable
from support.random_programs import random_program


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("registers", [6, 40])
def test_operands_come_first_and_the_best_is_no_worse(seed: int, registers: int) -> None:
    code, results = lowered(random_program(seed, 300))
    flow = flow_of(code)
    wanted = [k for k in dict.fromkeys(results) if k in flow.needs]
    best = ordered(code, results, registers)
    for order in (best, clusters(flow), fewest_values_first(wanted, flow)):
        place = {k: at for at, k in enumerate(order)}
        assert sorted(place) == sorted(flow.given)
        assert all(place[a] < place[k] for k in order for a in flow.needs[k])
    least = set_aside(best, flow, results, registers)
    assert least <= set_aside(flow.given, flow, results, registers)


def test_sums_of_pairs_need_few_registers() -> None:
    """A sum of 32 products of inputs, written breadth first, is made term by term."""
    code: list[tuple[object, ...]] = [("input", k) for k in range(64)]
    level = [len(code) + k for k in range(32)]
    code += [("abs", 2 * k) for k in range(32)]
    while len(level) > 1:
        pairs = [(level[2 * k], level[2 * k + 1]) for k in range(len(level) // 2)]
        level = [len(code) + k for k in range(len(pairs))]
        code += [("min", a, b) for a, b in pairs]
    program = Program("sum", (Variable("x", (64,)),), (Variable("y"),), tuple(code), (level[0],))
    lower, results = lowered(program)
    flow = flow_of(lower)
    inputs = {a for a in flow.users if a not in flow.needs}
    order = ordered(lower, results, 8)
    assert moves(order, flow.reads, inputs | set(results), 8) == 32  # every input once, nothing else
    assert moves(flow.given, flow.reads, inputs | set(results), 8) > 60
