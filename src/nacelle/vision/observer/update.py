"""What measurements at one time say of the state: rows of residuals, gates, Kalman's update.

A measurement r = H e + noise, R its covariance, says of the error e with covariance P

    S = H P H^T + R,     K = P H^T S^-1,     e = K r,     P+ = (1 - K H) P (1 - K H)^T + K R K^T

in Joseph's form, which stays symmetric and positive. r^T S^-1 r, the normalised innovation squared (NIS), has
the chi-square distribution of as many degrees as rows: measurements beyond its quantile are rejected.

An edge was seen at t = t_c - o by the robot's clock, o the clock's offset. The filter runs at t_0 = t_c -
o_0, o_0 the offset as it was when the edge came; with dt = o_0 - o the pose then was x (+) dt v, so the rows
H_x of the pose are joined by dt H_x of the twist and -H_x v of the offset. Their errors e and c enter as a
product, -H_x e c, too: its mean and variance, P_vv P_cc + P_vc P_vc^T, are those of a second-order filter.
Over |dt| the robot has moved by noise of the acceleration, too: Q |dt|^3 / 3.

Without encoders only the accelerations of the control law tell the two clocks apart; a linear filter would
then take the noise of its own twist for information. So the offset is corrected only while readings come;
otherwise K has a row of zeros for it, which Joseph's form allows, and its uncertainty counts in S (Schmidt's
filter).

Is an observer right about its own errors: normalised squares against chi-square.

With the error e (k,) of an estimate and its covariance P, e^T P^-1 e (NEES) has the chi-square distribution
of k degrees; so has the normalised innovation squared r^T S^-1 r (NIS) with those of r. The sum over N
independent ones has N k degrees, and their average lies in

    [chi2(N k, 0.025), chi2(N k, 0.975)] / N          in 95 of 100 cases

(Bar-Shalom, Li, Kirubarajan, Estimation with applications to tracking and navigation, 2001, section 5.4).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from nacelle.errors import KinematicsError, ObserverError
from nacelle.spatial.scalar import Array
from nacelle.vision.camera import Camera
from nacelle.vision.measurement import EdgeMeasurement
from nacelle.vision.observer.process import ObserverState, PoseDisplacement, pose_difference
from nacelle.vision.observer.sight import SightModel, camera_numbers


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


class InnovationSummary(NamedTuple):
    """What the measurements of one time said before they were used.

    Attributes:
        each: one by one; those of one time are not independent of each other.
        nis: normalised innovation squared of all that were used, together.
        degrees: of freedom of it.
    """

    each: tuple[Innovation, ...] = ()
    nis: float = 0.0
    degrees: int = 0


class MeasurementRows(NamedTuple):
    """Measurements of one time: k of them, each of g rows, with independent errors.

    Attributes:
        r: residuals (k g,).
        H: their matrix (k g, N).
        R: their noise (k g, k g).
        names: of what is measured, (k,).
        possible: whether each can be right at all (k,), of bool.
    """

    r: Array
    H: Array
    R: Array
    names: tuple[str, ...]
    possible: Array


@dataclass(frozen=True, eq=False)
class EdgeEvent:
    """Edges that were seen at one time: `time` is that of the filter, `clock` the offset it was made with."""

    time: float
    clock: float
    measured: tuple[EdgeMeasurement, ...]


@dataclass(frozen=True, eq=False)
class ReadingEvent:
    """Coordinates of the actuators q (actuators,) at a time, rad or m."""

    time: float
    q: Array


class MeasurementModels:
    """The measurement models of a robot, a camera and its cylinders."""

    def __init__(self, camera: Camera, sight: SightModel, *, encoders: Array, density: Array) -> None:
        """Keep the models.

        Args:
            camera: the camera.
            sight: what is measured of the robot.
            encoders: standard deviations of readings (actuators,).
            density: of the noise of the acceleration (n, n).
        """
        robot, cylinders, anchors = sight.robot, sight.cylinders, sight.anchors
        self._density = density
        self.robot, self.cylinders, self.anchors = robot, tuple(cylinders), anchors
        self.displace = PoseDisplacement(robot)
        self._camera = camera_numbers(camera)
        self._sight = sight
        self._noise = np.diag(encoders**2)
        self._revolute = np.array(robot.revolute_actuators, dtype=bool)

    def rows(
        self, state: ObserverState, event: EdgeEvent | ReadingEvent, a: Array
    ) -> tuple[ObserverState, MeasurementRows]:
        """The rows of an event at a state of its time, and that state with y at its pose.

        Args:
            state: at the time of the event.
            event: what was measured.
            a: acceleration (n,) of the control law then.
        """
        try:
            if isinstance(event, EdgeEvent):
                return self._edge_rows(state, event, a)
            return self._reading_rows(state, event)
        except KinematicsError as error:
            raise ObserverError(
                f"{self.robot.name}: the observed pose at {event.time:.6g} s is out of reach: {error}",
                event.time,
                diverged=True,
            ) from error

    def error(self, before: ObserverState, after: ObserverState) -> Array:
        """What an update has changed (N,): pose along the reduced twist, twist, anchors, clock."""
        d = pose_difference(self.robot, after.x, before.x, before.y)
        clock = np.array([after.clock - before.clock])
        parts = [d, after.v - before.v, after.anchors - before.anchors, clock]
        return np.concatenate(parts)[: len(before.P)]

    def _edge_rows(
        self, state: ObserverState, event: EdgeEvent, a: Array
    ) -> tuple[ObserverState, MeasurementRows]:
        n, m, size = len(state.v), len(self.anchors), len(state.P)
        dt = event.clock - state.clock
        v = state.v + dt * a
        x = self.displace(state.x, state.y, (0.5 * dt) * (state.v + v)) if dt else state.x
        at = self._sight.edges(x, self._camera, state.anchors, guess=state.y)
        measured = event.measured
        index = [edge.cylinder for edge in measured], [edge.side for edge in measured]
        frame, Hx = at.results["frame"][index], at.results["by_pose"][index].reshape(-1, n)
        normals = np.stack([edge.normal for edge in measured])
        C = np.stack([edge.covariance for edge in measured])
        across = frame[:, 1:]
        H = np.zeros((len(Hx), size))
        H[:, :n] = Hx
        r = (across @ normals[:, :, None]).ravel()
        if m:
            H[:, 2 * n : 2 * n + m] = at.results["by_anchor"][index].reshape(-1, m)
        R = _block_diagonal(across @ C @ np.swapaxes(across, 1, 2))
        if size > 2 * n + m:
            H[:, n : 2 * n] = dt * Hx
            H[:, -1] = -Hx @ v
            # The product of the errors of twist and clock, which is large before the clock is known.
            twist, clock, both = (state.P[n : 2 * n, n : 2 * n], state.P[-1, -1], Hx @ state.P[n : 2 * n, -1])
            r = r + both
            away = (dt * dt + clock) ** 1.5 / 3.0
            R += Hx @ (clock * twist + away * self._density) @ Hx.T + np.outer(both, both)
        facing = np.sum(frame[:, 0] * normals, axis=1) > 0.0
        names = tuple(self.cylinders[k].name for k in index[0])
        return state._replace(y=at.y), MeasurementRows(
            r, H, R, names, facing & (at.results["tangent"][index[0]] > 0.0)
        )

    def _reading_rows(
        self, state: ObserverState, event: ReadingEvent
    ) -> tuple[ObserverState, MeasurementRows]:
        n, m = len(state.v), len(self.anchors)
        at = self._sight.readings(state.x, state.anchors, guess=state.y)
        gap = event.q - at.results["q"]
        H = np.zeros((len(gap), len(state.P)))
        H[:, :n] = at.results["by_pose"]
        if m:
            H[:, 2 * n : 2 * n + m] = at.results["by_anchor"]
        # Angles of the model are in (-pi, pi], those of encoders count turns.
        gap = np.where(self._revolute, (gap + np.pi) % (2.0 * np.pi) - np.pi, gap)
        return state._replace(y=at.y), MeasurementRows(
            gap, H, self._noise, ("encoders",), np.ones(1, dtype=bool)
        )


def _block_diagonal(parts: Array) -> Array:
    """The matrix (k g, k g) with the matrices (k, g, g) on its diagonal."""
    k, g = parts.shape[:2]
    whole = np.zeros((k, g, k, g))
    index = np.arange(k)
    whole[index, :, index, :] = parts
    return whole.reshape(k * g, k * g)


@lru_cache(maxsize=256)
def chi_square_quantile(degrees: int, probability: float) -> float:
    """The number that a chi-square variable exceeds with a probability."""
    from scipy.special import chdtri

    return float(chdtri(degrees, probability))


def kalman_update(
    state: ObserverState,
    rows: MeasurementRows,
    gate: float,
    displaced: PoseDisplacement,
    *,
    kind: int,
    hold_clock: bool = False,
) -> tuple[ObserverState, InnovationSummary]:
    """The state after measurements of one time, and what they said.

    Args:
        state: at the time of the measurements.
        rows: the measurements.
        gate: probability with which a right one is rejected.
        displaced: moves poses of the robot.
        kind: 0 for edges, 1 for readings.
        hold_clock: whether the clock's offset keeps its value, and only its uncertainty counts (Schmidt).
    """
    count = len(rows.names)
    degrees = len(rows.r) // count
    H, R, PH = rows.H, rows.R, state.P @ rows.H.T
    S = H @ PH + R
    index = np.arange(count * degrees).reshape(count, degrees)
    blocks, r = S[index[:, :, None], index[:, None, :]], rows.r.reshape(count, degrees, 1)
    nis = (np.swapaxes(r, 1, 2) @ np.linalg.solve(blocks, r)).ravel()
    fits = rows.possible & (nis <= chi_square_quantile(degrees, gate))
    accepted = fits.tolist()
    each = tuple(
        Innovation(state.time, name, square, degrees, good)
        for name, square, good in zip(rows.names, nis.tolist(), accepted, strict=True)
    )
    counts = list(state.rejected)
    counts[kind] = 0 if any(accepted) else counts[kind] + count
    state = state._replace(rejected=(counts[0], counts[1]))
    if not any(accepted):
        return state, InnovationSummary(each)
    residual = rows.r
    if not all(accepted):
        used = index[fits].ravel()
        H, PH, residual = H[used], PH[:, used], residual[used]
        S, R = S[np.ix_(used, used)], R[np.ix_(used, used)]
    # All that follows from S at once: the gain, and the innovation that it weighs.
    weighted = np.linalg.solve(S, np.concatenate([PH.T, residual[:, None]], axis=1))
    K = weighted[:, :-1].T
    if hold_clock:
        K[-1] = 0.0
    state = _joseph_update(state, K, residual, H, R, displaced)
    if kind == 1:
        state = state._replace(read=state.time)
    return state, InnovationSummary(each, float(residual @ weighted[:, -1]), len(residual))


def _joseph_update(
    state: ObserverState, K: Array, r: Array, H: Array, R: Array, displaced: PoseDisplacement
) -> ObserverState:
    """The state after an update with the gain K (N, k) of residuals r (k,), H (k, N), noise R (k, k)."""
    e = K @ r
    A = -K @ H
    A.flat[:: len(A) + 1] += 1.0
    P = A @ state.P @ A.T + K @ R @ K.T
    n, m = len(state.v), len(state.anchors)
    return state._replace(
        x=displaced(state.x, state.y, e[:n]),
        v=state.v + e[n : 2 * n],
        anchors=state.anchors + e[2 * n : 2 * n + m],
        clock=state.clock + (float(e[-1]) if len(e) > 2 * n + m else 0.0),
        P=0.5 * (P + P.T),
        seen=state.time,
    )


# ---- is an observer right about its own errors: normalised squares against chi-square


@dataclass(frozen=True)
class Consistency:
    """Normalised squares of several estimates or measurements.

    Attributes:
        average: for each degree of freedom; 1 where the covariance is right.
        interval: in which that lies in 95 of 100 cases, if it is.
        count: how many there are.
        rejected: how many of them were rejected as outliers; they do not count in the average.
    """

    average: float
    interval: tuple[float, float]
    count: int
    rejected: int = 0

    @property
    def ok(self) -> bool:
        """Whether the average lies in the interval."""
        return self.interval[0] <= self.average <= self.interval[1]


def chi_square_interval(degrees: int, outside: float = 0.05) -> tuple[float, float]:
    """Where a chi-square variable over its degrees lies, but for a probability of being outside."""
    tail = 0.5 * outside
    return chi_square_quantile(degrees, 1.0 - tail) / degrees, chi_square_quantile(degrees, tail) / degrees


def nees(error: Array, covariance: Array) -> Array:
    """Normalised estimation error squared e^T P^-1 e (...) of errors (..., k), covariances (..., k, k)."""
    scale = np.sqrt(np.diagonal(covariance, axis1=-2, axis2=-1))
    e, C = error / scale, covariance / (scale[..., :, None] * scale[..., None, :])
    return np.asarray(np.sum(e * np.linalg.solve(C, e[..., None])[..., 0], axis=-1))


def consistency(summaries: Sequence[InnovationSummary]) -> Consistency:
    """How normalised innovations of measurements at several times compare with chi-square."""
    degrees = sum(measured.degrees for measured in summaries)
    each = [single for measured in summaries for single in measured.each]
    rejected = sum(not single.accepted for single in each)
    if not degrees:
        return Consistency(float("nan"), (0.0, float("inf")), 0, rejected)
    average = sum(measured.nis for measured in summaries) / degrees
    return Consistency(average, chi_square_interval(degrees), len(each) - rejected, rejected)
