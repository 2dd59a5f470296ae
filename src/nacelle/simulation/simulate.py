"""Simulating a robot: integrators around a plant, with inputs and events.

- "rk4": the classical method with a fixed step; the whole loop runs natively where the forces are an array;
- "dop853": order eight with step control and dense output;
- "radau": implicit, for stiff friction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.integrate import DOP853, Radau

from nacelle.emit import registry
from nacelle.errors import KinematicsError, did_you_mean
from nacelle.model.robot import Robot
from nacelle.simulation.events import Event, standard_events
from nacelle.simulation.native_rk4 import native_rk4
from nacelle.simulation.plant import RigidPlant
from nacelle.simulation.result import Simulation
from nacelle.spatial.scalar import Array

METHODS = ("rk4", "dop853", "radau")
_SOLVERS = {"dop853": DOP853, "radau": Radau}
# Steps of a native run between looks at events and at the user's wish to stop.
_BLOCK = 1000

Force = Callable[[float, Array, Array], Any]


def simulate(
    plant: RigidPlant | Robot,
    x0: Any,
    v0: Any = None,
    force: Any = None,
    *,
    until: float,
    start: float = 0.0,
    method: str = "dop853",
    step: float = 1e-3,
    samples: int | None = None,
    rtol: float = 1e-12,
    atol: float = 1e-14,
    events: Sequence[Event] | None = None,
    progress: bool = False,
) -> Simulation:
    """Simulate a robot from a pose and a twist.

    Args:
        plant: the robot, or a `RigidPlant` of it (with its choice of friction).
        x0: reduced pose (nx,).
        v0: reduced twist (n,); zero if None.
        force: of the actuators: constant (actuators,), an array with one row a step for "rk4", a function of
            time f(t), or feedback f(t, x, v); zero if None.
        until: time at which the run ends, s.
        start: time at which it begins, s.
        method: "rk4", "dop853" or "radau".
        step: of "rk4", s; for the others the longest step is free.
        samples: how many results, evenly over time; every step if None.
        rtol: relative tolerance of a step ("dop853", "radau").
        atol: absolute tolerance of a step.
        events: what ends the run; limits of the actuators, legs at full stretch and parallel singularities
            if None.
        progress: whether to show a bar.

    Raises:
        KinematicsError: if an argument cannot be used.
        UnreachableError: if the first pose is out of reach.
    """
    plant = plant if isinstance(plant, RigidPlant) else RigidPlant(plant)
    if method not in METHODS:
        raise KinematicsError(f"no method is called {method!r}; {did_you_mean(method, METHODS)}")
    if not np.isfinite(until) or until <= start:
        raise KinematicsError(f"the run must end after it begins: start {start:g} s, until {until:g} s")
    v0 = np.zeros(plant.robot.motion.n) if v0 is None else v0
    s0 = plant.state(x0, v0)
    if not np.all(np.isfinite(s0)):
        raise KinematicsError("the twist at the start is not finite")
    watched = list(standard_events(plant) if events is None else events)
    for event in watched:
        if event.value(np.array([start]), s0[None])[0] <= 0.0:
            raise KinematicsError(f"at the start already {event.name}")
    if method == "rk4":
        return _fixed(plant, s0, force, start, until, step, samples, watched, progress)
    return _adaptive(plant, s0, force, start, until, method, samples, rtol, atol, watched, progress)


def _force_function(plant: RigidPlant, force: Any) -> Force:
    """Bring what the user gives to a function of time, pose and twist."""
    count = plant.inputs
    if force is None:
        zero = np.zeros(count)
        return lambda t, x, v: zero
    if callable(force):
        code = getattr(force, "__code__", None)
        if code is not None and code.co_argcount == 1:
            return lambda t, x, v: force(t)
        feedback: Force = force
        return feedback
    constant = np.asarray(force, dtype=float)
    if constant.shape != (count,):
        raise KinematicsError(
            f"{plant.robot.name} has {count} actuators: forces are ({count},) or a function, got the shape "
            f"{constant.shape}; one row a step goes with the method 'rk4'"
        )
    return lambda t, x, v: constant


def _bar(progress: bool) -> Any:
    """A progress bar, or nothing."""
    if not progress:
        return None
    from rich.progress import Progress

    return Progress(transient=True)


def _adaptive(
    plant: RigidPlant,
    s0: Array,
    force: Any,
    start: float,
    until: float,
    method: str,
    samples: int | None,
    rtol: float,
    atol: float,
    events: list[Event],
    progress: bool,
) -> Simulation:
    derivative, inputs = plant.derivative(), _force_function(plant, force)

    def at(t: float, s: Array) -> Array:
        x, v = plant.split(s)
        return np.asarray(inputs(t, x, v), dtype=float)

    def f(t: float, s: Array) -> Array:
        return derivative(s, at(t, s))

    solver = _SOLVERS[method](f, start, s0, until, rtol=rtol, atol=atol)
    times, states = [start], [s0]
    wanted = None if samples is None else np.linspace(start, until, samples)
    status, message = "done", f"reached {until:g} s"
    bar = _bar(progress)
    task = bar.add_task(plant.robot.name, total=until - start) if bar else None
    try:
        if bar:
            bar.start()
        while solver.status == "running":
            before = solver.t
            told = solver.step()
            if solver.status == "failed" or not np.all(np.isfinite(solver.y)):
                status, message = "failed", f"at {before:.9g} s: {told or 'the state is not finite'}"
                break
            dense = solver.dense_output()
            ended = _first_event(events, before, solver.t, dense)
            last = solver.t if ended is None else ended[0]
            if wanted is None:
                times.append(last)
                states.append(dense(last))
            else:
                inside = wanted[(wanted > before) & (wanted <= last)]
                times += inside.tolist()
                states += [dense(t) for t in inside]
                if ended is not None and (not inside.size or inside[-1] < last):
                    times.append(last)
                    states.append(dense(last))
            if bar and task is not None:
                bar.update(task, completed=last - start)
            if ended is not None:
                status, message = "event", f"at {last:.9g} s {ended[1]}"
                break
    except KeyboardInterrupt:
        status, message = "interrupted", f"stopped at {times[-1]:.9g} s"
    finally:
        if bar:
            bar.stop()
    stacked = np.array(states)
    forces = np.array([at(t, s) for t, s in zip(times, stacked, strict=True)])
    return Simulation(plant, method, np.array(times), stacked, forces, status, message, int(solver.nfev))


def _first_event(
    events: list[Event], before: float, after: float, dense: Callable[[float], Array]
) -> tuple[float, str] | None:
    """The first event within a step, its time found by bisection to rounding."""
    first: tuple[float, str] | None = None
    for event in events:

        def value(t: float, event: Event = event) -> float:
            return float(event.value(np.array([t]), dense(t)[None])[0])

        if value(after) > 0.0:
            continue
        low, high = before, after
        while high - low > 4e-16 * max(abs(high), 1e-3):
            middle = 0.5 * (low + high)
            if middle in (low, high):
                break
            low, high = (middle, high) if value(middle) > 0.0 else (low, middle)
        if first is None or low < first[0]:
            first = (low, event.name)
    return first


def _fixed(
    plant: RigidPlant,
    s0: Array,
    force: Any,
    start: float,
    until: float,
    step: float,
    samples: int | None,
    events: list[Event],
    progress: bool,
) -> Simulation:
    if not np.isfinite(step) or step <= 0.0:
        raise KinematicsError(f"the step must be above zero, got {step:g} s")
    steps = max(1, round((until - start) / step))
    h = (until - start) / steps
    run = _blocks(plant, force, steps)
    times, states, forces = [np.array([start])], [s0[None]], []
    now, done = s0, 0
    status, message = "done", f"reached {until:g} s"
    bar = _bar(progress)
    task = bar.add_task(plant.robot.name, total=steps) if bar else None
    try:
        if bar:
            bar.start()
        while done < steps:
            count = min(_BLOCK, steps - done)
            at = start + h * np.arange(done, done + count + 1)
            part, used = run(now, done, count, h, at)
            good = int(np.argmin(np.isfinite(part).all(axis=1))) if not np.isfinite(part).all() else count
            part, used = part[:good], used[:good]
            for event in events:
                if not len(part):
                    break
                bad = np.flatnonzero(~(event.value(at[1 : len(part) + 1], part) > 0.0))
                if bad.size:
                    part, used = part[: bad[0] + 1], used[: bad[0] + 1]
                    status, message = "event", f"at {at[1 + bad[0]]:.9g} s {event.name}"
            times.append(at[1 : len(part) + 1])
            states.append(part)
            forces.append(used)
            if status == "event":
                break
            if good < count:
                status, message = "failed", f"at {at[good]:.9g} s the state is not finite"
                break
            now, done = part[-1], done + count
            if bar and task is not None:
                bar.update(task, completed=done)
    except KeyboardInterrupt:
        status, message = "interrupted", f"stopped at {start + h * done:.9g} s"
    finally:
        if bar:
            bar.stop()
    t, s = np.concatenate(times), np.concatenate(states)
    u = np.concatenate(forces) if forces else np.zeros((0, plant.inputs))
    u = np.concatenate([u, u[-1:]]) if len(u) else np.zeros((1, plant.inputs))
    if samples is not None and samples < len(t):
        pick = np.unique(np.round(np.linspace(0, len(t) - 1, samples)).astype(int))
        t, s, u = t[pick], s[pick], u[pick]
    return Simulation(plant, "rk4", t, s, u, status, message, 4 * (len(t) - 1))


def _table(plant: RigidPlant, force: Any, steps: int) -> Array:
    """Forces for every step, (1, actuators) or (steps, actuators)."""
    table = np.atleast_2d(np.zeros(plant.inputs) if force is None else np.asarray(force, dtype=float))
    if table.shape[1:] != (plant.inputs,) or len(table) not in (1, steps):
        raise KinematicsError(
            f"forces for {steps} steps of {plant.robot.name} have the shape ({plant.inputs},) or "
            f"({steps}, {plant.inputs}), got {np.shape(force)}"
        )
    return np.ascontiguousarray(table)


_Run = Callable[[Array, int, int, float, Array], tuple[Array, Array]]


def _blocks(plant: RigidPlant, force: Any, steps: int) -> _Run:
    """How a block of steps is run: natively where the forces are known, else step by step."""
    if callable(force):
        inputs = _force_function(plant, force)

        def asked(s: Array, done: int, count: int, h: float, at: Array) -> tuple[Array, Array]:
            return _stepped(plant, s, lambda k, x, v: inputs(float(at[k]), x, v), count, h)

        return asked
    table = _table(plant, force, steps)

    def rows(done: int, count: int) -> Array:
        if len(table) == 1:
            return np.broadcast_to(table, (count, plant.inputs)).copy()
        return table[done : done + count]

    try:
        driver = native_rk4(plant)
    except registry.TargetError:

        def tabled(s: Array, done: int, count: int, h: float, at: Array) -> tuple[Array, Array]:
            used = rows(done, count)
            return _stepped(plant, s, lambda k, x, v: used[k], count, h)

        return tabled

    def native(s: Array, done: int, count: int, h: float, at: Array) -> tuple[Array, Array]:
        used = rows(done, count)
        found = driver.integrate(s, used, plant.quat_0, h=h, steps=count)
        return np.asarray(found.x[0]), used

    return native


def _stepped(
    plant: RigidPlant, s: Array, inputs: Callable[[int, Array, Array], Any], count: int, h: float
) -> tuple[Array, Array]:
    """RK4 with forces that are asked for at every step and held over it."""
    f = plant.derivative()
    states, forces = np.empty((count, plant.size)), np.empty((count, plant.inputs))
    for k in range(count):
        forces[k] = inputs(k, *plant.split(s))
        u = forces[k]
        k1 = f(s, u)
        k2 = f(s + 0.5 * h * k1, u)
        k3 = f(s + 0.5 * h * k2, u)
        k4 = f(s + h * k3, u)
        s = s + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        states[k] = s
    return states, forces
