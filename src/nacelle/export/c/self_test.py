"""The self-test of a C package: reference vectors against every function, in both precisions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nacelle.emit.c.interface import COptions, Interface
from nacelle.emit.c.parts import c_constant
from nacelle.export.about import Package
from nacelle.export.c.samples_test import samples_check, samples_data
from nacelle.export.entry import Entry
from nacelle.export.loop.recorded import RecordedSamples
from nacelle.export.vectors import CAP, ClosedLegs, Vectors
from nacelle.spatial.scalar import Array

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


ENDS = (
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
    references: Mapping[str, Vectors],
    precisions: Sequence[str],
    samples: RecordedSamples | None = None,
) -> str:
    """Write test/self_test.c.

    Args:
        package: the package.
        references: reference vectors by label.
        precisions: "double", "float".
        samples: of the controller, if there is one.
    """
    states = next(iter(references.values())).states
    parts = [_HEAD.format(name=package.name, states=states, origin=package.origin) + CHECKS]
    calls = []
    for entry in package.entries:
        vectors = references[entry.label]
        parts.append(data_tables(package, entry, vectors))
        for real in precisions:
            parts.append(_check(package, entry, vectors, real))
            calls.append(f"    bad += check_{entry_ending(entry, real)}();")
            if vectors.closed is not None:
                parts.append(_newton(package, entry, vectors.closed, real))
                calls.append(f"    bad += check_{entry_ending(entry, real)}_newton();")
    controller = package.wanted.controller
    if controller is not None and samples is not None:
        parts.append(samples_data(package, controller, samples))
        for real in precisions:
            check, text = samples_check(package, controller, samples, real)
            parts.append(text)
            calls.append(f"    bad += {check}();")
    parts.append("\n".join(["int main(void)", "{", "    int bad = 0;", *calls, *ENDS, "}", ""]))
    return "\n".join(parts)


def entry_ending(entry: Entry, real: str) -> str:
    """The name of a function behind the package's, in a precision."""
    return entry.label + ("_f" if real == "float" else "")


def _interface(package: Package, entry: Entry, real: str) -> Interface:
    name = f"{package.name}_{entry_ending(entry, real)}"
    return Interface(entry.program, COptions(real="float" if real == "float" else "double", name=name))


def _table(name: str, values: Array) -> str:
    rows = []
    for row in values.tolist():
        texts = [repr(value) for value in row]
        lines = [", ".join(texts[k : k + 4]) for k in range(0, len(texts), 4)]
        rows.append("    {" + ",\n     ".join(lines) + "},")
    return "\n".join([f"static const double {name}[STATES][{values.shape[1]}] = {{", *rows, "};", ""])


def data_tables(package: Package, entry: Entry, vectors: Vectors) -> str:
    """Tables of inputs and outputs, numbered: names of variables are for the eye alone."""
    tables = [f"/* {package.name}_{entry.label} */"]
    for k, values in enumerate(vectors.inputs.values()):
        tables.append(_table(f"{entry.label}_in{k}", values))
    for k, values in enumerate(vectors.outputs.values()):
        tables.append(_table(f"{entry.label}_out{k}", values))
    if vectors.closed is not None:
        tables += [
            _table(f"{entry.label}_closed", vectors.closed.y),
            "/* By how much y moves where the loops open by their size: an iteration that closes them to a",
            " * tolerance knows y to the tolerance times this. */",
            _table(f"{entry.label}_condition", vectors.closed.condition),
        ]
    return "\n".join(tables)


def is_step(vectors: Vectors, name: str) -> bool:
    """Whether an output is the step of an iteration, whose errors count relative to the condition."""
    return vectors.closed is not None and name == "dy"


def error_scale(entry: Entry, vectors: Vectors, name: str, place: str = "") -> str:
    """What errors of an output count relative to: a number, or the table of the condition."""
    return f"{entry.label}_condition{place}" if is_step(vectors, name) else repr(vectors.scale[name])


def error_limit(vectors: Vectors, name: str, real: str) -> float:
    """The largest error of an output, relative to its scale, in a precision."""
    if vectors.closed is not None and is_step(vectors, name):
        return vectors.closed.step[real]
    return vectors.tolerance[real][name]


def _check(package: Package, entry: Entry, vectors: Vectors, real: str) -> str:
    interface = _interface(package, entry, real)
    sizes = [variable.size for variable in entry.program.inputs]
    results = [variable.size for variable in entry.program.outputs]
    lines = [f"static int check_{entry_ending(entry, real)}(void)", "{"]
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
        shown = f"{array.name}{' / condition' if is_step(vectors, name) else ''}"
        limit = error_limit(vectors, name, real)
        lines.append(f'    bad += report("{interface.name}", "{shown}", worst{k}, {limit!r});')
    return "\n".join([*lines, "    return bad;", "}", ""])


def _newton(package: Package, entry: Entry, closed: ClosedLegs, real: str) -> str:
    """Newton's iteration from starts away from the solutions."""
    interface = _interface(package, entry, real)
    y, x = (variable.size for variable in entry.program.inputs)
    tolerance = c_constant(closed.tolerance[real], real)
    call = f"{interface.name}_newton(y, x, {tolerance}, {CAP}, NULL, NULL)"
    return "\n".join(
        [
            f"static int check_{entry_ending(entry, real)}_newton(void)",
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
