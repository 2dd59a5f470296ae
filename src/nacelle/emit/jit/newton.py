"""Newton's iteration in native code: `nacelle.emit.newton` for many samples at a time, without Python."""

from __future__ import annotations

import array
import functools
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nacelle.emit.jit.entries import driver_support
from nacelle.emit.jit.instructions import tile_stride
from nacelle.emit.jit.loops import Lanes, TileVector
from nacelle.emit.jit.plan import NativePlan
from nacelle.emit.jit.target import (
    DEFAULT,
    JitOptions,
    Library,
    address,
    aligned_memory,
    compile_modules,
    info_constant,
    make_plan,
    module_source,
    parameter_types,
    row_stride,
    run_in_threads,
    split_objects,
    vector_width,
)
from nacelle.emit.newton import (
    ITERATION_CAP,
    NewtonLoop,
    NewtonResult,
    NewtonRules,
    NewtonSolver,
    newton_sizes,
    sample_count,
    write_newton,
)
from nacelle.program.program import Program

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
    t = Lanes(width, False, f"define void @nacelle_{prefix}newton({_PARAMETERS})", prefix)
    alone = t.whole("==", t.whole("&", "%mode", _FOLLOW), 0)
    loop = NewtonLoop(
        n=n,
        y=TileVector(t, "%tile", 0),
        step=TileVector(t, "%tile", plan.result),
        error=TileVector(t, "%tile", plan.result + n).get,
        weights=t.shared_row("%weights"),
        evaluate=lambda: t(f"call void @{prefix}tiles(ptr %tile, i64 1)"),
        tolerance=t.argument("tolerance"),
        rounds=t.whole("+", "%cap", 1),
        polish=t.whole("!=", t.whole("&", "%mode", _POLISH), 0),
    )
    with t.samples() as samples:
        t.rows("pack", "%tile", n, "%p", k, "%p.step")
        if width == 1:
            # A sample follows the one before it only if that was solved; the tile still holds its solution.
            before = samples.carry("before", 1, "whole")
            with t.when(t.combine_bits("|", alone, t.whole("!=", before, 0))):
                t.rows("pack", "%tile", 0, "%guess", n, "%guess.step")
        else:
            t.rows("pack", "%tile", 0, "%guess", n, "%guess.step")
        status, steps = write_newton(t, loop)
        t.rows("unpack", "%tile", 0, "%y", n, str(n))
        t.store_integers(steps, "%iterations")
        t.store_integers(status, "%status")
        if width == 1:
            samples.set_next(before, status)
    return t.text()


class Newton(NewtonSolver):
    """Newton's method in native code, from what `compile_newton` has made of the program."""

    def __init__(self, image: bytes, program: Program) -> None:
        super().__init__(program)
        batch, single = split_objects(image)
        self._libraries = (
            Library(batch, ("nacelle_info", "nacelle_v_newton")),
            Library(single, ("nacelle_s_newton",)),
        )
        self.width, self._many_bytes, self._one_bytes = self._libraries[0].numbers("nacelle_info", 3)
        self._batch = self._libraries[0].function("nacelle_v_newton", _PARAMETERS)
        self._single = self._libraries[1].function("nacelle_s_newton", _PARAMETERS)
        self._tiles: deque[NDArray[np.uint8]] = deque()

    def _solve(
        self, y0: NDArray[Any], p: NDArray[Any], rules: NewtonRules, follow: bool, threads: int
    ) -> NewtonResult:
        count = sample_count(y0, p)
        width = 1 if follow else self.width
        y = np.empty((count, self.n))
        # Whole vectors are stored, so there is room for the lanes beyond the last sample.
        iterations = np.zeros(count + width, dtype=np.int64)
        status = np.full(count + width, ITERATION_CAP, dtype=np.int64)
        entry = self._single if follow else self._batch
        weights = rules.weights(self.n)
        mode = _FOLLOW * follow + _POLISH * rules.polish

        def part(start: int, stop: int) -> None:
            try:
                tile = self._tiles.pop()
            except IndexError:
                tile = aligned_memory(max(self._one_bytes, self._many_bytes))
            entry(
                *(address(y0), row_stride(y0), address(p), row_stride(p)),
                *(address(y), address(iterations), address(status), start, stop),
                *(rules.tolerance, address(weights), rules.max_iterations, mode),
                address(tile),
            )
            self._tiles.append(tile)

        run_in_threads(part, count, width, threads)
        return NewtonResult(y, iterations[:count], status[:count])

    def _bind(
        self, y0: NDArray[Any], p: NDArray[Any], y: NDArray[Any], rules: NewtonRules
    ) -> Callable[[], int]:
        tile, weights = aligned_memory(self._one_bytes), rules.weights(self.n)
        counted, status = array.array("q", [0]), array.array("q", [ITERATION_CAP])
        values = [
            *(address(y0), 0, address(p), 0, address(y), counted.buffer_info()[0], status.buffer_info()[0]),
            *(0, 1, rules.tolerance, address(weights), rules.max_iterations, _POLISH * rules.polish),
            address(tile),
        ]
        kinds = parameter_types(_PARAMETERS)
        call = functools.partial(self._single, *(kind(a) for kind, a in zip(kinds, values, strict=True)))
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
            return [driver_support(plan, lanes, prefix), _text(plan, n, k, lanes, prefix)]

        sizes = info_constant([width, tile_stride(plan, width), tile_stride(plan, 1)])
        return module_source([sizes, *driver(width, "v_")], options), module_source(
            driver(1, "s_"), options, 1
        )

    return compile_modules(texts, program, options)
