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
from nacelle.simulation.inputs import PlantInputs
from nacelle.simulation.integrators import FixedSteps, StepBlock
from nacelle.simulation.protocol import Core, HasDerivatives, HasImplicitDriver, ImplicitDriver
from nacelle.spatial.scalar import Array


class ImplicitStepper(FixedSteps):
    """Implicit steps of a drive."""

    failure = (
        "the implicit step has no solution: Newton's iteration does not converge, nor in parts of the step; "
        "take a shorter step, or friction that changes its sign over a wider rate (smooth=)"
    )

    def __init__(self, drive: PlantInputs) -> None:
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
        """As `FixedSteps.step`; the state is of NaN if Newton's iteration does not converge."""
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

    def _native(self, s: Array, k: int, t: Array) -> StepBlock | None:
        if self._driver is None:
            return None
        drive, count = self.drive, len(t) - 1
        steps = np.arange(k, k + count)
        begin = drive.staged(steps, t, (0.0,))[:, 0]
        table = begin if drive.hold or drive.steady else drive.staged(steps, t, STAGES.tolist())
        h = (t[-1] - t[0]) / count
        motion = self._driver.integrate(s, table, h=h, steps=count, substeps=drive.substeps)
        self._native_evaluations += motion.evaluations
        return self._with_forces(s, motion.x, begin)


def _driver(drive: PlantInputs) -> ImplicitDriver | None:
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
