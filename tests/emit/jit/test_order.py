"""Orders of operations for a few registers: valid, and with no more moves than the program's own."""

from __future__ import annotations

import pytest

from nacelle.emit.jit.order import SPARE, moves, order, residence, values_read
from support.random_programs import random_program


@pytest.mark.parametrize("registers", [6, 16, 32])
@pytest.mark.parametrize("seed", range(8))
def test_orders(seed: int, registers: int) -> None:
    program = random_program(seed, 120)
    given = [k for k, step in enumerate(program.code) if step[0] not in ("const", "input")]
    reads = values_read(program.code, given)
    found = order(program.code, program.results, registers)
    assert sorted(found) == given
    place = {k: step for step, k in enumerate(found)}
    assert all(place[a] < place[k] for k in given for a in reads[k] if a in place)
    memory = {k for k, step in enumerate(program.code) if step[0] == "input"} | set(program.results)
    room = registers - SPARE
    assert moves(found, reads, memory, room) <= moves(given, reads, memory, room)


@pytest.mark.parametrize("seed", range(4))
def test_values_are_loaded_once_where_there_is_room(seed: int) -> None:
    """With room for all, inputs come from memory, each once; with none, every value that is read."""
    program = random_program(seed, 80)
    given = [k for k, step in enumerate(program.code) if step[0] not in ("const", "input")]
    reads = values_read(program.code, given)
    inputs = {a for k in given for a in reads[k] if program.code[a][0] == "input"}
    fetched = [a for values in residence(given, reads, 10_000) for a in values]
    assert sorted(fetched) == sorted(inputs)
    assert residence(given, reads, 0) == [reads[k] for k in given]
