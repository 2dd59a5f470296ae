"""The target `c`: C99 for controllers and for anyone who wants the source.

No heap, no globals, nothing kept between calls. Two entries:

    void NAME(const real *in1, ..., real *out1, ...)
    void NAME_batch(size_t n, const real *in1, size_t in1_stride, ..., real *out1, ...)

The body is in the source once. For one sample its arrays are the caller's; for a batch they are tiles
in which the samples lie side by side, and the loop over a tile is one that compilers vectorise. A call of
sin, cos, tanh, exp or atan2 would keep them from it, so these have parts of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from nacelle.emit.c import parts as c_parts
from nacelle.emit.c.parts import format_call
from nacelle.emit.names import Identifiers, comment_text, entry_name
from nacelle.emit.registry import Target, register
from nacelle.emit.schedule import operands
from nacelle.program.program import Program, Variable


@dataclass(frozen=True)
class COptions:
    """How C is written.

    Attributes:
        real: type of all numbers, double or float; constants are rounded to it here.
        name: of the function, the files and the prefix of all names; the program's if empty. A plain word
            gets the ending `_eval`.
        batch: whether there is a batch entry; without one the body is plainer.
        part: operations of a part, from which on a program is cut.
        samples: of a tile; 0 for 64 bytes of them.
        units: what to say of each variable in the header, by the variable's name: a unit, a frame.
        about: what to say of the function in the header.
        plain: whether numbers are of the type itself, not of one named after the function.
    """

    real: Literal["double", "float"] = "double"
    name: str = ""
    batch: bool = True
    part: int = 700
    samples: int = 0
    units: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    about: str = ""
    plain: bool = False

    @property
    def tile(self) -> int:
        """Samples of a tile."""
        return self.samples or (8 if self.real == "double" else 16)


@dataclass(frozen=True)
class CArgument:
    """An argument of the functions: a variable under the name that it has in C."""

    name: str
    stride: str
    variable: Variable

    @property
    def size(self) -> int:
        """Number of scalars."""
        return self.variable.size


class Interface:
    """The names that a program has in C."""

    def __init__(self, program: Program, options: COptions) -> None:
        """Sanitise all names and keep them apart."""
        self.program = program
        self.options = options
        self.name = entry_name(options.name or program.name)
        self.real: str = options.real if options.plain else f"{self.name}_real"
        self.guard = f"{self.name}_h_included"
        drivers = ("newton", "rk4", "irk5", "control")
        suffixes = ("batch", "real", "h_included", "inline", "apart", "min", "max", "sign", *drivers)
        self.names = Identifiers((self.name, *(f"{self.name}_{word}" for word in suffixes), *"hijknsw"))
        self.inputs = [self._array(variable, "x") for variable in program.inputs]
        self.outputs = [self._array(variable, "y") for variable in program.outputs]

    def _array(self, variable: Variable, fallback: str) -> CArgument:
        name = self.names.unique(variable.name, fallback)
        return CArgument(name, self.names.unique(f"{name}_stride"), variable)

    def single(self, *, restrict: bool) -> str:
        """Write the head of the entry for one sample."""
        star = "*restrict " if restrict else "*"
        texts = [f"const {self.real} {star}{array.name}" for array in self.inputs]
        texts += [f"{self.real} {star}{array.name}" for array in self.outputs]
        return format_call(f"void {self.name}", texts or ["void"])

    def batch(self, *, restrict: bool) -> str:
        """Write the head of the entry for many samples."""
        star = "*restrict " if restrict else "*"
        texts = ["size_t n"]
        texts += [f"const {self.real} {star}{a.name}, size_t {a.stride}" for a in self.inputs]
        texts += [f"{self.real} {star}{a.name}" for a in self.outputs]
        return format_call(f"void {self.name}_batch", texts)

    def describe(self, array: CArgument) -> str:
        """Say what an array is, in a line of a comment."""
        variable = array.variable
        shape = " x ".join(str(n) for n in variable.shape)
        size = f"{variable.size} number{'' if variable.size == 1 else 's'}"
        shape = f", {shape} row by row" if len(variable.shape) > 1 else ""
        unit = comment_text(self.options.units.get(variable.name, ""))
        # The name as it was, where it had to be changed.
        called = f" ({comment_text(variable.name)})" if comment_text(variable.name) != array.name else ""
        return f"{array.name}{called}: {size}{shape}" + (f"; {unit}" if unit else "")


def header_lines(guard: str, includes: list[str], declarations: list[str]) -> list[str]:
    """Write the lines of a header: declarations for C and C++, read once."""
    return [
        f"#ifndef {guard}",
        f"#define {guard}",
        "",
        *(f"#include {file}" for file in includes),
        "",
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        "",
        *declarations,
        "#ifdef __cplusplus",
        "}",
        "#endif",
        "",
        f"#endif /* {guard} */",
        "",
    ]


# ---- the target `c`: C99 for controllers and for anyone who wants the source


class _Writer:
    """Writes the parts of a program."""

    def __init__(self, program: Program, interface: Interface) -> None:
        self.program, self.interface, self.options = program, interface, interface.options
        self.cut = c_parts.cut_program(program, self.options.part, apart=self.options.batch)
        self.inputs = _scalar_elements(interface.inputs)
        self.outputs = _scalar_elements(interface.outputs)
        prefix = interface.names.prefix_for("v")
        self.local = {k: f"{prefix}{index}" for index, k in enumerate(self.cut.order)}
        self.part = interface.names.prefix_for(f"{interface.name}_part")
        self.whole = len(self.cut.parts) == 1

    def at(self, name: str, index: int) -> str:
        """Write an element of an array."""
        if not self.options.batch or index == 0:
            return f"{name}[{index}]"
        return f"{name}[s]" if index == 1 else f"{name}[{index} * s]"

    def value(self, k: int, here: set[int]) -> str:
        """Write the value of an instruction inside a part that makes the values `here`."""
        op, *operands = self.program.code[k]
        if op == "const":
            return c_parts.c_constant(operands[0], self.options.real)
        if op == "input":
            array, index = self.inputs[operands[0]]
            return self.at(array.name, index)
        return self.local[k] if k in here else self.at("w", self.cut.passed.slot[k])

    def body(self, part: c_parts.ProgramPart) -> list[str]:
        """Write the statements of a part."""
        real, here, kept = self.interface.real, set(part.operations), set(part.kept)
        stores: dict[int, list[str]] = {}
        for index in part.outputs:
            array, element = self.outputs[index]
            stores.setdefault(self.program.results[index], []).append(self.at(array.name, element))
        lines = []
        for k in part.operations:
            op = self.program.code[k][0]
            arguments = operands(self.program, k)
            texts = [self.value(a, here) for a in arguments]
            if all(self.program.code[a][0] == "const" for a in arguments):
                # Compilers warn of an overflow in an expression of constants.
                names = [f"{self.local[k]}_{letter}" for letter in "abc"[: len(texts)]]
                pairs = zip(names, texts, strict=True)
                lines += [f"const {real} {name} = {text};" for name, text in pairs]
                texts = names
            text = c_parts.expression(op, texts, self.interface.name, self.options.real)
            lines.append(f"const {real} {self.local[k]} = {text};")
            if k in kept:
                lines.append(f"{self.value(k, set())} = {self.local[k]};")
            lines += [f"{target} = {self.local[k]};" for target in stores.pop(k, ())]
        for k, targets in stores.items():
            lines += [f"{target} = {self.value(k, here)};" for target in targets]
        return lines

    def arrays(self, part: c_parts.ProgramPart) -> list[tuple[str, str]]:
        """List type and name of the arrays that a part uses."""
        real = self.interface.real
        read = {self.inputs[index][0].name for index in part.inputs}
        output_names = {self.outputs[index][0].name for index in part.outputs}
        arrays = [(f"const {real}", a.name) for a in self.interface.inputs if a.name in read]
        if part.fetched or part.kept:
            arrays.append((real if part.kept else f"const {real}", "w"))
        return arrays + [(real, a.name) for a in self.interface.outputs if a.name in output_names]

    def functions(self) -> list[str]:
        """Write the parts as functions."""
        lines: list[str] = []
        batch, name = self.options.batch, self.interface.name
        for index, part in enumerate(self.cut.parts):
            arrays = self.arrays(part)
            function = f"{self.part}{index}"
            heads = [f"{kind} *restrict {array}" for kind, array in arrays]
            passed = [array for _, array in arrays]
            if batch:
                lines += [c_parts.format_call(f"{name}_inline void {function}", ["size_t s", *heads]), "{"]
            else:
                lines += [c_parts.format_call(f"{name}_apart void {function}", heads or ["void"]), "{"]
            body = self.body(part)
            if batch and not any("s]" in line for line in body):
                lines.append("    (void)s;")
            lines += [f"    {line}" for line in body]
            lines += ["}", ""]
            if not batch:
                continue
            lines += [c_parts.format_call(f"{name}_apart void {function}_single", heads or ["void"]), "{"]
            lines += [f"    {c_parts.format_call(function, ['1', *passed], 4)};", "}", ""]
            tile_arguments = [str(self.options.tile), *(f"{array} + k" for array in passed)]
            lines += [c_parts.format_call(f"{name}_apart void {function}_tile", heads or ["void"]), "{"]
            lines += [f"    for (size_t k = 0; k < {self.options.tile}; ++k) {{"]
            lines += [f"        {c_parts.format_call(function, tile_arguments, 8)};", "    }", "}", ""]
        return lines

    def calls(self, ending: str) -> list[str]:
        """Write the calls of all parts."""
        return [
            c_parts.format_call(f"{self.part}{index}{ending}", [array for _, array in self.arrays(part)], 4)
            + ";"
            for index, part in enumerate(self.cut.parts)
        ]

    def entry(self) -> list[str]:
        """Write the entry for one sample."""
        lines = [self.interface.single(restrict=True), "{"]
        used = {array for part in self.cut.parts for _, array in self.arrays(part)}
        for array in (*self.interface.inputs, *self.interface.outputs):
            lines += [] if array.name in used else [f"    (void){array.name};"]
        if not self.options.batch and self.whole:
            return [*lines, *(f"    {line}" for line in self.body(self.cut.parts[0])), "}"]
        if self.cut.passed.count:
            lines.append(f"    {self.interface.real} w[{self.cut.passed.count}];")
        lines += [f"    {call}" for call in self.calls("_single" if self.options.batch else "")]
        return [*lines, "}"]

    def batch_entry(self) -> list[str]:
        """Write the entry for many samples: whole tiles, then what is left one by one."""
        real, tile = self.interface.real, self.options.tile
        used = {array for part in self.cut.parts for _, array in self.arrays(part)}
        inputs = [a for a in self.interface.inputs if a.name in used]
        outputs = [a for a in self.interface.outputs if a.name in used]
        tiles = {a.name: self.interface.names.unique(f"{a.name}_tile") for a in (*inputs, *outputs)}
        lines = [self.interface.batch(restrict=True), "{"]
        for array in (*self.interface.inputs, *self.interface.outputs):
            if array.name not in used:
                lines.append(f"    (void){array.name};")
                lines += [f"    (void){array.stride};"] if array in self.interface.inputs else []
        lines.append("    size_t i = 0;")
        lines.append(f"    for (; n - i >= {tile}; i += {tile}) {{")
        for array in (*inputs, *outputs):
            lines.append(f"        {real} {tiles[array.name]}[{array.size * tile}];")
        if self.cut.passed.count:
            lines.append(f"        {real} w[{self.cut.passed.count * tile}];")
        for array in inputs:
            lines += self._copy_loop(
                array.size,
                f"{tiles[array.name]}[j * {tile} + k] = {array.name}[(i + k) * {array.stride} + j];",
            )
        for index, part in enumerate(self.cut.parts):
            tiled = [tiles.get(array, array) for _, array in self.arrays(part)]
            lines.append(f"        {c_parts.format_call(f'{self.part}{index}_tile', tiled, 8)};")
        for array in outputs:
            lines += self._copy_loop(
                array.size,
                f"{array.name}[(i + k) * {array.size} + j] = {tiles[array.name]}[j * {tile} + k];",
            )
        lines += ["    }", "    for (; i < n; ++i) {"]
        passed = [
            *(f"{a.name} + i * {a.stride}" if a in inputs else a.name for a in self.interface.inputs),
            *(f"{a.name} + i * {a.size}" if a in outputs else a.name for a in self.interface.outputs),
        ]
        return [*lines, f"        {c_parts.format_call(self.interface.name, passed, 8)};", "    }", "}"]

    def _copy_loop(self, size: int, statement: str) -> list[str]:
        """Write a loop over the samples of a tile and the elements of an array."""
        return [
            f"        for (size_t k = 0; k < {self.options.tile}; ++k) {{",
            f"            for (size_t j = 0; j < {size}; ++j) {{",
            f"                {statement}",
            "            }",
            "        }",
        ]

    def stack(self, samples: int) -> int:
        """Bytes of the arrays that an entry keeps on the stack."""
        arrays = self.cut.passed.count
        if samples > 1:
            arrays += self.program.input_size + self.program.output_size
        return arrays * samples * (8 if self.options.real == "double" else 4)


def _scalar_elements(arrays: list[CArgument]) -> list[tuple[CArgument, int]]:
    """List array and place of every scalar, counted through."""
    return [(array, index) for array in arrays for index in range(array.size)]


def _header(interface: Interface, writer: _Writer) -> str:
    """Write the header."""
    options, name = interface.options, interface.name
    operations = len(writer.cut.order)
    about = comment_text(options.about) or comment_text(interface.program.name)
    lines = ["/*", f" * {name}: {about}.".replace("..", "."), " *"]
    lines += [" * Inputs:"]
    lines += [f" *   {interface.describe(array)}" for array in interface.inputs] or [" *   none"]
    lines += [" * Outputs:"]
    lines += [f" *   {interface.describe(array)}" for array in interface.outputs] or [" *   none"]
    lines += [
        " *",
        f" * Straight-line code of {operations} operations in {options.real}. Nothing is allocated and",
        " * nothing is kept between calls, so any number of threads may call. Outputs must not overlap",
        " * inputs or each other.",
        f" * Arrays on the stack: {writer.stack(1)} bytes"
        + (f", for a batch {writer.stack(options.tile)}." if options.batch else "."),
        " *",
        " * NaN and infinities pass through, and division by zero gives them. Compile with -O3",
        " * -fno-math-errno -fno-trapping-math, which let compilers vectorise roots and choices; never with",
        " * -ffast-math or -ffinite-math-only, which assume NaN away. Link with -lm.",
        " * Further: -march=native -ffp-contract=fast fuse products and sums; -fno-tree-slp-vectorize saves",
        " * gcc a third of its time over long programs and loses nothing.",
        " */",
    ]
    declared = [
        *(() if options.plain else (f"typedef {options.real} {interface.real};", "")),
        "/* Evaluate one sample. */",
        f"{interface.single(restrict=False)};",
        "",
    ]
    if options.batch:
        declared += [
            "/*",
            " * Evaluate n samples. Those of an input lie its stride apart, counted in numbers; with",
            " * stride 0 all samples share one. Those of an output follow each other without gaps.",
            " */",
            f"{interface.batch(restrict=False)};",
            "",
        ]
    return "\n".join(lines + header_lines(interface.guard, ["<stddef.h>"], declared))


def _source(interface: Interface, writer: _Writer, include: str) -> str:
    """Write the source."""
    options, name = interface.options, interface.name
    lines = [f"/* {name}: see the header. */", *([include] if include else []), "#include <math.h>", ""]
    if options.batch:
        lines += [
            "/* The body of a part, compiled into two functions: for one sample and for a tile of samples.",
            " * s is the distance between the elements of an array. */",
            "#if defined(__GNUC__)",
            f"#define {name}_inline static inline __attribute__((always_inline))",
            "#else",
            f"#define {name}_inline static inline",
            "#endif",
            "",
        ]
    if options.batch or not writer.whole:
        lines += [
            "/* A function of its own: compilers would join the parts, and need minutes for the whole. */",
            "#if defined(__GNUC__)",
            f"#define {name}_apart static __attribute__((noinline))",
            "#else",
            f"#define {name}_apart static",
            "#endif",
            "",
        ]
    for op in c_parts.helpers_used(writer.program, writer.cut.order):
        lines += c_parts.helper_function(op, name, interface.real)
    if options.batch or not writer.whole:
        lines += writer.functions()
    lines += writer.entry()
    if options.batch:
        lines += ["", *writer.batch_entry()]
    return "\n".join(lines) + "\n"


def c_source(program: Program, options: COptions | None = None) -> dict[str, str]:
    """Write a program as a header and a source.

    Returns:
        The text of each file, by its name: NAME.h and NAME.c.
    """
    interface = Interface(program, options or COptions())
    writer = _Writer(program, interface)
    return {
        f"{interface.name}.h": _header(interface, writer),
        f"{interface.name}.c": _source(interface, writer, f'#include "{interface.name}.h"\n'),
    }


def c_definition(program: Program, options: COptions, header: str) -> tuple[str, int]:
    """Write the source alone, for a header of the caller's, and give the bytes of its arrays on the stack.

    Args:
        program: the program.
        options: how C is written; `plain`, as the header names no types.
        header: file name of the header that declares the entries.
    """
    interface = Interface(program, options)
    writer = _Writer(program, interface)
    return _source(interface, writer, f'#include "{header}"\n'), writer.stack(1)


def source(program: Program) -> str:
    """Write a program as one text, header first."""
    interface = Interface(program, COptions())
    writer = _Writer(program, interface)
    return _header(interface, writer) + "\n" + _source(interface, writer, "")


register(Target("c", source))
