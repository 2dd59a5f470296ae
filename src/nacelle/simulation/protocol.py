"""The plant protocol: what integrators and results require of something that moves.

A plant has a state of `size` numbers and `inputs` inputs, and gives the state's derivative, ds/dt = f(s, u).
It is independent of integrators, and they are of robots. Some plants have more, which is used then:

    derivatives(s, u)  f of many states at once; one after the other without
    jacobian()         df/ds, for the implicit method; finite differences without
    driver()           the whole loop of fixed steps in native code; steps run in Python without
    implicit_driver()  the same of implicit steps
    closed(feedback)   the plant under a feedback that is compiled with it
    joints(s), motion(s), closure_error(s)      what robots with joints have
    default_step(s), reason_unstable(s, h)      fixed steps that suit a plant that vibrates
    implicit_step(s), suited_method(s)          implicit ones, and whether they suit it
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np

from nacelle.emit.irk5 import Irk5Result
from nacelle.errors import KinematicsError
from nacelle.model.robot import Robot
from nacelle.pictures import Shown
from nacelle.spatial.scalar import Array

Derivative = Callable[[Array, Array], Array]


# ---- events


@dataclass(frozen=True)
class Event(Shown):
    """Something that ends a run.

    Attributes:
        name: what it is, in words.
        value: function of times (N,) and states (N, size) that gives (N,) numbers, positive before it.
    """

    name: str
    value: Callable[[Array, Array], Array]

    @property
    def names(self) -> tuple[str]:
        """Its name."""
        return (self.name,)

    @property
    def words(self) -> None:
        """Its name does not depend on the state."""

    def values(self, t: Array, s: Array) -> Array:
        """Numbers (N, 1), positive before it."""
        return np.broadcast_to(self.value(t, s), len(t))[:, None]


@dataclass(frozen=True)
class EventGroup(Shown):
    """Events that are evaluated together.

    Attributes:
        names: what they are, in words.
        values: function of times (N,) and states (N, size) that gives (N, events) numbers, positive before
            each.
        words: function of the place of an event and the state (size,) at it that gives its name there, where
            that depends on the state; None if it does not.
    """

    names: tuple[str, ...]
    values: Callable[[Array, Array], Array]
    words: Callable[[int, Array], str] | None = None


Events: TypeAlias = Sequence[Event | EventGroup]


def user_event(plant: Plant, name: str, function: Callable[..., Any]) -> Event:
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


def checked_events(events: Any) -> Events:
    """Take events as they are given: a sequence of `Event` and `EventGroup`, or one of them.

    Raises:
        KinematicsError: if something else is among them.
    """
    if isinstance(events, Event | EventGroup):
        return (events,)
    if isinstance(events, str) or not isinstance(events, Iterable):
        raise KinematicsError(f"events are a list of nacelle.Event, or [] for none, got {events!r}")
    listed = tuple(events)
    for event in listed:
        if not isinstance(event, Event | EventGroup):
            raise KinematicsError(
                f"an event is a nacelle.Event(name, value) with value(t, s) positive before it, got {event!r}"
            )
    return listed


# ---- plants


class Labels(NamedTuple):
    """Names and SI units of the entries of x, v and the inputs, as pairs; a unit may be empty."""

    x: tuple[tuple[str, str], ...]
    v: tuple[tuple[str, str], ...]
    inputs: tuple[tuple[str, str], ...]


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
class Plant(Core, Protocol):
    """Something that moves."""

    @property
    def name(self) -> str:
        """What it is called, in messages and titles."""

    @property
    def labels(self) -> Labels:
        """Names and units of the entries of x, v and the inputs."""

    def state(self, x: Any, v: Any) -> Array:
        """The state (size,) at a pose x (nx,) and a twist v (n,); the same for the same x and v."""

    def split(self, s: Array) -> tuple[Array, Array]:
        """Poses (..., nx) and twists (..., n) of states (..., size)."""

    def energies(self, s: Array) -> dict[str, Array]:
        """Of states (..., size) the "kinetic" and "potential" energy, J, and the "dissipation", W."""

    def power(self, s: Array, u: Array) -> Array:
        """Power (...,) of inputs (..., inputs) at states (..., size), W."""

    def events(self) -> Events:
        """What ends a run unless the user says otherwise."""


def jointed(plant: Plant) -> Jointed:
    """A plant that has joints.

    Raises:
        KinematicsError: if it has none.
    """
    if not isinstance(plant, Jointed):
        raise KinematicsError(f"{plant.name} is a plant without joints")
    return plant


def robot_of(plant: Plant) -> Robot:
    """The robot that a plant is of.

    Raises:
        KinematicsError: if there is none.
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


@runtime_checkable
class HasDriver(Protocol):
    """A core with a native loop."""

    def driver(self) -> Driver | None:
        """The native loop; None where it cannot be had."""


class ImplicitDriver(Protocol):
    """Fixed steps of the implicit Runge-Kutta method in native code."""

    def integrate(self, s: Array, u: Array, *, h: float, steps: int, substeps: int = 1) -> Irk5Result:
        """Steps of length h from a state (size,), with inputs as a `Driver` has them.

        Those that are not held are given at the stages of the method, `nacelle.emit.irk5.STAGES`. Of the
        result states x (steps, size), NaN from where they fail, and the number of evaluations count.
        """


