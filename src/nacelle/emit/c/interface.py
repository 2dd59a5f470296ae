"""How C is written, the names that a program has in it, and the frame of a header."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from nacelle.emit.c.parts import call
from nacelle.emit.names import Identifiers, entry_name, remark
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
        own = ("batch", "real", "h_included", "inline", "apart", "min", "max", "sign", "newton", "rk4")
        self.names = Identifiers((self.name, *(f"{self.name}_{word}" for word in own), *"hijknsw"))
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
        return call(f"void {self.name}", texts or ["void"])

    def batch(self, *, restrict: bool) -> str:
        """Write the head of the entry for many samples."""
        star = "*restrict " if restrict else "*"
        texts = ["size_t n"]
        texts += [f"const {self.real} {star}{a.name}, size_t {a.stride}" for a in self.inputs]
        texts += [f"{self.real} {star}{a.name}" for a in self.outputs]
        return call(f"void {self.name}_batch", texts)

    def describe(self, array: CArgument) -> str:
        """Say what an array is, in a line of a comment."""
        variable = array.variable
        shape = " x ".join(str(n) for n in variable.shape)
        size = f"{variable.size} number{'' if variable.size == 1 else 's'}"
        shape = f", {shape} row by row" if len(variable.shape) > 1 else ""
        unit = remark(self.options.units.get(variable.name, ""))
        # The name as it was, where it had to be changed.
        called = f" ({remark(variable.name)})" if remark(variable.name) != array.name else ""
        return f"{array.name}{called}: {size}{shape}" + (f"; {unit}" if unit else "")


def framed(guard: str, includes: list[str], declarations: list[str]) -> list[str]:
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
