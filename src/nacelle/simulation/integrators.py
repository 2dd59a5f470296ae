"""Integrators: fixed steps, explicit and implicit, and DOP853 and Radau with step control.

With fixed steps the whole loop runs natively, a block of steps at a time, where the inputs are free of the
state or a feedback is compiled; else every step evaluates the inputs in Python. Implicit ones are of Radau
IIA of order five (`nacelle.emit.irk5`); a feedback f(t, x, v) is then part of the derivative, evaluated at
every stage, and for the Jacobian at every shifted state. DOP853 is of order eight with dense output; Radau is
implicit, of order five. All of them end at the first event.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from nacelle.emit.irk5 import STAGES, NotConvergedError, Radau
from nacelle.errors import KinematicsError
from nacelle.simulation.protocol import (
    Core,
    Derivative,
    Events,
    InitialValueProblem,
    PlantInputs,
    derivatives_of,
)
from nacelle.simulation.track import DenseTrack, HermiteTrack, Outcome, Track, constant_track, stop_status
from nacelle.spatial.scalar import Array

# Steps of a native run between looks at events and at the user's wish to stop.
BLOCK = 1000
# Methods, and the classes of scipy.integrate that step them.
SOLVERS = {"dop853": "DOP853", "radau": "Radau"}
# Where within a long step is looked, in parts of it, so that what crosses zero and comes back is seen.
_EVENT_CHECK_POINTS = np.linspace(0.0, 1.0, 9)


# ---- where an event comes


def first_violation(events: Events, t: Array, s: Array) -> int | None:
    """Place of the first of some states (N, size) at which an event has come or a number is not finite."""
    fine = np.isfinite(s).all(axis=1)
    first = len(t) if fine.all() else int(np.argmin(fine))
    for event in events:
        if first:
            good = np.all(event.values(t[:first], s[:first]) > 0.0, axis=1)
            first = first if good.all() else int(np.argmin(good))
    return None if first == len(t) else first


def locate_event(
    events: Events, low: float, high: float, state: Callable[[float], Array]
) -> tuple[float, str | None]:
    """The last time, to rounding, before an event between a good time and a bad one.

    Args:
        events: what is watched.
        low: a time at which all is well.
        high: a later time at which it is not.
        state: the state (size,) at a time between them.

    Returns:
        The time, and the event's name; None where the state is not finite just after.
    """

    def good(t: float) -> bool:
        return first_violation(events, np.array([t]), state(t)[None]) is None

    while True:
        middle = 0.5 * (low + high)
        if middle in (low, high) or high - low <= 4e-16 * max(abs(high), 1e-3):
            break
        low, high = (middle, high) if good(middle) else (low, middle)
    after = state(high)
    if not np.all(np.isfinite(after)):
        return low, None
    return low, triggered_event(events, high, after)


def triggered_event(events: Events, t: float, s: Array) -> str | None:
    """The name of the first event that has come at a time and a state (size,); None if none has."""
    for event in events:
        good = event.values(np.array([t]), s[None])[0] > 0.0
        if not good.all():
            index = int(np.argmin(good))
            return event.names[index] if event.describe is None else event.describe(index, s)
    return None


def find_event(
    events: Events, begin: float, end: float, states: Callable[[Array], Array]
) -> tuple[float, str | None] | None:
    """Time (s) and name of the first event within a step [begin, end], s; None without an event.

    `states` gives states (N, size) at times (N,), the dense output of the step.
    """
    if not events:
        return None
    t = begin + (end - begin) * _EVENT_CHECK_POINTS
    t[-1] = end
    index = first_violation(events, t[1:], states(t[1:]))
    if index is None:
        return None
    return locate_event(events, float(t[index]), float(t[index + 1]), lambda now: states(np.array([now]))[0])


# ---- fixed steps


@dataclass(frozen=True)
class TimeGrid:
    """Times origin + k h of fixed steps, of which those from `first` to `last` are taken.

    A run may begin within the first step, where an earlier one has ended.
    """

    origin: float
    h: float
    first: int
    last: int

    def time(self, k: int) -> float:
        """The time at which step k begins."""
        return self.origin + self.h * k

    def times(self, k: int, count: int) -> Array:
        """Times (count + 1,), s, between steps k and k + count: origin + h j."""
        return self.origin + self.h * np.arange(k, k + count + 1)


# The inputs of a core at a part of a step, 0 to 1, and a state (size,).
StageInputs = Callable[[float, Array], Array]


def one_step(f: Derivative, u: StageInputs, s: Array, h: float) -> Array:
    """A step of the classical Runge-Kutta method."""
    k1 = f(s, u(0.0, s))
    second = s + 0.5 * h * k1
    k2 = f(second, u(0.5, second))
    third = s + 0.5 * h * k2
    k3 = f(third, u(0.5, third))
    fourth = s + h * k3
    k4 = f(fourth, u(1.0, fourth))
    return np.asarray(s + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4))


class StepBlock(NamedTuple):
    """Some steps, and what cut them short.

    Attributes:
        states: after each of them.
        used: the plant's inputs from the begin of each on.
        error: that was raised in the next one.
        end_message: why the run ends after them; empty if it does not.
    """

    states: Array
    used: Array
    error: BaseException | None = None
    end_message: str = ""


class FixedSteps(ABC):
    """Steps of a method, one at a time or in blocks.

    Args:
        drive: the plant with its inputs.

    Attributes:
        failure_message: why a step may give no state.
        loop: the method of a core that gives its native loop; empty for none.
        stages: parts of a step at which that takes inputs that are not held.
        most: how many steps are taken between looks at events and at the user's wish to stop.
    """

    failure_message: str
    loop: str
    stages: tuple[float, ...]
    most: int = BLOCK

    def __init__(self, drive: PlantInputs) -> None:
        self.drive, self._driver = drive, _native_loop(drive, self.loop)

    @abstractmethod
    def evaluations(self, steps: int) -> int:
        """How often the derivative was evaluated for a number of steps."""

    @abstractmethod
    def _function(self, core: Core) -> Derivative:
        """The derivative of a core in the form that the method evaluates."""

    @abstractmethod
    def _advance(self, f: Derivative, inputs: StageInputs, s: Array, h: float) -> Array:
        """The state (size,) after a step of the method, of NaN if it fails."""

    @abstractmethod
    def _states(self, motion: Any) -> Array:
        """States (N, size) of what a native loop gives."""

    # A native loop needs neither, but where it ends in the midst of a step.

    @cached_property
    def _plant_derivative(self) -> Derivative:
        return self._function(self.drive.plant)

    @cached_property
    def _core_derivative(self) -> Derivative:
        return self._function(self.drive.core)

    def step(self, s: Array, k: int, t: float, h: float, held: Array | None = None) -> tuple[Array, Array]:
        """One step, of any length within step k: the state after it and the inputs at its begin.

        Args:
            s: the state.
            k: number of the step, for rows of arrays.
            t: when it begins.
            h: its length.
            held: the inputs that are held over it; evaluated at its begin if None.
        """
        drive = self.drive
        first = drive.forces(k, np.array([t]), s[None])[0] if held is None else held
        if not drive.is_held:
            s = self._advance(
                self._core_derivative, lambda part, state: drive.source(k, t + part * h, state), s, h
            )
            return s, first
        for _ in range(drive.substeps):
            s = self._advance(self._plant_derivative, lambda part, state: first, s, h / drive.substeps)
        return s, first

    def within(self, s: Array, k: int, begin: float, held: Array) -> Callable[[float], Array]:
        """The state (size,) as a function of time within step k, which begins at a state s."""
        return lambda t: self.step(s, k, begin, t - begin, held)[0] if t > begin else s

    def block(self, s: Array, k: int, t: Array) -> StepBlock:
        """Steps k and on between times t (count + 1,), up to one that fails and is not finite."""
        native = self._native_steps(s, k, t)
        if native is not None:
            return native
        count = len(t) - 1
        states, used = np.empty((count, len(s))), np.empty((count, self.drive.plant.inputs))
        h = (t[-1] - t[0]) / count
        for i in range(count):
            try:
                s, used[i] = self.step(s, k + i, float(t[i]), h)
            except (Exception, KeyboardInterrupt) as error:
                return StepBlock(states[:i], used[:i], error)
            states[i] = s
            if not np.isfinite(s).all():
                return StepBlock(states[: i + 1], used[: i + 1])
        return StepBlock(states, used)

    def _native_steps(self, s: Array, k: int, t: Array) -> StepBlock | None:
        """Steps k and on between times t (count + 1,) by a native loop; None without one."""
        if self._driver is None:
            return None
        drive, count = self.drive, len(t) - 1
        begin, table = drive.table(np.arange(k, k + count), t, self.stages)
        h = (t[-1] - t[0]) / count
        states = self._states(self._driver.integrate(s, table, h=h, steps=count, substeps=drive.substeps))
        if drive.closed_loop is None:
            return StepBlock(states, begin)
        return StepBlock(states, drive.closed_loop.forces(np.concatenate([s[None], states[:-1]]), begin))


def _native_loop(drive: PlantInputs, name: str) -> Any:
    """The native loop of a drive; None if it has none, or inputs must be evaluated in Python."""
    make = getattr(drive.core, name, None) if drive.free else None
    if make is None:
        return None
    return make(held=True) if drive.closed_loop is not None and drive.hold else make()


class ExplicitStepper(FixedSteps):
    """Steps of the classical Runge-Kutta method."""

    failure_message = "the state is not finite"
    loop, stages = "driver", (0.0, 0.5, 1.0)

    def evaluations(self, steps: int) -> int:
        """Four a step of the method."""
        return 4 * self.drive.substeps * steps

    def _function(self, core: Core) -> Derivative:
        return core.derivative()

    def _advance(self, f: Derivative, inputs: StageInputs, s: Array, h: float) -> Array:
        return one_step(f, inputs, s, h)

    def _states(self, motion: Any) -> Array:
        return np.asarray(motion)


class ImplicitStepper(FixedSteps):
    """Implicit steps of Radau IIA; the state is of NaN if Newton's iteration does not converge."""

    failure_message = (
        "the implicit step has no solution: Newton's iteration does not converge, nor in parts of the step; "
        "take a shorter step, or friction that changes its sign over a wider rate (smooth=)"
    )
    loop, stages = "implicit_driver", tuple(STAGES.tolist())

    def __init__(self, drive: PlantInputs) -> None:
        super().__init__(drive)
        self._evaluations, self._radau, self._length = 0, Radau(drive.plant.size), 0.0

    def evaluations(self, steps: int) -> int:
        """How often the derivative was evaluated, for Jacobians, too."""
        del steps
        return self._evaluations + self._radau.evaluations

    def _function(self, core: Core) -> Derivative:
        return derivatives_of(core)

    def _advance(self, f: Derivative, inputs: StageInputs, s: Array, h: float) -> Array:
        if abs(h - self._length) > 1e-9 * h:
            # Steps of another length have other matrices.
            self._restart(h)

        def rates(states: Array, c: Array) -> Array:
            return f(states, np.array([inputs(part, state) for part, state in zip(c, states, strict=True)]))

        try:
            with np.errstate(all="ignore"):
                return s if np.isnan(s).any() else self._radau.step(rates, s, h)
        except NotConvergedError:
            self._restart(h)
            return np.full_like(s, np.nan)

    def _restart(self, h: float) -> None:
        """Begin with new matrices, for steps of h, s."""
        self._evaluations += self._radau.evaluations
        self._radau, self._length = Radau(self.drive.plant.size), h

    def _states(self, motion: Any) -> Array:
        self._evaluations += motion.evaluations
        return np.asarray(motion.x)


