"""Drivers in C: Newton's method and the classical Runge-Kutta method, each in files of its own.

A driver is a loop that calls the program's entry for one sample. Sizes are constants of the source; nothing
is allocated. It returns 0 if all went well, 1 if Newton's method reached its cap of steps, 2 if a number was
not finite. The loops themselves are written by `nacelle.emit.newton` and `nacelle.emit.rk4`; this module
gives them arrays, arguments, remarks and files.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from nacelle.emit.c.loops import ArrayVector, Dialect, Statements
from nacelle.emit.c.parts import c_constant, format_call
from nacelle.emit.c.target import COptions, Interface, c_source, header_lines
from nacelle.emit.loop_writer import Index
from nacelle.emit.names import Identifiers
from nacelle.emit.newton import NewtonLoop, write_newton
from nacelle.emit.registry import TargetError
from nacelle.emit.rk4 import ControlLoop, Rk4Loop, SampledSizes, integration_sizes, write_rk4
from nacelle.emit.track import ROUNDING, TrackLoop, write_track
from nacelle.program.program import Program


def input_names(interface: Interface, driver: str, fixed: str) -> list[str]:
    """Give the names of a program's inputs in a driver, distinct from its other names.

    Args:
        interface: the C interface of the program.
        driver: name of the driver's function.
        fixed: the driver's other names, separated by spaces.
    """
    names = Identifiers((*fixed.split(), driver, f"{driver}_batch", interface.name, interface.real))
    inputs = []
    for array in interface.inputs:
        name = names.unique(array.name)
        names.take(f"{name}_stride")
        inputs.append(name)
    return inputs


def describe_sizes(program: Program) -> str:
    """List a program's inputs and outputs with their sizes, for messages."""
    inputs = ", ".join(f"{variable.name!r} ({variable.size})" for variable in program.inputs)
    outputs = ", ".join(f"{variable.name!r} ({variable.size})" for variable in program.outputs)
    return f"this program has inputs {inputs or 'none'} and outputs {outputs or 'none'}"


def _statements(interface: Interface, options: COptions, whole: str, reserved: str) -> Statements:
    """Begin the statements of a driver.

    Args:
        interface: the C interface of the program.
        options: how C is written.
        whole: type of integers.
        reserved: names of arguments and arrays, separated by spaces; new names differ from them.
    """
    names = Identifiers((*reserved.split(), interface.name, interface.real))
    return Statements(Dialect(interface.real, whole, options.real), names)


def _array_vector(code: Statements, name: str, offset: int = 0) -> ArrayVector:
    """A vector in an array of a driver, from entry `offset` on."""
    return ArrayVector(code, lambda j: f"{name}[{offset} + {j}]" if offset else f"{name}[{j}]")


def prototype(text: str) -> str:
    """Give the declaration of a function from its definition."""
    return text[: text.index("\n{")] + ";\n"


def driver_files(driver: str, names: list[str], header: str, text: str) -> dict[str, str]:
    """Give the header and the source of a driver, by file name.

    Args:
        driver: name of the driver.
        names: names of the programs that it calls, whose headers it includes.
        header: remark and declarations.
        text: definitions.
    """
    guarded = header_lines(f"{driver}_h_included", [f'"{name}.h"' for name in names], [header])
    return {
        f"{driver}.h": "\n".join(guarded),
        f"{driver}.c": f'/* {driver}: see the header. */\n#include "{driver}.h"\n\n#include <math.h>\n\n'
        + text,
    }


# ---- newton's iteration in C, around the entry of a program for one sample


