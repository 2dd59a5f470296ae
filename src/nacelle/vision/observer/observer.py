"""The observer: an extended Kalman filter over pose, twist, anchors and clock, in order of own times.

    take        edges wait until they arrive, then go to their own time by the robot's clock
    read        readings of encoders likewise, at once
    accelerate  what the control law gives from a time on                                      (`process`)
    estimate    all that has arrived is filtered, and the state predicted from the last measurement to now

It is an error-state filter (Sola, Quaternion kinematics for the error-state Kalman filter, 2017); the clock's
offset is estimated as by Li and Mourikis, Online temporal calibration for camera-IMU systems, IJRR 2014.

Measurements in the order of their own times, with the states after them: what is late goes to its place.

A region of interest that was exposed at t arrives at t + latency, when readings of later times may have been
used already. The states of the last `horizon` seconds are kept, each with the measurement that led to it:

    s_0 -m_1-> s_1 -m_2-> s_2 ... -m_k-> s_k          at t_0 <= t_1 <= ... <= t_k

A measurement at t is put behind the last t_i <= t, and what follows is filtered again; where nothing follows,
as for a camera alone, that is a plain filter. What comes later than the horizon is left out, and counted.

A step e that is long for a linear model is taken again with r and H at its end, r + H e (the iterated filter,
Gauss and Newton's method): at the start, where readings of micrometres meet an uncertainty of millimetres.
"""

from __future__ import annotations

import heapq
import itertools
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np

from nacelle.errors import ObserverError
from nacelle.kinematics.shapes import twist_scales
from nacelle.kinematics.solve.inverse import inverse_kinematics
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array
from nacelle.vision.camera import Camera
from nacelle.vision.cylinders import Cylinder, visible_cylinders
from nacelle.vision.measurement import EdgeMeasurement
from nacelle.vision.observer.anchors import Anchors, anchor_names, anchors_of
from nacelle.vision.observer.process import ObserverState, ProcessModel
from nacelle.vision.observer.settings import ObserverSettings, Start
from nacelle.vision.observer.sight import SightModel
from nacelle.vision.observer.update import (
    Consistency,
    EdgeEvent,
    InnovationSummary,
    MeasurementModels,
    ReadingEvent,
    consistency,
    kalman_update,
)

# Steps of the pose that need no second look, robot sizes or rad; and how often one is taken.
_LINEAR_STEP, _ITERATIONS = 2e-4, 4

NO_INNOVATION = InnovationSummary()
"""What no measurement says."""


@dataclass(frozen=True, eq=False)
class ObserverStep:
    """A measurement (None at the start), the state after it, and what it said."""

    event: EdgeEvent | ReadingEvent | None
    state: ObserverState
    innovations: InnovationSummary = NO_INNOVATION


@dataclass(frozen=True, eq=False)
class Estimate:
    """What an observer says of a robot at a time.

    Attributes:
        time: s, robot's clock.
        x: reduced pose (nx,).
        y: passive coordinates near it (ny,), a guess for kinematics.
        v: reduced twist (n,), m/s and rad/s.
        covariance: of the errors of pose and twist (2 n, 2 n), the pose's along the reduced twist.
        anchors: displacements of anchors (m,), m, base axes, in the order of `Observer.anchor_names`.
        anchors_covariance: (m, m).
        clock: camera's clock minus robot's clock, s.
        clock_sigma: its standard deviation, s; 0 where it is not estimated.
        age: time since the last measurement that was used, s.
        stale: whether that is longer than the settings allow.
    """

    time: float
    x: Array
    y: Array
    v: Array
    covariance: Array
    anchors: Array
    anchors_covariance: Array
    clock: float
    clock_sigma: float
    age: float
    stale: bool


