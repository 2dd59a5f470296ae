"""The implicit Runge-Kutta method in native code: the rules of `nacelle.emit.irk5`, without Python.

One motion at a time; `nacelle.emit.jit.stages` has the parts of a step.
"""

from __future__ import annotations

import ctypes
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nacelle.emit.irk5 import MOST_HALVINGS, TICKS, ImplicitIntegrator, Irk5Result, refresh_cost
from nacelle.emit.jit.instructions import evaluation, stride
from nacelle.emit.jit.library import Library, address, aligned_memory, step_of
from nacelle.emit.jit.loops import Lines
from nacelle.emit.jit.plan import NativePlan
from nacelle.emit.jit.stages import (
    ARGUMENTS,
    BASE,
    EVALUATIONS,
    EXTRA,
    FACTORED,
    HAS_J,
    JACOBIANS,
    LAST,
    LEVEL,
    STAGED,
    WHOLES,
    Stages,
)
from nacelle.emit.jit.target import DEFAULT, JitOptions, compile_text, info, make_plan, module, vector_width
from nacelle.emit.newton import CONVERGED, ITERATION_CAP
from nacelle.emit.rk4 import IntegrationTask, sizes
from nacelle.program.program import Program

_POINTER, _INTEGER, _REAL = ctypes.c_void_p, ctypes.c_int64, ctypes.c_double


class _Control(NamedTuple):
    """A program of inputs (x, w, p) that gives u at the begin of a step: its layout, the number of w."""

    plan: NativePlan
    given: int


