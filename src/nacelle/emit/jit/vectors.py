"""LLVM IR text of vectors of doubles: types, constants, and lines of a function over them."""

from __future__ import annotations

import struct
from collections.abc import Sequence


def constant(value: float) -> str:
    """Write a double, bit for bit."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


def type_name(width: int) -> str:
    """Name the type of a value: double, or a vector of doubles."""
    return "double" if width == 1 else f"<{width} x double>"


def splat(value: float, width: int) -> str:
    """Write a constant of all lanes."""
    return constant(value) if width == 1 else f"splat (double {constant(value)})"


def suffix(width: int) -> str:
    """Write the part of an intrinsic's name that says its type."""
    return "f64" if width == 1 else f"v{width}f64"


class Text:
    """Lines of a function over vectors of one width; names of functions of that width begin with `prefix`.

    Attributes:
        type: of vectors of doubles, or a double if the width is 1.
        integer: of vectors of integers.
        bit: of vectors of bits.
        end: the part of an intrinsic's name that says its type.
        lines: what is written.
    """

    def __init__(self, width: int, prefix: str) -> None:
        self.width, self.prefix = width, prefix
        self.type, self.end = type_name(width), suffix(width)
        self.integer = "i64" if width == 1 else f"<{width} x i64>"
        self.bit = "i1" if width == 1 else f"<{width} x i1>"
        self.lines: list[str] = []
        self._count = 0

    def __call__(self, *lines: str) -> None:
        """Write lines."""
        self.lines.extend(lines)

    def name(self) -> str:
        """A new name, of a value or a label."""
        self._count += 1
        return f"x{self._count}"

    def value(self, text: str) -> str:
        """Write an instruction and give its value a name."""
        name = f"%{self.name()}"
        self.lines.append(f"{name} = {text}")
        return name

    def repeated(self, number: int, kind: str = "i64") -> str:
        """A constant integer, or bit, of all lanes."""
        return str(number) if self.width == 1 else f"splat ({kind} {number})"

    def spread(self, scalar: str, kind: str = "double") -> str:
        """Repeat a double, or an integer, over the lanes."""
        if self.width == 1:
            return scalar
        whole = f"<{self.width} x {kind}>"
        first = self.value(f"insertelement {whole} poison, {kind} {scalar}, i64 0")
        zeros = f"<{self.width} x i32> zeroinitializer"
        return self.value(f"shufflevector {whole} {first}, {whole} poison, {zeros}")

    def lanes(self, scalars: Sequence[str]) -> str:
        """A vector of doubles, lane by lane."""
        if len(set(scalars)) == 1:
            return self.spread(scalars[0])
        vector = "poison"
        for lane, scalar in enumerate(scalars):
            vector = self.value(f"insertelement {self.type} {vector}, double {scalar}, i64 {lane}")
        return vector

    def lane(self, vector: str, lane: int) -> str:
        """One lane of a vector."""
        return vector if self.width == 1 else self.value(f"extractelement {self.type} {vector}, i64 {lane}")

    def any(self, bits: str) -> str:
        """Say whether a bit of any lane is set."""
        if self.width == 1:
            return bits
        return self.value(f"call i1 @llvm.vector.reduce.or.v{self.width}i1({self.bit} {bits})")

    def finite(self, value: str) -> str:
        """Say in which lanes a value is finite."""
        size = self.value(f"call {self.type} @llvm.fabs.{self.end}({self.type} {value})")
        return self.value(f"fcmp olt {self.type} {size}, {splat(float('inf'), self.width)}")

    def both(self, a: str, b: str) -> str:
        """Join bits by and."""
        return self.value(f"and {self.bit} {a}, {b}")

    def unless(self, a: str, b: str) -> str:
        """Keep the bits of a where b has none."""
        return self.both(a, self.value(f"xor {self.bit} {b}, {self.repeated(1, 'i1')}"))

    def add(self, a: str, b: str) -> str:
        """Add two values."""
        return self.value(f"fadd {self.type} {a}, {b}")

    def mul(self, a: str, b: str) -> str:
        """Multiply two values."""
        return self.value(f"fmul {self.type} {a}, {b}")

    def choose(self, bit: str, a: str, b: str) -> str:
        """Take a where a bit is set, else b."""
        return self.value(f"select {self.bit} {bit}, {self.type} {a}, {self.type} {b}")
