"""Native code: elimination against LAPACK, layout of programs, values in registers, signs, LLVM."""

from __future__ import annotations

import ctypes
import json
import math
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from nacelle.compile import make_program
from nacelle.emit.irk5 import STAGES
from nacelle.emit.irk5_steps import DERIVATIVE, StepSizes
from nacelle.emit.jit.instructions import evaluation_functions, tile_stride
from nacelle.emit.jit.irk5 import NativeSteps
from nacelle.emit.jit.order import Memory, fewest_moves_order, operands_read, register_loads
from nacelle.emit.jit.plan import Style, fuse, plan
from nacelle.emit.jit.signs import operands, without_negations
from nacelle.emit.jit.target import (
    DEFAULT,
    Library,
    address,
    aligned_memory,
    compile_text,
    make_plan,
    module_source,
    vector_width,
)
from nacelle.emit.lu import column_stride
from nacelle.emit.machine import host_machine
from nacelle.program.program import Instruction, Program, Variable
from nacelle.spatial.scalar import Array, cos, pack, sin
from support.random_programs import assert_within, evaluate, random_inputs, random_program

# ---- LU factorisation and solves in native code, against LAPACK

_ENTRY = """define void @both(ptr %re, ptr %im, ptr %scales, ptr %pivots, ptr %x, ptr %y) #0 {{
call void @{kind}_factor({matrix}, ptr %scales, ptr %pivots)
call void @{kind}_solve({matrix}, ptr %pivots, {side})
ret void
}}"""
_ARGUMENTS = {
    "real": {"matrix": "ptr %re", "side": "ptr %x"},
    "complex": {"matrix": "ptr %re, ptr %im", "side": "ptr %x, ptr %y"},
}


@cache
def library(n: int, kind: str) -> Library:
    program = make_program(lambda x, u, p: x, None, {"x": (n,), "u": (0,), "p": (0,)})
    plan, width = make_plan(program), vector_width(DEFAULT)
    steps = NativeSteps({DERIVATIVE: plan}, StepSizes(n, 0, 0), width, host_machine().fma)
    entry = _ENTRY.format(kind=kind, **_ARGUMENTS[kind])
    text = module_source([evaluation_functions(plan, width, "v_"), *steps.texts, entry], DEFAULT)
    return Library(compile_text(text), ("both",))


def native_solution(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """A⁻¹ b by native code; what is beside the matrix and the vectors is NaN, which must not come in."""
    kind, n, width = "complex" if np.iscomplexobj(A) else "real", len(A), vector_width(DEFAULT)
    matrices = []
    for part in (A.real, A.imag):
        memory = np.full(2 * width + n * column_stride(n, width), np.nan)
        memory[width : width + n * column_stride(n, width)].reshape(n, -1)[:, :n] = part.T
        matrices.append(memory)
    sides = [
        np.concatenate([np.full(width, np.nan), part, np.full(width, np.nan)]) for part in (b.real, b.imag)
    ]
    scales, pivots = np.zeros(n), np.zeros(n, dtype=np.int64)
    own = library(n, kind)
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 6)(own.address("both"))
    function(
        *(address(memory) + 8 * width for memory in matrices),
        *(address(scales), address(pivots)),
        *(address(side) + 8 * width for side in sides),
    )
    x, y = (side[width : width + n] for side in sides)
    return x + 1j * y if kind == "complex" else x.copy()


@pytest.mark.parametrize("kind", ["real", "complex"])
@pytest.mark.parametrize("n", [1, 2, 3, 8, 33])
def test_as_lapack(n: int, kind: str) -> None:
    rng = np.random.default_rng(n)
    for case in range(4):
        A, b = rng.normal(size=(n, n)), rng.normal(size=n)
        if kind == "complex":
            A, b = A + 1j * rng.normal(size=(n, n)), b + 1j * rng.normal(size=n)
        if case == 1 and n > 1:
            # No diagonal to begin with: rows must be exchanged.
            A[np.arange(n), np.arange(n)] = 0.0
        if case == 2:
            A = A * 10.0 ** rng.uniform(-6.0, 6.0, (n, 1))
        if case == 3:
            A[rng.random((n, n)) < 0.6] = 0.0
            A[np.arange(n), np.arange(n)] += 3.0
        expected = np.linalg.solve(A, b)
        condition = np.linalg.cond(A / np.max(np.abs(A), axis=1, keepdims=True))
        tolerance = 1e-14 * condition * np.max(np.abs(expected))
        np.testing.assert_allclose(native_solution(A, b), expected, rtol=0.0, atol=tolerance)


def test_a_singular_matrix_gives_no_number() -> None:
    A = np.ones((3, 3))
    assert not np.isfinite(native_solution(A, np.arange(3.0))).all()


# ---- stages
#
# The parts of an implicit step in native code: the Jacobian by differences, the size of its memory.

N = 5


def coupled_rates(x: Array, u: Array, p: Array) -> Array:
    return pack([x[(k + 1) % N] * sin(x[k]) + 1e3 * p[0] * u[0] * x[0] * (k == 2) for k in range(N)])


