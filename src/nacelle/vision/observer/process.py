"""The state of the observer, and how the robot moves between measurements.

The acceleration of the reduced pose x is that of the control law, a(t), constant between its samples, and
white noise of the density Q (n, n), (m/s^2)^2/Hz and (rad/s^2)^2/Hz:

    x' = v (+),     v' = a(t) + noise

The error of the pose lives in the tangent space: a displacement d (n,) along the reduced twist, of an
orientation q_true = exp(d) q in base axes. With the displacement s = h v + h^2 a / 2 over a time h, A the
rotation exp(s) of angular entries and 1 elsewhere, and J the left Jacobian of exp at s (1 elsewhere),

    d+ = A d + h J e,     e+ = e,     Q_d = Q [h^3/3  h^2/2;  h^2/2  h]

e the error of the twist. Anchors and the clock's offset are slow random walks, o' = noise.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, replace

import numpy as np

from nacelle.dynamics.derivatives.tangent import has_tilts, tangent
from nacelle.errors import ObserverError
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.native import native
from nacelle.model.robot import Robot
from nacelle.spatial.rotation import quat_from_vector, quat_product
from nacelle.spatial.rotation_path import quat_conjugate, quat_log, quat_multiply
from nacelle.spatial.rotation_vector import left_jacobian, rotation_vector
from nacelle.spatial.scalar import Array


@dataclass(frozen=True, eq=False)
class State:
    """What the observer holds at a time.

    Attributes:
        time: by the robot's clock, s.
        x: reduced pose (nx,).
        y: what iteration finds there (ny,).
        v: reduced twist (n,).
        anchors: displacements of anchors (m,), m.
        clock: camera's clock minus robot's clock, s.
        P: covariance of the errors [pose; twist; anchors; clock] (N, N), the clock where it is estimated.
        seen: time of the last measurement that was used, s.
        rejected: how many edges, and how many readings, have been rejected in a row.
    """

    time: float
    x: Array
    y: Array
    v: Array
    anchors: Array
    clock: float
    P: Array
    seen: float
    rejected: tuple[int, int] = (0, 0)


class Accelerations:
    """Accelerations of the control law, each from its time until the next one."""

    def __init__(self, n: int) -> None:
        """Begin with none: zero."""
        self._times: list[float] = []
        self._values: list[Array] = []
        self._zero = np.zeros(n)

    def add(self, time: float, a: Array) -> None:
        """Take the acceleration (n,) from a time on; one that comes late goes to its place."""
        place = bisect_right(self._times, time)
        self._times.insert(place, time)
        self._values.insert(place, a)

    def forget(self, before: float) -> None:
        """Drop those that end before a time."""
        first = max(0, bisect_right(self._times, before) - 1)
        del self._times[:first], self._values[:first]

    def pieces(self, start: float, stop: float) -> list[tuple[float, Array]]:
        """Durations (s) and accelerations (n,) from a time to a later one."""
        if stop <= start:
            return []
        place = bisect_right(self._times, start)
        result, time = [], start
        while time < stop:
            until = min(stop, self._times[place]) if place < len(self._times) else stop
            result.append((until - time, self._values[place - 1] if place else self._zero))
            time, place = until, place + 1
        return result


def displaced(robot: Robot, x: Array, y: Array, d: Array) -> Array:
    """The pose x (+) d (nx,): d (n,) along the reduced twist, rotations in base axes."""
    mechanism = mechanism_of(robot)
    layout = mechanism.layout
    if has_tilts(mechanism):
        return np.asarray(x + native(tangent, robot)(x, y)["x"] @ d)
    if layout.quaternion is None or layout.angular is None:
        return np.asarray(x + d)
    moved = np.empty(layout.nx)
    moved[list(layout.linear_x)] = x[list(layout.linear_x)] + d[list(layout.linear_v)]
    quat = quat_product(quat_from_vector(d[layout.angular]), x[layout.quaternion])
    moved[layout.quaternion] = quat / np.sqrt(quat @ quat)
    return moved


def apart(robot: Robot, a: Array, b: Array, y: Array) -> Array:
    """The displacement d (n,) with a = b (+) d; y (ny,) is what iteration finds at b."""
    mechanism = mechanism_of(robot)
    layout = mechanism.layout
    if has_tilts(mechanism):
        return np.asarray(native(tangent, robot)(b, y)["T"] @ (a - b))
    if layout.quaternion is None:
        return np.asarray(a - b)
    turn = quat_multiply(a[layout.quaternion], quat_conjugate(b[layout.quaternion]))
    linear = list(layout.linear_x)
    return layout.join_v(a[linear] - b[linear], quat_log(turn if turn[3] >= 0.0 else -turn))


class Process:
    """How states move on: pose and twist by the acceleration, the covariance by the densities of noise."""

    def __init__(self, robot: Robot, density: Array, walks: Array) -> None:
        """Keep the noise.

        Args:
            robot: the robot.
            density: of the acceleration, (n, n).
            walks: of the slow states (N - 2n,): variance that each gains in a second.
        """
        self.robot = robot
        self.accelerations = Accelerations(robot.motion.n)
        self._density, self._walks = density, walks
        self._angular = mechanism_of(robot).layout.angular

    def predict(self, state: State, time: float) -> State:
        """The state at a later time."""
        h = time - state.time
        if h <= 0.0:
            return state
        x, v = state.x, state.v
        way = np.zeros(len(v))
        for step, a in self.accelerations.pieces(state.time, time):
            s = step * v + (0.5 * step * step) * a
            x, v, way = displaced(self.robot, x, state.y, s), v + step * a, way + s
        return replace(state, time=time, x=x, v=v, P=self._spread(state.P, h, way))

    def _spread(self, P: Array, h: float, way: Array) -> Array:
        """The covariance after a time h (s) over a displacement (n,)."""
        n = len(way)
        F = np.eye(len(P))
        F[:n, n : 2 * n] = h * np.eye(n)
        if self._angular is not None:
            turn = way[self._angular]
            part = slice(self._angular.start, self._angular.stop)
            F[part, part] = rotation_vector(turn)
            F[part, n + part.start : n + part.stop] = h * left_jacobian(turn)
        P = F @ P @ F.T
        Q = self._density
        P[:n, :n] += (h**3 / 3.0) * Q
        P[:n, n : 2 * n] += (0.5 * h * h) * Q
        P[n : 2 * n, :n] += (0.5 * h * h) * Q
        P[n : 2 * n, n : 2 * n] += h * Q
        slow = np.arange(2 * n, len(P))
        P[slow, slow] += h * self._walks
        if not np.isfinite(P[0, 0]):
            raise ObserverError("the covariance of the observer is not finite")
        return P

