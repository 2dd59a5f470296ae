"""Digital controllers: laws with a memory and a sample time of their own, in a loop with a plant.

At every sample t_k = start + k T a law takes its memory z, what the plant's sensors show, and a row r of the
reference, and gives

    z+, u = law(z, signals, r)

The forces u act from t_k + delay on, until the next ones do. In between the plant is integrated by steps
h = T / substeps of the classical Runge-Kutta method; a delay is rounded to whole steps. With a plant that can
be compiled (`Compilable`) the whole loop is native: the state that the driver carries is X = [s; z; u]. Other
plants say what they measure (`HasSignals`) and are stepped in Python.

A law is a physics function of its model of the robot, which may differ from the robot that moves. It declares
what it takes, among the signals of `nacelle.simulation.feedback` and

    z   its memory, (nz,)       gains   numbers that are tuned without compiling anew, (ng,)

and gives {"force": (actuators,), "memory": (nz,)}.

Digital controllers as programs: with the plant that they measure, by themselves, delayed by a sample.

Runs of digital controllers: samples, steps between them, events; natively or in Python.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Protocol, runtime_checkable

import numpy as np

from nacelle.compile import Compiled, compile_function, compile_rk4
from nacelle.errors import KinematicsError
from nacelle.model.robot import Robot
from nacelle.simulation.feedback import Compilable, CompiledPlant, LoopModel, law_inputs
from nacelle.simulation.inputs import make_drive
from nacelle.simulation.integrators import boundary, first_bad, one_step
from nacelle.simulation.native_flow import Options
from nacelle.simulation.protocol import Derivative, Events, Plant, robot_of
from nacelle.simulation.track import HermiteTrack, Outcome, StillTrack, stopped
from nacelle.spatial.physics import physics
from nacelle.spatial.scalar import Array, pack


@dataclass(frozen=True, eq=False)
class Sampled:
    """A law with memory in its loop.

    Attributes:
        function: the law, a physics function.
        period: sample time T, s.
        memory: z at the start (nz,).
        reference: r: an array with a row (k,) for every sample, or one row (k,), held throughout; None if the
            law takes none.
        gains: numbers of the law (ng,).
        robot: the model that the law has; that of the plant if None.
        delay: from a sample to the time at which its forces act, s, at most the sample time.
        first_force: forces that act before the first sample's do (actuators,); zero if None.
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
    first_force: Array | None = None
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
            KinematicsError: if it takes something that there is not, or in another size.
        """
        own = {"z": self.memory.shape, "gains": self.gains.shape}
        what = f"the controller {self.name!r}"
        return law_inputs(what, self.function, self.model(plant_robot), plant_robot, own)

    def rows(self, plant: Plant, robot: Robot, count: int) -> Array:
        """The reference (count, k), a row for every sample.

        Raises:
            KinematicsError: if there is none, or of another shape, or not finite.
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


def _evaluate(law: Sampled, robot: Robot, given: dict[str, Any]) -> tuple[Array, Array]:
    """Forces (actuators,) and memory (nz,) of a law at what it takes, over any scalar."""
    shapes = law.shapes(robot)
    result = law.function(law.model(robot), *(given[name] for name in shapes), **dict(law.options))
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


def control(law: Sampled, parts: CompiledPlant) -> Callable[..., Array]:
    """The law as a physics function of ([s; z], [t; r], [constants; gains]) that gives [u; z+]."""
    shapes, n, count = law.shapes(parts.robot), parts.size, len(parts.constants)
    rows = 1 + shapes.get("r", (0,))[0]

    @physics(s=(n + len(law.memory),), w=(rows,), constants=(count + len(law.gains),))
    def controlled(robot: Robot, s: Array, w: Array, constants: Array) -> Array:
        given = {"t": w[0], "r": w[1:], "z": s[n:], "gains": constants[count:]}
        given |= parts.model.signals(robot, s[:n], constants[:count], tuple(shapes))
        force, memory = _evaluate(law, robot, given)
        return pack([*force, *memory])

    model = law.model(parts.robot)
    vars(controlled)["made_from"] = (law.function, model.hash, law.options, *parts.model, parts.options)
    return controlled


