"""What is known of an estimate, as a root of its information: R with R^T R = C^-1.

C is the covariance of the estimate beta. R (beta - truth) has unit covariance, so |R (beta' - beta)| counts
by how many standard deviations another beta' differs. R is made by orthogonal matrices or by factors, never
by the normal equations Y^T Y, which lose half of the digits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nacelle.errors import IdentificationError
from nacelle.spatial.scalar import Array

# Eigenvalues of a matrix of correlations, over the largest: one that is negative by more is no rounding; the
# least that counts.
_INDEFINITE, _LEAST = 1e-6, 1e-10


def information_root_of_regression(Y: Any, sigma: Any = 1.0) -> Array:
    """R (parameters, parameters), upper triangular, of a regression Y beta = force + noise.

    Args:
        Y: (rows, parameters), or (samples, actuators, parameters).
        sigma: standard deviation of the noise: one, one an actuator (actuators,), or one a row.
    """
    import scipy.linalg

    Y = np.asarray(Y, dtype=float)
    whitened = (Y / np.broadcast_to(np.asarray(sigma, dtype=float), Y.shape[:-1])[..., None]).reshape(
        -1, Y.shape[-1]
    )
    if not np.all(np.isfinite(whitened)):
        raise IdentificationError("the regressor has rows that are not finite; leave those samples out")
    R = scipy.linalg.qr(whitened, mode="r")[0]
    return np.asarray(R[: Y.shape[-1]])


def information_root_of_covariance(covariance: Any) -> Array:
    """R of a covariance C (parameters, parameters); an infinite variance says that nothing is known."""
    C = np.array(covariance, dtype=float)
    if C.ndim != 2 or C.shape[0] != C.shape[1]:
        raise IdentificationError(f"a covariance is a square matrix, not of shape {C.shape}")
    seen = np.isfinite(np.diag(C))
    part = C[np.ix_(seen, seen)]
    if not np.all(np.isfinite(part)):
        raise IdentificationError("the covariance has entries that are not finite")
    part = 0.5 * (part + part.T)
    sigma = np.sqrt(np.maximum(np.diag(part), 0.0))
    if np.any(sigma == 0.0):
        index = int(np.flatnonzero(seen)[np.argmin(sigma)])
        raise IdentificationError(
            f"the variance of base parameter {index} is zero: leave out what was not estimated (infinite "
            "variance), or give it the variance that it has"
        )
    R = np.zeros((len(part), len(C)))
    R[:, seen] = _whitening_matrix(part / np.outer(sigma, sigma)) / sigma
    return R


def _whitening_matrix(correlation: Array) -> Array:
    """R with R^T R the inverse of a correlation matrix.

    Rounding, and sums over samples that end at a lag, can leave a matrix with eigenvalues of zero or a little
    below: they are raised to a part of the largest that is more than any experiment knows.
    """
    import scipy.linalg

    try:
        L = np.linalg.cholesky(correlation)
        return np.asarray(scipy.linalg.solve_triangular(L, np.eye(len(L)), lower=True))
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(correlation)
        if values[0] < -_INDEFINITE * values[-1]:
            raise IdentificationError(
                "the covariance has negative eigenvalues: it is that of no estimate"
            ) from None
        return np.asarray((vectors / np.sqrt(np.maximum(values, _LEAST * values[-1]))).T)


def standard_deviations(root: Array) -> Array:
    """Standard deviation of every parameter (parameters,) from R; infinite where nothing determines it."""
    size = np.linalg.norm(root, axis=0)
    unit = np.where(size > 0.0, size, 1.0)
    _, values, rows = np.linalg.svd(root / unit, full_matrices=True)
    full = np.zeros(len(unit))
    full[: len(values)] = values
    null = full <= 1e-13 * max(float(full[0]), 1e-300)
    weak = np.linalg.norm(rows[null], axis=0) > 1e-6
    with np.errstate(divide="ignore"):
        sigma = np.linalg.norm(rows[~null] / full[~null, None], axis=0) / unit
    return np.where(weak, np.inf, sigma)
