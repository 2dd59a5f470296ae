"""The fit of a campaign: maximum a posteriori over parameters and the motion at every sample.

With encoders and devices measured alike, everything unknown is the parameters z (P,) and, at each sample, the
motion m_s (n,) that the loops leave. Whitened residuals r_s of sample s change by

    dr_s = A_s m_s + B_s dz,      A_s = rows by motion, B_s by parameters with the states that follow them

The best m_s for a given dz leaves (1 - U_s U_s^T)(r_s + B_s dz), U_s a basis of the range of A_s: so the
motions are eliminated sample by sample, and what a campaign says of the parameters is

    minimise |r + B dz|^2 (projected) + |(z + dz - z_0) / tolerance|^2

by Levenberg and Marquardt's method, damped in tolerances, so that units do not matter: a damping that
follows the data would slow the directions that only tolerances hold. Samples that pairs of measurements
connect are eliminated together. After each step the loops are closed again. Outliers: first with weights of
Geman and McClure whose width shrinks from the largest residual to the noise (graduated non-convexity), then
blocks beyond their chi-square quantile are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from nacelle.calibration.devices import Device, Pairs
from nacelle.calibration.loops import Linearised, Loops, States
from nacelle.calibration.parameters import Encoder, Geometry, Parameter
from nacelle.errors import CalibrationError
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array
from nacelle.vision.observer.update import chi_square_quantile

_STEPS = 60
# A step that is to lower the sum of squares by less ends the iteration, as does one below its rounding.
_DONE, _ROUNDING = 1e-8, 1e-12
# Below this part of its largest singular value A_s does not determine a motion.
_RANK = 1e-9
# Probability with which a right block of rows is left out as an outlier, and rounds of leaving out.
_SIGNIFICANCE, _ROUNDS = 1e-4, 6
# Pairs are left out in rounds, those with squares above this part of the worst one's.
_WORST, _PAIR_ROUNDS = 0.25, 12
# Steps of the first fit, before outliers are looked for, and of each width of the weights.
_FIRST, _STAGE = 4, 3
# Widths of the weights: the first over the median of the residuals, the last over the noise.
_WIDE, _NARROW = 5.0, 3.0
# Residuals below this part of the noise are those of the drives, from which the states start.
_STARTED = 1e-3


@dataclass(frozen=True, eq=False)
class Campaign:
    """Everything that was measured.

    Attributes:
        robot: of the description.
        readings: of encoders (S, encoders), in the coordinates of their joints, rad or m; NaN where not read.
        encoders: the encoders.
        devices: what measured the robot.
        pairs: what was measured between samples.
        forces: of the drives that held the robot (S, actuators), N or N m.
        pulls: along bodies (S, bodies), N.
        sag: displacement of the platform by flexible links (S, 6), m and rad, base axes.
        guess: poses (S, nx) near those of the samples, where encoders alone leave a choice; or None.
    """

    robot: Robot
    readings: Array
    encoders: tuple[Encoder, ...]
    devices: tuple[Device, ...]
    pairs: tuple[Pairs, ...] = ()
    forces: Array | None = None
    pulls: Array | None = None
    sag: Array | None = None
    guess: Array | None = None

    @property
    def count(self) -> int:
        """Number of samples."""
        return len(self.readings)

    @cached_property
    def device_parameters(self) -> tuple[Parameter, ...]:
        """What is unknown of the devices, each once."""
        every = {item.name: item for device in self.devices for item in device.parameters}
        return tuple(every.values())

    def subset(self, rows: Array) -> Campaign:
        """The campaign of some samples; pairs whose both samples are among them."""
        index = np.full(self.count, -1)
        index[rows] = np.arange(len(rows))

        pairs = []
        for item in self.pairs:
            both = np.all(index[item.samples] >= 0, axis=1)
            pairs.append(replace(item, samples=index[item.samples[both]], values=item.values[both]))

        def rows_of(array: Array | None) -> Array | None:
            return None if array is None else array[rows]

        return replace(
            self,
            readings=self.readings[rows],
            devices=tuple(device.subset(rows) for device in self.devices),
            pairs=tuple(pairs),
            forces=rows_of(self.forces),
            pulls=rows_of(self.pulls),
            sag=rows_of(self.sag),
            guess=rows_of(self.guess),
        )


@dataclass(frozen=True, eq=False)
class Point:
    """Values of the parameters (P,), and the states of the robot."""

    values: Array
    states: States


@dataclass(frozen=True, eq=False)
class Rows:
    """All rows at a point.

    Attributes:
        r: whitened residuals (S, K), 0 where nothing was measured.
        A: by motion (S, K, n).
        B: by parameters (S, K, P).
        pairs: residuals of pairs, one array (N, k) each, with rows by both samples.
    """

    r: Array
    A: Array
    B: Array
    pairs: tuple[tuple[Array, Array, Array, Array, Array], ...]
    linearised: Linearised


@dataclass(frozen=True, eq=False)
class Reduced:
    """What a campaign says of the parameters at a point, motions eliminated.

    Attributes:
        r: residuals (rows,).
        J: by parameters (rows, P).
        rows: the rows behind it.
        lift: for each group of samples (indices, pseudo-inverse (motions, rows), stacked rows r, B).
    """

    r: Array
    J: Array
    rows: Rows
    lift: list[tuple[Array, Array, Array, Array]]
    degrees: int


class System:
    """A campaign with chosen parameters as one system of least squares."""

    def __init__(self, campaign: Campaign, parameters: Sequence[Parameter]) -> None:
        """Prepare; the parameters of the robot are given, those of devices follow."""
        self.campaign = campaign
        self.parameters = (*parameters, *campaign.device_parameters)
        self.count, self.robot_count = len(self.parameters), len(parameters)
        shape = (campaign.count, 0)
        forces = np.zeros(shape) if campaign.forces is None else campaign.forces
        pulls = np.zeros(shape) if campaign.pulls is None else campaign.pulls
        self.geometry = Geometry(campaign.robot, tuple(parameters), campaign.encoders, forces, pulls)
        self.loops = Loops(campaign.robot)
        self.tolerance = np.array([item.tolerance for item in self.parameters])
        self.lower = np.array([item.bounds.lower for item in self.parameters])
        self.upper = np.array([item.bounds.upper for item in self.parameters])
        names = [item.name for item in self.parameters]
        self.columns = [[names.index(item.name) for item in device.parameters] for device in campaign.devices]
        self._noise = np.array([encoder.noise for encoder in campaign.encoders])
        self.sag = np.zeros((campaign.count, 6)) if campaign.sag is None else campaign.sag
        # Blocks of rows that are right or wrong together: encoders one by one, every device.
        sizes = [1] * len(campaign.encoders) + [device.rows_each for device in campaign.devices]
        self.blocks = np.repeat(np.arange(len(sizes)), sizes)
        self.block_names = [
            *(encoder.name for encoder in campaign.encoders),
            *(d.name for d in campaign.devices),
        ]
        self._groups = self._connected_samples()

    def _connected_samples(self) -> list[Array]:
        """Groups of samples that pairs connect, of two or more."""
        label = np.arange(self.campaign.count)
        for pairs in self.campaign.pairs:
            for i, j in pairs.samples:
                label[label == label[i]] = label[j]
        values, counts = np.unique(label, return_counts=True)
        return [np.flatnonzero(label == value) for value in values[counts > 1]]

    @cached_property
    def present(self) -> Array:
        """Which rows (S, K) were measured."""
        parts = [np.isfinite(self.campaign.readings), *(item.present for item in self.campaign.devices)]
        return np.concatenate(parts, axis=1)

    def start(self) -> Point:
        """The description at the readings, loops closed."""
        campaign = self.campaign
        values = np.zeros(self.count)
        known = campaign.readings[:, : len(campaign.robot.actuators)]
        q, _ = self.geometry.coordinates(known, values)
        return Point(values, self.loops.start(q, campaign.guess))

    def at(self, values: Array, states: States) -> Point:
        """Parameters and states, loops closed again.

        Raises:
            CalibrationError: if the loops of a sample do not close.
        """
        closed, gap = self.loops.close(self.geometry.vector(values), states)
        if np.max(gap, initial=0.0) > 1e-9:
            worst = int(np.argmax(gap))
            raise CalibrationError(
                f"{self.campaign.robot.name}: its loops do not close at sample {worst} any more "
                f"(open by {gap[worst]:.1e} of its size)"
            )
        return Point(values, closed)

    def rows(self, point: Point) -> Rows:
        """Residuals and their derivatives at a point."""
        campaign, values = self.campaign, point.values
        robot_values = values[: self.robot_count]
        now = self.loops.linearise(
            self.geometry.vector(robot_values), point.states, self.geometry.frame_rates(robot_values)
        )
        n = now.motions.shape[2]
        q, rates = self.geometry.coordinates(campaign.readings, robot_values)
        K = len(self.blocks)
        r = np.zeros((campaign.count, K))
        A, B = np.zeros((campaign.count, K, n)), np.zeros((campaign.count, K, self.count))
        for k, encoder in enumerate(campaign.encoders):
            coordinate, response = now.joint(encoder.axis, point.states)
            off = coordinate - q[:, k]
            if campaign.robot.joints[encoder.axis[0]].primitives[encoder.axis[1]].is_rotation:
                off = off - 2.0 * np.pi * np.round(off / (2.0 * np.pi))
            r[:, k] = off / encoder.noise
            A[:, k] = response.by_motion[:, 0] / encoder.noise
            B[:, k, : self.robot_count] = (response.by_parameters[:, 0] - rates[:, k]) / encoder.noise
        at = len(campaign.encoders)
        for device, columns in zip(campaign.devices, self.columns, strict=True):
            part = device.rows(now, self.sag, values[columns])
            end = at + part.residual.shape[1]
            r[:, at:end], A[:, at:end] = part.residual, part.response.by_motion
            B[:, at:end, : self.robot_count] = part.response.by_parameters
            B[:, at:end, columns] += part.by_device
            at = end
        missing = ~np.isfinite(r)
        r[missing], A[missing], B[missing] = 0.0, 0.0, 0.0
        pairs = []
        for item in campaign.pairs:
            residual, first, second = item.between(now, self.sag)
            by = first.by_parameters + second.by_parameters
            whole = np.concatenate([by, np.zeros((*by.shape[:2], self.count - self.robot_count))], axis=2)
            pairs.append((item.samples, residual, first.by_motion, second.by_motion, whole))
        return Rows(r, A, B, tuple(pairs), now)

    def reduce(self, point: Point, weights: Array, extra: Array | None = None) -> Reduced:
        """Eliminate the motions; `weights` (S, K) are the square roots of weights of rows.

        Columns of `extra` (S, K, E) follow those of the parameters: effects that are tried.
        """
        rows = self.rows(point)
        by = (
            rows.B
            if extra is None
            else np.concatenate([rows.B, np.where(self.present[:, :, None], extra, 0.0)], axis=2)
        )
        r, A, B = weights * rows.r, weights[:, :, None] * rows.A, weights[:, :, None] * by
        more = by.shape[2] - rows.B.shape[2]
        pairs = [(*item[:4], np.pad(item[4], ((0, 0), (0, 0), (0, more)))) for item in rows.pairs]
        grouped = np.zeros(len(r), dtype=bool)
        parts: list[tuple[Array, Array]] = []
        lift: list[tuple[Array, Array, Array, Array]] = []
        degrees = int(np.sum((weights > 0.0) & self.present))
        for group in self._groups:
            grouped[group] = True
            stacked = _stack_group(group, r, A, B, pairs)
            lift.append((group[None], *stacked))
        single = np.flatnonzero(~grouped)
        if single.size:
            lift.append((single[:, None], A[single], r[single], B[single]))
        eliminated = []
        for samples, a, r_part, b in lift:
            U, s, Vt = np.linalg.svd(a, full_matrices=False)
            good = s > _RANK * np.max(s, axis=1, keepdims=True)
            U = U * good[:, None]
            inverse = (
                np.swapaxes(Vt, 1, 2)
                * np.where(good, 1.0 / np.where(good, s, 1.0), 0.0)[:, None]
                @ np.swapaxes(U, 1, 2)
            )
            parts.append(
                (
                    (r_part - (U @ (np.swapaxes(U, 1, 2) @ r_part[:, :, None]))[:, :, 0]).ravel(),
                    (b - U @ (np.swapaxes(U, 1, 2) @ b)).reshape(-1, b.shape[2]),
                )
            )
            degrees -= int(np.sum(good))
            eliminated.append((samples, inverse, r_part, b))
        degrees += sum(residual.size for _, residual, *_ in rows.pairs)
        r_all = np.concatenate([part[0] for part in parts])
        return Reduced(r_all, np.concatenate([part[1] for part in parts]), rows, eliminated, degrees)

    def move(self, point: Point, reduced: Reduced, dz: Array) -> Point:
        """The point after a step of the parameters, with the motions that are best for it."""
        now = reduced.rows.linearised
        n = now.motions.shape[2]
        m = np.zeros((self.campaign.count, n))
        for samples, inverse, r, b in reduced.lift:
            part = -(inverse @ (r + b @ dz)[:, :, None])[:, :, 0]
            m[samples.ravel()] = part.reshape(-1, n)
        steps = (now.motions @ m[:, :, None])[:, :, 0] + now.follow @ dz[: self.robot_count]
        return self.at(point.values + dz, self.loops.integrate(point.states, steps))

    def residuals(self, rows: Rows, values: Array, weights: Array) -> Array:
        """All residuals at a point: of rows, of pairs, of what was expected of the parameters."""
        pairs = [residual.ravel() for _, residual, *_ in rows.pairs]
        return np.concatenate([(weights * rows.r).ravel(), *pairs, values / self.tolerance])


def _stack_group(
    group: Array, r: Array, A: Array, B: Array, pairs: Sequence[tuple[Array, ...]]
) -> tuple[Array, Array, Array]:
    """Rows of some samples and of the pairs between them as one, by all their motions (1, rows, g n)."""
    K, n = A.shape[1], A.shape[2]
    where = {int(sample): k for k, sample in enumerate(group)}
    extra = []
    for samples, residual, first, second, by in pairs:
        for k, (i, j) in enumerate(samples.tolist()):
            if i in where:
                line = np.zeros((residual.shape[1], len(group) * n))
                line[:, n * where[i] : n * where[i] + n] += first[k]
                line[:, n * where[j] : n * where[j] + n] += second[k]
                extra.append((residual[k], line, by[k]))
    whole = np.zeros((len(group) * K, len(group) * n))
    for k, sample in enumerate(group):
        whole[K * k : K * k + K, n * k : n * k + n] = A[sample]
    return (
        np.concatenate([whole, *(line for _, line, _ in extra)])[None],
        np.concatenate([r[group].ravel(), *(residual for residual, *_ in extra)])[None],
        np.concatenate([B[group].reshape(-1, B.shape[2]), *(by for *_, by in extra)])[None],
    )


@dataclass(frozen=True, eq=False)
class Optimum:
    """The end of an iteration.

    Attributes:
        point: parameters and states.
        reduced: what the campaign says there.
        weights: square roots of the weights of rows (S, K).
        cost: sum of the squares of all residuals.
        steps: how many were taken.
    """

    point: Point
    reduced: Reduced
    weights: Array
    cost: float
    steps: int


def minimise(
    system: System, point: Point, weights: Array, *, steps: int = _STEPS, to_end: bool = True
) -> Optimum:
    """Levenberg and Marquardt's method from a point.

    Raises:
        CalibrationError: if it does not end within the steps and is to.
    """
    reduced = system.reduce(point, weights)
    cost = _cost(system, point, reduced, weights)
    damping = 1e-3
    for step in range(steps):
        accepted: tuple[Point, Reduced, float, float] | None = None
        for _ in range(12):
            try:
                accepted = _try_step(system, point, reduced, weights, damping, cost * (1.0 + _ROUNDING))
            except CalibrationError:
                accepted = None
            if accepted is not None:
                break
            damping = max(10.0 * damping, 1e-2)
        if accepted is None:
            return Optimum(point, reduced, weights, cost, step)
        point, reduced, cost, expected = accepted
        damping = 0.1 * damping if damping > 1e-6 else 0.0
        if expected < _DONE + _ROUNDING * cost:
            return Optimum(point, reduced, weights, cost, step + 1)
    if not to_end:
        return Optimum(point, reduced, weights, cost, steps)
    raise CalibrationError(
        f"{system.campaign.robot.name}: the fit has not converged after {steps} steps: are units, signs, "
        "and the order of columns right?"
    )


def _cost(system: System, point: Point, reduced: Reduced, weights: Array) -> float:
    return float(np.sum(system.residuals(reduced.rows, point.values, weights) ** 2))


def _try_step(
    system: System, point: Point, reduced: Reduced, weights: Array, damping: float, most: float
) -> tuple[Point, Reduced, float, float] | None:
    """A damped step, or two, to a sum of squares of at most `most`; and how far it was to fall; None if not.

    Parameters that nothing shows, such as a rigid motion of machine and device, leave a curved valley: along
    it a step leads up its side by the square of its length, and a second one down again.
    """
    expected = 0.0
    for _ in range(2):
        J = np.concatenate([reduced.J * system.tolerance, np.eye(system.count)])
        r = np.concatenate([reduced.r, point.values / system.tolerance])
        slope = J.T @ r
        free = ~(
            ((point.values <= system.lower) & (slope > 0)) | ((point.values >= system.upper) & (slope < 0))
        )
        Q, R = np.linalg.qr(J[:, free])
        stacked = np.concatenate([R, np.sqrt(damping) * np.eye(R.shape[1])])
        dz = np.zeros(system.count)
        dz[free] = -np.linalg.lstsq(stacked, np.concatenate([Q.T @ r, np.zeros(R.shape[1])]), rcond=None)[0]
        dz = np.clip(point.values + dz * system.tolerance, system.lower, system.upper) - point.values
        expected = max(expected, -float(dz / system.tolerance @ slope))
        point = system.move(point, reduced, dz)
        reduced = system.reduce(point, weights)
        cost = _cost(system, point, reduced, weights)
        if np.isfinite(cost) and cost <= most:
            return point, reduced, cost, expected
    return None


def fit(system: System, *, robust: bool = True) -> Optimum:
    """The best parameters, outliers left out.

    Where more than a third of everything would have to be left out it is not outliers that do not fit: then
    nothing is.

    Raises:
        CalibrationError: if it does not converge.
    """
    ones = np.ones((system.campaign.count, len(system.blocks)))
    first = minimise(system, system.start(), ones, steps=_FIRST, to_end=False)
    if not robust or not _misfits(system, first).any():
        return minimise(system, first.point, ones)
    optimum = _fit_with_shrinking_width(system)
    kept = ~_misfits(system, optimum)
    for _ in range(_ROUNDS):
        if np.mean(kept[:, system.blocks][system.present]) < 2.0 / 3.0:
            return minimise(system, first.point, ones)
        optimum = minimise(system, optimum.point, kept[:, system.blocks].astype(float))
        again = ~_misfits(system, optimum)
        if np.array_equal(again, kept):
            break
        kept = again
    return optimum


class PairOutlier(NamedTuple):
    """A pair that was left out: its two samples, and the name of the pairs."""

    first: int
    second: int
    name: str


def fit_with_pairs(system: System, *, robust: bool = True) -> tuple[System, Optimum, tuple[PairOutlier, ...]]:
    """`fit`, pairs left out as well: the worst of those beyond chance in rounds, and the system without them.

    Raises:
        CalibrationError: if it does not converge.
    """
    optimum, pairs = fit(system, robust=robust), system.campaign.pairs
    now, first = system, optimum
    kept = [np.ones(len(item.samples), dtype=bool) for item in pairs]
    for _ in range(_PAIR_ROUNDS if robust and pairs else 0):
        # Of all pairs, also of those that were left out when others still bent the fit.
        squares = [np.sum(residual**2, axis=1) for _, residual, *_ in system.rows(optimum.point).pairs]
        worst = max(float(np.max(part[keep], initial=0.0)) for part, keep in zip(squares, kept, strict=True))
        limit = max(chi_square_quantile(1, _SIGNIFICANCE), _WORST * worst)
        again = [part <= limit for part in squares]
        if all(np.array_equal(*both) for both in zip(again, kept, strict=True)):
            break
        kept = again
        if np.mean(np.concatenate(kept)) < 2.0 / 3.0:
            return system, first, ()
        used = tuple(
            replace(item, samples=item.samples[keep], values=item.values[keep])
            for item, keep in zip(pairs, kept, strict=True)
        )
        now = System(replace(system.campaign, pairs=used), system.parameters[: system.robot_count])
        optimum = minimise(now, optimum.point, optimum.weights)
    left_out = [
        PairOutlier(int(i), int(j), item.name)
        for item, keep in zip(pairs, kept, strict=True)
        for i, j in item.samples[~keep]
    ]
    return now, optimum, tuple(left_out)


def _misfits(system: System, optimum: Optimum) -> Array:
    """Blocks (S, blocks) whose squared residuals are beyond chance, motions at their best."""
    r = optimum.reduced.rows.r
    count = len(system.block_names)
    squares = np.zeros((len(r), count))
    sizes = np.zeros((len(r), count), dtype=int)
    present = system.present
    for block in range(count):
        of = system.blocks == block
        squares[:, block] = np.sum(np.where(present[:, of], r[:, of] ** 2, 0.0), axis=1)
        sizes[:, block] = np.sum(present[:, of], axis=1)
    limits = np.array(
        [np.inf] + [chi_square_quantile(k, _SIGNIFICANCE) for k in range(1, int(sizes.max(initial=1)) + 1)]
    )
    return np.asarray(squares > limits[sizes])


def _fit_with_shrinking_width(system: System) -> Optimum:
    """Weights of Geman and McClure, w = (c^2 / (c^2 + r^2))^2, whose width c shrinks to the noise."""
    present = system.present
    blocks = system.blocks
    ones, start = np.ones(present.shape), system.start()
    optimum = Optimum(start, system.reduce(start, ones), ones, np.inf, 0)
    # Of a description that is nearly right, most of what is measured is: outliers count little at once.
    off = np.abs(optimum.reduced.rows.r[present])
    width = max(_NARROW, _WIDE * float(np.median([0.0, *off[off > _STARTED]])))
    while True:
        r = optimum.reduced.rows.r
        squares = np.stack(
            [np.sum(r[:, blocks == k] ** 2, axis=1) for k in range(len(system.block_names))], axis=1
        )
        weights = (width**2 / (width**2 + squares))[:, blocks]
        optimum = minimise(system, optimum.point, weights, steps=_STAGE, to_end=False)
        if width <= _NARROW:
            return optimum
        width = max(_NARROW, 0.25 * width)
