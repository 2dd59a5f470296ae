"""Vibration along a path: the linear model of a robot with flexible links about its rigid motion x(s(t)).

The drives follow the path exactly, as position control does. About the undeformed robot at s the other
independent rates (`forms`) differ by eta, and their positions by delta:

    delta' = eta
    eta'   = (J + s'' J_a + s'^2 J_b) delta + (C + s' G) eta + a s'' + b s'^2 + f s' + k + g

J = -M^-1 K, its eigenvalues -w^2 the vibrations with the drives held; J_a and J_b the stiffness due to
inertial loads; C the damping of beams; G Coriolis' terms, by which the moving pose changes amplitudes; a, b
and g what inertia, curvature and weight excite, f and k what viscous and dry friction of the joints do. All
are functions of s alone and come from the inverse model i(p, y, q'') of the form, the accelerations of
these rates at positions p, rates y and accelerations q'' of the drives. With y_r s' the rates of the rigid
robot, q_s and q_ss the derivatives of its drives by s,

    g = i(p, 0, 0)                              a = i(p, 0, q_s) - g - y_r
    b = (i(p, y_r, q_ss) + i(p, -y_r, q_ss)) / 2 - g - dy_r/ds
    C e_k = (i(p, e_k, 0) - i(p, -e_k, 0)) / 2
    G e_k = (i(p, y_r + e_k, 0) - i(p, y_r - e_k, 0)) / 2 - C e_k

exactly, since i is quadratic in y; J, J_a and J_b are the derivatives of g, a and b by positions, by
differences. Friction acts as along the rigid motion, s' > 0: k and f follow from the change that it makes
at two speeds.

A residual is what vibrates after the stop, mode by mode: with left eigenvectors l_k of J at the end, d_k
the displacement of the platform in mode k,

    r = [|d_k| l_k (delta - delta_0); |d_k| l_k eta / w_k]          delta_0 = -J^-1 g

so that (r_k^2 + r_(m+k)^2)^(1/2) is the amplitude of the platform in mode k, m (rad where it only turns).

The motion is integrated by the implicit midpoint rule in N steps of h, and the residual is differentiated
by its discrete adjoint: exact derivatives of what is computed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.interpolate import make_interp_spline

from nacelle.dynamics.physics import Physics
from nacelle.elastic.forms import Assembled, ElasticForm, form_of
from nacelle.elastic.plant import elastic_plant, rest_positions
from nacelle.errors import BucklingError, KinematicsError
from nacelle.kinematics.motion import joint_motion, twist_from_rates
from nacelle.model.robot import Robot
from nacelle.simulation.plant import Plant
from nacelle.spatial.scalar import Array
from nacelle.trajectory.along_path import Path

_DIFFERENCE_STEP = 1e-6
# Places along a path, and the fewest between two of its knots.
_PLACES, _FEWEST = 33, 9
_FREE = Physics(False, None)


class _Piecewise:
    """Cubic splines of arrays between the knots of a path, where they may bend."""

    def __init__(self, ends: Array, grids: list[Array], values: list[Array]) -> None:
        self._starts = ends[:-1]
        self._splines = [make_interp_spline(s, v, k=3) for s, v in zip(grids, values, strict=True)]
        self._slopes = [spline.derivative() for spline in self._splines]

    def __call__(self, s: Array, order: int = 0) -> Array:
        which = np.clip(np.searchsorted(self._starts, s, side="right") - 1, 0, len(self._starts) - 1)
        splines = self._slopes if order else self._splines
        result = np.empty((len(s), *self._splines[0].c.shape[1:]))
        for k in np.unique(which):
            result[which == k] = splines[k](s[which == k])
        return result


class TimingSamples(NamedTuple):
    """A timing at the middles of N equal steps: s, s' and s'' (N,), and the step, s."""

    s: Array
    ds: Array
    dds: Array
    step: float


@dataclass(frozen=True, eq=False)
class EndModes:
    """Modes at the end of a path, drives held, rising frequency.

    Attributes:
        w: angular frequencies (m,), rad/s.
        left: l_k (m, n).
        displacement: of the platform's coordinates in every mode (m, nx).
        size: |d_k| (m,).
    """

    w: Array
    left: Array
    displacement: Array
    size: Array

    def rows(self, modes: int, factor: float = 1.0) -> Array:
        """What gives the residual (2 modes, 2 n) of [delta - delta_0; eta], frequencies times a factor."""
        scaled = (self.left * self.size[:, None])[:modes]
        still = np.zeros_like(scaled)
        return np.block([[scaled, still], [still, scaled / (factor * self.w[:modes, None])]])


