"""Following solutions in native code: `nacelle.emit.track` for many samples at a time, without Python."""

from __future__ import annotations

import array
import functools
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
from nacelle.emit.track import (
    FOLLOWED,
    ROUNDING,
    ROUNDS,
    BoundTrack,
    TrackLoop,
    TrackResult,
    TrackRules,
    TrackSizes,
    TrackSolver,
    track_sizes,
    write_track,
)
from nacelle.program.program import Program

_PARAMETERS = (
    "ptr %guess, i64 %guess.step, ptr %p0, i64 %p0.step, ptr %p1, i64 %p1.step, ptr %y, ptr %part, "
    "ptr %distances, ptr %taken, ptr %status, i64 %start, i64 %stop, double %tolerance, ptr %weights, "
    "i64 %cap, i64 %follow, ptr %tile"
)


def _room(sizes: TrackSizes) -> int:
    """Numbers that the driver keeps behind the tile."""
    return 2 * (sizes.n + sizes.k + sizes.m) + 1


def _text(plan: NativePlan, sizes: TrackSizes, width: int, prefix: str) -> str:
    """Write `@nacelle_<prefix>track`, which follows samples `start` to `stop`.

    Args:
        plan: layout of the step program, inputs (y, p), outputs (dy, error, distances).
        sizes: its sizes.
        width: lanes of a vector.
        prefix: of the names of the functions of this width.
    """
    t = Lanes(width, False, f"define void @nacelle_{prefix}track({_PARAMETERS})", prefix)
    n, k, m = sizes
    room = t.after("%tile", tile_stride(plan, width))
    accepted, tentative, first, last, near, further, part = (
        TileVector(t, room, offset) for offset in np.cumsum([0, n, n, k, k, m, m]).tolist()
    )
    p = TileVector(t, "%tile", n)
    distances = TileVector(t, "%tile", plan.result + n + 1)
    stop, weights = "%cap", t.shared_row("%weights")

    def evaluate() -> None:
        t(f"call void @{prefix}tiles(ptr %tile, i64 1)")

    def begin() -> None:
        """Solutions that are given, and how far they are from singularities."""
        t.rows("pack", "%tile", 0, "%guess", n, "%guess.step")
        t.rows("pack", "%tile", n, "%p0", k, "%p0.step")
        t.each(k, lambda j: first.put(j, p.get(j)))
        evaluate()
        t.each(m, lambda j: near.put(j, distances.get(j)))

    with t.samples() as samples:
        if width == 1:
            # A sample follows the one before it, whose solution is in the tile still, but for one that fails.
            before = samples.carry("before", 0, "whole")
            alone = t.whole("==", "%follow", 0)
            begins = t.combine_bits("|", alone, t.whole("==", samples.index, "%start"))
            with t.when(begins):
                begin()
            with t.when(t.unary("not", begins, "bit")):
                t.each(k, lambda j: first.put(j, last.get(j)))
            lost = t.combine_bits("&", t.unary("not", alone, "bit"), t.whole("!=", before, 0))
            stop = t.value(f"select i1 {lost}, i64 0, i64 %cap")
        else:
            begin()
        t.rows("pack", room, 2 * n + k, "%p1", k, "%p1.step")
        loop = TrackLoop(
            n=n,
            k=k,
            m=m,
            y=TileVector(t, "%tile", 0),
            accepted=accepted,
            tentative=tentative,
            p=p,
            first=first.get,
            last=last.get,
            step=TileVector(t, "%tile", plan.result),
            error=TileVector(t, "%tile", plan.result + n).get,
            distances=distances.get,
            near=near,
            further=further,
            weights=weights,
            parameter_weights=lambda j: weights(int(j) + n),
            evaluate=evaluate,
            tolerance=t.argument("tolerance"),
            rounding=t.number(ROUNDING * float(np.finfo(float).eps)),
            rounds=stop,
        )
        results = write_track(t, loop)
        part.put(0, results.part)
        t.rows("unpack", room, 0, "%y", n, str(n))
        t.rows("unpack", room, _room(sizes) - 1, "%part", 1, "1")
        t.rows("unpack", room, 2 * (n + k), "%distances", m, str(m))
        t.store_integers(results.taken, "%taken")
        t.store_integers(results.status, "%status")
        if width == 1:
            samples.set_next(before, results.status)
    return t.text()


