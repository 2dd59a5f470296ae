"""Newton's iteration in native code: `nacelle.emit.newton` for many samples at a time, without Python."""

from __future__ import annotations

import array
import ctypes
import functools
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nacelle.emit.jit.entries import around
from nacelle.emit.jit.instructions import stride
from nacelle.emit.jit.plan import NativePlan
from nacelle.emit.jit.target import (
    DEFAULT,
    JitOptions,
    Library,
    address,
    aligned_memory,
    compile_two,
    info,
    make_plan,
    module,
    objects,
    share,
    step_of,
    vector_width,
)
from nacelle.emit.jit.vectors import Text, begin_samples, end_samples, splat
from nacelle.emit.newton import ITERATION_CAP, NewtonResult, Rules, Solver, newton_sizes, sample_count
from nacelle.program.program import Program

_POINTER, _INTEGER, _REAL = ctypes.c_void_p, ctypes.c_int64, ctypes.c_double

_PARAMETERS = (
    "ptr %guess, i64 %guess.step, ptr %p, i64 %p.step, ptr %y, ptr %iterations, ptr %status, "
    "i64 %start, i64 %stop, double %tolerance, ptr %weights, i64 %cap, i64 %mode, ptr %tile"
)
# Bits of %mode: each sample starts from the one before it; a sample that is solved takes its last step, too.
_FOLLOW, _POLISH = 1, 2


def _text(plan: NativePlan, n: int, k: int, width: int, prefix: str) -> str:
    """Write `@nacelle_<prefix>newton`, which solves samples `start` to `stop`.

    Args:
        plan: layout of the step program, inputs (y, p), outputs (dy, error).
        n: number of unknowns.
        k: number of parameters.
        width: lanes of a vector.
        prefix: of the names of the functions of this width.
    """
    t = Text(width, prefix)
    t(f"define void @nacelle_{prefix}newton({_PARAMETERS}) #0 {{")
    begin_samples(t)
    t.rows("pack", "%tile", n, "%p", k, "%p.step")
    # A lane follows the sample before it only if that one was solved; the tile still holds its solution.
    t("%fresh = icmp eq i64 %sample, %start")
    if width == 1:
        t(
            "%before = phi i64 [ 1, %entry ], [ %state.end, %sample.end ]",
            "%failed = icmp ne i64 %before, 0",
            f"%follow = and i64 %mode, {_FOLLOW}",
            "%alone = icmp eq i64 %follow, 0",
            "%restart = or i1 %fresh, %failed",
            "%guessed = or i1 %restart, %alone",
            "br i1 %guessed, label %guess.begin, label %iterate.begin",
        )
        # A phi must be at the head of its block.
        phi = t.lines.index("%before = phi i64 [ 1, %entry ], [ %state.end, %sample.end ]")
        head = t.lines.index("sample.begin:") + 1
        t.lines.insert(head, t.lines.pop(phi))
    else:
        t("br label %guess.begin")
    t("guess.begin:")
    t.rows("pack", "%tile", 0, "%guess", n, "%guess.step")
    before = "%sample.begin, %guess.begin" if width == 1 else "%guess.begin"
    ones = "1" if width == 1 else "splat (i1 1)"

    def begin(value: str) -> str:
        return ", ".join(f"[ {value}, {block} ]" for block in before.split(", "))

    t(
        "br label %iterate.begin",
        "iterate.begin:",
        f"%active = phi {t.bit} {begin(ones)}, [ %active.next, %iterate.end ]",
        f"%state = phi {t.integer} {begin(t.whole(1))}, [ %state.end, %iterate.end ]",
        f"%taken = phi {t.integer} {begin(t.whole(0))}, [ %taken.next, %iterate.end ]",
        f"call void @{prefix}tiles(ptr %tile, i64 1)",
    )
    steps = [t.load("%tile", plan.result + j) for j in range(n)]
    error = t.load("%tile", plan.result + n)
    small = t.value(f"fcmp ole {t.real} {error}, {t.spread('%tolerance')}")
    solved = t.both(small, "%active")
    finite = t.finite(error)
    for step in steps:
        finite = t.both(finite, t.finite(step))
    unsolved = t.unless("%active", solved)
    broken = t.unless(unsolved, finite)
    state = t.choose(solved, t.whole(0), "%state", t.integer)
    t(f"%state.end = select {t.bit} {broken}, {t.integer} {t.whole(2)}, {t.integer} {state}")
    limit = "%cap"
    if width > 1:
        first = t.value(f"insertelement {t.integer} poison, i64 %cap, i64 0")
        limit = t.value(
            f"shufflevector {t.integer} {first}, {t.integer} poison, <{width} x i32> zeroinitializer"
        )
    room = t.value(f"icmp ult {t.integer} %taken, {limit}")
    going = t.both(t.unless(unsolved, broken), room)
    t(f"%active.next = and {t.bit} {going}, {going}")
    # The step, shortened to the longest that is allowed.
    square = splat(0.0, width)
    for j, step in enumerate(steps):
        weight = t.value(f"load double, ptr {t.value(f'getelementptr double, ptr %weights, i64 {j}')}")
        part = t.mul(step, t.spread(weight))
        square = t.add(square, t.mul(part, part))
    length = t.value(f"call {t.real} @llvm.sqrt.{t.end}({t.real} {square})")
    one = splat(1.0, width)
    long = t.value(f"fcmp ogt {t.real} {length}, {one}")
    scale = t.choose(long, t.value(f"fdiv {t.real} {one}, {length}"), one)
    polishes = t.value(f"icmp ne i64 {t.value(f'and i64 %mode, {_POLISH}')}, 0")
    none = "0" if width == 1 else "zeroinitializer"
    last = t.value(f"select i1 {polishes}, {t.bit} {t.both(solved, finite)}, {t.bit} {none}")
    moves = t.value(f"or {t.bit} %active.next, {last}")
    for j, step in enumerate(steps):
        old = t.load("%tile", j)
        new = t.add(old, t.mul(scale, step))
        t.store(t.choose(moves, new, old), "%tile", j)
    one_more = t.value(f"add {t.integer} %taken, {t.whole(1)}")
    t(f"%taken.next = select {t.bit} %active.next, {t.integer} {one_more}, {t.integer} %taken")
    more = t.any("%active.next")
    t("br label %iterate.end", "iterate.end:", f"br i1 {more}, label %iterate.begin, label %store")
    t("store:")
    t.rows("unpack", "%tile", 0, "%y", n, str(n))
    for name, value in (("%iterations", "%taken.next"), ("%status", "%state.end")):
        pointer = t.value(f"getelementptr i64, ptr {name}, i64 %sample")
        t(f"store {t.integer} {value}, ptr {pointer}, align 8")
    return end_samples(t)