def law_alone(law: Sampled, robot: Robot) -> Compiled:
    """The law by itself as native code, of what it declares; for plants that are not compiled with it."""
    return _law_alone(law.function, law.model(robot), law.options)


@lru_cache(maxsize=32)
def _law_alone(function: Callable[..., Any], model: Robot, options: Options) -> Compiled:
    return compile_function(function, model, options=dict(options))


@lru_cache(maxsize=32)
def _driver(
    robot: Robot,
    model: LoopModel,
    settings: Options,
    function: Callable[..., Any],
    law_robot: Robot | None,
    law_options: Options,
    sizes: tuple[int, int, int],
) -> Any:
    memory, gains, constants = map(np.zeros, sizes)
    law = Sampled(function, 1.0, memory=memory, gains=gains, robot=law_robot, options=law_options)
    parts = CompiledPlant(robot, model, settings, constants)
    return compile_rk4(model.flow, robot, options=dict(settings), control=control(law, parts), sampled=True)


def native_loop(law: Sampled, parts: CompiledPlant) -> Any:
    """The native driver of X = [s; z; u] (`nacelle.emit.rk4`, sampled)."""
    sizes = (len(law.memory), len(law.gains), len(parts.constants))
    own = (law.function, law.robot, law.options, sizes)
    return _driver(parts.robot, parts.model, parts.options, *own)


# ---- a delay of a whole sample


@lru_cache(maxsize=32)
def waiting_law(function: Callable[..., Any], nz: int, inputs: int) -> Callable[..., Any]:
    """A law whose forces are those of the sample before."""
    declared = dict(vars(function)["physics_inputs"])
    with_z = {**declared, "z": (nz + inputs,)}
    names = tuple(with_z)

    @physics(**with_z)
    def waiting(robot: Robot, *arrays: Array, **options: Any) -> dict[str, Array]:
        given = dict(zip(names, arrays, strict=True))
        z = given["z"]
        given["z"] = z[:nz]
        outputs = function(robot, *(given[name] for name in declared), **options)
        return {"force": z[nz:], "memory": pack([*outputs["memory"], *outputs["force"]])}

    vars(waiting)["made_from"] = (function, nz, inputs)
    waiting.__name__ = getattr(function, "__name__", "controller")
    return waiting


# ---- runs of digital controllers: samples, steps between them, events; natively or in Python


# Steps of a native run between looks at events and at the user's wish to stop.
_BLOCK = 1000
# Steps of the integration in a sample that are not worth their time.
_MOST_STEPS = 2000


@runtime_checkable
class HasSignals(Protocol):
    """A plant that says what its sensors show, where it is not compiled with a controller."""

    def signals(self, s: Array, wanted: Sequence[str]) -> dict[str, Array]:
        """The wanted signals at a state (size,), by name."""


@dataclass(frozen=True)
class SampleSteps:
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

    def times(self, sample: int, steps: int) -> Array:
        """Times (steps + 1,), s, of the integration from a sample on: start + h j."""
        return self.start + self.h * np.arange(sample * self.substeps, sample * self.substeps + steps + 1)


def samples_of(law: Sampled, start: float, until: float, step: float, inner: int = 1) -> SampleSteps:
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
    if substeps * inner > _MOST_STEPS:
        raise KinematicsError(
            f"a sample of {law.period:g} s would be made of {substeps * inner} steps of {step / inner:g} s: "
            f"at most {_MOST_STEPS} are taken"
        )
    delay = min(substeps, round(law.delay / law.period * substeps))
    return SampleSteps(start, law.period, count, substeps, delay, inner)


