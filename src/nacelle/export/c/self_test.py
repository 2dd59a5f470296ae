"""The self-test of a C package: reference numbers against every function, in both precisions.

Functions are held against reference vectors, a controller against samples in a row, memory carried on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from nacelle.control.controller import Controller
from nacelle.emit.c.parts import c_constant
from nacelle.emit.c.target import COptions, Interface
from nacelle.export.about import Package
from nacelle.export.c.assemble import KinematicsCheck, controller_names, precision_suffix, table_text
from nacelle.export.entry import Entry
from nacelle.export.loop import memory_fields
from nacelle.export.vectors import CAP, ClosedLoops, RecordedSamples, ReferenceVectors

# ---- a controller: samples in a row, memory carried on


_INPUTS = ("q", "x", "v", "a")

_CHECK = """\
/* {step}: all samples in a row, after a reset. */
static int check_{label}(void)
{{
    {struct} c;
{arrays}
    {real} start[{nx}];
    double worst[{count}] = {{0.0}};
    int wrong = 0;
    int bad = 0;
    for (int j = 0; j < {nz}; ++j) {{
        c.memory[j] = 7;
    }}
    for (int j = 0; j < {nx}; ++j) {{
        start[j] = ({real})controller_start[j];
    }}
    wrong += {reset}(&c, start) != 0;
    for (int i = -1; i < SAMPLES; ++i) {{
        if (i >= 0) {{
{filled}
            wrong += {step}(&c, q, x, v, a, force) != controller_status[i];
            for (int j = 0; j < {m}; ++j) {{
                worst[0] = worse(worst[0], (double)force[j], controller_force[i][j], controller_scale[0]);
            }}
        }}
        for (int j = 0; j < {nz}; ++j) {{
            const int part = controller_part[j];
            worst[part] = worse(worst[part], (double)c.memory[j], controller_memory[i + 1][j],
                                controller_scale[part]);
        }}
    }}
{reports}
    bad += report("{step}", "status", (double)wrong, 0.0);
    return bad;
}}
"""


def _array_text(kind: str, name: str, texts: list[str]) -> str:
    lines = [f"    {', '.join(texts[k : k + 8])}," for k in range(0, len(texts), 8)]
    return "\n".join([f"static const {kind} {name}[{len(texts)}] = {{", *lines, "};", ""])


def _compared_parts(controller: Controller) -> list[str]:
    """What is compared: forces, and the parts of the memory that have numbers."""
    return ["force", *(name for name, size in memory_fields(controller).sizes.items() if size)]


def sample_tables(package: Package, controller: Controller, samples: RecordedSamples) -> str:
    """Tables of the samples."""
    fields, parts = memory_fields(controller), _compared_parts(controller)
    part_of = [parts.index(name, 1) for name, size in fields.sizes.items() for _ in range(size)]
    rows = np.concatenate([samples.first[None], samples.memory])
    return "\n".join(
        [
            f"/* {package.name}_controller: samples in a row */",
            f"#define SAMPLES {len(samples.tau)}",
            "",
            *(table_text(f"controller_{name}", samples.inputs[name], "SAMPLES") for name in _INPUTS),
            table_text("controller_force", samples.tau, "SAMPLES"),
            table_text("controller_memory", rows, "SAMPLES + 1"),
            _array_text(
                "double",
                "controller_start",
                [c_constant(value, "double") for value in samples.start.tolist()],
            ),
            _array_text(
                "double", "controller_scale", [c_constant(samples.scale[name], "double") for name in parts]
            ),
            _array_text("int", "controller_status", [str(status) for status in samples.status]),
            _array_text("int", "controller_part", [str(part) for part in part_of]),
        ]
    )


def samples_check(
    package: Package, controller: Controller, samples: RecordedSamples, real: str
) -> tuple[str, str]:
    """Name of the function that compares, and its text."""
    struct, reset, step = controller_names(package, real)
    parts = _compared_parts(controller)
    sizes = {name: samples.inputs[name].shape[1] for name in _INPUTS} | {"force": samples.tau.shape[1]}
    filled = []
    for name in _INPUTS:
        filled += [
            f"            for (int j = 0; j < {sizes[name]}; ++j) {{",
            f"                {name}[j] = ({real})controller_{name}[i][j];",
            "            }",
        ]
    limits = samples.tolerance[real]
    reports = [
        f'    bad += report("{step}", "{name}", worst[{k}], {limits[name]!r});'
        for k, name in enumerate(parts)
    ]
    label = struct.removeprefix(f"{package.name}_")
    return f"check_{label}", _CHECK.format(
        label=label,
        struct=struct,
        reset=reset,
        step=step,
        real=real,
        arrays="\n".join(f"    {real} {name}[{size}];" for name, size in sizes.items()),
        nx=sizes["x"],
        count=len(parts),
        nz=memory_fields(controller).size,
        filled="\n".join(filled),
        m=sizes["force"],
        reports="\n".join(reports),
    )


# ---- every function


_HEAD = """\
/*
 * Self-test of {name}: every function at {states} states around the reference pose, against results that were
 * computed with 50 digits. Errors count relative to the largest entry of an output. Returns 0 if all is well.
 *
 * {origin}
 */
