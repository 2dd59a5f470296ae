"""Least squares: ordinary, weighted, iteratively reweighted.

    min over beta of  sum_t (b_t - Y_t beta)^T W_t (b_t - Y_t beta)          W_t diagonal

Ordinary: W = 1. Weighted: every row by the variance of its own residuals, from an ordinary fit, repeated.
Iteratively reweighted: besides, Huber's weights min(1, c / |r|) of residuals r in deviations, c = 1.345, so
that outliers count less. Errors of encoders in Y bias all three; `InstrumentalVariables` are free of that.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from nacelle.identification.data.preparation import Samples
from nacelle.identification.estimation.estimator import Estimator, residual_deviation
from nacelle.identification.estimation.regression import Regression
from nacelle.spatial.scalar import Array

# Huber's constant: 95 % efficient for normal noise.
_HUBER = 1.345
# Changes of weights below this part end the iteration.
_CONVERGED = 1e-6


class OrdinaryLeastSquares(Estimator):
    """Ordinary least squares: all rows count alike."""

    def _estimate(self, data: Regression, samples: list[Samples]) -> None:
        self._solve(data, data.Y, _equal_weights(data))


class WeightedLeastSquares(Estimator):
    """Least squares with every row weighted by the variance of its residuals."""

    def _estimate(self, data: Regression, samples: list[Samples]) -> None:
        self._solve(data, data.Y, row_weights(data, data.Y, self))


@dataclass(kw_only=True, eq=False, repr=False)
class ReweightedLeastSquares(Estimator):
    """Least squares with Huber's weights, so that outliers count less.

    Attributes:
        iterations: how often weights are found, at most.
        weights_: (M, rows), those of the last fit.
    """

    iterations: int = 50
    weights_: Array = field(init=False)

    def _estimate(self, data: Regression, samples: list[Samples]) -> None:
        weights = _equal_weights(data)
        self._moments(data, data.Y, weights)
        for _ in range(self.iterations):
            before = weights
            # The deviation of each row's residuals (rows,) by their median, which outliers hardly move.
            size = np.median(np.abs(self.residuals_[data.used]), axis=0) / 0.6745
            size = np.maximum(size, np.finfo(float).tiny)
            relative = np.abs(self.residuals_) / size
            weights = _equal_weights(data) * np.minimum(1.0, _HUBER / np.maximum(relative, 1e-12)) / size**2
            self._moments(data, data.Y, weights)
            if np.max(np.abs(weights - before)) <= _CONVERGED * np.max(weights):
                break
        self._solve(data, data.Y, weights)
        self.weights_ = weights


def row_weights(data: Regression, Z: Array, estimator: Estimator) -> Array:
    """Weights (M, rows): one over the variance of each row's residuals, from two fits with instruments Z."""
    weights = _equal_weights(data)
    for _ in range(2):
        estimator._moments(data, Z, weights)
        deviation = residual_deviation(data, estimator.residuals_)
        # Rows without noise must not take all the weight.
        deviation = np.maximum(deviation, 1e-3 * np.max(deviation) + np.finfo(float).tiny)
        weights = _equal_weights(data) / deviation**2
    return weights


def _equal_weights(data: Regression) -> Array:
    return np.where(data.used[:, None], 1.0, 0.0) * np.ones(len(data.rows))