_NEWTON_REMARK = """\
/*
 * {function}: Newton's method, y += dy until the error is at most the tolerance.
 *
 * The error is that of y before the step: a start that is good enough is not changed.
 *
{arrays}
 *   tolerance    largest error
 *   cap          largest number of steps
 *   weights      one over the longest step of each unknown, {size} numbers: where |weights dy| is above 1 the
 *                step is shortened to 1; NULL: steps of any length
 *   polish       nonzero: once converged, the step of the last evaluation is still taken
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
    const unsigned rounds = (unsigned)(cap > 0 ? cap : 0) + 1;
{loop}
    if (iterations != NULL) {{
        *iterations = (int){taken};
    }}
    if (error != NULL) {{
        *error = last[0];
    }}
    return (int){status};
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
        const int found = {function}({arguments}, tolerance, cap, weights, polish,
                                iterations != NULL ? iterations + i : NULL, error != NULL ? error + i : NULL);
        if (status != NULL) {{
            status[i] = found;
        }}
    }}
}}
"""


def newton_source(program: Program, options: COptions | None = None) -> dict[str, str]:
    """Write Newton's method around a program, and the program itself.

    Args:
        program: one step. Inputs: the unknowns y, then any parameters. Outputs: the step dy, of the
            size of y, and the error, one number.
        options: how C is written; with `options.batch` there is also an entry for many samples.

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
            "a Newton step has inputs y, ... and outputs dy (size of y), error (1): "
            f"{describe_sizes(program)}"
        )
    interface = Interface(program, options)
    driver = f"{interface.name}_newton"
    y, *parameters = input_names(
        interface,
        driver,
        "tolerance cap weights polish status iterations error step last rounds found n i",
    )
    strides = [f"{name}_stride" for name in parameters]
    real, size = interface.real, program.inputs[0].size
    common = {"function": driver, "name": interface.name, "real": real, "size": size, "y": y}
    single = [f"{real} *{y}", *(f"const {real} *{name}" for name in parameters)]
    lines = [f" *   {y}: in the start, out the solution; {size} numbers"]
    lines += [
        f" *   {name}: parameter, {variable.size} numbers"
        for name, variable in zip(parameters, program.inputs[1:], strict=True)
    ]
    limits = [f"{real} tolerance", "int cap", f"const {real} *weights", "int polish"]
    results = ["int *iterations", f"{real} *error"]
    head = format_call(f"int {driver}", [*single, *limits, *results])
    arguments = "tolerance cap weights polish iterations error step last rounds"
    code = _statements(interface, options, "unsigned", " ".join([arguments, driver, y, *parameters]))
    zero = code.number(0.0)
    loop = NewtonLoop(
        n=size,
        y=_array_vector(code, y),
        step=_array_vector(code, "step"),
        error=_array_vector(code, "last").get,
        weights=lambda j: f"(weights != NULL ? weights[{j}] : {zero})",
        evaluate=lambda: code(format_call(interface.name, [y, *parameters, "step", "last"], 8) + ";"),
        tolerance="tolerance",
        rounds="rounds",
        polish="polish",
    )
    status, steps = write_newton(code, loop)
    text = _NEWTON.format(**common, head=head, loop=code.text(), status=status, taken=steps)
    header = _NEWTON_REMARK.format(**common, arrays="\n".join(lines)) + prototype(text)
    if options.batch:
        heads = ["size_t n", f"{real} *{y}"]
        row_arguments = [f"{y} + i * {size}"]
        for name, stride in zip(parameters, strides, strict=True):
            heads += [f"const {real} *{name}", f"size_t {stride}"]
            row_arguments.append(f"{name} + i * {stride}")
        head = format_call(f"void {driver}_batch", [*heads, *limits, "int *status", *results])
        batch = _NEWTON_BATCH.format(**common, head=head, arguments=", ".join(row_arguments))
        header += "\n" + _NEWTON_BATCH_REMARK.format(**common) + prototype(batch)
        text += "\n" + batch
    return c_source(program, options) | driver_files(driver, [interface.name], header, text)


# ---- following a solution along a straight way in C, around the entry of a program for one sample


_TRACK_REMARK = """\
/*
 * {function}: follow a solution along a straight way of the parameters, by Newton's method in parts short
 * enough that no singularity can lie within one.
 *
{fixed} *   y            in the solution at p, {n} numbers; out the last one on the way
 *   p            where the way begins, {k} numbers
 *   p_last       where it ends
 *   distances    in the distances from singularities at y, {m} numbers, out those at the last solution
 *   tolerance    largest error of a solution
 *   cap          most evaluations
 *   count        out, evaluations; may be NULL
 *
 * Returns 0 if the way was followed to its end, 1 if the cap is reached, 2 if a singularity, or the end of
 * all solutions, lies on the way.
 */
