"""The Runge-Kutta method with a fixed step in C, around the entry of a program for one sample.

The status is 0 if all went well, 2 if a number was not finite.
"""

from __future__ import annotations

from nacelle.emit.c.driver import driver_files, input_names, prototype, sizes_of
from nacelle.emit.c.interface import COptions, Interface
from nacelle.emit.c.parts import call
from nacelle.emit.c.target import c_source
from nacelle.emit.registry import TargetError
from nacelle.program.program import Program

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
    {real} k1[{size}];
    {real} k2[{size}];
    {real} k3[{size}];
    {real} k4[{size}];
    int status = 0;
    size_t k = 0;
    size_t stored = 0;
    for (; k < steps; ++k) {{
{stages}
        int finite = 1;
        for (size_t i = 0; i < {size}; ++i) {{
            at[i] = {x}[i] + h / 6 * (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i]);
            finite = (finite && isfinite(at[i])) ? 1 : 0;
        }}
        if (!finite) {{
            status = 2;
            break;
        }}
        for (size_t i = 0; i < {size}; ++i) {{
            {x}[i] = at[i];
        }}
        if (every != 0 && states != NULL && (k + 1) % every == 0) {{
            for (size_t i = 0; i < {size}; ++i) {{
                states[stored * {size} + i] = {x}[i];
            }}
            ++stored;
        }}
    }}
    if (done != NULL) {{
        *done = k;
    }}
    return status;
}}
"""

_STAGE = """\
        for (size_t i = 0; i < {size}; ++i) {{
            at[i] = {x}[i] + {step} * {before}[i];
        }}
        {name}({arguments}, {slope});"""


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
        interface, own, "h steps every states done at k1 k2 k3 k4 status stored finite i k"
    )
    real, size = interface.real, program.inputs[0].size
    common = {"own": own, "name": interface.name, "real": real, "size": size, "x": x}
    heads = [f"{real} *{x}"]
    passed = list(others)
    lines = [f" *   {x}: in the start, out the last state; {size} numbers"]
    if others:
        u = others[0]
        heads += [f"const {real} *{u}", f"size_t {u}_stride"]
        passed[0] = f"{u} + k * {u}_stride"
        held = f"{program.inputs[1].size} numbers"
        lines.append(f" *   {u}: input, {held} a step, {u}_stride apart; stride 0: the same at every step")
    for name, variable in zip(others[1:], program.inputs[2:], strict=True):
        heads.append(f"const {real} *{name}")
        lines.append(f" *   {name}: parameter, {variable.size} numbers")
    stages = [f"        {interface.name}({', '.join([x, *passed, 'k1'])});"]
    for before, slope, step in (("k1", "k2", "h / 2"), ("k2", "k3", "h / 2"), ("k3", "k4", "h")):
        arguments = ", ".join(["at", *passed])
        stages.append(_STAGE.format(**common, before=before, slope=slope, step=step, arguments=arguments))
    heads += [f"{real} h", "size_t steps", "size_t every", f"{real} *states", "size_t *done"]
    text = _RK4.format(**common, head=call(f"int {own}", heads), stages="\n".join(stages))
    header = _RK4_REMARK.format(**common, arrays="\n".join(lines)) + prototype(text)
    return c_source(program, options) | driver_files(own, interface.name, header, text)
