"""Forces as a function of the encoders' zeros, for the check of zeros.

With zeros z (actuators,) added to the coordinates, forces f scaled by their rms are

    f = Y(q + z, q', q'') b + F c + e

b base parameters, c friction of each actuator, F functions of its rate: constant, viscous, of the power two
and three, dry, even, and dry friction that falls with the rate over a tenth and three tenths of its rms
(Stribeck), and up to two sines of its coordinate, whose periods are sought: cogging. F passes the filter that
the forces have passed. For each z both are fitted by least squares (variable projection: Golub and Pereyra
1973), with a wide prior about the description's parameters that only keeps undetermined combinations bounded.
With W the columns of both,

    r(z) = (1 - W W^+) f,          dr/dz = -D_p,    D_p = (1 - W W^+) D,    D = d(Y b)/dz

D by central differences over 1e-3 rad or robot sizes. Columns of Y that are friction's pass the filter of the
forces, too, and are those of the zeros as read. With redundant actuation the rows are J_r^-T times the
forces, as in `judge`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nacelle.dynamics.regressor import regressor
from nacelle.identification.data.checks.correction import Correction
from nacelle.identification.data.checks.judge import SLOW, Judge, rms_of, rows_rms
from nacelle.identification.data.checks.smoothing import Smoothed
from nacelle.identification.data.measured_path import Path
from nacelle.identification.data.poses import poses_near
from nacelle.kinematics.flags import failed
from nacelle.kinematics.forward.actuator_path import actuator_units
from nacelle.spatial.scalar import Array

# Difference for derivatives, rad or robot sizes, and the largest step from one solution to the next.
_STEP, _FARTHEST = 1e-3, 0.1
# Prior of base parameters: a part of each, and of the forces; of friction, in parts of the forces.
_PART, _WIDE, _FRICTION = 1.0, 0.2, 3.0
# Independent samples of a force: what the model lacks is the same wherever the motion is the same.
_INDEPENDENT = 60.0
# Samples at which friction is looked at, at most.
_MOST = 10000
# Cycles of cogging over the range of a coordinate, how many sines an actuator has at most, and the part of
# what remains that a sine must explain.
_CYCLES = np.arange(3.0, 60.0, 0.25)
_SINES, _COGGING = 2, 0.15


@dataclass(frozen=True, eq=False)
class ZeroFit:
    """The best parameters for some zeros; rows are forces at instants that count, then those of the prior.

    Attributes:
        zeros: z (actuators,), rad or robot sizes.
        x: poses (M, nx).
        residual: r (rows,).
        basis: orthonormal columns that span W (rows, parameters).
        values: b (base parameters,).
        friction: forces of friction, joints' and drives' (M, actuators), N or N m.
        count: how many rows are forces.
        freedom: how many of the rows the parameters leave.
    """

    zeros: Array
    x: Array
    residual: Array
    basis: Array
    values: Array
    friction: Array
    count: int
    freedom: float

    @property
    def cost(self) -> float:
        """Squares of all rows."""
        return float(self.residual @ self.residual)

    @property
    def noise(self) -> float:
        """Deviation of the forces' rows, in parts of the forces."""
        own = self.residual[: self.count]
        return float(np.sqrt(own @ own / self.freedom))

    def projected(self, rows: Array) -> Array:
        """What W does not explain of rows (rows, k)."""
        return np.asarray(rows - self.basis @ (self.basis.T @ rows))


