"""Essential parameters: those that the data distinguish from zero.

Setting base parameter i to zero moves the others and adds to the weighted squares of the residuals

    beta' = beta - C_i beta_i / C_ii,    C' = C - C_i C_i^T / C_ii,    chi^2 += beta_i^2 / C_ii

C the covariance, C_i its column i. The least of these is removed first, as long as the sum is one that chance
alone gives with a probability of 95 %: parameters that a model does without, with fewer numbers to compute
and to trust.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nacelle.identification.estimation.estimator import Estimator
from nacelle.spatial.scalar import Array

_LEVEL = 0.95


@dataclass(frozen=True, eq=False)
class Essential:
    """Estimates without those that may as well be zero.

    Attributes:
        names: of the base parameters that remain.
        removed: names of those that do not.
        coef: all base parameters (base parameters,), zero where they were removed.
        covariance: of all, zero where they were removed.
        chi_square: what the removal adds to the weighted squares of the residuals.
    """

    names: tuple[str, ...]
    removed: tuple[str, ...]
    coef: Array
    covariance: Array
    chi_square: float

    @property
    def std(self) -> Array:
        """Standard deviations (base parameters,)."""
        return np.asarray(np.sqrt(np.maximum(np.diag(self.covariance), 0.0)))


def essential(estimator: Estimator, level: float = _LEVEL) -> Essential:
    """Remove the parameters that the data of a fit do not distinguish from zero.

    Args:
        estimator: after `fit`.
        level: probability up to which what is lost may be chance.
    """
    from scipy.stats import chi2

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
        if lost + added[least] > chi2.ppf(level, len(removed) + 1):
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
    return Essential(tuple(kept), tuple(names[k] for k in sorted(removed)), coef, covariance, lost)