def integrate_fixed(
    problem: InitialValueProblem,
    grid: TimeGrid,
    report: Callable[[float], None],
    *,
    stepper: FixedSteps,
    held: Array | None = None,
) -> Outcome:
    """Run fixed steps.

    Args:
        problem: the plant with its inputs, from its first state on.
        grid: the steps.
        report: is given the part that is done, 0 to 1.
        stepper: the method.
        held: inputs that are held to the end of a first step that is cut short.
    """
    drive, s0, start, events = problem
    until = grid.time(grid.last)
    times, states, used, numbers = [np.array([start])], [s0[None]], [], []
    now, k, t = s0, grid.first, start
    status, message = "done", f"reached {until:g} s"
    try:
        while k < grid.last:
            partial = t > grid.time(k)
            count = 1 if partial else min(stepper.most, grid.last - k)
            at = np.concatenate([[t], grid.times(k + 1, count - 1)])
            if partial:
                after, u = stepper.step(now, k, t, float(at[1] - t), held if drive.is_held else None)
                part = StepBlock(after[None], u[None])
            else:
                part = stepper.block(now, k, at)
            done = len(part.states)
            bad = first_violation(events, at[1 : done + 1], part.states) if done else None
            good = done if bad is None else bad
            times.append(at[1 : good + 1])
            states.append(part.states[:good])
            used.append(part.used[:good])
            numbers.append(np.arange(k, k + good))
            if good:
                now, t, k = part.states[good - 1], float(at[good]), k + good
            if bad is not None:
                # The step is shortened so that it ends at the first event.
                state = stepper.within(now, k, t, part.used[good])
                end, name = locate_event(events, t, float(at[good + 1]), state)
                if end > t:
                    times.append(np.array([end]))
                    states.append(state(end)[None])
                    used.append(part.used[good : good + 1])
                    numbers.append(np.array([k]))
                status = "failed" if name is None else "event"
                message = f"at {end:.9g} s {name or stepper.failure_message}"
                break
            if part.error is not None:
                raise part.error
            if part.end_message:
                status, message = "event", part.end_message
                break
            report((t - start) / (until - start))
    except (Exception, KeyboardInterrupt) as error:
        # A Ctrl-C may have fallen between the lines that keep a block: only whole ones count.
        whole = min(len(times), len(states), len(used) + 1, len(numbers) + 1)
        del times[whole:], states[whole:], used[whole - 1 :], numbers[whole - 1 :]
        kept = np.concatenate(times)
        status, message = stop_status(error, float(kept[-1]), nothing=len(kept) < 2)
    breaks, values = np.concatenate(times), np.concatenate(states)
    inputs = np.concatenate(used) if used else np.zeros((0, drive.plant.inputs))
    if len(breaks) < 2:
        track: Track = constant_track(drive, start, s0)
        inputs = drive.forces(grid.first, breaks, values)
    else:
        steps = np.concatenate(numbers)
        track = HermiteTrack(drive, breaks, values, steps, inputs)
        last = inputs[-1:] if drive.is_held else drive.forces(steps[-1:], breaks[-1:], values[-1:])
        inputs = np.concatenate([inputs, last])
    evaluations = stepper.evaluations(len(breaks) - 1)
    return Outcome(breaks, values, inputs, track, status, message, evaluations)


