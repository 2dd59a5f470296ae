"""What all estimators share: options, fit, prediction, score, and what an estimate is worth.

An estimator finds beta from weighted moments, Z (M, rows, k) instruments or Y itself, w (M, rows) weights:

    A (beta - beta_0) = sum_t Z_t^T W_t (b_t - Y_t beta_0) + Lambda (beta_p - beta_0)
    A = sum_t Z_t^T W_t Y_t + Lambda

beta_0 the robot's own numbers, beta_p and Lambda a prior, if there is one. Columns are scaled to a root mean
square of one, so that units do not matter; what the data do not excite at all (singular values of the scaled
Y below 1e-9 of the largest) stays at beta_0 and is named.

What is known before a measurement: parameters from CAD, each with a deviation.

Parameters z of CAD are independent, with deviations s_k; base parameters beta = K z have the mean K z and the
covariance K diag(s^2) K^T. As information it adds to that of the data: Lambda = (K diag(s^2) K^T)^-1.

How uncertain estimates are: the covariance of a linear estimator under noise that is not white.

An estimator solves the moments sum_t Q_t^T (b_t - Y_t beta) = 0, Q = W Z weighted instruments. Its error is
A^-1 s with

    A = sum_t Q_t^T Y_t,      s = sum_t Q_t^T e_t,      cov beta = A^-1 B A^-T,
    B = sum over t, l of  Q_t^T R_l Q_(t+l),            R_l = mean of e_t e_(t+l)^T

Errors e_t (rows,) of currents and, through Y, of encoders are coloured by filters and differ from row to row.
R_l (rows, rows) is estimated, for lags a little beyond the filter's length. For white noise this is the
textbook's sigma^2 (Y^T Y)^-1.

Residuals r = (1 - P Q^T) e, P = Y A^-1, are smaller than errors, most of all in the band of the motion, which
is where it matters. With S_l the matrix that has ones at the lags l and -l,

    mean of r_i^T S_l r_i  =  sum over k, m of  R_m^k tr((d_ik - P_i Q_k^T)^T S_l (d_ik - P_i Q_k^T) S_m)

is a linear system for the lags R_m^k of all rows k, whose solution has no such bias.

That takes errors to be alike at all times. They are not where friction changes its sign: there a small error
of the rate is a large one of the force. So the sum of the products of moments themselves is used as well,

    B' = sum over t, l of  k_l s_t s_(t+l)^T,      s_t = Q_t^T r_t,      k_l = 1 - |l| / 4

(Newey and West), and every parameter has the larger of the two variances.

Essential parameters: those that the data distinguish from zero.

Setting base parameter i to zero moves the others and adds to the weighted squares of the residuals

    beta' = beta - C_i beta_i / C_ii,    C' = C - C_i C_i^T / C_ii,    chi^2 += beta_i^2 / C_ii

C the covariance, C_i its column i. The least of these is removed first, as long as the sum is one that chance
alone gives with a probability of 95 %: parameters that a model does without, with fewer numbers to compute
and to trust.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple, Self

import numpy as np

from nacelle.dynamics.base_parameters.base_parameters import BaseParameters, base_parameters
from nacelle.dynamics.regressor import regressor
from nacelle.errors import IdentificationError, did_you_mean
from nacelle.identification.data.filters import HALF_LENGTH, long_run_covariance
from nacelle.identification.data.preparation import Samples
from nacelle.identification.estimation.regression import Regression, as_parts, regression
from nacelle.model.numbers import INERTIA_NAMES
from nacelle.one_thread import one_blas_thread
from nacelle.results import HasTable
from nacelle.spatial.scalar import Array


@dataclass(frozen=True)
class CadPrior:
    """The robot's own numbers as a prior.

    Attributes:
        deviation: of every parameter, over its value: 0.2 for 20 per cent.
    """

    deviation: float = 0.2

    def __post_init__(self) -> None:
        """Check the number."""
        if not (np.isfinite(self.deviation) and self.deviation > 0.0):
            raise IdentificationError(
                f"the deviation of a prior must be above zero (0.2 for 20 %), got {self.deviation:g}"
            )

    def information(self, base: BaseParameters) -> Array:
        """Lambda (base parameters, base parameters), the inverse of the prior's covariance; SI units."""
        deviations = self.deviation * _typical_magnitudes(base)
        covariance = (base.K * deviations**2) @ base.K.T
        scale = np.sqrt(np.diag(covariance))
        scale[scale == 0.0] = 1.0
        # A parameter that is zero in CAD is not known to be zero.
        scaled = covariance / np.outer(scale, scale)
        return np.asarray(np.linalg.pinv(scaled, hermitian=True) / np.outer(scale, scale))


