"""Newton's iteration in C, around the entry of a program for one sample.

The status is 0 if all went well, 1 if the cap was reached, 2 if a number was not finite.
"""

from __future__ import annotations

from nacelle.emit.c.driver import driver_files, input_names, prototype, sizes_of
from nacelle.emit.c.interface import COptions, Interface
from nacelle.emit.c.parts import call
from nacelle.emit.c.target import c_source
from nacelle.emit.registry import TargetError
from nacelle.program.program import Program

_NEWTON_REMARK = """\
/*
 * {own}: Newton's method, y += dy until the error is at most the tolerance.
 *
 * The error is that of y before the step: a start that is good enough is not changed.
 *
{arrays}
 *   tolerance    largest error
 *   cap          largest number of steps
 *   iterations   out, steps done; may be NULL
 *   error        out, error of the last evaluation; may be NULL
 *
 * Returns 0 if converged, 1 if the cap is reached, 2 if the error or the step is not finite; {y} is then the
 * last finite iterate.
 */
"""

_NEWTON = """\
{head}
{{
    {real} step[{size}];
    {real} last[1];
    int status = 1;
    int k = 0;
    for (;; ++k) {{
        {name}({arguments}, step, last);
        if (last[0] <= tolerance) {{
            status = 0;
            break;
        }}
        int finite = isfinite(last[0]) ? 1 : 0;
        for (size_t i = 0; i < {size}; ++i) {{
            finite = (finite && isfinite(step[i])) ? 1 : 0;
        }}
        if (!finite) {{
            status = 2;
            break;
        }}
        if (k >= cap) {{
            break;
        }}
        for (size_t i = 0; i < {size}; ++i) {{
            {y}[i] += step[i];
        }}
    }}
    if (iterations != NULL) {{
        *iterations = k;
    }}
    if (error != NULL) {{
        *error = last[0];
    }}
    return status;
}}
"""

_NEWTON_BATCH_REMARK = """\
/*
 * The same for n samples, each from its own start: {y} holds n rows, and so do status, iterations and
 * error, each of which may be NULL. The samples of a parameter lie its stride apart; 0: one for all.
 */
"""

_NEWTON_BATCH = """\
{head}
{{
    for (size_t i = 0; i < n; ++i) {{
        const int found = {own}({arguments}, tolerance, cap,
                                iterations != NULL ? iterations + i : NULL, error != NULL ? error + i : NULL);
        if (status != NULL) {{
            status[i] = found;
        }}
    }}
}}
"""


def newton_source(program: Program, options: COptions | None = None) -> dict[str, str]:
    """Write Newton's method around a program, which is written too.

    Args:
        program: one step. Inputs: the unknowns y, then any parameters. Outputs: the step dy, of the
            size of y, and the error, one number.
        options: how C is written; the batch entry is there if `options.batch`.

    Returns:
        The text of each file, by its name: NAME.h, NAME.c, NAME_newton.h and NAME_newton.c.

    Raises:
        TargetError: if the program's inputs and outputs are not those of a Newton step.
    """
    options = options or COptions()
    if (
        not program.inputs
        or [variable.size for variable in program.outputs] != [program.inputs[0].size, 1]
        or not program.inputs[0].size
    ):
        raise TargetError(
            f"a Newton step has inputs y, ... and outputs dy (size of y), error (1): {sizes_of(program)}"
        )
    interface = Interface(program, options)
    own = f"{interface.name}_newton"
    y, *parameters = input_names(
        interface, own, "tolerance cap status iterations error step last finite found n i k"
    )
    strides = [f"{name}_stride" for name in parameters]
    real, size = interface.real, program.inputs[0].size
    common = {"own": own, "name": interface.name, "real": real, "size": size, "y": y}
    single = [f"{real} *{y}", *(f"const {real} *{name}" for name in parameters)]
    lines = [f" *   {y}: in the start, out the solution; {size} numbers"]
    lines += [
        f" *   {name}: parameter, {variable.size} numbers"
        for name, variable in zip(parameters, program.inputs[1:], strict=True)
    ]
    limits = [f"{real} tolerance", "int cap"]
    results = ["int *iterations", f"{real} *error"]
    head = call(f"int {own}", [*single, *limits, *results])
    text = _NEWTON.format(**common, head=head, arguments=", ".join([y, *parameters]))
    header = _NEWTON_REMARK.format(**common, arrays="\n".join(lines)) + prototype(text)
    if options.batch:
        heads = ["size_t n", f"{real} *{y}"]
        moved = [f"{y} + i * {size}"]
        for name, stride in zip(parameters, strides, strict=True):
            heads += [f"const {real} *{name}", f"size_t {stride}"]
            moved.append(f"{name} + i * {stride}")
        head = call(f"void {own}_batch", [*heads, *limits, "int *status", *results])
        batch = _NEWTON_BATCH.format(**common, head=head, arguments=", ".join(moved))
        header += "\n" + _NEWTON_BATCH_REMARK.format(**common) + prototype(batch)
        text += "\n" + batch
    return c_source(program, options) | driver_files(own, interface.name, header, text)
