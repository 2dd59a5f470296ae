"""sin, cos, tanh, exp and atan2 in native code: `python benchmarks/functions.py`, for docs/programs.md.

Nanoseconds a value over an array that the nearest cache holds: functions of nacelle on vectors, the same on
one value at a time, and the C library of the machine called for every value; taken in turn, the shortest of
each. The sine and the cosine of an angle come from one call of the first two.

    --programs     nanoseconds a sample of programs of robots that have angles, with either's functions
    --errors N     largest errors over N arguments of each kind, against mpmath
"""

import argparse
import ctypes
import ctypes.util
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parent))

from timing import in_turn

import nacelle
from nacelle.emit.jit import compiler_worker, instructions
from nacelle.emit.jit.functions.texts import function_texts
from nacelle.emit.jit.target import (
    DEFAULT,
    Library,
    address,
    compile_kernel,
    compile_text,
    module_source,
    module_texts,
    vector_width,
)
from nacelle.emit.jit.vectors import type_name
from nacelle.spatial.pose import Pose
from nacelle.tree.closure import closure_state
from nacelle.tree.spanning_tree import tree_kinematics
from support.functions import ENTRY, FUNCTIONS, call, largest_ulp_error, loop

COUNT, REPEATS = 1024, 50
BOTH = "sin and cos"
RANGES = {"exp": (-20.0, 20.0), "tanh": (-5.0, 5.0)}


def by_library(op, arguments):
    """A call of the C library, by its address."""
    source = ctypes.CDLL(ctypes.util.find_library("m"))
    address_ = ctypes.cast(getattr(source, op), ctypes.c_void_p).value
    listed = ", ".join(f"double {argument}" for argument in arguments)
    return f"call double inttoptr (i64 {address_} to ptr)({listed})"


def library_loop(function):
    """Lines that make the value by the C library."""
    if function == BOTH:
        calls = [f"%{op} = {by_library(op, ['%a'])}" for op in ("sin", "cos")]
        return [*calls, "%r = fadd double %sin, %cos"]
    return [f"%r = {by_library(function, ['%a', '%b'] if function == 'atan2' else ['%a'])}"]


def library_texts(operations, width, prefix, *, fma):
    """Functions as those of `function_texts` that call the C library for every sample of a vector."""
    kind, texts = type_name(width), []
    for name, ops in (("sincos", ("sin", "cos")), *((op, (op,)) for op in FUNCTIONS[2:])):
        if operations.isdisjoint(ops):
            continue
        taken = ("%a", "%b") if name == "atan2" else ("%a",)
        lines, results = [], []
        for op in ops:
            made = "poison"
            for sample in range(width):
                parts = [f"%{op}{sample}{a[1:]}" if width > 1 else a for a in taken]
                if width > 1:
                    lines += [
                        f"{x} = extractelement {kind} {a}, i64 {sample}"
                        for x, a in zip(parts, taken, strict=True)
                    ]
                lines.append(f"%{op}{sample} = {by_library(op, parts)}")
                if width > 1:
                    lines.append(
                        f"%{op}{sample}v = insertelement {kind} {made}, double %{op}{sample}, i64 {sample}"
                    )
                made = f"%{op}{sample}v" if width > 1 else f"%{op}{sample}"
            results.append(made)
        result, shape = results[0], kind
        if len(ops) == 2:
            shape, result = f"{{ {kind}, {kind} }}", "%pair"
            lines.append(f"%half = insertvalue {shape} poison, {kind} {results[0]}, 0")
            lines.append(f"%pair = insertvalue {shape} %half, {kind} {results[1]}, 1")
        head = f"define internal {shape} @{prefix}{name}({', '.join(f'{kind} {a}' for a in taken)})"
        texts.append("\n".join([f"{head} noinline #0 {{", *lines, f"ret {shape} {result}", "}"]))
    return texts


def own(function, width, prefix):
    """Lines that make the value by nacelle's functions."""
    if function != BOTH:
        return call(function, width, prefix)
    made, first = call("sin", width, prefix)
    kind = made.split("call ")[1].split(" @")[0]
    second = f"%h1 = extractvalue {kind} %p, 1"
    return [made, first.replace("%r", "%h0"), second, f"%r = fadd {kind[1:].split(',')[0]} %h0, %h1"]


def measured(rounds=40):
    """Nanoseconds a value for each function: on vectors, one at a time, by the library."""
    width, fma = vector_width(DEFAULT), DEFAULT.target_machine().fma
    functions = ("sin", "cos", BOTH, *FUNCTIONS[2:])
    parts, names = [], []
    for prefix, width_of in (("v_", width), ("s_", 1)):
        parts += function_texts(set(FUNCTIONS), width_of, prefix, fma=fma)
    for number, function in enumerate(functions):
        for prefix, lines, width_of in (
            ("v", own(function, width, "v_"), width),
            ("s", own(function, 1, "s_"), 1),
            ("c", library_loop(function), 1),
        ):
            names.append(f"{prefix}{number}")
            parts.append(loop(names[-1], lines, width_of))
    library = Library(compile_text(module_source(parts, DEFAULT)), names)
    rng = np.random.default_rng(0)
    rows = {}
    for number, function in enumerate(functions):
        a = rng.uniform(*RANGES.get(function, (-10.0, 10.0)), COUNT)
        b, results = rng.normal(size=COUNT), np.empty(COUNT)
        arguments = [*(address(array) for array in (a, b, results)), COUNT, REPEATS]
        calls = {}
        for prefix, name in (("v", "vectors"), ("s", "one at a time"), ("c", "C library")):
            entry = ENTRY(library.address(f"{prefix}{number}"))
            calls[name] = lambda entry=entry, arguments=arguments: entry(*arguments)
        times = in_turn(calls, rounds)
        rows[function] = {name: 1e9 * min(times[name]) / (COUNT * REPEATS) for name in calls}
    return rows


