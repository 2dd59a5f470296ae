"""Jit.

entries, instructions, latency, library, loops, lu, order, rows, stages, style, vector text, vectors.
"""

from __future__ import annotations

import ctypes
import json
import math
import struct
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from nacelle.compile import make_program
from nacelle.emit.irk5 import STAGES
from nacelle.emit.jit import target as jit
from nacelle.emit.jit.entries import batch, single, single_in_tile
from nacelle.emit.jit.instructions import evaluation, stride
from nacelle.emit.jit.latency import latency_order
from nacelle.emit.jit.library import Library, address, aligned_memory, share, spans_of, step_of
from nacelle.emit.jit.loops import Lines
from nacelle.emit.jit.lu import column_stride, factor_and_solve
from nacelle.emit.jit.order import order, values_read
from nacelle.emit.jit.plan import fuse
from nacelle.emit.jit.residence import moves
from nacelle.emit.jit.rows import move_few, move_whole
from nacelle.emit.jit.stages import StageLayout, Stages
from nacelle.emit.jit.style import style_of
from nacelle.emit.jit.target import DEFAULT, JitOptions, compile_text, make_plan, module, vector_width
from nacelle.emit.jit.vector_text import Text
from nacelle.emit.jit.vectors import constant, splat
from nacelle.emit.machine import host, other
from nacelle.program.program import ARITY, Instruction, Program, Variable, apply
from nacelle.spatial.scalar import Array, cos, pack, sin
from support.random_programs import random_program

# ---- Entries of a kernel: many samples in tiles, shared rows, and one sample


def affine(a: Array, x: Array) -> Array:
    return pack([a[0] * x[0] + a[1], a[1] * x[1] - a[0], x[0] * x[1]])


PROGRAM = make_program(affine, None, {"a": (2,), "x": (2,)})


def expected(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    return np.stack([a[:, 0] * x[:, 0] + a[:, 1], a[:, 1] * x[:, 1] - a[:, 0], x[:, 0] * x[:, 1]], axis=1)


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 17, 100])
@pytest.mark.parametrize("shared", [False, True])
def test_batches_of_any_length(count: int, shared: bool) -> None:
    random = np.random.default_rng(count)
    a, x = random.normal(size=(1 if shared else count, 2)), random.normal(size=(count, 2))
    out = np.full((count, 3), np.nan)
    jit.kernel(PROGRAM, jit.JitOptions(fma=False)).run([a, x], [out], 1)
    np.testing.assert_array_equal(out, expected(np.broadcast_to(a, x.shape), x))


def test_texts_define_the_entries() -> None:
    plan = make_plan(PROGRAM)
    assert "define void @nacelle_batch(" in batch(plan, (2, 2), (3,), 4, 8)
    for text, prefix in ((single(plan, (2, 2), (3,)), "s_"), (single_in_tile(plan, (2, 2), (3,), 4), "v_")):
        assert "define void @nacelle_single(ptr %call)" in text
        assert f"call void @{prefix}tiles(ptr %tile, i64 1)" in text


# ---- LLVM IR of each operation, at widths of one and of four, against the semantics of programs

VALUES = (0.0, -0.0, 0.5, -1.5, 2.5, math.inf, -math.inf, math.nan, 1e300, -7.0)

OPERATIONS = (
    "add",
    "sub",
    "mul",
    "div",
    "neg",
    "sqrt",
    "abs",
    "sign",
    "floor",
    "min",
    "max",
    "where",
    "sin",
    "atan2",
)


def every_operation() -> Program:
    """Each operation of the same three inputs."""
    code = [("input", k) for k in range(3)]
    code += [(op, *range(ARITY[op])) for op in OPERATIONS]
    results = tuple(range(3, len(code)))
    inputs, outputs = (Variable("x", (3,)),), (Variable("y", (len(results),)),)
    return Program("all", inputs, outputs, tuple(code), results)


