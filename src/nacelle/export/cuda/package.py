"""The target `cuda`: header, kernels, CMake file and self-test; nvcc alone is needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from nacelle.emit.c.interface import framed
from nacelle.emit.cuda.header import HEADER
from nacelle.emit.cuda.kernel import KernelLayout, Launch, array_layout, kernels
from nacelle.emit.cuda.newton import newton_kernel
from nacelle.emit.cuda.plan import REGISTERS, CudaOptions
from nacelle.emit.names import remark
from nacelle.export.about import Package, count_text
from nacelle.export.c.self_test import entry_ending
from nacelle.export.cuda.build import cmake_file
from nacelle.export.cuda.launch import LAUNCH_HEADER, launch_head, launcher, newton_launcher, newton_prototype
from nacelle.export.cuda.self_test import self_test
from nacelle.export.entry import Entry
from nacelle.export.markdown import TRIAL, closed_words, readme
from nacelle.export.vectors import ClosedLegs, Vectors


def cuda_files(
    package: Package, references: Mapping[str, Vectors], precisions: Sequence[str]
) -> dict[str, str]:
    """Write all files of a CUDA package, by their path in it.

    Args:
        package: what is exported.
        references: reference vectors by label.
        precisions: "double", "float", or both.
    """
    sources: dict[str, str] = {}
    notes: dict[str, list[str]] = {}
    declared: list[str] = []
    for entry in package.entries:
        for real in precisions:
            name = f"{package.name}_{entry_ending(entry, real)}"
            options = _options(name, real)
            layout = array_layout(entry.program, options)
            made = kernels(entry.program, options)
            text = made.text + "\n" + launcher(layout, made, name)
            declared += [*_remark(entry, layout), f"{launch_head(layout, name)};", ""]
            if entry.closes:
                driver = newton_kernel(entry.program, options)
                text += "\n" + driver.text + "\n" + newton_launcher(driver, real, f"{name}_newton")
                declared += [*_NEWTON, f"{newton_prototype(real, f'{name}_newton')};", ""]
            sources[f"{name}.cu"] = _source(package, text)
            used = made.tiled or made.plain
            notes.setdefault(entry.label, []).append(f"In {real}: {_note(used)}")
    name = package.name
    closed = next((found.closed for found in references.values() if found.closed is not None), None)
    files = {f"include/{name}.h": _header(package, declared)}
    files |= {f"src/{file}": text for file, text in sources.items()}
    files["src/nacelle_cuda.cuh"] = HEADER.lstrip()
    files["src/nacelle_launch.cuh"] = LAUNCH_HEADER
    files["test/self_test.cu"] = self_test(package, references, precisions)
    files["CMakeLists.txt"] = cmake_file(name, sorted(sources))
    files["README.md"] = readme(
        package, _use(package, closed, precisions), {label: " ".join(texts) for label, texts in notes.items()}
    )
    return files


def _note(used: Launch) -> str:
    """How a kernel is laid out."""
    return (
        f"{used.states} state{'' if used.states == 1 else 's'} a thread, {used.blocks} blocks a "
        f"multiprocessor ({REGISTERS[used.blocks]} registers at most), {used.shared_bytes} bytes of shared "
        f"memory a block, {used.aside} values put aside in it."
    )


def _options(name: str, real: str) -> CudaOptions:
    options = CudaOptions(name=name)
    return replace(options, real="float") if real == "float" else options


_NEWTON = (
    "/*",
    " * Newton's iteration around the step: from starts y0 at the poses p to y. For each state the steps",
    " * taken, and 0 converged, 1 the cap was reached, 2 a number was not finite.",
    " */",
)


def _remark(entry: Entry, layout: KernelLayout) -> list[str]:
    """What a function is, in a comment."""
    lines = ["/*", f" * {remark(entry.title)}.", f" * {count_text(entry.count)}; {layout.options.real}."]
    for kind, arrays in (("in", layout.inputs), ("out", layout.outputs)):
        lines += [
            f" *   {kind:4s}{a.name}: {a.size} rows; {remark(entry.words.get(a.variable.name, ''))}"
            for a in arrays
            if a.size
        ]
    return [*lines, " */"]


def _header(package: Package, declared: list[str]) -> str:
    lines = [
        "/*",
        f" * Models of the robot {remark(package.robot.name)} on a CUDA device.",
        f" * {package.origin}",
        " *",
        " * Arrays are on the device, as structures of arrays: entry j of state i is at base[j * ld + i], ld",
        " * the distance of rows in numbers. Rows that begin at multiples of 16 bytes are brought by the",
        " * copy engine on devices of compute capability 9 and later, which is faster. Functions return",
        " * after the launch.",
        " *",
        " * NaN passes through. Quotients and roots are within two units in the last place, and NaN where",
        " * IEEE gives infinities or 0 (divisors 0, infinite, subnormal); sines beyond 105615 rad are NaN.",
        " */",
    ]
    frame = framed(f"{package.name}_h_included", ["<stddef.h>", "<cuda_runtime_api.h>"], declared)
    return "\n".join(lines + frame)


def _source(package: Package, text: str) -> str:
    head = [
        '#include "nacelle_cuda.cuh"',
        '#include "nacelle_launch.cuh"',
        f'#include "{package.name}.h"',
        "",
    ]
    return "\n".join([f"/* {package.origin} */", *head, text])


def _use(package: Package, closed: ClosedLegs | None, precisions: Sequence[str]) -> list[str]:
    name = package.name
    lines = [
        "## Building and testing",
        "",
        "With CMake and nvcc (CUDA 12 or later):",
        "",
        "    cmake -S . -B build && cmake --build build && ctest --test-dir build --output-on-failure",
        "",
        "By hand:",
        "",
        "    nvcc -O3 -std=c++17 -arch=native -Iinclude src/*.cu test/self_test.cu -o self_test",
        "    ./self_test",
        "",
        "The self-test compares every function with results that were computed with 50 digits, prints the "
        "worst error of each output and returns 0 if all of them are within their tolerance; 77 if there is "
        "no device.",
        "",
        TRIAL,
        "",
        "## Calling",
        "",
        f"Include `{name}.h`. Arguments are arrays of the device with the distance of their rows, inputs "
        "first, in the order of the tables below, then the number of states and a stream. Entry j of state "
        "i is at `base[j * ld + i]`; matrices lie row by row. Functions in float end in `_f`.",
    ]
    if package.iterated is not None and closed is not None:
        lines += [
            "",
            f"Legs of this robot are found by iteration: `{name}_{package.iterated.label}_newton` gives "
            f"their y at the poses, from starts near them, to a tolerance such as "
            f"{closed.tolerance['double']:g} in double and {closed.tolerance['float']:g} in float.",
            "",
            *closed_words(closed, precisions),
        ]
    return lines
