"""The Runge-Kutta method in native code: `nacelle.emit.rk4` for many samples at a time, without Python."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nacelle.emit.jit.entries import around
from nacelle.emit.jit.instructions import evaluation, stride
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
from nacelle.emit.jit.vectors import Text, begin_samples, end_samples, splat
from nacelle.emit.rk4 import IntegrationTask, Integrator, sizes
from nacelle.program.program import Program

_POINTER, _INTEGER, _REAL = ctypes.c_void_p, ctypes.c_int64, ctypes.c_double

_PARAMETERS = (
    "ptr %x0, i64 %x0.step, ptr %u, i64 %u.step, i64 %u.stage, ptr %p, i64 %p.step, ptr %stored, "
    "i64 %stored.step, ptr %final, ptr %completed, i64 %start, i64 %stop, double %h, i64 %steps, "
    "i64 %every, i64 %held, i64 %delay, ptr %tile"
)
# Where in a step each stage is, in rows of the inputs: at its begin, in its middle, at its end.
_STAGE_ROWS = (0, 1, 1, 2)


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
    t, (n, m, k) = Text(width, "v_"), sizes
    sampled = control is not None and control.memory is not None
    whole = _states(sizes, control)
    t(f"define void @nacelle_{t.prefix}rk4({_PARAMETERS}) #0 {{")
    begin_samples(t)
    t(f"%state = getelementptr i8, ptr %tile, i64 {stride(plan, width)}")
    t.rows("pack", "%state", 0, "%x0", whole, "%x0.step")
    t.rows("pack", "%tile", n + m, "%p", k, "%p.step")
    given, rows, place = m, "%tile", n
    if control is not None:
        (place, given, parameters), rows = control.inputs, "%control"
        t(f"%control = getelementptr i8, ptr %state, i64 {whole * 8 * width}")
        t(f"%room = getelementptr i8, ptr %control, i64 {stride(control.plan, width)}")
        t.rows("pack", "%control", place + given, "%p", parameters, "%p.step")
    h = t.spread("%h")
    half = t.mul(h, splat(0.5, width))
    sixth = t.mul(h, splat(1 / 6, width))
    ones = "1" if width == 1 else "splat (i1 1)"
    t(
        "%none = icmp eq i64 %steps, 0",
        "br i1 %none, label %finish, label %step.begin",
        "step.begin:",
        "%step = phi i64 [ 0, %sample.begin ], [ %step.next, %step.end ]",
        f"%alive = phi {t.bit} [ {ones}, %sample.begin ], [ %alive.next, %step.end ]",
        f"%lived = phi {t.integer} [ {t.whole(0)}, %sample.begin ], [ %lived.next, %step.end ]",
        "%count.stored = phi i64 [ 0, %sample.begin ], [ %count.next, %step.end ]",
        "%until = phi i64 [ %every, %sample.begin ], [ %until.end, %step.end ]",
        "%row = phi i64 [ 0, %sample.begin ], [ %row.next, %step.end ]",
        "%phase = phi i64 [ 0, %sample.begin ], [ %phase.next, %step.end ]",
        "%step.next = add i64 %step, 1",
        "%phase.more = add i64 %phase, 1",
        "%row.more = add i64 %row, 1",
        "%over = icmp eq i64 %phase.more, %held",
        "%phase.next = select i1 %over, i64 0, i64 %phase.more",
        "%row.next = select i1 %over, i64 %row.more, i64 %row",
    )
    first, block = t.value("mul i64 %row, %u.step"), "step.begin"

    def load_inputs(row: int) -> None:
        begin = t.value(f"add i64 {first}, {t.value(f'mul i64 %u.stage, {row}')}")
        for j in range(given):
            entry = t.value(f"add i64 {begin}, {j}")
            pointer = t.value(f"getelementptr double, ptr %u, i64 {entry}")
            t.store(t.spread(t.value(f"load double, ptr {pointer}, align 8")), rows, place + j)

    start = [t.load("%state", j) for j in range(whole)]
    during: list[str] = []  # What X has beside s in the sampled form: z and u during this step.
    if control is not None:
        block = "control.end"
        t(
            "%fresh = icmp eq i64 %phase, 0",
            "br i1 %fresh, label %control.begin, label %control.end",
            "control.begin:",
        )
        load_inputs(0)
        for j in range(place):
            t.store(start[j], "%control", j)
        t(f"call void @{control.prefix}tiles(ptr %control, i64 1)")
        if not sampled:
            for j in range(m):
                t.store(t.load("%control", control.plan.result + j), "%tile", n + j)
        t("br label %control.end", "control.end:")
        if sampled:
            t("%acts = icmp uge i64 %phase, %delay")
            made = [t.load("%control", control.plan.result + j) for j in range(m + place - n)]
            acting = [
                t.value(f"select i1 %acts, {t.real} {made[j]}, {t.real} {start[place + j]}") for j in range(m)
            ]
            for j in range(m):
                t.store(acting[j], "%tile", n + j)
            during = made[m:] + acting
    total = [splat(0.0, width)] * n
    for stage, (weight, reach) in enumerate(((1.0, half), (2.0, half), (2.0, h), (1.0, h))):
        if stage == 0:
            for j in range(n):
                t.store(start[j], "%tile", j)
        if control is None and stage != 2:
            load_inputs(_STAGE_ROWS[stage])
        t(f"call void @{t.prefix}tiles(ptr %tile, i64 1)")
        for j in range(n):
            rate = t.load("%tile", plan.result + j)
            if stage < 3:
                t.store(t.add(start[j], t.mul(reach, rate)), "%tile", j)
            share = t.mul(rate, splat(weight, width)) if weight != 1.0 else rate
            total[j] = t.add(total[j], share) if stage else share
    end = [t.add(start[j], t.mul(sixth, total[j])) for j in range(n)] + during
    alive = "%alive"
    for value in end:
        alive = t.both(alive, t.finite(value))
    t(f"%alive.next = and {t.bit} {alive}, {alive}")
    for j, value in enumerate(end):
        t.store(t.choose("%alive.next", value, start[j]), "%state", j)
    one_more = t.value(f"add {t.integer} %lived, {t.whole(1)}")
    t(f"%lived.next = select {t.bit} %alive.next, {t.integer} {one_more}, {t.integer} %lived")
    t(
        "%until.next = sub i64 %until, 1",
        "%due = icmp eq i64 %until.next, 0",
        "br i1 %due, label %keep, label %step.end",
        "keep:",
    )
    # A lane that has failed keeps its last finite state, but stores NaN. The tile is free to write s in, but
    # X is longer, and would overwrite p.
    room = "%room" if sampled else "%tile"
    for j in range(whole):
        t.store(t.choose("%alive.next", t.load("%state", j), splat(float("nan"), width)), room, j)
    base = t.value(f"getelementptr double, ptr %stored, i64 {t.value(f'mul i64 %count.stored, {whole}')}")
    t.rows("unpack", room, 0, base, whole, "%stored.step")
    t(
        "%count.more = add i64 %count.stored, 1",
        "br label %step.end",
        "step.end:",
        f"%count.next = phi i64 [ %count.stored, %{block} ], [ %count.more, %keep ]",
        f"%until.end = phi i64 [ %until.next, %{block} ], [ %every, %keep ]",
        "%step.more = icmp ult i64 %step.next, %steps",
    )
    some = t.any("%alive.next")
    t(
        f"%go.on = and i1 %step.more, {some}",
        "br i1 %go.on, label %step.begin, label %finish",
        "finish:",
        f"%lived.end = phi {t.integer} [ {t.whole(0)}, %sample.begin ], [ %lived.next, %step.end ]",
    )
    t.rows("unpack", "%state", 0, "%final", whole, str(whole))
    pointer = t.value("getelementptr i64, ptr %completed, i64 %sample")
    t(f"store {t.integer} %lived.end, ptr {pointer}, align 8")
    return end_samples(t)


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
        self._entry = ctypes.CFUNCTYPE(
            None,
            *(_POINTER, _INTEGER, _POINTER, _INTEGER, _INTEGER, _POINTER, _INTEGER, _POINTER, _INTEGER),
            *(_POINTER, _POINTER, _INTEGER, _INTEGER, _REAL, _INTEGER, _INTEGER, _INTEGER),
            *(_INTEGER, _POINTER),
        )(self._library.address("nacelle_v_rk4"))

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
