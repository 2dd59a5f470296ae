"""The implicit Runge-Kutta method (Radau IIA, order five) on a CUDA device: one motion for each thread.

The steps are those of `nacelle.emit.irk5_steps`; this module says where their arrays are and writes the
kernel around them. An array of a motion lies in scratch columns of global memory. A column holds one number
for each thread of a block, so that entry j of an array is work[(first + j) * THREADS], with `work` at the
thread's own number of the first column. Integers are in the thread's local array `wholes`. A program is a
device function that is not inlined, as it is called from several places.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate

from nacelle.emit.c.implicit import StructSteps
from nacelle.emit.c.loops import Dialect, Statements
from nacelle.emit.c.parts import format_call
from nacelle.emit.cuda.drivers import (
    DriverKernel,
    ScratchColumns,
    body_lines,
    driver_name,
    driver_plan,
    kernel_head,
    sample_loop,
)
from nacelle.emit.cuda.plan import THREADS, CudaOptions
from nacelle.emit.cuda.target import Launch
from nacelle.emit.irk5_steps import CONTROL, COUNTERS, DERIVATIVE, PIVOTS, StepSizes
from nacelle.emit.loop_writer import ArrayWriter, Index
from nacelle.emit.rk4 import integration_sizes
from nacelle.program.program import Program

_WHOLE = "unsigned long long"
# Arrays that a run reads and writes, with their types. A run gets each from the motion's own sample on (u and
# p may be one for all), and after it NAME_ld, the distance of two entries of a sample, in numbers.
_INPUT_ARRAYS = {"x0": "const {real} *", "u": "const {real} *", "p": "const {real} *"}
_OUTPUT_ARRAYS = {"stored": "{real} *", "last": "{real} *", "counts": "long long *"}


class ColumnSteps(StructSteps):
    """The functions of a run on a device, with arrays in columns.

    Attributes:
        numbers: columns of a run.
        integers: entries of `wholes`.
    """

    head = "static __device__ __noinline__"

    def _prepare(self) -> None:
        real = self.dialect.real
        self._memory = {
            "work": f"{real} *work",
            "wholes": f"{_WHOLE} *wholes",
            "own": "const nc_address own",
        }
        # The first column of each array.
        *offsets, self.numbers = accumulate(self.arrays().values(), initial=0)
        self._offsets = dict(zip(self.arrays(), offsets, strict=True))
        self.integers = len(COUNTERS) + len(PIVOTS) * self.sizes.n

    def _run_head(self, parameters: list[str]) -> str:
        arrays = {**_INPUT_ARRAYS, **_OUTPUT_ARRAYS}.items()
        rows = [f"{kind.format(real=self.dialect.real)}{name}, {_WHOLE} {name}_ld" for name, kind in arrays]
        return format_call(
            f"{self.head} {_WHOLE} {self.name}_run", [*self._memory.values(), *rows, *parameters]
        )

    def _run_begin(self) -> list[str]:
        return ["every = every != 0 ? every : steps + 1;"]

    def array(self, c: ArrayWriter, name: str) -> str:
        """Name a pointer to an array: to its first column, or of pivots to their entries of `wholes`."""
        assert isinstance(c, Statements)
        identifier = c.names.unique(name)
        if name in PIVOTS:
            c(f"{_WHOLE} *const {identifier} = wholes + {len(COUNTERS) + PIVOTS.index(name) * self.sizes.n};")
        else:
            c(f"{self.dialect.real} *const {identifier} = work + {self._offsets[name] * THREADS};")
        return identifier

    def counter(self, c: ArrayWriter, name: str) -> str:
        """Read a counter: an integer that is kept from step to step (`COUNTERS`)."""
        return c.name_value(name, f"wholes[{COUNTERS.index(name)}]", "whole")

    def set_counter(self, c: ArrayWriter, name: str, value: Index) -> None:
        """Write a counter."""
        c.store(value, "wholes", COUNTERS.index(name), "whole")

    def tile(self, program: str) -> tuple[str, int]:
        """The array with a program's inputs and results, and the first of its columns."""
        return "work", self._offsets[program]

    def evaluate(self, c: ArrayWriter, program: str) -> None:
        """Evaluate a program."""
        c.call(self.programs[program], ("array", "work"), ("array", "own"))

    def load_input(self, c: ArrayWriter, name: str, index: Index) -> str:
        """An entry of x0, u or p."""
        return f"{name}[({index}) * {name}_ld]"

    def keep(self, c: ArrayWriter, index: Index, value: str) -> None:
        """Store a number in the stored states, at an index counted over all of them."""
        assert isinstance(c, Statements)
        c(f"stored[({index}) * stored_ld] = {value};")

    def report(self, c: ArrayWriter, values: Sequence[Index]) -> None:
        """Write the last state and the counts (`REPORTED_COUNTS`) of the motion."""
        assert isinstance(c, Statements)
        x = self.array(c, "x")
        with c.loop(0, self.sizes.n) as states:
            c(f"last[{states.index} * last_ld] = {c.load(x, states.index)};")
        c(*(f"counts[{index} * counts_ld] = (long long){value};" for index, value in enumerate(values)))

    def program(self, which: str, program: Program, options: CudaOptions, blocks: int) -> tuple[str, int]:
        """A program as a device function, and the bytes of a block's shared memory that it needs.

        Args:
            which: DERIVATIVE or CONTROL.
            program: the program.
            options: how CUDA is written.
            blocks: blocks on a multiprocessor, which share its memory.
        """
        plan, frame = driver_plan(program, options, 0), ScratchColumns(options, blocks)
        slots, begin = frame.take(plan.slots.count), self._offsets[which]
        *inputs, results = (begin + bound for bound in (0, *self.bounds(which)))

        def source(first: int) -> Callable[[int], str]:
            return lambda j: f"nc_fetch(work + {(first + j) * THREADS}, {{}});"

        lines = body_lines(
            plan,
            program,
            frame,
            slots,
            tuple(source(first) for first in inputs),
            lambda j, text: f"work[{(results + j) * THREADS}] = {text};",
        )
        memory = [self._memory["work"], self._memory["own"]]
        opening = format_call(f"{self.head} void {self.programs[which]}", memory)
        return "\n".join(
            [opening, "{", "    (void)own;", *(f"    {line}" for line in lines), "}", ""]
        ), frame.bytes


