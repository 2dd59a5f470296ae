"""Layouts of threads: registers, blocks, values put aside."""

from __future__ import annotations

from nacelle.emit.cuda.plan import CudaOptions, planned, values_held
from nacelle.program.program import Program, Variable
from support.random_programs import random_program


def wide(count: int) -> Program:
    """All squares of many inputs are alive until the last of them is made."""
    code: list[tuple[object, ...]] = [("input", k) for k in range(count)]
    code += [("exp", k) for k in range(count)]
    code += [("min", count, 2 * count - 1)]
    for k in range(1, count):
        code.append(("max", len(code) - 1, count + k))
    code += [("atan2", len(code) - 1, count + k) for k in range(count)]
    results = tuple(range(len(code) - count, len(code)))
    return Program("wide", (Variable("x", (count,)),), (Variable("y", (count,)),), tuple(code), results)


def test_few_values_leave_room_for_three_blocks() -> None:
    assert planned(random_program(0)).blocks == 3
    plan = planned(random_program(0), CudaOptions(real="float"))
    assert (plan.states, plan.blocks, plan.moved) == (2, 3, 0)


def test_values_that_do_not_fit_are_put_aside() -> None:
    options = CudaOptions()
    program = wide(values_held(options, 1, 2) + 20)
    plan = planned(program)
    assert plan.blocks == 2
    assert 0 < plan.slots.count <= 30
    # Whatever is loaded was stored before, in a slot that nothing else has taken meanwhile.
    held: dict[int, int] = {}
    for k, fetched in zip(plan.order, plan.fetched, strict=True):
        for a in fetched:
            step = plan.code[a]
            assert step is not None
            assert step[0] == "input" or held[plan.slots.slot[a]] == a
        if k in plan.slots.slot:
            held[plan.slots.slot[k]] = k


def test_nothing_is_put_aside_where_there_is_no_room() -> None:
    plan = planned(wide(125), fits=lambda plan: plan.slots.count == 0)
    assert plan.slots.count == 0
    assert plan.blocks == 2
