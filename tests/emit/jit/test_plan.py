"""The layout of programs for native code: fusing, order, cuts and places."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.emit.jit.order import moves, order, residence, values_read
from nacelle.emit.jit.plan import fuse, operands, plan
from nacelle.program.program import Instruction, Program, Variable
from support.random_programs import random_program


def made(code: list[tuple[object, ...]], results: tuple[int, ...], inputs: int = 4) -> Program:
    return Program("p", (Variable("x", (inputs,)),), (Variable("y", (len(results),)),), tuple(code), results)


INPUTS: list[tuple[object, ...]] = [("input", k) for k in range(4)]


def test_products_are_fused_with_sums() -> None:
    code = fuse(made([*INPUTS, ("mul", 0, 1), ("add", 4, 2), ("mul", 0, 3), ("sub", 5, 6)], (7,)))
    assert code[4] is None
    assert code[5] == ("fma", 0, 1, 2)
    assert code[7] == ("fnma", 0, 3, 5)
    code = fuse(made([*INPUTS, ("mul", 0, 1), ("sub", 4, 2)], (5,)))
    assert code[5] == ("fms", 0, 1, 2)


def test_a_product_is_fused_into_all_its_uses_or_none() -> None:
    steps = [*INPUTS, ("mul", 0, 1), ("add", 4, 2), ("sub", 3, 4)]
    assert fuse(made(steps, (5, 6)))[4] is None
    assert fuse(made(steps, (4, 5, 6)))[4] == ("mul", 0, 1)  # it is a result
    assert fuse(made([*steps, ("sqrt", 4)], (5, 6, 7)))[5] == ("add", 4, 2)
    assert fuse(made([*INPUTS, ("mul", 0, 1), ("add", 4, 4)], (5,)))[5] == ("add", 4, 4)


def test_dead_code_is_dropped() -> None:
    code = fuse(made([*INPUTS, ("mul", 0, 1), ("exp", 2), ("neg", 4)], (6,)))
    assert code[5] is None
    assert code[2] is None


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("registers", [4, 30])
def test_order_respects_needs_and_saves_moves(seed: int, registers: int) -> None:
    program = random_program(seed, 300)
    code = fuse(program)
    listed = order(code, program.results, registers)
    given = [k for k, step in enumerate(code) if step and step[0] not in ("const", "input")]
    assert sorted(listed) == given
    place = {k: position for position, k in enumerate(listed)}
    for k in listed:
        assert all(place[a] < place[k] for a in operands(code[k] or ()) if a in place)
    reads = values_read(code, given)
    inputs = {k for k, step in enumerate(code) if step and step[0] == "input"} | set(program.results)
    assert moves(listed, reads, inputs, registers - 2) <= moves(given, reads, inputs, registers - 2)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("registers", [3, 12])
def test_no_more_values_are_held_than_registers(seed: int, registers: int) -> None:
    program = random_program(seed, 300)
    code = fuse(program)
    listed = order(code, program.results, registers)
    reads = values_read(code, listed)
    ends = {100, 200}
    fetched = residence(listed, reads, registers, ends)
    last = {a: position for position, k in enumerate(listed) for a in reads[k]}
    # What was not fetched must have been in a register since it was made or read last.
    since: dict[int, int] = {}
    spans = [0] * len(listed)
    for position, k in enumerate(listed):
        if position in ends:
            since.clear()
        for a in reads[k]:
            if a not in fetched[position]:
                for between in range(since[a], position):
                    spans[between] += 1
            since[a] = position
        if k in last:
            since[k] = position
    assert max(spans, default=0) <= registers


def test_moves_of_a_chain() -> None:
    # x0 * x1, then as many sums: two loads, and nothing is ever put aside.
    code: list[Instruction] = [*INPUTS[:2], ("mul", 0, 1)]
    for _ in range(20):
        code.append(("add", len(code) - 1, 0))
    listed = range(2, len(code))
    assert moves(listed, values_read(code, listed), {0, 1, len(code) - 1}, 4) == 2


@pytest.mark.parametrize("chunk", [7, 50, 10_000])
def test_every_value_is_placed_before_it_is_loaded(chunk: int) -> None:
    program = random_program(4, 400)
    layout = plan(program, fma=True, chunk=chunk, registers=16)
    memory: dict[int, int] = {k: k for k in range(layout.inputs)}
    for part in layout.chunks:
        here = set(part.operations)
        known = set()
        for k in part.operations:
            for a in operands(layout.code[k] or ()):
                step = layout.code[a]
                assert step is not None
                if step[0] == "const" or a in known:
                    continue
                assert a not in here
                home = layout.home[a]
                assert memory[home] == (step[1] if step[0] == "input" else a)
            known.add(k)
        for k, places in part.stores.items():
            memory |= dict.fromkeys(places, k)
    for position, k in enumerate(program.results):
        assert memory[layout.result + position] == k
    sizes = [len(part.operations) for part in layout.chunks]
    assert max(sizes) <= max(1.6 * chunk, 20) or len(sizes) == 1
    assert (len(sizes) == 1) == (layout.operations <= 5 * chunk)
    assert np.sum(sizes) == layout.operations
