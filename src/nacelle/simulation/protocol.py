"""What integrators and results require of something that moves.

It has a state of `size` numbers and `inputs` inputs, and gives the state's derivative, ds/dt = f(s, u): a
`Plant` (`nacelle.simulation.plant`), or an object of the user's (`PlantLike`). It is independent of
integrators, and they are of robots. What a `Plant` has more is used of others where they have it:

    derivatives(s, u)  f of many states (N, size) at once; one after the other without
    jacobian()         a function of a state and inputs that gives df/ds (size, size), for the implicit
                       method, or None; finite differences without
    driver()           the whole loop of fixed steps in native code (`Driver`), or None; steps run in Python
                       without
    implicit_driver()  the same of implicit steps, for which inputs that are not held are given at the stages
                       of the method, `nacelle.emit.irk5.STAGES`; it gives an `Irk5Result`
    with_feedback(law) the plant under a feedback that is compiled with it (`ClosedLoop`)
    loop_parts()       what is compiled with a controller (`nacelle.simulation.plant.NativeFlow`)
    signals(s, names)  what its sensors show at states (..., size), by name, where it is not compiled
    joints(s), motion(s), closure_error(s)      what robots with joints have: `InverseKinematics`,
                       `JointMotion`, and what the loops leave open at the worst of states (N, size), a number
    suited_steps(s)    fixed steps and the method that suit a plant that vibrates (`SuitedSteps`)
    forces(s, u)       actuators' forces, where these are not the inputs
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np

from nacelle.errors import KinematicsError
from nacelle.model.robot import Robot
from nacelle.results import HasTable
from nacelle.spatial.scalar import Array

Derivative = Callable[[Array, Array], Array]


# ---- events


@dataclass(frozen=True)
class EventGroup(HasTable):
    """Events that end a run, evaluated together.

    Attributes:
        names: descriptions of the events.
        values: function of times (N,) and states (N, size) that gives (N, events) numbers, positive before
            each.
        describe: function of the index of an event and the state (size,) at it that gives its name, where
            that depends on the state; None if it does not.
    """

    names: tuple[str, ...]
    values: Callable[[Array, Array], Array]
    describe: Callable[[int, Array], str] | None = None


class Event(EventGroup):
    """Something that ends a run.

    Args:
        name: description of the event.
        value: function of times (N,) and states (N, size) that gives (N,) numbers, positive before it.
    """

    value: Callable[[Array, Array], Array]

    def __init__(self, name: str, value: Callable[[Array, Array], Array]) -> None:
        super().__init__((name,), lambda t, s: np.broadcast_to(value(t, s), len(t))[:, None])
        object.__setattr__(self, "value", value)

    @property
    def name(self) -> str:
        """Description of the event."""
        return self.names[0]


Events: TypeAlias = Sequence[EventGroup]


def user_event(plant: PlantLike, name: str, function: Callable[..., Any]) -> Event:
    """An event of the user's: a function of (t, x, v) that is positive before it.

    Args:
        plant: what moves.
        name: of the event, for messages.
        function: called with a time (s), a pose (nx,) and a twist (n,), SI units; the run ends where its
            value, a number of any unit, falls through zero.
    """

    def value(t: Array, s: Array) -> Array:
        x, v = plant.split(s)
        return np.array([float(function(*sample)) for sample in zip(t, x, v, strict=True)])

    return Event(name, value)


def check_events(events: Any) -> Events:
    """Take events as they are given: a sequence of `Event` and `EventGroup`, or one of them.

    Raises:
        KinematicsError: if something else is among them.
    """
    if isinstance(events, EventGroup):
        return (events,)
    if isinstance(events, str) or not isinstance(events, Iterable):
        raise KinematicsError(
            f"events are a list of nacelle.simulation.Event, or [] for none, got {events!r}"
        )
    groups = tuple(events)
    for event in groups:
        if not isinstance(event, EventGroup):
            raise KinematicsError(
                "an event is a nacelle.simulation.Event(name, value) with value(t, s) positive before it, "
                f"got {event!r}"
            )
    return groups


# ---- plants


class Labels(NamedTuple):
    """Names and SI units of the entries of x, v and the inputs, as pairs; names of elastic coordinates."""

    x: tuple[tuple[str, str], ...]
    v: tuple[tuple[str, str], ...]
    inputs: tuple[tuple[str, str], ...]
    elastic: tuple[str, ...] = ()


@runtime_checkable
class Core(Protocol):
    """What an integrator drives: ds/dt = f(s, u)."""

    @property
    def size(self) -> int:
        """Number of states."""

    @property
    def inputs(self) -> int:
        """Number of inputs."""

    def derivative(self) -> Derivative:
        """A function of a state (size,) and inputs (inputs,) that gives the state's derivative."""


