"""The target `c`: header, sources, CMake file, Makefile, self-test; double and float side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from nacelle.control.controller import Controller
from nacelle.emit.c.driver import newton_source, rk4_source, track_source
from nacelle.emit.c.target import COptions, Interface, c_definition, header_lines
from nacelle.emit.names import Identifiers, comment_text
from nacelle.errors import ExportError, did_you_mean
from nacelle.export.about import (
    CONVENTIONS,
    SELF_TEST_MARK,
    Package,
    count_text,
    friction_note,
    monitoring_notes,
    readme_text,
)
from nacelle.export.c.cpp import kinematics_hpp
from nacelle.export.c.embedded import EMBEDDED, embedded_readme
from nacelle.export.c.kinematics import (
    geometry_size,
    kinematics_check,
    kinematics_header,
    kinematics_source,
    kinematics_tolerances,
)
from nacelle.export.c.loop import loop_part, loop_readme
from nacelle.export.c.self_test import self_test
from nacelle.export.c.trajectory import TrajectoryCode
from nacelle.export.entry import Entry
from nacelle.export.target import PRECISIONS, ExportTarget
from nacelle.export.vectors import (
    CAP,
    TOLERANCES,
    ClosedLoops,
    ReferenceVectors,
    accuracy_note,
    record_samples,
)
from nacelle.trajectory import Trajectory

# ---- CMake file and Makefile


LIBRARY = """\
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release)
endif()

add_library({name} STATIC
{sources}
)
target_include_directories({name} PUBLIC
  $<BUILD_INTERFACE:${{CMAKE_CURRENT_SOURCE_DIR}}/include>
  $<INSTALL_INTERFACE:include>
)
"""
"""What CMake needs of the library of any package."""

_CMAKE = (
    """\
# {name}: a static library and its self-test.
cmake_minimum_required(VERSION 3.10)
project({name} C)

"""
    + LIBRARY
    + """\
set_target_properties({name} PROPERTIES
  C_STANDARD 99
  C_STANDARD_REQUIRED ON
  C_EXTENSIONS OFF
)
# Roots and choices as instructions. Never -ffast-math: NaN must pass through.
if(CMAKE_C_COMPILER_ID MATCHES "GNU|Clang")
  target_compile_options({name} PRIVATE -fno-math-errno -fno-trapping-math)
endif()
if(UNIX)
  target_link_libraries({name} PUBLIC m)
endif()

install(TARGETS {name} ARCHIVE DESTINATION lib)
install(FILES
{headers}
  DESTINATION include
)

include(CTest)
if(BUILD_TESTING)
  add_executable({name}_self_test test/self_test.c)
  set_target_properties({name}_self_test PROPERTIES
    C_STANDARD 99
    C_STANDARD_REQUIRED ON
    C_EXTENSIONS OFF
  )
  target_link_libraries({name}_self_test PRIVATE {name})
  add_test(NAME {name}_self_test COMMAND {name}_self_test)
endif()
"""
)

_MAKE = """\
# {name}: a static library and its self-test. CC, AR and CFLAGS are yours to choose.
CC ?= cc
AR ?= ar
CFLAGS ?= -O3
REQUIRED := -std=c99 -fno-math-errno -fno-trapping-math -Iinclude

OBJECTS := \\
{objects}

.PHONY: all test clean

all: build/lib{name}.a

test: build/self_test
\t./build/self_test

build/self_test: test/self_test.c build/lib{name}.a
\t$(CC) $(CFLAGS) $(REQUIRED) $^ -lm -o $@

build/lib{name}.a: $(OBJECTS)
\t$(AR) rcs $@ $^

