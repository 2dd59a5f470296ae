"""A controller in C: a struct of the caller, a reset and a step."""

from __future__ import annotations

from collections.abc import Sequence

from nacelle.control.controller import Controller
from nacelle.control.fields import Fields
from nacelle.control.pieces.signals import BRIDGED, DESIRED_REFUSED, FINE, MEASURED_REFUSED, STOPPED
from nacelle.emit.c.interface import framed
from nacelle.emit.c.parts import c_constant, call
from nacelle.emit.names import remark
from nacelle.export.about import Package
from nacelle.export.c.assemble import ending, listed
from nacelle.export.loop.law import LAW, REST, gains_of, memory_of
from nacelle.kinematics.mechanism.mechanism import mechanism_of

_REMARK = """\
/*
 * {own}: the controller {kind}, sample time {period} s.
 *
 * A controller is a struct of the caller: any number of them, anywhere; nothing is allocated, nothing is kept
 * elsewhere. Parts of its memory and its gains lie at the places below; gains may be changed between samples.
 *
 * {own}_reset: memory at rest at a pose x, gains as they were tuned. Returns 0, or 1 where the pose is not
 * reached; the controller is then stopped.
 *
 * {own}_step: one sample. q are the readings, NaN where there is none; x_d, v_d, a_d the desired motion:
 * pose, reduced twist and its derivative; force is out. Returns
 *   {fine}  all is well
 *   {bridged}  readings are missing, and bridged
 *   {stopped}  stopped, now as they were missing for too long, or before: forces are zero until a reset
 *   {desired}  stopped now: the desired motion is not finite, out of reach, beyond limits of joints, faster
 *      than the drives or at a singularity
 *   {measured}  stopped now: so is the measured state
 * A sample that returns {stopped}, {desired} or {measured} gives no forces, and is not remembered otherwise.
 * Forces are finite always. No branch depends on the numbers but those inside math.h.
 */
"""

_SOURCE = """\
/* {own}: see the header. */
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
        c->memory[{stop}] = {desired};
    }}
    return status;
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
        c->memory[{stop}] = {desired};
        return before ? {stopped} : {desired};
    }}
    for (int i = 0; i < {nz}; ++i) {{
        c->memory[i] = memory[i];
    }}
    if (memory[{stop}] > 0) {{
        return before ? {stopped} : (int)memory[{stop}];
    }}
    return {missed};
}}
"""


def names_of(package: Package, real: str) -> tuple[str, str, str]:
    """Names of the struct, of reset and of step in a precision."""
    own, end = f"{package.name}_controller", ending(real)
    return f"{own}{end}", f"{own}_reset{end}", f"{own}_step{end}"


def _heads(package: Package, real: str) -> tuple[str, str]:
    struct, reset, step = names_of(package, real)
    inputs = [f"const {real} *{name}" for name in ("q", "x_d", "v_d", "a_d")]
    return (
        call(f"int {reset}", [f"{struct} *c", f"const {real} *x"]),
        call(f"int {step}", [f"{struct} *c", *inputs, f"{real} *force"]),
    )


def _places(package: Package, what: str, fields: Fields, words: dict[str, str]) -> list[str]:
    """Macros for the places of parts, each with what it is."""
    prefix = f"{package.name}_controller_{what}".upper()
    lines = [f"#define {prefix}_SIZE {fields.size}"]
    for name, size in fields.sizes.items():
        if size:
            meaning = remark(words.get(f"{what}.{name}", ""))
            count = f"{size} number{'' if size == 1 else 's'}"
            place = fields.place(name).start
            lines.append(
                f"#define {prefix}_AT_{name.upper()} {place} /* {count}{'; ' * bool(meaning)}{meaning} */"
            )
    return lines


def controller_header(package: Package, controller: Controller, reals: Sequence[str]) -> str:
    """The header of a controller."""
    own = f"{package.name}_controller"
    words = controller.kind.words()
    lines = [
        *_places(package, "memory", memory_of(controller), words),
        *_places(package, "gains", gains_of(controller), words),
        f"#define {own.upper()}_PERIOD {c_constant(controller.period, 'double')}",
        "",
    ]
    for real in reals:
        struct = names_of(package, real)[0]
        lines += [
            "typedef struct {",
            f"    {real} memory[{memory_of(controller).size}];",
            f"    {real} gains[{gains_of(controller).size}];",
            f"}} {struct};",
            "",
            *(f"{head};" for head in _heads(package, real)),
            "",
        ]
    about = _REMARK.format(
        own=own,
        kind=remark(controller.name),
        period=repr(controller.period),
        fine=FINE,
        bridged=BRIDGED,
        stopped=STOPPED,
        desired=DESIRED_REFUSED,
        measured=MEASURED_REFUSED,
    )
    return about + "\n".join(framed(f"{own}_h_included", [], lines))


def controller_source(package: Package, controller: Controller, real: str) -> tuple[str, str]:
    """File name and text of reset and step."""
    name, end = package.name, ending(real)
    memory, ny = memory_of(controller), mechanism_of(package.robot).ny
    reset, step = _heads(package, real)
    missed = f"(memory[{memory.place('missed').start}] > 0) ? {BRIDGED} : {FINE}"
    law = ["c->memory", "q", "x_d", "v_d", "a_d", "c->gains", "force", "memory"]
    return f"{names_of(package, real)[0]}.c", _SOURCE.format(
        own=names_of(package, real)[0],
        package=name,
        real=real,
        ng=gains_of(controller).size,
        gains=listed(controller.gains, real),
        reset=reset,
        unknown=f"    {real} y[{ny}];\n" if ny else "",
        assemble=f"{name}_assemble{end}({'x, y' if ny else 'x'})",
        rest=f"{name}_{REST}{end}({'x, y' if ny else 'x'}, c->memory)",
        nz=memory.size,
        stop=memory.place("stopped").start,
        step=step,
        law=call(f"{name}_{LAW}{end}", law, 4),
        m=len(package.robot.actuators),
        missed=missed if "missed" in memory.sizes else FINE,
        stopped=STOPPED,
        desired=DESIRED_REFUSED,
    )