@pytest.mark.parametrize("width", [1, 4])
def test_operations(width: int) -> None:
    program = every_operation()
    plan = make_plan(program, JitOptions(fma=False))
    text = module([evaluation(plan, width, "w_")], DEFAULT).replace(
        "define internal void @w_tiles", "define void @w_tiles"
    )
    library = Library(compile_text(text), ("w_tiles",))
    pointer = ctypes.c_void_p
    run = ctypes.CFUNCTYPE(None, pointer, ctypes.c_int64)(library.address("w_tiles"))
    grid = [(a, b, c) for a in VALUES for b in VALUES for c in (1.25,)]
    for start in range(0, len(grid) - width + 1, width):
        tile = aligned_memory(stride(plan, width))
        numbers = tile.view(np.float64)
        numbers[: 3 * width] = np.array(grid[start : start + width]).T.ravel()
        run(address(tile), 1)
        first = plan.result * width
        found = numbers[first : first + len(OPERATIONS) * width].reshape(-1, width)
        for lane in range(width):
            for op, value in zip(OPERATIONS, found[:, lane], strict=True):
                with np.errstate(all="ignore"):
                    expected = float(apply(op, *(np.float64(v) for v in grid[start + lane][: ARITY[op]])))
                assert value == pytest.approx(expected, rel=4e-16, nan_ok=True), (op, grid[start + lane])


# ---- The order for latency: it respects what operations need, stays in its window, and hides waits


def needs_of(code: list[Instruction | None], listed: list[int]) -> dict[int, tuple[int, ...]]:
    made = set(listed)
    return {k: tuple(a for a in dict.fromkeys((code[k] or ())[1:]) if a in made) for k in listed}


@pytest.mark.parametrize("window", [1, 7, 64, 10_000])
@pytest.mark.parametrize("seed", range(6))
def test_needs_come_first_and_nothing_leaves_its_window(seed: int, window: int) -> None:
    code = list(fuse(random_program(seed, 250)))
    listed = [k for k, step in enumerate(code) if step and step[0] not in ("const", "input")]
    needs = needs_of(code, listed)
    found = latency_order(listed, code, needs, window, 8)
    assert sorted(found) == listed
    place = {k: position for position, k in enumerate(found)}
    assert all(place[a] < place[k] for k in listed for a in needs[k])
    if window == 1:
        assert found == listed
    done: set[int] = set()
    for k in found:
        front = next(position for position, other in enumerate(listed) if other not in done)
        assert listed.index(k) < front + window
        done.add(k)


def test_chains_run_beside_each_other() -> None:
    """Four chains of sums, listed one after the other, are begun in turn; the one with a quotient first."""
    code: list[Instruction | None] = [("input", 0)]
    chains = []
    for chain in range(4):
        start = len(code)
        code.append(("sqrt" if chain == 2 else "add", *([0] if chain == 2 else [0, 0])))
        code += [("add", start + step, 0) for step in range(5)]
        chains.append(list(range(start, start + 6)))
    listed = [k for chain in chains for k in chain]
    found = latency_order(listed, code, needs_of(code, listed), 24, 16)
    assert found[0] == chains[2][0]
    assert [next(n for n, chain in enumerate(chains) if k in chain) for k in found[1:7]] == [0, 1, 3] * 2


def test_while_many_values_are_alive_the_order_is_that_with_few() -> None:
    """Products with one use each: begun all before the first use they would be alive all at once."""
    code: list[Instruction | None] = [("input", 0)]
    for _ in range(30):
        code += [("mul", 0, 0), ("add", len(code), 0)]
    listed = list(range(1, len(code)))
    needs = needs_of(code, listed)
    most = {}
    for registers in (4, 1000):
        alive, most[registers] = 0, 0
        uses = {k: sum(k in needs[user] for user in listed) for k in listed}
        for k in latency_order(listed, code, needs, 1000, registers):
            for a in needs[k]:
                uses[a] -= 1
                alive -= not uses[a]
            alive += uses[k] > 0
            most[registers] = max(most[registers], alive)
    assert most[4] <= 8 < most[1000] == 30


# ---- Native code in memory: spans of whole vectors, aligned memory, addresses