@runtime_checkable
class PlantLike(Core, Protocol):
    """Something that moves."""

    @property
    def name(self) -> str:
        """What it is called, in messages and titles."""

    @property
    def labels(self) -> Labels:
        """Names and units of the entries of x, v and the inputs."""

    @property
    def state(self) -> Callable[[Any, Any], Array]:
        """The state (size,) at a pose x (nx,) and a twist v (n,); the same for the same x and v."""

    @property
    def split(self) -> Callable[[Array], tuple[Array, Array]]:
        """Poses (..., nx) and twists (..., n) of states (..., size)."""

    @property
    def energies(self) -> Callable[[Array], dict[str, Array]]:
        """Of states (..., size) the "kinetic" and "potential" energy, J, and the "dissipation", W."""

    @property
    def power(self) -> Callable[[Array, Array], Array]:
        """Power (...,) of inputs (..., inputs) at states (..., size), W."""

    @property
    def events(self) -> Callable[[], Events]:
        """Gives what ends a run unless the user says otherwise."""


def require_joints(plant: PlantLike) -> Any:
    """A plant that has joints: joints(s), motion(s) and closure_error(s).

    Raises:
        KinematicsError: if it has none.
    """
    if not has_joints(plant):
        raise KinematicsError(f"{plant.name} is a plant without joints")
    return plant


def has_joints(plant: PlantLike) -> bool:
    """Whether a plant has joints and bodies."""
    return all(getattr(plant, name, None) for name in ("joints", "motion", "closure_error"))


def robot_of(plant: PlantLike) -> Robot:
    """The robot that a plant is of.

    Raises:
        KinematicsError: if the plant has no robot.
    """
    robot = getattr(plant, "robot", None)
    if not isinstance(robot, Robot):
        raise KinematicsError(f"{plant.name} is a plant without a robot")
    return robot


class Driver(Protocol):
    """Fixed steps of the classical Runge-Kutta method in native code."""

    def integrate(self, s: Array, u: Array, *, h: float, steps: int, substeps: int = 1) -> Array:
        """States (steps, size) after every step of length h from a state (size,); NaN from where they fail.

        The inputs are held over each step, (steps, inputs), or given at its begin, middle and end,
        (steps, 3, inputs). A step is made of `substeps` steps of the method, more than one only for inputs
        that are held.
        """


def derivatives_of(core: Core) -> Derivative:
    """Derivatives (N, size) of states (N, size) under inputs (N, inputs): at once, or one after the other."""
    together: Derivative | None = getattr(core, "derivatives", None)
    if together is not None:
        return together
    f = core.derivative()
    return lambda s, u: np.array([f(*each) for each in zip(s, u, strict=True)]).reshape(s.shape)


@dataclass(frozen=True, eq=False)
class Feedback(HasTable):
    """A law with its reference.

    Attributes:
        function: the law, a physics function.
        reference: r as a function of time, or an array with a row (k,) for every step of "rk4", held over it,
            or one row, held throughout; None if the law takes none.
        options: keyword arguments for the law, which shape the program.
    """

    function: Callable[..., Any]
    reference: Any = None
    options: tuple[tuple[str, Any], ...] = ()

    @property
    def name(self) -> str:
        """The law's name."""
        return str(getattr(self.function, "__name__", "feedback"))


class ClosedLoop(Core, Protocol):
    """A plant under a compiled feedback; its inputs are the time and the reference, [t; r]."""

    def forces(self, s: Array, u: Array) -> Array:
        """The plant's inputs (..., plant's inputs) at states (..., size) and [t; r] (..., inputs)."""

    def driver(self, *, held: bool = False) -> Driver | None:
        """The native loop, the feedback held over each step or not; None where it cannot be had."""


