"""Validation: how well parameters predict forces of a motion that they were not estimated from.

Measured and predicted forces pass the same filter (`preparation`). The root mean square of their difference,
the residual, is compared with the noise floor: the standard deviation of the noise in the band that the
filter keeps, of the measured forces and of the encoders, which the predicted forces have through the
accelerations,

    floor_i^2 = s_i^2 * sum over k of h_k^2 + sum over j of M_ij^2 s_j^2 a^2

s_i^2 is the variance of a force's noise before the filter, taken as white and found from third differences of
the samples, h_k are the filter's coefficients, s_j^2 the variance of an encoder's noise (`encoder_noise`),
a^2 what the encoders' filter, two derivatives and h leave of it (`passed_noise`), and M = J_r^T M_x J_r
(rows, actuators) the inertia at the actuators as described. A right model leaves residuals as large as the
floor and uncorrelated in time. The test is that of Ljung and Box: with M samples and the autocorrelation r_l
at lag l,

    Q = M (M + 2) * sum over l = 1..L of r_l^2 / (M - l)

is distributed as chi^2 with L degrees of freedom if the residuals are white.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nacelle.dynamics.base_parameters.base_parameters import BaseParameters, base_parameters
from nacelle.dynamics.forward import mass_matrix
from nacelle.dynamics.jacobian import jacobian
from nacelle.identification.data.filters import decimation_filter, passed_noise
from nacelle.identification.data.measurement import Measurement
from nacelle.identification.data.preparation import Preparation, Samples, prepare
from nacelle.identification.estimation.estimator import Estimator
from nacelle.identification.estimation.regression import Regression, is_redundant, regression
from nacelle.model.robot import Robot
from nacelle.results import Plottable
from nacelle.spatial.scalar import Array

# States over which the inertia at the actuators is averaged.
_STATES = 100
# Lags L of the test of Ljung and Box.
_LAGS = 10
# Labels of `describe`: residuals up to this many times the floor are noise; without memory, up to this many
# times it and above this R^2 a row is predicted well.
NOISE_LEVEL_RATIO, NEAR_NOISE_RATIO, GOOD_SCORE = 1.5, 3.0, 0.95
# Forces are not explained if R^2 of all rows together is below the first number. Residuals of a row are
# small, whatever its R^2, up to the second number times the rms of its force: R^2 says nothing of a force
# that hardly varies.
_LOWEST_SCORE, _SMALL_RESIDUAL = 0.5, 0.1


@dataclass(frozen=True, eq=False, repr=False)
class Validation(Plottable):
    """Measured and predicted forces of a motion, filtered alike: M samples of each row.

    Attributes:
        robot: the robot.
        regression: the filtered data.
        predicted: predicted forces (M, rows), N or N m.
        floor: noise floor (rows,), N or N m; NaN for redundant robots, of which it is not found.
        files: the files of the measurements.
    """

    robot: Robot
    regression: Regression
    predicted: Array
    floor: Array
    files: tuple[str, ...] = ()

    @property
    def rows(self) -> tuple[str, ...]:
        """Names of the rows: actuators; for redundant robots coordinates of the reduced twist."""
        return self.regression.rows

    @property
    def measured(self) -> Array:
        """Measured forces (M, rows), N or N m."""
        return self.regression.force

    @property
    def residuals(self) -> Array:
        """Measured minus predicted forces (M, rows), N or N m; zero at samples that are not used."""
        return (self.measured - self.predicted) * self.regression.used[:, None]

    @property
    def rms(self) -> Array:
        """Root mean square of the residuals (rows,), N or N m."""
        return np.asarray(np.sqrt(np.mean(self.residuals[self.regression.used] ** 2, axis=0)))

    @property
    def relative(self) -> Array:
        """Root mean square of the residuals over the standard deviation of the measured force (rows,)."""
        force = self.measured[self.regression.used]
        size = np.std(force, axis=0)
        return np.asarray(self.rms / np.where(size > 0.0, size, 1.0))

    @property
    def score(self) -> float:
        """R^2 = 1 - sum e^2 / sum (f - mean f)^2 of all rows together, e residuals, f forces; 1 at best."""
        used = self.measured[self.regression.used]
        residuals = self.residuals[self.regression.used]
        return _score(np.sum(residuals**2), np.sum((used - np.mean(used, axis=0)) ** 2))

    @property
    def scores(self) -> Array:
        """R^2 of each row alone (rows,)."""
        variances = np.var(self.measured[self.regression.used], axis=0)
        return np.array([_score(*pair) for pair in zip(self.rms**2, variances, strict=True)])

    @property
    def ok(self) -> bool:
        """Whether the parameters explain the forces."""
        return not self.misfit

    @property
    def misfit(self) -> str:
        """Message that the parameters do not explain the forces; empty if they do.

        A row is not explained if its R^2 is at most 0: a constant force would predict it better. All rows
        together are not explained if their R^2 is below 0.5. A row is exempt if its residuals are at the
        noise floor, or at most a tenth of the rms of its force.
        """
        size = np.sqrt(np.mean(self.measured[self.regression.used] ** 2, axis=0))
        left = ~(self.ratio <= NOISE_LEVEL_RATIO) & ~(self.rms <= _SMALL_RESIDUAL * size)
        rows = [row for row, bad in zip(self.rows, left & ~(self.scores > 0.0), strict=True) if bad]
        if not rows and (self.score >= _LOWEST_SCORE or not np.any(left)):
            return ""
        worse = f"a constant force would predict {', '.join(rows)} better" if rows else "less than half"
        return (
            f"the parameters do not explain the forces: R^2 is {self.score:.3g}, {worse}; check the unit of "
            "time, the columns, units and signs of coordinates and forces, and that robot and data belong "
            "together (to overrule this, allow: misfit)"
        )

    @property
    def ratio(self) -> Array:
        """Root mean square of the residuals over the noise floor (rows,): about 1 at best."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.rms / self.floor)

    def autocorrelation(self, lags: int) -> Array:
        """Autocorrelation r_l of the residuals at the lags 1 to `lags`, in samples (lags, rows).

        Of M white residuals it has the standard deviation 1 / sqrt(M).
        """
        residuals, used = self.residuals, self.regression.used
        errors = (residuals - np.mean(residuals[used], axis=0)) * used[:, None]
        variance = np.sum(errors**2, axis=0)
        products = [
            sum(np.sum(errors[part][:-lag] * errors[part][lag:], axis=0) for part in self.regression.parts())
            for lag in range(1, lags + 1)
        ]
        return np.asarray(np.array(products) / np.where(variance > 0.0, variance, 1.0))

    @property
    def whiteness(self) -> Array:
        """Probability that white residuals have a Q of Ljung and Box as large as these (rows,)."""
        from scipy.special import chdtrc

        count = self.regression.count
        pairs = np.maximum(count - np.arange(1.0, _LAGS + 1.0), 1.0)
        total = np.sum(self.autocorrelation(_LAGS) ** 2 / pairs[:, None], axis=0)
        return np.asarray(chdtrc(_LAGS, count * (count + 2.0) * total))

    def describe(self) -> list[str]:
        """One sentence for each row: how well it is predicted, in percent and against the noise."""
        notes = []
        for k, row in enumerate(self.rows):
            ratio, relative = float(self.ratio[k]), float(self.relative[k])
            if np.isfinite(ratio) and ratio <= NOISE_LEVEL_RATIO:
                notes.append(f"{row}: predicted down to the noise (residual {ratio:.2f} times the noise)")
                continue
            is_small, is_white = relative <= np.sqrt(1.0 - GOOD_SCORE), self.whiteness[k] >= 0.01
            near = is_white and not ratio > NEAR_NOISE_RATIO
            quality = "predicted well" if near else "predicted for the most part"
            times = f", {ratio:.1f} times the noise" if np.isfinite(ratio) else ""
            memory = "" if is_white else "; they are correlated in time: the model misses a systematic effect"
            share = f"residuals {100.0 * relative:.1f} % of the force's variation"
            notes.append(f"{row}: {quality if is_small else 'predicted poorly'}, {share}{times}{memory}")
        return notes

    def data(self) -> dict[str, Any]:
        """Everything as plain data."""
        return {
            "robot": self.robot.name,
            "files": list(self.files),
            "samples": self.regression.count,
            "ok": self.ok,
            "score": self.score,
            "rows": [
                {
                    "name": row,
                    "rms": float(self.rms[k]),
                    "score": float(self.scores[k]),
                    "relative": float(self.relative[k]),
                    "floor": float(self.floor[k]),
                    "ratio": float(self.ratio[k]),
                    "whiteness": float(self.whiteness[k]),
                }
                for k, row in enumerate(self.rows)
            ],
            "words": self.describe(),
        }


