"""Digital controllers: laws with a memory and a sample time of their own, in a loop with a plant.

At every sample t_k = start + k T a law takes its memory z, what the plant's sensors show, and a row r of the
reference, and gives

    z+, u = law(z, signals, r)

The forces u act from t_k + delay on, until the next ones do. In between the plant is integrated by steps
h = T / substeps of the classical Runge-Kutta method; a delay is rounded to whole steps. With a plant that can
be compiled (loop_parts()) the whole loop is native: the state that the driver carries is X = [s; z; u]. Other
plants say what they measure (signals(s, wanted)) and are stepped in Python. So is a plant whose law is no
program but Python (`interpreted`): one that looks at images, which cannot be traced. Besides its arrays it is
given the motion of the plant so far (`PastMotion`), since a camera sees what was.

A law is a physics function of its model of the robot, which may differ from the robot that moves. It declares
what it takes, among the signals of `nacelle.simulation.feedback` and

    z   its memory, (nz,)       gains   numbers that are tuned without compiling anew, (ng,)

and gives {"force": (actuators,), "memory": (nz,)}.
"""

from __future__ import annotations

import dataclasses
import math
from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from nacelle.compile import Compiled, compile_function, compile_rk4
from nacelle.errors import KinematicsError
from nacelle.model.robot import Robot
from nacelle.simulation.feedback import LoopModel, Options, law_inputs
from nacelle.simulation.inputs import plant_inputs
from nacelle.simulation.integrators import BLOCK, ExplicitStepper, StepBlock, TimeGrid, integrate_fixed
from nacelle.simulation.plant import NativeFlow
from nacelle.simulation.protocol import Events, InitialValueProblem, PlantLike, robot_of
from nacelle.simulation.track import Outcome
from nacelle.spatial.physics import physics
from nacelle.spatial.scalar import Array, pack


@dataclass(frozen=True, eq=False)
class DigitalController:
    """A law with memory in its loop.

    Attributes:
        function: the law, a physics function, or one that is `interpreted`.
        period: sample time T, s.
        memory: z at the start (nz,).
        reference: r: an array with a row (k,) for every sample, or one row (k,), held throughout; None if the
            law takes none.
        gains: numbers of the law (ng,).
        robot: the model that the law has; that of the plant if None.
        delay: from a sample to the time at which its forces act, s, at most the sample time.
        tau0: forces that act before the first sample's do (actuators,); zero if None.
        options: keyword arguments for the law, which shape the program.
        stop: a place in the memory and words, or words by the number there: where it is above zero the run
            ends, and says so.
    """

    function: Callable[..., Any]
    period: float
    memory: Array = field(default_factory=lambda: np.zeros(0))
    reference: Any = None
    gains: Array = field(default_factory=lambda: np.zeros(0))
    robot: Robot | None = None
    delay: float = 0.0
    tau0: Array | None = None
    options: Options = ()
    stop: tuple[int, str | Mapping[int, str]] | None = None

    def __post_init__(self) -> None:
        """Check what does not depend on the plant.

        Raises:
            KinematicsError: if the function declares no inputs, or a time cannot be used.
        """
        if not hasattr(self.function, "physics_inputs"):
            raise KinematicsError(
                f"the controller {self.name!r} does not declare its inputs: decorate it with "
                "@physics(z=(2,), q=(2,), ...)"
            )
        if not (math.isfinite(self.period) and self.period > 0.0):
            raise KinematicsError(f"the sample time is above zero, got {self.period:g} s")
        if not 0.0 <= self.delay <= self.period * (1.0 + 1e-12):
            raise KinematicsError(
                f"forces of a sample act before the next one is taken: the delay of {self.delay:g} s is not "
                f"within the sample time of {self.period:g} s; take a longer sample time or a smaller law"
            )
        for name in ("memory", "gains"):
            array = np.asarray(getattr(self, name), dtype=float)
            if array.ndim != 1 or not np.isfinite(array).all():
                raise KinematicsError(f"the {name} of {self.name!r} are finite numbers (n,), got {array}")
            object.__setattr__(self, name, array)

    @property
    def name(self) -> str:
        """The law's name."""
        return str(getattr(self.function, "__name__", "controller"))

    def model(self, plant_robot: Robot) -> Robot:
        """The model of the robot that the law has."""
        return plant_robot if self.robot is None else self.robot

    def shapes(self, plant_robot: Robot) -> dict[str, tuple[int, ...]]:
        """What the law takes.

        Raises:
            KinematicsError: if it takes an unknown input, or one in another size.
        """
        extra = {"z": self.memory.shape, "gains": self.gains.shape}
        what = f"the controller {self.name!r}"
        return law_inputs(what, self.function, self.model(plant_robot), plant_robot, extra)

    def rows(self, plant: PlantLike, robot: Robot, count: int) -> Array:
        """The reference (count, k), a row for every sample.

        Raises:
            KinematicsError: if it is missing, has another shape, or is not finite.
        """
        size = self.shapes(robot).get("r", (0,))[0]
        if size and self.reference is None:
            raise KinematicsError(f"the reference of {self.name!r} is missing: rows of {size} numbers")
        table = np.asarray(np.zeros(size) if self.reference is None else self.reference, dtype=float)
        if table.ndim == 1:
            table = np.broadcast_to(table, (count, len(table)))
        if table.ndim != 2 or table.shape[1] != size or len(table) < count:
            raise KinematicsError(
                f"the reference of {self.name!r} for {count} samples of {plant.name} has the shape "
                f"({size},) or ({count}, {size}), got {np.shape(self.reference)}"
            )
        if not np.isfinite(table[:count]).all():
            row = int(np.argmin(np.isfinite(table[:count]).all(axis=1)))
            raise KinematicsError(f"the reference of {self.name!r} is not finite in row {row}")
        return np.ascontiguousarray(table[:count])


