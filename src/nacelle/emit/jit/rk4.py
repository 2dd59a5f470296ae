"""The Runge-Kutta method in native code: `nacelle.emit.rk4` for many samples at a time, without Python."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nacelle.emit.jit.entries import around
from nacelle.emit.jit.instructions import evaluation, stride
from nacelle.emit.jit.loops import Lanes, Loop
from nacelle.emit.jit.plan import NativePlan
from nacelle.emit.jit.target import (
    DEFAULT,
    JitOptions,
    Library,
    address,
    aligned_memory,
    compile_text,
    info,
    make_plan,
    module,
    share,
    step_of,
    vector_width,
)
from nacelle.emit.rk4 import IntegrationTask, Integrator, sizes
from nacelle.program.program import Program

_PARAMETERS = (
    "ptr %x0, i64 %x0.step, ptr %u, i64 %u.step, i64 %u.stage, ptr %p, i64 %p.step, ptr %stored, "
    "i64 %stored.step, ptr %final, ptr %completed, i64 %start, i64 %stop, double %h, i64 %steps, "
    "i64 %every, i64 %held, i64 %delay, ptr %tile"
)
# Of every stage its weight in the sum, how far the next one is from x, in parts of h, and its row of inputs:
# at the begin of the step, in its middle, at its end.
_STAGES = ((1.0, 0.5, 0), (2.0, 0.5, 1), (2.0, 1.0, 1), (1.0, 0.0, 2))


@dataclass(frozen=True)
class _Control:
    """A program of inputs (x, w, p) that gives u at the begin of a step, to be held over it.

    Attributes:
        plan: its layout.
        inputs: numbers of its inputs: x, or [s; z] of a sampled control, w and p.
        prefix: of the names of its functions.
        memory: number of states z of a sampled control; None of one that is not sampled.
    """

    plan: NativePlan
    inputs: Sequence[int]
    prefix: str
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
    whole = _states(sizes, control)
    state = room = t.after("%tile", stride(plan, width))
    given, rows, place = m, "%tile", n
    if control is not None:
        (place, given, parameters), rows = control.inputs, t.after(state, whole * 8 * width)
        room = t.after(rows, stride(control.plan, width))
    h = t.spread("%h")
    reaches = {part: t.mul(h, t.number(part, vector=True)) for part in (0.5, 1.0, 1 / 6)}

    def load_inputs(first: str, row: int) -> None:
        begin = t.whole("add", first, t.whole("mul", "%u.stage", row))
        for j in range(given):
            t.put(t.spread(t.load("%u", t.whole("add", begin, j))), rows, place + j)

    def step(steps: Loop, alive: str, lived: str) -> None:
        row = t.whole("udiv", steps.index, "%held")
        phase, first = (
            t.whole("sub", steps.index, t.whole("mul", row, "%held")),
            t.whole("mul", row, "%u.step"),
        )
        start = [t.take(state, j) for j in range(whole)]
        during: list[str] = []  # What X has beside s in the sampled form: z and u during this step.
        if control is not None:
            with t.when(t.whole("icmp eq", phase, 0)):
                load_inputs(first, 0)
                for j in range(place):
                    t.put(start[j], rows, j)
                t(f"call void @{control.prefix}tiles(ptr {rows}, i64 1)")
            made = [t.take(rows, control.plan.result + j) for j in range(m + (control.memory or 0))]
            acting = made[:m]
            if control.memory is not None:
                acts = t.whole("icmp uge", phase, "%delay")
                acting = [
                    t.value(f"select i1 {acts}, {t.type} {made[j]}, {t.type} {start[place + j]}")
                    for j in range(m)
                ]
                during = made[m:] + acting
            for j in range(m):
                t.put(acting[j], "%tile", n + j)
        total = [""] * n
        for j in range(n):
            t.put(start[j], "%tile", j)
        for stage, (weight, reach, input_row) in enumerate(_STAGES):
            if control is None and stage != 2:
                load_inputs(first, input_row)
            t(f"call void @{t.prefix}tiles(ptr %tile, i64 1)")
            for j in range(n):
                rate = t.take("%tile", plan.result + j)
                if reach:
                    t.put(t.add(start[j], t.mul(reaches[reach], rate)), "%tile", j)
                share = t.mul(rate, t.number(weight, vector=True)) if weight != 1.0 else rate
                total[j] = t.add(total[j], share) if stage else share
        end = [t.add(start[j], t.mul(reaches[1 / 6], total[j])) for j in range(n)] + during
        going = alive
        for value in end:
            going = t.both(going, t.finite(value))
        for j, value in enumerate(end):
            t.put(t.choose(going, value, start[j]), state, j)
        steps.hand(alive, going)
        more = t.value(f"add {t.integer} {lived}, {t.repeated(1)}")
        steps.hand(lived, t.choose(going, more, lived, t.integer))
        following = t.whole("add", steps.index, 1)
        with t.when(t.whole("icmp eq", t.whole("urem", following, "%every"), 0)):
            # A lane that has failed keeps its last finite state, but stores NaN. The tile is free to write s
            # in, but X is longer, and would overwrite p.
            kept = room if during else "%tile"
            for j in range(whole):
                t.put(t.choose(going, t.take(state, j), t.number(float("nan"), vector=True)), kept, j)
            stored = t.whole("sub", t.whole("udiv", following, "%every"), 1)
            t.rows(
                "unpack", kept, 0, t.place("%stored", t.whole("mul", stored, whole)), whole, "%stored.step"
            )
        steps.only_while(t.any(going))

    with t.samples():
        t.rows("pack", state, 0, "%x0", whole, "%x0.step")
        t.rows("pack", "%tile", n + m, "%p", k, "%p.step")
        if control is not None:
            t.rows("pack", rows, place + given, "%p", parameters, "%p.step")
        with t.loop(0, "%steps") as steps:
            alive, lived = steps.carry(t.repeated(1, "i1"), t.bit), steps.carry(t.repeated(0), t.integer)
            step(steps, alive, lived)
        t.rows("unpack", state, 0, "%final", whole, str(whole))
        t.put_integers(lived, "%completed")
    return t.text()


def _states(sizes: Sequence[int], control: _Control | None) -> int:
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
        u_step, u_stage = (3 * m, m) if task.staged else (step_of(task.u), 0)
        final = np.empty((task.count, n))
        # Whole vectors are stored, so there is room for the lanes beyond the last sample.
        completed = np.zeros(task.count + self.width, dtype=np.int64)

        def part(start: int, stop: int) -> None:
            tile = aligned_memory(self._bytes)
            self._entry(
                *(address(task.x0), step_of(task.x0), address(task.u), u_step, u_stage),
                *(address(task.p), step_of(task.p), address(stored), stored.shape[1] * n),
                *(address(final), address(completed), start, stop, h, task.steps, task.every),
                *(task.held, task.delay, address(tile)),
            )

        share(part, task.count, self.width, threads)
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
    form = sizes(program, control, sampled=sampled).sampled
    inputs = [variable.size for variable in program.inputs]
    width, plan = vector_width(options), make_plan(program, options)
    parts, held, tile = [around(plan, width, "v_")], None, stride(plan, width)
    if control is not None:
        control.check()
        taken = [variable.size for variable in control.inputs]
        held = _Control(make_plan(control, options), taken, "c_", None if form is None else form.z)
        parts.append(evaluation(held.plan, width, "c_"))
        tile += stride(held.plan, width)
    # Once for the states, and in the sampled form once more for what is stored of them.
    tile += (1 if form is None else 2) * _states(inputs, held) * 8 * width
    parts = [info([width, tile]), *parts, _text(plan, inputs, width, held)]
    return compile_text(module(parts, options), options)
