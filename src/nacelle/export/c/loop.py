"""A controller and a plant in a C package: their code and files, and what its README says of them.

A controller is a struct of the caller, a reset and a step; a plant starts with its state at rest at a pose.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from nacelle.control.blocks.signals import (
    BRIDGED,
    DESIRED_REFUSED,
    FINE,
    MEASURED_REFUSED,
    STOPPED,
    StopReason,
)
from nacelle.control.controller import Controller
from nacelle.control.gains import loop_quality
from nacelle.control.kind import VectorLayout
from nacelle.control.laws.safeguarded import STOPS, WILD_READINGS, safeguards_of
from nacelle.emit.c.parts import c_constant, format_call
from nacelle.emit.c.target import header_lines
from nacelle.emit.names import Identifiers, comment_text, identifier
from nacelle.export.about import Package, escape_markdown
from nacelle.export.c.assemble import (
    assemble_declaration,
    assemble_source,
    controller_names,
    number_lines,
    precision_suffix,
)
from nacelle.export.loop import LAW, REST, STATE, gain_fields, memory_fields
from nacelle.kinematics.mechanism.mechanism import mechanism_of

# ---- a controller: a struct of the caller, a reset and a step


_REMARK = """\
/*
 * {prefix}: the controller {kind}, sample time {period} s.
 *
 * A controller is a struct of the caller: any number of them, anywhere; nothing is allocated, nothing is kept
 * elsewhere. Parts of its memory and its gains lie at the places below; gains may be changed between samples.
 *
 * {prefix}_reset: memory at rest at a pose x, gains as they were tuned. Returns 0, or 1 where the pose is not
 * reached; the controller is then stopped, and gives no forces.
{encoders} *
 * {prefix}_step: one sample. q are the readings, NaN for a missing one; x_d, v_d, a_d the desired motion:
 * pose, reduced twist and its derivative; force is out. Returns
 *   {fine}  all is well
 *   {bridged}  readings are missing, and bridged
 *   {stopped}  stopped, now as they were missing for too long, or before, until a reset
 *   {desired}  stopped now: the desired motion is not finite, out of reach, beyond limits of joints, faster
 *      than the drives or at a singularity
 *   {measured}  stopped now: so is the measured state
 * A sample that returns {stopped}, {desired} or {measured} is not remembered otherwise.
 * A wild reading, further from the last than a described speed allows: {glitch}.
 * Forces after a stop: {stop}.
 * Forces are finite always. No branch depends on the numbers but those inside math.h.
{quality} *
 * {prefix}_reason: why it has stopped, of the enumeration below; {prefix}_reason_text: the same as a text.
 */
"""

_ENCODERS_REMARK = """\
 * {prefix}_reset_encoders: the same at the pose of readings q, which follows by forward kinematics along a
 * straight way from the reference pose; x out, where the desired motion is to begin. Returns 0; 1 where the
 * controller cannot start at the pose; 2 where a reading is not finite; 3 where a singularity or the end of
 * reach lies on the way; 4 where the way is too long. From 1 on the controller is stopped.
"""

_CONTROLLER_SOURCE = """\
/* {prefix}: see the header. */
#include "{package}.h"

#include <math.h>

static const {real} tuned[{ng}] = {{
{gains}
}};

{reset}
{{
{unknown}    int status = {assemble};
    {rest};
    for (int i = 0; i < {nz}; ++i) {{
        status = isfinite(c->memory[i]) ? status : 1;
    }}
    for (int i = 0; i < {ng}; ++i) {{
        c->gains[i] = tuned[i];
    }}
    if (status != 0) {{
        for (int i = 0; i < {nz}; ++i) {{
            c->memory[i] = 0;
        }}
        c->memory[{stop}] = {not_started};
    }}
    return status;
}}
{encoders}
{reason}
{{
    return (int)c->memory[{stop}];
}}