@pytest.mark.parametrize(
    ("count", "width", "parts"), [(1, 4, 3), (17, 4, 3), (1000, 8, 4), (3, 8, 2), (64, 2, 5)]
)
def test_spans_cover_all_samples(count: int, width: int, parts: int) -> None:
    spans = spans_of(count, width, parts)
    assert [k for a, b in spans for k in range(a, b)] == list(range(count))
    assert all(a % width == 0 for a, _ in spans)
    assert len(spans) <= parts
    sizes = [b - a for a, b in spans]
    assert max(sizes) - min(sizes) <= 2 * width


def test_threads_do_every_part_once() -> None:
    done = np.zeros(1000, dtype=int)

    def part(first: int, last: int) -> None:
        done[first:last] += 1

    for threads in (1, 3):
        share(part, 1000, 8, threads)
    assert np.all(done == 2)


def test_memory() -> None:
    block = aligned_memory(100)
    assert len(block) == 100
    assert address(block) % 64 == 0
    frozen = np.ones(3)
    frozen.setflags(write=False)
    assert address(frozen) == frozen.ctypes.data
    assert (step_of(np.zeros((1, 5))), step_of(np.zeros((2, 5)))) == (0, 5)


# ---- Loops and branches in native code, against NumPy


def written() -> str:
    """A function of (x, n, out): largest |x|, sum of positive x, x reversed; the first place above 5."""
    c = Lines(vector_width(DEFAULT), host().fma, "define i64 @f(ptr %x, i64 %n, ptr %out)")
    with c.loop(0, "%n") as loop:
        largest, total = loop.carry(c.number(0.0)), loop.carry(c.number(0.0))
        value = c.load("%x", loop.index)
        loop.hand(largest, c.larger(largest, c.size(value)))
        positive = c.real("fcmp ogt", value, c.number(0.0))
        more = c.product_sum(value, c.number(1.0), total)
        loop.hand(total, c.value(f"select i1 {positive}, double {more}, double {total}"))
        c.store(value, "%out", c.whole("sub", c.whole("add", "%n", 1), loop.index))
    c.store(largest, "%out", 0)
    c.store(total, "%out", 1)
    with c.loop(0, "%n") as loop, c.when(c.real("fcmp ogt", c.load("%x", loop.index), c.number(5.0))):
        c.leave(loop.index)
    return c.text("i64 -1")


@pytest.mark.parametrize("n", [0, 1, 7])
def test_loops(n: int) -> None:
    library = Library(compile_text(module([written()], DEFAULT)), ("f",))
    f = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p)(
        library.address("f")
    )
    x = np.random.default_rng(n).normal(size=max(n, 1)) * 4.0
    out = np.full(n + 2, np.nan)
    place = f(address(x), n, address(out))
    x = x[:n]
    assert out[0] == np.max(np.abs(x), initial=0.0)
    assert out[1] == pytest.approx(np.sum(x[x > 0.0]))
    np.testing.assert_array_equal(out[2:], x[::-1])
    assert place == (np.argmax(x > 5.0) if (x > 5.0).any() else -1)
    if n:
        bad = x.copy()
        bad[0] = np.nan
        f(address(bad), n, address(out))
        assert np.isnan(out[0])


# ---- LU factorisation and solves in native code, against LAPACK

_ENTRY = """define void @both(ptr %re, ptr %im, ptr %scales, ptr %pivots, ptr %x, ptr %y) #0 {{
call void @{kind}_factor(ptr %re, ptr %im, ptr %scales, ptr %pivots)
call void @{kind}_solve(ptr %re, ptr %im, ptr %pivots, ptr %x, ptr %y)
ret void
}}"""


@cache
def library(n: int, kind: str) -> Library:
    text = factor_and_solve(n, vector_width(DEFAULT), host().fma, f"{kind}_", complex_=kind == "complex")
    return Library(compile_text(module([text, _ENTRY.format(kind=kind)], DEFAULT)), ("both",))


def solved(A: np.ndarray, b: np.ndarray) -> np.ndarray:
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
        np.testing.assert_allclose(solved(A, b), expected, rtol=0.0, atol=tolerance)


