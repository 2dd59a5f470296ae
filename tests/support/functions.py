"""Elementary functions in native code: loops that call them, their values, and errors against mpmath."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence

import mpmath
import numpy as np

from nacelle.emit.jit.functions.texts import function_texts
from nacelle.emit.jit.target import DEFAULT, Library, address, compile_text, module_source
from nacelle.emit.jit.vectors import type_name

Array = np.ndarray

FUNCTIONS = ("sin", "cos", "tanh", "exp", "atan2")
WIDTHS = (1, 2, 4, 8)
# Bits of the reference: the angle nearest to a multiple of π/2 loses 62 of them, and large ones 1024 before.
_BITS = 200


def call(op: str, width: int, prefix: str) -> list[str]:
    """Lines that make %r, the function of %a (and %b)."""
    kind = type_name(width)
    if op in ("sin", "cos"):
        pair = f"{{ {kind}, {kind} }}"
        made = f"%p = call {pair} @{prefix}sincos({kind} %a)"
        return [made, f"%r = extractvalue {pair} %p, {0 if op == 'sin' else 1}"]
    arguments = f"{kind} %a, {kind} %b" if op == "atan2" else f"{kind} %a"
    return [f"%r = call {kind} @{prefix}{op}({arguments})"]


def loop(name: str, lines: Sequence[str], width: int) -> str:
    """Write `@<name>(a, b, results, count, repeats)`: lines that make %r of %a and %b, over arrays."""
    kind = type_name(width)
    arrays = (("pa", "x"), ("pb", "y"), ("pr", "z"))
    return "\n".join(
        [
            f"define void @{name}(ptr %x, ptr %y, ptr %z, i64 %count, i64 %repeats) #0 {{",
            "start:",
            "br label %begin",
            "begin:",
            "%k = phi i64 [ 0, %start ], [ %m, %again ]",
            "br label %loop",
            "loop:",
            "%i = phi i64 [ 0, %begin ], [ %n, %loop ]",
            *(f"%{pointer} = getelementptr double, ptr %{array}, i64 %i" for pointer, array in arrays),
            f"%a = load {kind}, ptr %pa, align 8",
            f"%b = load {kind}, ptr %pb, align 8",
            *lines,
            f"store {kind} %r, ptr %pr, align 8",
            f"%n = add i64 %i, {width}",
            "%more = icmp ult i64 %n, %count",
            "br i1 %more, label %loop, label %again",
            "again:",
            "%m = add i64 %k, 1",
            "%another = icmp ult i64 %m, %repeats",
            "br i1 %another, label %begin, label %done",
            "done:",
            "ret void",
            "}",
        ]
    )


ENTRY = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, *[ctypes.c_int64] * 2)


@functools.cache
def _compile_loops(fma: bool) -> Library:
    """All functions at all widths, each in a loop."""
    parts, names = [], []
    for width in WIDTHS:
        prefix = f"w{width}_"
        parts += function_texts(set(FUNCTIONS), width, prefix, fma=fma)
        for op in FUNCTIONS:
            names.append(f"{op}{width}")
            parts.append(loop(names[-1], call(op, width, prefix), width))
    return Library(compile_text(module_source(parts, DEFAULT, max(WIDTHS))), names)


def values(op: str, *arguments: Array, width: int = 2, fma: bool | None = None) -> Array:
    """Values of a function in native code, with so many lanes; as many arguments as all widths divide."""
    machine = DEFAULT.target_machine().fma
    library = _compile_loops(machine if fma is None else fma)
    a = np.ascontiguousarray(arguments[0], dtype=float)
    b = np.ascontiguousarray(arguments[-1], dtype=float)
    results = np.empty(len(a))
    assert len(a) == len(b)
    assert len(a) % max(WIDTHS) == 0
    ENTRY(library.address(f"{op}{width}"))(address(a), address(b), address(results), len(a), 1)
    return results


def errors(op: str, results: Array, *arguments: Array) -> Array:
    """Errors of results in units in the last place of the true values, from mpmath."""
    function = getattr(mpmath, op)
    found = np.empty(len(results))
    with mpmath.workprec(_BITS):
        for k, result in enumerate(results.tolist()):
            true = function(*(mpmath.mpf(float(array[k])) for array in arguments))
            # The exponent of the true value, which its nearest double may be above.
            exponent = max(mpmath.frexp(true)[1] if true else -1073, -1021)
            found[k] = abs(mpmath.ldexp(mpmath.mpf(result) - true, 53 - exponent))
    return found


def largest_ulp_error(op: str, *arguments: Array) -> float:
    """Largest error of a function over arguments; all widths must give the same bits.

    With fused multiply-adds where the machine has them, and without.
    """
    most = 0.0
    for fma in {DEFAULT.target_machine().fma, False}:
        results = values(op, *arguments, fma=fma)
        for width in WIDTHS:
            again = values(op, *arguments, width=width, fma=fma)
            assert results.tobytes() == again.tobytes(), f"{op} differs at a width of {width}"
        most = max(most, float(errors(op, results, *arguments).max()))
    return most
