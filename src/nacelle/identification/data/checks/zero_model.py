"""Forces as a function of the encoders' zeros, for the check of zeros.

With zeros z (actuators,) added to the coordinates, forces f scaled by their rms are

    f = Y(q + z, q', q'') b + F c + e

b base parameters with friction of the joints (`JointFriction`), c friction of each actuator, F its columns
(`ZeroRecord`) and up to two sines of its coordinate, whose periods are sought: cogging. For each z both are
fitted by least squares (variable projection: Golub and Pereyra 1973), with a wide prior about the
description's parameters that only keeps undetermined combinations bounded. With W the columns of both,

    r(z) = (1 - W W^+) f,          dr/dz = -D_p,    D_p = (1 - W W^+) D,    D = d(Y b)/dz

D by central differences over 5e-3 rad or robot sizes: less would be lost in the times of dry friction's
jumps. With redundant actuation the rows are J_r^-T times the forces, as in `judge`.

What a measurement has that encoder zeros do not change: forces, rates, and friction of the drives.

Friction of an actuator is a sum of functions of its own rate w, in parts of its rms: constant, viscous, dry,
of the powers two and three, even, and dry friction that falls with the rate over 0.1 and 0.3 (Stribeck):

    1,  w,  sign w,  |w|,  w |w|,  w^3,  sign w exp(-(w / 0.1)^2),  sign w exp(-(w / 0.3)^2)

Cogging is a sine and a cosine of the coordinate; a shift of the coordinate leaves what both span. All pass
the filter that the forces have passed.

Friction of a robot's joints along a measurement, as a function of the encoders' zeros.

Dry friction of a passive joint jumps where its rate w(t) passes zero. Zeros z change the geometry, and so the
times of these jumps:

    w = J_w(x(q + z)) q',      c = J_w^T sign(w)      c (actuators,) a column of friction

What the filter of the forces makes of a jump depends on its time, and a sampled sign would be a staircase in
z. So columns are evaluated at nodes, ten in a period of the filter's cutoff, and between two nodes with
different signs the jump d = 2 J_w^T is put where the power d . q' = 2 w, linear between the nodes, is zero.
Exact means of these columns over short cells pass the filter that the forces have passed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nacelle.dynamics.jacobian import jacobian
from nacelle.dynamics.regressor import regressor
from nacelle.identification.data.checks.judge import SLOW, Correction, Judge, Smoothed, rms_of, rows_rms
from nacelle.identification.data.poses import Path, poses_near
from nacelle.kinematics.actuation import actuator_scales
from nacelle.kinematics.flags import failed
from nacelle.spatial.scalar import Array

# Nodes in a period of the filter's cutoff, how many at most, and cells that are filtered for each.
_NODES, _MOST, _CELLS = 10.0, 10000, 2
# Change of a column from node to node, in parts of its rms, that is a jump.
_JUMP = 0.3
# Half the distance of the two values at a jump, in samples.
_APART = 1e-6


class JointFriction:
    """Columns of the linear form that are friction's, through the filter of the forces."""

    def __init__(self, judge: Judge, signals: Smoothed, correction: Correction) -> None:
        """Take the corrected signals."""
        self._robot, self._base, self._signals = judge.robot, judge.base, signals
        self._columns = list(judge.base.friction)
        m, self._count = len(judge.robot.actuators), len(signals.all_values)
        wanted = int(np.ceil(0.5 * _NODES * signals.cutoff * self._count))
        self._places = np.linspace(0.0, self._count - 1.0, int(np.clip(wanted, 2, min(self._count, _MOST))))
        self._q = _between(correction.apply(signals.all_values)[:, :m], self._places)
        self._rate = _between(correction.apply(signals.all_rates, 1)[:, :m], self._places)
        self._units = actuator_scales(judge.robot)

    def at(self, zeros: Array, path: Path) -> Array:
        """Columns at the instants (M, actuators, columns of friction), for a path with these zeros.

        Args:
            zeros: added to the coordinates (actuators,), rad or robot sizes.
            path: poses at the instants with these zeros; those of the nodes are sought near them.
        """
        m, k = self._q.shape[1], len(self._columns)
        instants = np.flatnonzero(path.good)
        if not k or not instants.size:
            return np.zeros((len(path.x), m, k))
        nearest = np.searchsorted(self._signals.places[instants], self._places).clip(0, len(instants) - 1)
        x = poses_near(self._robot, self._q + zeros * self._units, path.x[instants[nearest]])
        sound = np.all(np.isfinite(x), axis=1)
        v = np.einsum("kni,ki->kn", jacobian(self._robot, x[sound]).direct, self._rate[sound])
        Y = regressor(self._robot, x[sound], v, parameters=self._base).Y[..., self._columns]
        finite = np.all(np.isfinite(Y), axis=(1, 2))
        places, rate, Y = self._places[sound][finite], self._rate[sound][finite], Y[finite]
        if len(places) < 4:
            return np.zeros((len(path.x), m, k))
        edges = np.linspace(-0.5, self._count - 0.5, min(self._count, _CELLS * len(self._places)) + 1)
        cells = [_means(*_with_jumps(places, column, rate), edges) for column in np.moveaxis(Y, 2, 0)]
        passed = self._signals.passed(np.concatenate(cells, axis=1))
        return np.moveaxis(passed.reshape(-1, k, m), 1, 2)


