"""What measurements at one time say of the state: rows of residuals, gates, Kalman's update.

A measurement r = H e + noise, R its covariance, says of the error e with covariance P

    S = H P H^T + R,     K = P H^T S^-1,     e = K r,     P+ = (1 - K H) P (1 - K H)^T + K R K^T

in Joseph's form, which stays symmetric and positive. r^T S^-1 r, the normalised innovation squared (NIS), has
the chi-square distribution of as many degrees as rows: measurements beyond its quantile are rejected.

An edge was seen at t = t_c - o by the robot's clock, o the clock's offset. The filter runs at t_0 = t_c - o_0,
o_0 the offset as it was when the edge came; with dt = o_0 - o the pose then was x (+) dt v, so the rows H_x of
the pose are joined by dt H_x of the twist and -H_x v of the offset.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from nacelle.errors import KinematicsError, ObserverError
from nacelle.kinematics.motion import evaluated
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array
from nacelle.vision.camera import Camera
from nacelle.vision.cylinders import Cylinder
from nacelle.vision.measurement import EdgeMeasurement
from nacelle.vision.observer.anchors import Anchors
from nacelle.vision.observer.process import State, displaced
from nacelle.vision.observer.sight import camera_numbers, edges, readings, shapes_of


class Innovation(NamedTuple):
    """What one measurement said before it was used.

    Attributes:
        time: s, robot's clock.
        name: of the cylinder, or "encoders".
        nis: normalised innovation squared.
        degrees: of freedom.
        accepted: whether it was used.
    """

    time: float
    name: str
    nis: float
    degrees: int
    accepted: bool


class Rows(NamedTuple):
    """One measurement: residual (k,), its matrix (k, N), its noise (k, k), its name; whether it can be right."""

    r: Array
    H: Array
    R: Array
    name: str
    possible: bool = True


@dataclass(frozen=True, eq=False)
class Edges:
    """Edges that were seen at one time: `time` is that of the filter, `clock` the offset that it was made with."""

    time: float
    clock: float
    measured: tuple[EdgeMeasurement, ...]


@dataclass(frozen=True, eq=False)
class Readings:
    """Coordinates of the actuators q (actuators,) at a time, rad or m."""

    time: float
    q: Array


class Measured:
    """The measurement models of a robot, a camera and its cylinders."""

    def __init__(
        self, robot: Robot, camera: Camera, cylinders: Sequence[Cylinder], anchors: Anchors, encoders: Array
    ) -> None:
        """Keep the models; `encoders` are standard deviations of readings (actuators,)."""
        self.robot, self.cylinders, self.anchors = robot, tuple(cylinders), anchors
        moved = {"anchors": anchors} if anchors else {}
        self._camera = camera_numbers(camera)
        self._edges = {"cylinders": shapes_of(cylinders), **moved}
        self._readings = moved
        self._noise = np.diag(encoders**2)
        self._revolute = np.array(robot.revolute_actuators, dtype=bool)

    def rows(self, state: State, event: Edges | Readings) -> tuple[State, list[Rows]]:
        """The rows of an event at a state of its time, and that state with y at its pose."""
        try:
            return self._of_edges(state, event) if isinstance(event, Edges) else self._of_readings(state, event)
        except KinematicsError as error:
            raise ObserverError(
                f"{self.robot.name}: the observed pose at {event.time:.6g} s is none of the robot: {error}",
                event.time,
                diverged=True,
            ) from error

    def _of_edges(self, state: State, event: Edges) -> tuple[State, list[Rows]]:
        n, size = len(state.v), len(state.P)
        dt = event.clock - state.clock
        x = displaced(self.robot, state.x, state.y, dt * state.v) if dt else state.x
        at = evaluated(edges, self.robot, x, self._camera, guess=state.y, options=self._edges)
        frame, tangent, by_pose = (at.results[name] for name in ("frame", "tangent", "by_pose"))
        by_anchor = at.results.get("by_anchor")
        clocked = size > 2 * n + len(self.anchors)
        result = []
        for edge in event.measured:
            place = edge.cylinder, edge.side
            across, Hx = frame[place][1:], by_pose[place]
            H = np.zeros((2, size))
            H[:, :n] = Hx
            r = across @ edge.normal
            if by_anchor is not None:
                H[:, 2 * n : 2 * n + len(self.anchors)] = by_anchor[place]
                r = r - by_anchor[place] @ state.anchors
            if clocked:
                H[:, n : 2 * n] = dt * Hx
                H[:, -1] = -Hx @ state.v
            possible = tangent[edge.cylinder] > 0.0 and frame[place][0] @ edge.normal > 0.0
            R = across @ edge.covariance @ across.T
            result.append(Rows(r, H, R, self.cylinders[edge.cylinder].name, bool(possible)))
        return replace(state, y=at.y), result

    def _of_readings(self, state: State, event: Readings) -> tuple[State, list[Rows]]:
        n = len(state.v)
        at = evaluated(readings, self.robot, state.x, guess=state.y, options=self._readings)
        gap = event.q - at.results["q"]
        H = np.zeros((len(gap), len(state.P)))
        H[:, :n] = at.results["by_pose"]
        if self.anchors:
            H[:, 2 * n : 2 * n + len(self.anchors)] = at.results["by_anchor"]
            gap = gap - at.results["by_anchor"] @ state.anchors
        # Angles of the model are in (-pi, pi], those of encoders count turns.
        gap = np.where(self._revolute, (gap + np.pi) % (2.0 * np.pi) - np.pi, gap)
        return replace(state, y=at.y), [Rows(gap, H, self._noise, "encoders")]


@lru_cache(maxsize=256)
def quantile(degrees: int, probability: float) -> float:
    """The number that a chi-square variable exceeds with a probability."""
    from scipy.special import chdtri

    return float(chdtri(degrees, probability))


def updated(
    robot: Robot, state: State, rows: Sequence[Rows], gate: float, kind: int
) -> tuple[State, list[Innovation]]:
    """The state after measurements of one time, and what each of them said.

    Args:
        robot: the robot.
        state: at the time of the measurements.
        rows: the measurements, with independent errors.
        gate: probability with which a right one is rejected.
        kind: 0 for edges, 1 for readings.
    """
    used, said = [], []
    for one in rows:
        S = one.H @ state.P @ one.H.T + one.R
        nis = float(one.r @ np.linalg.solve(S, one.r)) if one.possible else np.inf
        fits = nis <= quantile(len(one.r), gate)
        said.append(Innovation(state.time, one.name, nis, len(one.r), fits))
        if fits:
            used.append(one)
    counts = list(state.rejected)
    counts[kind] = 0 if used else counts[kind] + len(rows)
    rejected = counts[0], counts[1]
    if not used:
        return replace(state, rejected=rejected), said
    return replace(_joseph(robot, state, used), seen=state.time, rejected=rejected), said


def _joseph(robot: Robot, state: State, rows: Sequence[Rows]) -> State:
    H, r = np.concatenate([one.H for one in rows]), np.concatenate([one.r for one in rows])
    R = np.zeros((len(r), len(r)))
    start = 0
    for one in rows:
        part = slice(start, start + len(one.r))
        R[part, part], start = one.R, part.stop
    PH = state.P @ H.T
    K = np.linalg.solve(H @ PH + R, PH.T).T
    e = K @ r
    A = np.eye(len(state.P)) - K @ H
    P = A @ state.P @ A.T + K @ R @ K.T
    n, m = len(state.v), len(state.anchors)
    clock = state.clock + (float(e[-1]) if len(e) > 2 * n + m else 0.0)
    return replace(
        state,
        x=displaced(robot, state.x, state.y, e[:n]),
        v=state.v + e[n : 2 * n],
        anchors=state.anchors + e[2 * n : 2 * n + m],
        clock=clock,
        P=0.5 * (P + P.T),
    )