build/%.o: src/%.c $(wildcard include/*.h)
\t@mkdir -p build
\t$(CC) $(CFLAGS) $(REQUIRED) -c $< -o $@

clean:
\trm -rf build
"""


def cmake_file(name: str, sources: Sequence[str], headers: Sequence[str]) -> str:
    """Write CMakeLists.txt."""
    return _CMAKE.format(
        name=name,
        sources="\n".join(f"  src/{file}" for file in sources),
        headers="\n".join(f"  include/{file}" for file in (f"{name}.h", *headers)),
    )


def make_file(name: str, sources: Sequence[str]) -> str:
    """Write the Makefile."""
    objects = [f"\tbuild/{file.removesuffix('.c')}.o" for file in sources]
    return _MAKE.format(name=name, objects=" \\\n".join(objects))


# ---- the package


_WIDTH = 96


@dataclass(frozen=True)
class CTarget(ExportTarget):
    """A package of C99.

    Attributes:
        precision: "double", "float" or "both". Default "both".
        batch: whether there are entries for many samples too. Default False.
        profile: "embedded" for microcontrollers: float alone, with its stack in the README. Default "".
        controller: a controller of the robot, as a struct of the caller with reset and step. Default None.
        plant: whether to add the robot as what a controller moves: flow, Runge-Kutta steps, encoders, start
            at a pose. Default False.
        trajectory: a trajectory of the robot, as a function that samples it. Default None.
        parameters: groups of the robot's free numbers (`robot.numbers`) that are given at run time, a
            sequence or one text with commas: every function then comes with one that prepares them. Constants
            if empty. Default empty.
        self_test: whether the self-test is compiled and run before anything is written. Default True.

    Raises:
        ExportError: if there is no such precision or profile, or the profile excludes another option.
    """

    name = "c"
    precision: str = "both"
    batch: bool = False
    profile: str = ""
    controller: Controller | None = None
    plant: bool = False
    trajectory: Trajectory | None = None
    parameters: str | Sequence[str] = ()
    self_test: bool | None = True

    def __post_init__(self) -> None:
        """Check; the profile `embedded` computes in float."""
        super().__post_init__()
        if self.profile not in ("", EMBEDDED):
            hint = did_you_mean(self.profile, (EMBEDDED,))
            raise ExportError(f"no profile of C is called {self.profile!r}; {hint}")
        if self.profile:
            if self.precision == "double" or self.batch:
                raise ExportError(
                    "the profile embedded computes in float, a sample a call: leave precision double and "
                    "batch out"
                )
            object.__setattr__(self, "precision", "float")

    def files(self, package: Package, references: Mapping[str, ReferenceVectors]) -> dict[str, str]:
        """All files; with a controller also samples of it in a row."""
        closed = next((vectors.closed for vectors in references.values() if vectors.closed is not None), None)
        samples = (
            None if self.controller is None else record_samples(self.controller, package.entries, closed)
        )
        name, precisions, batch = package.name, PRECISIONS[self.precision], self.batch
        tolerances = TOLERANCES if closed is None else closed.tolerance
        if package.request.has_kinematics:
            tolerances = kinematics_tolerances(package, references, tolerances)
        path = None if self.trajectory is None else TrajectoryCode(package, self.trajectory)
        sources, headers, stack = package_code(package, precisions, batch, tolerances, path)
        check = None
        if package.request.has_kinematics:
            headers[f"{name}.hpp"] = kinematics_hpp(package, precisions, geometry_size(package))
            least = kinematics_tolerances(package, references, TOLERANCES)
            check = kinematics_check(package, references, least)
        files = {f"include/{file}": text for file, text in headers.items()}
        files |= {f"src/{file}": text for file, text in sources.items()}
        along = None if path is None else path.checks(precisions)
        files["test/self_test.c"] = self_test(package, references, precisions, samples, check, along)
        files["CMakeLists.txt"] = cmake_file(name, sorted(sources), sorted(set(headers) - {f"{name}.h"}))
        files["Makefile"] = make_file(name, sorted(sources))
        usage = _usage(package, precisions, batch, closed)
        usage += [] if path is None else path.readme(precisions[0])
        if self.profile == EMBEDDED:
            usage += embedded_readme(name, files, bool(self.self_test))
        files["README.md"] = readme_text(package, usage, _notes(package, stack))
        return files


class PackageCode(NamedTuple):
    """The C of a package.

    Attributes:
        sources: texts by file name.
        headers: texts by file name, that of the package among them.
        stack: bytes of arrays on the stack, by function and precision.
    """

    sources: dict[str, str]
    headers: dict[str, str]
    stack: dict[str, dict[str, int]]


def package_code(
    package: Package,
    precisions: Sequence[str],
    batch: bool,
    tolerances: Mapping[str, float] = TOLERANCES,
    path: TrajectoryCode | None = None,
) -> PackageCode:
    """Write the functions of a package.

    Args:
        package: the package.
        precisions: "double", "float".
        batch: whether there are functions for many samples, too.
        tolerances: to what legs are closed in each precision.
        path: a trajectory that is sampled.
    """
    name = package.name
    sources: dict[str, str] = {}
    headers: dict[str, str] = {}
    stack: dict[str, dict[str, int]] = {}
    for entry in package.entries:
        for real in precisions:
            options = _options(package, entry, real, batch)
            if entry.driver:
                for file, text in _driver_files(entry, options).items():
                    (headers if file.endswith(".h") else sources)[file] = text
            text, bytes_used = c_definition(entry.program, options, f"{name}.h")
            sources[f"{Interface(entry.program, options).name}.c"] = text
            stack.setdefault(entry.label, {})[real] = bytes_used
    included = [file for file in headers if file.endswith(("_newton.h", "_rk4.h", "_track.h"))]
    loop = loop_part(package, precisions, tolerances)
    sources |= loop.sources
    headers |= loop.headers
    included += loop.headers
    if package.request.has_kinematics:
        sources |= dict(kinematics_source(package, real, tolerances) for real in precisions)
        headers[f"{name}_kinematics.h"] = kinematics_header(package, precisions, tolerances)
        included.append(f"{name}_kinematics.h")
    declared = loop.declared
    if path is not None:
        sources |= dict(map(path.source, precisions))
        declared = declared + path.declaration(precisions)
    headers[f"{name}.h"] = _header(package, precisions, batch, included, stack, declared)
    return PackageCode(sources, headers, stack)


def _driver_files(entry: Entry, options: COptions) -> dict[str, str]:
    """The loop around an entry, and the entry itself."""
    if entry.driver == "track":
        return track_source(entry.program, options, units=entry.units)
    return {"newton": newton_source, "rk4": rk4_source}[entry.driver](entry.program, options)


def _options(package: Package, entry: Entry, real: str, batch: bool) -> COptions:
    kind: Literal["double", "float"] = "float" if real == "float" else "double"
    ending = "_f" if real == "float" else ""
    return COptions(
        real=kind,
        name=f"{package.name}_{entry.label}{ending}",
        batch=batch,
        units=entry.descriptions,
        about=entry.title,
        plain=True,
    )


def _wrap_comment(text: str, first: str, following: str) -> list[str]:
    """Break a text into lines of a comment."""
    lines, line = [], first
    for word in text.split():
        if len(line) + len(word) + 1 > _WIDTH and line.strip() != following.strip():
            lines.append(line.rstrip())
            line = following
        line += word + " "
    return [*lines, line.rstrip()]


def _header(
    package: Package,
    precisions: Sequence[str],
    batch: bool,
    included: Sequence[str],
    stack: Mapping[str, Mapping[str, int]],
    more: Sequence[str],
) -> str:
    name = package.name
    guard = f"{name}_h_included"
    lines = [
        "/*",
        f" * Models of the robot {comment_text(package.robot.name)}.",
        f" * {package.origin}",
        " *",
    ]
    lines += _wrap_comment(friction_note(package.request), " * ", " * ")
    for text in CONVENTIONS:
        lines += _wrap_comment(text, " * - ", " *   ")
    lines += [
        " *",
        " * No heap, no globals, nothing kept between calls: any number of threads may call. Functions are",
        " * straight-line code: their time does not depend on the numbers. Outputs must not overlap inputs "
        "or",
        " * each other. NaN and infinities pass through. Functions that end in _f compute in float.",
        " * Never compile with -ffast-math or -ffinite-math-only, which assume NaN away.",
        " */",
    ]
    identifiers, declared = Identifiers((guard,)), []
    for entry in package.entries:
        declared += _entry_declarations(package, entry, precisions, batch, identifiers, stack[entry.label])
    declared += more
    includes = ["<stddef.h>", *(f'"{file}"' for file in included)]
    return "\n".join(lines + header_lines(guard, includes, declared))


