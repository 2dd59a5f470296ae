"""The plant protocol: what integrators and results require of something that moves.

A plant has a state of `size` numbers and `inputs` inputs, and gives the state's derivative, ds/dt = f(s, u).
It is independent of integrators, and they are of robots. Some plants have more, which is used then:

    derivatives(s, u)  f of many states at once; one after the other without
    jacobian()         df/ds, for the implicit method; finite differences without
    driver()           the whole loop of fixed steps in native code; steps run in Python without
    closed(feedback)   the plant under a feedback that is compiled with it
    joints(s), motion(s), closure_error(s)      what robots with joints have
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from nacelle.simulation.events import Event, Events
from nacelle.spatial.scalar import Array

Derivative = Callable[[Array, Array], Array]


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
        """The state (size,) at a pose and a twist; the same for the same x and v."""

    def split(self, s: Array) -> tuple[Array, Array]:
        """Poses (..., nx) and twists (..., n) of states (..., size)."""

    def energies(self, s: Array) -> dict[str, Array]:
        """Of states (..., size) the "kinetic" and "potential" energy, J, and the "dissipation", W."""

    def power(self, s: Array, u: Array) -> Array:
        """Power (...,) of inputs (..., inputs) at states (..., size), W."""

    def events(self) -> Events:
        """What ends a run unless the user says otherwise."""


class Driver(Protocol):
    """Fixed steps of the classical Runge-Kutta method in native code."""

    def integrate(self, s: Array, u: Array, *, h: float, steps: int) -> Array:
        """States (steps, size) after every step of length h from a state (size,); NaN from where they fail.

        The inputs are held over each step, (steps, inputs), or given at its begin, middle and end,
        (steps, 3, inputs).
        """


@runtime_checkable
class HasDriver(Protocol):
    """A core with a native loop."""

    def driver(self) -> Driver | None:
        """The native loop; None where it cannot be had."""


@runtime_checkable
class HasDerivatives(Protocol):
    """A plant that evaluates many states at once."""

    def derivatives(self, s: Array, u: Array) -> Array:
        """The derivatives (N, size) of states (N, size) under inputs (N, inputs)."""


@runtime_checkable
class HasJacobian(Protocol):
    """A core that may have an exact Jacobian."""

    def jacobian(self) -> Derivative | None:
        """A function of a state and inputs that gives df/ds (size, size); None for finite differences."""


@dataclass(frozen=True, eq=False)
class Feedback:
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

    def held_driver(self) -> Driver | None:
        """The native loop with the feedback held over each step; None where it cannot be had."""


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


def user_event(plant: Plant, name: str, function: Callable[..., Any]) -> Event:
    """An event of the user's: a function of (t, x, v) that is positive before it."""

    def value(t: Array, s: Array) -> Array:
        x, v = plant.split(s)
        return np.array([float(function(*sample)) for sample in zip(t, x, v, strict=True)])

    return Event(name, value)