def test_a_singular_matrix_gives_no_number() -> None:
    A = np.ones((3, 3))
    assert not np.isfinite(solved(A, np.arange(3.0))).all()


# ---- order
#
# Orders of operations for a few registers: valid, and with no more moves than the program's own.


@pytest.mark.parametrize("registers", [6, 16, 32])
@pytest.mark.parametrize("seed", range(8))
def test_orders(seed: int, registers: int) -> None:
    program = random_program(seed, 120)
    given = [k for k, step in enumerate(program.code) if step[0] not in ("const", "input")]
    reads = values_read(program.code, given)
    found = order(program.code, program.results, registers)
    assert sorted(found) == given
    place = {k: step for step, k in enumerate(found)}
    assert all(place[a] < place[k] for k in given for a in reads[k] if a in place)
    inputs = {k for k, step in enumerate(program.code) if step[0] == "input"}
    count = moves(found, reads, inputs, program.results, registers)
    assert count <= moves(given, reads, inputs, program.results, registers)


# ---- Rows into tiles and back: any size of a row, whole vectors of samples and the last few

WIDTH = 4

SIZES = (1, 3, 4, 5, 8, 11)

POINTER = ctypes.c_void_p


@pytest.fixture(scope="module")
def library_of_rows() -> Library:
    texts = [move_whole(size, WIDTH, pack=pack) for size in SIZES for pack in (True, False)]
    text = module([*texts, move_few(WIDTH, "v_")], DEFAULT)
    names = [f"{verb}{size}" for verb in ("pack", "unpack") for size in SIZES]
    names += ["v_pack_few", "v_unpack_few"]
    for name in names:
        text = text.replace(f"define internal void @{name}(", f"define void @{name}(")
    return Library(compile_text(text), tuple(names))