class _Steps:
    """Writes the loop over the steps.

    Args:
        stages: what writes the parts of a step.
        control: what gives the inputs at the begin of a step.
    """

    def __init__(self, stages: Stages, control: _Control | None) -> None:
        self.stages, self.control = stages, control
        self.n, self.m, self.width = stages.n, stages.m, stages.width

    def step(self) -> str:
        """`@irk5_step`: one step, in parts where the iteration does not converge; 1 if it is done."""
        c = self.stages.code(f"internal i64 @irk5_step({ARGUMENTS}, double %h) noinline")
        wholes, x = self.stages.wholes(c), self.stages.array(c, "x")
        z, last = ([self.stages.array(c, f"{name}{i}") for i in range(3)] for name in ("z", "last"))
        again, ended = c.name(), c.name()
        c(f"br label %{again}")
        c.label(again)
        done, fresh = f"%{c.name()}", f"%{c.name()}"
        place = len(c.lines)
        level = c.load_whole(wholes, LEVEL)
        ticks = c.whole("lshr", TICKS, level)
        begin, part = (
            c.real("fmul", c.value(f"uitofp i64 {value} to double"), c.number(1.0 / TICKS))
            for value in (done, ticks)
        )
        h = c.real("fmul", "%h", part)
        old = c.whole("icmp sge", c.load_whole(wholes, EXTRA), refresh_cost(self.n))
        none = c.whole("icmp eq", c.load_whole(wholes, HAS_J), 0)
        anew = c.value(f"or i1 {old}, {none}")
        with c.when(anew):
            c(f"call void @irk5_jacobian(ptr %tile, ptr %work, double {begin})")
            for number, whole in ((HAS_J, 1), (FACTORED, 0), (EXTRA, 0), (BASE, 0)):
                c.store_whole(whole, wholes, number)
        own = c.value(f"or i1 {anew}, {fresh}")
        with c.when(c.whole("icmp eq", c.load_whole(wholes, FACTORED), 0)):
            c(f"call void @irk5_factors(ptr %work, double {h})")
            c.store_whole(1, wholes, FACTORED)
        arguments = f"ptr %tile, ptr %work, double {begin}, double {part}, double {h}"
        taken = c.value(f"call i64 @irk5_iteration({arguments})")
        good, bad, halve, stale = (c.name() for _ in range(4))
        c(f"br i1 {c.whole('icmp ne', taken, 0)}, label %{good}, label %{bad}")
        c.label(bad)
        c(f"br i1 {own}, label %{halve}, label %{stale}")
        c.label(stale)
        c.store_whole(0, wholes, HAS_J)
        c(f"br label %{again}")
        c.label(halve)
        with c.when(c.whole("icmp eq", level, MOST_HALVINGS)):
            c.leave(0)
        c.store_whole(c.whole("add", level, 1), wholes, LEVEL)
        c.store_whole(0, wholes, FACTORED)
        halved = c.block
        c(f"br label %{again}")
        c.label(good)
        with c.loop(0, self.n) as states:
            stages = [c.load(part, states.index) for part in z]
            c.store(c.real("fadd", c.load(x, states.index), stages[2]), x, states.index)
            for part, value in zip(last, stages, strict=True):
                c.store(value, part, states.index)
        after = c.whole("add", done, ticks)
        c.store_whole(1, wholes, STAGED)
        c.store_whole(level, wholes, LAST)
        base = c.load_whole(wholes, BASE)
        first = c.whole("icmp eq", base, 0)
        c.store_whole(c.value(f"select i1 {first}, i64 {taken}, i64 {base}"), wholes, BASE)
        more = c.whole("sub", taken, c.load_whole(wholes, BASE))
        above = c.value(f"call i64 @llvm.smax.i64(i64 {more}, i64 0)")
        self.stages.count(c, wholes, EXTRA, above)
        remainder = c.whole("urem", after, c.whole("shl", ticks, 1))
        aligned = c.whole("icmp eq", remainder, 0)
        parted = c.whole("icmp ne", level, 0)
        with c.when(c.value(f"and i1 {aligned}, {parted}")):
            c.store_whole(c.whole("sub", level, 1), wholes, LEVEL)
            c.store_whole(0, wholes, FACTORED)
        going = c.block
        c(f"br i1 {c.whole('icmp slt', after, TICKS)}, label %{again}, label %{ended}")
        c.label(ended)
        c.lines[place:place] = [
            f"{done} = phi i64 [ 0, %start ], [ {done}, %{stale} ], [ {done}, %{halved} ], "
            f"[ {after}, %{going} ]",
            f"{fresh} = phi i1 [ 0, %start ], [ 0, %{stale} ], [ 1, %{halved} ], [ 0, %{going} ]",
        ]
        return c.text("i64 1")

    def entry(self) -> str:
        """`@nacelle_irk5`: all steps. `counts` gets steps, status, evaluations and Jacobians."""
        c = self.stages.code(
            "void @nacelle_irk5(ptr %x0, ptr %u, i64 %u.step, i64 %u.stage, ptr %p, ptr %stored, "
            "ptr %counts, double %h, i64 %steps, i64 %every, i64 %held, ptr %tile)"
        )
        skipped = stride(self.stages.plan, self.width)
        if self.control is not None:
            c(f"%control = getelementptr i8, ptr %tile, i64 {skipped}")
            skipped += stride(self.control.plan, self.width)
        c(f"%work = getelementptr i8, ptr %tile, i64 {skipped}")
        wholes, x, u = self.stages.wholes(c), self.stages.array(c, "x"), self.stages.array(c, "u")
        for number in range(WHOLES):
            c.store_whole(0, wholes, number)
        with c.loop(0, self.n) as states:
            c.store(c.load("%x0", states.index), x, states.index)
        self._parameters(c, "%tile", self.n + self.m)
        if self.control is not None:
            self._parameters(c, "%control", self.n + self.control.given)
        with c.loop(0, "%steps") as steps:
            row = c.whole("mul", c.whole("sdiv", steps.index, "%held"), "%u.step")
            given = c.place("%u", row)
            if self.control is None:
                for stage in range(3):
                    source = c.place(given, c.whole("mul", "%u.stage", stage))
                    with c.loop(0, self.m) as inputs:
                        target = c.whole("add", inputs.index, stage * self.m)
                        c.store(c.load(source, inputs.index), u, target)
            else:
                fresh = c.whole("icmp eq", c.whole("srem", steps.index, "%held"), 0)
                with c.when(fresh):
                    self._controlled(c, self.control, given)
            ok = c.value("call i64 @irk5_step(ptr %tile, ptr %work, double %h)")
            with c.when(c.whole("icmp eq", ok, 0)):
                self._finish(c, steps.index, 1)
                c("ret void")
                c.label(c.name())
            completed = c.whole("add", steps.index, 1)
            with c.when(c.whole("icmp eq", c.whole("srem", completed, "%every"), 0)):
                place = c.whole("sub", c.whole("sdiv", completed, "%every"), 1)
                target = c.place("%stored", c.whole("mul", place, self.n))
                with c.loop(0, self.n) as states:
                    c.store(c.load(x, states.index), target, states.index)
        self._finish(c, "%steps", 0)
        return c.text()

    def _parameters(self, c: Lines, tile: str, place: int) -> None:
        with c.loop(0, self.stages.k) as parameters:
            value = c.spread(c.load("%p", parameters.index))
            self.stages.fill(c, tile, c.whole("add", parameters.index, place), value)

    def _controlled(self, c: Lines, control: _Control, given: str) -> None:
        """Have the control give the inputs of a step, the same at all stages."""
        x, u = self.stages.array(c, "x"), self.stages.array(c, "u")
        with c.loop(0, self.n) as states:
            self.stages.fill(c, "%control", states.index, c.spread(c.load(x, states.index)))
        with c.loop(0, control.given) as inputs:
            place = c.whole("add", inputs.index, self.n)
            self.stages.fill(c, "%control", place, c.spread(c.load(given, inputs.index)))
        c("call void @c_tiles(ptr %control, i64 1)")
        with c.loop(0, self.m) as inputs:
            index = c.whole("mul", c.whole("add", inputs.index, control.plan.result), self.width)
            value = c.load("%control", index)
            for stage in range(3):
                c.store(value, u, c.whole("add", inputs.index, stage * self.m))

    def _finish(self, c: Lines, steps: str, status: int) -> None:
        wholes = self.stages.wholes(c)
        counts = [c.load_whole(wholes, number) for number in (EVALUATIONS, JACOBIANS)]
        for place, value in enumerate([steps, str(status), *counts]):
            c.store_whole(value, "%counts", place)