class _Loop:
    """Blocks of samples of a law around a plant, natively or in Python."""

    def __init__(self, plant: Plant, law: Sampled, samples: SampleSteps) -> None:
        self.plant, self.law, self.samples = plant, law, samples
        self.parts = _parts(plant)
        self.robot = self.parts.robot if self.parts is not None else robot_of(plant)
        self.n, self.nz, self.m = plant.size, len(law.memory), plant.inputs
        self.rows = law.rows(plant, self.robot, samples.count)
        self.derivative = plant.derivative() if self.parts is None else None
        self._alone = law_alone(law, self.robot) if self.parts is None else None

    def start(self, s0: Array) -> Array:
        """X = [s; z; u] at the start."""
        first = np.zeros(self.m) if self.law.first_force is None else np.asarray(self.law.first_force)
        return np.concatenate([s0, self.law.memory, first])

    def block(self, X: Array, sample: int, count: int) -> Array:
        """X (count substeps, size) after every step of some samples; NaN from where it fails."""
        t = self.samples.start + self.samples.period * np.arange(sample, sample + count)
        w = np.column_stack([t, self.rows[sample : sample + count]])
        if self.parts is None:
            return self._plain(X, w)
        driver = native_loop(self.law, self.parts)
        constants = np.concatenate([self.parts.constants, self.law.gains])
        inner, held = self.samples.inner, self.samples.substeps * self.samples.inner
        result = driver.integrate(
            X,
            w,
            constants,
            h=self.samples.h / inner,
            steps=count * held,
            every=inner,
            held=held,
            delay=self.samples.delay * inner,
        )
        return np.asarray(result.x[0])

    def _plain(self, X: Array, w: Array) -> Array:
        """The same in Python."""
        plant: Any = self.plant
        assert self.derivative is not None
        assert self._alone is not None
        n, nz, substeps = self.n, self.nz, self.samples.substeps
        s, z, u = X[:n], X[n : n + nz], X[n + nz :]
        shapes = self.law.shapes(self.robot)
        rows: list[Array] = []
        for row in w:
            given = {"t": row[0], "r": row[1:], "z": z, "gains": self.law.gains}
            given |= plant.signals(s, tuple(shapes))
            outputs = self._alone(*(given[name] for name in shapes))
            z, new = np.asarray(outputs["memory"]), np.asarray(outputs["force"])
            for phase in range(substeps):
                u = new if phase == self.samples.delay else u
                s = _held_steps(self.derivative, s, u, self.samples.h, self.samples.inner)
                rows.append(np.concatenate([s, z, u]))
        result = np.array(rows)
        bad = ~np.isfinite(result).all(axis=1)
        if bad.any():
            result[int(np.argmax(bad)) :] = np.nan
        return result


def _held_steps(f: Derivative, s: Array, u: Array, h: float, count: int) -> Array:
    """So many steps, h (s) together, from a state under forces that are held."""
    for _ in range(count):
        s = one_step(f, lambda stage, state: u, s, h / count)
    return s


def _parts(plant: Plant) -> CompiledPlant | None:
    """What is compiled of a plant; None if it must be stepped in Python.

    Raises:
        KinematicsError: if it can be neither.
    """
    if isinstance(plant, Compilable):
        try:
            return plant.loop_parts()
        except KinematicsError:
            if not isinstance(plant, HasSignals):
                raise
    if not isinstance(plant, HasSignals):
        raise KinematicsError(
            f"{plant.name} says nothing that a controller could measure: a plant for one has loop_parts() "
            "(nacelle.simulation.feedback.Compilable) or signals(s, wanted)"
        )
    return None


