"""LLVM IR text of vectors of doubles: types and constants."""

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