class Irk5(ImplicitIntegrator):
    """The implicit steps in native code, from what `compile_irk5` has made of the programs."""

    def __init__(self, image: bytes, program: Program, control: Program | None = None) -> None:
        super().__init__(program, control)
        self._library = Library(image, ("nacelle_info", "nacelle_irk5"))
        (self._bytes,) = self._library.numbers("nacelle_info", 1)
        self._entry = ctypes.CFUNCTYPE(
            None,
            *(_POINTER, _POINTER, _INTEGER, _INTEGER, _POINTER, _POINTER, _POINTER),
            *(_REAL, _INTEGER, _INTEGER, _INTEGER, _POINTER),
        )(self._library.address("nacelle_irk5"))

    def _integrate(self, task: IntegrationTask, h: float, stored: NDArray[np.float64]) -> Irk5Result:
        m = self.sizes.m
        u_step, u_stage = (3 * m, m) if task.staged else (step_of(task.u), 0)
        counts, tile = np.zeros(4, dtype=np.int64), aligned_memory(self._bytes)
        self._entry(
            *(address(task.x0), address(task.u), u_step, u_stage, address(task.p), address(stored)),
            *(address(counts), h, task.steps, task.every, task.held, address(tile)),
        )
        steps, failed, evaluations, jacobians = counts.tolist()
        status = ITERATION_CAP if failed else CONVERGED
        return Irk5Result(stored, steps, status, evaluations, jacobians)


def compile_irk5(program: Program, options: JitOptions = DEFAULT, control: Program | None = None) -> bytes:
    """Compile the implicit method around a derivative program, as bytes that `Irk5` takes."""
    program.check()
    given = sizes(program, control).m
    n, m, k = (variable.size for variable in program.inputs)
    machine = options.of_machine()
    fma = machine.fma if options.fma is None else options.fma
    width, plan = vector_width(options), make_plan(program, options)
    parts, held, tile = [evaluation(plan, width, "v_")], None, stride(plan, width)
    if control is not None:
        control.check()
        held = _Control(make_plan(control, options), given)
        parts.append(evaluation(held.plan, width, "c_"))
        tile += stride(held.plan, width)
    stages = Stages(plan, (n, m, k), width, fma)
    steps = _Steps(stages, held)
    parts = [info([tile + 8 * stages.layout.size]), *parts, *stages.texts(), steps.step(), steps.entry()]
    return compile_text(module(parts, options), options)
