"""The target `c`: compiled without a warning, and against the reference."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nacelle.emit.c.parts import cut_program
from nacelle.emit.c.target import COptions, c_source, source
from nacelle.emit.registry import target
from nacelle.program.program import Program, Variable
from support.cc import (
    COMPILERS,
    EXACT,
    FAST,
    SANITIZE,
    WARNINGS,
    call_batch,
    call_single,
    compile_shared,
    compile_sources,
    run_executable,
)
from support.hostile_names import HOSTILE
from support.random_programs import (
    Array,
    assert_steps,
    assert_within,
    empty_outputs,
    every_operation,
    random_inputs,
    random_program,
    special_grid,
    with_all_outputs,
)

# A machine with Python, pip and make alone has no C compiler; the other targets are tested all the same.
pytestmark = pytest.mark.skipif(not COMPILERS, reason="neither gcc nor clang is installed")

TYPES = {"double": np.float64, "float": np.float32}
CPU = Path("/proc/cpuinfo")
X86_FMA = CPU.exists() and " fma " in CPU.read_text()
FUSED = ("-ffp-contract=fast", *(("-mfma",) if X86_FMA else ()))
SAMPLES = 37  # whole tiles of 8 or 16, and some left

# Name, program and options; all of one build, as starting a compiler takes longest.
CASES: list[tuple[str, Program, dict[str, Any]]] = [
    ("random_0", random_program(0), {}),
    ("random_1", random_program(1), {}),
    ("cut_4", random_program(4, 60), {"part": 9}),
    ("alone_7", random_program(7), {"batch": False}),
    ("cut_alone", random_program(9, 60), {"batch": False, "part": 9}),
    ("all_of_them", every_operation(), {"samples": 4}),
    ("no_operation", random_program(10, 0), {}),
]


@pytest.mark.slow
@pytest.mark.parametrize("real", TYPES)
@pytest.mark.parametrize("compiler", COMPILERS)
def test_agrees(compiler: str, real: str) -> None:
    # Every instruction is an output, and every warning an error.
    files: dict[str, str] = {}
    for name, program, options in CASES:
        files |= c_source(with_all_outputs(program), COptions(real=real, name=name, **options))
    compiled = compile_shared(files, compiler, (*WARNINGS, *FAST, *EXACT))
    for name, program, options in CASES:
        inputs = random_inputs(program, SAMPLES, dtype=TYPES[real])
        inputs[0] = inputs[0][:1].copy()  # one row, broadcast over all samples
        if name == "all_of_them":
            with np.errstate(all="ignore"):
                inputs = [array.astype(TYPES[real]) for array in special_grid()]
        whole, samples = with_all_outputs(program), max(map(len, inputs))
        entries = [(call_single, name)]
        if options.get("batch", True):
            entries.append((call_batch, f"{name}_batch"))
        for call, entry in entries:
            outputs = empty_outputs(whole, samples, TYPES[real])
            call(getattr(compiled, entry), inputs, outputs)
            assert_steps(program, inputs, outputs[0])


@pytest.mark.slow
@pytest.mark.parametrize("compiler", COMPILERS)
def test_long_program(compiler: str) -> None:
    # With contraction of a*b + c, where the machine has an instruction for it.
    program = random_program(1, 2500, operations=("add", "sub", "mul", "div", "abs", "sin", "max"))
    results = tuple(range(len(program.code) - 400, len(program.code), 4))
    program = replace(program, outputs=(Variable("y", (20, 5)),), results=results)
    parts = cut_program(program, 300).parts
    assert len(parts) > 3
    assert max(len(part.operations) for part in parts) < 450
    lib = compile_shared(c_source(program, COptions(part=300)), compiler, (*WARNINGS, "-O1", *FUSED))
    inputs = random_inputs(program, 11, special=0.0)
    for call, entry in ((call_single, lib.random_eval), (call_batch, lib.random_eval_batch)):
        outputs = empty_outputs(program, 11)
        call(entry, inputs, outputs)
        assert assert_within(program, inputs, outputs) > 100


def _main(cases: list[tuple[str, Program]], real: str, samples: int) -> str:
    """A program that reads all inputs, calls both entries on arrays of exactly their size, and writes."""
    lines = ["#include <stdio.h>", "#include <stdlib.h>"]
    lines += [f'#include "{name}.h"' for name, _ in cases]
    lines += [
        f"static {real} *make(size_t count, int fill) {{",
        f"    {real} *made = malloc(count ? count * sizeof({real}) : 1);",
        f"    if (made == NULL || (fill && fread(made, sizeof({real}), count, stdin) != count)) exit(3);",
        "    return made;",
        "}",
        "int main(void) {",
    ]
    for name, program in cases:
        lines.append("    {")
        sizes = [variable.size for variable in (*program.inputs, *program.outputs)]
        count = len(program.inputs)
        for k, size in enumerate(sizes):
            lines.append(f"        {real} *a{k} = make({size * samples}, {int(k < count)});")
        ins = [f"a{k} + i * {size}" if size else f"a{k}" for k, size in enumerate(sizes)]
        lines.append(f"        for (size_t i = 0; i < {samples}; ++i) {name}({', '.join(ins)});")
        writes = [
            f"        fwrite(a{k}, sizeof({real}), {sizes[k] * samples}, stdout);"
            for k in range(count, len(sizes))
        ]
        strided = [f"a{k}, {sizes[k]}" if k < count else f"a{k}" for k in range(len(sizes))]
        lines += [*writes, f"        {name}_batch({samples}, {', '.join(strided)});", *writes]
        lines += [f"        free(a{k});" for k in range(len(sizes))] + ["    }"]
    return "\n".join([*lines, "    return 0;", "}", ""])


@pytest.mark.slow
@pytest.mark.parametrize(("compiler", "real"), list(zip(COMPILERS, TYPES, strict=False)))
def test_sanitizers(compiler: str, real: str) -> None:
    dtype = TYPES[real]
    cases = [
        ("random_1", with_all_outputs(random_program(1))),
        ("cut_2", with_all_outputs(random_program(2, 60))),
        ("zero_3", replace(random_program(3), name="zero")),
        ("all_of_them", with_all_outputs(every_operation())),
    ]
    files: dict[str, str] = {}
    given: list[Array] = []
    for name, program in cases:
        files |= c_source(program, COptions(real=real, name=name, part=9 if name == "cut_2" else 700))
        given += random_inputs(program, SAMPLES, special=0.5, dtype=dtype)
    files["main.c"] = _main(cases, real, SAMPLES)
    made = run_executable(
        files, compiler, ("-std=c99", *SANITIZE, *EXACT), b"".join(array.tobytes() for array in given)
    )
    numbers, start, taken = np.frombuffer(made, dtype), 0, 0
    for name, program in cases:
        inputs = given[taken : taken + len(program.inputs)]
        taken += len(program.inputs)
        for _ in range(2):
            if name != "zero_3":
                rows = numbers[start : start + SAMPLES * program.output_size].reshape(SAMPLES, -1)
                assert_steps(program, inputs, rows)
            start += SAMPLES * program.output_size
    assert start == len(numbers)


@pytest.mark.slow
@pytest.mark.parametrize("compiler", COMPILERS)
def test_hostile_names(compiler: str) -> None:
    files: dict[str, str] = {}
    entries = []
    for k, name in enumerate(HOSTILE):
        others = ("w", "n", "v0", "s", f"{name}_real", f"{name}_part0_tile", f"{name}_stride")
        variables = (Variable(name, (2,)), Variable(name), *(Variable(other) for other in others))
        code = (
            ("input", 0),
            ("input", 2),
            ("div", 0, 1),
            ("input", 3),
            ("sqrt", 3),
            ("sign", 2),
            ("mul", 4, 5),
        )
        program = Program(name, variables, (Variable(name), Variable("y", (0,))), code, (6,))
        # Several of these names become the same one: a number behind keeps the files apart.
        made = c_source(program, COptions(name=f"{name}_{k}", units={name: name, "w": "*/??/"}, about=name))
        assert all(text.isascii() for text in made.values())
        assert set(files).isdisjoint(made)
        entries.append(next(iter(made)).removesuffix(".h"))
        files |= made
    lib = compile_shared(files, compiler, (*WARNINGS, "-O0"))
    for entry in entries:
        inputs = [np.array([[6.0, 0.0]]), np.array([[3.0]]), np.array([[4.0]])]
        inputs += [np.zeros((1, 1)) for _ in range(6)]
        outputs = [np.zeros((1, 1)), np.zeros((1, 0))]
        call_single(getattr(lib, entry), inputs, outputs)
        assert outputs[0][0, 0] == 2.0


def test_nothing_but_functions(tmp_path: Path) -> None:
    files = c_source(random_program(4, 60), COptions(part=9))
    made = compile_sources(
        files, tmp_path, "all.o", COMPILERS[0], (*WARNINGS, "-O1", "-c", "-fno-stack-protector")
    )
    listed = subprocess.run(["nm", "-P", str(made)], capture_output=True, text=True, check=True).stdout
    found = [line.split()[:2] for line in listed.splitlines()]
    # GCC makes one call of the sine and the cosine of an angle.
    mathematics = {"sin", "cos", "sincos", "tanh", "exp", "atan2", "sqrt", "floor", "_GLOBAL_OFFSET_TABLE_"}
    assert {name for name, kind in found if kind == "U"} <= mathematics
    assert {kind for _, kind in found} <= {"T", "t", "U", "r"}
    assert {name for name, kind in found if kind == "T"} == {"random_eval", "random_eval_batch"}


def test_header_says_what_arrays_are() -> None:
    program = Program(
        "inverse dynamics",
        (Variable("x", (2, 3)), Variable("θ")),
        (Variable("Γ", (6,)),),
        (("input", 0),),
        (0,) * 6,
    )
    files = c_source(
        program, COptions(units={"x": "m, in the base's frame", "Γ": "N·m"}, about="What it does")
    )
    header = files["inverse_dynamics.h"]
    assert " * inverse_dynamics: What it does.\n" in header
    assert " *   x: 6 numbers, 2 x 3 row by row; m, in the base's frame\n" in header
    assert " *   theta: 1 number\n" in header
    assert " *   Gamma: 6 numbers; N.m\n" in header
    assert "-fno-math-errno -fno-trapping-math" in header


def test_source_is_one_text(tmp_path: Path) -> None:
    program = random_program(2)
    text = source(program)
    assert target("c").source(program) == text
    assert source(program) == text
    for compiler in COMPILERS:
        compile_sources({"one.c": text}, tmp_path, "one.o", compiler, (*WARNINGS, "-c"))
