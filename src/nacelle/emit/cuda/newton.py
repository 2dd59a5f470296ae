"""Newton's iteration on the device: a thread solves a sample, by the rules of `nacelle.emit.newton`."""

from __future__ import annotations

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
from nacelle.emit.newton import newton_sizes
from nacelle.program.program import Program


def newton_kernel(program: Program, options: CudaOptions | None = None, *, own: bool = True) -> DriverKernel:
    """Write Newton's iteration around a step program of inputs y and p.

    Args:
        program: the step.
        options: how CUDA is written.
        own: whether each sample has its own p.

    Raises:
        ValueError: if the program is of another form.
    """
    options = options or CudaOptions()
    n, k = newton_sizes(program)
    plan = driver_plan(program, options, 2 * n + 2)
    frame = ScratchColumns(options, plan.blocks, 0 if own else k)
    y, dy, error = frame.take(n), frame.take(n), frame.take(1)
    slots = frame.take(plan.slots.count)
    sources = [f"p[{j} * p_ld + i]" for j in range(k)] if own else []
    numbers = SampleNumbers(frame, sources, reads_of(plan, n, k))
    real = options.real

    def parameter(j: int) -> str:
        return numbers.load(j) if own else f"nc_load(common + {j * options.bytes}, {{}});"

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
        "long long *__restrict__ iterations, long long *__restrict__ status",
        f"{real} *__restrict__ scratch",
        f"const {real} tolerance, const long long cap, const {real} *__restrict__ weights, const int polish",
        "const unsigned long long n",
    ]
    move = (
        f"for (unsigned j = 0; j < {n}; ++j) {{ {real} a, d; nc_load({frame.walk(y)}, a); "
        f"nc_load({frame.walk(dy)}, d); nc_keep({frame.walk(y)}, nc_add(a, nc_mul(part, d))); }}"
    )
    lines = [
        *head(name, arguments, plan.blocks),
        *frame.begin("p", 0 if own else k),
        sample_loop(),
        f"        for (unsigned j = 0; j < {n}; ++j) {{ nc_keep({frame.walk(y)}, y0[j * y0_ld + i]); }}",
        *numbers.fill(),
        "        long long taken = 0, state = 1;",
        "        #pragma unroll 1",
        "        for (;;) {",
        *(f"            {line}" for line in body),
        f"            {real} squares = 0, left;",
        f"            for (unsigned j = 0; j < {n}; ++j) {{",
        f"                {real} d;",
        f"                nc_load({frame.walk(dy)}, d);",
        f"                d = nc_mul(d, weights ? weights[j] : ({real})0);",
        "                squares = nc_fma(d, d, squares);",
        "            }",
        f"            nc_load({frame.at(error, 0)}, left);",
        f"            const {real} length = nc_sqrt(squares), ratio = nc_div(({real})1, length);",
        f"            const {real} part = (ratio < 1) ? ratio : 1;",
        "            const bool solved = left <= tolerance, plain = nc_finite(left) && nc_finite(length);",
        "            if (solved || !plain) {",
        "                state = solved ? 0 : 2;",
        "                if (!(solved && polish && nc_finite(length))) break;",
        "            } else if (taken == cap) {",
        "                break;",
        "            } else {",
        "                ++taken;",
        "            }",
        f"            {move}",
        "            if (solved) break;",
        "        }",
        f"        for (unsigned j = 0; j < {n}; ++j) {{ {real} a; nc_load({frame.walk(y)}, a); "
        "y[j * y_ld + i] = a; }",
        "        iterations[i] = taken;",
        "        status[i] = state;",
        "    }",
        "}",
    ]
    return DriverKernel("\n".join(lines) + "\n", name, plan.blocks, frame.bytes, frame.scratch)