def largest_errors(count):
    """Largest errors of each function, in ulp: usual arguments, where its formula changes, all sizes."""
    rng = np.random.default_rng(0)
    count += -count % 8

    def sizes(least, most):
        return rng.choice([-1.0, 1.0], count) * 2.0 ** rng.uniform(least, most, count)

    angle = np.pi / 8 * rng.integers(-8, 9, count) + rng.normal(size=count) ** 3 / 100.0
    drawn = {
        "sin": (rng.uniform(-10.0, 10.0, count), rng.uniform(0.6, 0.9, count), sizes(-1074.0, 1023.9)),
        "tanh": (rng.uniform(-2.0, 2.0, count), rng.uniform(0.1, 0.7, count), sizes(-1074.0, 4.5)),
        "exp": (rng.uniform(-745.0, 709.7, count), rng.uniform(-745.0, -708.0, count), sizes(-1074.0, 9.47)),
        "atan2": (
            rng.normal(size=(2, count)),
            np.stack([np.sin(angle), np.cos(angle)]),
            np.stack([sizes(-1074.0, 1023.9) for _ in range(2)]),
        ),
    }
    drawn["cos"] = drawn["sin"]
    for op in FUNCTIONS:
        yield op, [largest_ulp_error(op, *np.atleast_2d(arguments)) for arguments in drawn[op]]


@nacelle.dynamics.physics(position=(3,), q=lambda robot: (robot.nq,))
def closure(robot, position, q):
    """What the loops leave open at a position of the platform and joint coordinates, and its Jacobian."""
    state = closure_state(robot, tree_kinematics(robot, Pose(np.eye(3), position), q))
    return {"residual": state.residual, "jacobian": state.jacobian}


def programs():
    """Programs with angles, by name."""
    for name in ("3rps", "h4", "delta4"):
        robot = nacelle.load(name)
        yield f"{name}, inverse dynamics", nacelle.model(robot, "inverse_dynamics").compile().program
    for name in ("delta", "orthoglide"):
        yield f"{name}, closure of its tree", nacelle.compile(closure, nacelle.load(name)).program


def with_either(program, count=2048):
    """Nanoseconds a sample in a batch, and of one alone, with nacelle's functions and the C library's.

    And milliseconds of the processor that LLVM takes for its two modules.
    """
    rng = np.random.default_rng(0)
    inputs = [rng.normal(size=(count, variable.size)) for variable in program.inputs]
    outputs = [np.empty((count, variable.size)) for variable in program.outputs]
    calls, compiling = {}, {}
    machine = DEFAULT.target_machine()
    job = {"triple": machine.triple, "cpu": machine.cpu, "features": machine.features, "level": DEFAULT.level}
    for name, write in (("own", function_texts), ("library", library_texts)):
        instructions.function_texts = write
        made, texts = compile_kernel(program), module_texts(program)
        seconds = []
        for _ in range(5):
            start = time.process_time()
            for text in texts:
                compiler_worker.emit_object(job, text)
            seconds.append(time.process_time() - start)
        compiling[name, "compile"] = 1e3 * min(seconds)
        calls[name, "batch"] = lambda made=made: made.run(inputs, outputs)
        bound = made.bind([a[:1].copy() for a in inputs], [a[:1].copy() for a in outputs])
        calls[name, "one"] = lambda bound=bound: [bound() for _ in range(200)]
    instructions.function_texts = function_texts
    times = in_turn(calls, 40)
    each = {case: 1e9 * min(times[case]) / (count if case[1] == "batch" else 200) for case in calls}
    return each | compiling


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", action="store_true")
    parser.add_argument("--errors", type=int, metavar="N")
    options = parser.parse_args()
    if options.errors:
        print("| function | usual arguments | where it changes | all sizes |\n|---|---|---|---|")
        for function, errors in largest_errors(options.errors):
            print(f"| {function} | {' | '.join(f'{error:.3f} ulp' for error in errors)} |")
        return
    if options.programs:
        heads = ("batch, own", "library", "ratio", "one, own", "library", "LLVM, own", "library")
        print(f"| program | operations | angles | {' | '.join(heads)} |")
        print("|---|---|---|---|---|---|---|---|---|---|")
        for name, program in programs():
            ops = [step[0] for step in program.code if step[0] not in ("input", "const", "neg")]
            t = with_either(program)
            print(
                f"| {name} | {len(ops)} | {ops.count('sin')} | {t['own', 'batch']:.0f} ns "
                f"| {t['library', 'batch']:.0f} ns | {t['library', 'batch'] / t['own', 'batch']:.2f} "
                f"| {t['own', 'one']:.0f} ns | {t['library', 'one']:.0f} ns "
                f"| {t['own', 'compile']:.0f} ms | {t['library', 'compile']:.0f} ms |"
            )
        return
    print("| function | on vectors | one at a time | C library | C library / vectors |")
    print("|---|---|---|---|---|")
    for function, row in measured().items():
        cells = " | ".join(f"{value:.1f} ns" for value in row.values())
        print(f"| {function} | {cells} | {row['C library'] / row['vectors']:.2f} |")


if __name__ == "__main__":
    main()