def _typical_magnitudes(base: BaseParameters) -> Array:
    """A size for every chosen parameter: its value, or what its body would have for a zero."""
    values = np.abs(base.choice.values)
    names = base.choice.names
    index = {name: k for k, name in enumerate(names)}
    sizes = values.copy()
    length = base.robot.size
    for k, name in enumerate(names):
        body, _, kind = name.rpartition(".")
        if kind not in INERTIA_NAMES:
            continue
        mass = values[index[f"{body}.m"]] if f"{body}.m" in index else 0.0
        first = kind.startswith("m") and kind != "m"
        typical = mass * (1.0 if kind == "m" else (0.1 * length if first else (0.1 * length) ** 2))
        sizes[k] = max(values[k], typical)
    positive = sizes[sizes > 0.0]
    least = float(np.min(positive)) if positive.size else 1.0
    return np.where(sizes > 0.0, sizes, least)


# ---- how uncertain estimates are: the covariance of a linear estimator under noise that is not white


# Lags that count, in kept samples.
_LAGS = HALF_LENGTH + 3
# Degrees of freedom of residuals that come again with a motion, over their number, are taken to be so many at
# least: a motion with fewer equations than parameters shows nothing of what it lacks.
_LEAST_FREEDOM = 0.1
# The least variance along a direction, over that of white noise.
_SMALLEST_RATIO = 0.01


def parameter_covariance(data: Regression, residuals: Array, P: Array, Q: Array, D: Array) -> Array:
    """Covariance of parameters D times the sum of Q_t^T e_t.

    Args:
        data: the regression.
        residuals: of the fit (M, rows).
        P: Y A^-1 (M, rows, k).
        Q: weighted instruments (M, rows, k).
        D: A^-1 in the units of the parameters (parameters, k).
    """
    alike = D @ moment_covariance(data, residuals, P, Q) @ D.T
    variances = np.diag(alike)
    # B' (k, k) from the products of moments at near times.
    moments = np.einsum("tik,ti->tk", Q, residuals)
    repeats = data.repeats
    B = long_run_covariance([moments[part] for part in data.parts()], _LAGS, repeats)
    # Residuals that come again with a periodic motion count once; those of few equations are too small.
    count = distinct_equations(data)
    left = count - Q.shape[2]
    left = max(left, _LEAST_FREEDOM * count) if any(repeats) else max(left, 1.0)
    apart = np.einsum("ik,kl,il->i", D, B * (count / left), D)
    with np.errstate(divide="ignore", invalid="ignore"):
        growth = np.sqrt(np.where(apart > variances, apart / variances, 1.0))
    growth = np.where(np.isfinite(growth), growth, 1.0)
    return np.asarray(alike * np.outer(growth, growth))


def distinct_equations(data: Regression) -> float:
    """How many equations there are, those that come again with a periodic motion counted once."""
    pairs = zip(data.parts(), data.repeats, strict=True)
    counts = [data.count_in(part) / (1 + len(repeats)) for part, repeats in pairs]
    return len(data.rows) * sum(counts)


def moment_covariance(data: Regression, residuals: Array, P: Array, Q: Array) -> Array:
    """B (k, k): covariance of the sum of Q_t^T e_t.

    Args:
        data: the regression.
        residuals: of the fit (M, rows).
        P: Y A^-1 (M, rows, k).
        Q: weighted instruments (M, rows, k).
    """
    covariances = _autocovariance(data, residuals, P, Q)
    width = Q.shape[2]
    B, white = np.zeros((2, width, width))
    for part in data.parts():
        instruments = Q[part]
        for lag, R in enumerate(covariances[: len(instruments)]):
            weighted = np.einsum("tik,ij->tjk", instruments[: len(instruments) - lag], R)
            term = weighted.reshape(-1, width).T @ instruments[lag:].reshape(-1, width)
            B += term if lag == 0 else term + term.T
            white += term if lag == 0 else 0.0
    return _make_positive_definite(0.5 * (B + B.T), 0.5 * (white + white.T))


