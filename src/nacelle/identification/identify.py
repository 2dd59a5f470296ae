"""Identification from measurements to parameters: check, prepare, estimate, lift, say what it is worth.

    measurement -> check_measurement -> prepare -> regression -> estimator -> consistent parameters -> robot

Nothing is estimated from data with faults, unless they are allowed by name.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import numpy as np

from nacelle.distribution import __version__
from nacelle.dynamics.base_parameters.base_parameters import BaseParameters, base_parameters
from nacelle.errors import IdentificationError, did_you_mean
from nacelle.identification.consistency.consistent import ConsistentParameters, project_estimate
from nacelle.identification.consistency.identified import identified_robot
from nacelle.identification.data.checks.check import check_measurement
from nacelle.identification.data.checks.findings import Findings
from nacelle.identification.data.measurement import Measurement
from nacelle.identification.data.preparation import Preparation, Samples, prepare
from nacelle.identification.effects import CAUSES
from nacelle.identification.estimated_faults import EstimatedFault, check_causes, estimate_with_faults
from nacelle.identification.estimation.closed_loop import DirectInverse, InstrumentalVariables
from nacelle.identification.estimation.estimator import (
    CadPrior,
    EssentialParameters,
    Estimator,
    distinct_equations,
    essential_parameters,
)
from nacelle.identification.estimation.least_squares import (
    OrdinaryLeastSquares,
    ReweightedLeastSquares,
    WeightedLeastSquares,
)
from nacelle.identification.suspects import FaultTests, HiddenFault, Suspect, try_faults
from nacelle.identification.tolerances import usual_tolerances
from nacelle.identification.validation import NOISE_LEVEL_RATIO, Validation, validation
from nacelle.model.robot import Robot
from nacelle.one_thread import one_blas_thread
from nacelle.results import Plottable
from nacelle.spatial.scalar import Array

METHODS: dict[str, type[Estimator]] = {
    "iv": InstrumentalVariables,
    "ols": OrdinaryLeastSquares,
    "wls": WeightedLeastSquares,
    "irls": ReweightedLeastSquares,
    "didim": DirectInverse,
}
# With what lines about an identification begin in the sources of a robot.
_IDENTIFIED = "identified: "
# Conditions of the scaled regressor above which excitation is worth a word, and above which it is poor.
_GOOD_CONDITION, _FAIR_CONDITION = 100.0, 1000.0
# Equations for each base parameter below which deviations are estimated from too little.
_EQUATIONS_PER_PARAMETER = 2.0
# Correlations above this tie two estimates together.
_STRONG_CORRELATION = 0.95


@dataclass(frozen=True, eq=False, repr=False)
class Identification(Plottable):
    """Estimated parameters of a robot, and what they are worth.

    Attributes:
        robot: the robot as described.
        estimator: after `fit`.
        samples: what it was fitted to.
        findings: what the checks of the measurements found.
        faults: of the log that were estimated with the parameters and taken back.
        measurements: what was measured, of which the samples were made.
        tolerance: standard deviation of lengths of the description, m; 0.001 of the robot's size if None.
    """

    robot: Robot
    estimator: Estimator
    samples: tuple[Samples, ...]
    findings: tuple[Findings, ...]
    faults: tuple[EstimatedFault, ...] = ()
    measurements: tuple[Measurement, ...] = ()
    tolerance: float | None = None

    def __post_init__(self) -> None:
        """Check the tolerance."""
        if self.tolerance is not None and not (np.isfinite(self.tolerance) and self.tolerance >= 0.0):
            raise IdentificationError(
                f"the tolerance of lengths must be zero or more metres, got {self.tolerance:g}"
            )

    @property
    def base(self) -> BaseParameters:
        """The base parameters."""
        return self.estimator.base_

    @cached_property
    def essential(self) -> EssentialParameters:
        """Estimates without those that the data do not distinguish from zero."""
        return essential_parameters(self.estimator)

    @cached_property
    def consistent(self) -> ConsistentParameters:
        """Parameters of all bodies that can be built, by the smallest change of the estimates."""
        return project_estimate(self.base, self.estimator.coef_, self.estimator.covariance_)

    def to_robot(self, name: str | None = None, *, force: bool = False) -> Robot:
        """The robot with the consistent parameters, which says where they come from (`sources`).

        Args:
            name: its name.
            force: also where the parameters are wrong (`ok`).

        Raises:
            IdentificationError: if the parameters do not explain the forces, if a fault of the log has biased
                them, or if nothing that can be built has them.
        """
        if not force:
            self.raise_if_wrong()
        robot = identified_robot(self.robot, self.consistent, name=name)
        # What an earlier identification says is of numbers that are replaced.
        kept = [source for source in robot.sources if not source.startswith(_IDENTIFIED)]
        return dataclasses.replace(robot, sources=(*kept, *self.provenance()))

    def provenance(self) -> tuple[str, ...]:
        """Where the parameters come from, a line an entry: date, version, method, data, fit, deviations."""
        estimator, fit = self.estimator, self.fit
        residuals = ", ".join(f"{row} {rms:.3g}" for row, rms in zip(fit.rows, fit.rms, strict=True))
        data = [
            f"data {run.source.file}, {len(run)} samples"
            + (f", SHA-256 {run.source.digest}" if run.source.digest else "")
            for run in self.measurements
        ]
        length, angle = usual_tolerances(self.robot, self.tolerance)
        columns = (self.base.names, estimator.coef_, estimator.std_, self.systematic)
        estimates = [
            f"{name} {value:.6g} +- {std:.2g} +- {systematic:.2g}"
            for name, value, std, systematic in zip(*columns, strict=True)
        ]
        return tuple(
            _IDENTIFIED + line
            for line in (
                f"{datetime.now(UTC).date()}, nacelle {__version__}, robot {self.robot.name} "
                f"{self.robot.hash[:16]}, method {type(estimator).__name__}",
                *data,
                f"{estimator.regression_.count} samples of {len(estimator.regression_.rows)} forces used, "
                f"R^2 {fit.score:.6g}, condition {estimator.condition_:.4g}; residuals, SI: {residuals}",
                f"base parameters with standard deviations by noise, and by lengths known to {length:.2g} m "
                f"and zeros known to {angle:.2g} rad, SI: {'; '.join(estimates)}",
                *(fault.describe() for fault in self.faults),
            )
        )

    @cached_property
    def fit(self) -> Validation:
        """Measured and predicted forces of the data that were fitted."""
        return validation(self.samples, self.base, self.estimator.coef_)

    @property
    def ok(self) -> bool:
        """Whether the parameters explain the forces, and no fault of the log has biased them."""
        return self.fit.ok and not any(suspect.is_material for suspect in self.suspects)

    @property
    def suspects(self) -> tuple[Suspect, ...]:
        """Faults of the log or the description that the residuals show, the most certain first."""
        return self._fault_tests.suspects

    @property
    def hidden(self) -> tuple[HiddenFault, ...]:
        """Faults of ordinary size that parameters would take up, so that these data would not show them."""
        return self._fault_tests.hidden

    @property
    def systematic(self) -> Array:
        """Deviations that errors of the described geometry add to estimates (base parameters,), SI units.

        Lengths and anchors are known to the `tolerance`, angles and zeros of encoders to that over the
        robot's size: 0.001 rad if it is None. Intervals and `std_` of the estimator take them as exact.
        """
        return self._fault_tests.geometry.deviations(*usual_tolerances(self.robot, self.tolerance))

    @cached_property
    def _fault_tests(self) -> FaultTests:
        estimated = {fault.cause for fault in self.faults}
        # Ripples below the noise are not sought: it takes long.
        if np.all(self.fit.ratio <= NOISE_LEVEL_RATIO):
            estimated.add("ripple")
        causes = [cause for cause in CAUSES if cause not in estimated]
        return try_faults(self.estimator, self.samples, causes, NOISE_LEVEL_RATIO * self.fit.floor)

    def raise_if_wrong(self, allow: Sequence[str] = ()) -> None:
        """Refuse parameters that are wrong, unless "misfit", "suspect" or "all" is allowed.

        Raises:
            IdentificationError: if they do not explain the forces, or a fault of the log has biased them.
        """
        raise_for_misfit(self.fit, allow)
        material = [suspect for suspect in self.suspects if suspect.is_material]
        if material and not {"suspect", "all"} & set(allow):
            raise IdentificationError(
                "the log has a fault that makes the parameters wrong (to overrule this, allow: suspect):\n"
                + "\n".join(suspect.describe() for suspect in material)
            )

    @property
    def excitation(self) -> str:
        """How well the motion excites the parameters: "good", "fair" or "poor"."""
        if self.estimator.not_excited_ or not self.estimator.condition_ <= _FAIR_CONDITION:
            return "poor"
        return "good" if self.estimator.condition_ <= _GOOD_CONDITION else "fair"

    def describe(self) -> list[str]:
        """What is not trustworthy, in plain words."""
        estimator = self.estimator
        notes = [self.fit.misfit] if self.fit.misfit else []
        notes += [fault.describe() for fault in self.faults]
        notes += [suspect.describe() for suspect in self.suspects]
        notes += [str(finding.problem(part.file)) for part in self.findings for finding in part]
        notes += [
            f"{part.file}: not checked: {reason}" for part in self.findings for reason in part.skipped_checks
        ]
        prepared = self.samples[0].preparation
        notes.append(
            f"motion up to {self.samples[0].band:.3g} Hz: encoder filter {prepared.cutoff:.3g} Hz, "
            f"decimation {prepared.decimation}, instruments from the {prepared.instruments} motion; "
            f"{estimator.regression_.count} samples of {len(estimator.regression_.rows)} forces used"
        )
        # What comes again with a periodic motion tells nothing new of what a model lacks.
        equations = distinct_equations(estimator.regression_)
        if equations < _EQUATIONS_PER_PARAMETER * len(self.base):
            notes.append(
                f"{equations:.0f} different equations are few for {len(self.base)} base parameters: standard "
                "deviations are rough; record longer, or a motion with more harmonics"
            )
        if self.hidden and not self.suspects:
            worst = {fault.cause: fault for fault in reversed(self.hidden)}
            notes.append(
                "these data would not show "
                + "; or ".join(fault.describe() for fault in self.hidden if worst[fault.cause] is fault)
                + ": rule them out, or estimate offsets and zeros with the parameters"
            )
        notes += self._describe_systematic()
        shaking = np.max([part.vibration for part in self.samples], axis=0)
        if np.any(shaking):
            most = int(np.argmax(shaking))
            unit = "rad/s" if self.robot.revolute_actuators[most] else "m/s"
            notes.append(
                f"actuator forces shake {self.robot.actuators[most].name} by {shaking[most]:.2g} {unit} "
                "above the cutoff of the encoder filter; lower encoder noise or controller gains would "
                "make dry friction more certain"
            )
        if self.excitation != "good":
            notes.append(
                f"the excitation is {self.excitation}: condition number of the scaled regressor "
                f"{estimator.condition_:.0f}, good is below {_GOOD_CONDITION:.0f} (`nacelle excite`)"
            )
        if estimator.not_excited_:
            notes.append("not excited, nominal value kept: " + ", ".join(estimator.not_excited_))
        missing = [name for name in estimator.unidentified_ if name not in estimator.not_excited_]
        if missing:
            notes.append(
                "not identified, standard deviation as large as the parameter: " + ", ".join(missing)
            )
        if estimator.weak_:
            notes.append("standard deviation above 10 %: " + ", ".join(estimator.weak_))
        notes += [
            f"{first} and {second} are strongly correlated ({value:.3f})"
            for first, second, value in self.correlated_pairs()[:10]
        ]
        distance = self._distance()
        if distance is not None and distance > 1e-3:
            bodies = (
                f"; at the boundary: {', '.join(self.consistent.active)}" if self.consistent.active else ""
            )
            notes.append(
                "the estimates are not physically consistent; the nearest consistent ones are "
                f"{distance:.2g} standard deviations away{bodies}"
            )
        return notes

    def _describe_systematic(self) -> list[str]:
        """What tolerances of the geometry add, where it is more than noise does."""
        systematic, std = self.systematic, self.estimator.std_
        ratio = np.divide(systematic, std, out=np.zeros_like(std), where=std > 0.0)
        worst = int(np.argmax(ratio))
        if not ratio[worst] > 1.0:
            return []
        length, angle = usual_tolerances(self.robot, self.tolerance)
        part = 100.0 * systematic[worst] / max(abs(self.estimator.coef_[worst]), abs(self.base.values[worst]))
        return [
            f"lengths known to {1e3 * length:.2g} mm, and angles and zeros of encoders to {angle:.2g} rad, "
            f"add systematic deviations: {systematic[worst]:.2g} to {self.base.names[worst]} ({part:.2g} %), "
            f"{ratio[worst]:.1f} times that of noise; {np.count_nonzero(ratio > 1.0)} of {len(ratio)} are "
            "larger than those of noise (state the tolerance of the machine: `--tolerance`, or calibrate it)"
        ]

    def _distance(self) -> float | None:
        try:
            return self.consistent.distance
        except IdentificationError:
            return None

    def correlated_pairs(self) -> list[tuple[str, str, float]]:
        """Pairs of base parameters whose estimates are strongly correlated, the strongest first."""
        correlation = self.estimator.correlation_
        names = self.base.names
        pairs = np.argwhere(np.triu(np.abs(correlation) > _STRONG_CORRELATION, 1))
        correlated = [(names[i], names[j], float(correlation[i, j])) for i, j in pairs]
        return sorted(correlated, key=lambda pair: -abs(pair[2]))

    def data(self) -> dict[str, Any]:
        """Everything as plain data."""
        estimator = self.estimator
        intervals = estimator.intervals()
        removed, systematic = set(self.essential.removed_names), self.systematic
        return {
            "robot": self.robot.name,
            "method": type(estimator).__name__,
            "samples": estimator.regression_.count,
            "condition": estimator.condition_,
            "excitation": self.excitation,
            "ok": self.ok,
            "score": self.fit.score,
            "parameters": [
                {
                    "name": name,
                    "grouping": grouping,
                    "described": float(self.base.values[k]),
                    "estimate": float(estimator.coef_[k]),
                    "std": float(estimator.std_[k]),
                    "systematic": float(systematic[k]),
                    "interval": intervals[k].tolist(),
                    "essential": name not in removed,
                }
                for k, (name, grouping) in enumerate(zip(self.base.names, self.base.groupings, strict=True))
            ],
            "not_excited": list(estimator.not_excited_),
            "unidentified": list(estimator.unidentified_),
            "weak": list(estimator.weak_),
            "consistent": {
                "distance": self.consistent.distance,
                "active": list(self.consistent.active),
                "parameters": dict(zip(self.consistent.names, self.consistent.values.tolist(), strict=True)),
            },
            "fit": self.fit.data(),
            "faults": [asdict(fault) for fault in self.faults],
            "suspects": [asdict(suspect) for suspect in self.suspects],
            "hidden": [asdict(fault) for fault in self.hidden],
            "words": self.describe(),
        }


@one_blas_thread
def identify(
    robot: Robot,
    measurements: Measurement | Sequence[Measurement],
    *,
    method: str | Estimator = "iv",
    assume: str | Sequence[str] = "undescribed",
    shared: object = None,
    share: str = "all",
    prior: CadPrior | None = None,
    preparation: Preparation | None = None,
    allow: Sequence[str] = (),
    estimate: Sequence[str] = (),
) -> Identification:
    """Identify the base parameters of a robot from measured motion and forces.

    The result is `ok` if the parameters explain the forces and no fault of the log has biased them; otherwise
    the first of its `words` say what to check.

    Args:
        robot: the robot as described.
        measurements: one or several runs (`read_measurement`).
        method: "iv" (instrumental variables), "ols", "wls", "irls", "didim", or an estimator with options.
        assume: what is always zero, as in `base_parameters`.
        shared: legs that share their parameters, as in `base_parameters`.
        share: which of their parameters: "all", or "inertia" without friction and springs.
        prior: numbers from CAD with their deviations; none if None.
        preparation: how signals are filtered; chosen from the data if None.
        allow: kinds of faults of the data that are overruled; "all" for all of them.
        estimate: faults of the log that are estimated with the parameters: "delay" of all forces, "offset"
            and "scale" of forces, "zero" and "gear" of encoders, of all or of one: "scale:left.motor".

    Raises:
        MeasurementError: if the data have faults that are not allowed.
        IdentificationError: if the data are too few.
    """
    causes = check_causes(robot, estimate)
    estimator = _make_estimator(method, prior)
    if estimator.parameters is None:
        estimator.set_params(parameters=base_parameters(robot, assume=assume, shared=shared, share=share))
    runs = [measurements] if isinstance(measurements, Measurement) else list(measurements)
    findings = []
    for measurement in runs:
        result = (
            check_measurement(measurement) if "all" not in allow else Findings(measurement.source.file, ())
        )
        result.raise_for_errors(allow)
        findings.append(result)
    if causes:
        samples, faults = estimate_with_faults(estimator, runs, preparation, causes)
        return Identification(robot, estimator, tuple(samples), tuple(findings), faults, tuple(runs))
    samples = prepare(runs, preparation)
    fitted = estimator.fit(samples)
    return Identification(robot, fitted, tuple(samples), tuple(findings), measurements=tuple(runs))


def raise_for_misfit(fit: Validation, allow: Sequence[str] = ()) -> None:
    """Refuse parameters that do not explain the forces, unless "misfit" or "all" is allowed.

    Raises:
        IdentificationError: with R^2 and what to check.
    """
    if fit.misfit and not {"misfit", "all"} & set(allow):
        raise IdentificationError(fit.misfit)


def _make_estimator(method: str | Estimator, prior: CadPrior | None) -> Estimator:
    if isinstance(method, Estimator):
        # A copy: the caller's own stays as it is, with its options, and may be used again.
        copy = type(method)(**method.get_params())
        return copy if prior is None else copy.set_params(prior=prior)
    if method not in METHODS:
        raise IdentificationError(f"there is no method {method!r}; {did_you_mean(method, METHODS)}")
    return METHODS[method](prior=prior)