"""

_TRACK = """\
static const {real} {function}_weights[{n}] = {{
{weights}
}};

static const {real} {function}_parameter_weights[{k}] = {{
{parameter_weights}
}};

{head}
{{
    {real} accepted[{n}];
    {real} tentative[{n}];
    {real} at[{k}];
    {real} step[{n}];
    {real} last[1];
    {real} here[{most}];
{further}    const unsigned rounds = (unsigned)(cap > 0 ? cap : 0);
{loop}
    for (unsigned j = 0; j < {n}; ++j) {{
        y[j] = accepted[j];
    }}
    if (count != NULL) {{
        *count = (int){taken} + ({status} != 1);
    }}
    return (int){status};
}}
"""


def track_source(
    program: Program, options: COptions | None = None, *, units: Sequence[float]
) -> dict[str, str]:
    """Write the driver that follows solutions of a program (`nacelle.emit.track`), and the program itself.

    Args:
        program: inputs y and p, after any that stay the same; outputs the step of y, the error and the
            distances.
        options: how C is written.
        units: what the unknowns count in, and the parameters behind them (n + k,).

    Returns:
        The text of each file, by its name: NAME.h, NAME.c, NAME_track.h and NAME_track.c.
    """
    options = options or COptions()
    interface = Interface(program, options)
    driver = f"{interface.name}_track"
    *fixed, y, p = program.inputs
    real = interface.real
    reserved = "y p p_last distances tolerance cap count accepted tentative at step last here further rounds"
    names = [variable.name for variable in fixed]
    heads = [f"const {real} *{name}" for name in names]
    heads += [f"{real} *y", f"const {real} *p", f"const {real} *p_last", f"{real} *distances"]
    head = format_call(f"int {driver}", [*heads, f"{real} tolerance", "int cap", "int *count"])
    reserved = " ".join([reserved, *names])
    code = _statements(interface, options, "unsigned", f"{driver} {reserved}")
    loop = TrackLoop(
        n=y.size,
        k=p.size,
        y=_array_vector(code, "y"),
        accepted=_array_vector(code, "accepted"),
        tentative=_array_vector(code, "tentative"),
        p=_array_vector(code, "at"),
        first=lambda j: f"p[{j}]",
        last=lambda j: f"p_last[{j}]",
        step=_array_vector(code, "step"),
        error=_array_vector(code, "last").get,
        m=program.outputs[2].size,
        distances=_array_vector(code, "here").get,
        near=_array_vector(code, "distances"),
        further=_array_vector(code, "further"),
        weights=lambda j: f"{driver}_weights[{j}]",
        parameter_weights=lambda j: f"{driver}_parameter_weights[{j}]",
        evaluate=lambda: code(
            format_call(interface.name, [*names, "y", "at", "step", "last", "here"], 8) + ";"
        ),
        tolerance="tolerance",
        rounding=code.number(ROUNDING * (1.2e-7 if options.real == "float" else 2.2e-16)),
        rounds="rounds",
    )
    results = write_track(code, loop)
    values = [c_constant(1.0 / unit, options.real) for unit in units]
    weights, parameter_weights = (
        "\n".join(f"    {', '.join(part[j : j + 4])}," for j in range(0, len(part), 4))
        for part in (values[: y.size], values[y.size :])
    )
    common = {"function": driver, "n": y.size, "k": p.size, "m": loop.m, "real": real}
    text = _TRACK.format(
        **common,
        # C has no empty arrays.
        most=max(loop.m, 1),
        further=f"    {real} further[{loop.m}];\n" if loop.m else "    (void)distances;\n",
        head=head,
        weights=weights,
        parameter_weights=parameter_weights,
        loop=code.text(),
        taken=results.taken,
        status=results.status,
    )
    lines = [f" *   {variable.name:12s} fixed, {variable.size} numbers\n" for variable in fixed]
    header = _TRACK_REMARK.format(**common, fixed="".join(lines)) + f"{head};\n"
    return c_source(program, options) | driver_files(driver, [interface.name], header, text)


# ---- the Runge-Kutta method with a fixed step in C, around the entry of a program for one sample


_RK4_REMARK = """\
/*
 * {function}: the classical Runge-Kutta method of order four, in steps of fixed size.
 *
{arrays}
 *   h        size of a step
 *   steps    number of steps
{control} *   every    steps from one stored {x} to the next; 0: none is stored
 *   states   out, the stored states, steps / every rows; the start is not among them; may be NULL
 *   done     out, steps done; may be NULL
 *
 * Returns 0, or 2 if a state is not finite: {x} is then the last finite one, and rows beyond it are not
 * written.
 */
