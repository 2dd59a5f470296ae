"""How a program is laid out for a thread: its order, what stays in registers, what is put aside.

A multiprocessor has 65536 registers for all its threads: with 3 blocks of 128 threads each thread has 168,
with 2 it has 255. What does not fit the assembler would spill to local memory, which costs up to 80 % of the
speed. So values are put aside by choice: the one needed last makes room (Belady), is stored once to a slot
of the block's shared memory, and is loaded where it is needed again. Inputs lie in shared memory already and
need no store.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from nacelle.emit.cuda.lower import Code, lowered
from nacelle.emit.cuda.order import flow_of, ordered, set_aside
from nacelle.emit.cuda.residence import residence
from nacelle.emit.schedule import Slots, assign_slots
from nacelle.program.program import Program

THREADS = 128
"""Threads of a block."""

REGISTERS = {1: 255, 2: 255, 3: 168, 4: 128}
"""Registers of a thread if so many blocks are on a multiprocessor."""

# Registers for addresses, predicates, and what is just being made.
_SPARE = {"double": 26, "float": 22}

# Loads and stores of values put aside, over the operations, up to which more blocks and states pay: on an
# H200 they cost double more than the third block brings, float gains by two states a thread.
_FEW = {"double": 0.03, "float": 0.1}


@dataclass(frozen=True)
class CudaOptions:
    """How CUDA is written.

    Attributes:
        real: type of all numbers.
        ieee: whether quotients and roots are IEEE's; else by estimate and Newton's step.
        states: of a thread; 0: two in float where registers allow, else one.
        blocks: on a multiprocessor; 0: by the estimate of the registers.
        name: prefix of all names; the program's if empty.
    """

    real: Literal["double", "float"] = "double"
    ieee: bool = False
    states: int = 0
    blocks: int = 0
    name: str = ""

    @property
    def bytes(self) -> int:
        """Of a number."""
        return 8 if self.real == "double" else 4


@dataclass(frozen=True)
class ThreadPlan:
    """The layout of a program for one thread.

    Attributes:
        code: the instructions; those not needed are None.
        results: the instruction that makes each result.
        order: the operations.
        fetched: for each of them, the values that are loaded for it.
        slots: places in shared memory of values that are put aside.
        states: that a thread computes at a time.
        blocks: on a multiprocessor.
        moved: loads and stores of values put aside.
    """

    code: Code
    results: tuple[int, ...]
    order: tuple[int, ...]
    fetched: tuple[tuple[int, ...], ...]
    slots: Slots
    states: int
    blocks: int
    moved: int

    @property
    def registers(self) -> int:
        """Registers that a thread may have."""
        return REGISTERS[self.blocks]


def values_held(options: CudaOptions, states: int, blocks: int) -> int:
    """How many values of a state the registers of a thread hold."""
    words = 2 if options.real == "double" else states
    return (REGISTERS[blocks] - _SPARE[options.real]) // words


def planned(
    program: Program,
    options: CudaOptions | None = None,
    *,
    states: int = 0,
    fits: Callable[[ThreadPlan], bool] = lambda plan: True,
) -> ThreadPlan:
    """Lay out a program: as many states and blocks as registers and shared memory allow.

    Args:
        program: what is laid out.
        options: how CUDA is written.
        states: of a thread, whatever the options say; 0: as they say.
        fits: whether a layout fits into shared memory. If none does nothing is put aside, and the assembler
            spills what it must: programs of many thousand operations.
    """
    options = options or CudaOptions()
    code, results = lowered(program, ieee=options.ieee)
    chosen = states or options.states
    few = _FEW[options.real] * sum(step is not None for step in code)
    plans = (
        _laid_out(code, results, values_held(options, n, blocks), n, blocks)
        for n in ((chosen,) if chosen else (2, 1) if options.real == "float" else (1,))
        for blocks in ((options.blocks,) if options.blocks else (3, 2))
    )
    plan = None
    for plan in plans:
        if (plan.moved <= few or options.blocks) and fits(plan):
            return plan
    assert plan is not None
    if fits(plan):
        return plan
    return _laid_out(code, results, len(code), plan.states, plan.blocks)


def _laid_out(code: Code, results: Sequence[int], held: int, states: int, blocks: int) -> ThreadPlan:
    order = ordered(code, results, held)
    flow = flow_of(code)
    fetched = residence(order, flow.reads, held)
    made = {k: place for place, k in enumerate(order)}
    deaths: dict[int, int] = {}
    for place, values in enumerate(fetched):
        for a in values:
            if a in made:
                deaths[a] = place
    births = sorted((made[a], a) for a in deaths)
    moved = set_aside(order, flow, (), held) - sum(a not in made for values in fetched for a in values)
    return ThreadPlan(
        code,
        tuple(results),
        tuple(order),
        tuple(fetched),
        assign_slots(births, deaths),
        states,
        blocks,
        moved,
    )