def irk5_kernel(
    program: Program, control: Program | None = None, options: CudaOptions | None = None
) -> DriverKernel:
    """Write the implicit method around a derivative program and, where there is one, a control program.

    Args:
        program: the derivative: inputs x, u and p, output dx.
        control: a control program, evaluated at the begin of every period: inputs x, w and p, output u.
        options: how CUDA is written; numbers are double.

    Raises:
        ValueError: if a program has other inputs or outputs, or numbers are not double: the method's
            difference steps and tolerances are those of double precision.
    """
    options = options or CudaOptions()
    if options.real != "double":
        raise ValueError("implicit steps need numbers of type double")
    form_sizes = integration_sizes(program, control)
    n, m, k = (variable.size for variable in program.inputs)
    kernel = driver_name(program, options, "irk5")
    prefix = kernel.removesuffix("_kernel")
    programs = {DERIVATIVE: program} | ({} if control is None else {CONTROL: control})
    dialect = Dialect(options.real, _WHOLE, device=True, stride=THREADS)
    step_sizes = StepSizes(n, m, k, None if control is None else form_sizes.m)
    steps = ColumnSteps(
        dialect, prefix, {which: f"{prefix}_{which}" for which in programs}, step_sizes, ("x0", "u", "p")
    )
    blocks = min(driver_plan(subprogram, options, 0).blocks for subprogram in programs.values())
    bodies = [steps.program(which, subprogram, options, blocks) for which, subprogram in programs.items()]
    frame = ScratchColumns(options, blocks)
    frame.scratch = steps.numbers
    arguments = [
        f"{kind.format(real=options.real)}{name}, const {_WHOLE} {name}_ld"
        for name, kind in {**_INPUT_ARRAYS, **_OUTPUT_ARRAYS}.items()
    ]
    arguments += [f"{options.real} *__restrict__ scratch, const int own_u, const int own_p"]
    scalars = ("u_step", "u_stage", "h", "steps", "every", "held", "n")
    arguments += [f"const {options.real if name == 'h' else _WHOLE} {name}" for name in scalars]
    passed = ["aside", "wholes", "own"]
    for name in (*_INPUT_ARRAYS, *_OUTPUT_ARRAYS):
        first = {"u": "u + (own_u ? i : 0)", "p": "p + (own_p ? i : 0)"}.get(name, f"{name} + i")
        passed += [first, f"{name}_ld"]
    lines = [
        *(text for text, _ in bodies),
        *steps.texts,
        *kernel_head(kernel, arguments, blocks),
        *frame.begin(),
        sample_loop(),
        f"        {_WHOLE} wholes[{steps.integers}];",
        f"        {format_call(f'(void){prefix}_run', [*passed, *scalars[:-1]], 8)};",
        "    }",
        "}",
    ]
    shared = max(size for _, size in bodies)
    return DriverKernel("\n".join(lines) + "\n", Launch(kernel, 1, blocks, shared, 0), frame.scratch)
