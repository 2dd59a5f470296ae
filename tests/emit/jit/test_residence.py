"""Values in registers: never more than there are, and loaded only after they were stored."""

from __future__ import annotations

import pytest

from nacelle.emit.jit.order import order, values_read
from nacelle.emit.jit.plan import fuse
from nacelle.emit.jit.residence import Memory, moves, residence
from nacelle.program.program import Instruction
from support.random_programs import random_program


@pytest.mark.parametrize("seed", range(4))
def test_values_are_loaded_once_where_there_is_room(seed: int) -> None:
    """With room for all, inputs come from memory, each once; with none, every value that is read."""
    program = random_program(seed, 80)
    given = [k for k, step in enumerate(program.code) if step[0] not in ("const", "input")]
    reads = values_read(program.code, given)
    inputs = {a for k in given for a in reads[k] if program.code[a][0] == "input"}
    fetched = [a for values in residence(given, reads, 10_000).fetched for a in values]
    assert sorted(fetched) == sorted(inputs)
    assert residence(given, reads, 0).fetched == [reads[k] for k in given]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("registers", [3, 12])
def test_no_more_values_are_held_than_registers(seed: int, registers: int) -> None:
    program = random_program(seed, 300)
    code = fuse(program)
    listed = order(code, program.results, registers)
    reads = values_read(code, listed)
    inputs = {k for k, step in enumerate(code) if step and step[0] == "input"}
    ends = {100, 200}
    fetched = residence(listed, reads, registers, Memory(inputs, ends)).fetched
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


def test_what_is_in_memory_makes_room_first() -> None:
    # Two registers: x is needed after the others, but y is not stored for it.
    code: list[Instruction] = [("input", 0), ("sqrt", 0), ("abs", 0), ("add", 1, 2), ("mul", 3, 0)]
    reads = values_read(code, range(1, 5))
    assert residence(range(1, 5), reads, 2, Memory({0})).fetched == [(0,), (), (), (0,)]
    assert residence(range(1, 5), reads, 3, Memory({0})).fetched == [(0,), (), (), ()]


def test_a_value_that_is_overwritten_is_loaded_anew() -> None:
    code: list[Instruction] = [("input", 0), ("input", 1), ("fma", 0, 0, 1), ("fma", 2, 2, 1), ("mul", 3, 1)]
    consumed = {2: 1, 3: 1}
    found = residence(range(2, 5), values_read(code, range(2, 5)), 8, Memory({0, 1}, (), consumed))
    assert found.fetched == [(0, 1), (1,), (1,)]
    assert found.anew == {}
    # One that a register holds for another use stays there.
    code = [("input", 0), ("input", 1), ("mul", 0, 1), ("fma", 0, 2, 1), ("mul", 3, 1)]
    found = residence(range(2, 5), values_read(code, range(2, 5)), 8, Memory({0, 1}, (), {3: 1}))
    assert found.fetched == [(0, 1), (1,), ()]
    assert found.anew == {3: 1}


def test_moves_of_a_chain() -> None:
    # x0 * x1, then as many sums: two loads, and nothing is ever put aside.
    code: list[Instruction] = [("input", 0), ("input", 1), ("mul", 0, 1)]
    for _ in range(20):
        code.append(("add", len(code) - 1, 0))
    listed = range(2, len(code))
    assert moves(listed, values_read(code, listed), {0, 1}, {len(code) - 1}, 4) == 2
