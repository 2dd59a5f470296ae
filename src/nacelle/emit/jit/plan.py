"""How a straight-line program is laid out for native code: fused, ordered, cut, and placed in memory.

The plan is made once for a program and then written out for any vector width:

1. *fuse*: a product whose every use is a sum becomes part of fused multiply-adds (one rounding less);
2. *sign*: on some machines values are kept as v or -v, so that no negations are needed (`signs`);
3. *order*: the operations are listed so that few values are alive at a time (`order`), and then so that
   operands are ready when they are needed (`order`);
4. *cut*: the list is cut into chunks, each a function of its own, because the time that a compiler
   takes grows faster than the length of a function;
5. *hold*: values stay in registers as long as there are any (`order`), none beyond the end of a chunk;
6. *place*: a value that is needed again after it made room is given a slot of the tile, the block of memory
   that holds one evaluation: the inputs, the slots, the results.

Compilers allocate registers too, but not knowing that a value is in the tile they store it again on
the stack before they load it: explicit loads save those stores.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nacelle.emit.jit.order import Memory, fewest_moves_order, latency_order, operands_read, register_loads
from nacelle.emit.jit.signs import operands, without_negations
from nacelle.emit.schedule import assign_slots
from nacelle.program.program import Instruction, Program

if TYPE_CHECKING:
    from nacelle.emit.machine import Machine


@dataclass(frozen=True)
class Style:
    """Choices for a family of machines.

    Attributes:
        fma: fuse products with sums.
        accumulates: fused operations are c + a * b and c - a * b, into the register of c (NEON): signs are
            chosen so that no negation is needed.
        registers: how many values are held in registers; the machine has some more, which hold what is just
            being made.
        window: among how many operations of the order with few values the next one is chosen; 0 keeps it.
        table: constants come from a table in memory and are held in registers as other values are. Where
            they are not, they are operands of instructions, which repeat one number over the lanes.
        chunk: about how many operations one function has.
        whole: number of operations up to which a program is not cut.
        tiles: how many vectors of samples go through one function of a cut program before the next.
        centred: offsets from a pointer are short to both sides (x86); else to one.
    """

    fma: bool = True
    accumulates: bool = False
    registers: int = 28
    window: int = 0
    table: bool = False
    chunk: int = 300
    whole: int = 1500
    tiles: int = 1
    centred: bool = True


def machine_style(machine: Machine) -> Style:
    """Choose for a machine.

    On a Neoverse-N1 all of it was measured (`benchmarks/program.py`); for x86, what LLVM stores on the stack
    was counted in the code that it writes.
    """
    if not machine.is_x86:
        return Style(
            fma=machine.fma,
            accumulates=machine.accumulates,
            registers=28,
            window=256,
            table=True,
            chunk=2000,
            whole=4000,
            tiles=3,
            centred=False,
        )
    many = machine.registers == 32
    return Style(fma=machine.fma, registers=28 if many else 12, window=32 if many else 16, table=not many)


# ---- how a straight-line program is laid out for native code: fused, ordered, cut, and placed in memory


@dataclass(frozen=True)
class Chunk:
    """A part of the program that becomes one function.

    Attributes:
        operations: indices of the values that it makes, in order.
        fetched: for each of them, the values that are loaded from the tile for it.
        stores: for some of them, the indices in the tile where the value is kept.
    """

    operations: tuple[int, ...]
    fetched: tuple[tuple[int, ...], ...]
    stores: dict[int, tuple[int, ...]]


@dataclass(frozen=True)
class NativePlan:
    """The layout of a program for native code.

    Attributes:
        style: how it is laid out.
        code: the instructions; some are fused, and those no longer needed are None.
        chunks: the order of the operations, cut into functions.
        home: for every value that is loaded, its index in the tile.
        constants: for every constant that is loaded, its index in the table of constants.
        inputs: number of scalars that are read; they come first in the tile.
        slots: number of places for values in between, which come next.
        outputs: number of scalars that are made, which come last.
        operations: number of operations after fusing.
    """

    style: Style
    code: tuple[Instruction | None, ...]
    chunks: tuple[Chunk, ...]
    home: dict[int, int]
    constants: dict[int, int]
    inputs: int
    slots: int
    outputs: int
    operations: int

    @property
    def size(self) -> int:
        """Number of values in a tile."""
        return self.inputs + self.slots + self.outputs

    @property
    def result(self) -> int:
        """Index in the tile of the first result."""
        return self.inputs + self.slots


def plan(program: Program, style: Style) -> NativePlan:
    """Lay out a program."""
    code = fuse(program, enabled=style.fma)
    results: Sequence[int] = program.results
    if style.fma and style.accumulates:
        code, results = without_negations(code, results)
        code = _add_sign_operands(code)
    sequence = fewest_moves_order(code, results, style.registers)
    if style.window:
        done = set(sequence)
        needs = {k: tuple(a for a in read if a in done) for k, read in operands_read(code, sequence).items()}
        sequence = latency_order(sequence, code, needs, style.window, style.registers)
    cuts = _cut_positions(sequence, code, style)
    stored = {k for k, step in enumerate(code) if step and step[0] in ("input", "const")}
    reads = operands_read(code, sequence, constants=style.table)
    fetched = register_loads(sequence, reads, style.registers, Memory(stored, frozenset(cuts)))
    return _assign_memory(_OrderedProgram(code, results, sequence, cuts), fetched, style, program.input_size)


def _add_sign_operands(code: tuple[Instruction | None, ...]) -> tuple[Instruction | None, ...]:
    """Signs with 1 and 0 as further operands, which are then held or loaded as other constants are."""
    if not any(step and step[0] == "sign" for step in code):
        return code
    one, zero = len(code), len(code) + 1
    changed = (("sign", step[1], one, zero) if step and step[0] == "sign" else step for step in code)
    return (*changed, ("const", 1.0), ("const", 0.0))


def fuse(program: Program, *, enabled: bool = True) -> tuple[Instruction | None, ...]:
    """Drop what no result needs and fuse the products that only sums use.

    The fused operations on a, b, c are fma: a * b + c, fms: a * b - c, fnma: c - a * b. A product with
    several uses is fused if all of its uses are, so that it is never made on its own.
    """
    code: list[Instruction | None] = [None] * len(program.code)
    stack = list(program.results)
    while stack:
        k = stack.pop()
        if code[k] is None:
            code[k] = program.code[k]
            stack.extend(operands(program.code[k]))
    if not enabled:
        return tuple(code)

    users: dict[int, list[int]] = {k: [] for k, step in enumerate(code) if step and step[0] == "mul"}
    for k, step in enumerate(code):
        if step:
            for a in operands(step):
                if a in users:
                    users[a].append(k)
    for k in program.results:
        if k in users:
            users[k].append(-1)
    # Products with one use first: fusing those costs nothing, the others keep two operands alive longer. Of
    # a difference of two products the second is fused: every machine has c - a * b.
    alone = [product for product, sums in users.items() if len(sums) == 1]
    second = [product for product in alone if (code[users[product][0]] or ())[::2] == ("sub", product)]
    second_products = set(second)
    others = [product for product in alone if product not in second_products]
    for product in (*second, *others, *(product for product, sums in users.items() if len(sums) != 1)):
        sums = users[product]
        if all(_can_take(code, k, product) for k in sums):
            for k in sums:
                code[k] = _fused_instruction(code, k, product)
            code[product] = None
    return tuple(code)


def _can_take(code: Sequence[Instruction | None], k: int, product: int) -> bool:
    """Say whether the instruction `k` is a sum of this product and something else."""
    step = code[k] if k >= 0 else None
    return step is not None and step[0] in ("add", "sub") and (step[1] == product) != (step[2] == product)


def _fused_instruction(code: Sequence[Instruction | None], k: int, product: int) -> Instruction:
    step, factors = code[k], code[product]
    assert step is not None
    assert factors is not None
    _, a, b = factors
    if step[0] == "add":
        return ("fma", a, b, step[2] if step[1] == product else step[1])
    return ("fms", a, b, step[2]) if step[1] == product else ("fnma", a, b, step[1])


def _cut_positions(sequence: Sequence[int], code: Sequence[Instruction | None], style: Style) -> list[int]:
    """Say where to cut the list into parts of about a chunk: where the fewest values are alive."""
    if len(sequence) <= style.whole:
        return [0, len(sequence)] if sequence else [0]
    count = max(round(len(sequence) / style.chunk), 1)
    last: dict[int, int] = {}
    for position, k in enumerate(sequence):
        for a in operands(code[k] or ()):
            last[a] = position
    alive = [0] * (len(sequence) + 1)
    position_of = {k: position for position, k in enumerate(sequence)}
    for k, position in position_of.items():
        if k in last:
            alive[position + 1] += 1
            alive[last[k] + 1] -= 1
    for position in range(len(sequence)):
        alive[position + 1] += alive[position]
    length = len(sequence) / count
    cuts = [0]
    for i in range(1, count):
        middle, reach = i * length, length / 5
        near = range(max(cuts[-1] + 1, int(middle - reach)), int(middle + reach))
        # alive[p] values cross the cut before position p.
        cuts.append(min(near, key=lambda p: (alive[p], abs(p - middle))))
    cuts.append(len(sequence))
    return cuts


@dataclass(frozen=True)
class _OrderedProgram:
    """A program in order: its instructions, results, the operations and where they are cut."""

    code: tuple[Instruction | None, ...]
    results: Sequence[int]
    program_order: Sequence[int]
    cuts: Sequence[int]


def _assign_memory(
    program: _OrderedProgram, fetched: Sequence[tuple[int, ...]], style: Style, inputs: int
) -> NativePlan:
    """Give every value that is loaded an index in the tile, and write down the chunks."""
    code, sequence = program.code, program.program_order
    result_indices: dict[int, list[int]] = {}
    for index, k in enumerate(program.results):
        result_indices.setdefault(k, []).append(index)
    # Slots are used again when their value was loaded for the last time, so that the tile stays in the
    # nearest cache. A value that is also a result lives with the results.
    operations = set(sequence)
    dies: dict[int, int] = {}
    for position, values in enumerate(fetched):
        dies.update((a, position) for a in values if a in operations and a not in result_indices)
    births = [(position, k) for position, k in enumerate(sequence) if k in dies]
    slots = assign_slots(births, dies)

    result = inputs + slots.count
    home = {k: step[1] for k, step in enumerate(code) if step and step[0] == "input"}
    home |= {k: inputs + slot for k, slot in slots.slot.items()}
    home |= {k: result + indices[0] for k, indices in result_indices.items() if k in operations}
    stores: dict[int, tuple[int, ...]] = {k: (inputs + slot,) for k, slot in slots.slot.items()}
    stores |= {k: tuple(result + index for index in indices) for k, indices in result_indices.items()}
    loaded = {a for values in fetched for a in values}
    table = (k for k, step in enumerate(code) if step and step[0] == "const" and k in loaded)

    chunks = []
    for a, b in itertools.pairwise(program.cuts):
        part = tuple(sequence[a:b])
        chunks.append(Chunk(part, tuple(fetched[a:b]), {k: stores[k] for k in part if k in stores}))
    # Results that are inputs or constants belong to no chunk yet.
    plain = {k: stores[k] for k in result_indices if k not in operations}
    if plain:
        first = chunks[0] if chunks else Chunk((), (), {})
        chunks[:1] = [dataclasses.replace(first, stores=first.stores | plain)]
    return NativePlan(
        style,
        code,
        tuple(chunks),
        home,
        {k: index for index, k in enumerate(table)},
        inputs,
        slots.count,
        len(program.results),
        len(sequence),
    )
