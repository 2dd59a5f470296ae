"""Measurements in the order of their own times, with the states after them: what is late goes to its place.

A region of interest that was exposed at t arrives at t + latency, when readings of later times may have been
used already. The states of the last `horizon` seconds are kept, each with the measurement that led to it:

    s_0 -m_1-> s_1 -m_2-> s_2 ... -m_k-> s_k          at t_0 <= t_1 <= ... <= t_k

A measurement at t is put behind the last t_i <= t, and what follows is filtered again; where nothing follows,
as for a camera alone, that is a plain filter. What comes later than the horizon is left out, and counted.

A step e that is long for a linear model is taken again with r and H at its end, r + H e (the iterated filter,
Gauss and Newton's method): at the start, where readings of micrometres meet an uncertainty of millimetres.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

import numpy as np

from nacelle.errors import ObserverError
from nacelle.kinematics.jacobian import twist_units
from nacelle.vision.observer.process import ObserverState, Process
from nacelle.vision.observer.update import Edges, Measured, Readings, Said, updated

# Steps of the pose that need no second look, robot sizes or rad; and how often one is taken.
_LINEAR, _ITERATIONS = 2e-4, 4

NOTHING = Said()
"""What no measurement says."""


@dataclass(frozen=True, eq=False)
class ObserverStep:
    """A measurement (None at the start), the state after it, and what it said."""

    event: Edges | Readings | None
    state: ObserverState
    said: Said = NOTHING


class History:
    """The filter over the last measurements."""

    def __init__(
        self, start: ObserverState, process: Process, measured: Measured, *, gate: float, horizon: float
    ) -> None:
        """Begin at a state.

        Args:
            start: the first state.
            process: how states move on.
            measured: models of the measurements.
            gate: probability with which a right measurement is rejected.
            horizon: how long states are kept, s.
        """
        self._process, self._measured = process, measured
        self._gate, self._horizon = gate, horizon
        self._units = twist_units(measured.robot)
        self._clocked = len(start.P) > 2 * len(start.v) + len(start.anchors)
        self._times, self.steps = [start.time], [ObserverStep(None, start)]
        self.too_late = 0

    @property
    def last(self) -> ObserverState:
        """The state after the latest measurement."""
        return self.steps[-1].state

    def before(self, time: float) -> ObserverState:
        """The last state at or before a time; the first one where there is none."""
        return self.steps[max(0, bisect_right(self._times, time) - 1)].state

    def add(self, event: Edges | Readings) -> None:
        """Filter a measurement at its own time, and again what is later."""
        place = bisect_right(self._times, event.time)
        if place == 0:
            self.too_late += 1
            return
        later = [step.event for step in self.steps[place:]]
        del self.steps[place:], self._times[place:]
        self._append(event)
        for other in later:
            if other is not None:
                self._append(other)
        self._forget()

    def _append(self, event: Edges | Readings) -> None:
        before = self._process.predict(self.last, event.time)
        a = self._process.accelerations.at(event.time)
        edges = isinstance(event, Edges)
        hold = edges and self._clocked and event.time - before.read > self._horizon
        before, rows = self._measured.rows(before, event, a)
        for _ in range(_ITERATIONS):
            state, said = updated(
                *(before, rows, self._gate, self._measured.displaced), kind=0 if edges else 1, hold_clock=hold
            )
            e = self._measured.error(before, state)
            # Of the pose, and of its place in time.
            way = np.abs(e[: len(state.v)]) + np.abs((state.clock - before.clock) * state.v)
            if np.max(way / self._units) < _LINEAR:
                break
            # A long step: the model is linearised anew at its end, and the step taken again from its start.
            _, again = self._measured.rows(state, event, a)
            rows = again._replace(r=again.r + again.H @ e)
        if not (state.P.diagonal() > 0.0).all():
            raise ObserverError(
                f"the observer's covariance is not positive at {state.time:.6g} s", state.time, diverged=True
            )
        self.steps.append(ObserverStep(event, state, said))
        self._times.append(event.time)

    def _forget(self) -> None:
        oldest = self._times[-1] - self._horizon
        first = max(0, bisect_right(self._times, oldest) - 1)
        # A few at a time: moving a list for each costs more than it frees.
        if first > 64:
            del self._times[:first], self.steps[:first]
            self._process.accelerations.forget(self._times[0])
