"""The order for latency: it respects what operations need, stays in its window, and hides waits."""

from __future__ import annotations

import pytest

from nacelle.emit.jit.latency import latency_order
from nacelle.emit.jit.plan import fuse
from nacelle.program.program import Instruction
from support.random_programs import random_program


def needs_of(code: list[Instruction | None], listed: list[int]) -> dict[int, tuple[int, ...]]:
    made = set(listed)
    return {k: tuple(a for a in dict.fromkeys((code[k] or ())[1:]) if a in made) for k in listed}


@pytest.mark.parametrize("window", [1, 7, 64, 10_000])
@pytest.mark.parametrize("seed", range(6))
def test_needs_come_first_and_nothing_leaves_its_window(seed: int, window: int) -> None:
    code = list(fuse(random_program(seed, 250)))
    listed = [k for k, step in enumerate(code) if step and step[0] not in ("const", "input")]
    needs = needs_of(code, listed)
    found = latency_order(listed, code, needs, window, 8)
    assert sorted(found) == listed
    place = {k: position for position, k in enumerate(found)}
    assert all(place[a] < place[k] for k in listed for a in needs[k])
    if window == 1:
        assert found == listed
    done: set[int] = set()
    for k in found:
        front = next(position for position, other in enumerate(listed) if other not in done)
        assert listed.index(k) < front + window
        done.add(k)


def test_chains_run_beside_each_other() -> None:
    """Four chains of sums, listed one after the other, are begun in turn; the one with a quotient first."""
    code: list[Instruction | None] = [("input", 0)]
    chains = []
    for chain in range(4):
        start = len(code)
        code.append(("sqrt" if chain == 2 else "add", *([0] if chain == 2 else [0, 0])))
        code += [("add", start + step, 0) for step in range(5)]
        chains.append(list(range(start, start + 6)))
    listed = [k for chain in chains for k in chain]
    found = latency_order(listed, code, needs_of(code, listed), 24, 16)
    assert found[0] == chains[2][0]
    assert [next(n for n, chain in enumerate(chains) if k in chain) for k in found[1:7]] == [0, 1, 3] * 2


def test_while_many_values_are_alive_the_order_is_that_with_few() -> None:
    """Products with one use each: begun all before the first use they would be alive all at once."""
    code: list[Instruction | None] = [("input", 0)]
    for _ in range(30):
        code += [("mul", 0, 0), ("add", len(code), 0)]
    listed = list(range(1, len(code)))
    needs = needs_of(code, listed)
    most = {}
    for registers in (4, 1000):
        alive, most[registers] = 0, 0
        uses = {k: sum(k in needs[user] for user in listed) for k in listed}
        for k in latency_order(listed, code, needs, 1000, registers):
            for a in needs[k]:
                uses[a] -= 1
                alive -= not uses[a]
            alive += uses[k] > 0
            most[registers] = max(most[registers], alive)
    assert most[4] <= 8 < most[1000] == 30