def _entry_declarations(
    package: Package,
    entry: Entry,
    precisions: Sequence[str],
    batch: bool,
    identifiers: Identifiers,
    stack: Mapping[str, int],
) -> list[str]:
    """The remark, the dimensions and the prototypes of an entry."""
    interfaces = [Interface(entry.program, _options(package, entry, real, batch)) for real in precisions]
    first = interfaces[0]
    lines = ["/*", *_wrap_comment(f"{package.name}_{entry.label}: {entry.title}.", " * ", " * "), " *"]
    for kind, arrays in (("in", first.inputs), ("out", first.outputs)):
        for array in arrays:
            lines += _wrap_comment(first.describe(array), f" *   {kind:4s}", " *         ")
    lines += [" *", *_wrap_comment(f"{count_text(entry.count)}.", " * ", " * ")]
    bytes_used = ", ".join(f"{count} bytes ({real})" for real, count in stack.items())
    lines += _wrap_comment(
        f"At most {entry.max_live_values} values alive at once; arrays on the stack: {bytes_used}.",
        " * ",
        " * ",
    )
    for text in monitoring_notes(entry):
        lines += _wrap_comment(text, " * ", " *   ")
    lines.append(" */")
    for array in (*first.inputs, *first.outputs):
        macro = identifiers.unique(f"{package.name}_{entry.label}_{array.name}_size".upper())
        lines.append(f"#define {macro} {array.size}")
    if entry.driver:
        # The headers of the loop around it declare it.
        return [*lines, ""]
    for interface in interfaces:
        lines.append(f"{interface.single(restrict=False)};")
        if batch:
            lines.append(f"{interface.batch(restrict=False)};")
    return [*lines, ""]