{step}
{{
    {real} memory[{nz}];
    const int before = c->memory[{stop}] > 0;
    int finite = 1;
    {law};
    for (int i = 0; i < {nz}; ++i) {{
        finite = (finite && isfinite(memory[i])) ? 1 : 0;
    }}
    for (int i = 0; i < {m}; ++i) {{
        finite = (finite && isfinite(force[i])) ? 1 : 0;
    }}
    if (!finite) {{
        for (int i = 0; i < {m}; ++i) {{
            force[i] = 0;
        }}
        c->memory[{stop}] = before ? c->memory[{stop}] : {not_finite};
        return before ? {stopped} : {desired};
    }}
    for (int i = 0; i < {nz}; ++i) {{
        c->memory[i] = memory[i];
    }}
    if (memory[{stop}] > 0) {{
        if (before || memory[{stop}] <= {missing}) {{
            return {stopped};
        }}
        return (memory[{stop}] <= {not_finite}) ? {desired} : {measured};
    }}
    return {missed};
}}
"""

_ENCODERS_SOURCE = """
{head}
{{
    {kinematics} s;
    {name}_kinematics_reset{end}(&s);
    const int found = {name}_forward{end}(&s, q, x);
    const int started = {reset}(c, x);
    if (found > 1) {{
        for (int i = 0; i < {nz}; ++i) {{
            c->memory[i] = 0;
        }}
        c->memory[{stop}] = {not_started};
        return found;
    }}
    return started;
}}
"""

_TEXTS_SOURCE = """\
/* {function}: see the header. */
#include "{package}.h"