@runtime_checkable
class HasImplicitDriver(Protocol):
    """A core with a native loop of implicit steps."""

    def implicit_driver(self, *, held: bool = False) -> ImplicitDriver | None:
        """The native loop, a feedback held over each step or not; None where it cannot be had."""


@runtime_checkable
class HasDerivatives(Protocol):
    """A plant that evaluates many states at once."""

    def derivatives(self, s: Array, u: Array) -> Array:
        """The derivatives (N, size) of states (N, size) under inputs (N, inputs)."""


def derivatives_of(core: Core) -> Derivative:
    """Derivatives (N, size) of states (N, size) under inputs (N, inputs): at once, or one after the other."""
    if isinstance(core, HasDerivatives):
        return core.derivatives
    f = core.derivative()
    return lambda s, u: np.array([f(*each) for each in zip(s, u, strict=True)]).reshape(s.shape)


@runtime_checkable
class HasJacobian(Protocol):
    """A core that may have an exact Jacobian."""

    def jacobian(self) -> Derivative | None:
        """A function of a state and inputs that gives df/ds (size, size); None for finite differences."""


@runtime_checkable
class Stepped(Protocol):
    """A plant that says which fixed steps suit it."""

    def default_step(self, s: Array) -> float:
        """A fixed step, s, from a state (size,) on."""

    def reason_unstable(self, s: Array, step: float) -> str:
        """Why fixed steps from a state would grow without bound; empty if they do not."""


@runtime_checkable
class ImplicitlyStepped(Protocol):
    """A plant that says which implicit steps suit it."""

    def implicit_step(self, s: Array) -> float:
        """A fixed step, s, of the implicit method from a state (size,) on."""

    def suited_method(self, s: Array) -> str:
        """The method for runs from a state on whose user has chosen none."""


@dataclass(frozen=True, eq=False)
class Feedback(Shown):
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


@runtime_checkable
class Traceable(Protocol):
    """A plant that can be compiled together with a feedback."""

    def closed(self, feedback: Feedback) -> ClosedLoop:
        """The plant under a feedback."""


@runtime_checkable
class Jointed(Protocol):
    """A plant with joints and bodies."""

    def joints(self, s: Array) -> Any:
        """All joints and bodies at states (..., size)."""

    def motion(self, s: Array) -> Any:
        """Rates of all joints at states (..., size)."""

    def closure_error(self, s: Array) -> float:
        """What the loops leave open at the worst of some states (N, size), as a pure number."""


Source = Callable[[int, float, Array], Array]


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

    plant: Plant
    core: Core
    source: Source
    free: bool
    steady: bool
    hold: bool
    substeps: int = 1

    @property
    def rows(self) -> StepRows | None:
        """The rows of an array among the inputs, if there are."""
        return self.source if isinstance(self.source, StepRows) else None

    @property
    def closed(self) -> ClosedLoop | None:
        """The loop, if a compiled feedback closes it."""
        core: Any = self.core
        return None if core is self.plant else core

    @property
    def held(self) -> bool:
        """Whether the plant's inputs are the same throughout a step."""
        return self.hold or (self.steady and self.closed is None)

    def forces(self, k: Any, t: Array, s: Array) -> Array:
        """The plant's inputs (N, inputs) at steps k, times t (N,) and states s (N, size)."""
        steps = np.broadcast_to(np.asarray(k, dtype=int), np.shape(t))
        given = self._given(steps, t, s)
        return given if self.closed is None else self.closed.forces(s, given)

    def table(self, k: Array, t: Array) -> Array:
        """The core's inputs for steps k (N,) between times t (N + 1,), where they are free of the state.

        (N, inputs) if they are held over each step, else (N, 3, inputs): at its begin, middle and end.
        """
        begin = self._given(k, t[:-1], None)
        if self.hold or self.steady:
            return begin
        middle = self._given(k, 0.5 * (t[:-1] + t[1:]), None)
        return np.stack([begin, middle, self._given(k, t[1:], None)], axis=1)

    def staged(self, k: Array, t: Array, parts: Sequence[float]) -> Array:
        """The core's inputs (N, parts, inputs) at parts of steps k (N,) between times t (N + 1,)."""
        h = np.diff(t)
        return np.stack([self._given(k, t[:-1] + part * h, None) for part in parts], axis=1)

    def _given(self, k: Array, t: Array, s: Array | None) -> Array:
        if self.rows is not None:
            return self.rows.many(k, t)
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
    timed: bool = False

    @property
    def end(self) -> float:
        """The step after the last one that has a row."""
        return np.inf if len(self.table) == 1 else self.first + len(self.table)

    def __call__(self, k: int, t: float, s: Array) -> Array:
        """The row of step k, [t; row] if it is timed."""
        row = np.asarray(self.table[0 if len(self.table) == 1 else k - self.first])
        return np.concatenate([[t], row]) if self.timed else row

    def many(self, k: Array, t: Array) -> Array:
        """The rows of steps k (N,) at times t (N,), an array of its own."""
        rows = np.asarray(self.table[np.zeros_like(k) if len(self.table) == 1 else k - self.first])
        return np.column_stack([t, rows]) if self.timed else rows