def _usage(package: Package, precisions: Sequence[str], batch: bool, closed: ClosedLoops | None) -> list[str]:
    name = package.name
    alone = {
        "double": "All functions compute in double.",
        "float": "All functions compute in float; their names end in `_f`.",
    }
    twice = "Every function is there twice: in double, and with the ending `_f` in float."
    functions = alone[precisions[0]] if len(precisions) == 1 else twice
    lines = [
        "## Building and testing",
        "",
        "With CMake:",
        "",
        "    cmake -S . -B build && cmake --build build && ctest --test-dir build --output-on-failure",
        "",
        "With make: `make test`. By hand:",
        "",
        "    cc -std=c99 -O3 -fno-math-errno -fno-trapping-math -Iinclude src/*.c test/self_test.c -lm -o "
        "self_test",
        "    ./self_test",
        "",
        "The self-test compares every function with results that were computed with 50 digits, prints the "
        "worst error of each output and returns 0 if all of them are within their tolerance: a multiple of "
        "the rounding error that the function has in that precision.",
        "",
        SELF_TEST_MARK,
        "",
        "C99 and `math.h` are all that is needed. Never compile with `-ffast-math` or `-ffinite-math-only`.",
        "",
        "## Calling",
        "",
        f"Include `{name}.h`. {functions} Arguments are arrays, inputs first, in the order of the tables "
        "below; matrices lie row by row. Nothing is allocated and nothing is kept between calls.",
    ]
    if batch:
        lines += [
            "",
            "Functions that end in `_batch` evaluate n samples: those of an input lie its stride apart (0: "
            "one for all), those of an output follow each other.",
        ]
    lines += loop_readme(package, precisions[0])
    if package.closing_entry is not None and closed is not None:
        tolerance = closed.tolerance
        lines += [
            "",
            f"Legs of this robot are solved numerically. Before a function that takes `y`, call `{name}_"
            f"{package.closing_entry.label}_newton(y, x, {tolerance['double']:g}, {CAP}, NULL, 0, "
            "NULL, NULL)` "
            f"(in float with {tolerance['float']:g}): it improves y, from that of the sample before or from "
            "the start below, and returns 0 if the legs are closed. This is the one loop in the package; its "
            "cap is an argument. Its worst case is cap + 1 times the count of the step.",
            "",
            *accuracy_note(closed, precisions),
            "",
            "At the reference pose",
            "",
            *_reference_lines(package),
        ]
    return lines


def _reference_lines(package: Package) -> list[str]:
    from nacelle.kinematics.mechanism.mechanism import mechanism_of

    x, y = mechanism_of(package.robot).reference
    return [
        f"    {letter} = {{{', '.join(repr(float(n)) for n in values)}}}"
        for letter, values in (("x", x), ("y", y))
    ]


def _notes(package: Package, stack: Mapping[str, Mapping[str, int]]) -> dict[str, str]:
    notes = {}
    for entry in package.entries:
        arrays = ", ".join(f"{count} bytes in {real}" for real, count in stack[entry.label].items())
        notes[entry.label] = (
            f"C function `{package.name}_{entry.label}`. On the stack: at most "
            f"{entry.max_live_values} intermediate "
            f"values alive at once in the order written, and arrays of {arrays} between its parts; no heap. "
            "What a compiler makes of it `gcc -fstack-usage` tells."
        )
    return notes
