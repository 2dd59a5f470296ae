"""Drivers on the device, Newton and Runge-Kutta: a thread is one sample, its vectors shared columns.

The registers are all the body's; vectors that a loop keeps between evaluations are entries of columns, one
entry a thread. Numbers of a sample that have no room there lie in scratch columns of global memory, which the
cache holds: those that are read most often get room in shared memory first.

A thread solves a sample by the rules of `nacelle.emit.newton`, or integrates it from begin to end; its
columns are then the state, the argument of the derivative, its value and the sum of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from nacelle.emit.c.loops import ArrayVector, Dialect, Statements
from nacelle.emit.cuda.plan import THREADS, CudaOptions, ThreadPlan, plan_program
from nacelle.emit.cuda.target import SHARED_PER_BLOCK, SHARED_PER_SM, Launch, ValueAccess, program_statements
from nacelle.emit.loop_writer import Index
from nacelle.emit.names import Identifiers, entry_name
from nacelle.emit.newton import NewtonLoop, newton_sizes, write_newton
from nacelle.emit.rk4 import ControlLoop, Rk4Loop, integration_sizes, write_rk4
from nacelle.program.program import Program


@dataclass(frozen=True)
class DriverKernel:
    """A driver as text, and what its launch needs.

    Attributes:
        text: the source, without the header.
        launch: what the launch of its kernel needs.
        scratch: numbers of a thread in global memory.
    """

    text: str
    launch: Launch
    scratch: int


class ScratchColumns:
    """Columns of memory, and how a program's values are reached from them."""

    def __init__(self, options: CudaOptions, blocks: int, common: int = 0) -> None:
        """Begin with `common` numbers that all samples share."""
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

    def vector(self, code: Statements, first: int, entry: int = 0) -> ArrayVector:
        """A vector that was taken, from an entry on."""
        begin = first + entry * self.column
        return ArrayVector(code, lambda j: f"own + {begin} + {j} * {self.column}")

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
        self._addresses: dict[int, str] = {
            k: frame.at(first, index) for index, k in enumerate(sorted(chosen))
        }
        self._rows: dict[int, int] = {}
        for k in range(len(sources)):
            if k not in self._addresses:
                self._rows[k] = frame.scratch
                frame.scratch += 1

    def fill(self) -> list[str]:
        """The statements that bring the numbers of sample i."""
        return [
            f"nc_keep({self._addresses[k]}, {source});"
            if k in self._addresses
            else f"aside[{self._rows[k] * THREADS}] = {source};"
            for k, source in enumerate(self.sources)
        ]

    def load(self, k: int) -> str:
        """The statement that loads a number, with {} for its name."""
        if k in self._addresses:
            return f"nc_load({self._addresses[k]}, {{}});"
        return f"nc_fetch(aside + {self._rows[k] * THREADS}, {{}});"


def driver_plan(program: Program, options: CudaOptions, columns: int) -> ThreadPlan:
    """Lay out a program next to a number of columns of the driver's own."""

    def fits(plan: ThreadPlan) -> bool:
        return ScratchColumns(options, plan.blocks).room >= columns + plan.slots.count

    return plan_program(program, options, states=1, fits=fits)


def input_read_counts(plan: ThreadPlan, begin: int, size: int) -> list[int]:
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

    def load(index: int, names: list[str]) -> str:
        v, j = flat[index]
        return sources[v](j).replace("{}", names[0])

    access = ValueAccess(load, lambda index, texts: put(index, texts[0]), lambda slot: frame.at(slots, slot))
    return program_statements(plan, frame.options.real, access)


def kernel_head(name: str, arguments: list[str], blocks: int) -> list[str]:
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


# ---- newton's iteration on the device: a thread solves a sample, by the rules of `nacelle.emit.newton`


# Words that a kernel has for its arguments and addresses.
_NAMES = ("common", "own", "aside", "memory", "scratch", "lane", "i", "n", "p", "p_ld")
_NEWTON_NAMES = (
    *_NAMES,
    "y0",
    "y0_ld",
    "y",
    "y_ld",
    "iterations",
    "statuses",
    "tolerance",
    "cap",
    "weights",
    "polish",
)