# ---- digital controllers as programs


def _evaluate(law: DigitalController, robot: Robot, arguments: dict[str, Any]) -> tuple[Array, Array]:
    """Forces (actuators,) and memory (nz,) of a law at what it takes, over any scalar."""
    shapes = law.shapes(robot)
    result = law.function(law.model(robot), *(arguments[name] for name in shapes), **dict(law.options))
    if not isinstance(result, dict) or set(result) < {"force", "memory"}:
        raise KinematicsError(f'the controller {law.name!r} gives {{"force": ..., "memory": ...}}')
    force, memory = np.asarray(result["force"]), np.asarray(result["memory"])
    if force.shape != (len(robot.actuators),) or memory.shape != law.memory.shape:
        raise KinematicsError(
            f"the controller {law.name!r} gives forces and a memory of the shapes {force.shape} and "
            f"{memory.shape}; {robot.name} has {len(robot.actuators)} actuators, and its memory has "
            f"{law.memory.shape}"
        )
    return force, memory


def control(law: DigitalController, parts: NativeFlow) -> Callable[..., Array]:
    """The law as a physics function of ([s; z], [t; r], [constants; gains]) that gives [u; z+]."""
    shapes, n, count = law.shapes(parts.robot), parts.size, len(parts.constants)
    rows = 1 + shapes.get("r", (0,))[0]

    @physics(s=(n + len(law.memory),), w=(rows,), constants=(count + len(law.gains),))
    def control_output(robot: Robot, s: Array, w: Array, constants: Array) -> Array:
        arguments = {"t": w[0], "r": w[1:], "z": s[n:], "gains": constants[count:]}
        arguments |= parts.model.signals(robot, s[:n], constants[:count], tuple(shapes))
        force, memory = _evaluate(law, robot, arguments)
        return pack([*force, *memory])

    model = law.model(parts.robot)
    vars(control_output)["made_from"] = (law.function, model.hash, law.options, *parts.model, parts.options)
    return control_output


def law_alone(law: DigitalController, robot: Robot) -> Callable[..., Any]:
    """The law by itself, of what it declares, as native code if it is a program; for plants that are not."""
    model = law.model(robot)
    if is_interpreted(law.function):
        return partial(law.function, model, **dict(law.options))
    return compiled_law(law.function, model, law.options)


@lru_cache(maxsize=32)
def compiled_law(function: Callable[..., Any], model: Robot, options: Options = ()) -> Compiled:
    """A law by itself as native code, of what it declares."""
    return compile_function(function, model, options=dict(options))


class _LawShape(NamedTuple):
    """What the program of a law depends on: its function, robot and options, and how long its vectors are."""

    function: Callable[..., Any]
    robot: Robot | None
    options: Options
    memory: int
    gains: int