# ---- step control


def make_solver(problem: InitialValueProblem, until: float, method: str, options: Mapping[str, Any]) -> Any:
    """The solver of a method around a plant with its inputs."""
    from scipy import integrate

    drive, s0, start, _ = problem
    derivative = drive.core.derivative()

    def f(t: float, s: Array) -> Array:
        return derivative(s, drive.source(0, t, s))

    first = f(start, s0)
    if not np.isfinite(first).all():
        raise KinematicsError(
            f"at {start:g} s the derivative of the state of {drive.plant.name} is not finite: {first}"
        )
    settings = {name: value for name, value in options.items() if value is not None}
    jacobian = getattr(drive.core, "jacobian", None)
    if method == "radau" and drive.free and jacobian is not None:
        slope = jacobian()
        if slope is not None:
            settings["jac"] = lambda t, s: slope(s, drive.source(0, t, s))
    return getattr(integrate, SOLVERS[method])(f, start, s0, until, **settings)


def _state_rows(dense: Any) -> Callable[[Array], Array]:
    """States (N, size) at times, from a dense output."""
    return lambda t: np.asarray(dense(t).T)


def integrate_adaptive(
    problem: InitialValueProblem,
    until: float,
    method: str,
    report: Callable[[float], None],
    *,
    times: Array | None,
    options: Mapping[str, Any],
) -> Outcome:
    """Run a method with step control.

    Args:
        problem: the plant with its inputs, from its first state on.
        until: when the run ends.
        method: "dop853" or "radau".
        report: is given the part that is done, 0 to 1.
        times: times of the results; the steps' if None.
        options: tolerances, first and longest step.
    """
    drive, s0, start, events = problem
    breaks, ends, pieces = [start], [s0], []
    status, message = "done", f"reached {until:g} s"
    solver: Any = None
    try:
        solver = make_solver(problem, until, method, options)
        while solver.status == "running":
            before = float(solver.t)
            reason = solver.step()
            if solver.status == "failed" or not np.all(np.isfinite(solver.y)):
                status, message = "failed", f"at {before:.9g} s: {reason or 'the state is not finite'}"
                break
            dense = solver.dense_output()
            last, end = float(solver.t), solver.y
            ended = find_event(events, before, last, _state_rows(dense))
            if ended is not None:
                last, end = ended[0], dense(ended[0])
            if last > before:
                pieces.append(dense)
                ends.append(end)
                breaks.append(last)
            report((last - start) / (until - start))
            if ended is not None:
                status = "failed" if ended[1] is None else "event"
                message = f"at {last:.9g} s {ended[1] or 'the state is not finite'}"
                break
    except (Exception, KeyboardInterrupt) as error:
        status, message = stop_status(error, breaks[-1], nothing=len(breaks) < 2)
    # A Ctrl-C may have fallen between the lines that keep a step.
    pieces, ends = pieces[: len(breaks) - 1], ends[: len(breaks)]
    track = DenseTrack(drive, breaks, pieces) if pieces else constant_track(drive, start, s0)
    t, s = np.array(breaks), np.array(ends)
    if times is not None:
        chosen = times[(times > start) & (times < breaks[-1])]
        t = np.concatenate([t[:1], chosen, t[1:][-1:]])
        s = np.concatenate([s[:1], track.states(chosen), s[1:][-1:]])
    count, following = (0, None) if solver is None else (int(solver.nfev), float(solver.h_abs))
    return Outcome(t, s, drive.forces(0, t, s), track, status, message, count, following)