def exact(x: np.ndarray, u: float, p: float) -> np.ndarray:
    J = np.diag([x[(k + 1) % N] * cos(x[k]) for k in range(N)])
    for k in range(N):
        J[k, (k + 1) % N] += sin(x[k])
    J[2, 0] += 1e3 * p * u
    return J


@pytest.mark.parametrize("begin", [0.0, 0.4])
def test_the_jacobian(begin: float) -> None:
    """At inputs on the parabola through those of the stages, which may be of any time of the step."""
    program = make_program(coupled_rates, None, {"x": (N,), "u": (1,), "p": (1,)})
    width, plan = vector_width(DEFAULT), make_plan(program)
    stages = NativeSteps({DERIVATIVE: plan}, StepSizes(N, 1, 1), width, host_machine().fma)
    text = module_source([evaluation_functions(plan, width, "v_"), *stages.texts], DEFAULT)
    text = text.replace("define internal void @irk5_jacobian", "define void @irk5_jacobian")
    library = Library(compile_text(text), ("irk5_jacobian",))
    tile, work = aligned_memory(tile_stride(plan, width)), np.zeros(stages.layout.size)
    x, p = np.array([0.3, -2.0, 0.0, 40.0, 1e-4]), 0.7
    tile.view(np.float64)[(N + 1) * width : (N + 2) * width] = p
    at = stages.layout.vector
    work[at("x") : at("x") + N] = x
    work[at("u") : at("u") + 3] = 1.0 + 2.0 * STAGES - 3.0 * STAGES**2
    pointer = ctypes.c_void_p
    function = ctypes.CFUNCTYPE(None, pointer, pointer, ctypes.c_double)(library.address("irk5_jacobian"))
    function(address(tile), address(work), begin)
    first = stages.layout.matrix("J")
    found = work[first : first + N * column_stride(N, width)].reshape(N, -1)[:, :N].T
    expected = exact(x, 1.0 + 2.0 * begin - 3.0 * begin**2, p)
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=2e-4)
    # What does not depend on a state has exact zeros, which elimination leaves out.
    assert np.all(found[expected == 0.0] == 0.0)


# ---- How code is laid out for families of machines


@pytest.mark.slow
def test_what_llvm_writes_for_each_family() -> None:
    """Next to no negations on NEON, and few values on the stack: LLVM holds what the plan holds.

    The programs have 730, 1400 and 12 000 operations. One negation is the mask of signs; on NEON the Jacobian
    has results that are negations of others. On x86 exclusive or makes masks and zeros, too.
    """
    root = Path(__file__).parents[3]
    done = subprocess.run(
        [sys.executable, "benchmarks/emitted_code.py", "--json"],
        cwd=root,
        stdout=subprocess.PIPE,
        check=True,
        timeout=600,
    )
    rows = json.loads(done.stdout)
    assert len(rows) == 9
    for row in rows:
        operations = {"PaLiDA's inverse dynamics": 730, "a hexapod's inverse dynamics": 1400}
        size = operations.get(row["program"], 12_000)
        if row["family"] == "Neoverse-N1":
            assert row["negations"] <= 1 + size // 1000
        assert row["stores to the stack"] <= 0.03 * size, row
        assert row["instructions"] < 2.4 * size, row


# ---- The layout of programs for native code: fusing, order, cuts and places


def made(code: list[tuple[object, ...]], results: tuple[int, ...], inputs: int = 4) -> Program:
    return Program("p", (Variable("x", (inputs,)),), (Variable("y", (len(results),)),), tuple(code), results)


INPUTS: list[tuple[object, ...]] = [("input", k) for k in range(4)]


@pytest.mark.parametrize("chunk", [7, 50, 10_000])
@pytest.mark.parametrize("neon", [False, True])
def test_every_value_is_placed_before_it_is_loaded(chunk: int, neon: bool) -> None:
    program = random_program(4, 400)
    style = Style(accumulates=neon, registers=14, window=20, table=neon, chunk=chunk, whole=5 * chunk)
    layout = plan(program, style)
    # Where each result is computed: it may be kept as the negation of what the program says.
    made = {place: k for part in layout.chunks for k, places in part.stores.items() for place in places}
    memory: dict[int, int] = {k: k for k in range(layout.inputs)}
    for part in layout.chunks:
        known = set()
        for k, fetched in zip(part.operations, part.fetched, strict=True):
            for a in operands(layout.code[k] or ()):
                step = layout.code[a]
                assert step is not None
                if step[0] == "const":
                    assert (a in layout.constants) == neon
                elif a in fetched:
                    assert memory[layout.home[a]] == (step[1] if step[0] == "input" else a)
                else:
                    assert a in known
                known.add(a)
            known.add(k)
            memory |= dict.fromkeys(part.stores.get(k, ()), k)
    for position in range(len(program.results)):
        place = layout.result + position
        assert layout.code[made[place]] is not None
        assert memory.get(place, made[place]) == made[place]
    sizes = [len(part.operations) for part in layout.chunks]
    assert max(sizes) <= max(1.6 * chunk, 20) or len(sizes) == 1
    assert (len(sizes) == 1) == (layout.operations <= 5 * chunk)
    assert np.sum(sizes) == layout.operations