def _make_positive_definite(B: Array, white: Array) -> Array:
    """B (k, k) with a variance above zero along every direction.

    Sums that end at a lag can leave directions with a variance below zero, above all where noise grows with
    frequency. There it is the least part of `white`, what noise without memory would give.
    """
    scale = np.sqrt(np.maximum(np.diag(white), 0.0))
    scale[scale == 0.0] = 1.0
    units = np.outer(scale, scale)
    values, vectors = np.linalg.eigh(white / units)
    half = scale[:, None] * vectors * np.sqrt(np.maximum(values, 0.0))
    inverse = np.linalg.pinv(half)
    ratios, directions = np.linalg.eigh(inverse @ B @ inverse.T)
    root = half @ directions * np.sqrt(np.maximum(ratios, _SMALLEST_RATIO))
    return np.asarray(root @ root.T)


def _autocovariance(data: Regression, residuals: Array, P: Array, Q: Array) -> Array:
    """R_l (lags, rows, rows) of the errors, l = 0, 1, ..."""
    rows = len(data.rows)
    r = residuals * data.used[:, None]
    pairs = [float(np.sum(_lag_sum(data, data.used * 1.0, lag)[data.used])) for lag in range(_LAGS)]
    freedom = data.count * rows / max(data.count * rows - P.shape[2], 1)
    covariances = np.zeros((_LAGS, rows, rows))
    for lag in range(_LAGS):
        if pairs[lag]:
            # Over both lags, l and -l: the sum of a matrix and its transpose.
            both = r.T @ _lag_sum(data, r, lag)
            covariances[lag] = both * freedom / pairs[lag]
    unbiased = _unbiased_autocovariance(data, r, P, Q, pairs)
    for lag in range(_LAGS):
        np.fill_diagonal(covariances[lag], unbiased[:, lag])
    return covariances


def _unbiased_autocovariance(data: Regression, r: Array, P: Array, Q: Array, pairs: list[float]) -> Array:
    """R_l of every row alone (rows, lags), from the linear system at the head of the file."""
    rows, lags = len(data.rows), [lag for lag, count in enumerate(pairs) if count]
    size = len(lags)
    # S_l P and S_l Q for all rows: (lags, M, rows, k).
    shifted_P = np.stack([_lag_sum(data, P, lag) for lag in lags])
    shifted_Q = np.stack([_lag_sum(data, Q, lag) for lag in lags])
    inner_P = np.einsum("tik,atil->aikl", P, shifted_P, optimize=True).reshape(size, rows, -1)
    inner_Q = np.einsum("tik,atil->ailk", Q, shifted_Q, optimize=True).reshape(size, rows, -1)
    system = np.einsum("aim,bkm->iakb", inner_P, inner_Q, optimize=True)
    once = np.einsum("atik,btik->iab", shifted_P, shifted_Q, optimize=True)
    seen = np.zeros((rows, size))
    for i in range(rows):
        system[i, :, i, :] += np.diag([pairs[lag] for lag in lags]) - 2.0 * once[i]
        for a, lag in enumerate(lags):
            seen[i, a] = float(r[:, i] @ _lag_sum(data, r[:, i], lag))
    values = np.zeros((rows, _LAGS))
    flat = np.linalg.lstsq(system.reshape(rows * size, -1), seen.ravel(), rcond=1e-10)[0]
    values[:, lags] = flat.reshape(rows, size)
    # With few samples the system may ask for a variance below zero: the residuals' own is the least.
    plain = np.sum(r**2, axis=0) / max(pairs[0], 1.0)
    weak = values[:, 0] < plain
    values[weak] = 0.0
    values[weak, 0] = plain[weak]
    return values


def _lag_sum(data: Regression, values: Array, lag: int) -> Array:
    """S_l times values (M, ...), within uninterrupted parts: those l samples later plus those l earlier."""
    if lag == 0:
        return values
    result = np.zeros_like(values)
    for part in data.parts():
        now, out = values[part], result[part]
        if len(now) > lag:
            out[:-lag] += now[lag:]
            out[lag:] += now[:-lag]
    return result