InputSource = Callable[[int, float, Array], Array]


@dataclass(frozen=True, eq=False)
class PlantInputs:
    """A plant with its inputs.

    Attributes:
        plant: the plant.
        core: what is integrated: the plant, or the plant under a compiled feedback.
        source: the core's inputs at step k ("rk4"), time t and state s.
        free: whether they do not depend on the state.
        steady: whether they do not change within a step: constants, rows of an array.
        hold: whether the plant's inputs are taken at the begin of a step and held over it.
        substeps: of how many steps of the method a step is made, where inputs are held over it.
    """

    plant: PlantLike
    core: Core
    source: InputSource
    free: bool
    steady: bool
    hold: bool
    substeps: int = 1

    @property
    def rows(self) -> StepRows | None:
        """The rows of an array among the inputs, if there are."""
        return self.source if isinstance(self.source, StepRows) else None

    @property
    def closed_loop(self) -> ClosedLoop | None:
        """The loop, if a compiled feedback closes it."""
        core: Any = self.core
        return None if core is self.plant else core

    @property
    def is_held(self) -> bool:
        """Whether the plant's inputs are the same throughout a step."""
        return self.hold or (self.steady and self.closed_loop is None)

    def forces(self, k: Any, t: Array, s: Array) -> Array:
        """The plant's inputs (N, inputs) at steps k, times t (N,) and states s (N, size)."""
        steps = np.broadcast_to(np.asarray(k, dtype=int), np.shape(t))
        inputs = self._evaluate_source(steps, t, s)
        return inputs if self.closed_loop is None else self.closed_loop.forces(s, inputs)

    def table(self, k: Array, t: Array, stages: Sequence[float]) -> tuple[Array, Array]:
        """The core's inputs for steps k (N,) between times t (N + 1,), where they are free of the state.

        Returns:
            Those at the begin of each step (N, inputs), and all: the same if they are held over it, else at
            its stages (N, stages, inputs), parts of it from 0 to 1.
        """
        begin = self._evaluate_source(k, t[:-1], None)
        if self.hold or self.steady:
            return begin, begin
        later = {
            part: self._evaluate_source(k, (1.0 - part) * t[:-1] + part * t[1:], None)
            for part in stages
            if part
        }
        return begin, np.stack([later.get(part, begin) for part in stages], axis=1)

    def _evaluate_source(self, k: Array, t: Array, s: Array | None) -> Array:
        if self.rows is not None:
            return self.rows.rows_at(k, t)
        states = [np.zeros(0)] * len(t) if s is None else s
        rows = [self.source(int(i), float(now), state) for i, now, state in zip(k, t, states, strict=True)]
        return np.array(rows).reshape(len(t), self.core.inputs)


class InitialValueProblem(NamedTuple):
    """An initial value problem: ds/dt = f(s, u(t, s)) from s(start) = s0 on, until an event.

    Attributes:
        drive: the plant with its inputs.
        s0: the state at the start (size,).
        start: when the run begins, s.
        events: what ends it.
    """

    drive: PlantInputs
    s0: Array
    start: float
    events: Events


@dataclass(frozen=True, eq=False)
class StepRows:
    """Rows of an array, one for each step from the first on, or one for all; behind the time if `timed`."""

    table: Array
    first: int
    with_time: bool = False

    @property
    def end(self) -> float:
        """The step after the last one that has a row."""
        return np.inf if len(self.table) == 1 else self.first + len(self.table)

    def __call__(self, k: int, t: float, s: Array) -> Array:
        """The row of step k, [t; row] if it is timed."""
        row = np.asarray(self.table[0 if len(self.table) == 1 else k - self.first])
        return np.concatenate([[t], row]) if self.with_time else row

    def rows_at(self, k: Array, t: Array) -> Array:
        """The rows of steps k (N,) at times t (N,), an array of its own."""
        rows = np.asarray(self.table[np.zeros_like(k) if len(self.table) == 1 else k - self.first])
        return np.column_stack([t, rows]) if self.with_time else rows
