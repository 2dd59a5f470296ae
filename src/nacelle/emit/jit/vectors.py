"""LLVM IR text of vectors of doubles: types, constants, intrinsics, and loops of W samples at a time.

LLVM IR text of a loop around a program, W samples at a time, one in each lane of a vector.

Lanes whose work is done keep their values while the others go on.
"""

from __future__ import annotations

import struct


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


# ---- LLVM IR text of a loop around a program, W samples at a time, one in each lane of a vector


class Text:
    """Lines of a function over vectors of one width; names of functions of that width begin with `prefix`."""

    def __init__(self, width: int, prefix: str) -> None:
        self.width, self.prefix = width, prefix
        self.real = type_name(width)
        self.integer = "i64" if width == 1 else f"<{width} x i64>"
        self.bit = "i1" if width == 1 else f"<{width} x i1>"
        self.end = suffix(width)
        self.lines: list[str] = []
        self._count = 0

    def __call__(self, *lines: str) -> None:
        """Write lines."""
        self.lines.extend(lines)

    def value(self, text: str) -> str:
        """Write an instruction and give its value a name."""
        self._count += 1
        name = f"%x{self._count}"
        self.lines.append(f"{name} = {text}")
        return name

    def whole(self, number: int) -> str:
        """Write an integer of all lanes."""
        return str(number) if self.width == 1 else f"splat (i64 {number})"

    def spread(self, scalar: str) -> str:
        """Repeat a double over the lanes."""
        if self.width == 1:
            return scalar
        first = self.value(f"insertelement {self.real} poison, double {scalar}, i64 0")
        return self.value(
            f"shufflevector {self.real} {first}, {self.real} poison, <{self.width} x i32> zeroinitializer"
        )

    def any(self, bits: str) -> str:
        """Say whether a bit of any lane is set."""
        if self.width == 1:
            return bits
        return self.value(f"call i1 @llvm.vector.reduce.or.v{self.width}i1({self.bit} {bits})")

    def finite(self, value: str) -> str:
        """Say in which lanes a value is finite."""
        size = self.value(f"call {self.real} @llvm.fabs.{self.end}({self.real} {value})")
        return self.value(f"fcmp olt {self.real} {size}, {splat(float('inf'), self.width)}")

    def both(self, a: str, b: str) -> str:
        """Join bits by and."""
        return self.value(f"and {self.bit} {a}, {b}")

    def unless(self, a: str, b: str) -> str:
        """Keep the bits of a where b has none."""
        ones = "1" if self.width == 1 else "splat (i1 1)"
        return self.both(a, self.value(f"xor {self.bit} {b}, {ones}"))

    def add(self, a: str, b: str) -> str:
        """Add two values."""
        return self.value(f"fadd {self.real} {a}, {b}")

    def mul(self, a: str, b: str) -> str:
        """Multiply two values."""
        return self.value(f"fmul {self.real} {a}, {b}")

    def choose(self, bits: str, a: str, b: str, kind: str | None = None) -> str:
        """Take a where a bit is set, else b."""
        kind = kind or self.real
        return self.value(f"select {self.bit} {bits}, {kind} {a}, {kind} {b}")

    def load(self, base: str, place: int) -> str:
        """Load a vector of a tile."""
        pointer = self.value(f"getelementptr i8, ptr {base}, i64 {place * 8 * self.width}")
        return self.value(f"load {self.real}, ptr {pointer}, align {8 * self.width}")

    def store(self, value: str, base: str, place: int) -> None:
        """Store a vector of a tile."""
        pointer = self.value(f"getelementptr i8, ptr {base}, i64 {place * 8 * self.width}")
        self(f"store {self.real} {value}, ptr {pointer}, align {8 * self.width}")

    def rows(self, verb: str, base: str, place: int, rows: str, size: int, step: str) -> None:
        """Move rows of the samples of this round into a tile, or back."""
        if not size:
            return
        offset = self.value(f"mul i64 %sample, {step}")
        first = self.value(f"getelementptr double, ptr {rows}, i64 {offset}")
        tile = self.value(f"getelementptr i8, ptr {base}, i64 {place * 8 * self.width}")
        self(
            f"call void @{self.prefix}{verb}_few(ptr {first}, ptr {tile}, i64 {size}, i64 {step}, i64 %count)"
        )


def begin_samples(text: Text) -> None:
    """Begin the loop over the samples: how many lanes of this round are samples."""
    text(
        "entry:",
        "%any = icmp ult i64 %start, %stop",
        "br i1 %any, label %sample.begin, label %done",
        "sample.begin:",
        "%sample = phi i64 [ %start, %entry ], [ %sample.next, %sample.end ]",
        "%left = sub i64 %stop, %sample",
        f"%short = icmp ult i64 %left, {text.width}",
        f"%count = select i1 %short, i64 %left, i64 {text.width}",
    )


def end_samples(text: Text) -> str:
    """End the loop over the samples."""
    text(
        "br label %sample.end",
        "sample.end:",
        f"%sample.next = add i64 %sample, {text.width}",
        "%sample.more = icmp ult i64 %sample.next, %stop",
        "br i1 %sample.more, label %sample.begin, label %done",
        "done:",
        "ret void",
        "}",
    )
    return "\n".join(text.lines)