# ---- what all estimators share: options, fit, prediction, score, and what an estimate is worth


Data = Samples | Sequence[Samples] | Regression
# Directions with singular values below this part of the largest are not excited at all.
_NOT_EXCITED = 1e-9
# A deviation above this part of a parameter's size leaves it unidentified, and one above that, weak.
UNIDENTIFIED, WEAK = 1.0, 0.1


class Moments(NamedTuple):
    """The weighted moments of a fit, along directions of scaled parameters.

    Attributes:
        along: the directions (base parameters, k).
        Q: weighted instruments along them (M rows, k).
        inverse: of A (k, k).
        prior: Lambda (k, k).
        not_excited: directions (other, base parameters) that the data leave alone.
        weights: of the rows (M, rows).
    """

    along: Array
    Q: Array
    inverse: Array
    prior: Array
    not_excited: Array
    weights: Array


@dataclass(kw_only=True, eq=False, repr=False)
class Estimator(ABC, HasTable):
    """An estimator of base parameters, in scikit-learn's manner.

    Options are given to the constructor; what `fit` finds has a trailing underscore.

    Attributes:
        parameters: base parameters; those of the samples' robot, without assumptions, if None.
        prior: numbers from CAD with their deviations; none if None.
        base_: the base parameters.
        regression_: the data as a linear regression.
        coef_: estimates (base parameters,), SI units.
        covariance_: of the estimates; infinite on the diagonal where nothing was excited.
        residuals_: of the fit (M, rows), N or N m.
        noise_: standard deviation of the residuals (rows,).
        condition_: of the weighted regressor with columns scaled to one.
        not_excited_: names of parameters that this data leave at their old values.
        moments_: the weighted moments that gave the estimates.
    """

    parameters: BaseParameters | None = None
    prior: CadPrior | None = None
    base_: BaseParameters = field(init=False)
    regression_: Regression = field(init=False)
    coef_: Array = field(init=False)
    covariance_: Array = field(init=False)
    residuals_: Array = field(init=False)
    noise_: Array = field(init=False)
    condition_: float = field(init=False)
    not_excited_: tuple[str, ...] = field(init=False)
    moments_: Moments = field(init=False)

    # ---- scikit-learn's manner

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Options by name."""
        return {option.name: getattr(self, option.name) for option in fields(self) if option.init}

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
            IdentificationError: if the data are too few, or a motion cannot be simulated that is needed.
        """
        data = self._regression(X, y)
        self.base_, self.regression_ = data.base, data
        self._estimate(data, [] if isinstance(X, Regression) else as_parts(X))
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
        forces = []
        for part in as_parts(X):
            motion = part.motion.part(part.motion.ok)
            force = np.full(part.tau.shape, np.nan)
            form = regressor(part.robot, motion.x, motion.v, motion.a, parameters=self.base_)
            force[part.motion.ok] = form.Y @ self.coef_
            forces.append(force)
        return np.concatenate(forces)

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
        from scipy.special import stdtrit

        self._require_fit()
        if not 0.0 < level < 1.0:
            raise IdentificationError(f"the level of an interval lies between 0 and 1, got {level:g}")
        data = self.regression_
        freedom = max(data.count * len(data.rows) - len(self.coef_), 1)
        half = stdtrit(freedom, 0.5 + 0.5 * level) * self.std_
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
    def _estimate(self, data: Regression, samples: list[Samples]) -> None:
        """Find the estimates and their covariance; `samples` are those that made the data, if any."""

    def _regression(self, X: Data, y: Any) -> Regression:
        if isinstance(X, Regression):
            data = X
        else:
            parts = as_parts(X)
            if not parts:
                raise IdentificationError("there are no samples")
            base = self.parameters or base_parameters(parts[0].robot)
            data = regression(parts, base)
        if y is None:
            return data
        force = np.asarray(y, dtype=float)
        if force.shape != data.force.shape:
            raise IdentificationError(f"y has the shape {force.shape}, the regression {data.force.shape}")
        return replace(data, force=force)

    def _solve(self, data: Regression, Z: Array, weights: Array) -> None:
        """Estimate with instruments Z (M, rows, k) and weights (M, rows), and find the covariance."""
        self.moments_ = system = self._moments(data, Z, weights)
        Q = system.Q.reshape(*data.force.shape, -1)
        P = (data.Y @ system.along) @ system.inverse
        D = system.along @ system.inverse
        self.covariance_ = parameter_covariance(data, self.residuals_, P, Q, D) + D @ system.prior @ D.T
        # Parameters with a part along directions that were not excited.
        taking_part = np.any(np.abs(system.not_excited) > 1e-4, axis=0)
        self.not_excited_ = tuple(np.array(data.base.names)[taking_part].tolist())
        if self.prior is None:
            self.covariance_[taking_part, taking_part] = np.inf

    def _moments(self, data: Regression, Z: Array, weights: Array) -> Moments:
        """Estimate with instruments Z (M, rows, k) and weights (M, rows), without the covariance."""
        width = len(data.base)
        nominal = data.base.values
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
        step = inverse @ (Q.T @ (data.force - data.Y @ nominal).ravel())
        self.coef_ = nominal + along @ step
        self.residuals_ = (data.force - data.Y @ self.coef_) * data.used[:, None]
        self.noise_ = residual_deviation(data, self.residuals_)
        return Moments(along, Q, inverse, prior, Vt[~excited], weights)

    def _require_fit(self) -> None:
        if not hasattr(self, "coef_"):
            raise IdentificationError(f"{type(self).__name__} has no estimates yet: call fit first")

    def __repr__(self) -> str:
        """Give the class and the options that are not the default."""
        defaults = {option.name: option.default for option in fields(self)}
        changed = [
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if value != defaults[name] and name != "parameters"
        ]
        return f"{type(self).__name__}({', '.join(changed)})"