@lru_cache(maxsize=32)
def _driver(robot: Robot, model: LoopModel, settings: Options, constants: int, shape: _LawShape) -> Any:
    gains, memory = np.zeros(shape.gains), np.zeros(shape.memory)
    law = DigitalController(
        shape.function, 1.0, memory, gains=gains, robot=shape.robot, options=shape.options
    )
    parts = NativeFlow(robot, model, settings, np.zeros(constants))
    return compile_rk4(model.flow, robot, options=dict(settings), control=control(law, parts), sampled=True)


def native_loop(law: DigitalController, parts: NativeFlow) -> Any:
    """The native driver of X = [s; z; u] (`nacelle.emit.rk4`, sampled)."""
    shape = _LawShape(law.function, law.robot, law.options, len(law.memory), len(law.gains))
    return _driver(parts.robot, parts.model, parts.options, len(parts.constants), shape)


# ---- laws that are made of others, and laws in Python


def mark_interpreted(function: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a law that runs in Python: it declares its arrays, and takes `motion` (`PastMotion`) by name."""
    vars(function)["interpreted"] = True
    return function


def is_interpreted(function: Callable[..., Any]) -> bool:
    """Whether a law runs in Python."""
    return bool(getattr(function, "interpreted", False))


def derived_law(
    function: Callable[..., Any],
    shapes: dict[str, Any],
    arrays_of: Callable[[Robot, dict[str, Array]], dict[str, Array]],
    outputs_of: Callable[[dict[str, Array], Any], Any] = lambda arguments, outputs: outputs,
) -> Callable[..., Any]:
    """A law that evaluates another.

    Args:
        function: the other law.
        shapes: of its arrays that differ.
        arrays_of: gives the arrays of the other law, of the robot and its own ones.
        outputs_of: gives its outputs, of its own arrays and the outputs of the other.
    """
    declared = dict(vars(function)["physics_inputs"])
    names = tuple(declared | shapes)

    @physics(**(declared | shapes))
    def law(robot: Robot, *arrays: Array, **options: Any) -> Any:
        arguments = dict(zip(names, arrays, strict=True))
        inner = arguments | arrays_of(robot, arguments)
        return outputs_of(arguments, function(robot, *(inner[name] for name in declared), **options))

    law.__name__ = getattr(function, "__name__", "controller")
    return mark_interpreted(law) if is_interpreted(function) else law


@lru_cache(maxsize=32)
def delayed_law(function: Callable[..., Any], nz: int, inputs: int) -> Callable[..., Any]:
    """A law whose forces are those of the sample before: a delay of a whole sample."""

    def outputs_of(arguments: dict[str, Array], outputs: Any) -> dict[str, Array]:
        return {"force": arguments["z"][nz:], "memory": pack([*outputs["memory"], *outputs["force"]])}

    shapes = {"z": (nz + inputs,)}
    waiting = derived_law(function, shapes, lambda robot, arguments: {"z": arguments["z"][:nz]}, outputs_of)
    vars(waiting)["made_from"] = (function, nz, inputs)
    return waiting


# ---- runs of digital controllers: samples, steps between them, events; natively or in Python


# Steps of the integration in a sample that are not worth their time.
_MAX_STEPS = 2000


@dataclass(frozen=True)
class SampleSchedule:
    """Samples of a run: T = h substeps, of which the forces of one act `delay` steps later.

    A step h, after which the state is kept, is made of `inner` steps of the method.
    """

    start: float
    period: float
    count: int
    substeps: int
    delay: int
    inner: int = 1

    @property
    def h(self) -> float:
        """Step after which the state is kept, s."""
        return self.period / self.substeps

    @property
    def grid(self) -> TimeGrid:
        """The steps of the run."""
        return TimeGrid(self.start, self.h, 0, self.count * self.substeps)


def sample_schedule(
    law: DigitalController, start: float, until: float, step: float, inner: int = 1
) -> SampleSchedule:
    """Samples of a run, with steps of at most `step`, s, each of `inner` steps of the method.

    Raises:
        KinematicsError: if the run is shorter than a sample, or a sample has too many steps.
    """
    count = round((until - start) / law.period)
    if count < 1 or abs(count * law.period - (until - start)) > 1e-6 * law.period:
        raise KinematicsError(
            f"a run with {law.name!r} lasts for a whole number of samples of {law.period:g} s, got "
            f"{until - start:g} s"
        )
    substeps = max(1, math.ceil(law.period / step * (1.0 - 1e-9)))
    if 0.0 < law.delay < law.period:
        # Four steps at least on both sides of the delay, so that it is rounded by little.
        substeps = max(substeps, 8)
    if substeps * inner > _MAX_STEPS:
        raise KinematicsError(
            f"a sample of {law.period:g} s would be made of {substeps * inner} steps of {step / inner:g} s: "
            f"at most {_MAX_STEPS} are taken"
        )
    delay = min(substeps, round(law.delay / law.period * substeps))
    return SampleSchedule(start, law.period, count, substeps, delay, inner)


class PastMotion:
    """The motion of a plant until now, for sensors that take their time.

    Args:
        step: gives the state (size,) after a time under forces that are held, of (state, time, forces).
        t: when it begins, s.
        s: the state then (size,).
    """

    def __init__(self, step: Callable[[Array, float, Array], Array], t: float, s: Array) -> None:
        self._step, self._times, self._states, self._forces = step, [t], [s], list[Array]()

    def append(self, t: float, s: Array, u: Array) -> None:
        """Take a step to a time, s, and a state (size,) under forces u."""
        self._times.append(t)
        self._states.append(s)
        self._forces.append(u)

    @property
    def start(self) -> float:
        """The first time, s."""
        return self._times[0]

    def state(self, t: float) -> Array:
        """The state (size,) at a time from the start until now, s: by a step of the method."""
        k = min(max(bisect_right(self._times, t) - 1, 0), len(self._times) - 1)
        since = t - self._times[k]
        return self._step(self._states[k], since, self._forces[k]) if since > 0.0 else self._states[k]


class DigitalControlStepper(ExplicitStepper):
    """Steps of a plant under a digital controller, in blocks of whole samples: natively, or in Python.

    Args:
        plant: the plant.
        law: the controller.
        samples: when it samples.
        s0: the state at the start (size,).

    Attributes:
        memory: what the controller remembers, (steps, nz) for the start and for each block.
    """

    failure_message = "the state, or a force of the controller, is not finite"
    # The native loop is not that of the plant alone.
    loop = ""

    def __init__(self, plant: PlantLike, law: DigitalController, samples: SampleSchedule, s0: Array) -> None:
        self.law, self.samples, self.n = law, samples, plant.size
        self._parts = _compiled_parts(plant, law.function)
        self._robot = robot_of(plant) if self._parts is None else self._parts.robot
        self._rows = law.rows(plant, self._robot, samples.count)
        first = np.zeros(plant.inputs) if law.tau0 is None else np.asarray(law.tau0)
        super().__init__(dataclasses.replace(plant_inputs(plant, first, hold=True), substeps=samples.inner))
        self.most = max(1, BLOCK // samples.substeps) * samples.substeps
        self.memory = [law.memory[None]]
        self._last = np.concatenate([s0, law.memory, first])
        self._motion = PastMotion(self._step_held, samples.start, s0)

    def _step_held(self, s: Array, h: float, u: Array) -> Array:
        return self.step(s, 0, 0.0, h, u)[0]

    def _native_steps(self, s: Array, k: int, t: Array) -> StepBlock:
        """Steps of whole samples, up to one after which the controller has stopped."""
        substeps = self.samples.substeps
        chosen = slice(k // substeps, (k + len(t) - 1) // substeps)
        times = self.samples.start + self.samples.period * np.arange(chosen.start, chosen.stop)
        w = np.column_stack([times, self._rows[chosen]])
        X = self._run_in_python(w) if self._parts is None else self._run_natively(self._parts, w)
        n, end, ended = self.n, self.n + len(self.law.memory), ""
        if self.law.stop is not None:
            index, message = self.law.stop
            stopped = X[:, n + index] > 0.0
            if stopped.any():
                # Without forces a robot may meet an event later.
                halt = int(np.argmax(stopped))
                X = X[: halt + 1]
                reason = message if isinstance(message, str) else message[int(X[halt, n + index])]
                ended = f"at {t[halt]:.9g} s {reason}"
        self._last = X[-1]
        self.memory.append(X[:, n:end])
        return StepBlock(X[:, :n], X[:, end:], end_message=ended)

    def _run_natively(self, parts: NativeFlow, w: Array) -> Array:
        """X = [s; z; u] after every step of samples with rows w; NaN from where it fails."""
        inner, held = self.samples.inner, self.samples.substeps * self.samples.inner
        result = native_loop(self.law, parts).integrate(
            self._last,
            w,
            np.concatenate([parts.constants, self.law.gains]),
            h=self.samples.h / inner,
            steps=len(w) * held,
            every=inner,
            held=held,
            delay=self.samples.delay * inner,
        )
        return np.asarray(result.x[0])

    def _run_in_python(self, w: Array) -> Array:
        """The same in Python."""
        plant: Any = self.drive.plant
        law: Callable[..., Any] = law_alone(self.law, self._robot)
        if is_interpreted(self.law.function):
            law = partial(law, motion=self._motion)
        shapes = self.law.shapes(self._robot)
        s, z, u = np.split(self._last, [self.n, self.n + len(self.law.memory)])
        rows: list[Array] = []
        for row in w:
            arguments = {"t": row[0], "r": row[1:], "z": z, "gains": self.law.gains}
            measured = tuple(name for name in shapes if name not in arguments)
            arguments |= plant.signals(s, measured) if measured else {}
            outputs = law(*(arguments[name] for name in shapes))
            z, new = np.asarray(outputs["memory"]), np.asarray(outputs["force"])
            for phase in range(self.samples.substeps):
                u = new if phase == self.samples.delay else u
                s = self._step_held(s, self.samples.h, u)
                self._motion.append(row[0] + (phase + 1) * self.samples.h, s, u)
                rows.append(np.concatenate([s, z, u]))
        result = np.array(rows)
        bad = ~np.isfinite(result).all(axis=1)
        if bad.any():
            result[int(np.argmax(bad)) :] = np.nan
        return result


def _compiled_parts(plant: PlantLike, law: Callable[..., Any]) -> NativeFlow | None:
    """What is compiled of a plant with a law; None if it must be stepped in Python.

    Raises:
        KinematicsError: if it can be neither.
    """
    compiled: Callable[[], NativeFlow] | None = getattr(plant, "loop_parts", None)
    measures = hasattr(plant, "signals")
    if compiled is not None and not is_interpreted(law):
        try:
            return compiled()
        except KinematicsError:
            if not measures:
                raise
    if not measures:
        raise KinematicsError(
            f"{plant.name} says nothing that a controller could measure: a plant for one has loop_parts() "
            "(nacelle.simulation.plant.NativeFlow) or signals(s, wanted)"
        )
    return None


def integrate_sampled(
    plant: PlantLike,
    s0: Array,
    law: DigitalController,
    samples: SampleSchedule,
    events: Events,
    report: Callable[[float], None],
) -> Outcome:
    """Run a law around a plant, until the last sample is over or an event comes."""
    memory_size = len(law.memory)
    law, samples = _move_delay_to_memory(law, samples, plant.inputs)
    steps, grid = DigitalControlStepper(plant, law, samples, s0), samples.grid
    problem = InitialValueProblem(steps.drive, s0, samples.start, events)
    outcome = integrate_fixed(problem, grid, report, stepper=steps)
    memory, last = np.concatenate(steps.memory)[: len(outcome.t)], len(outcome.t) - 1
    if outcome.t[last] < grid.time(last):
        # An event came within a step.
        memory[last] = memory[last - 1]
    if len(law.memory) > memory_size and last:
        # The forces at a time are those that act from it on; the next ones wait in the memory.
        outcome.inputs[last] = memory[last, memory_size:]
    return outcome._replace(memory=memory[:, :memory_size])


def _move_delay_to_memory(
    law: DigitalController, samples: SampleSchedule, inputs: int
) -> tuple[DigitalController, SampleSchedule]:
    """A delay of a whole sample: forces wait in the memory, and those of the sample before act at once."""
    if samples.delay < samples.substeps:
        return law, samples
    inner, nz = law, len(law.memory)
    first = np.zeros(inputs) if law.tau0 is None else np.asarray(law.tau0, dtype=float)
    waiting = dataclasses.replace(
        law,
        function=delayed_law(inner.function, nz, inputs),
        memory=np.concatenate([law.memory, first]),
        delay=0.0,
    )
    return waiting, dataclasses.replace(samples, delay=0)