def newton_kernel(
    program: Program, options: CudaOptions | None = None, *, per_sample: bool = True
) -> DriverKernel:
    """Write Newton's iteration around a step program of inputs y and p.

    Args:
        program: the step.
        options: how CUDA is written.
        per_sample: whether each sample has its own p.

    Raises:
        ValueError: if the program is of another form.
    """
    options = options or CudaOptions()
    n, k = newton_sizes(program)
    plan = driver_plan(program, options, 2 * n + 2)
    frame = ScratchColumns(options, plan.blocks, 0 if per_sample else k)
    y, dy, error = frame.take(n), frame.take(n), frame.take(1)
    slots = frame.take(plan.slots.count)
    sources = [f"p[{j} * p_ld + i]" for j in range(k)] if per_sample else []
    numbers = SampleNumbers(frame, sources, input_read_counts(plan, n, k))
    real = options.real

    def parameter(j: int) -> str:
        return numbers.load(j) if per_sample else f"nc_load(common + {j * options.bytes}, {{}});"

    body = body_lines(
        plan,
        program,
        frame,
        slots,
        (lambda j: f"nc_load({frame.at(y, j)}, {{}});", parameter),
        lambda j, text: f"nc_keep({frame.at(dy, j) if j < n else frame.at(error, 0)}, {text});",
    )
    name = driver_name(program, options, "newton")
    arguments = [
        f"const {real} *__restrict__ y0, const unsigned long long y0_ld",
        f"const {real} *__restrict__ p, const unsigned long long p_ld",
        f"{real} *__restrict__ y, const unsigned long long y_ld",
        "long long *__restrict__ iterations, long long *__restrict__ statuses",
        f"{real} *__restrict__ scratch",
        f"const {real} tolerance, const long long cap, const {real} *__restrict__ weights, const int polish",
        "const unsigned long long n",
    ]
    code = Statements(Dialect(real, "long long", real, device=True), Identifiers(_NEWTON_NAMES), 2)
    unknowns = frame.vector(code, y)
    code.each(n, lambda j: unknowns.put(j, f"y0[{j} * y0_ld + i]"))
    code(*numbers.fill())
    loop = NewtonLoop(
        n=n,
        y=unknowns,
        step=frame.vector(code, dy),
        error=frame.vector(code, error).get,
        weights=lambda j: f"(weights ? weights[{j}] : 0)",
        evaluate=lambda: code(*body),
        tolerance="tolerance",
        rounds="cap + 1",
        polish="polish",
    )
    status, steps = write_newton(code, loop)
    code.each(n, lambda j: code(f"y[{j} * y_ld + i] = {unknowns.get(j)};"))
    code(f"iterations[i] = {steps};", f"statuses[i] = {status};")
    lines = [
        *kernel_head(name, arguments, plan.blocks),
        *frame.begin("p", 0 if per_sample else k),
        sample_loop(),
        *code.lines,
        "    }",
        "}",
    ]
    launch = Launch(name, 1, plan.blocks, frame.bytes, plan.slots.count)
    return DriverKernel("\n".join(lines) + "\n", launch, frame.scratch)


# ---- the Runge-Kutta method with a fixed step on the device: a thread integrates a sample from begin to end


@dataclass(frozen=True)
class InputLayout:
    """How the inputs of a run are given.

    Attributes:
        u: "rows": (rows, m), the same for all samples; "own": (m, N), of each sample, held throughout.
        p: "shared": (k,); "own": (k, N).
    """

    u: str = "rows"
    p: str = "shared"


_RK4_NAMES = (
    *(*_NAMES, "x0", "x0_ld", "u", "u_ld", "last", "last_ld", "stored", "stored_ld", "completed", "h"),
    *("steps", "every", "held", "delay", "rows", "row", "begin", "staged", "stage"),
)