def _score(squares: float, variation: float) -> float:
    """R^2 = 1 - squares / variation; if nothing varies, 1 without residuals and -inf with any."""
    if variation > 0.0:
        return float(1.0 - squares / variation)
    return 1.0 if squares == 0.0 else -np.inf


def validate(
    model: Robot | Estimator,
    measurements: Measurement | Sequence[Measurement],
    *,
    preparation: Preparation | None = None,
) -> Validation:
    """Compare forces that a model predicts with measured ones.

    Args:
        model: a robot, which predicts with its own parameters, or an estimator after `fit`.
        measurements: measurements of motions that the parameters were not estimated from.
        preparation: how signals are filtered; chosen from the data if None.
    """
    if isinstance(model, Estimator):
        model._require_fit()
    samples = prepare(measurements, preparation)
    if isinstance(model, Estimator):
        base, values = model.base_, model.coef_
    else:
        base = base_parameters(model)
        values = base.values
    return validation(samples, base, values)


def validation(samples: Sequence[Samples], base: BaseParameters, values: Array) -> Validation:
    """Compare the forces of prepared samples with the prediction by values of the base parameters (p,)."""
    data = regression(samples, base)
    files = tuple(dict.fromkeys(part.file for part in samples if part.file))
    return Validation(base.robot, data, data.Y @ values, noise_floor(samples), files)