const char *{function}(int {argument})
{{
    static const char *const texts[{count}] = {{
{texts}
    }};
    return ({argument} >= 0 && {argument} < {count}) ? texts[{argument}] : "unknown";
}}
"""


def _controller_prototypes(package: Package, real: str) -> tuple[str, str]:
    struct, reset, step = controller_names(package, real)
    inputs = [f"const {real} *{name}" for name in ("q", "x_d", "v_d", "a_d")]
    return (
        format_call(f"int {reset}", [f"{struct} *c", f"const {real} *x"]),
        format_call(f"int {step}", [f"{struct} *c", *inputs, f"{real} *force"]),
    )


def _reason_prototype(package: Package, real: str) -> str:
    struct = controller_names(package, real)[0]
    return f"int {package.name}_controller_reason{precision_suffix(real)}(const {struct} *c)"


def _encoders_prototype(package: Package, real: str) -> str:
    """The head of the start from encoders, where a package has forward kinematics."""
    struct, reset, _ = controller_names(package, real)
    name = f"{reset.removesuffix('_f')}_encoders{precision_suffix(real)}"
    return format_call(f"int {name}", [f"{struct} *c", f"const {real} *q", f"{real} *x"])


def _parameter_lines(package: Package, controller: Controller) -> list[str]:
    """The enumeration of the parameters that a law adapts, each with its name."""
    names = controller.kind.parameter_names(package.robot)
    if not names:
        return []
    prefix, identifiers = f"{package.name}_controller", Identifiers()
    lines = []
    for index, name in enumerate(names):
        constant = identifiers.unique(f"{package.name}_parameter_{identifier(name, 'p')}".upper())
        lines.append(f"    {constant} = {index}, /* {comment_text(name)} */")
    return [
        f"enum {prefix}_parameters {{",
        *lines,
        f"    {prefix.upper()}_PARAMETERS = {len(names)}",
        "};",
        "",
        f"const char *{prefix}_parameter_name(int index);",
        "",
    ]


def text_function(package: Package, name: str, argument: str, texts: Sequence[str]) -> tuple[str, str]:
    """File name and text of a function that gives texts by their numbers."""
    quoted = [comment_text(text).replace("\\", "\\\\").replace('"', '\\"') for text in texts]
    function = f"{package.name}_controller_{name}"
    return f"{function}.c", _TEXTS_SOURCE.format(
        function=function,
        package=package.name,
        argument=argument,
        count=len(texts),
        texts=",\n".join(f'        "{text}"' for text in quoted),
    )


def _reason_lines(package: Package) -> list[str]:
    """The enumeration of reasons."""
    prefix = f"{package.name}_controller"
    names = [f"    {prefix.upper()}_{reason.name} = {int(reason)}" for reason in StopReason]
    comments = [f" /* {reason.text} */" for reason in StopReason]
    commas = [","] * (len(names) - 1) + [""]
    lines = [name + comma + text for name, comma, text in zip(names, commas, comments, strict=True)]
    return [
        f"enum {prefix}_reasons {{",
        *lines,
        "};",
        "",
        f"const char *{prefix}_reason_text(int reason);",
        "",
    ]


def _offset_macros(package: Package, what: str, fields: VectorLayout, labels: dict[str, str]) -> list[str]:
    """Macros for the places of parts, each with what it is."""
    prefix = f"{package.name}_controller_{what}".upper()
    lines = [f"#define {prefix}_SIZE {fields.size}"]
    for name, size in fields.sizes.items():
        if size:
            meaning = comment_text(labels.get(f"{what}.{name}", ""))
            count = f"{size} number{'' if size == 1 else 's'}"
            offset = fields.slice_of(name).start
            lines.append(
                f"#define {prefix}_AT_{name.upper()} {offset} /* {count}{'; ' * bool(meaning)}{meaning} */"
            )
    return lines


def controller_header(package: Package, controller: Controller, reals: Sequence[str]) -> str:
    """The header of a controller."""
    prefix = f"{package.name}_controller"
    labels = controller.kind.labels
    lines = [
        *_offset_macros(package, "memory", memory_fields(controller), labels),
        *_offset_macros(package, "gains", gain_fields(controller), labels),
        f"#define {prefix.upper()}_PERIOD {c_constant(controller.period, reals[0])}",
        "",
        *_reason_lines(package),
        *_parameter_lines(package, controller),
    ]
    for real in reals:
        struct = controller_names(package, real)[0]
        lines += [
            "typedef struct {",
            f"    {real} memory[{memory_fields(controller).size}];",
            f"    {real} gains[{gain_fields(controller).size}];",
            f"}} {struct};",
            "",
            *(f"{head};" for head in _controller_prototypes(package, real)),
            *([f"{_encoders_prototype(package, real)};"] if package.request.has_kinematics else []),
            f"{_reason_prototype(package, real)};",
            "",
        ]
    guards = safeguards_of(controller.kind)
    about = _REMARK.format(
        prefix=prefix,
        encoders=_ENCODERS_REMARK.format(prefix=prefix) if package.request.has_kinematics else "",
        quality="".join(f" * {line}\n" for line in _quality_lines(controller)),
        stop=STOPS[guards.on_stop],
        glitch=WILD_READINGS[guards.on_glitch],
        kind=comment_text(controller.name),
        period=repr(controller.period),
        fine=FINE,
        bridged=BRIDGED,
        stopped=STOPPED,
        desired=DESIRED_REFUSED,
        measured=MEASURED_REFUSED,
    )
    return about + "\n".join(header_lines(f"{prefix}_h_included", [], lines))


def controller_source(package: Package, controller: Controller, real: str) -> tuple[str, str]:
    """File name and text of resets, step and reason."""
    name, end = package.name, precision_suffix(real)
    memory, ny = memory_fields(controller), mechanism_of(package.robot).unknown_count
    reset, step = _controller_prototypes(package, real)
    missed = f"(memory[{memory.slice_of('missed').start}] > 0) ? {BRIDGED} : {FINE}"
    law = ["c->memory", "q", "x_d", "v_d", "a_d", "c->gains", "force", "memory"]
    stop, encoders = memory.slice_of("stopped").start, ""
    if package.request.has_kinematics:
        encoders = _ENCODERS_SOURCE.format(
            head=_encoders_prototype(package, real),
            kinematics=f"{name}_kinematics{end}",
            name=name,
            end=end,
            reset=controller_names(package, real)[1],
            nz=memory.size,
            stop=stop,
            not_started=int(StopReason.NOT_STARTED),
        )
    return f"{controller_names(package, real)[0]}.c", _CONTROLLER_SOURCE.format(
        prefix=controller_names(package, real)[0],
        package=name,
        real=real,
        ng=gain_fields(controller).size,
        gains=number_lines(controller.gains, real),
        reset=reset,
        unknown=f"    {real} y[{ny}];\n" if ny else "",
        assemble=f"{name}_assemble{end}({'x, y' if ny else 'x'})",
        rest=f"{name}_{REST}{end}({'x, y' if ny else 'x'}, c->memory)",
        nz=memory.size,
        stop=stop,
        encoders=encoders,
        reason=_reason_prototype(package, real),
        step=step,
        law=format_call(f"{name}_{LAW}{end}", law, 4),
        m=len(package.robot.actuators),
        missed=missed if "missed" in memory.sizes else FINE,
        stopped=STOPPED,
        desired=DESIRED_REFUSED,
        measured=MEASURED_REFUSED,
        not_started=int(StopReason.NOT_STARTED),
        missing=int(StopReason.READINGS_MISSING),
        not_finite=int(StopReason.FORCE_NOT_FINITE),
    )


# ---- the start of a plant: its state at rest at a pose


_PLANT_SOURCE = """\
/* {prefix}: see the header. */
#include "{package}.h"

