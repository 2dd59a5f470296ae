"""What the drivers on the device share: a thread is one sample, its vectors are columns of shared memory.

The registers are all the body's; vectors that a loop keeps between evaluations are entries of columns, one
entry a thread. Numbers of a sample that have no room there lie in scratch columns of global memory, which the
cache holds: those that are read most often get room in shared memory first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from nacelle.emit.cuda.body import ValuePlaces, statements
from nacelle.emit.cuda.kernel import SHARED_PER_BLOCK, SHARED_PER_SM
from nacelle.emit.cuda.plan import THREADS, CudaOptions, ThreadPlan, planned
from nacelle.emit.names import entry_name
from nacelle.program.program import Program


@dataclass(frozen=True)
class DriverKernel:
    """A driver as text, and what its launch needs.

    Attributes:
        text: the source, without the header.
        kernel: name of the kernel.
        blocks: on a multiprocessor.
        shared_bytes: of a block's shared memory.
        scratch: numbers of a thread in global memory.
    """

    text: str
    kernel: str
    blocks: int
    shared_bytes: int
    scratch: int


class ScratchColumns:
    """Columns of memory, and how a program's values are reached from them."""

    def __init__(self, options: CudaOptions, blocks: int, common: int = 0) -> None:
        """Begin with so many numbers that all samples share."""
        self.options, self.blocks = options, blocks
        self.common = -(-common * options.bytes // 128) * 128
        self.count = self.scratch = 0

    @property
    def column(self) -> int:
        """Bytes of a column."""
        return THREADS * self.options.bytes

    @property
    def room(self) -> int:
        """Columns of shared memory that can still be taken."""
        whole = SHARED_PER_SM // self.blocks - SHARED_PER_BLOCK - self.common
        return whole // self.column - self.count

    @property
    def bytes(self) -> int:
        """Of shared memory."""
        return self.common + self.count * self.column

    def take(self, size: int) -> int:
        """Take columns of shared memory; the offset of the first in bytes."""
        first = self.count * self.column
        self.count += size
        return first

    def at(self, first: int, entry: int) -> str:
        """The address of an entry of a vector that was taken."""
        return f"own + {first + entry * self.column}"

    def walk(self, first: int) -> str:
        """The address of entry j of a vector, in a loop over j."""
        return f"own + {first} + j * {self.column}"

    def begin(self, shared: str = "", size: int = 0) -> list[str]:
        """The first lines of a kernel: addresses, and numbers that all samples share."""
        lines = [
            "    const nc_address common = nc_shared(memory);",
            f"    const nc_address own = common + {self.common} + lane * {self.options.bytes};",
            f"    {self.options.real} *const aside =",
            f"        scratch + blockIdx.x * {self.scratch * THREADS}ull + lane;",
            "    (void)aside;",
        ]
        if size:
            lines += [
                f"    for (unsigned j = lane; j < {size}; j += {THREADS}) {{",
                f"        nc_keep(common + j * {self.options.bytes}, {shared}[j]);",
                "    }",
                "    __syncthreads();",
            ]
        return lines


class SampleNumbers:
    """Numbers of a sample: some in shared memory, the others in scratch columns.

    Args:
        frame: the columns.
        sources: for each number the text of the place in global memory that it comes from.
        reads: how often each is read.
    """

    def __init__(self, frame: ScratchColumns, sources: Sequence[str], reads: Sequence[int]) -> None:
        self.frame, self.sources = frame, sources
        chosen = sorted(range(len(sources)), key=lambda k: (-reads[k], k))[: max(frame.room, 0)]
        first = frame.take(len(chosen))
        self._places: dict[int, str] = {k: frame.at(first, place) for place, k in enumerate(sorted(chosen))}
        self._rows: dict[int, int] = {}
        for k in range(len(sources)):
            if k not in self._places:
                self._rows[k] = frame.scratch
                frame.scratch += 1

    def fill(self) -> list[str]:
        """The statements that bring the numbers of sample i."""
        return [
            f"        nc_keep({self._places[k]}, {source});"
            if k in self._places
            else f"        aside[{self._rows[k] * THREADS}] = {source};"
            for k, source in enumerate(self.sources)
        ]

    def load(self, k: int) -> str:
        """The statement that loads a number, with {} for its name."""
        if k in self._places:
            return f"nc_load({self._places[k]}, {{}});"
        return f"nc_fetch(aside + {self._rows[k] * THREADS}, {{}});"


def driver_plan(program: Program, options: CudaOptions, columns: int) -> ThreadPlan:
    """Lay out a program beside so many columns of a driver's own."""

    def fits(plan: ThreadPlan) -> bool:
        return ScratchColumns(options, plan.blocks).room >= columns + plan.slots.count

    return planned(program, options, states=1, fits=fits)


def reads_of(plan: ThreadPlan, begin: int, size: int) -> list[int]:
    """How often a program loads each entry of an input that begins at a place."""
    counts: Counter[int] = Counter()
    for values in plan.fetched:
        for k in values:
            step = plan.code[k]
            if step and step[0] == "input":
                counts[step[1] - begin] += 1
    return [counts[j] for j in range(size)]


def body_lines(
    plan: ThreadPlan,
    program: Program,
    frame: ScratchColumns,
    slots: int,
    sources: tuple[Callable[[int], str], ...],
    put: Callable[[int, str], str],
) -> list[str]:
    """The statements of a program in a driver.

    Args:
        plan: its layout.
        program: the program.
        frame: the columns.
        slots: offset of the slots of values put aside.
        sources: for each input the text that loads an entry, with `{}` for the name of the value.
        put: the statement that keeps an entry of the results.
    """
    flat = [(v, j) for v, variable in enumerate(program.inputs) for j in range(variable.size)]

    def load(place: int, names: list[str]) -> str:
        v, j = flat[place]
        return sources[v](j).replace("{}", names[0])

    places = ValuePlaces(load, lambda place, texts: put(place, texts[0]), lambda slot: frame.at(slots, slot))
    return statements(plan, frame.options.real, places)


def head(name: str, arguments: list[str], blocks: int) -> list[str]:
    """The begin of a kernel of a driver."""
    joint = ",\n    "
    return [
        f'extern "C" __global__ void __launch_bounds__({THREADS}, {blocks})',
        f"{name}(\n    {joint.join(arguments)})",
        "{",
        "    extern __shared__ __align__(128) unsigned char memory[];",
        "    const unsigned lane = threadIdx.x;",
    ]


def sample_loop() -> str:
    """The loop over the samples of a thread."""
    first = f"blockIdx.x * {THREADS}ull + lane"
    return f"    for (unsigned long long i = {first}; i < n; i += gridDim.x * {THREADS}ull) {{"


def driver_name(program: Program, options: CudaOptions, kind: str) -> str:
    """The name of a driver's kernel."""
    return f"{entry_name(options.name or program.name)}_{kind}_kernel"
