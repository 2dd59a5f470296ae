"""Runs of digital controllers: samples, steps between them, events; natively or in Python."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from nacelle.errors import KinematicsError
from nacelle.model.robot import Robot
from nacelle.simulation.feedback import Compilable, LoopParts
from nacelle.simulation.inputs import make_drive
from nacelle.simulation.integrators import boundary, first_bad, one_step
from nacelle.simulation.protocol import Derivative, Events, Plant
from nacelle.simulation.sampled.law import Sampled
from nacelle.simulation.sampled.programs import law_alone, native_loop, waiting_law
from nacelle.simulation.track import HermiteTrack, Outcome, StillTrack, stopped
from nacelle.spatial.scalar import Array

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
    """Samples of a run: T = h substeps, of which the forces of one act `delay` steps later."""

    start: float
    period: float
    count: int
    substeps: int
    delay: int

    @property
    def h(self) -> float:
        """Step of the integration, s."""
        return self.period / self.substeps

    def times(self, sample: int, steps: int) -> Array:
        """Times (steps + 1,), s, of the integration from a sample on: start + h j."""
        return self.start + self.h * np.arange(sample * self.substeps, sample * self.substeps + steps + 1)


def samples_of(law: Sampled, start: float, until: float, step: float) -> SampleSteps:
    """Samples of a run, with steps of the integration of at most `step`.

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
    if substeps > _MOST_STEPS:
        raise KinematicsError(
            f"a sample of {law.period:g} s would be made of {substeps} steps of {step:g} s: at most "
            f"{_MOST_STEPS} are taken"
        )
    delay = min(substeps, round(law.delay / law.period * substeps))
    return SampleSteps(start, law.period, count, substeps, delay)


class _Loop:
    """Blocks of samples of a law around a plant, natively or in Python."""

    def __init__(self, plant: Plant, law: Sampled, samples: SampleSteps) -> None:
        self.plant, self.law, self.samples = plant, law, samples
        self.parts = _parts(plant)
        self.robot = self.parts.robot if self.parts is not None else _robot_of(plant)
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
        steps = count * self.samples.substeps
        if self.parts is None:
            return self._plain(X, w)
        driver = native_loop(self.law, self.parts)
        constants = np.concatenate([self.parts.constants, self.law.gains])
        result = driver.integrate(
            X,
            w,
            constants,
            h=self.samples.h,
            steps=steps,
            held=self.samples.substeps,
            delay=self.samples.delay,
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
                s = _held_step(self.derivative, s, u, self.samples.h)
                rows.append(np.concatenate([s, z, u]))
        result = np.array(rows)
        bad = ~np.isfinite(result).all(axis=1)
        if bad.any():
            result[int(np.argmax(bad)) :] = np.nan
        return result


def _held_step(f: Derivative, s: Array, u: Array, h: float) -> Array:
    """A step from a state under forces that are held."""
    return one_step(f, lambda stage, state: u, s, h)


def _parts(plant: Plant) -> LoopParts | None:
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


def _robot_of(plant: Plant) -> Robot:
    robot = getattr(plant, "robot", None)
    if not isinstance(robot, Robot):
        raise KinematicsError(f"{plant.name} is a plant without a robot")
    return robot


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
                end, last, name = _last(
                    plant, events, (at[good], at[good + 1]), before[:n], states[good, n + nz :]
                )
                if end > at[good]:
                    times.append(np.array([end]))
                    kept.append(np.concatenate([last, before[n : n + nz], states[good, n + nz :]])[None])
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
    evaluations = 4 * (len(breaks) - 1)
    return Outcome(breaks, states, used, track, status, message, evaluations, memory=memory)


def _first_stop(law: Sampled, memory: Array) -> int | None:
    """The first step after which the law has stopped, by its memory (N, nz); None if there is none."""
    if law.stop is None:
        return None
    stopped = memory[:, law.stop[0]] > 0.0
    return int(np.argmax(stopped)) if stopped.any() else None


def _last(
    plant: Plant, events: Events, span: tuple[float, float], s: Array, u: Array
) -> tuple[float, Array, str | None]:
    """The last time before an event within a step from a state on under forces, and the state there."""
    begin, end = span
    f = plant.derivative()
    held = np.where(np.isfinite(u), u, 0.0)

    def state(t: float) -> Array:
        return _held_step(f, s, held, t - begin) if t > begin else s

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