"""

_HELD_REMARK = """\
 *   held     steps of a period, at least 1; at the begin of each period the control takes the next row of
 *            {w} and gives the inputs of the plant
"""

_DELAY_REMARK = """\
 *   delay    steps of a period, less than held, after which the new inputs act on the plant; until then
 *            those of the period before do
"""

_RK4 = """\
{head}
{{
{arrays}
{loop}
    if (done != NULL) {{
        *done = {completed};
    }}
    return ({completed} < steps) ? 2 : 0;
}}
"""


def rk4_source(
    program: Program,
    options: COptions | None = None,
    control: Program | None = None,
    *,
    sampled: bool = False,
) -> dict[str, str]:
    """Write the classical Runge-Kutta method around a program, and the program itself.

    Args:
        program: the derivative. Inputs: the state x, then the input u that is held over a step, then any
            parameters. Output: dx, of the size of x.
        options: how C is written.
        control: a control program that gives u at the begin of every period, with the inputs x, w (its row of
            inputs) and p; the derivative then has exactly the inputs x, u and p. None: u is an argument.
        sampled: whether the control has a memory z and a delay (`nacelle.emit.rk4`). Its inputs are then
            [s; z], w and P, with s the state of the plant, its output [u; z+], and the whole state
            [s; z; u].

    Returns:
        The text of each file, by its name: NAME.h, NAME.c, NAME_rk4.h and NAME_rk4.c; those of a control are
        NAME_control.h and NAME_control.c.

    Raises:
        TargetError: if a program's inputs and outputs are not those of a derivative or of its control.
    """
    options = options or COptions()
    if (
        not program.inputs
        or [variable.size for variable in program.outputs] != [program.inputs[0].size]
        or not program.inputs[0].size
    ):
        raise TargetError(
            f"a derivative has inputs x, u, ... and output dx (size of x): {describe_sizes(program)}"
        )
    interface = Interface(program, options)
    driver, n = f"{interface.name}_rk4", program.inputs[0].size
    files = c_source(program, options)
    law, form, state_size = None, None, n
    if control is not None or sampled:
        try:
            form_sizes = integration_sizes(program, control, sampled=sampled)
        except ValueError as error:
            raise TargetError(str(error)) from None
        assert control is not None
        state_size, form = form_sizes.n, form_sizes.sampled
        law = Interface(control, replace(options, name=f"{interface.name}_control"))
        files |= c_source(control, law.options)
    x, *others = input_names(
        law or interface, driver, "h steps every held delay states done at slope total acting made"
    )
    input_variables = (law or interface).program.inputs
    lines = [f" *   {x}: in the start, out the last state; {state_size} numbers"]
    if form is not None:
        lines[0] += f": {form.s} of the plant, {form.z} of the control, {form.u} that act on the plant"
    heads = [f"{interface.real} *{x}"]
    if others:
        u, interval = others[0], "step" if law is None else "period"
        heads += [f"const {interface.real} *{u}", f"size_t {u}_stride"]
        row = f"{input_variables[1].size} numbers a {interval}, {u}_stride apart"
        lines.append(f" *   {u}: input, {row}; stride 0: the same at every {interval}")
    for name, variable in zip(others[1:], input_variables[2:], strict=True):
        heads.append(f"const {interface.real} *{name}")
        lines.append(f" *   {name}: parameter, {variable.size} numbers")
    periods = [] if law is None else ["size_t held"] if form is None else ["size_t held", "size_t delay"]
    heads += [f"{interface.real} h", "size_t steps", *periods]
    heads += ["size_t every", f"{interface.real} *states", "size_t *done"]
    arrays = {"at": n, "slope": n, "total": n}
    if law is not None:
        arrays["acting"] = program.inputs[1].size
    if form is not None:
        arrays["made"] = form.u + form.z
    code = _statements(interface, options, "size_t", " ".join([driver, x, *others, _RK4_NAMES, *arrays]))
    completed = write_rk4(code, _rk4_loop(code, interface, law, form, [x, *others]))
    remarks = [_HELD_REMARK.format(w=others[0])] if law is not None else []
    remarks += [_DELAY_REMARK] if form is not None else []
    text = _RK4.format(
        head=format_call(f"int {driver}", heads),
        arrays="\n".join(f"    {interface.real} {name}[{size}];" for name, size in arrays.items() if size),
        loop=code.text(),
        completed=completed,
    )
    header = _RK4_REMARK.format(function=driver, x=x, arrays="\n".join(lines), control="".join(remarks))
    includes = [interface.name] if law is None else [interface.name, law.name]
    return files | driver_files(driver, includes, header + prototype(text), text)


_RK4_NAMES = "h steps every held delay states done stage"


def _rk4_loop(
    code: Statements, interface: Interface, law: Interface | None, form: SampledSizes | None, names: list[str]
) -> Rk4Loop:
    """The arrays and calls in C that `write_rk4` builds its steps from.

    Args:
        code: the statements of the driver.
        interface: the C interface of the derivative.
        law: that of the control; None without one.
        form: sizes of the sampled form; None in the others.
        names: names of the state, of u (with a control: of w), and of the parameters.
    """
    x, *others = names
    n = interface.program.inputs[0].size
    m = interface.program.inputs[1].size if others else 0
    state_size = n if form is None else form.s + form.z + form.u
    state, at, acting = _array_vector(code, x), _array_vector(code, "at"), _array_vector(code, "acting")
    step, control = "", None

    def begin(index: str) -> None:
        nonlocal step
        step = index

    def evaluate(_: Index) -> None:
        passed = list(others)
        if law is not None:
            passed[0] = "acting"
        elif others:
            passed[0] = f"{others[0]} + {step} * {others[0]}_stride"
        code(format_call(interface.name, ["at", *passed, "slope"], 12) + ";")

    def store(following: str) -> None:
        row = f"({following} / every - 1) * {state_size}"
        code.each(state_size, lambda j: code(f"states[{row} + {j}] = {state.get(j)};"))

    if law is not None:
        result = "acting" if form is None else "made"

        def evaluate_control(row: str) -> None:
            passed = [x, f"{others[0]} + {row} * {others[0]}_stride", *others[1:], result]
            code(format_call(law.name, passed, 12) + ";")

        control = ControlLoop(acting, evaluate_control, "held")
        if form is not None:
            before = _array_vector(code, x, form.s + form.z)
            z = _array_vector(code, x, form.s), _array_vector(code, "made", form.u), form.z
            control = replace(
                control,
                outputs=_array_vector(code, "made"),
                before=before,
                delay="delay",
                carried=(z, (before, acting, m)),
            )
    return Rk4Loop(
        n=n,
        m=m,
        x=state,
        at=at,
        u=acting,
        slope=_array_vector(code, "slope"),
        total=_array_vector(code, "total"),
        after=at,
        begin=begin,
        evaluate=evaluate,
        h="h",
        steps="steps",
        is_stored=lambda following: f"every != 0 && states != NULL && {following} % every == 0",
        store=store,
        control=control,
    )