def _between(columns: Array, places: Array) -> Array:
    """Columns (N, k) at places between samples (K, k), linear."""
    below = np.minimum(places.astype(int), len(columns) - 2)
    part = (places - below)[:, None]
    return np.asarray((1.0 - part) * columns[below] + part * columns[below + 1])


def _with_jumps(places: Array, column: Array, rate: Array) -> tuple[Array, Array]:
    """Nodes (K + 2 jumps,) and values (K + 2 jumps, actuators) with two more at the time of each jump.

    Args:
        places: of the nodes (K,).
        column: of friction there (K, actuators).
        rate: q' there (K, actuators).
    """
    change = np.diff(column, axis=0)
    squares = np.sum(change**2, axis=1)
    jumps = np.flatnonzero(squares > _JUMP**2 * np.mean(np.sum(column**2, axis=1)))
    smooth = np.pad(change, ((1, 1), (0, 0)))
    smooth[jumps + 1] = 0.0
    # How the column goes on before and after each jump, from one node to the next.
    before, after = smooth[jumps], smooth[jumps + 2]
    left = np.sum((change[jumps] - after) * rate[jumps], axis=1)
    right = np.sum((change[jumps] - before) * rate[jumps + 1], axis=1)
    through = right > left
    jumps, before, after = jumps[through], before[through], after[through]
    # Close to a node the zero may come out beyond it.
    part = np.clip(left[through] / (left[through] - right[through]), 0.0, 1.0)[:, None]
    times = places[jumps] + part[:, 0] * np.diff(places)[jumps]
    more = np.concatenate([column[jumps] + part * before, column[jumps + 1] - (1.0 - part) * after])
    where = np.concatenate([places, times - _APART, times + _APART])
    order = np.argsort(where, kind="stable")
    return where[order], np.concatenate([column, more])[order]


def _means(places: Array, values: Array, edges: Array) -> Array:
    """Means over cells between edges (n + 1,) of what is linear between places (K,): (n, k)."""
    length = np.diff(places)[:, None]
    slope = np.diff(values, axis=0) / np.maximum(length, 1e-12)
    total = np.concatenate([np.zeros((1, values.shape[1])), values[:-1] * length + slope * length**2 / 2.0])
    total = np.cumsum(total, axis=0)
    # Beyond the ends the first and the last value go on.
    inside = np.clip(edges, places[0], places[-1])
    below = np.clip(np.searchsorted(places, inside, side="right") - 1, 0, len(places) - 2)
    part = (inside - places[below])[:, None]
    integral = total[below] + values[below] * part + slope[below] * part**2 / 2.0
    beyond = (edges - inside)[:, None]
    integral = integral + np.where(beyond < 0.0, values[0], values[-1]) * beyond
    return np.asarray(np.diff(integral, axis=0) / np.diff(edges)[:, None])


# ---- what a measurement has that encoder zeros do not change: forces, rates, and friction of the drives


# Cycles of cogging over the range of a coordinate.
CYCLES = np.arange(3.0, 60.0, 0.25)


class ZeroRecord:
    """Signals of a measurement at its instants, and columns of friction.

    Attributes:
        robot: the robot.
        base: its base parameters.
        q: coordinates of the actuators as read (M, actuators), rad or m.
        rate: their rates.
        acceleration: derivatives of the rates.
        force: of the actuators (M, actuators), N or N m.
        rms: of the forces (actuators,).
        fast: where an actuator moves fast enough for its friction to be determined (M, actuators).
        friction: of each actuator the columns of its friction (M, 8).
        waves: of each actuator sines of its coordinate, then cosines (M, 2 cycles).
        units: what a shift of 1 is (actuators,): rad, or the robot's size.
        joints: friction of the joints.
    """

    def __init__(self, judge: Judge, signals: Smoothed, correction: Correction) -> None:
        """Take the corrected signals."""
        self.robot, self.base = judge.robot, judge.base
        m = len(self.robot.actuators)
        value = correction.apply(signals.value)
        self.q, self.force = value[:, :m], value[:, m:]
        self.rate = correction.apply(signals.rate, 1)[:, :m]
        self.acceleration = correction.apply(signals.acceleration, 2)[:, :m]
        self.rms = rms_of(self.force)
        self.fast = np.abs(self.rate) >= SLOW * np.sqrt(np.mean(self.rate**2, axis=0))
        rates = correction.apply(signals.all_rates, 1)[:, :m]
        coordinates = correction.apply(signals.all_values)[:, :m]
        self.friction = [signals.passed(_friction_columns(rate)) for rate in rates.T]
        self.waves = [signals.passed(_waves(q)) for q in coordinates.T]
        self.units = actuator_scales(self.robot)
        self.joints = JointFriction(judge, signals, correction)


def _friction_columns(rate: Array) -> Array:
    """Friction's functions (N, 8) from the rates of an actuator (N,)."""
    w = rate / (np.sqrt(np.mean(rate**2)) + 1e-300)
    dry, even = np.sign(w), np.abs(w)
    falling = [dry * np.exp(-((w / scale) ** 2)) for scale in (0.1, 0.3)]
    return np.stack([np.ones_like(w), w, dry, even, w * even, w**3, *falling], axis=1)


def _waves(q: Array) -> Array:
    """Sines and cosines (N, 2 cycles) of a coordinate (N,)."""
    angle = np.outer(q / (np.ptp(q) + 1e-300), 2.0 * np.pi * CYCLES)
    return np.concatenate([np.sin(angle), np.cos(angle)], axis=1)


# ---- forces as a function of the encoders' zeros, for the check of zeros


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