def rk4_kernel(
    program: Program,
    control: Program | None = None,
    options: CudaOptions | None = None,
    layout: InputLayout | None = None,
    *,
    sampled: bool = False,
) -> DriverKernel:
    """Write the Runge-Kutta method around a derivative program and, where there is one, a control program.

    Args:
        program: the derivative, of inputs x, u and p.
        control: what gives u at the begin of every period, of inputs x, w and p.
        options: how CUDA is written.
        layout: how inputs are given.
        sampled: whether the control has memory and a delay.

    Raises:
        ValueError: if a program is of another form.
    """
    options, layout = options or CudaOptions(), layout or InputLayout()
    form_sizes = integration_sizes(program, control, sampled=sampled)
    form, k = form_sizes.sampled, form_sizes.k
    n, m, _ = (variable.size for variable in program.inputs)
    control_outputs = 0 if form is None else form.u + form.z
    columns = form_sizes.n + 3 * n + (m if control is not None else 0) + control_outputs + 1
    plan = driver_plan(program, options, columns)
    law = None if control is None else driver_plan(control, options, columns)
    blocks = min(plan.blocks, law.blocks if law is not None else plan.blocks)
    frame = ScratchColumns(options, blocks, 0 if layout.p == "own" else k)
    x, s, slope, total = (frame.take(size) for size in (form_sizes.n, n, n, n))
    acting = frame.take(m if control is not None else 0)
    # What a sampled control gives waits until it acts.
    waiting = acting if form is None else frame.take(control_outputs)
    slots = frame.take(max(plan.slots.count, law.slots.count if law is not None else 0))
    reads = input_read_counts(plan, n + m, k) if layout.p == "own" else []
    sources = [f"p[{j} * p_ld + i]" for j in range(k)] if layout.p == "own" else []
    if layout.u == "own":
        reads += input_read_counts(plan, n, form_sizes.m)
        sources += [f"u[{j} * u_ld + i]" for j in range(form_sizes.m)]
    numbers = SampleNumbers(frame, sources, reads)
    real = options.real

    def parameter(j: int) -> str:
        return numbers.load(j) if layout.p == "own" else f"nc_load(common + {j * options.bytes}, {{}});"

    def row(j: int) -> str:
        if layout.u == "own":
            return numbers.load(j + (k if layout.p == "own" else 0))
        return f"nc_read(u + row * {form_sizes.m} + {j}, {{}});"

    def acts(j: int) -> str:
        return f"nc_load({frame.at(acting, j)}, {{}});"

    body = body_lines(
        plan,
        program,
        frame,
        slots,
        (lambda j: f"nc_load({frame.at(s, j)}, {{}});", row if control is None else acts, parameter),
        lambda j, text: f"nc_keep({frame.at(slope, j)}, {text});",
    )
    control_lines: list[str] = []
    if law is not None and control is not None:
        control_lines = body_lines(
            law,
            control,
            frame,
            slots,
            (lambda j: f"nc_load({frame.at(x, j)}, {{}});", row, parameter),
            lambda j, text: f"nc_keep({frame.at(waiting, j)}, {text});",
        )
    name = driver_name(program, options, "rk4")
    arguments = [
        f"const {real} *__restrict__ x0, const unsigned long long x0_ld",
        f"const {real} *__restrict__ u, const unsigned long long u_ld",
        f"const {real} *__restrict__ p, const unsigned long long p_ld",
        f"{real} *__restrict__ last, const unsigned long long last_ld",
        f"{real} *__restrict__ stored, const unsigned long long stored_ld",
        f"long long *__restrict__ completed, {real} *__restrict__ scratch",
        f"const {real} h, const unsigned long long steps, const unsigned long long every",
        "const unsigned long long held, const unsigned long long delay, const unsigned long long rows",
        "const unsigned long long n",
    ]
    code = Statements(Dialect(real, "unsigned long long", real, device=True), Identifiers(_RK4_NAMES), 2)
    state, at, acts_on = (frame.vector(code, first) for first in (x, s, acting))
    code.each(form_sizes.n, lambda j: state.put(j, f"x0[{j} * x0_ld + i]"))
    code(*numbers.fill())

    def begin(step: str) -> None:
        if layout.u == "rows" and control is None:
            code(
                "const bool staged = rows == 3 * steps && rows != steps / held;",
                f"const unsigned long long begin = staged ? 3 * {step} : (rows > 1 ? {step} / held : 0);",
            )

    def evaluate(stage: Index) -> None:
        if layout.u == "rows" and control is None:
            # Begin, middle, middle and end of the step.
            row_of_stage = f"begin + (staged ? (unsigned)({stage} + 1) / 2 : 0u)"
            code(f"const unsigned long long row = {row_of_stage};", "(void)row;")
        code(*body)

    def evaluate_control(period: str) -> None:
        if layout.u == "rows":
            code(f"const unsigned long long row = rows > 1 ? {period} : 0;", "(void)row;")
        code(*control_lines)

    law_loop = None
    if control is not None:
        law_loop = ControlLoop(acts_on, evaluate_control, "held")
        if form is not None:
            before = frame.vector(code, x, n + form.z)
            z = frame.vector(code, x, n), frame.vector(code, waiting, m), form.z
            law_loop = replace(
                law_loop,
                outputs=frame.vector(code, waiting),
                before=before,
                delay="delay",
                carried=(z, (before, acts_on, m)),
            )

    def store(following: str) -> None:
        row = f"({following} / every - 1) * {form_sizes.n}"
        code.each(form_sizes.n, lambda j: code(f"stored[({row} + {j}) * stored_ld + i] = {state.get(j)};"))

    loop = Rk4Loop(
        n=n,
        m=m,
        x=state,
        at=at,
        u=acts_on,
        slope=frame.vector(code, slope),
        total=frame.vector(code, total),
        after=at,
        begin=begin,
        evaluate=evaluate,
        h="h",
        steps="steps",
        is_stored=lambda following: f"every != 0 && {following} % every == 0",
        store=store,
        control=law_loop,
    )
    completed = write_rk4(code, loop)
    code.each(form_sizes.n, lambda j: code(f"last[{j} * last_ld + i] = {state.get(j)};"))
    code(f"completed[i] = (long long){completed};")
    lines = [
        *kernel_head(name, arguments, blocks),
        *frame.begin("p", 0 if layout.p == "own" else k),
        sample_loop(),
        *code.lines,
        "    }",
        "}",
    ]
    launch = Launch(name, 1, blocks, frame.bytes, plan.slots.count)
    return DriverKernel("\n".join(lines) + "\n", launch, frame.scratch)
