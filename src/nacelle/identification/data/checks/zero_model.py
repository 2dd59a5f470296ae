"""Forces as a function of the encoders' zeros, for the check of zeros.

With zeros z (actuators,) added to the coordinates, forces f scaled by their rms are

    f = Y(q + z, q', q'') b + F c + e

b base parameters with friction of the joints (`zero_friction`), c friction of each actuator, F its columns
(`zero_record`) and up to two sines of its coordinate, whose periods are sought: cogging. For each z both are
fitted by least squares (variable projection: Golub and Pereyra 1973), with a wide prior about the
description's parameters that only keeps undetermined combinations bounded. With W the columns of both,

    r(z) = (1 - W W^+) f,          dr/dz = -D_p,    D_p = (1 - W W^+) D,    D = d(Y b)/dz

D by central differences over 5e-3 rad or robot sizes: less would be lost in the times of dry friction's
jumps. With redundant actuation the rows are J_r^-T times the forces, as in `judge`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nacelle.dynamics.regressor import regressor
from nacelle.identification.data.checks.judge import rows_rms
from nacelle.identification.data.checks.zero_record import CYCLES, ZeroRecord
from nacelle.identification.data.measured_path import Path
from nacelle.identification.data.poses import poses_near
from nacelle.kinematics.flags import failed
from nacelle.spatial.scalar import Array

# Difference for derivatives, rad or robot sizes, and the largest step from one solution to the next.
_STEP, _FARTHEST = 5e-3, 0.1
# Prior of base parameters: a part of each, and of the forces; of friction, in parts of the forces.
_PART, _WIDE, _FRICTION = 1.0, 0.2, 3.0
# Independent samples of a force: what the model lacks is the same wherever the motion is the same.
_INDEPENDENT = 60.0
# How many sines an actuator has at most, and the part of what remains that a sine must explain.
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
        drives: forces of friction of the actuators, F c (M, actuators), N or N m.
        count: how many rows are forces.
        freedom: how many of the rows the parameters leave.
    """

    zeros: Array
    x: Array
    residual: Array
    basis: Array
    values: Array
    drives: Array
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


# Poses (M, nx), Y (M, actuators, parameters) and the weight of the forces (M, actuators, rows).
_Form = tuple[Array, Array, Array]


