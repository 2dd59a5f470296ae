"""The Runge-Kutta method in native code: `nacelle.emit.rk4` for many samples at a time, without Python."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nacelle.emit.jit.entries import driver_support
from nacelle.emit.jit.instructions import evaluation_functions, tile_stride
from nacelle.emit.jit.loops import Lanes, RegisterVector, TileVector
from nacelle.emit.jit.plan import NativePlan
from nacelle.emit.jit.target import (
    DEFAULT,
    JitOptions,
    Library,
    address,
    aligned_memory,
    compile_text,
    info_constant,
    make_plan,
    module_source,
    row_stride,
    run_in_threads,
    vector_width,
)
from nacelle.emit.loop_writer import Index
from nacelle.emit.rk4 import (
    ControlLoop,
    IntegrationTask,
    Integrator,
    Rk4Loop,
    integration_sizes,
    write_rk4,
)
from nacelle.program.program import Program

_PARAMETERS = (
    "ptr %x0, i64 %x0.step, ptr %u, i64 %u.step, i64 %u.stage, ptr %p, i64 %p.step, ptr %stored, "
    "i64 %stored.step, ptr %final, ptr %completed, i64 %start, i64 %stop, double %h, i64 %steps, "
    "i64 %every, i64 %held, i64 %delay, ptr %tile"
)


@dataclass(frozen=True)
class _Control:
    """A program of inputs (x, w, p) that gives u at the begin of a step, to be held over it.

    Attributes:
        plan: its layout.
        inputs: numbers of its inputs: x, or [s; z] of a sampled control, w and p.
        memory: number of states z of a sampled control; None of one that is not sampled.
    """

    plan: NativePlan
    inputs: Sequence[int]
    memory: int | None


def _text(plan: NativePlan, sizes: Sequence[int], width: int, control: _Control | None) -> str:
    """Write `@nacelle_v_rk4`, which integrates samples `start` to `stop`.

    The states follow the tile in memory, after them the tile of a control, and then room for states. What a
    sampled control has given stays in its tile, until it acts and as long as it does.

    Args:
        plan: layout of the derivative program, inputs (x, u, p), output dx.
        sizes: numbers of states n, of inputs m and of parameters k.
        width: lanes of a vector.
        control: what gives the inputs at the begin of every step; if None they are rows of an array.
    """
    t, (n, m, k) = Lanes(width, False, f"define void @nacelle_v_rk4({_PARAMETERS})", "v_"), sizes
    whole, first = _stored_states(sizes, control), ""
    state, acting = t.after("%tile", tile_stride(plan, width)), TileVector(t, "%tile", n)

    def load_inputs(begin: str, target: TileVector, size: int) -> None:
        source = t.shared_row(t.address("%u", begin))
        t.each(size, lambda j: target.put(j, source(j)))

    def begin(step: str) -> None:
        nonlocal first
        if control is None:
            first = t.whole("*", t.whole("/", step, "%held"), "%u.step")

    def evaluate(stage: Index) -> None:
        if control is None and stage != 2:
            row = t.whole("*", "%u.stage", (int(stage) + 1) // 2)
            load_inputs(t.whole("+", first, row), acting, m)
        t("call void @v_tiles(ptr %tile, i64 1)")

    law, room = None, "%tile"
    if control is not None:
        (state_size, row_size, parameters), rows = control.inputs, t.after(state, whole * 8 * width)
        control_tile, output_index = TileVector(t, rows, 0), control.plan.result

        def evaluate_control(row: str) -> None:
            load_inputs(t.whole("*", row, "%u.step"), TileVector(t, rows, state_size), row_size)
            t.each(state_size, lambda j: control_tile.put(j, TileVector(t, state, 0).get(j)))
            t(f"call void @c_tiles(ptr {rows}, i64 1)")

        law = ControlLoop(TileVector(t, rows, output_index), evaluate_control, "%held")
        if control.memory is not None:
            # The tile has room for s alone: more would overwrite p.
            room = t.after(rows, tile_stride(control.plan, width))
            z = TileVector(t, state, n), TileVector(t, rows, output_index + m), control.memory
            before = TileVector(t, state, state_size)
            law = replace(law, before=before, delay="%delay", carried=(z, (before, acting, m)))

    def store(following: str) -> None:
        # A lane that has failed keeps its last finite state, but stores NaN.
        last, kept, nan = TileVector(t, state, 0), TileVector(t, room, 0), t.number(float("nan"))
        going, t.mask = t.mask, ""
        t.each(whole, lambda j: kept.put(j, t.choose(going, last.get(j), nan)))
        t.mask = going
        row = t.whole("*", t.whole("-", t.whole("/", following, "%every"), 1), whole)
        t.rows("unpack", room, 0, t.address("%stored", row), whole, "%stored.step")

    loop = Rk4Loop(
        n=n,
        m=m,
        x=TileVector(t, state, 0),
        at=TileVector(t, "%tile", 0),
        u=acting,
        slope=TileVector(t, "%tile", plan.result),
        total=RegisterVector(),
        after=RegisterVector(),
        begin=begin,
        evaluate=evaluate,
        h=t.argument("h"),
        steps="%steps",
        is_stored=lambda following: t.whole("==", t.whole("%", following, "%every"), 0),
        store=store,
        control=law,
    )
    with t.samples():
        t.rows("pack", state, 0, "%x0", whole, "%x0.step")
        t.rows("pack", "%tile", n + m, "%p", k, "%p.step")
        if control is not None:
            t.rows("pack", rows, state_size + row_size, "%p", parameters, "%p.step")
        completed = write_rk4(t, loop)
        t.rows("unpack", state, 0, "%final", whole, str(whole))
        t.store_integers(completed, "%completed")
    return t.text()


def _stored_states(sizes: Sequence[int], control: _Control | None) -> int:
    """Number of states that are stored: those of the derivative, or s, z and u in the sampled form."""
    n, m, _ = sizes
    return n if control is None or control.memory is None else n + control.memory + m


class Rk4(Integrator):
    """The Runge-Kutta method in native code, from what `compile_rk4` has made of the programs."""

    def __init__(
        self, image: bytes, program: Program, control: Program | None = None, *, sampled: bool = False
    ) -> None:
        super().__init__(program, control, sampled)
        self._library = Library(image, ("nacelle_info", "nacelle_v_rk4"))
        self.width, self._bytes = self._library.numbers("nacelle_info", 2)
        self._entry = self._library.function("nacelle_v_rk4", _PARAMETERS)

    def _integrate(
        self, task: IntegrationTask, h: float, stored: NDArray[Any], threads: int
    ) -> tuple[NDArray[Any], NDArray[np.int64]]:
        n, m = self.sizes.n, self.sizes.m
        u_step, u_stage = (3 * m, m) if task.staged else (row_stride(task.u), 0)
        final = np.empty((task.count, n))
        # Whole vectors are stored, so there is room for the lanes beyond the last sample.
        completed = np.zeros(task.count + self.width, dtype=np.int64)

        def part(start: int, stop: int) -> None:
            tile = aligned_memory(self._bytes)
            self._entry(
                *(address(task.x0), row_stride(task.x0), address(task.u), u_step, u_stage),
                *(address(task.p), row_stride(task.p), address(stored), stored.shape[1] * n),
                *(address(final), address(completed), start, stop, h, task.steps, task.every),
                *(task.held, task.delay, address(tile)),
            )

        run_in_threads(part, task.count, self.width, threads)
        return final, completed[: task.count]


def compile_rk4(
    program: Program,
    options: JitOptions = DEFAULT,
    control: Program | None = None,
    *,
    sampled: bool = False,
) -> bytes:
    """Compile the Runge-Kutta method around a derivative program, as bytes that `Rk4` takes."""
    program.check()
    form = integration_sizes(program, control, sampled=sampled).sampled
    inputs = [variable.size for variable in program.inputs]
    width, plan = vector_width(options), make_plan(program, options)
    parts, held, tile = [driver_support(plan, width, "v_")], None, tile_stride(plan, width)
    if control is not None:
        control.check()
        control_sizes = [variable.size for variable in control.inputs]
        held = _Control(make_plan(control, options), control_sizes, None if form is None else form.z)
        parts.append(evaluation_functions(held.plan, width, "c_"))
        tile += tile_stride(held.plan, width)
    # Once for the states, and in the sampled form once more for what is stored of them.
    tile += (1 if form is None else 2) * _stored_states(inputs, held) * 8 * width
    parts = [info_constant([width, tile]), *parts, _text(plan, inputs, width, held)]
    return compile_text(module_source(parts, options), options)
