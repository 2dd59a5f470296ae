"""Faults of a log that are estimated with the parameters and taken back from the measurement.

Columns of effects (`effects`) are estimated as further parameters; the faults are taken back from the
measurement, with all effects of second order, and what is left is estimated again until it stands.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from nacelle.errors import IdentificationError, did_you_mean
from nacelle.identification.data.measurement import Measurement
from nacelle.identification.data.preparation import Preparation, Samples, prepare
from nacelle.identification.effects import ESTIMATED, Column, effect_columns, sentence
from nacelle.identification.estimation.estimator import Estimator, parameter_covariance
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array

# A ratio, or the phase of a delay at the band of the motion, rad, that is known no better is not known.
_UNKNOWN_RATIO, _UNKNOWN_PHASE = 0.2, 0.25
# Estimations of faults end after so many rounds, or where they change by this part of their deviations.
_ROUNDS, _CONVERGED = 12, 0.1


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


def _fit_together(estimator: Estimator, columns: Sequence[Column]) -> _JointFit:
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
        return f"taken back: {sentence(self.cause, self.signal, self.size, self.deviation, self.unit)}"


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
    columns: list[Column] = []
    unknown: list[Column] = []
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
            for column in effect_columns(estimator, samples, kinds)
            if column.cause in causes or f"{column.cause}:{column.signal.partition('.')[2]}" in causes
        ]
        together = _fit_together(estimator, columns)
        count = len(estimator.coef_)
        with np.errstate(invalid="ignore"):
            deviations = np.sqrt(np.diag(together.covariance)[count:])
        limits = np.array([_known_within(column, samples[0].band) for column in columns])
        unknown = [column for column, known in zip(columns, deviations < limits, strict=True) if not known]
        if unknown:
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
    kinds = list(dict.fromkeys(column.cause for column in unknown or columns))
    hint = "record a faster or longer motion"
    if kinds != ["delay"]:
        example = f"{kinds[-1]}:{samples[0].robot.actuators[0].name}"
        hint = (
            "all scales together are those of the parameters, all zeros nearly so; name one actuator, such "
            f"as {example}, or estimate fewer faults"
        )
    raise IdentificationError(
        f"{', '.join(kinds)} cannot be estimated with the parameters from these data: {hint}"
    )


def _known_within(column: Column, band: float) -> float:
    """The deviation from which on a fault is unknown; of a delay by the band of the motion, Hz."""
    if column.cause == "delay":
        return _UNKNOWN_PHASE / (2.0 * np.pi * band)
    return _UNKNOWN_RATIO if column.unit == "" else np.inf


def _chain_sizes(cause: str, former: float, step: float) -> float:
    """The size of a fault after a further step: ratios are multiplied."""
    return (1.0 + former) * (1.0 + step) - 1.0 if cause in ("scale", "gear") else former + step
