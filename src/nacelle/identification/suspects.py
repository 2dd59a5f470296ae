"""What may be wrong with a log: faults that the residuals of a fit show, each with its size and deviation.

A fault of the size theta (s,) changes the recorded forces to first order by S theta,

    b_t = Y_t beta + S_t theta + e_t          S_t (rows, s)

    delay    forces are recorded theta later than they act:       S = -dG/dt
    offset   of the force of an actuator, N or N m:                S = 1 in its row
    scale    a force is recorded (1 + theta) times as large:       S = G in its row
    stribeck dry friction that falls with speed, N or N m:         S = sign(q') exp(-|q'| / v_s) in its row
    zero     an encoder counts theta too much, rad or m:           S = -dG/dq
    gear     a coordinate is (1 + theta) times as large:           S = -dG/dlog q along the motion

G the forces that the estimates require along the instruments' motion, which has no errors of sensors, so that
S is its own instrument. One fault is tested without a new fit (Frisch and Waugh): with Q the weighted
instruments, A = Q^T Y and r the residuals,

    q = (1 - Q A^-T Y^T) W S,    theta = q^T r / q^T S,    var theta = var(q^T e) / (q^T S)^2

the variance by the autocovariance of the residuals, as that of the parameters (`parameter_covariance`). The
fault that explains most is taken first, then the best together with it, as long as each is certain and what
it explains, or the bias it has left in the parameters, counts. Faults that are to be estimated with the
parameters (`estimate_with_faults`) are taken back from the measurement and estimated again until they stand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from nacelle.dynamics.regressor import regressor
from nacelle.errors import IdentificationError, did_you_mean
from nacelle.identification.data.filters import decimate
from nacelle.identification.data.measurement import Measurement
from nacelle.identification.data.poses import PlatformMotion, motion_from_rates, path_poses
from nacelle.identification.data.preparation import Preparation, Samples, prepare
from nacelle.identification.estimation.estimator import Estimator, parameter_covariance
from nacelle.identification.estimation.regression import project_rows
from nacelle.kinematics.motion import joint_motion
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array

FORCE_CAUSES = ("delay", "offset", "scale", "stribeck")
"""Faults of the forces, or of what the friction of the description lacks."""

POSITION_CAUSES = ("zero", "gear")
"""Faults of the coordinates."""

CAUSES = (*FORCE_CAUSES, *POSITION_CAUSES)
"""All that is tried."""

ESTIMATED = ("delay", "offset", "scale", "zero", "gear")
"""What can be estimated with the parameters."""

# A fault is certain from so many deviations on, and counts if it explains so much of the weighted squares of
# the residuals, or has moved a parameter by so many of its deviations.
_CERTAIN, _EXPLAINED, _BIAS = 6.0, 0.05, 1.0
# Faults that are taken together, at most; a column that the parameters leave less of than this is theirs.
_MOST, _OWN = 3, 1e-6
# A further fault has to explain more of what is left: the first one's is known to first order alone. Wrong
# gears and counts a turn are ratios of whole numbers, not near one.
_FURTHER, _SMALLEST_GEAR = 0.4, 0.005
# A ratio that is known no better than this is not known.
_UNKNOWN_RATIO = 0.2
# Faults explain the same if one leaves this many times what the best leaves, and this part more.
_ALIKE, _EQUAL = 2.0, 0.01
# Steps of coordinates, rad, over the robot's size or over themselves; the speed of the Stribeck effect over
# the largest of the joint.
_STEP, _STRIBECK = 1e-5, 0.05
# Estimations of faults end after so many rounds, or where they change by this part of their deviations.
_ROUNDS, _CONVERGED = 12, 0.1


@dataclass(frozen=True)
class Suspect:
    """A fault that the data show.

    Attributes:
        cause: one of `CAUSES`.
        signal: what is concerned, such as "force.left.motor"; "force" for all forces.
        size: of the fault, SI units.
        deviation: of the size.
        unit: "s", "N", "N m", "rad", "m", or "" for a ratio.
        explained: part of the weighted squares of the residuals that it explains, with those before it.
        bias: largest error that it has made in a parameter, in deviations.
    """

    cause: str
    signal: str
    size: float
    deviation: float
    unit: str
    explained: float
    bias: float

    @property
    def is_material(self) -> bool:
        """Whether parameters that were estimated without it are wrong."""
        return self.explained > 0.2 or self.bias > 2.0

    def describe(self) -> str:
        """What it is, with its size."""
        remedy = f"; estimate: {self.cause}" if self.cause in ESTIMATED else "; describe this friction"
        what = _sentence(self.cause, self.signal, self.size, self.deviation, self.unit)
        return f"suspect: {what}; it explains {100.0 * self.explained:.0f} % of the residuals{remedy}"


def _sentence(cause: str, signal: str, size: float, deviation: float, unit: str) -> str:
    """A fault with its size and deviation."""
    joint = signal.partition(".")[2]
    if cause == "delay":
        side = "after" if size > 0.0 else "before"
        return f"forces are recorded {1e3 * abs(size):.3g} ms (+- {1e3 * deviation:.2g}) {side} the motion"
    if cause in ("scale", "gear"):
        what = "force is" if cause == "scale" else "coordinates are"
        whose = "torque constant, gear" if cause == "scale" else "gear, counts a turn"
        return f"the {what} {1.0 + size:.4g} times (+- {deviation:.2g}) what fits, of {joint} ({whose})"
    amount = f"{size:.4g} {unit} (+- {deviation:.2g})"
    return {
        "offset": f"the force of {joint} has an offset of {amount}",
        "stribeck": f"the friction of {joint} is larger by {amount} at low speed",
        "zero": f"the encoder of {joint} counts {amount} too much, or a length is wrong",
    }[cause]


class _Column(NamedTuple):
    """The effect of a fault on the forces: samples of the regression (M, rows) for one unit of it."""

    cause: str
    signal: str
    unit: str
    values: Array


# ---- effects of faults


def _columns(estimator: Estimator, samples: Sequence[Samples], causes: Sequence[str]) -> list[_Column]:
    """The effects of all faults of some causes."""
    parts = [_part_effects(estimator, part, causes) for part in samples]
    used = estimator.regression_.used[:, None]
    return [
        first._replace(values=np.where(used, np.concatenate([part[k].values for part in parts]), 0.0))
        for k, first in enumerate(parts[0])
    ]


def _part_effects(estimator: Estimator, part: Samples, causes: Sequence[str]) -> list[_Column]:
    robot, motion = part.robot, part.instruments
    forces = _forces(estimator, robot, motion)
    coordinates = _actuators(robot, motion)
    revolute = robot.revolute_actuators
    result: list[_Column] = []

    def add(cause: str, signal: str, unit: str, effect: Array) -> None:
        values = decimate(project_rows(part, motion, np.nan_to_num(effect)), part.preparation.decimation or 1)
        result.append(_Column(cause, signal, unit, values))

    if "delay" in causes:
        add("delay", "force", "s", -np.gradient(forces, part.time, axis=0))
    for k, actuator in enumerate(robot.actuators):
        alone = np.zeros_like(forces)
        unit, length = ("N m", 1.0) if revolute[k] else ("N", robot.size)

        def along(values: Array, row: Array = alone, k: int = k) -> Array:
            effect = row.copy()
            effect[:, k] = values
            return effect

        if "offset" in causes:
            add("offset", f"force.{actuator.name}", unit, along(np.ones(len(forces))))
        if "scale" in causes:
            add("scale", f"force.{actuator.name}", "", along(forces[:, k]))
        if "stribeck" in causes:
            rate = coordinates[1][:, k]
            speed = _STRIBECK * np.nanmax(np.abs(rate))
            add(
                "stribeck",
                f"force.{actuator.name}",
                unit,
                along(np.sign(rate) * np.exp(-np.abs(rate) / speed)),
            )
        for cause, scaled in (("zero", False), ("gear", True)):
            if cause not in causes:
                continue
            step = _STEP if scaled else _STEP * length
            other_forces = _forces(
                estimator, robot, _perturb_motion(robot, motion, coordinates, k, step, scaled)
            )
            add(cause, f"q.{actuator.name}", "" if scaled else ("rad" if revolute[k] else "m"),
                -(other_forces - forces) / step)  # fmt: skip
    return result


def _forces(estimator: Estimator, robot: Robot, motion: PlatformMotion) -> Array:
    """Forces (N, actuators) that the estimates require along a motion; NaN where it has no pose."""
    forces = np.full((len(motion.ok), len(robot.actuators)), np.nan)
    posed = motion.part(motion.ok)
    form = regressor(robot, posed.x, posed.v, posed.a, parameters=estimator.base_)
    forces[motion.ok] = form.Y @ estimator.coef_
    return forces


def _actuators(robot: Robot, motion: PlatformMotion) -> tuple[Array, Array, Array]:
    """Coordinates of the actuators, their rates and accelerations (N, actuators); NaN without a pose."""
    posed = motion.part(motion.ok)
    values = np.full((3, len(motion.ok), len(robot.actuators)), np.nan)
    values[:, motion.ok] = joint_motion(robot, posed.x, posed.v, posed.a).actuators
    return values[0], values[1], values[2]


def _perturb_motion(
    robot: Robot, motion: PlatformMotion, coordinates: Sequence[Array], k: int, step: float, scaled: bool
) -> PlatformMotion:
    """The motion with the coordinate k of the actuators larger by a step, or by a part of itself."""
    q, rate, acceleration = (values[motion.ok].copy() for values in coordinates)
    if scaled:
        for values in (q, rate, acceleration):
            values[:, k] *= 1.0 + step
    else:
        q[:, k] += step
    shifted = motion_from_rates(robot, path_poses(robot, q), rate, acceleration)
    x, v, a = (
        np.full((len(motion.ok), values.shape[1]), np.nan) for values in (shifted.x, shifted.v, shifted.a)
    )
    ok = motion.ok.copy()
    ok[motion.ok] = shifted.ok
    for values, to in ((shifted.x, x), (shifted.v, v), (shifted.a, a)):
        to[motion.ok] = values
    return PlatformMotion(x, v, a, ok)


# ---- tests of faults


class _JointFit(NamedTuple):
    """Parameters and faults estimated together.

    Attributes:
        coef: parameters (p,).
        sizes: of the faults (s,).
        covariance: of both (p + s, p + s).
        residuals: (M, rows).
    """

    coef: Array
    sizes: Array
    covariance: Array
    residuals: Array


def _fit_together(estimator: Estimator, columns: Sequence[_Column]) -> _JointFit:
    """Estimate parameters and faults by the moments of the fit, with the columns as further ones."""
    data, moments = estimator.regression_, estimator.moments_
    scales = np.array([np.sqrt(np.mean(column.values**2)) or 1.0 for column in columns])
    S = np.stack([column.values for column in columns], axis=2) / scales
    k = moments.along.shape[1]
    X = np.concatenate([data.Y @ moments.along, S], axis=2)
    Q = np.concatenate([moments.Q.reshape(*data.force.shape, k), moments.weights[..., None] * S], axis=2)
    A = np.einsum("tik,til->kl", Q, X)
    A[:k, :k] += moments.prior
    inverse = np.linalg.inv(A)
    nominal = data.base.values
    step = inverse @ np.einsum("tik,ti->k", Q, data.force - data.Y @ nominal)
    D = np.zeros((len(nominal) + len(columns), A.shape[0]))
    D[: len(nominal), :k] = moments.along
    D[len(nominal) :, k:] = np.diag(1.0 / scales)
    coef = nominal + moments.along @ step[:k]
    residuals = (data.force - data.Y @ coef - S @ step[k:]) * data.used[:, None]
    covariance = parameter_covariance(data, residuals, X @ inverse, Q, D @ inverse)
    return _JointFit(coef, step[k:] / scales, covariance, residuals)


class _Tested(NamedTuple):
    """A fault that is certain: its effect, and how far from the described forces it leaves the estimates."""

    suspect: Suspect
    column: _Column
    away: float


def _best(estimator: Estimator, columns: Sequence[_Column], before: Sequence[_Column]) -> _Tested | None:
    """The certain fault that explains most behind those that were taken before.

    Of faults that explain the same, as one force too large or another too small, it is the one that leaves
    the forces nearest to those of the description.
    """
    data, moments = estimator.regression_, estimator.moments_
    k, shape = moments.along.shape[1], data.force.shape
    X, Q = (data.Y @ moments.along).reshape(-1, k), moments.Q
    weights = moments.weights
    taken = [column.values.reshape(-1, 1) for column in before]
    X = np.concatenate([X, *taken], axis=1)
    Q = np.concatenate([Q, *(weights.reshape(-1, 1) * column for column in taken)], axis=1)
    A = Q.T @ X
    A[:k, :k] += moments.prior
    inverse = np.linalg.inv(A)
    residuals = (data.force - data.Y @ estimator.coef_).ravel() * np.repeat(data.used, shape[1])
    step = inverse @ (Q.T @ residuals)
    residuals = residuals - X @ step
    now = estimator.coef_ - data.base.values + moments.along @ step[:k]
    squares = float(np.sum(weights.ravel() * residuals**2))
    deviations = np.where(np.isfinite(estimator.std_) & (estimator.std_ > 0.0), estimator.std_, np.inf)
    result = []
    for column in columns:
        s = column.values.ravel()
        q = weights.ravel() * s
        q = q - Q @ (inverse.T @ (X.T @ q))
        kept = float(q @ s)
        if not kept > _OWN * float(np.sum(weights.ravel() * s**2)):
            continue
        size = float(q @ residuals) / kept
        left = s - X @ (inverse @ (Q.T @ s))
        new = residuals - size * left
        variance = parameter_covariance(
            data,
            new.reshape(shape),
            (left / kept).reshape(*shape, 1),
            q.reshape(*shape, 1),
            np.array([[1.0 / kept]]),
        )[0, 0]
        explained = 1.0 - float(np.sum(weights.ravel() * new**2)) / squares if squares > 0.0 else 0.0
        change = moments.along @ (inverse @ (Q.T @ s))[:k] * size
        bias = float(np.max(np.abs(change) / deviations, initial=0.0))
        suspect = Suspect(
            column.cause, column.signal, size, float(np.sqrt(variance)), column.unit, explained, bias
        )
        counts = explained > _FURTHER if before else explained > _EXPLAINED or bias > _BIAS
        if column.cause == "gear" and abs(size) < _SMALLEST_GEAR:
            counts = False
        if counts and abs(size) > _CERTAIN * suspect.deviation:
            result.append(_Tested(suspect, column, float(np.linalg.norm(data.Y @ (now - change)))))
    if not result:
        return None
    least = 1.0 - max(tested.suspect.explained for tested in result)
    alike = [tested for tested in result if 1.0 - tested.suspect.explained <= _ALIKE * least + _EQUAL]
    return min(alike, key=lambda tested: tested.away)


def find_suspects(
    estimator: Estimator, samples: Sequence[Samples], causes: Sequence[str] = FORCE_CAUSES
) -> tuple[Suspect, ...]:
    """Faults that the residuals of a fit show, the one that explains most first.

    Args:
        estimator: after `fit`.
        samples: what it was fitted to.
        causes: of `CAUSES`.
    """
    columns = _columns(estimator, samples, causes)
    chosen: list[_Tested] = []
    while len(chosen) < _MOST:
        names = [(tested.suspect.cause, tested.suspect.signal) for tested in chosen]
        left = [column for column in columns if (column.cause, column.signal) not in names]
        best = _best(estimator, left, [tested.column for tested in chosen])
        if best is None:
            break
        chosen.append(best)
    return tuple(tested.suspect for tested in chosen)


# ---- faults that are estimated with the parameters


@dataclass(frozen=True)
class EstimatedFault:
    """A fault that was estimated with the parameters and taken back.

    Attributes:
        cause: one of `ESTIMATED`.
        signal: what is concerned.
        size: SI units.
        deviation: of the size.
        unit: of both; "" for a ratio.
    """

    cause: str
    signal: str
    size: float
    deviation: float
    unit: str

    def describe(self) -> str:
        """What was taken back."""
        return f"taken back: {_sentence(self.cause, self.signal, self.size, self.deviation, self.unit)}"


def check_causes(robot: Robot, estimate: Sequence[str]) -> tuple[str, ...]:
    """Causes that are to be estimated: "delay", or with the name of an actuator "scale:left.motor".

    Raises:
        IdentificationError: if one is not known.
    """
    names = [actuator.name for actuator in robot.actuators]
    for text in estimate:
        cause, colon, name = text.partition(":")
        if cause not in ESTIMATED:
            raise IdentificationError(f"{cause!r} cannot be estimated; {did_you_mean(cause, ESTIMATED)}")
        if colon and (cause == "delay" or name not in names):
            known = "a delay is that of all forces" if cause == "delay" else did_you_mean(name, names)
            raise IdentificationError(f"{text!r} names no actuator; {known}")
    return tuple(dict.fromkeys(estimate))


def without_faults(measurement: Measurement, faults: Sequence[EstimatedFault]) -> Measurement:
    """The measurement as it would be without some faults."""
    q, tau, delay = measurement.q.copy(), measurement.tau.copy(), measurement.delay
    # A controller leads the encoder along its reference: both have the encoder's fault.
    reference = None if measurement.reference is None else measurement.reference.copy()
    coordinates = [q] if reference is None else [q, reference]
    names = [actuator.name for actuator in measurement.robot.actuators]
    # A force is recorded as (1 + scale) force + offset.
    for fault in sorted(faults, key=lambda fault: fault.cause == "scale"):
        name = fault.signal.partition(".")[2]
        if fault.cause == "delay":
            delay += fault.size
        elif fault.cause == "offset":
            tau[:, names.index(name)] -= fault.size
        elif fault.cause == "scale":
            tau[:, names.index(name)] /= 1.0 + fault.size
        for values in coordinates:
            if fault.cause == "zero":
                values[:, names.index(name)] -= fault.size
            elif fault.cause == "gear":
                values[:, names.index(name)] /= 1.0 + fault.size
    return replace(measurement, q=q, tau=tau, reference=reference, delay=delay)


def estimate_with_faults(
    estimator: Estimator,
    runs: Sequence[Measurement],
    preparation: Preparation | None,
    causes: Sequence[str],
    report: Callable[[float], None] = lambda part: None,
) -> tuple[list[Samples], tuple[EstimatedFault, ...]]:
    """Fit an estimator together with faults of some causes, which are taken back from the measurements.

    Returns:
        The samples without the faults, and the faults. The covariance of the estimator's parameters includes
        that of the faults.

    Raises:
        IdentificationError: if they do not come to rest.
    """
    faults: tuple[EstimatedFault, ...] = ()
    samples = prepare(runs, preparation)
    # The same filters in all rounds.
    chosen = samples[0].preparation
    for k in range(_ROUNDS):
        if k:
            samples = prepare([without_faults(run, faults) for run in runs], chosen)
        estimator.fit(samples)
        kinds = [cause.partition(":")[0] for cause in causes]
        columns = [
            column
            for column in _columns(estimator, samples, kinds)
            if column.cause in causes or f"{column.cause}:{column.signal.partition('.')[2]}" in causes
        ]
        together = _fit_together(estimator, columns)
        count = len(estimator.coef_)
        with np.errstate(invalid="ignore"):
            deviations = np.sqrt(np.diag(together.covariance)[count:])
        ratios = np.array([column.unit == "" for column in columns])
        if not np.all(deviations < np.where(ratios, _UNKNOWN_RATIO, np.inf)):
            break
        former = {(fault.cause, fault.signal): fault.size for fault in faults}
        faults = tuple(
            EstimatedFault(
                column.cause,
                column.signal,
                _chain_sizes(column.cause, former.get((column.cause, column.signal), 0.0), float(size)),
                float(deviation),
                column.unit,
            )
            for column, size, deviation in zip(columns, together.sizes, deviations, strict=True)
        )
        report((k + 1) / _ROUNDS)
        if np.all(np.abs(together.sizes) <= _CONVERGED * deviations):
            estimator.coef_, estimator.residuals_ = together.coef, together.residuals
            infinite = ~np.isfinite(np.diag(estimator.covariance_))
            estimator.covariance_ = together.covariance[:count, :count]
            estimator.covariance_[infinite, infinite] = np.inf
            return samples, faults
    raise IdentificationError(
        f"{', '.join(causes)} cannot be estimated with the parameters from these data (all scales together "
        "are those of the parameters, all zeros nearly so): name one actuator, such as "
        f"{causes[-1].partition(':')[0]}:{samples[0].robot.actuators[0].name}, or estimate fewer faults"
    )


def _chain_sizes(cause: str, former: float, step: float) -> float:
    """The size of a fault after a further step: ratios are multiplied."""
    return (1.0 + former) * (1.0 + step) - 1.0 if cause in ("scale", "gear") else former + step