def residual_deviation(data: Regression, residuals: Array) -> Array:
    """Standard deviation of the residuals of every row (rows,), with degrees of freedom."""
    count = data.count
    freedom = max(count - len(data.base) / len(data.rows), 1.0)
    return np.asarray(np.sqrt(np.sum(residuals[data.used] ** 2, axis=0) / freedom))


# ---- essential parameters: those that the data distinguish from zero


@dataclass(frozen=True, eq=False)
class EssentialParameters:
    """Estimates without those that may as well be zero.

    Attributes:
        names: of the base parameters that remain.
        removed_names: names of those that do not.
        coef: all base parameters (base parameters,), zero where they were removed.
        covariance: of all, zero where they were removed.
        chi_square: what the removal adds to the weighted squares of the residuals.
    """

    names: tuple[str, ...]
    removed_names: tuple[str, ...]
    coef: Array
    covariance: Array
    chi_square: float

    @property
    def std(self) -> Array:
        """Standard deviations (base parameters,)."""
        return np.asarray(np.sqrt(np.maximum(np.diag(self.covariance), 0.0)))


@one_blas_thread
def essential_parameters(estimator: Estimator, level: float = 0.95) -> EssentialParameters:
    """Remove the parameters that the data of a fit do not distinguish from zero.

    Args:
        estimator: after `fit`.
        level: probability up to which what is lost may be chance.
    """
    from scipy.special import chdtri

    estimator._require_fit()
    names = estimator.base_.names
    coef, covariance = estimator.coef_.copy(), estimator.covariance_.copy()
    finite = np.isfinite(np.diag(covariance))
    covariance = np.where(np.isfinite(covariance), covariance, 0.0)
    left = [k for k in range(len(names)) if finite[k] and covariance[k, k] > 0.0]
    removed: list[int] = []
    lost = 0.0
    while left:
        added = coef[left] ** 2 / np.diag(covariance)[left]
        least = int(np.argmin(added))
        if lost + added[least] > chdtri(len(removed) + 1, 1.0 - level):
            break
        k = left.pop(least)
        lost += float(added[least])
        column = covariance[:, k].copy()
        coef -= column * (coef[k] / column[k])
        covariance -= np.outer(column, column) / column[k]
        removed.append(k)
        coef[removed] = 0.0
        covariance[removed] = 0.0
        covariance[:, removed] = 0.0
        # What the removal of others has determined entirely has nothing left to test.
        left = [j for j in left if covariance[j, j] > 0.0]
    kept = [name for k, name in enumerate(names) if k not in removed]
    return EssentialParameters(tuple(kept), tuple(names[k] for k in sorted(removed)), coef, covariance, lost)