class PathVibration:
    """The linear model along a path.

    Attributes:
        robot: the robot.
        path: the path, passed without a stop.
        s: places (G,) at which the model is made.
        frequencies: natural frequencies there (G, n), Hz, rising.
        damping: ratios of critical damping of the modes there (G, n).
        modes: at the end of the path.
    """

    def __init__(self, robot: Robot, path: Path) -> None:
        """Make the model.

        Raises:
            KinematicsError: if no link is flexible, the path is for another motion or stops on its way.
            UnreachableError, SingularError: if the path leaves the workspace.
        """
        if path.motion.coordinates != robot.motion.coordinates:
            raise KinematicsError(
                f"the path is for the motion {path.motion.name}, {robot.name} has {robot.motion.name}"
            )
        if len(path.stops) > 2:
            raise KinematicsError(
                f"the path stops at {path.stops[1]:g} of {path.length:g}: shape its parts one by one"
            )
        self.robot, self.path = robot, path
        self.form = form_of(robot)
        self.plant: Plant = elastic_plant(robot, prescribed=True)
        self.n = self.form.n - len(robot.actuators)
        ends = path.knots
        counts = np.maximum(_FEWEST, np.ceil(_PLACES * np.diff(ends) / path.length)).astype(int)
        grids = [np.linspace(a, b, count) for a, b, count in zip(ends[:-1], ends[1:], counts, strict=True)]
        parts = [self._parts_at(s) for s in grids]
        self._coefficients = _Piecewise(ends, grids, parts)
        self.s, values, n = np.concatenate(grids), np.concatenate(parts), self.n
        self._rests = [-np.linalg.solve(values[k, :, :n], values[k, :, -1]) for k in (0, -1)]
        right, w2 = _modes_of(values[:, :, :n])
        w = np.sqrt(np.maximum(-w2, 0.0))
        self.frequencies = w / (2.0 * np.pi)
        C = np.linalg.solve(right, values[:, :, n : 2 * n] @ right)
        with np.errstate(invalid="ignore", divide="ignore"):
            self.damping = -np.diagonal(C, axis1=1, axis2=2) / (2.0 * w)
        self.modes = self._end_modes(right[-1])

    def _parts_at(self, s: Array) -> Array:
        """[J, C, G, J_a, J_b, a, b, f, k, g] (places, n, 5 n + 5) at places between two knots of the path."""
        robot, form, n, na = self.robot, self.form, self.n, len(self.robot.actuators)
        x, c1, c2 = self.path(_inset(s))
        w, dw = twist_from_rates(robot, x, c1, c2)
        _, dq, ddq = joint_motion(robot, x, w, dw).actuators
        states = np.stack([self.plant.state(pose, rate) for pose, rate in zip(x, w, strict=True)])
        p, y = states[:, : form.size], states[:, form.size :]
        dy = make_interp_spline(s, y, k=5).derivative()(s)

        def inverse(positions: Array, rates: Array, a: Array, physics: Physics = _FREE) -> Array:
            return np.asarray(form.inverse(positions, rates, a, physics)["acceleration"])

        def loads(positions: Array, rates: Array, first: Array, second: Array) -> Array:
            """[g, a + y_r, b + dy_r/ds] (3, N, n) with rates y_r, q_s and q_ss (N, ...)."""
            still, held = np.zeros_like(rates), np.zeros_like(first)
            g = inverse(positions, still, held)
            b = 0.5 * (inverse(positions, rates, second) + inverse(positions, -rates, second)) - g
            return np.stack([g, inverse(positions, still, first) - g, b])

        g, a, b = loads(p, y, dq, ddq) - np.stack([np.zeros((len(s), n)), y[:, na:], dy[:, na:]])
        slow, fast = (
            inverse(p, speed * y, 0.0 * dq, Physics()) - inverse(p, speed * y, 0.0 * dq)
            for speed in (self.path.length, 2.0 * self.path.length)
        )
        f, k = (fast - slow) / self.path.length, 2.0 * slow - fast
        count, rows = len(s), np.tile(np.eye(form.n)[na:], (len(s), 1))
        every_p, every_y = np.repeat(p, n, axis=0), np.repeat(y, n, axis=0)
        hold = np.zeros((count * n, na))

        def columns(plus: Array, minus: Array) -> Array:
            return np.swapaxes(0.5 * (plus - minus).reshape(count, n, n), 1, 2)

        C = columns(inverse(every_p, rows, hold), inverse(every_p, -rows, hold))
        G = columns(inverse(every_p, every_y + rows, hold), inverse(every_p, every_y - rows, hold)) - C
        drives = np.repeat(dq, n, axis=0), np.repeat(ddq, n, axis=0)
        plus, minus = (
            loads(step_all(form, every_p, sign * _DIFFERENCE_STEP * rows), every_y, *drives)
            for sign in (1.0, -1.0)
        )
        J, Ja, Jb = (columns(*pair) / _DIFFERENCE_STEP for pair in zip(plus, minus, strict=True))
        return np.concatenate([J, C, G, Ja, Jb, np.stack([a, b, f, k, g], axis=-1)], axis=2)

    def _end_modes(self, right: Array) -> EndModes:
        if np.min(self.frequencies[-1]) <= 0.0:
            raise BucklingError(f"{self.robot.name} is not stable at the end of the path", float("nan"))
        left = np.linalg.inv(right)
        p, size = self.end_positions, np.max(np.abs(right), axis=0)
        steps = np.zeros((self.n, self.form.n))
        steps[:, len(self.robot.actuators) :] = _DIFFERENCE_STEP * (right / size).T
        poses = []
        for sign in (1.0, -1.0):
            displaced = step_all(self.form, np.tile(p, (self.n, 1)), sign * steps)
            poses.append(self.plant.split(np.concatenate([displaced, np.zeros_like(steps)], axis=1))[0])
        d = (poses[0] - poses[1]) / (2.0 * _DIFFERENCE_STEP) * size[:, None]
        motion = self.robot.motion
        linear = [k for k, name in enumerate(motion.coordinates) if name in ("x", "y", "z")]
        size = np.linalg.norm(d[:, linear] if linear else d, axis=1)
        return EndModes(2.0 * np.pi * self.frequencies[-1], left, d, size)

    @cached_property
    def end_positions(self) -> Array:
        """Positions (size,) of the undeformed robot at the end of the path."""
        x = self.path(np.array([self.path.length])).x[0]
        return np.asarray(self.plant.state(x, np.zeros(self.robot.motion.n))[: self.form.size])

    @cached_property
    def end_rest(self) -> tuple[Array, Array]:
        """Positions (size,) at rest under gravity at the end, and derivatives by the rates (n, size)."""
        p = rest_positions(self.form, self.end_positions, Physics())
        rows = np.eye(self.form.n)[len(self.robot.actuators) :]
        plus, minus = (
            step_all(self.form, np.tile(p, (len(rows), 1)), sign * _DIFFERENCE_STEP * rows)
            for sign in (1.0, -1.0)
        )
        return p, (plus - minus) / (2.0 * _DIFFERENCE_STEP)

    def samples(
        self, law: Callable[[Array], tuple[Array, Array, Array]], duration: float, modes: int
    ) -> TimingSamples:
        """A timing law at the middles of steps that suit the lowest modes."""
        count = int(np.ceil(duration * float(np.max(self.frequencies[:, modes - 1])) * STEPS_A_PERIOD))
        count = max(count, MIN_STEPS)
        t = (np.arange(count) + 0.5) * duration / count
        s, ds, dds = (self.path.length * part for part in law(t))
        return TimingSamples(s, ds, dds, duration / count)

    def residual(self, samples: TimingSamples, modes: int, factor: float = 1.0) -> Array:
        """Residual (2 modes,) of the lowest modes after a motion; all frequencies times a factor."""
        return self._pass(samples, modes, factor)[0]

    def residual_slopes(self, samples: TimingSamples, modes: int, factor: float = 1.0) -> tuple[Array, Array]:
        """The residual (2 modes,), and its derivatives (2 modes, N, 3) by s, s' and s'' at the steps."""
        r, R, P, J, inverse, delta, eta = self._pass(samples, modes, factor)
        n, h = self.n, samples.step
        by_delta, by_eta = R[:, :n], R[:, n:]
        nu = np.empty((len(delta), len(R), n))
        for k in range(len(delta) - 1, -1, -1):
            nu[k] = (by_eta + 0.5 * h * by_delta) @ inverse[k]
            middle = by_delta + 0.5 * h * nu[k] @ J[k]
            by_delta, by_eta = 2.0 * middle - by_delta, 2.0 * nu[k] - by_eta
        Q = self._equations(self._coefficients(samples.s, 1), samples, factor)
        ds = samples.ds[:, None]
        by_s = np.einsum("kij,kj->ki", Q[0], delta) + np.einsum("kij,kj->ki", Q[1], eta) + Q[2]
        by_ds = np.einsum("kij,kj->ki", P[:, :, 2 * n : 3 * n], eta) + 2.0 * P[:, :, -4] * ds + P[:, :, -3]
        by_ds += 2.0 * ds * np.einsum("kij,kj->ki", P[:, :, 4 * n : 5 * n], delta)
        by_dds = np.einsum("kij,kj->ki", P[:, :, 3 * n : 4 * n], delta) + P[:, :, -5]
        slopes = np.stack([by_s, by_ds, by_dds], axis=-1)
        return r, h * np.einsum("kri,kic->rkc", nu, slopes)

    def _equations(self, P: Array, samples: TimingSamples, factor: float) -> tuple[Array, Array, Array]:
        """J + s'' J_a + s'^2 J_b, C + s' G and what excites, of coefficients P (N, n, 5 n + 5)."""
        n = self.n
        ds, dds = samples.ds[:, None], samples.dds[:, None]
        J, C, G, Ja, Jb = np.split(P[:, :, : 5 * n], 5, axis=2)
        J = factor**2 * J + dds[:, :, None] * Ja + (ds**2)[:, :, None] * Jb
        a, b, f, k, g = np.moveaxis(P[:, :, 5 * n :], 2, 0)
        return J, C + ds[:, :, None] * G, a * dds + b * ds**2 + f * ds + k + g

    def _pass(self, samples: TimingSamples, modes: int, factor: float) -> tuple[Array, ...]:
        """Residual, its rows, coefficients, J, the inverses of the steps, delta and eta at their middles."""
        n, h = self.n, samples.step
        P = self._coefficients(samples.s)
        J, D, u = self._equations(P, samples, factor)
        inverse = np.linalg.inv(np.eye(n) - 0.5 * h * D - 0.25 * h * h * J)
        middles = np.empty((2, len(u), n))
        delta, eta = self._rests[0] / factor**2, np.zeros(n)
        for k in range(len(u)):
            rate = inverse[k] @ (eta + 0.5 * h * (J[k] @ delta + u[k]))
            middle = delta + 0.5 * h * rate
            middles[:, k] = middle, rate
            delta, eta = 2.0 * middle - delta, 2.0 * rate - eta
        R = self.modes.rows(modes, factor)
        r = R @ np.concatenate([delta - self._rests[1] / factor**2, eta])
        return r, R, P, J, inverse, middles[0], middles[1]

    def residual_of_state(self, state: Array, modes: int) -> Array:
        """Residual (2 modes,) of a state of the plant at the end of the path."""
        rest, slopes = self.end_rest
        delta = np.linalg.lstsq(slopes.T, state[: self.form.size] - rest, rcond=None)[0]
        eta = state[self.form.size + len(self.robot.actuators) :]
        return np.asarray(self.modes.rows(modes) @ np.concatenate([delta, eta]))