class ZeroModel:
    """Fits of a measurement for zeros of its encoders.

    Attributes:
        size: number of actuators.
        instants: number of instants.
        rows: number of forces of an instant.
        keep: which rows count (instants, rows).
        prior: weight of the prior's rows: the deviation of a force, were 60 of each actuator independent.
    """

    def __init__(self, record: ZeroRecord, zeros: Array, path: Path) -> None:
        """Take a record, and the poses along it with zeros, for which cogging and the prior are chosen."""
        self._record, self._path = record, path
        self.instants, self.size = record.q.shape
        self._drives = list(record.friction)
        self._redundant = self.size > record.robot.motion.n
        self.rows = record.robot.motion.n if self._redundant else self.size
        self._scale: Array | None = None
        self._last: tuple[Array, _Form | None] | None = None
        self.keep = np.broadcast_to(path.good[:, None], (self.instants, self.rows)).copy()
        if not self._redundant:
            self.keep &= record.fast
        self.prior = 0.1
        self._add_cogging(zeros)
        first = self.at(zeros, path.x)
        if first is not None:
            self.prior = float(np.clip(self.deviation(first), 1e-3, 0.3))

    def _add_cogging(self, zeros: Array) -> None:
        """Give each actuator sines of its coordinate that explain much of what remains."""
        for _ in range(_SINES):
            fit = None if self._redundant else self.at(zeros, self._path.x)
            if fit is None:
                return
            row = np.nonzero(self.keep)[1]
            for k in range(self.size):
                places = np.flatnonzero(row == k)
                waves, r = self._record.waves[k], fit.residual[places]
                gains = _explained(waves[self.keep[:, k]], fit.basis[places], r)
                best = int(np.argmax(gains))
                if gains[best] > _COGGING * float(r @ r):
                    pair = waves[:, [best, best + len(CYCLES)]]
                    self._drives[k] = np.concatenate([self._drives[k], pair], axis=1)

    def deviation(self, fit: ZeroFit) -> float:
        """Deviation that a row has if 60 of each force are independent, in parts of the forces."""
        return fit.noise * float(np.sqrt(max(fit.count / (_INDEPENDENT * self.rows), 1.0)))

    def at(self, zeros: Array, near: Array) -> ZeroFit | None:
        """The best parameters for zeros, from poses (M, nx) near by; None if coordinates have no poses."""
        form = self._form(zeros, near)
        if form is None:
            return None
        x, Y, weight = form
        base, rms = self._record.base, self._record.rms
        p, counts = len(base), [columns.shape[1] for columns in self._drives]
        extra = sum(counts)
        own = np.zeros((self.instants, self.size, extra))
        for i, end in enumerate(np.cumsum(counts)):
            own[:, i, end - counts[i] : end] = self._drives[i] * rms[i]
        full = np.concatenate([Y, own], axis=2)
        A = self._rows(weight, full)
        b = self._rows(weight, self._record.force[..., None])[:, 0]
        values = np.concatenate([base.values, np.zeros(extra)])
        size = np.sqrt(np.mean(A[:, :p] ** 2, axis=0)) + 1e-300
        spread = np.concatenate([_PART * np.abs(values[:p]) + _WIDE / size, np.full(extra, _FRICTION)])
        W = np.vstack([A * spread, self.prior * np.eye(len(spread))])
        y = np.concatenate([b - A @ values, np.zeros(len(spread))])
        basis, triangle = np.linalg.qr(W)
        along = basis.T @ y
        values = values + spread * np.linalg.solve(triangle, along)
        freedom = max(len(b) - float(np.sum(basis[: len(b)] ** 2)), 1.0)
        return ZeroFit(zeros, x, y - basis @ along, basis, values[:p], own @ values[p:], len(b), freedom)

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
        """The fit for other zeros (actuators,), rad or robot sizes; poses are continued in short steps."""
        way = zeros - fit.zeros
        pieces = max(1, int(np.ceil(np.max(np.abs(way)) / _FARTHEST)))
        x = fit.x
        for k in range(1, pieces):
            x = self._poses(fit.zeros + k / pieces * way, x)
            if not self._complete(x):
                return None
        return self.at(zeros, x)

    def _poses(self, zeros: Array, near: Array) -> Array:
        record = self._record
        x = np.full_like(near, np.nan)
        good = np.all(np.isfinite(near), axis=1) & np.any(self.keep, axis=1)
        x[good] = poses_near(record.robot, (record.q + zeros * record.units)[good], near[good])
        return x

    def _complete(self, x: Array) -> bool:
        """Whether all instants that count have poses."""
        return bool(np.all(np.isfinite(x[np.any(self.keep, axis=1)])))

    def _form(self, zeros: Array, near: Array) -> _Form | None:
        """The linear form for zeros; the last one is kept, since columns of drives are added to it."""
        if self._last is None or not np.array_equal(self._last[0], zeros):
            self._last = zeros, self._new_form(zeros, near)
        return self._last[1]

    def _new_form(self, zeros: Array, near: Array) -> _Form | None:
        x = self._poses(zeros, near)
        if not self._complete(x) or not np.any(self.keep):
            return None
        record = self._record
        used = np.any(self.keep, axis=1)
        path = self._path.at(record.q, x)
        motion = path.motion(record.rate, record.acceleration)
        form = regressor(record.robot, x[used], motion.v[used], motion.a[used], parameters=record.base)
        sound = ~failed(form.flags) & np.all(np.isfinite(form.Y), axis=(1, 2))
        if not np.all(sound):
            return None
        Y = np.zeros((self.instants, self.size, len(record.base)))
        Y[used] = form.Y
        Y[..., list(record.base.friction)] = record.joints.at(zeros, path)
        weight = np.broadcast_to(np.diag(1.0 / record.rms), (self.instants, self.size, self.size))
        if self._redundant:
            inverse = np.zeros((self.instants, self.size, self.rows))
            inverse[used] = motion.inverse[used]
            if self._scale is None:
                self._scale = rows_rms(inverse[used], record.rms)[0]
            weight = inverse / self._scale
        return x, Y, np.asarray(weight)

    def _rows(self, weight: Array, values: Array) -> Array:
        """Rows that count (rows, k) of values of the actuators (M, actuators, k)."""
        if self._redundant:
            return np.asarray(np.einsum("tai,tak->tik", weight, values)[self.keep])
        return np.asarray((values / self._record.rms[:, None])[self.keep])

    def _remaining(self, fit: ZeroFit, zeros: Array) -> Array | None:
        """What the parameters of a fit leave of the forces' rows at zeros near by (rows,)."""
        form = self._form(zeros, fit.x)
        if form is None:
            return None
        _, Y, weight = form
        off = self._record.force - fit.drives - Y @ fit.values
        return self._rows(weight, off[..., None])[:, 0]


def _explained(waves: Array, basis: Array, residual: Array) -> Array:
    """Squares that pairs of waves (rows, 2 k), k apart, explain of a residual beside a basis (k,).

    Args:
        waves: columns in the rows of one actuator.
        basis: orthonormal columns (all rows, p), of which these are the actuator's rows.
        residual: what the basis leaves, in the same rows.
    """
    first, second = np.split(waves, 2, axis=1)
    along, across = np.split(basis.T @ waves, 2, axis=1)
    a = np.sum(first**2, axis=0) - np.sum(along**2, axis=0)
    b = np.sum(second**2, axis=0) - np.sum(across**2, axis=0)
    c = np.sum(first * second, axis=0) - np.sum(along * across, axis=0)
    g, h = residual @ first, residual @ second
    determinant = a * b - c * c
    sound = determinant > 1e-6 * np.sum(first**2, axis=0) * np.sum(second**2, axis=0)
    gains = (b * g * g - 2.0 * c * g * h + a * h * h) / np.where(sound, determinant, 1.0)
    return np.asarray(np.where(sound, gains, 0.0))
