"""The Runge-Kutta method with a fixed step on the device: a thread integrates a sample from begin to end.

The rules are those of `nacelle.emit.rk4`, but for the sampled form, which is not there. The vectors of a
sample are columns of shared memory: the state x, the argument s of the derivative, its value k and the sum

    k1 + 2 k2 + 2 k3 + k4

as far as it is computed.
"""

from __future__ import annotations

from dataclasses import dataclass

from nacelle.emit.cuda.drivers import (
    DriverKernel,
    SampleNumbers,
    ScratchColumns,
    body_lines,
    driver_name,
    driver_plan,
    head,
    reads_of,
    sample_loop,
)
from nacelle.emit.cuda.plan import CudaOptions
from nacelle.emit.rk4 import sizes
from nacelle.program.program import Program


@dataclass(frozen=True)
class RunInputs:
    """How the inputs of a run are given.

    Attributes:
        u: "rows": (rows, m), the same for all samples; "own": (m, N), of each sample, held throughout.
        p: "shared": (k,); "own": (k, N).
    """

    u: str = "rows"
    p: str = "shared"


def rk4_kernel(
    program: Program,
    control: Program | None = None,
    options: CudaOptions | None = None,
    given: RunInputs | None = None,
) -> DriverKernel:
    """Write the Runge-Kutta method around a derivative program and, where there is one, a control program.

    Args:
        program: the derivative, of inputs x, u and p.
        control: what gives u at the begin of every period, of inputs x, w and p.
        options: how CUDA is written.
        given: how inputs are given.

    Raises:
        ValueError: if a program is of another form.
    """
    options, given = options or CudaOptions(), given or RunInputs()
    found = sizes(program, control)
    n, k = found.n, found.k
    m = program.inputs[1].size
    columns = 4 * n + (m if control is not None else 0) + 1
    plan = driver_plan(program, options, columns)
    law = None if control is None else driver_plan(control, options, columns)
    blocks = min(plan.blocks, law.blocks if law is not None else plan.blocks)
    frame = ScratchColumns(options, blocks, 0 if given.p == "own" else k)
    x, s, slope, total = (frame.take(n) for _ in range(4))
    acting = frame.take(m if control is not None else 0)
    slots = frame.take(max(plan.slots.count, law.slots.count if law is not None else 0))
    reads = reads_of(plan, n + m, k) if given.p == "own" else []
    sources = [f"p[{j} * p_ld + i]" for j in range(k)] if given.p == "own" else []
    if given.u == "own":
        reads += reads_of(plan, n, found.m)
        sources += [f"u[{j} * u_ld + i]" for j in range(found.m)]
    numbers = SampleNumbers(frame, sources, reads)
    real = options.real

    def parameter(j: int) -> str:
        return numbers.load(j) if given.p == "own" else f"nc_load(common + {j * options.bytes}, {{}});"

    def row(j: int) -> str:
        if given.u == "own":
            return numbers.load(j + (k if given.p == "own" else 0))
        return f"nc_read(u + row * {found.m} + {j}, {{}});"

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
            lambda j, text: f"nc_keep({frame.at(acting, j)}, {text});",
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
        "const unsigned long long held, const unsigned long long rows, const unsigned long long n",
    ]
    indent = " " * 12
    lines = [
        *head(name, arguments, blocks),
        *frame.begin("p", 0 if given.p == "own" else k),
        sample_loop(),
        *_each(n, f"nc_keep({frame.walk(x)}, x0[j * x0_ld + i]);", 8),
        *numbers.fill(),
        "        unsigned long long step = 0;",
        "        for (; step < steps; ++step) {",
        *_rows(given, control is not None),
    ]
    if control_lines:
        lines += [
            f"{indent}if (step % held == 0) {{",
            *(f"{indent}    {line}" for line in control_lines),
            f"{indent}}}",
        ]
    lines += [
        *_each(n, f"{real} a; nc_load({frame.walk(x)}, a); nc_keep({frame.walk(s)}, a);", 12),
        "            #pragma unroll 1",
        "            for (int stage = 0; stage < 4; ++stage) {",
        *_stage_row(given, control is not None),
        *(f"{indent}    {line}" for line in body),
        *_after(frame, n, (x, s, slope, total), real),
        "            }",
        "            bool finite = true;",
        *_each(n, f"{real} a; nc_load({frame.walk(s)}, a); finite = finite && nc_finite(a);", 12),
        "            if (!finite) break;",
        *_each(n, f"{real} a; nc_load({frame.walk(s)}, a); nc_keep({frame.walk(x)}, a);", 12),
        "            if (every != 0 && (step + 1) % every == 0) {",
        f"                const unsigned long long first = ((step + 1) / every - 1) * {n};",
        *_each(n, f"{real} a; nc_load({frame.walk(x)}, a); stored[(first + j) * stored_ld + i] = a;", 16),
        "            }",
        "        }",
        *_each(n, f"{real} a; nc_load({frame.walk(x)}, a); last[j * last_ld + i] = a;", 8),
        "        completed[i] = (long long)step;",
        "    }",
        "}",
    ]
    return DriverKernel("\n".join(lines) + "\n", name, blocks, frame.bytes, frame.scratch)


def _each(n: int, statement: str, indent: int) -> list[str]:
    """A loop over the entries of a vector."""
    return [f"{' ' * indent}for (unsigned j = 0; j < {n}; ++j) {{ {statement} }}"]


def _rows(given: RunInputs, controlled: bool) -> list[str]:
    """Which row of the inputs a step takes; three rows a step where `rows` says so."""
    if given.u == "own":
        return []
    row = "const unsigned long long row = rows > 1 ? step / held : 0;"
    if controlled:
        return [f"            {row}"]
    return [
        "            const bool staged = rows == 3 * steps && rows != steps / held;",
        "            const unsigned long long begin = staged ? 3 * step : (rows > 1 ? step / held : 0);",
    ]


def _stage_row(given: RunInputs, controlled: bool) -> list[str]:
    """The row of a stage: begin, middle, middle and end of the step."""
    if given.u == "own" or controlled:
        return []
    return [
        "                const unsigned long long row = begin + (staged ? (unsigned)(stage + 1) / 2 : 0u);",
        "                (void)row;",
    ]


def _after(frame: ScratchColumns, n: int, vectors: tuple[int, ...], real: str) -> list[str]:
    """What follows an evaluation: the sum, and the next argument or the new state."""
    x, s, slope, total = vectors
    return [
        f"                const {real} ahead = stage < 2 ? h / 2 : (stage == 2 ? h : h / 6);",
        f"                for (unsigned j = 0; j < {n}; ++j) {{",
        f"                    {real} k, a, sum = 0;",
        f"                    nc_load({frame.walk(slope)}, k);",
        f"                    nc_load({frame.walk(x)}, a);",
        f"                    if (stage > 0) nc_load({frame.walk(total)}, sum);",
        "                    sum = (stage == 1 || stage == 2) ? nc_add(sum, nc_add(k, k)) : nc_add(sum, k);",
        f"                    nc_keep({frame.walk(total)}, sum);",
        "                    a = nc_fma(ahead, stage == 3 ? sum : k, a);",
        f"                    nc_keep({frame.walk(s)}, a);",
        "                }",
    ]