class ZeroModel:
    """Fits of a measurement for zeros of its encoders.

    Attributes:
        size: number of actuators.
        instants: number of instants.
        rows: number of forces of an instant.
        keep: which rows count (instants, rows).
        prior: weight of the prior's rows: the deviation of a force, were 60 of each actuator independent.
    """

    def __init__(self, judge: Judge, signals: Smoothed, correction: Correction, path: Path) -> None:
        """Take the corrected signals, and the poses along them as read."""
        self._robot, self._base = judge.robot, judge.base
        self.size = m = len(self._robot.actuators)
        self.instants = len(signals.time)
        value = correction.apply(signals.value)
        self._q, self._force = value[:, :m], value[:, m:]
        self._rate = correction.apply(signals.rate, 1)[:, :m]
        self._acceleration = correction.apply(signals.acceleration, 2)[:, :m]
        self._path = path
        self._units = actuator_units(self._robot)
        self._rms = rms_of(self._force)
        self._own = [
            signals.passed(_friction_columns(rate))
            for rate in correction.apply(signals.all_rates, 1)[:, :m].T
        ]
        self._redundant = m > self._robot.motion.n
        self.rows = self._robot.motion.n if self._redundant else m
        self._scale: Array | None = None
        self._friction = self._filtered_friction(signals, correction)
        speed = np.sqrt(np.mean(self._rate**2, axis=0))
        fast = np.abs(self._rate) >= SLOW * speed
        self.keep = np.broadcast_to(path.good[:, None], (self.instants, self.rows)).copy()
        if not self._redundant:
            self.keep &= fast
        self.prior = 0.1
        self._add_cogging(signals, correction.apply(signals.all_values)[:, :m])
        first = self.at(np.zeros(m), path.x)
        if first is not None:
            self.prior = float(np.clip(self.deviation(first), 1e-3, 0.3))

    def _filtered_friction(self, signals: Smoothed, correction: Correction) -> Array:
        """Columns of Y that are friction's, through the filter of the forces (M, actuators, columns).

        Dry friction of passive joints jumps, and what the filter makes of a jump is not friction at filtered
        rates: so rates at all times are needed. They change little with zeros.
        """
        places = np.array(self._base.friction, dtype=int)
        columns = np.zeros((self.instants, self.size, len(places)))
        good = self._path.good
        if not places.size or not np.any(good):
            return columns
        count = len(signals.all_rates)
        chosen = np.unique(np.linspace(0, count - 1, min(count, _MOST)).round().astype(int))
        instants = np.flatnonzero(good)
        nearest = instants[
            np.abs(np.searchsorted(signals.places[instants], chosen)).clip(0, len(instants) - 1)
        ]
        q = correction.apply(signals.all_values[chosen])[:, : self.size]
        x = poses_near(self._robot, q, self._path.x[nearest])
        rate = correction.apply(signals.all_rates[chosen], 1)[:, : self.size]
        path = self._path.at(q, x)
        motion = path.motion(rate, np.zeros_like(rate))
        sound = path.good
        Y = regressor(self._robot, x[sound], motion.v[sound], parameters=self._base).Y[..., places]
        flat = np.nan_to_num(Y.reshape(len(Y), -1))
        times = np.arange(count)
        every = np.stack([np.interp(times, chosen[sound], column) for column in flat.T], axis=1)
        return signals.passed(every).reshape(columns.shape)

    def _add_cogging(self, signals: Smoothed, q: Array) -> None:
        """Give each actuator sines of its coordinate (N, actuators) that explain much of what remains."""
        for _ in range(_SINES):
            fit = None if self._redundant else self.at(np.zeros(self.size), self._path.x)
            if fit is None:
                return
            row = np.nonzero(self.keep)[1]
            for k in range(self.size):
                places = np.flatnonzero(row == k)
                angle = np.outer(q[:, k] / (np.ptp(q[:, k]) + 1e-300), 2.0 * np.pi * _CYCLES)
                waves = signals.passed(np.concatenate([np.sin(angle), np.cos(angle)], axis=1))
                columns = np.zeros((len(fit.residual), waves.shape[1]))
                columns[places] = waves[self.keep[:, k]]
                columns = fit.projected(columns)
                r = fit.residual[places]
                gains = _explained(columns, fit.residual)
                best = int(np.argmax(gains))
                if gains[best] > _COGGING * float(r @ r):
                    pair = waves[:, [best, best + len(_CYCLES)]]
                    self._own[k] = np.concatenate([self._own[k], pair], axis=1)

    def deviation(self, fit: ZeroFit) -> float:
        """Deviation that a row has if 60 of each force are independent, in parts of the forces."""
        return fit.noise * float(np.sqrt(max(fit.count / (_INDEPENDENT * self.rows), 1.0)))

    def at(self, zeros: Array, near: Array) -> ZeroFit | None:
        """The best parameters for zeros, from poses (M, nx) near by; None if coordinates have no poses."""
        form = self._form(zeros, near)
        if form is None:
            return None
        x, Y, weight = form
        p, counts = len(self._base), [columns.shape[1] for columns in self._own]
        extra = sum(counts)
        own = np.zeros((self.instants, self.size, extra))
        for i, end in enumerate(np.cumsum(counts)):
            own[:, i, end - counts[i] : end] = self._own[i] * self._rms[i]
        full = np.concatenate([Y, own], axis=2)
        A = self._rows(weight, full)
        b = self._rows(weight, self._force[..., None])[:, 0]
        values = np.concatenate([self._base.values, np.zeros(extra)])
        size = np.sqrt(np.mean(A[:, :p] ** 2, axis=0)) + 1e-300
        spread = np.concatenate([_PART * np.abs(values[:p]) + _WIDE / size, np.full(extra, _FRICTION)])
        W = np.vstack([A * spread, self.prior * np.eye(len(spread))])
        y = np.concatenate([b - A @ values, np.zeros(len(spread))])
        basis, triangle = np.linalg.qr(W)
        along = basis.T @ y
        values = values + spread * np.linalg.solve(triangle, along)
        freedom = max(len(b) - float(np.sum(basis[: len(b)] ** 2)), 1.0)
        places = np.array(self._base.friction, dtype=int)
        friction = Y[..., places] @ values[places] + own @ values[p:]
        return ZeroFit(zeros, x, y - basis @ along, basis, values[:p], friction, len(b), freedom)

    def slope(self, fit: ZeroFit, direction: Array) -> Array | None:
        """What parameters do not explain of the rows' derivatives along a direction of zeros (rows,)."""
        ahead, behind = (self._remaining(fit, fit.zeros + s * _STEP * direction) for s in (1.0, -1.0))
        if ahead is None or behind is None:
            return None
        own = np.zeros(len(fit.residual))
        own[: fit.count] = (behind - ahead) / (2.0 * _STEP)
        return fit.projected(own)

    def correlated(self, rows: Array) -> Array:
        """Sums of values of the forces' rows over each instant (instants,)."""
        totals = np.zeros((self.instants, self.rows))
        totals[self.keep] = rows
        return np.asarray(np.sum(totals, axis=1))

    def toward(self, fit: ZeroFit, zeros: Array) -> ZeroFit | None:
        """The fit for other zeros, poses continued from one fit to the next in short steps."""
        way = zeros - fit.zeros
        pieces = max(1, int(np.ceil(np.max(np.abs(way)) / _FARTHEST)))
        x = fit.x
        for k in range(1, pieces):
            x = self._poses(fit.zeros + k / pieces * way, x)
            if not self._complete(x):
                return None
        return self.at(zeros, x)

    def _poses(self, zeros: Array, near: Array) -> Array:
        x = np.full_like(near, np.nan)
        good = np.all(np.isfinite(near), axis=1) & np.any(self.keep, axis=1)
        x[good] = poses_near(self._robot, (self._q + zeros * self._units)[good], near[good])
        return x

    def _complete(self, x: Array) -> bool:
        """Whether all instants that count have poses."""
        return bool(np.all(np.isfinite(x[np.any(self.keep, axis=1)])))

    def _form(self, zeros: Array, near: Array) -> tuple[Array, Array, Array] | None:
        """Poses, Y (M, actuators, parameters) and the weight of the forces (M, actuators, rows)."""
        x = self._poses(zeros, near)
        if not self._complete(x) or not np.any(self.keep):
            return None
        used = np.any(self.keep, axis=1)
        places = np.flatnonzero(used)
        path = self._path.at(self._q, x)
        motion = path.motion(self._rate, self._acceleration)
        form = regressor(self._robot, x[used], motion.v[used], motion.a[used], parameters=self._base)
        Y = np.zeros((self.instants, self.size, len(self._base)))
        sound = ~failed(form.flags) & np.all(np.isfinite(form.Y), axis=(1, 2))
        if not np.all(sound):
            return None
        Y[places] = form.Y
        Y[..., list(self._base.friction)] = self._friction
        weight = np.broadcast_to(np.diag(1.0 / self._rms), (self.instants, self.size, self.size))
        if self._redundant:
            inverse = np.zeros((self.instants, self.size, self.rows))
            inverse[used] = motion.inverse[used]
            if self._scale is None:
                self._scale = rows_rms(inverse[used], self._rms)[0]
            weight = inverse / self._scale
        return x, Y, np.asarray(weight)

    def _rows(self, weight: Array, values: Array) -> Array:
        """Rows that count (rows, k) of values of the actuators (M, actuators, k)."""
        if self._redundant:
            return np.asarray(np.einsum("tai,tak->tik", weight, values)[self.keep])
        return np.asarray((values / self._rms[:, None])[self.keep])

    def _remaining(self, fit: ZeroFit, zeros: Array) -> Array | None:
        """What the parameters of a fit leave of the forces' rows at zeros near by (rows,)."""
        form = self._form(zeros, fit.x)
        if form is None:
            return None
        _, Y, weight = form
        places = np.array(self._base.rigid, dtype=int)
        off = self._force - fit.friction - Y[..., places] @ fit.values[places]
        return self._rows(weight, off[..., None])[:, 0]


def _friction_columns(rate: Array) -> Array:
    """F (N, 8) from the rates of an actuator (N,)."""
    w = rate / (np.sqrt(np.mean(rate**2)) + 1e-300)
    dry, even = np.sign(w), np.abs(w)
    falling = [dry * np.exp(-((w / scale) ** 2)) for scale in (0.1, 0.3)]
    return np.stack([np.ones_like(w), w, dry, even, w * even, w**3, *falling], axis=1)


def _explained(columns: Array, residual: Array) -> Array:
    """Squares that pairs of columns (rows, 2 k), k apart, explain of a residual (k,)."""
    first, second = np.split(columns, 2, axis=1)
    a, b = np.sum(first**2, axis=0), np.sum(second**2, axis=0)
    c = np.sum(first * second, axis=0)
    g, h = residual @ first, residual @ second
    determinant = a * b - c * c
    sound = determinant > 1e-6 * a * b
    gains = (b * g * g - 2.0 * c * g * h + a * h * h) / np.where(sound, determinant, 1.0)
    return np.asarray(np.where(sound, gains, 0.0))