def integrate_sampled(
    plant: Plant,
    s0: Array,
    law: Sampled,
    samples: SampleSteps,
    events: Events,
    report: Callable[[float], None],
) -> Outcome:
    """Run a law around a plant, until the last sample is over or an event comes."""
    own = len(law.memory)
    law, samples = _whole_delay(law, samples, plant.inputs)
    loop = _Loop(plant, law, samples)
    drive = make_drive(plant, np.zeros(plant.inputs), hold=True)
    X = loop.start(s0)
    n, nz = loop.n, loop.nz
    times, kept = [np.array([samples.start])], [X[None]]
    status, message = "done", f"reached {samples.start + samples.period * samples.count:g} s"
    size = max(1, _BLOCK // samples.substeps)
    try:
        for sample in range(0, samples.count, size):
            count = min(size, samples.count - sample)
            states = loop.block(X, sample, count)
            at = samples.times(sample, len(states))
            place = first_bad(events, at[1:], states[:, :n])
            halt = _first_stop(law, states[:place, n : n + nz])
            if halt is not None:
                # Without forces a robot may meet an event later.
                place = None
            good = len(states) if place is None else place
            times.append(at[1 : good + 1])
            kept.append(states[:good])
            if place is not None:
                before = states[good - 1] if good else X
                span, u = (at[good], at[good + 1]), states[good, n + nz :]
                end, last, name = _last(plant, events, span, before[:n], u, samples.inner)
                if end > at[good]:
                    times.append(np.array([end]))
                    kept.append(np.concatenate([last, before[n : n + nz], u])[None])
                status = "failed" if name is None else "event"
                message = f"at {end:.9g} s {name or 'the state, or a force of the controller, is not finite'}"
                break
            if halt is not None:
                del times[-1], kept[-1]
                times.append(at[1 : halt + 2])
                kept.append(states[: halt + 1])
                assert law.stop is not None
                place, words = law.stop
                reason = words if isinstance(words, str) else words[int(states[halt, n + place])]
                status, message = "event", f"at {at[halt]:.9g} s {reason}"
                break
            X = states[-1]
            report((sample + count) / samples.count)
    except (Exception, KeyboardInterrupt) as error:
        whole = min(len(times), len(kept))
        del times[whole:], kept[whole:]
        status, message = stopped(error, float(times[-1][-1]), nothing=whole < 2)
    breaks, values = np.concatenate(times), np.concatenate(kept)
    states, memory, used = values[:, :n], values[:, n : n + own], values[:, n + nz :]
    track: HermiteTrack | StillTrack = StillTrack(drive, samples.start, s0)
    if len(breaks) > 1:
        track = HermiteTrack(drive, breaks, states, np.arange(len(breaks) - 1), used[1:])
        # The forces beside a time are those that act from it on; some may wait in the memory.
        next_ones = values[-1:, n + own : n + nz] if nz > own else used[-1:]
        used = np.concatenate([used[1:], next_ones])
    evaluations = 4 * samples.inner * (len(breaks) - 1)
    return Outcome(breaks, states, used, track, status, message, evaluations, memory=memory)


def _first_stop(law: Sampled, memory: Array) -> int | None:
    """The first step after which the law has stopped, by its memory (N, nz); None if there is none."""
    if law.stop is None:
        return None
    stopped = memory[:, law.stop[0]] > 0.0
    return int(np.argmax(stopped)) if stopped.any() else None


def _last(
    plant: Plant, events: Events, span: tuple[float, float], s: Array, u: Array, inner: int
) -> tuple[float, Array, str | None]:
    """The last time before an event within a step from a state on under forces, and the state there."""
    begin, end = span
    f = plant.derivative()
    held = np.where(np.isfinite(u), u, 0.0)

    def state(t: float) -> Array:
        return _held_steps(f, s, held, t - begin, inner) if t > begin else s

    if not np.isfinite(u).all():
        return begin, s, None
    last, name = boundary(events, float(begin), float(end), state)
    return last, state(last), name


def _whole_delay(law: Sampled, samples: SampleSteps, inputs: int) -> tuple[Sampled, SampleSteps]:
    """A delay of a whole sample: forces wait in the memory, and those of the sample before act at once."""
    if samples.delay < samples.substeps:
        return law, samples
    inner, nz = law, len(law.memory)
    first = np.zeros(inputs) if law.first_force is None else np.asarray(law.first_force, dtype=float)
    waiting = dataclasses.replace(
        law,
        function=waiting_law(inner.function, nz, inputs),
        memory=np.concatenate([law.memory, first]),
        delay=0.0,
    )
    return waiting, dataclasses.replace(samples, delay=0)
