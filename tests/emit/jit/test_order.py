"""Orders of operations for a few registers: valid, and with no more moves than the program's own."""

from __future__ import annotations

import pytest

from nacelle.emit.jit.order import order, values_read
from nacelle.emit.jit.residence import moves
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
    inputs = {k for k, step in enumerate(program.code) if step[0] == "input"}
    count = moves(found, reads, inputs, program.results, registers)
    assert count <= moves(given, reads, inputs, program.results, registers)