@pytest.mark.parametrize("size", SIZES)
def test_whole_vectors_are_transposed(library_of_rows: Library, size: int) -> None:
    rows = np.arange(WIDTH * size, dtype=float).reshape(WIDTH, size)
    tile = aligned_memory(8 * WIDTH * (size + WIDTH))
    call = ctypes.CFUNCTYPE(None, POINTER, POINTER)
    call(library_of_rows.address(f"pack{size}"))(address(rows), address(tile))
    np.testing.assert_array_equal(tile.view(np.float64)[: WIDTH * size].reshape(size, WIDTH), rows.T)
    back = np.full((WIDTH, size), np.nan)
    call(library_of_rows.address(f"unpack{size}"))(address(back), address(tile))
    np.testing.assert_array_equal(back, rows)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_last_rows_fill_their_lanes(library_of_rows: Library, count: int) -> None:
    size, step = 3, 5
    rows = np.arange(float(WIDTH * step)).reshape(WIDTH, step)
    tile = aligned_memory(8 * WIDTH * size)
    call = ctypes.CFUNCTYPE(None, POINTER, POINTER, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
    call(library_of_rows.address("v_pack_few"))(address(rows), address(tile), size, step, count)
    lanes = np.minimum(np.arange(WIDTH), count - 1)  # lanes beyond the last row repeat it
    np.testing.assert_array_equal(tile.view(np.float64).reshape(size, WIDTH), rows[lanes, :size].T)
    back = np.full((WIDTH, step), -1.0)
    call(library_of_rows.address("v_unpack_few"))(address(back), address(tile), size, step, count)
    np.testing.assert_array_equal(back[:count, :size], rows[:count, :size])
    assert np.all(back[count:] == -1.0)
    assert np.all(back[:, size:] == -1.0)


# ---- stages
#
# The parts of an implicit step in native code: the Jacobian by differences, the size of its memory.

N = 5


def coupled(x: Array, u: Array, p: Array) -> Array:
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
    program = make_program(coupled, None, {"x": (N,), "u": (1,), "p": (1,)})
    width, plan = vector_width(DEFAULT), make_plan(program)
    stages = Stages(plan, (N, 1, 1), width, host().fma)
    text = module([evaluation(plan, width, "v_"), *stages.texts()], DEFAULT)
    text = text.replace("define internal void @irk5_jacobian", "define void @irk5_jacobian")
    library = Library(compile_text(text), ("irk5_jacobian",))
    tile, work = aligned_memory(stride(plan, width)), np.zeros(stages.layout.size)
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


@pytest.mark.parametrize("width", [2, 8])
def test_arrays_do_not_overlap(width: int) -> None:
    layout = StageLayout(7, 3, width)
    names = ["wholes", "x", "u", "z0", "r2"]
    begins = sorted([layout.vector(name) for name in names] + [layout.matrix(name) for name in ("J", "E2i")])
    assert begins[0] >= width
    assert min(np.diff(begins)) >= max(3 * 3, 10) + width
    assert layout.matrix("E1") - layout.matrix("J") >= 7 * column_stride(7, width) + width
    assert layout.size >= layout.matrix("E2i") + 7 * column_stride(7, width) + width


# ---- How code is laid out for families of machines


@pytest.mark.parametrize(
    ("triple", "cpu"),
    [
        ("aarch64-unknown-linux-gnu", "neoverse-n1"),
        ("x86_64-unknown-linux-gnu", "x86-64"),
        ("x86_64-unknown-linux-gnu", "x86-64-v3"),
        ("x86_64-unknown-linux-gnu", "x86-64-v4"),
    ],
)
def test_styles_fit_their_machines(triple: str, cpu: str) -> None:
    machine = other(triple, cpu)
    style = style_of(machine)
    # Registers remain for constants that are operands, and for what is just being made.
    assert style.registers <= machine.registers - 4
    assert style.fma == machine.fma
    assert style.accumulates == triple.startswith("aarch64")
    assert style.centred == machine.is_x86
    # Constants that one instruction repeats over the lanes need no table.
    assert style.table != machine.has("avx512f")
    assert style.whole >= style.chunk


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


# ---- Pieces of loops over vectors, compiled: choices, finite lanes, bits of any lane


@pytest.mark.parametrize("width", [1, 4])
def test_lanes(width: int) -> None:
    """b = 2 a + 1 where a is finite, else -1; and whether any lane is not finite, as a number."""
    text = Text(width, "t_")
    text("define void @lanes(ptr %tile) #0 {", "entry:")
    a = text.load("%tile", 0)
    finite = text.finite(a)
    two, one = text.spread("2.0"), text.spread("1.0")
    b = text.choose(finite, text.add(text.mul(two, a), one), text.spread("-1.0"))
    text.store(b, "%tile", 1)
    ones = "1" if width == 1 else "splat (i1 1)"
    every = text.value(f"or {text.bit} {ones}, {ones}")
    bad = text.any(text.unless(every, finite))
    flag = text.value(f"select i1 {bad}, double 1.0, double 0.0")
    text.store(text.spread(flag), "%tile", 2)
    text("ret void", "}")
    library = Library(compile_text(module(["\n".join(text.lines)], DEFAULT)), ("lanes",))
    run = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(library.address("lanes"))
    for values in ([0.5, -3.0, 1e300, 0.0], [math.inf, 1.0, math.nan, -2.0]):
        tile = aligned_memory(8 * 3 * width)
        numbers = tile.view(np.float64).reshape(3, width)
        given = np.array(values[:width])
        numbers[0] = given
        run(address(tile))
        good = np.isfinite(given)
        np.testing.assert_array_equal(
            numbers[1], np.where(good, 2.0 * np.where(good, given, 0.0) + 1.0, -1.0)
        )
        np.testing.assert_array_equal(numbers[2], float(not np.all(good)))


# ---- Constants of vectors, bit for bit


def test_constants_are_bits() -> None:
    for value in (0.1, -0.0, math.inf, 5e-324):
        assert struct.pack(">Q", int(constant(value), 16)) == struct.pack(">d", value)
    assert splat(1.0, 1) == constant(1.0)
    assert splat(1.0, 4) == f"splat (double {constant(1.0)})"
