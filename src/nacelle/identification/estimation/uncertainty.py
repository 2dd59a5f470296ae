"""How uncertain estimates are: the covariance of a linear estimator under noise that is not white.

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
of the rate is a large one of the force. So beside it stands the sum of the products of moments themselves,

    B' = sum over t, l of  k_l s_t s_(t+l)^T,      s_t = Q_t^T r_t,      k_l = 1 - |l| / 4

(Newey and West), and every parameter has the larger of the two variances.
"""

from __future__ import annotations

import numpy as np

from nacelle.identification.data.filters import HALF_LENGTH
from nacelle.identification.estimation.regression import Regression
from nacelle.spatial.scalar import Array

# Lags that count, in kept samples.
_LAGS = HALF_LENGTH + 3
# The least variance along a direction, over that of white noise.
_LEAST = 0.01


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
    own = np.diag(alike)
    apart = np.einsum("ik,kl,il->i", D, _product_covariance(data, residuals, Q), D)
    with np.errstate(divide="ignore", invalid="ignore"):
        growth = np.sqrt(np.where(apart > own, apart / own, 1.0))
    growth = np.where(np.isfinite(growth), growth, 1.0)
    return np.asarray(alike * np.outer(growth, growth))


def _product_covariance(data: Regression, residuals: Array, Q: Array) -> Array:
    """B' (k, k) from the products of moments at near times."""
    moments = np.einsum("tik,ti->tk", Q, residuals)
    B = moments.T @ moments
    for lag in range(1, _LAGS):
        for part in data.parts():
            now = moments[part]
            term = now[:-lag].T @ now[lag:]
            B += (1.0 - lag / _LAGS) * (term + term.T)
    count = data.count * len(data.rows)
    return np.asarray(B * (count / max(count - Q.shape[2], 1)))


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
        now = Q[part]
        for lag, R in enumerate(covariances[: len(now)]):
            weighted = np.einsum("tik,ij->tjk", now[: len(now) - lag], R)
            term = weighted.reshape(-1, width).T @ now[lag:].reshape(-1, width)
            B += term if lag == 0 else term + term.T
            white += term if lag == 0 else 0.0
    return _positive(0.5 * (B + B.T), 0.5 * (white + white.T))


def _positive(B: Array, white: Array) -> Array:
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
    root = half @ directions * np.sqrt(np.maximum(ratios, _LEAST))
    return np.asarray(root @ root.T)


def _autocovariance(data: Regression, residuals: Array, P: Array, Q: Array) -> Array:
    """R_l (lags, rows, rows) of the errors, l = 0, 1, ..."""
    rows = len(data.rows)
    r = residuals * data.used[:, None]
    pairs = [float(np.sum(_shifted(data, data.used * 1.0, lag)[data.used])) for lag in range(_LAGS)]
    freedom = data.count * rows / max(data.count * rows - P.shape[2], 1)
    covariances = np.zeros((_LAGS, rows, rows))
    for lag in range(_LAGS):
        if pairs[lag]:
            # Over both lags, l and -l: the sum of a matrix and its transpose.
            both = r.T @ _shifted(data, r, lag)
            covariances[lag] = both * freedom / pairs[lag]
    own = _without_bias(data, r, P, Q, pairs)
    for lag in range(_LAGS):
        np.fill_diagonal(covariances[lag], own[:, lag])
    return covariances


def _without_bias(data: Regression, r: Array, P: Array, Q: Array, pairs: list[float]) -> Array:
    """R_l of every row alone (rows, lags), from the linear system at the head of the file."""
    rows, lags = len(data.rows), [lag for lag, count in enumerate(pairs) if count]
    size = len(lags)
    # S_l P and S_l Q for all rows: (lags, M, rows, k).
    shifted_P = np.stack([_shifted(data, P, lag) for lag in lags])
    shifted_Q = np.stack([_shifted(data, Q, lag) for lag in lags])
    inner_P = np.einsum("tik,atil->aikl", P, shifted_P, optimize=True).reshape(size, rows, -1)
    inner_Q = np.einsum("tik,atil->ailk", Q, shifted_Q, optimize=True).reshape(size, rows, -1)
    system = np.einsum("aim,bkm->iakb", inner_P, inner_Q, optimize=True)
    once = np.einsum("atik,btik->iab", shifted_P, shifted_Q, optimize=True)
    seen = np.zeros((rows, size))
    for i in range(rows):
        system[i, :, i, :] += np.diag([pairs[lag] for lag in lags]) - 2.0 * once[i]
        for a, lag in enumerate(lags):
            seen[i, a] = float(r[:, i] @ _shifted(data, r[:, i], lag))
    values = np.zeros((rows, _LAGS))
    flat = np.linalg.lstsq(system.reshape(rows * size, -1), seen.ravel(), rcond=1e-10)[0]
    values[:, lags] = flat.reshape(rows, size)
    # With few samples the system may ask for a variance below zero: the residuals' own is the least.
    plain = np.sum(r**2, axis=0) / max(pairs[0], 1.0)
    weak = values[:, 0] < plain
    values[weak] = 0.0
    values[weak, 0] = plain[weak]
    return values


def _shifted(data: Regression, values: Array, lag: int) -> Array:
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
