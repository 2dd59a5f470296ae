"""Drivers in C, Newton and Runge-Kutta: loops around a program, in files beside those of the program.

Sizes are constants of the source; nothing is allocated.

Newton's iteration in C, around the entry of a program for one sample.

The status is 0 if all went well, 1 if the cap was reached, 2 if a number was not finite.

The Runge-Kutta method with a fixed step in C, around the entry of a program for one sample.

The status is 0 if all went well, 2 if a number was not finite.
"""

from __future__ import annotations

from nacelle.emit.c.iterations import Dialect, indented, newton_loop, rk4_loop
from nacelle.emit.c.parts import call
from nacelle.emit.c.target import COptions, Interface, c_source, framed
from nacelle.emit.names import Identifiers
from nacelle.emit.registry import TargetError
from nacelle.program.program import Program


def input_names(interface: Interface, own: str, fixed: str) -> list[str]:
    """Give the names of the inputs in a driver, apart from the words that the driver has for itself."""
    names = Identifiers((*fixed.split(), own, f"{own}_batch", interface.name, interface.real))
    inputs = []
    for array in interface.inputs:
        name = names.unique(array.name)
        names.take(f"{name}_stride")
        inputs.append(name)
    return inputs


def sizes_of(program: Program) -> str:
    """Say the sizes of a program's variables."""
    inputs = ", ".join(f"{variable.name!r} ({variable.size})" for variable in program.inputs)
    outputs = ", ".join(f"{variable.name!r} ({variable.size})" for variable in program.outputs)
    return f"this program has inputs {inputs or 'none'} and outputs {outputs or 'none'}"


def _joined(loop: list[str]) -> str:
    """The lines of a loop in a function."""
    return "\n".join(indented(loop))


def prototype(text: str) -> str:
    """Give the head of a function as a declaration."""
    return text[: text.index("\n{")] + ";\n"


def driver_files(own: str, name: str, header: str, text: str) -> dict[str, str]:
    """Give the files of a driver called `own` around the program `name`."""
    return {
        f"{own}.h": "\n".join(framed(f"{own}_h_included", [f'"{name}.h"'], [header])),
        f"{own}.c": f'/* {own}: see the header. */\n#include "{own}.h"\n\n#include <math.h>\n\n{text}',
    }


# ---- newton's iteration in C, around the entry of a program for one sample


_NEWTON_REMARK = """\
/*
 * {own}: Newton's method, y += dy until the error is at most the tolerance.
 *
 * The error is that of y before the step: a start that is good enough is not changed.
 *
{arrays}
 *   tolerance    largest error
 *   cap          largest number of steps
 *   weights      one over the longest step of each unknown, {size} numbers: where |weights dy| is above 1 the
 *                step is shortened to 1; NULL: steps of any length
 *   polish       whether a solution takes one step more, the one that its test has computed
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
    {real} left;
    int status = 1;
    int taken = 0;
{loop}
    if (iterations != NULL) {{
        *iterations = taken;
    }}
    if (error != NULL) {{
        *error = left;
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
        const int found = {own}({arguments}, tolerance, cap, weights, polish,
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
        interface,
        own,
        "tolerance cap weights polish status iterations error step last left taken squares length part "
        "solved found n i j d",
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
    limits = [f"{real} tolerance", "int cap", f"const {real} *weights", "int polish"]
    results = ["int *iterations", f"{real} *error"]
    head = call(f"int {own}", [*single, *limits, *results])
    d = Dialect(real, {"y": f"{y}[j]", "step": "step[j]", "error": "last[0]"}, single=options.real == "float")
    evaluate = [call(interface.name, [y, *parameters, "step", "last"], 8) + ";"]
    text = _NEWTON.format(**common, head=head, loop=_joined(newton_loop(d, size, evaluate)))
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


# ---- the Runge-Kutta method with a fixed step in C, around the entry of a program for one sample


_RK4_REMARK = """\
/*
 * {own}: the classical Runge-Kutta method of order four, in steps of fixed size.
 *
{arrays}
 *   h        size of a step
 *   steps    number of steps
 *   every    {x} after every such number of steps is stored; 0: none
 *   states   out, the stored states, steps / every rows; the start is not among them; may be NULL
 *   done     out, steps done; may be NULL
 *
 * Returns 0, or 2 if a state is not finite: {x} is then the last finite one, and rows beyond it are not
 * written.
 */
"""

_RK4 = """\
{head}
{{
    {real} at[{size}];
    {real} slope[{size}];
    {real} total[{size}];
    size_t step = 0;
{loop}
    if (done != NULL) {{
        *done = step;
    }}
    return (step < steps) ? 2 : 0;
}}
"""


def rk4_source(program: Program, options: COptions | None = None) -> dict[str, str]:
    """Write the classical Runge-Kutta method around a program, which is written too.

    Args:
        program: the derivative. Inputs: the state x, then the input u that is held over a step, then any
            parameters. Output: dx, of the size of x.
        options: how C is written.

    Returns:
        The text of each file, by its name: NAME.h, NAME.c, NAME_rk4.h and NAME_rk4.c.

    Raises:
        TargetError: if the program's inputs and outputs are not those of a derivative.
    """
    options = options or COptions()
    if (
        not program.inputs
        or [variable.size for variable in program.outputs] != [program.inputs[0].size]
        or not program.inputs[0].size
    ):
        raise TargetError(f"a derivative has inputs x, u, ... and output dx (size of x): {sizes_of(program)}")
    interface = Interface(program, options)
    own = f"{interface.name}_rk4"
    x, *others = input_names(
        interface, own, "h steps every states done at slope total step stage ahead finite j k more sum"
    )
    real, size = interface.real, program.inputs[0].size
    common = {"own": own, "name": interface.name, "real": real, "size": size, "x": x}
    heads = [f"{real} *{x}"]
    passed = list(others)
    lines = [f" *   {x}: in the start, out the last state; {size} numbers"]
    if others:
        u = others[0]
        heads += [f"const {real} *{u}", f"size_t {u}_stride"]
        passed[0] = f"{u} + step * {u}_stride"
        held = f"{program.inputs[1].size} numbers"
        lines.append(f" *   {u}: input, {held} a step, {u}_stride apart; stride 0: the same at every step")
    for name, variable in zip(others[1:], program.inputs[2:], strict=True):
        heads.append(f"const {real} *{name}")
        lines.append(f" *   {name}: parameter, {variable.size} numbers")
    heads += [f"{real} h", "size_t steps", "size_t every", f"{real} *states", "size_t *done"]
    entries = {"x": f"{x}[j]", "at": "at[j]", "slope": "slope[j]", "total": "total[j]"}
    evaluate = [call(interface.name, ["at", *passed, "slope"], 12) + ";"]
    store, stored = f"states[{{first}} + j] = {x}[j];", "every != 0 && states != NULL"
    loop = rk4_loop(Dialect(real, entries), size, [], evaluate, store, stored)
    text = _RK4.format(**common, head=call(f"int {own}", heads), loop=_joined(loop))
    header = _RK4_REMARK.format(**common, arrays="\n".join(lines)) + prototype(text)
    return c_source(program, options) | driver_files(own, interface.name, header, text)
