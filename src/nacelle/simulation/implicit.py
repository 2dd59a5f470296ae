"""Fixed implicit steps of a plant with its inputs: Radau IIA of order five (`nacelle.emit.irk5`).

The whole loop runs natively where the inputs are free of the state or a feedback is compiled. Else steps run
in Python, and a feedback f(t, x, v) is part of the derivative: it is evaluated at every stage, and for the
Jacobian at every shifted state.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from nacelle.emit.irk5 import STAGES, NotConvergedError, Radau, Rates
from nacelle.simulation.inputs import Drive
from nacelle.simulation.integrators import Block
from nacelle.simulation.protocol import Core, HasDerivatives, HasImplicitDriver, ImplicitDriver
from nacelle.spatial.scalar import Array


class ImplicitStepper:
    """Implicit steps of a drive (`nacelle.simulation.integrators.FixedSteps`)."""

    failure = (
        "the implicit step has no solution: Newton's iteration does not converge, nor in parts of the step; "
        "take a shorter step, or friction that changes its sign over a wider rate (smooth=)"
    )

    def __init__(self, drive: Drive) -> None:
        self.drive = drive
        self._driver = _driver(drive)
        self._native_evaluations = 0
        self._past_evaluations = 0
        self._radau, self._length = Radau(drive.plant.size), 0.0

    def evaluations(self, steps: int) -> int:
        """How often the derivative was evaluated, for Jacobians, too."""
        del steps
        return self._native_evaluations + self._past_evaluations + self._radau.evaluations

    @cached_property
    def _plain(self) -> Callable[[Array, Array], Array]:
        return _batch(self.drive.plant)

    @cached_property
    def _core(self) -> Callable[[Array, Array], Array]:
        return _batch(self.drive.core)

    def step(self, s: Array, k: int, t: float, h: float, held: Array | None = None) -> tuple[Array, Array]:
        """One step, of any length within step k: the state after it and the inputs at its begin.

        Args:
            s: the state.
            k: number of the step, for rows of arrays.
            t: when it begins.
            h: its length.
            held: the inputs that are held over it; evaluated at its begin if None.

        Returns:
            The state, of NaN if Newton's iteration does not converge, and the inputs.
        """
        drive = self.drive
        first = drive.forces(k, np.array([t]), s[None])[0] if held is None else held
        length = h / drive.substeps if drive.held else h
        if abs(length - self._length) > 1e-9 * length:
            # Steps of another length have other matrices.
            self._past_evaluations += self._radau.evaluations
            self._radau, self._length = Radau(drive.plant.size), length

        def held_rates(states: Array, c: Array) -> Array:
            return self._plain(states, np.broadcast_to(first, (len(states), len(first))))

        def free_rates(states: Array, c: Array) -> Array:
            inputs = [drive.source(k, t + h * part, state) for part, state in zip(c, states, strict=True)]
            return self._core(states, np.array(inputs).reshape(len(states), drive.core.inputs))

        rates: Rates = held_rates if drive.held else free_rates
        try:
            with np.errstate(all="ignore"):
                for _ in range(drive.substeps if drive.held else 1):
                    s = self._radau.step(rates, s, length)
        except NotConvergedError:
            self._past_evaluations += self._radau.evaluations
            self._radau = Radau(drive.plant.size)
            return np.full_like(s, np.nan), first
        return s, first

    def within(self, s: Array, k: int, begin: float, held: Array) -> Callable[[float], Array]:
        """The state (size,) as a function of time within step k, which begins at a state s."""
        return lambda t: self.step(s, k, begin, t - begin, held)[0] if t > begin else s

    def block(self, s: Array, k: int, t: Array) -> Block:
        """Steps k and on between times t (count + 1,), up to one that fails and is NaN."""
        if self._driver is not None:
            return self._native(self._driver, s, k, t)
        count = len(t) - 1
        states, used = np.empty((count, len(s))), np.empty((count, self.drive.plant.inputs))
        h = (t[-1] - t[0]) / count
        for i in range(count):
            try:
                s, used[i] = self.step(s, k + i, float(t[i]), h)
            except (Exception, KeyboardInterrupt) as error:
                return Block(states[:i], used[:i], error)
            states[i] = s
            if not np.isfinite(s).all():
                return Block(states[: i + 1], used[: i + 1])
        return Block(states, used)

    def _native(self, driver: ImplicitDriver, s: Array, k: int, t: Array) -> Block:
        drive, count = self.drive, len(t) - 1
        steps = np.arange(k, k + count)
        begin = drive.staged(steps, t, (0.0,))[:, 0]
        table = begin if drive.hold or drive.steady else drive.staged(steps, t, STAGES.tolist())
        motion = driver.integrate(s, table, h=(t[-1] - t[0]) / count, steps=count, substeps=drive.substeps)
        self._native_evaluations += motion.evaluations
        states = motion.x
        if drive.closed is None:
            return Block(states, begin)
        return Block(states, drive.closed.forces(np.concatenate([s[None], states[:-1]]), begin))


def _driver(drive: Drive) -> ImplicitDriver | None:
    """The native loop of a drive; None where the inputs must be evaluated in Python."""
    if not drive.free or not isinstance(drive.core, HasImplicitDriver):
        return None
    return drive.core.implicit_driver(held=drive.hold)


def _batch(core: Core) -> Callable[[Array, Array], Array]:
    """Derivatives (N, size) of states (N, size) under inputs (N, inputs)."""
    if isinstance(core, HasDerivatives):
        return core.derivatives
    f = core.derivative()
    return lambda s, u: np.array([f(state, inputs) for state, inputs in zip(s, u, strict=True)])