{head}
{{
    const {real} v[{n}] = {{0}};
{unknown}    const int status = {assemble};
    if (status == 0) {{
        {state};
    }}
    return status;
}}
"""


def _plant_prototype(package: Package, real: str) -> str:
    return f"int {package.name}_plant_start{precision_suffix(real)}(const {real} *x, {real} *state)"


def plant_declaration(package: Package, reals: Sequence[str]) -> list[str]:
    """Remark and prototypes."""
    name = package.name
    return [
        "/*",
        f" * {name}_plant_start: the state of the plant at rest at a pose x.",
        " * Returns 0, or 1 where the pose is not reached; it is then left as it was.",
        " */",
        *(f"{_plant_prototype(package, real)};" for real in reals),
        "",
    ]


def plant_source(package: Package, real: str) -> tuple[str, str]:
    """File name and text of the start of a plant."""
    end, ny = precision_suffix(real), mechanism_of(package.robot).unknown_count
    at = "x, y" if ny else "x"
    function = f"{package.name}_plant_start{end}"
    return f"{function}.c", _PLANT_SOURCE.format(
        prefix=function,
        package=package.name,
        real=real,
        head=_plant_prototype(package, real),
        n=package.robot.motion.n,
        unknown=f"    {real} y[{ny}];\n" if ny else "",
        assemble=f"{package.name}_assemble{end}({at})",
        state=f"{package.name}_{STATE}{end}({at}, v, state)",
    )


# ---- files, and what the README says of them


# Numbers of a part that are listed.
_SHOWN = 8


class LoopPart(NamedTuple):
    """What a controller and a plant add to a package.

    Attributes:
        headers: texts by file name.
        sources: texts by file name.
        declared: lines of the package's header.
    """

    headers: dict[str, str]
    sources: dict[str, str]
    declared: list[str]


def loop_part(package: Package, precisions: Sequence[str], tolerances: Mapping[str, float]) -> LoopPart:
    """The files of a controller and of a plant; none if there is neither. Legs are closed to tolerances."""
    request, reals = package.request, tuple(precisions)
    if not request.loop:
        return LoopPart({}, {}, [])
    sources = dict(assemble_source(package, real, tolerances[real]) for real in reals)
    declared, headers = assemble_declaration(package, reals), {}
    if request.controller is not None:
        headers[f"{package.name}_controller.h"] = controller_header(package, request.controller, reals)
        sources |= dict(controller_source(package, request.controller, real) for real in reals)
        texts = [text_function(package, "reason_text", "reason", [reason.text for reason in StopReason])]
        names = request.controller.kind.parameter_names(package.robot)
        if names:
            texts.append(text_function(package, "parameter_name", "index", names))
        sources |= dict(texts)
    if request.plant:
        declared += plant_declaration(package, reals)
        sources |= dict(plant_source(package, real) for real in reals)
    return LoopPart(headers, sources, declared)


def loop_readme(package: Package, real: str) -> list[str]:
    """Paragraphs of the README, with calls in a precision."""
    request = package.request
    lines = [] if request.controller is None else _controller_readme(package, request.controller, real)
    return lines + (_plant_readme(package, real) if request.plant else [])


def _controller_readme(package: Package, controller: Controller, real: str) -> list[str]:
    struct, reset, step = controller_names(package, real)
    guards = safeguards_of(controller.kind)
    end = precision_suffix(real)
    lines = [
        "",
        "## The controller",
        "",
        f"`{controller.name}` with a sample time of {controller.period:g} s. Its memory and its gains are "
        "a struct of the caller, so there may be any number of controllers. What its model includes, "
        "friction too, is a matter of its kind.",
        "",
        f"    {struct} c;",
        f"    {real} force[{len(package.robot.actuators)}];",
        f"    if ({reset}(&c, x) != 0) {{ /* the pose x is not reached */ }}",
        "    /* at every sample: readings q, desired pose, twist and its derivative */",
        f"    switch ({step}(&c, q, x_d, v_d, a_d, force)) {{",
        "    case 0: /* all is well */ break;",
        "    case 1: /* readings are missing (NaN) and bridged */ break;",
        "    case 2: /* stopped, now for that or before, until a reset */ break;",
        "    case 3: /* stopped now by the desired motion: see the header */ break;",
        "    case 4: /* stopped now by the measured state */ break;",
        "    }",
        f"    puts({package.name}_controller_reason_text({package.name}_controller_reason{end}(&c)));",
        "",
        f"Forces after a stop: {STOPS[guards.on_stop]}. A wild reading, further from the last than a "
        f"described speed allows: {WILD_READINGS[guards.on_glitch]}. Reasons of a stop are numbers of "
        f"`enum {package.name}_controller_reasons`.",
        "",
        _encoders_note(package, real),
        "",
        "Forces are finite always. A step has no loops but over the entries of arrays: its count is the "
        "worst case and every case. In float the struct, reset and step end in `_f`.",
        "",
        *_ripple_table(controller),
        f"Parts of the struct, for instance `c.memory[{package.name.upper()}_CONTROLLER_MEMORY_AT_STOPPED]`:",
        "",
        "| array | part | at | numbers | after a reset | what it is |",
        "|---|---|---|---|---|---|",
    ]
    return lines + _field_rows(controller) + _parameter_rows(controller)


def _quality_lines(controller: Controller) -> list[str]:
    """The loop of a tuned controller in lines: bandwidth, damping, delay margin."""
    if controller.tuned is None:
        return []
    quality, tuned = loop_quality(controller, controller.tuned), controller.tuned
    lines = [
        f"Loop of {tuned.bandwidth:.4g} Hz at a delay of {1e3 * tuned.specification.delay:.3g} ms: damping "
        f"ratio {quality.damping:.2f}, delay margin {1e3 * quality.delay_margin:.3g} ms."
    ]
    if tuned.forced:
        lines.insert(0, "FORCED GAINS: this loop was refused, and taken as it is.")
    return lines


def _ripple_table(controller: Controller) -> list[str]:
    """Paragraphs on the loop: damping, delay margin, and the force that a count of an encoder makes."""
    if controller.tuned is None:
        return []
    quality, robot = loop_quality(controller, controller.tuned), controller.robot
    lines = [
        *_quality_lines(controller),
        "Both are the worst over the workspace. The table has the largest force that one count of an "
        "encoder makes, what of it is left with the gain `damping` at zero, and its part of the limit.",
        "",
        "| actuator | count, rad or m | force of a count, N or N m | of the position | of the limit |",
        "|---|---|---|---|---|",
    ]
    counts = controller.tuned.specification.resolution
    rows = zip(robot.actuators, counts, quality.ripple, quality.ripple_of_position, strict=True)
    for actuator, count, ripple, of_position in rows:
        share = f"{100.0 * ripple / actuator.force:.3g} %" if math.isfinite(actuator.force) else "-"
        name = escape_markdown(actuator.name)
        lines.append(f"| {name} | {count:.4g} | {ripple:.4g} | {of_position:.4g} | {share} |")
    return [*lines, ""]


def _encoders_note(package: Package, real: str) -> str:
    """How a controller starts from the encoders alone."""
    if not package.request.has_kinematics:
        return (
            "A start from the encoders alone needs forward kinematics: export the model `kinematics` with "
            "the controller (`--model kinematics`)."
        )
    function = f"{package.name}_controller_reset_encoders{precision_suffix(real)}"
    return (
        f"`{function}(&c, q, x)` starts from readings q alone: x is the pose that they have, by forward "
        "kinematics from the reference pose; it returns 0, or why it cannot start (see the header)."
    )


def _parameter_rows(controller: Controller) -> list[str]:
    """The table of the parameters that a law adapts."""
    names = controller.kind.parameter_names(controller.robot)
    if not names:
        return []
    fields = memory_fields(controller)
    first = fields.slice_of("parameters").start
    rows = [f"| {index} | {first + index} | {escape_markdown(name)} |" for index, name in enumerate(names)]
    return ["", "Parameters that are adapted:", "", "| number | at | name |", "|---|---|---|", *rows]


def _field_rows(controller: Controller) -> list[str]:
    """Rows of the table of parts."""
    labels, rows = controller.kind.labels, []
    for what, fields in (("memory", memory_fields(controller)), ("gains", gain_fields(controller))):
        for name, size in fields.sizes.items():
            if not size:
                continue
            first = "at rest at x"
            if what == "gains":
                values = controller.gains[fields.slice_of(name)]
                first = ", ".join(f"{value:.6g}" for value in values[:_SHOWN])
                first += ", ..." if size > _SHOWN else ""
            description = escape_markdown(labels.get(f"{what}.{name}", ""))
            rows.append(
                f"| {what} | {escape_markdown(name)} | {fields.slice_of(name).start} | {size} | {first} "
                f"| {description} |"
            )
    return rows


def _plant_readme(package: Package, real: str) -> list[str]:
    prefix, end = f"{package.name}_plant", precision_suffix(real)
    return [
        "",
        "## The plant",
        "",
        "The robot itself, for a simulation of the loop; friction as said above. Forces are held.",
        "",
        f"    {real} state[{prefix.upper()}_STATE_SIZE];",
        f"    {prefix}_start{end}(x, state); /* at rest at a pose; 0 if it is reached */",
        f"    {prefix}_encoders{end}(state, q); /* what the encoders show */",
        f"    {prefix}{end}_rk4(state, force, 0, h, steps, 0, NULL, NULL); /* steps of h s; 0 if finite */",
        f"    {prefix}_pose{end}(state, x, v); /* pose and twist of the platform */",
    ]
