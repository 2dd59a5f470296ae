"""The self-test of a CUDA package: reference vectors against every function, over whole and broken tiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nacelle.export.about import Package
from nacelle.export.c.self_test import CHECKS, ENDS, data_tables, entry_ending, error_limit, error_scale
from nacelle.export.entry import Entry
from nacelle.export.vectors import CAP, ClosedLegs, Vectors

# States of a run: whole tiles and a rest; the reference states follow each other again and again. The second
# distance of rows is no multiple of 16 bytes: such rows are loaded without tiles.
_COUNT = 1000

_HEAD = """\
/*
 * Self-test of {name}: every function at {states} states around the reference pose, against results that were
 * computed with 50 digits. Errors count relative to the largest entry of an output. Returns 0 if all is well,
 * 77 if there is no CUDA device.
 *
 * {origin}
 */
#include "{name}.h"

#include <cmath>
#include <cstdio>
#include <cuda_runtime.h>
#include <vector>

#define STATES {states}
#define COUNT {count}

"""

_DEVICE = """\
/* Rows on the device, ld numbers apart. */
template <typename real> struct Rows {
    real *place = nullptr;
    int size;
    size_t ld;
    Rows(int size, size_t ld) : size(size), ld(ld)
    {
        if (size > 0 && cudaMalloc((void **)&place, size * ld * sizeof(real)) != cudaSuccess) place = nullptr;
        if (place != nullptr) cudaMemset(place, 0xff, size * ld * sizeof(real)); /* NaN */
    }
    ~Rows() { cudaFree(place); }
    Rows(const Rows &) = delete;
    template <int width> void fill(const double (*table)[width])
    {
        std::vector<real> host(size * ld);
        for (int j = 0; j < size; ++j)
            for (int i = 0; i < COUNT; ++i) host[j * ld + i] = (real)table[i % STATES][j];
        cudaMemcpy(place, host.data(), host.size() * sizeof(real), cudaMemcpyHostToDevice);
    }
    /* The largest error relative to a number, or to a number for each entry of the table. */
    template <int width> double worst(const double (*table)[width], double scale, double before) const
    {
        return worst(table, [=](int, int) { return scale; }, before);
    }
    template <int width>
    double worst(const double (*table)[width], const double (*scales)[width], double before) const
    {
        return worst(table, [=](int i, int j) { return scales[i][j]; }, before);
    }
    template <int width, class Scale>
    double worst(const double (*table)[width], const Scale &scale, double before) const
    {
        std::vector<real> host(size * ld);
        if (cudaMemcpy(host.data(), place, host.size() * sizeof(real), cudaMemcpyDeviceToHost) != cudaSuccess)
            return HUGE_VAL;
        for (int j = 0; j < size; ++j)
            for (int i = 0; i < COUNT; ++i)
                before = worse(
                    before, (double)host[j * ld + i], table[i % STATES][j], scale(i % STATES, j));
        return before;
    }
};

"""

_MAIN = """\
int main(void)
{
    int devices = 0;
    const cudaError_t found = cudaGetDeviceCount(&devices);
    if (found != cudaSuccess || devices == 0) {
        printf("no CUDA device (%s): nothing was tested\\n", cudaGetErrorString(found));
        return 77;
    }
    int bad = 0;
"""


def self_test(package: Package, references: Mapping[str, Vectors], precisions: Sequence[str]) -> str:
    """Write test/self_test.cu."""
    states = next(iter(references.values())).states
    head = _HEAD.format(name=package.name, states=states, origin=package.origin, count=_COUNT)
    parts, calls = [head + CHECKS + _DEVICE], []
    for entry in package.entries:
        parts.append(data_tables(package, entry, references[entry.label]))
        for real in precisions:
            name = entry_ending(entry, real)
            parts.append(_check(package, entry, references[entry.label], real))
            calls.append(f"    bad += check_{name}();")
            closed = references[entry.label].closed
            if closed is not None:
                parts.append(_newton(package, entry, closed, real))
                calls.append(f"    bad += check_{name}_newton();")
    parts.append("\n".join([_MAIN + "\n".join(calls), *ENDS, "}", ""]))
    return "\n".join(parts)


def _check(package: Package, entry: Entry, vectors: Vectors, real: str) -> str:
    name = entry_ending(entry, real)
    inputs, outputs = entry.program.inputs, entry.program.outputs
    lines = [f"static int check_{name}(void)", "{"]
    lines += [f"    double worst{k} = 0.0;" for k in range(len(outputs))]
    lines += ["    int bad = 0;", "    for (size_t ld = COUNT; ld <= COUNT + 1; ++ld) {"]
    passed = []
    for kind, group in (("in", inputs), ("out", outputs)):
        for k, variable in enumerate(group):
            if not variable.size:
                continue
            lines.append(f"        Rows<{real}> {kind}{k}({variable.size}, ld);")
            if kind == "in":
                lines.append(f"        in{k}.fill({entry.label}_in{k});")
            passed.append(f"{kind}{k}.place, ld")
    lines.append(
        f"        if ({package.name}_{name}({', '.join([*passed, 'COUNT', '0'])}) != cudaSuccess) return 1;"
    )
    for k, (label, variable) in enumerate(zip(vectors.outputs, outputs, strict=True)):
        if variable.size:
            lines.append(
                f"        worst{k} = out{k}.worst({entry.label}_out{k}, "
                f"{error_scale(entry, vectors, label)}, worst{k});"
            )
    lines.append("    }")
    for k, label in enumerate(vectors.outputs):
        limit = error_limit(vectors, label, real)
        lines.append(f'    bad += report("{package.name}_{name}", "out {k}", worst{k}, {limit!r});')
    return "\n".join([*lines, "    return bad;", "}", ""])


def _newton(package: Package, entry: Entry, closed: ClosedLegs, real: str) -> str:
    """Newton's iteration from starts away from the solutions."""
    name = entry_ending(entry, real)
    y, x = (variable.size for variable in entry.program.inputs)
    rows = ", ".join(f"{letter}.place, COUNT" for letter in ("y0", "x", "y"))
    limit = closed.limit[real]
    tables = f"{entry.label}_closed, {entry.label}_condition"
    call = f"{package.name}_{name}_newton({rows}, counts, counts + COUNT"
    return "\n".join(
        [
            f"static int check_{name}_newton(void)",
            "{",
            f"    Rows<{real}> y0({y}, COUNT), x({x}, COUNT), y({y}, COUNT);",
            f"    y0.fill({entry.label}_in0);",
            f"    x.fill({entry.label}_in1);",
            "    long long *counts = nullptr;",
            "    if (cudaMalloc((void **)&counts, 2 * COUNT * sizeof *counts) != cudaSuccess) return 1;",
            f"    const cudaError_t error = {call}, {closed.tolerance[real]!r}, {CAP}, COUNT, 0);",
            "    const double worst =",
            f"        error == cudaSuccess ? y.worst({tables}, 0.0) : HUGE_VAL;",
            "    cudaFree(counts);",
            f'    return report("{package.name}_{name}_newton", "y / condition", worst, {limit!r});',
            "}",
            "",
        ]
    )