#include "{name}.h"

#include <math.h>
#include <stdio.h>

#define STATES {states}

"""

CHECKS = """\
/* The larger of an error so far and that of some numbers; infinite if one of them is NaN. */
static double worse(double worst, double found, double wanted, double scale)
{
    const double error = fabs(found - wanted) / scale;
    if (!(error <= worst)) {
        return (error == error) ? error : HUGE_VAL;
    }
    return worst;
}

/* Print a result; 1 if it is bad. */
static int report(const char *function, const char *output, double worst, double tolerance)
{
    const int good = worst <= tolerance;
    printf("%-45s %-14s worst error %.1e, tolerated %.1e: %s\\n", function, output, worst, tolerance,
           good ? "good" : "BAD");
    return good ? 0 : 1;
}

"""
"""Functions of a self-test that compare and report."""


MAIN_END = (
    "    if (bad != 0) {",
    '        printf("%d outputs are BAD\\n", bad);',
    "        return 1;",
    "    }",
    '    printf("all is well\\n");',
    "    return 0;",
)
"""The last lines of a self-test's main function."""


def self_test(
    package: Package,
    references: Mapping[str, ReferenceVectors],
    precisions: Sequence[str],
    samples: RecordedSamples | None = None,
    kinematics: KinematicsCheck | None = None,
    trajectory: str | None = None,
) -> str:
    """Write test/self_test.c.

    Args:
        package: the package.
        references: reference vectors by label.
        precisions: "double", "float".
        samples: of the controller, if there is one.
        kinematics: what is compared of them, if there are some.
        trajectory: tables and functions that compare one, `check_trajectory` in each precision.
    """
    states = next(iter(references.values())).states
    parts = [_HEAD.format(name=package.name, states=states, origin=package.origin) + CHECKS]
    calls = []
    for entry in package.entries:
        vectors = references[entry.label]
        parts.append(data_tables(package, entry, vectors))
        for real in precisions:
            parts.append(_check(package, entry, vectors, real))
            calls.append(f"    bad += check_{entry_suffix(entry, real)}();")
            if vectors.closed is not None:
                parts.append(_newton(package, entry, vectors.closed, real))
                calls.append(f"    bad += check_{entry_suffix(entry, real)}_newton();")
    if kinematics is not None:
        parts.append(kinematics.tables)
        for real in precisions:
            parts.append(kinematics.checks[real])
            calls.append(f"    bad += check_kinematics{'_f' if real == 'float' else ''}();")
    controller = package.request.controller
    if controller is not None and samples is not None:
        parts.append(sample_tables(package, controller, samples))
        for real in precisions:
            check, text = samples_check(package, controller, samples, real)
            parts.append(text)
            calls.append(f"    bad += {check}();")
    if trajectory is not None:
        parts.append(trajectory)
        calls += [f"    bad += check_trajectory{precision_suffix(real)}();" for real in precisions]
    parts.append("\n".join(["int main(void)", "{", "    int bad = 0;", *calls, *MAIN_END, "}", ""]))
    return "\n".join(parts)


def entry_suffix(entry: Entry, real: str) -> str:
    """The name of a function behind the package's, in a precision."""
    return entry.label + ("_f" if real == "float" else "")


def _interface(package: Package, entry: Entry, real: str) -> Interface:
    name = f"{package.name}_{entry_suffix(entry, real)}"
    return Interface(entry.program, COptions(real="float" if real == "float" else "double", name=name))


def data_tables(package: Package, entry: Entry, vectors: ReferenceVectors) -> str:
    """Tables of inputs and outputs, numbered: names of variables are for the eye alone."""
    tables = [f"/* {package.name}_{entry.label} */"]
    for k, values in enumerate(vectors.inputs.values()):
        tables.append(table_text(f"{entry.label}_in{k}", values))
    for k, values in enumerate(vectors.outputs.values()):
        tables.append(table_text(f"{entry.label}_out{k}", values))
    if vectors.closed is not None:
        tables += [
            table_text(f"{entry.label}_closed", vectors.closed.y),
            "/* By how much y moves where the loops open by their size: an iteration that closes them to a",
            " * tolerance knows y to the tolerance times this. */",
            table_text(f"{entry.label}_condition", vectors.closed.condition),
        ]
    return "\n".join(tables)


