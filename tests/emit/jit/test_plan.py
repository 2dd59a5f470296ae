"""The layout of programs for native code: fusing, order, cuts and places."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.emit.jit.plan import fuse, plan
from nacelle.emit.jit.signs import operands
from nacelle.emit.jit.style import Style
from nacelle.program.program import Program, Variable
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
    # Of a difference of two products the second.
    code = fuse(made([*INPUTS, ("mul", 0, 1), ("mul", 2, 3), ("sub", 4, 5)], (6,)))
    assert code[6] == ("fnma", 2, 3, 4)


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


@pytest.mark.parametrize("chunk", [7, 50, 10_000])
@pytest.mark.parametrize("neon", [False, True])
def test_every_value_is_placed_before_it_is_loaded(chunk: int, neon: bool) -> None:
    program = random_program(4, 400)
    style = Style(accumulates=neon, registers=14, window=20, table=neon, chunk=chunk, whole=5 * chunk)
    layout = plan(program, style)
    # Where each result is computed: it may be kept as the negation of what the program says.
    made = {place: k for part in layout.chunks for k, places in part.stores.items() for place in places}
    memory: dict[int, int] = {k: k for k in range(layout.inputs)}
    for part in layout.chunks:
        known = set()
        for k, fetched in zip(part.operations, part.fetched, strict=True):
            for a in operands(layout.code[k] or ()):
                step = layout.code[a]
                assert step is not None
                if step[0] == "const":
                    assert (a in layout.constants) == neon
                elif a in fetched:
                    assert memory[layout.home[a]] == (step[1] if step[0] == "input" else a)
                else:
                    assert a in known
                known.add(a)
            assert part.anew.get(k, fetched[-1:]) in (*fetched, fetched[-1:])
            known.add(k)
            memory |= dict.fromkeys(part.stores.get(k, ()), k)
    for position in range(len(program.results)):
        place = layout.result + position
        assert layout.code[made[place]] is not None
        assert memory.get(place, made[place]) == made[place]
    sizes = [len(part.operations) for part in layout.chunks]
    assert max(sizes) <= max(1.6 * chunk, 20) or len(sizes) == 1
    assert (len(sizes) == 1) == (layout.operations <= 5 * chunk)
    assert np.sum(sizes) == layout.operations
