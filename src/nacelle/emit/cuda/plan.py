"""How a program is laid out for a thread: its order, what stays in registers, what is put aside.

A multiprocessor has 65536 registers for all its threads: with 3 blocks of 128 threads each thread has 168,
with 2 it has 255. What does not fit the assembler would spill to local memory, which costs up to 80 % of the
speed. So values are put aside by choice: the one needed last makes room (Belady), is stored once to a slot
of the block's shared memory, and is loaded where it is needed again. Inputs lie in shared memory already and
need no store.

Division and root have slow paths that cut a straight-line program into blocks, and cost as much as twenty
products. In the *fast* form a quotient is a product with a reciprocal,

    a / b = a rcp(b),     √x = x rsqrt(x),     a / √x = a rsqrt(x),

rcp and rsqrt by the processor's estimate and one cubic step, each computed once for all quotients that share
the divisor. They are within two units in the last place of IEEE's, and NaN where IEEE gives 0 or an
infinity: at 0, infinities and subnormal numbers; but √0 = 0, since robots at rest have rates of length zero.
Sines and cosines are NaN beyond 105615 rad. The *ieee* form keeps division and root, and has no such bounds.

In both forms products that only sums use are fused into them (`nacelle.emit.jit.plan.fuse`).

Which values a thread holds in registers, and which are put aside, is chosen as in native code
(`nacelle.emit.jit.order`), but no value is in memory beforehand: inputs are read once, into registers.

To the orders of the native target (`nacelle.emit.jit.order`) one is added, *clusters*: always the small group
of operations next that leaves the fewest values alive, made eager: an operation that frees a register comes
as soon as its operands are there. The best is the one with the fewest loads and stores of values that the
registers do not hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from nacelle.emit.jit import order as native
from nacelle.emit.jit.plan import fuse
from nacelle.emit.schedule import Slots, assign_slots
from nacelle.errors import CompileError, did_you_mean
from nacelle.program.graph import depth_first
from nacelle.program.program import Instruction, Program

Code = tuple[Instruction | None, ...]
"""Instructions; None marks one that is not needed."""


def lower_program(program: Program, *, ieee: bool = False) -> tuple[Code, tuple[int, ...]]:
    """The operations of a program for the processor, and the one that makes each result.

    Args:
        program: what is lowered.
        ieee: whether quotients and roots stay as they are.
    """
    table = _InstructionTable()
    indices: list[int] = []
    for op, *arguments in program.code:
        if op in ("const", "input"):
            indices.append(table.node(op, *arguments))
            continue
        operands = [indices[k] for k in arguments]
        if op == "sqrt" and not ieee:
            indices.append(table.root(operands[0]))
        elif op == "div" and not ieee:
            indices.append(table.quotient(*operands))
        else:
            indices.append(table.node(op, *operands))
    results = tuple(indices[k] for k in program.results)
    fused = fuse(Program(program.name, program.inputs, program.outputs, tuple(table.code), results))
    return fused, results


class _InstructionTable:
    """Instructions as they are made; equal ones are one."""

    def __init__(self) -> None:
        self.code: list[Instruction] = []
        self._table: dict[Instruction, int] = {}
        # The radicand of every value that is a root.
        self._radicands: dict[int, int] = {}

    def node(self, *instruction: object) -> int:
        """The index of an instruction, new or old."""
        index = self._table.setdefault(instruction, len(self.code))
        if index == len(self.code):
            self.code.append(instruction)
        return index

    def root(self, x: int) -> int:
        """√x = x rsqrt(x), and 0 at 0."""
        value = self.node("root", x, self.node("rsqrt", x))
        self._radicands[value] = x
        return value

    def quotient(self, a: int, b: int) -> int:
        """A / b = a rcp(b), and a rsqrt(x) if b = √x."""
        radicand = self._radicands.get(b)
        inverse = self.node("rcp", b) if radicand is None else self.node("rsqrt", radicand)
        return inverse if self.code[a] == ("const", 1.0) else self.node("mul", a, inverse)


# ---- the order of operations for a thread with a hundred registers: candidates, and the best of them


# Operations of a cluster, and of a program up to which clusters are tried: they take seconds beyond.
_CLUSTER = 16
# Registers that the order of native code counts for its own use.
_SPARE_IN_ORDER = 2
_LONG = 4000


@dataclass(frozen=True)
class DataFlow:
    """Who needs what in a program.

    Attributes:
        program_order: the operations in the program's order.
        reads: for each the values that it reads, constants left out.
        needs: of these those that are operations.
        users: for every value the operations that read it.
    """

    program_order: list[int]
    reads: Mapping[int, tuple[int, ...]]
    needs: Mapping[int, tuple[int, ...]]
    users: Mapping[int, list[int]]


def data_flow(code: Code) -> DataFlow:
    """Who needs what among the operations of a program."""
    order = [k for k, step in enumerate(code) if step and step[0] not in ("const", "input")]
    reads = native.operands_read(code, order)
    operations = set(order)
    users: dict[int, list[int]] = {k: [] for k in order}
    for k in order:
        for a in reads[k]:
            users.setdefault(a, []).append(k)
    return DataFlow(order, reads, {k: tuple(a for a in reads[k] if a in operations) for k in order}, users)


def best_order(code: Code, results: Sequence[int], registers: int) -> list[int]:
    """List the operations so that few loads and stores are needed with `registers` values in registers."""
    flow = data_flow(code)
    orders = [native.fewest_moves_order(code, results, registers + _SPARE_IN_ORDER)]
    if len(flow.program_order) <= _LONG:
        orders.append(native.eager_order(_Clusters(flow).order(), flow.needs, flow.users))
    return min(orders, key=lambda order: spill_moves(order, flow, results, registers))


def spill_moves(order: Sequence[int], flow: DataFlow, results: Iterable[int], registers: int) -> int:
    """Loads and stores of an order, those of inputs and results left out that every order has."""
    kept = {a for a in flow.users if a not in flow.needs} | set(results)
    return native.count_moves(order, flow.reads, kept, registers)


class _Clusters:
    """Always next the operation, with all that it needs, that leaves the fewest values alive.

    Of those that can be made next: for each operation that needs few others the values it leaves alive.
    """

    def __init__(self, flow: DataFlow) -> None:
        self.flow = flow
        self.done: dict[int, None] = {}
        self.left = {a: len(users) for a, users in flow.users.items()}
        self.figures: dict[int, tuple[int, int]] = {}

    def order(self) -> list[int]:
        """Make clusters until nothing is left."""
        limit = _CLUSTER
        self._update_costs(self.flow.program_order, limit)
        while len(self.done) < len(self.flow.program_order):
            if not self.figures:
                limit *= 2
                self._update_costs([k for k in self.flow.program_order if k not in self.done], limit)
                continue
            best = min(self.figures, key=lambda k: (self.figures[k], k))
            touched: dict[int, None] = {}
            for k in depth_first([best], self._missing_operands):
                self.done[k] = None
                self.figures.pop(k, None)
                for a in self.flow.reads[k]:
                    self.left[a] -= 1
                    touched.update(dict.fromkeys(self.flow.users[a]))
                touched.update(dict.fromkeys(self.flow.users[k]))
            self._update_costs([k for k in touched if k not in self.done], limit)
        return list(self.done)

    def _missing_operands(self, k: int) -> list[int]:
        """The operations that one needs and that are not made, the last of the program first."""
        return sorted((a for a in self.flow.needs[k] if a not in self.done), reverse=True)

    def _update_costs(self, changed: Sequence[int], limit: int) -> None:
        """Weigh operations anew, and those above them as far as a cluster reaches."""
        queue, seen = list(changed), set(changed)
        while queue:
            k = queue.pop()
            cluster = self._cluster_of(k, limit)
            if cluster is None:
                self.figures.pop(k, None)
                continue
            self.figures[k] = (self._live_change(cluster), len(cluster))
            above = [user for user in self.flow.users[k] if user not in seen]
            seen.update(above)
            queue += above

    def _cluster_of(self, root: int, limit: int) -> list[int] | None:
        """What has to be made for an operation, itself included; None if that is too much."""
        cluster, members = [root], {root}
        for k in cluster:
            for a in self.flow.needs[k]:
                if a not in self.done and a not in members:
                    if len(cluster) == limit:
                        return None
                    members.add(a)
                    cluster.append(a)
        return cluster

    def _live_change(self, cluster: Sequence[int]) -> int:
        """By how much the number of values alive changes if a cluster is made; inputs are alive at first."""
        used: dict[int, int] = {}
        for k in cluster:
            for a in self.flow.reads[k]:
                used[a] = used.get(a, 0) + 1
        new = sum(self.left[k] > used.get(k, 0) for k in cluster)
        members = set(cluster)
        return new - sum(self.left[a] == count for a, count in used.items() if a not in members)


# ---- how a program is laid out for a thread: its order, what stays in registers, what is put aside


THREADS = 128
"""Threads of a block."""

REGISTERS = {1: 255, 2: 255, 3: 168, 4: 128}
"""Registers of a thread, by the number of blocks on a multiprocessor."""

# Registers for addresses, predicates, and what is just being made.
_SPARE = {"double": 26, "float": 22}

# Loads and stores of values put aside, over the operations, up to which more blocks and states pay: on an
# H200 they cost double more than the third block brings, float gains by two states a thread.
_FEW = {"double": 0.03, "float": 0.1}


PRECISIONS = ("double", "float")


@dataclass(frozen=True)
class CudaOptions:
    """How CUDA is written.

    Attributes:
        real: type of all numbers, "double" or "float". Default "double".
        ieee: whether quotients, roots and sines are IEEE's at their bounds too; else quotients and roots by
            estimate and Newton's step, NaN where IEEE gives infinities, twice as fast. Default False.
        states: of a thread; 0: two in float where registers allow, else one. Default 0.
        blocks: on a multiprocessor; 0: by the estimate of the registers. Default 0.
        name: prefix of all names; the program's if empty. Default empty.

    Raises:
        CompileError: if there is no such type.
    """

    real: Literal["double", "float"] = "double"
    ieee: bool = False
    states: int = 0
    blocks: int = 0
    name: str = ""

    def __post_init__(self) -> None:
        """Check."""
        if self.real not in PRECISIONS:
            raise CompileError(f"no precision is called {self.real!r}; {did_you_mean(self.real, PRECISIONS)}")

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
        transfers: loads and stores of values put aside.
    """

    code: Code
    results: tuple[int, ...]
    order: tuple[int, ...]
    fetched: tuple[tuple[int, ...], ...]
    slots: Slots
    states: int
    blocks: int
    transfers: int

    @property
    def registers(self) -> int:
        """Registers that a thread may have."""
        return REGISTERS[self.blocks]