def is_step(vectors: ReferenceVectors, name: str) -> bool:
    """Whether an output is the step of an iteration, whose errors count relative to the condition."""
    return vectors.closed is not None and name == "dy"


def error_scale(entry: Entry, vectors: ReferenceVectors, name: str, subscript: str = "") -> str:
    """What errors of an output count relative to: a number, or the table of the condition."""
    return f"{entry.label}_condition{subscript}" if is_step(vectors, name) else repr(vectors.scale[name])


def error_limit(vectors: ReferenceVectors, name: str, real: str) -> float:
    """The largest error of an output, relative to its scale, in a precision."""
    if vectors.closed is not None and is_step(vectors, name):
        return vectors.closed.step[real]
    return vectors.tolerance[real][name]


def _check(package: Package, entry: Entry, vectors: ReferenceVectors, real: str) -> str:
    interface = _interface(package, entry, real)
    sizes = [variable.size for variable in entry.program.inputs]
    results = [variable.size for variable in entry.program.outputs]
    lines = [f"static int check_{entry_suffix(entry, real)}(void)", "{"]
    lines += [f"    {real} in{k}[{size}];" for k, size in enumerate(sizes)]
    lines += [f"    {real} out{k}[{size}];" for k, size in enumerate(results)]
    lines += [f"    double worst{k} = 0.0;" for k in range(len(results))]
    lines += ["    int bad = 0;", "    for (int i = 0; i < STATES; ++i) {"]
    for k, size in enumerate(sizes):
        lines += [
            f"        for (int j = 0; j < {size}; ++j) {{",
            f"            in{k}[j] = ({real}){entry.label}_in{k}[i][j];",
            "        }",
        ]
    passed = [f"in{k}" for k in range(len(sizes))] + [f"out{k}" for k in range(len(results))]
    lines.append(f"        {interface.name}({', '.join(passed)});")
    for k, (name, size) in enumerate(zip(vectors.outputs, results, strict=True)):
        lines += [
            f"        for (int j = 0; j < {size}; ++j) {{",
            f"            worst{k} = worse(worst{k}, (double)out{k}[j], {entry.label}_out{k}[i][j], "
            f"{error_scale(entry, vectors, name, '[i][j]')});",
            "        }",
        ]
    lines.append("    }")
    for k, (name, array) in enumerate(zip(vectors.outputs, interface.outputs, strict=True)):
        label = f"{array.name}{' / condition' if is_step(vectors, name) else ''}"
        limit = error_limit(vectors, name, real)
        lines.append(f'    bad += report("{interface.name}", "{label}", worst{k}, {limit!r});')
    return "\n".join([*lines, "    return bad;", "}", ""])


def _newton(package: Package, entry: Entry, closed: ClosedLoops, real: str) -> str:
    """Newton's iteration from starts away from the solutions."""
    interface = _interface(package, entry, real)
    y, x = (variable.size for variable in entry.program.inputs)
    tolerance = c_constant(closed.tolerance[real], real)
    call = f"{interface.name}_newton(y, x, {tolerance}, {CAP}, NULL, 0, NULL, NULL)"
    return "\n".join(
        [
            f"static int check_{entry_suffix(entry, real)}_newton(void)",
            "{",
            f"    {real} y[{y}];",
            f"    {real} x[{x}];",
            "    double worst = 0.0;",
            "    for (int i = 0; i < STATES; ++i) {",
            f"        for (int j = 0; j < {y}; ++j) {{",
            f"            y[j] = ({real}){entry.label}_in0[i][j];",
            "        }",
            f"        for (int j = 0; j < {x}; ++j) {{",
            f"            x[j] = ({real}){entry.label}_in1[i][j];",
            "        }",
            f"        if ({call} != 0) {{",
            "            worst = HUGE_VAL;",
            "        }",
            f"        for (int j = 0; j < {y}; ++j) {{",
            f"            worst = worse(worst, (double)y[j], {entry.label}_closed[i][j],",
            f"                          {entry.label}_condition[i][j]);",
            "        }",
            "    }",
            f'    return report("{interface.name}_newton", "y / condition", worst, {closed.limit[real]!r});',
            "}",
            "",
        ]
    )