def noise_floor(samples: Sequence[Samples]) -> Array:
    """Standard deviation of the residuals' noise in the band that decimation keeps (rows,), N or N m.

    White noise of forces and encoders is assumed. The variance of that of forces comes from the median of
    absolute third differences: these contain hardly anything of the motion, and the few large ones at steps
    of friction do not shift a median. NaN for redundant robots: their rows mix the forces of several
    actuators.
    """
    variances, lengths = [], []
    for part in samples:
        if is_redundant(part):
            return np.full(part.robot.motion.n, np.nan)
        # The median of |normal noise| is 0.6745 standard deviations; a third difference has the coefficients
        # 1 -3 3 -1, the sum of whose squares is 20.
        differences = np.abs(np.diff(part.tau, 3, axis=0))
        variance = (np.median(differences, axis=0) / 0.6745) ** 2 / 20.0
        factor = part.preparation.decimation or 1
        variances.append(variance * np.sum(decimation_filter(factor) ** 2) + _carried_variance(part, factor))
        lengths.append(len(part))
    return np.asarray(np.sqrt(np.average(variances, axis=0, weights=lengths)))


def _carried_variance(part: Samples, factor: int) -> Array:
    """Variance of the predicted forces that encoders make through the accelerations (actuators,)."""
    assert part.preparation.cutoff is not None
    indices = np.flatnonzero(part.motion.ok)
    x = part.motion.x[indices[:: max(1, len(indices) // _STATES)]]
    J = np.linalg.pinv(np.nan_to_num(jacobian(part.robot, x).inverse))
    M = np.swapaxes(J, 1, 2) @ mass_matrix(part.robot, x) @ J
    acceleration = part.noise * passed_noise(2, part.preparation.cutoff, factor, part.rate)
    return np.asarray(np.nanmean(np.sum((M * acceleration) ** 2, axis=2), axis=0))