class Track(TrackSolver):
    """Following solutions in native code, from what `compile_track` has made of the program."""

    def __init__(self, image: bytes, program: Program) -> None:
        super().__init__(program)
        batch, single = split_objects(image)
        self._libraries = (
            Library(batch, ("nacelle_info", "nacelle_v_track")),
            Library(single, ("nacelle_s_track",)),
        )
        self.width, self._many_bytes, self._one_bytes = self._libraries[0].numbers("nacelle_info", 3)
        self._batch = self._libraries[0].function("nacelle_v_track", _PARAMETERS)
        self._single = self._libraries[1].function("nacelle_s_track", _PARAMETERS)

    def _solve(
        self, rows: tuple[NDArray[Any], ...], rules: TrackRules, follow: bool, threads: int
    ) -> TrackResult:
        count = max(len(array) for array in rows)
        width = 1 if follow else self.width
        y, part_of_way, distances = (np.empty((count, size)) for size in (self.sizes.n, 1, self.sizes.m))
        # Whole vectors are stored, so there is room for the lanes beyond the last sample.
        taken = np.zeros(count + width, dtype=np.int64)
        status = np.full(count + width, ROUNDS, dtype=np.int64)
        entry, weights = self._single if follow else self._batch, rules.weights

        def part(start: int, stop: int) -> None:
            tile = aligned_memory(max(self._one_bytes, self._many_bytes))
            entry(
                *(value for array in rows for value in (address(array), row_stride(array))),
                *(address(y), address(part_of_way), address(distances), address(taken), address(status)),
                *(start, stop),
                *(rules.tolerance, address(weights), rules.cap, int(follow), address(tile)),
            )

        run_in_threads(part, count, width, 1 if follow else threads)
        # The first evaluation is not counted there, nor the last one of a way that does not end at the cap.
        evaluations = taken[:count] + 1 + (status[:count] != ROUNDS)
        if follow:
            evaluations[1:][np.maximum.accumulate(status[: count - 1] != FOLLOWED)] = 0
        return TrackResult(y, part_of_way[:, 0], status[:count], evaluations, distances)

    def bind(
        self,
        y0: NDArray[Any],
        p0: NDArray[Any],
        p1: NDArray[Any],
        y: NDArray[Any],
        rules: TrackRules,
    ) -> BoundTrack:
        """A way in these very buffers."""
        tile, weights = aligned_memory(self._one_bytes), rules.weights
        taken, status = array.array("q", [0]), array.array("q", [ROUNDS])
        part, distances = array.array("d", [0.0]), np.zeros(self.sizes.m)
        values = [
            *(address(y0), 0, address(p0), 0, address(p1), 0, address(y)),
            *(
                part.buffer_info()[0],
                address(distances),
                taken.buffer_info()[0],
                status.buffer_info()[0],
                0,
                1,
            ),
            *(rules.tolerance, address(weights), rules.cap, 0, address(tile)),
        ]
        kinds = parameter_types(_PARAMETERS)
        call = functools.partial(self._single, *(kind(a) for kind, a in zip(kinds, values, strict=True)))
        keep = (tile, weights, part, taken, y0, p0, p1, y)

        def solve() -> int:
            call()
            return status[0]

        vars(solve)["keep"] = keep
        return BoundTrack(solve, distances, taken)


def compile_track(program: Program, options: JitOptions = DEFAULT) -> bytes:
    """Compile the driver around a step program, as bytes that `Track` takes."""
    program.check()
    sizes = track_sizes(program)

    def texts() -> tuple[str, str]:
        width, plan = vector_width(options), make_plan(program, options)

        def driver(lanes: int, prefix: str) -> list[str]:
            return [driver_support(plan, lanes, prefix), _text(plan, sizes, lanes, prefix)]

        bytes_ = [tile_stride(plan, lanes) + 8 * lanes * _room(sizes) for lanes in (width, 1)]
        return module_source([info_constant([width, *bytes_]), *driver(width, "v_")], options), module_source(
            driver(1, "s_"), options, 1
        )

    return compile_modules(texts, program, options)
