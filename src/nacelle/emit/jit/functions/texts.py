"""The functions that a program calls."""

from __future__ import annotations

from nacelle.emit.jit.functions.arctangent import atan2
from nacelle.emit.jit.functions.exponential import exp, tanh
from nacelle.emit.jit.functions.formula import Formula
from nacelle.emit.jit.functions.trigonometry import sincos

# What writes the function of an operation; sin and cos of one argument come from one call.
_WRITERS = {"sin": sincos, "cos": sincos, "tanh": tanh, "exp": exp, "atan2": atan2}


def function_texts(operations: set[str], width: int, prefix: str, *, fma: bool) -> list[str]:
    """Write the functions that the operations of a program call; their names begin with `prefix`."""
    used = dict.fromkeys(write for op, write in _WRITERS.items() if op in operations)
    return [write(lambda: Formula(width, prefix, fma=fma)) for write in used]
