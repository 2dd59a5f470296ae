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
from typing import NamedTuple

import numpy as np

from nacelle.kinematics.kinematic_model import has_tilt_coordinates, pose_tangent
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.native import compile_native
from nacelle.kinematics.shapes import pose_shape, twist_shape, unknowns_shape
from nacelle.model.robot import Robot
from nacelle.spatial.physics import physics
from nacelle.spatial.rotation import (
    left_jacobian,
    quat_conjugate,
    quat_from_rotation_vector,
    quat_log,
    quat_multiply,
    quat_product,
    rotation_vector,
)
from nacelle.spatial.scalar import Array, norm, pack

_IDENTITY = np.eye(3)


class ObserverState(NamedTuple):
    """What the observer holds at a time.

    Attributes:
        time: by the robot's clock, s.
        x: reduced pose (nx,).
        y: passive coordinates there (ny,).
        v: reduced twist (n,).
        anchors: displacements of anchors (m,), m.
        clock: camera's clock minus robot's clock, s.
        P: covariance of the errors [pose; twist; anchors; clock] (N, N), the clock where it is estimated.
        seen: time of the last measurement that was used, s.
        read: time of the last readings that were used, s.
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
    read: float = -np.inf
    rejected: tuple[int, int] = (0, 0)


class AccelerationSchedule:
    """Accelerations of the control law, each from its time until the next one."""

    def __init__(self, n: int) -> None:
        """Begin with none: zero."""
        self._times: list[float] = []
        self._values: list[Array] = []
        self._zero = np.zeros(n)

    def add(self, time: float, a: Array) -> None:
        """Take the acceleration (n,) from a time on; one that comes late goes to its place."""
        index = bisect_right(self._times, time)
        self._times.insert(index, time)
        self._values.insert(index, a)

    def forget(self, before: float) -> None:
        """Drop those that end before a time."""
        first = max(0, bisect_right(self._times, before) - 1)
        del self._times[:first], self._values[:first]

    def at(self, time: float) -> Array:
        """The acceleration (n,) at a time."""
        index = bisect_right(self._times, time)
        return self._values[index - 1] if index else self._zero

    def pieces(self, start: float, stop: float) -> list[tuple[float, Array]]:
        """Durations (s) and accelerations (n,) from a time to a later one."""
        if stop <= start:
            return []
        index = bisect_right(self._times, start)
        result, time = [], start
        while time < stop:
            until = min(stop, self._times[index]) if index < len(self._times) else stop
            result.append((until - time, self._values[index - 1] if index else self._zero))
            time, index = until, index + 1
        return result


@physics(x=pose_shape, y=unknowns_shape, d=twist_shape)
def displacement(robot: Robot, x: Array, y: Array, d: Array) -> dict[str, Array]:
    """The pose x (+) d (nx,), d (n,) along the reduced twist; turn A and slope J (3, 3) of an orientation."""
    mechanism = mechanism_of(robot)
    layout = mechanism.layout
    if has_tilt_coordinates(mechanism):
        return {"moved": x + pose_tangent(robot, x, y)["x"] @ d}
    if layout.quaternion is None or layout.angular is None:
        return {"moved": x + d}
    r, first = d[layout.angular], layout.angular.start
    quat = quat_product(quat_from_rotation_vector(r), x[layout.quaternion])
    quat = quat / norm(quat)
    entries = [*(x[:first] + d[:first]), *quat, *(x[first + 4 :] + d[first + 3 :])]
    return {"moved": pack(entries), "turn": rotation_vector(r), "slope": left_jacobian(r)}


class PoseDisplacement:
    """`displacement` of a robot on fixed buffers: for one thread, without the cost of checks."""

    def __init__(self, robot: Robot) -> None:
        """Bind the program."""
        bound = compile_native(displacement, robot).bind()
        self._call, self._arrays = bound.call, bound.arrays

    def __call__(self, x: Array, y: Array, d: Array) -> Array:
        """The pose x (+) d (nx,)."""
        arrays = self._arrays
        arrays["x"][:], arrays["y"][:], arrays["d"][:] = x, y, d
        self._call()
        displaced: Array = arrays["moved"].copy()
        return displaced

    @property
    def rotation(self) -> Array:
        """The rotation A (3, 3) of the last displacement."""
        return self._arrays["turn"].copy()

    @property
    def slope(self) -> Array:
        """The left Jacobian J (3, 3) of the last displacement."""
        return self._arrays["slope"].copy()


def pose_difference(robot: Robot, a: Array, b: Array, y: Array) -> Array:
    """The displacement d (n,) with a = b (+) d; y (ny,) are the passive coordinates at b."""
    mechanism = mechanism_of(robot)
    layout = mechanism.layout
    if has_tilt_coordinates(mechanism):
        return np.asarray(compile_native(pose_tangent, robot)(b, y)["T"] @ (a - b))
    if layout.quaternion is None:
        return np.asarray(a - b)
    rotation = quat_multiply(a[layout.quaternion], quat_conjugate(b[layout.quaternion]))
    linear = list(layout.linear_x)
    return layout.join_v(a[linear] - b[linear], quat_log(rotation))


class ProcessModel:
    """How states move on: pose and twist by the acceleration, the covariance by the densities of noise."""

    def __init__(self, robot: Robot, density: Array, walks: Array) -> None:
        """Keep the noise.

        Args:
            robot: the robot.
            density: of the acceleration, (n, n).
            walks: of the slow states (N - 2n,): variance that each gains in a second.
        """
        self.accelerations = AccelerationSchedule(robot.motion.n)
        self.displace = PoseDisplacement(robot)
        self._density, self._walks = density, np.concatenate([np.zeros(2 * robot.motion.n), walks])
        self._angular = mechanism_of(robot).layout.angular
        self._eye = np.eye(robot.motion.n)

    def predict(self, state: ObserverState, time: float) -> ObserverState:
        """The state at a later time."""
        h = time - state.time
        if h <= 0.0:
            return state
        v = state.v
        pieces = self.accelerations.pieces(state.time, time)
        x, y, rotation, slope = state.x, state.y, _IDENTITY, _IDENTITY
        for step, a in pieces:
            x = self.displace(x, y, step * v + (0.5 * step * step) * a)
            if self._angular is not None:
                # Errors turn with the robot; the slope differs from 1 by half a turn.
                rotation = self.displace.rotation @ rotation
                slope = self.displace.slope
            v = v + step * a
        return state._replace(time=time, x=x, v=v, P=self._propagate_covariance(state.P, h, rotation, slope))

    def _propagate_covariance(self, P: Array, h: float, rotation: Array, slope: Array) -> Array:
        """The covariance after a time h (s) in which an orientation turned by A (3, 3), with the slope J."""
        n, Q = len(self._eye), self._density
        pose, twist = slice(0, n), slice(n, 2 * n)
        F = np.eye(len(P))
        F[pose, twist] = h * self._eye
        if self._angular is not None:
            first = self._angular.start
            part, rates = slice(first, first + 3), slice(n + first, n + first + 3)
            F[part, part], F[part, rates] = rotation, h * slope
        P = F @ P @ F.T
        P[pose, pose] += (h**3 / 3.0) * Q
        P[pose, twist] += (0.5 * h * h) * Q
        P[twist, pose] += (0.5 * h * h) * Q
        P[twist, twist] += h * Q
        P.flat[:: len(P) + 1] += h * self._walks
        return P
