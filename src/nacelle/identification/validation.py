"""Validation: how well parameters predict forces of a motion that they were not estimated from.

Measured and predicted forces pass the same filter (`preparation`). Besides the root mean square of their
difference stands the floor: the noise of the measured forces in the band that the filter keeps, from their
differences from sample to sample,

    floor^2 = N_0 * sum of h_k^2          N_0 variance of white noise, h the filter's coefficients

A model that is right leaves residuals of the floor's size, without memory (Ljung and Box: n (n + 2) times
the sum of squared autocorrelations over n - l follows chi^2 for white residuals).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nacelle.dynamics.base_parameters.base_parameters import BaseParameters, base_parameters
from nacelle.identification.data.filters import decimation_filter
from nacelle.identification.data.measurement import Measurement
from nacelle.identification.data.preparation import Preparation, Samples, prepare
from nacelle.identification.estimation.estimator import Estimator
from nacelle.identification.estimation.regression import Regression, is_redundant, regression
from nacelle.model.robot import Robot
from nacelle.results import Plottable
from nacelle.spatial.scalar import Array

# Lags of the test for memory.
_LAGS = 10
# What is said of residuals: at the floor up to this ratio; of forces: described well above this R^2.
NOISE_LEVEL_RATIO, GOOD_SCORE = 1.5, 0.95
# Forces are not explained below this R^2 of all together; residuals of a row below this part of its force are
# small, even where that hardly varies.
_LOWEST_SCORE, _SMALL_RESIDUAL = 0.5, 0.1


@dataclass(frozen=True, eq=False, repr=False)
class Validation(Plottable):
    """Measured and predicted forces of a motion.

    Attributes:
        robot: the robot.
        regression: the filtered data.
        predicted: forces (M, rows), filtered alike.
        floor: noise of the measured forces in the same band (rows,); NaN where it was not found.
        files: that the measurements were read from.
    """

    robot: Robot
    regression: Regression
    predicted: Array
    floor: Array
    files: tuple[str, ...] = ()

    @property
    def rows(self) -> tuple[str, ...]:
        """Names of the rows: actuators, or coordinates of the reduced twist for redundant ones."""
        return self.regression.rows

    @property
    def measured(self) -> Array:
        """Measured forces (M, rows), N or N m."""
        return self.regression.force

    @property
    def residuals(self) -> Array:
        """Measured less predicted forces (M, rows), N or N m; zero where a sample does not count."""
        return (self.measured - self.predicted) * self.regression.used[:, None]

    @property
    def rms(self) -> Array:
        """Root mean square of the residuals (rows,), N or N m."""
        return np.asarray(np.sqrt(np.mean(self.residuals[self.regression.used] ** 2, axis=0)))

    @property
    def relative(self) -> Array:
        """Root mean square of the residuals over that of the forces' variation (rows,), a pure number."""
        force = self.measured[self.regression.used]
        size = np.std(force, axis=0)
        return np.asarray(self.rms / np.where(size > 0.0, size, 1.0))

    @property
    def score(self) -> float:
        """R^2 = 1 - sum e^2 / sum (f - mean f)^2 of all rows together; 1 at best."""
        used = self.measured[self.regression.used]
        off = self.residuals[self.regression.used]
        return _score(np.sum(off**2), np.sum((used - np.mean(used, axis=0)) ** 2))

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

        Not explained is a row of which R^2 is not above 0, a constant force would be better, and all rows
        together where R^2 is below 0.5. Residuals at the floor of noise, or of less than a tenth of a force
        that hardly varies, are not counted.
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
        """Residuals over the floor of noise (rows,): 1 at best."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.rms / self.floor)

    def autocorrelation(self, lags: int) -> Array:
        """Correlation of the residuals with themselves 1 to `lags` samples later (lags, rows).

        That of white residuals has a deviation of 1 / sqrt(samples that count).
        """
        residuals, used = self.residuals, self.regression.used
        off = (residuals - np.mean(residuals[used], axis=0)) * used[:, None]
        variance = np.sum(off**2, axis=0)
        products = [
            sum(np.sum(off[part][:-lag] * off[part][lag:], axis=0) for part in self.regression.parts())
            for lag in range(1, lags + 1)
        ]
        return np.asarray(np.array(products) / np.where(variance > 0.0, variance, 1.0))

    @property
    def whiteness(self) -> Array:
        """Probability that white residuals have as much memory as these (rows,)."""
        from scipy.stats import chi2

        count = self.regression.count
        pairs = np.maximum(count - np.arange(1.0, _LAGS + 1.0), 1.0)
        total = np.sum(self.autocorrelation(_LAGS) ** 2 / pairs[:, None], axis=0)
        return np.asarray(chi2.sf(count * (count + 2.0) * total, _LAGS))

    def describe(self) -> list[str]:
        """What the numbers say, in plain words."""
        notes = []
        for k, row in enumerate(self.rows):
            ratio, relative = float(self.ratio[k]), float(self.relative[k])
            if np.isfinite(ratio) and ratio <= NOISE_LEVEL_RATIO:
                notes.append(f"{row}: predicted down to the noise (residual {ratio:.2f} times the noise)")
                continue
            quality = "predicted well" if relative <= np.sqrt(1.0 - GOOD_SCORE) else "predicted poorly"
            times = f", {ratio:.1f} times the noise" if np.isfinite(ratio) else ""
            memory = (
                "; the residuals are correlated in time: the model misses a systematic effect"
                if self.whiteness[k] < 0.01
                else ""
            )
            notes.append(f"{row}: {quality}, residual {100.0 * relative:.1f} % of the force{times}{memory}")
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
    """R^2 = 1 - squares / variation; where nothing varies 1 or -inf."""
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
        model: a robot, whose own numbers predict, or an estimator after `fit`.
        measurements: of motions that the parameters were not estimated from.
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
    """Compare forces of prepared samples with those of base parameters (base parameters,)."""
    data = regression(samples, base)
    files = tuple(dict.fromkeys(part.file for part in samples if part.file))
    return Validation(base.robot, data, data.Y @ values, noise_floor(samples), files)


def noise_floor(samples: Sequence[Samples]) -> Array:
    """Deviation of the measured forces' noise in the band that the decimation keeps (rows,).

    White noise is assumed. Its strength is that of the median of third differences, in which hardly anything
    of the motion is left, and which steps of friction do not move.
    """
    variances, lengths = [], []
    for part in samples:
        if is_redundant(part):
            return np.full(part.robot.motion.n, np.nan)
        # Normal noise has a median of 0.6745 deviations; 20 is the sum of the squared coefficients 1 3 3 1.
        differences = np.abs(np.diff(part.tau, 3, axis=0))
        variance = (np.median(differences, axis=0) / 0.6745) ** 2 / 20.0
        coefficients = decimation_filter(part.preparation.decimation or 1)
        variances.append(variance * np.sum(coefficients**2))
        lengths.append(len(part))
    return np.asarray(np.sqrt(np.average(variances, axis=0, weights=lengths)))