# Steps over a period of the fastest mode that counts, and the fewest over a motion.
STEPS_A_PERIOD, MIN_STEPS = 40, 200


def _modes_of(J: Array) -> tuple[Array, Array]:
    """Eigenvectors (..., n, n) and eigenvalues -w^2 (..., n) of J (..., n, n), w rising.

    Equal frequencies may come as a complex pair: its real and imaginary parts span the same plane.
    """
    values, right = np.linalg.eig(J)
    right = np.where((values.imag < 0.0)[..., None, :], right.imag, right.real)
    order = np.argsort(-values.real, axis=-1)
    right = np.take_along_axis(right, order[..., None, :], axis=-1)
    return right, np.take_along_axis(values.real, order, axis=-1)


def _inset(s: Array) -> Array:
    """Places moved off the ends of a stretch, where the curvature may jump."""
    inside = s.copy()
    inset = 1e-9 * (s[-1] - s[0])
    inside[0] += inset
    inside[-1] -= inset
    return inside


def step_all(form: ElasticForm, p: Array, steps: Array) -> Array:
    """Positions (N, size) after small steps (N, n) of the independent rates, each from its own."""
    if isinstance(form, Assembled):
        return np.stack([form.step_positions(*row) for row in zip(p, steps, strict=True)])
    return form.step_positions(p, steps)
