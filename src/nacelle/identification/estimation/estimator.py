"""What all estimators share: options, fit, prediction, score, and what an estimate is worth.

An estimator finds beta from weighted moments, Z (M, rows, k) instruments or Y itself, w (M, rows) weights:

    A (beta - beta_0) = sum_t Z_t^T W_t (b_t - Y_t beta_0) + Lambda (beta_p - beta_0)
    A = sum_t Z_t^T W_t Y_t + Lambda

beta_0 the robot's own numbers, beta_p and Lambda a prior, if there is one. Columns are scaled to a root mean
square of one, so that units do not matter; what the data do not excite at all (singular values of the scaled
Y below 1e-9 of the largest) stays at beta_0 and is named.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from nacelle.dynamics.base_parameters.base_parameters import BaseParameters, base_parameters
from nacelle.dynamics.regressor import regressor
from nacelle.errors import IdentificationError, did_you_mean
from nacelle.identification.data.preparation import Samples
from nacelle.identification.estimation.prior import CadPrior
from nacelle.identification.estimation.regression import Regression, regression
from nacelle.identification.estimation.uncertainty import parameter_covariance
from nacelle.pictures import Shown
from nacelle.spatial.scalar import Array

Data = Samples | Sequence[Samples] | Regression
# Directions with singular values below this part of the largest are not excited at all.
_NOT_EXCITED = 1e-9
# A deviation above this part of a parameter's size leaves it unidentified, and one above that, weak.
UNIDENTIFIED, WEAK = 1.0, 0.1


class _Moments(NamedTuple):
    """The weighted moments of a fit, along directions of scaled parameters.

    Attributes:
        along: the directions (base parameters, k).
        Q: weighted instruments along them (M rows, k).
        inverse: of A (k, k).
        prior: Lambda (k, k).
        not_excited: directions (other, base parameters) that the data leave alone.
    """

    along: Array
    Q: Array
    inverse: Array
    prior: Array
    not_excited: Array


class Estimator(ABC, Shown):
    """An estimator of base parameters, in scikit-learn's manner.

    Options are given to the constructor; `fit` finds, with a trailing underscore:

    Attributes:
        base_: the base parameters.
        regression_: the data as a linear regression.
        coef_: estimates (base parameters,), SI units.
        covariance_: of the estimates; infinite on the diagonal where nothing was excited.
        residuals_: of the fit (M, rows), N or N m.
        noise_: standard deviation of the residuals (rows,).
        condition_: of the weighted regressor with columns scaled to one.
        not_excited_: names of parameters that this data leave at their old values.
    """

    base_: BaseParameters
    regression_: Regression
    coef_: Array
    covariance_: Array
    residuals_: Array
    noise_: Array
    condition_: float
    not_excited_: tuple[str, ...]

    def __init__(self, *, parameters: BaseParameters | None = None, prior: CadPrior | None = None) -> None:
        """Keep the options.

        Args:
            parameters: base parameters; those of the samples' robot, without assumptions, if None.
            prior: numbers from CAD with their deviations; none if None.
        """
        self.parameters = parameters
        self.prior = prior

    # ---- scikit-learn's manner

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Options by name."""
        names = list(inspect.signature(type(self)).parameters)
        return {name: getattr(self, name) for name in names}

    def set_params(self, **options: Any) -> Self:
        """Change options.

        Raises:
            IdentificationError: if there is no such option.
        """
        for name, value in options.items():
            if name not in self.get_params():
                raise IdentificationError(
                    f"{type(self).__name__} has no option {name!r}; {did_you_mean(name, self.get_params())}"
                )
            setattr(self, name, value)
        return self

    def fit(self, X: Data, y: Any = None) -> Self:
        """Estimate the base parameters.

        Args:
            X: samples of motion and force (`prepare`), or their regression.
            y: other forces (M, rows) in the place of those of the regression; as a rule None.

        Raises:
            IdentificationError: if the data are too few.
        """
        data = self._regression(X, y)
        self.base_, self.regression_ = data.base, data
        self._estimate(data)
        return self

    def predict(self, X: Data) -> Array:
        """Forces of a motion.

        Returns:
            For one part of samples the forces of the actuators (N, actuators) at all samples, NaN where
            there is no pose; for a regression its rows (M, rows); of several parts one below the other.
        """
        self._require_fit()
        if isinstance(X, Regression):
            return np.asarray(X.Y @ self.coef_)
        parts = [X] if isinstance(X, Samples) else list(X)
        return np.concatenate([self._forces(part) for part in parts])

    def score(self, X: Data, y: Any = None) -> float:
        """The part of the filtered forces' variation that the motion explains: R^2, 1 at best."""
        self._require_fit()
        data = X if isinstance(X, Regression) else regression(X, self.base_)
        force = data.force if y is None else np.asarray(y, dtype=float)
        used = force[data.used]
        off = used - (data.Y @ self.coef_)[data.used]
        return float(1.0 - np.sum(off**2) / np.sum((used - np.mean(used, axis=0)) ** 2))

    # ---- what the estimates are worth

    @property
    def std_(self) -> Array:
        """Standard deviations of the estimates (base parameters,)."""
        return np.asarray(np.sqrt(np.diag(self.covariance_)))

    @property
    def correlation_(self) -> Array:
        """Correlations of the estimates (base parameters, base parameters)."""
        deviations = np.where(np.isfinite(self.std_) & (self.std_ > 0.0), self.std_, 1.0)
        finite = np.where(np.isfinite(self.covariance_), self.covariance_, 0.0)
        correlation = finite / np.outer(deviations, deviations)
        np.fill_diagonal(correlation, 1.0)
        return np.asarray(correlation)

    def intervals(self, level: float = 0.95) -> Array:
        """Intervals (base parameters, 2) that cover the true values with a probability `level`."""
        from scipy.stats import t

        self._require_fit()
        if not 0.0 < level < 1.0:
            raise IdentificationError(f"the level of an interval lies between 0 and 1, got {level:g}")
        data = self.regression_
        freedom = max(data.count * len(data.rows) - len(self.coef_), 1)
        half = t.ppf(0.5 + 0.5 * level, freedom) * self.std_
        return np.stack([self.coef_ - half, self.coef_ + half], axis=1)

    @property
    def relative_std_(self) -> Array:
        """Deviations over the size of each parameter: of the estimate or of the robot's own number."""
        size = np.maximum(np.abs(self.coef_), np.abs(self.base_.values))
        with np.errstate(divide="ignore"):
            return np.where(self.std_ == 0.0, 0.0, self.std_ / size)

    @property
    def unidentified_(self) -> tuple[str, ...]:
        """Names of base parameters that this data do not identify: the deviation is as large as they are."""
        return tuple(np.array(self.base_.names)[self.relative_std_ >= UNIDENTIFIED].tolist())

    @property
    def weak_(self) -> tuple[str, ...]:
        """Names of base parameters with a deviation between a tenth of their size and all of it."""
        relative = self.relative_std_
        return tuple(np.array(self.base_.names)[(relative >= WEAK) & (relative < UNIDENTIFIED)].tolist())

    # ---- for the estimators

    @abstractmethod
    def _estimate(self, data: Regression) -> None:
        """Find the estimates and their covariance."""

    def _regression(self, X: Data, y: Any) -> Regression:
        if isinstance(X, Regression):
            data = X
        else:
            parts = [X] if isinstance(X, Samples) else list(X)
            if not parts:
                raise IdentificationError("there are no samples")
            base = self.parameters or base_parameters(parts[0].robot)
            data = regression(parts, base)
        if y is not None:
            data = _with_force(data, y)
        return data

    def _solve(self, data: Regression, Z: Array, weights: Array) -> None:
        """Estimate with instruments Z (M, rows, k) and weights (M, rows), and find the covariance."""
        system = self._moments(data, Z, weights)
        Q = system.Q.reshape(*data.force.shape, -1)
        P = (data.Y @ system.along) @ system.inverse
        D = system.along @ system.inverse
        self.covariance_ = parameter_covariance(data, self.residuals_, P, Q, D) + D @ system.prior @ D.T
        self._mark_not_excited(system.not_excited)

    def _moments(self, data: Regression, Z: Array, weights: Array) -> _Moments:
        """Estimate with instruments Z (M, rows, k) and weights (M, rows), without the covariance."""
        width = len(data.base)
        own = data.base.values
        rows = weights[..., None]
        Y = (data.Y * np.sqrt(rows)).reshape(-1, width)
        scale = np.sqrt(np.mean(Y**2, axis=0))
        scale[scale == 0.0] = 1.0
        # The singular values of Y are those of its triangular factor, which is small.
        _, sizes, Vt = np.linalg.svd(np.linalg.qr(Y / scale, mode="r"))
        excited = sizes > _NOT_EXCITED * sizes[0]
        self.condition_ = float(sizes[0] / sizes[-1]) if sizes[-1] > 0.0 else np.inf
        # Without a prior nothing moves along what is not excited.
        V = np.eye(width) if self.prior is not None else Vt[excited].T
        along = V / scale[:, None]
        Q = (Z * rows).reshape(-1, width) @ along
        A = Q.T @ (data.Y.reshape(-1, width) @ along)
        prior = np.zeros_like(A)
        if self.prior is not None:
            prior = along.T @ self.prior.information(data.base) @ along
        inverse = np.linalg.inv(A + prior)
        step = inverse @ (Q.T @ (data.force - data.Y @ own).ravel())
        self.coef_ = own + along @ step
        self.residuals_ = (data.force - data.Y @ self.coef_) * data.used[:, None]
        self.noise_ = residual_deviation(data, self.residuals_)
        return _Moments(along, Q, inverse, prior, Vt[~excited])

    def _mark_not_excited(self, directions: Array) -> None:
        """Say which parameters have a part along directions (k, base parameters) that were not excited."""
        names = np.array(self.base_.names if hasattr(self, "base_") else ())
        taking_part = np.any(np.abs(directions) > 1e-4, axis=0) if len(directions) else np.zeros(0, bool)
        self.not_excited_ = tuple(names[taking_part].tolist()) if len(directions) else ()
        if len(directions) and self.prior is None:
            self.covariance_[taking_part, taking_part] = np.inf

    def _forces(self, part: Samples) -> Array:
        """Forces of the actuators (N, actuators) of one part."""
        motion = part.motion
        force = np.full(part.force.shape, np.nan)
        places = motion.ok
        form = regressor(
            part.robot, motion.x[places], motion.v[places], motion.a[places], parameters=self.base_
        )
        force[places] = form.Y @ self.coef_
        return force

    def _require_fit(self) -> None:
        if not hasattr(self, "coef_"):
            raise IdentificationError(f"{type(self).__name__} has no estimates yet: call fit first")

    def __repr__(self) -> str:
        """Give the class and the options that are not the default."""
        given = {
            name: value
            for name, value in self.get_params().items()
            if value != inspect.signature(type(self)).parameters[name].default
        }
        options = ", ".join(f"{name}={value!r}" for name, value in given.items() if name != "parameters")
        return f"{type(self).__name__}({options})"


def residual_deviation(data: Regression, residuals: Array) -> Array:
    """Standard deviation of the residuals of every row (rows,), with degrees of freedom."""
    count = data.count
    freedom = max(count - len(data.base) / len(data.rows), 1.0)
    return np.asarray(np.sqrt(np.sum(residuals[data.used] ** 2, axis=0) / freedom))


def _with_force(data: Regression, y: Any) -> Regression:
    import dataclasses

    force = np.asarray(y, dtype=float)
    if force.shape != data.force.shape:
        raise IdentificationError(f"y has the shape {force.shape}, the regression {data.force.shape}")
    return dataclasses.replace(data, force=force)
