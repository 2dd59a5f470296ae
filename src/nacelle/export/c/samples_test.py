"""The self-test of a controller in a C package: samples in a row, memory carried on, in both precisions."""

from __future__ import annotations

import numpy as np

from nacelle.control.controller import Controller
from nacelle.emit.c.parts import c_constant
from nacelle.export.about import Package
from nacelle.export.c.controller import names_of
from nacelle.export.loop.law import memory_of
from nacelle.export.loop.recorded import RecordedSamples
from nacelle.spatial.scalar import Array

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


def _table(name: str, values: Array, count: str) -> str:
    rows = []
    for row in values.tolist():
        texts = [c_constant(value, "double") for value in row]
        lines = [", ".join(texts[k : k + 4]) for k in range(0, len(texts), 4)]
        rows.append("    {" + ",\n     ".join(lines) + "},")
    return "\n".join([f"static const double {name}[{count}][{values.shape[1]}] = {{", *rows, "};", ""])


def _row(kind: str, name: str, texts: list[str]) -> str:
    lines = [f"    {', '.join(texts[k : k + 8])}," for k in range(0, len(texts), 8)]
    return "\n".join([f"static const {kind} {name}[{len(texts)}] = {{", *lines, "};", ""])


def _parts(controller: Controller) -> list[str]:
    """What is compared: forces, and the parts of the memory that have numbers."""
    return ["force", *(name for name, size in memory_of(controller).sizes.items() if size)]


def samples_data(package: Package, controller: Controller, samples: RecordedSamples) -> str:
    """Tables of the samples."""
    fields, parts = memory_of(controller), _parts(controller)
    places = [parts.index(name, 1) for name, size in fields.sizes.items() for _ in range(size)]
    rows = np.concatenate([samples.first[None], samples.memory])
    return "\n".join(
        [
            f"/* {package.name}_controller: samples in a row */",
            f"#define SAMPLES {len(samples.force)}",
            "",
            *(_table(f"controller_{name}", samples.inputs[name], "SAMPLES") for name in _INPUTS),
            _table("controller_force", samples.force, "SAMPLES"),
            _table("controller_memory", rows, "SAMPLES + 1"),
            _row(
                "double",
                "controller_start",
                [c_constant(value, "double") for value in samples.start.tolist()],
            ),
            _row("double", "controller_scale", [c_constant(samples.scale[name], "double") for name in parts]),
            _row("int", "controller_status", [str(status) for status in samples.status]),
            _row("int", "controller_part", [str(place) for place in places]),
        ]
    )


def samples_check(
    package: Package, controller: Controller, samples: RecordedSamples, real: str
) -> tuple[str, str]:
    """Name of the function that compares, and its text."""
    struct, reset, step = names_of(package, real)
    parts = _parts(controller)
    sizes = {name: samples.inputs[name].shape[1] for name in _INPUTS} | {"force": samples.force.shape[1]}
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
        nz=memory_of(controller).size,
        filled="\n".join(filled),
        m=sizes["force"],
        reports="\n".join(reports),
    )