class Observer:
    """Pose and twist of a robot from edges of its legs and, where there are any, from encoders.

    Attributes:
        robot: the robot.
        cylinders: that the camera sees.
        anchors: displacements of anchors that are estimated; empty without.
        too_late: how many measurements came later than the horizon and were left out.
    """

    def __init__(
        self,
        robot: Robot,
        camera: Camera,
        start: Start,
        settings: ObserverSettings | None = None,
        cylinders: Sequence[Cylinder] | None = None,
    ) -> None:
        """Begin at a pose.

        Args:
            robot: the robot.
            camera: the camera, calibrated (`nacelle.vision.calibration`).
            start: pose, twist and their uncertainty.
            settings: what is assumed.
            cylinders: that the edges' numbers refer to; `visible_cylinders(robot)` if None.

        Raises:
            ObserverError: if the robot has no cylinders, or the start is not finite.
        """
        self.robot, self.settings = robot, settings or ObserverSettings()
        self.cylinders = tuple(visible_cylinders(robot) if cylinders is None else cylinders)
        if not self.cylinders:
            raise ObserverError(f"{robot.name} has no cylinder that a camera could see")
        self.anchors: Anchors = anchors_of(robot) if self.settings.anchors > 0.0 else ()
        s = self.settings
        walks = [s.anchors_walk**2] * len(self.anchors) + [s.clock_walk**2] * (s.clock > 0.0)
        self._process = ProcessModel(robot, s.density(robot), np.array(walks))
        noise = np.broadcast_to(np.asarray(s.encoders, dtype=float), (len(robot.actuators),))
        self._sight = SightModel(robot, self.cylinders, self.anchors)
        self._measured = MeasurementModels(camera, self._sight, encoders=noise, density=s.density(robot))
        self._units = twist_scales(robot)
        self._waiting: list[tuple[float, int, tuple[EdgeMeasurement, ...]]] = []
        self._order = itertools.count()
        self.restart(start)

    @property
    def anchor_names(self) -> tuple[str, ...]:
        """Names of the estimated displacements: joint and direction."""
        return anchor_names(self.robot, self.anchors)

    def _initial_state(self, start: Start) -> ObserverState:
        n, s = self.robot.motion.n, self.settings
        v = np.zeros(n) if start.v is None else np.array(start.v, dtype=float)
        if v.shape != (n,) or not np.all(np.isfinite(v)):
            raise ObserverError(f"the twist at the start has the shape ({n},) and is finite, got {start.v}")
        kinematics = inverse_kinematics(self.robot, start.x, limits=False)
        slow = [s.anchors**2] * len(self.anchors) + [s.clock**2] * (s.clock > 0.0)
        P = np.zeros((2 * n + len(slow), 2 * n + len(slow)))
        P[: 2 * n, : 2 * n] = start.covariance(self.robot)
        P[2 * n :, 2 * n :] = np.diag(slow)
        if not np.all(P.diagonal() > 0.0) or not np.all(np.isfinite(P)):
            raise ObserverError("the uncertainty at the start must be positive and finite")
        zero = np.zeros(len(self.anchors))
        return ObserverState(start.time, kinematics.x, kinematics.y, v, zero, start.clock, P, seen=start.time)

    # ---- what comes in

    def add_acceleration(self, time: float, a: Any) -> None:
        """Take the acceleration dv/dt (n,) that the control law gives from a time on, m/s^2 and rad/s^2."""
        a = np.array(a, dtype=float)
        if a.shape != (self.robot.motion.n,) or not np.all(np.isfinite(a)) or not np.isfinite(time):
            raise ObserverError(
                f"the acceleration at {time:.6g} s is not ({self.robot.motion.n},) or not finite", time
            )
        self._process.accelerations.add(time, a)

    def take(self, measured: Iterable[EdgeMeasurement]) -> None:
        """Take edges, in any order; each is used from its arrival on.

        Raises:
            ObserverError: if one is not finite, or of no cylinder; time and cylinder are named.
        """
        # Edges of one exposure arrive together.
        key = attrgetter("arrival", "time")
        for (arrival, _), group in itertools.groupby(sorted(measured, key=key), key=key):
            together = tuple(group)
            for edge in together:
                self._check_edge(edge)
            heapq.heappush(self._waiting, (arrival, next(self._order), together))

    def read(self, time: float, q: Any) -> None:
        """Take readings of all encoders (actuators,), rad or m, at a time of the robot's clock.

        Raises:
            ObserverError: if one is not finite; time and actuator are named.
        """
        q = np.array(q, dtype=float)
        if q.shape != (len(self.robot.actuators),):
            raise ObserverError(
                f"readings of {self.robot.name} are ({len(self.robot.actuators)},), got {q.shape}", time
            )
        bad = [self.robot.actuators[k].name for k in np.flatnonzero(~np.isfinite(q))]
        if bad or not np.isfinite(time):
            raise ObserverError(f"the reading of {', '.join(bad)} at {time:.6g} s is not finite", time)
        self._process_measurement(ReadingEvent(float(time), q))

    def _check_edge(self, edge: EdgeMeasurement) -> None:
        count = len(self.cylinders)
        if not 0 <= edge.cylinder < count or edge.side not in (0, 1):
            raise ObserverError(
                f"an edge at {edge.time:.6g} s is side {edge.side} of cylinder {edge.cylinder}; "
                f"{self.robot.name} has {count} cylinders with sides 0 and 1",
                edge.time,
            )
        numbers = (edge.normal, edge.covariance, np.array([edge.time, edge.arrival]))
        if not all(np.all(np.isfinite(value)) for value in numbers):
            name = self.cylinders[edge.cylinder].name
            raise ObserverError(
                f"side {edge.side} of {name} measured at {edge.time:.6g} s is not finite", edge.time
            )

    def _process_measurement(self, event: EdgeEvent | ReadingEvent) -> None:
        """Filter a measurement at its own time, and again what is later; refuse an estimate that diverged."""
        index = bisect_right(self._times, event.time)
        if index == 0:
            self.too_late += 1
        else:
            later = [step.event for step in self._steps[index:] if step.event is not None]
            del self._steps[index:], self._times[index:]
            for measurement in (event, *later):
                self._append_measurement(measurement)
            self._drop_old_steps()
        edges, readings = self._last_state.rejected
        if max(edges, readings) > self.settings.patience:
            kind = "edges" if edges > self.settings.patience else "readings of encoders"
            raise ObserverError(
                f"{self.robot.name}: the last {max(edges, readings)} {kind} until {event.time:.6g} s "
                "contradict the estimate: it has diverged, or camera, clock or geometry are wrong",
                event.time,
                diverged=True,
            )

    @property
    def _last_state(self) -> ObserverState:
        """The state after the latest measurement."""
        return self._steps[-1].state

    def _append_measurement(self, event: EdgeEvent | ReadingEvent) -> None:
        """Append the state after a measurement that is later than all others."""
        before = self._process.predict(self._last_state, event.time)
        a = self._process.accelerations.at(event.time)
        edges, gate = isinstance(event, EdgeEvent), self.settings.gate
        unread = event.time - before.read > self.settings.horizon
        hold = edges and self.settings.clock > 0.0 and unread
        before, rows = self._measured.rows(before, event, a)
        for _ in range(_ITERATIONS):
            state, innovations = kalman_update(
                *(before, rows, gate, self._measured.displace), kind=0 if edges else 1, hold_clock=hold
            )
            e = self._measured.error(before, state)
            # Of the pose, and of its place in time.
            way = np.abs(e[: len(state.v)]) + np.abs((state.clock - before.clock) * state.v)
            if np.max(way / self._units) < _LINEAR_STEP:
                break
            # A long step: the model is linearised anew at its end, and the step taken again from its start.
            _, again = self._measured.rows(state, event, a)
            rows = again._replace(r=again.r + again.H @ e)
        if not (state.P.diagonal() > 0.0).all():
            raise ObserverError(
                f"the observer's covariance is not positive at {state.time:.6g} s", state.time, diverged=True
            )
        self._steps.append(ObserverStep(event, state, innovations))
        self._times.append(event.time)

    def _drop_old_steps(self) -> None:
        oldest = self._times[-1] - self.settings.horizon
        first = max(0, bisect_right(self._times, oldest) - 1)
        # A few at a time: moving a list for each costs more than it frees.
        if first > 64:
            del self._times[:first], self._steps[:first]
            self._process.accelerations.forget(self._times[0])

    # ---- what goes out

    def estimate(self, time: float) -> Estimate:
        """The state at a time of the robot's clock, from all that has arrived by then.

        Raises:
            ObserverError: if measurements contradict the estimate (`diverged`).
        """
        while self._waiting and self._waiting[0][0] <= time:
            _, _, together = heapq.heappop(self._waiting)
            clock = self._last_state.clock
            self._process_measurement(EdgeEvent(together[0].time - clock, clock, together))
        # From the last state at or before the time; from the first one if all are later.
        before = self._steps[max(0, bisect_right(self._times, time) - 1)].state
        state = self._process.predict(before, time)
        n, m = self.robot.motion.n, len(self.anchors)
        slow = slice(2 * n, 2 * n + m)
        age = max(0.0, time - state.seen)
        sigma = float(np.sqrt(state.P[-1, -1])) if self.settings.clock > 0.0 else 0.0
        return Estimate(
            *(time, state.x, state.y, state.v, state.P[: 2 * n, : 2 * n]),
            *(state.anchors, state.P[slow, slow], state.clock, sigma),
            *(age, age > self.settings.stale),
        )

    def bodies(self, time: float) -> tuple[Array, Array]:
        """Poses of all bodies that are expected at a time, anchors as they are estimated.

        Returns:
            R (bodies, 3, 3) and p (bodies, 3), m, in the base.
        """
        at = self.estimate(time)
        poses = self._sight.bodies(at.x, at.anchors, guess=at.y).results
        return poses["R"], poses["p"]

    @property
    def steps(self) -> tuple[ObserverStep, ...]:
        """The measurements of the last `horizon` seconds in the order of their times, with what they said."""
        return tuple(self._steps)

    def consistency(self) -> Consistency:
        """How normalised innovations of the last measurements compare with chi-square."""
        return consistency([step.innovations for step in self._steps])

    def restart(self, start: Start) -> None:
        """Begin again at another state, for instance after divergence; what waits is kept."""
        first = self._initial_state(start)
        self._times, self._steps, self.too_late = [first.time], [ObserverStep(None, first)], 0