# ---- Values in registers: never more than there are, and loaded only after they were stored


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("registers", [3, 12])
def test_no_more_values_are_held_than_registers(seed: int, registers: int) -> None:
    program = random_program(seed, 300)
    code = fuse(program)
    listed = fewest_moves_order(code, program.results, registers)
    reads = operands_read(code, listed)
    inputs = {k for k, step in enumerate(code) if step and step[0] == "input"}
    ends = {100, 200}
    fetched = register_loads(listed, reads, registers, Memory(inputs, ends))
    last = {a: position for position, k in enumerate(listed) for a in reads[k]}
    # What was not fetched must have been in a register since it was made or read last.
    since: dict[int, int] = {}
    spans = [0] * len(listed)
    for position, k in enumerate(listed):
        if position in ends:
            since.clear()
        for a in reads[k]:
            if a not in fetched[position]:
                for between in range(since[a], position):
                    spans[between] += 1
            since[a] = position
        if k in last:
            since[k] = position
    assert max(spans, default=0) <= registers


# ---- Values kept with either sign: the same numbers, and zeros where their sign matters

SIGNED: list[Instruction] = [("input", k) for k in range(4)]
# Without functions that look at more than the number itself.
ARITHMETIC = ("add", "sub", "mul", "mul", "div", "sqrt", "neg", "abs", "sign", "where", "min", "max")


def built(code: list[Instruction], results: tuple[int, ...]) -> Program:
    return Program("p", (Variable("x", (4,)),), (Variable("y", (len(results),)),), tuple(code), results)


def expand_fused(code: tuple[Instruction | None, ...], results: list[int], program: Program) -> Program:
    """The same program with products and sums apart, which the reference evaluates."""
    steps: list[Instruction] = []
    place: list[int] = []
    for step in code:
        assert step is not None
        op, *a = step
        if op not in ("const", "input"):
            a = [place[k] for k in a]
        if op in ("fma", "fms", "fnma"):
            steps.append(("mul", *a[:2]))
            product = len(steps) - 1
            pair = {"fma": ("add", product, a[2]), "fms": ("sub", product, a[2])}
            steps.append(pair.get(op, ("sub", a[2], product)))
        else:
            steps.append((op, *a))
        place.append(len(steps) - 1)
    return Program("p", program.inputs, program.outputs, tuple(steps), tuple(place[k] for k in results))


@pytest.mark.parametrize("seed", range(40))
def test_the_same_numbers_but_for_the_sign_of_zeros(seed: int) -> None:
    """Exactly, since rounding knows no sign; NaN and infinities alike, which divisors' zeros decide."""
    program = random_program(seed, 150, operations=ARITHMETIC)
    code, results = without_negations(fuse(program), program.results)
    assert not any(step is not None and step[0] == "fms" for step in code)
    written = expand_fused(code, results, program)
    written.check()
    plain = expand_fused(*_as_fused(program), program)
    inputs = random_inputs(program, 12, seed)
    for ours, reference in zip(evaluate(written, inputs), evaluate(plain, inputs), strict=True):
        np.testing.assert_array_equal(ours, reference)
    assert_within(program, inputs, evaluate(written, inputs))


def _as_fused(program: Program) -> tuple[tuple[Instruction | None, ...], list[int]]:
    """A program as it is fused, without what is not needed."""
    fused = fuse(program)
    kept = [k for k, step in enumerate(fused) if step is not None]
    place = {k: position for position, k in enumerate(kept)}
    steps = []
    for k in kept:
        op, *a = fused[k] or ()
        steps.append((op, *(a if op in ("const", "input") else [place[b] for b in a])))
    return tuple(steps), [place[k] for k in program.results]


def test_a_result_is_never_computed_with_the_opposite_sign() -> None:
    # x2 - x0 x1 is +0 where both are equal, and so is x0 x1 - x2.
    for difference in (("sub", 4, 2), ("sub", 2, 4)):
        program = built([*SIGNED, ("mul", 0, 1), difference], (5,))
        code, results = without_negations(fuse(program), program.results)
        (value,) = expand_fused(code, results, program).evaluate([2.0, 3.0, 6.0, 0.0])
        assert math.copysign(1.0, value) == 1.0


def test_divisors_and_angles_keep_the_sign_of_their_zeros() -> None:
    """What a divisor is made of is computed as it is, so that 1 / 0 is the infinity of the reference."""
    for last in (("div", 3, 6), ("atan2", 6, 3), ("atan2", 3, 6)):
        code = [*SIGNED, ("mul", 0, 1), ("add", 2, 2), ("sub", 4, 5), last]
        program = built(code, (7,))
        signed = without_negations(fuse(program), program.results)
        for x in ([2.0, 3.0, 3.0, -1.0], [2.0, 3.0, 3.0, 0.0], [-2.0, 3.0, -3.0, -1.0]):
            (ours,), (reference,) = expand_fused(*signed, program).evaluate(x), program.evaluate(x)
            np.testing.assert_array_equal(ours, reference)