def register_capacity(options: CudaOptions, states: int, blocks: int) -> int:
    """How many values of a state the registers of a thread hold."""
    registers_per_value = 2 if options.real == "double" else states
    return (REGISTERS[blocks] - _SPARE[options.real]) // registers_per_value


def plan_program(
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
    code, results = lower_program(program, ieee=options.ieee)
    chosen = states or options.states
    few = _FEW[options.real] * sum(step is not None for step in code)
    plans = (
        _make_plan(code, results, register_capacity(options, n, blocks), n, blocks)
        for n in ((chosen,) if chosen else (2, 1) if options.real == "float" else (1,))
        for blocks in ((options.blocks,) if options.blocks else (3, 2))
    )
    plan = None
    for plan in plans:
        if (plan.transfers <= few or options.blocks) and fits(plan):
            return plan
    assert plan is not None
    if fits(plan):
        return plan
    return _make_plan(code, results, len(code), plan.states, plan.blocks)


def _make_plan(code: Code, results: Sequence[int], held: int, states: int, blocks: int) -> ThreadPlan:
    order = best_order(code, results, held)
    flow = data_flow(code)
    fetched = native.register_loads(order, flow.reads, held)
    index_of = {k: position for position, k in enumerate(order)}
    deaths: dict[int, int] = {}
    for position, values in enumerate(fetched):
        for a in values:
            if a in index_of:
                deaths[a] = position
    births = sorted((index_of[a], a) for a in deaths)
    spills = spill_moves(order, flow, (), held) - sum(a not in index_of for values in fetched for a in values)
    return ThreadPlan(
        code,
        tuple(results),
        tuple(order),
        tuple(fetched),
        assign_slots(births, deaths),
        states,
        blocks,
        spills,
    )
