"""The implicit Runge-Kutta method in native code: `nacelle.emit.irk5_steps` in LLVM, one motion at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nacelle.emit.irk5 import ImplicitIntegrator, Irk5Result
from nacelle.emit.irk5_steps import (
    CONTROL,
    COUNTERS,
    DERIVATIVE,
    MATRICES,
    PIVOTS,
    REPORTED_COUNTS,
    RUN_PARAMETERS,
    VECTORS,
    ImplicitSteps,
    StepSizes,
    StepTarget,
)
from nacelle.emit.jit.instructions import evaluation_functions, tile_stride
from nacelle.emit.jit.loops import PARAMETER_TYPES, Lines
from nacelle.emit.jit.plan import NativePlan
from nacelle.emit.jit.target import (
    DEFAULT,
    JitOptions,
    Library,
    address,
    aligned_memory,
    compile_text,
    info_constant,
    make_plan,
    module_source,
    row_stride,
    vector_width,
)
from nacelle.emit.loop_writer import ArrayWriter, Index
from nacelle.emit.lu import Parameters, column_stride
from nacelle.emit.newton import CONVERGED, ITERATION_CAP
from nacelle.emit.rk4 import IntegrationTask, integration_sizes
from nacelle.program.program import Program

_ARRAYS = ("counters", *PIVOTS, *VECTORS)
_MEMORY = [("array", "tile"), ("array", "work")]


def _parameter_list(parameters: Parameters) -> str:
    return ", ".join(f"{PARAMETER_TYPES[kind]} %{name}" for kind, name in parameters)


# Arrays that a run is given and gives, and its memory.
_RUN = [*(("array", name) for name in ("x0", "u", "p", "stored", "counts")), *RUN_PARAMETERS, _MEMORY[0]]
_PARAMETERS = _parameter_list(_RUN)


class StageLayout(NamedTuple):
    """What is where in the memory of a run, behind the tile and a control's tile; in doubles.

    Every array is preceded and followed by numbers that are not used, of a vector at least.
    """

    n: int
    m: int
    width: int

    @property
    def _vector(self) -> int:
        return column_stride(max(self.n, 3 * self.m, len(COUNTERS)), self.width) + self.width

    def vector(self, name: str) -> int:
        """Where an array of n numbers begins, or the inputs at the stages, (3, m)."""
        return self.width + self._vector * _ARRAYS.index(name)

    def matrix(self, name: str) -> int:
        """Where a matrix begins."""
        each = self.n * column_stride(self.n, self.width) + 2 * self.width
        return self.vector(_ARRAYS[-1]) + self._vector + self.width + each * MATRICES.index(name)

    @property
    def size(self) -> int:
        """All of it."""
        return self.matrix(MATRICES[-1]) + self.n * column_stride(self.n, self.width) + 2 * self.width


class NativeSteps(StepTarget):
    """Functions of LLVM.

    Args:
        plans: layouts of the derivative program and of the control, if there is one, by `irk5_steps`' names.
        sizes: numbers of states, inputs and parameters.
        width: lanes of a vector.
        fma: whether products are fused with sums.
    """

    def __init__(self, plans: dict[str, NativePlan], sizes: StepSizes, width: int, fma: bool) -> None:
        self.plans, self.width, self.fma = plans, width, fma
        self.layout = StageLayout(sizes.n, sizes.m, width)
        self.texts: list[str] = []
        ImplicitSteps(self, sizes).write()

    def function(self, name: str, parameters: Parameters, *, memory: bool, result: bool) -> Lines:
        """Begin a function."""
        kind = "i64" if result else "void"
        if name == "run":
            c = Lines(self.width, self.fma, f"define {kind} @nacelle_irk5({_PARAMETERS})")
            behind = tile_stride(self.plans[DERIVATIVE], self.width)
            for program, plan in [*self.plans.items()][1:]:
                c(f"%{program} = getelementptr i8, ptr %tile, i64 {behind}")
                behind += tile_stride(plan, self.width)
            c(f"%work = getelementptr i8, ptr %tile, i64 {behind}")
            return c
        declared = _parameter_list([*(_MEMORY if memory else []), *parameters])
        prefix = "irk5_" if memory else ""
        return Lines(self.width, self.fma, f"define internal {kind} @{prefix}{name}({declared}) noinline")

    def end(self, c: ArrayWriter, result: int | None) -> None:
        """End a function."""
        assert isinstance(c, Lines)
        self.texts.append(c.text("void" if result is None else f"i64 {result}"))

    def call(
        self, c: ArrayWriter, name: str, arguments: Sequence[tuple[str, str]], *, memory: bool, result: bool
    ) -> str:
        """Call a function."""
        if not memory:
            return c.call(name, *arguments, result=result)
        common = [(kind, f"%{array}") for kind, array in _MEMORY]
        return c.call(f"irk5_{name}", *common, *arguments, result=result)

    def array(self, c: ArrayWriter, name: str) -> str:
        """The address of an array of the block."""
        return c.address("%work", self.layout.matrix(name) if name in MATRICES else self.layout.vector(name))

    def counter(self, c: ArrayWriter, name: str) -> str:
        """An integer that lives through the steps."""
        return c.load(self.array(c, "counters"), COUNTERS.index(name), "whole")

    def set_counter(self, c: ArrayWriter, name: str, value: Index) -> None:
        """Change one of them."""
        c.store(value, self.array(c, "counters"), COUNTERS.index(name), "whole")

    def _tile_address(self, c: ArrayWriter, program: str, index: Index) -> str:
        tile = "%tile" if program == DERIVATIVE else f"%{program}"
        return c.address(tile, c.whole("*", index, self.width))

    def fill(self, c: ArrayWriter, program: str, index: Index, vector: str) -> None:
        """Store a vector into a tile."""
        assert isinstance(c, Lines)
        address = self._tile_address(c, program, index)
        c(f"store {c.type} {vector}, ptr {address}, align {8 * self.width}")

    def shift(self, c: ArrayWriter, program: str, index: Index, lane: int, value: str) -> None:
        """Store a number into a lane of a tile."""
        c.store(value, self._tile_address(c, program, index), lane)

    def result(self, c: ArrayWriter, program: str, index: Index) -> str:
        """Load a vector of results."""
        assert isinstance(c, Lines)
        address = self._tile_address(c, program, c.whole("+", index, self.plans[program].result))
        return c.value(f"load {c.type}, ptr {address}, align {8 * self.width}")

    def evaluate(self, c: ArrayWriter, program: str) -> None:
        """Evaluate a program."""
        tile, prefix = ("%tile", "v_") if program == DERIVATIVE else (f"%{program}", "c_")
        c.call(f"{prefix}tiles", ("array", tile), ("whole", "1"))

    def load_input(self, c: ArrayWriter, name: str, index: Index) -> str:
        """An entry of an array that the run is given."""
        return c.load(f"%{name}", index)

    def keep(self, c: ArrayWriter, index: Index, value: str) -> None:
        """Store an entry of the states."""
        c.store(value, "%stored", index)

    def report(self, c: ArrayWriter, values: Sequence[Index]) -> None:
        """Store the counts."""
        for index, value in enumerate(values):
            c.store(value, "%counts", index, "whole")


class Irk5(ImplicitIntegrator):
    """The implicit steps in native code, from what `compile_irk5` has made of the programs."""

    def __init__(self, image: bytes, program: Program, control: Program | None = None) -> None:
        super().__init__(program, control)
        self._library = Library(image, ("nacelle_info", "nacelle_irk5"))
        (self._bytes,) = self._library.numbers("nacelle_info", 1)
        self._entry = self._library.function("nacelle_irk5", _PARAMETERS)

    def _integrate(self, task: IntegrationTask, h: float, stored: NDArray[np.float64]) -> Irk5Result:
        m = self.sizes.m
        u_step, u_stage = (3 * m, m) if task.staged else (row_stride(task.u), 0)
        counts, tile = np.zeros(len(REPORTED_COUNTS), dtype=np.int64), aligned_memory(self._bytes)
        self._entry(
            *(address(task.x0), address(task.u), address(task.p), address(stored), address(counts)),
            *(u_step, u_stage, h, task.steps, task.every, task.held, address(tile)),
        )
        steps, failed, evaluations, jacobians = counts.tolist()
        status = ITERATION_CAP if failed else CONVERGED
        return Irk5Result(stored, steps, status, evaluations, jacobians)


def compile_irk5(program: Program, options: JitOptions = DEFAULT, control: Program | None = None) -> bytes:
    """Compile the implicit method around a derivative program, as bytes that `Irk5` takes."""
    program.check()
    nw = integration_sizes(program, control).m
    n, m, k = (variable.size for variable in program.inputs)
    machine = options.target_machine()
    fma = machine.fma if options.fma is None else options.fma
    width, plans = vector_width(options), {DERIVATIVE: make_plan(program, options)}
    parts, row = [evaluation_functions(plans[DERIVATIVE], width, "v_")], None
    if control is not None:
        control.check()
        row, plans[CONTROL] = nw, make_plan(control, options)
        parts.append(evaluation_functions(plans[CONTROL], width, "c_"))
    steps = NativeSteps(plans, StepSizes(n, m, k, row), width, fma)
    tile = sum(tile_stride(plan, width) for plan in plans.values())
    parts = [info_constant([tile + 8 * steps.layout.size]), *parts, *steps.texts]
    return compile_text(module_source(parts, options), options)