class Newton(Solver):
    """Newton's method in native code, from what `compile_newton` has made of the program."""

    def __init__(self, image: bytes, program: Program) -> None:
        super().__init__(program)
        many, one = objects(image)
        self._libraries = (
            Library(many, ("nacelle_info", "nacelle_v_newton")),
            Library(one, ("nacelle_s_newton",)),
        )
        self.width, self._many_bytes, self._one_bytes = self._libraries[0].numbers("nacelle_info", 3)
        kind = ctypes.CFUNCTYPE(
            None,
            *(_POINTER, _INTEGER, _POINTER, _INTEGER, _POINTER, _POINTER, _POINTER),
            *(_INTEGER, _INTEGER, _REAL, _POINTER, _INTEGER, _INTEGER, _POINTER),
        )
        self._many = kind(self._libraries[0].address("nacelle_v_newton"))
        self._one = kind(self._libraries[1].address("nacelle_s_newton"))
        self._tiles: deque[NDArray[np.uint8]] = deque()

    def _solve(
        self, y0: NDArray[Any], p: NDArray[Any], rules: Rules, follow: bool, threads: int
    ) -> NewtonResult:
        count = sample_count(y0, p)
        width = 1 if follow else self.width
        y = np.empty((count, self.n))
        # Whole vectors are stored, so there is room for the lanes beyond the last sample.
        iterations = np.zeros(count + width, dtype=np.int64)
        status = np.full(count + width, ITERATION_CAP, dtype=np.int64)
        entry = self._one if follow else self._many
        weights = rules.weights(self.n)
        mode = _FOLLOW * follow + _POLISH * rules.polish

        def part(start: int, stop: int) -> None:
            try:
                tile = self._tiles.pop()
            except IndexError:
                tile = aligned_memory(max(self._one_bytes, self._many_bytes))
            entry(
                *(address(y0), step_of(y0), address(p), step_of(p)),
                *(address(y), address(iterations), address(status), start, stop),
                *(rules.tolerance, address(weights), rules.max_iterations, mode),
                address(tile),
            )
            self._tiles.append(tile)

        share(part, count, width, threads)
        return NewtonResult(y, iterations[:count], status[:count])

    def _bind(self, y0: NDArray[Any], p: NDArray[Any], y: NDArray[Any], rules: Rules) -> Callable[[], int]:
        tile, weights = aligned_memory(self._one_bytes), rules.weights(self.n)
        counted, status = array.array("q", [0]), array.array("q", [ITERATION_CAP])
        call = functools.partial(
            self._one,
            *(_POINTER(address(y0)), _INTEGER(0), _POINTER(address(p)), _INTEGER(0), _POINTER(address(y))),
            *(_POINTER(counted.buffer_info()[0]), _POINTER(status.buffer_info()[0])),
            *(_INTEGER(0), _INTEGER(1), _REAL(rules.tolerance), _POINTER(address(weights))),
            *(_INTEGER(rules.max_iterations), _INTEGER(_POLISH * rules.polish)),
            _POINTER(address(tile)),
        )
        keep = (tile, weights, counted, y0, p, y)

        def solve() -> int:
            call()
            return status[0]

        vars(solve)["keep"] = keep
        return solve


def compile_newton(program: Program, options: JitOptions = DEFAULT) -> bytes:
    """Compile Newton's method around a step program, as bytes that `Newton` takes."""
    program.check()
    n, k = newton_sizes(program)

    def texts() -> tuple[str, str]:
        width, plan = vector_width(options), make_plan(program, options)

        def driver(lanes: int, prefix: str) -> list[str]:
            return [around(plan, lanes, prefix), _text(plan, n, k, lanes, prefix)]

        sizes = info([width, stride(plan, width), stride(plan, 1)])
        return module([sizes, *driver(width, "v_")], options), module(driver(1, "s_"), options, 1)

    return compile_two(texts, program, options)
