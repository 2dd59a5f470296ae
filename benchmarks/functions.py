"""sin, cos, tanh, exp and atan2 in native code: `python benchmarks/functions.py`, figures of docs/programs.md.

Nanoseconds a value over an array that the nearest cache holds: nacelle's own functions on vectors, the same on
one value at a time, and the C library of the machine called for every value; taken in turn, the shortest of
each. The sine and the cosine of an angle come from one call of the first two. `--json` writes the figures alone.
"""

import argparse
import ctypes
import ctypes.util
import json
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from timing import in_turn

from nacelle.emit.jit import functions
from nacelle.emit.jit.library import Library, address
from nacelle.emit.jit.target import DEFAULT, compile_text, module, vector_width
from nacelle.emit.jit.vectors import type_name

COUNT, REPEATS = 1024, 50
FUNCTIONS = ("sin", "cos", "sin and cos", "tanh", "exp", "atan2")
RANGES = {"exp": (-20.0, 20.0), "tanh": (-5.0, 5.0)}


def called(function, width, prefix):
    """Lines that make the value of one of `FUNCTIONS`, or the sum of both, of %a and %b."""
    kind = type_name(width)
    if function == "atan2" or function in ("exp", "tanh"):
        arguments = f"{kind} %a, {kind} %b" if function == "atan2" else f"{kind} %a"
        return [f"%r = call {kind} @{prefix}{function}({arguments})"]
    pair = f"{{ {kind}, {kind} }}"
    lines = [f"%p = call {pair} @{prefix}sincos({kind} %a)"]
    if function == "sin and cos":
        halves = [f"%h{i} = extractvalue {pair} %p, {i}" for i in range(2)]
        return [*lines, *halves, f"%r = fadd {kind} %h0, %h1"]
    return [*lines, f"%r = extractvalue {pair} %p, {int(function == 'cos')}"]


def of_library(function):
    """The same by the C library, whose functions are given as pointers."""
    if function == "sin and cos":
        return [
            "%h0 = call double %first(double %a)",
            "%h1 = call double %second(double %a)",
            "%r = fadd double %h0, %h1",
        ]
    return [f"%r = call double %first(double %a{', double %b' if function == 'atan2' else ''})"]


def loop(name, lines, width):
    """Write `@<name>(a, b, results, first, second)`: a loop over the arrays."""
    kind, step = type_name(width), 8 * width
    return "\n".join(
        [
            f"define void @{name}(ptr %x, ptr %y, ptr %z, ptr %first, ptr %second) #0 {{",
            "start:",
            "br label %loop",
            "loop:",
            "%i = phi i64 [ 0, %start ], [ %n, %loop ]",
            *(
                f"%{p} = getelementptr i8, ptr %{q}, i64 %i"
                for p, q in (("pa", "x"), ("pb", "y"), ("pr", "z"))
            ),
            f"%a = load {kind}, ptr %pa, align 8",
            f"%b = load {kind}, ptr %pb, align 8",
            *lines,
            f"store {kind} %r, ptr %pr, align 8",
            f"%n = add i64 %i, {step}",
            f"%more = icmp ult i64 %n, {8 * COUNT}",
            "br i1 %more, label %loop, label %done",
            "done:",
            "ret void",
            "}",
        ]
    )


def measured(rounds=40):
    """Nanoseconds a value for each function: on vectors, one at a time, by the library."""
    width, fma = vector_width(DEFAULT), DEFAULT.of_machine().fma
    ops = {"sin", "cos", "tanh", "exp", "atan2"}
    parts, names = [], []
    for prefix, lanes in (("v_", width), ("s_", 1)):
        parts += functions.texts(ops, lanes, prefix, fma=fma)
    for number, function in enumerate(FUNCTIONS):
        for prefix, lines, lanes in (
            ("v", called(function, width, "v_"), width),
            ("s", called(function, 1, "s_"), 1),
            ("c", of_library(function), 1),
        ):
            names.append(f"{prefix}{number}")
            parts.append(loop(names[-1], lines, lanes))
    library = Library(compile_text(module(parts, DEFAULT)), names)
    source = ctypes.CDLL(ctypes.util.find_library("m"))
    rng = np.random.default_rng(0)
    rows = {}
    for number, function in enumerate(FUNCTIONS):
        a = rng.uniform(*RANGES.get(function, (-10.0, 10.0)), COUNT)
        b, results = rng.normal(size=COUNT), np.empty(COUNT)
        first = function.split()[0]
        pointers = [ctypes.cast(getattr(source, name), ctypes.c_void_p) for name in (first, "cos")]
        arguments = [ctypes.c_void_p(address(array)) for array in (a, b, results)] + pointers
        calls = {}
        for prefix, name in (("v", "vectors"), ("s", "one at a time"), ("c", "C library")):
            entry = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 5)(library.address(f"{prefix}{number}"))
            calls[name] = lambda entry=entry, arguments=arguments: [entry(*arguments) for _ in range(REPEATS)]
        times = in_turn(calls, rounds)
        rows[function] = {name: 1e9 * min(times[name]) / (COUNT * REPEATS) for name in calls}
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true")
    rows = measured()
    if parser.parse_args().json:
        print(json.dumps(rows, indent=1))
        return
    print("| function | on vectors | one at a time | C library | C library / vectors |")
    print("|---|---|---|---|---|")
    for function, row in rows.items():
        cells = " | ".join(f"{value:.1f} ns" for value in row.values())
        print(f"| {function} | {cells} | {row['C library'] / row['vectors']:.2f} |")


if __name__ == "__main__":
    main()
