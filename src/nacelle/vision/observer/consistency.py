"""Is an observer right about its own errors: normalised squares against chi-square.

With the error e (k,) of an estimate and its covariance P, e^T P^-1 e (NEES) has the chi-square distribution
of k degrees; so has the normalised innovation squared r^T S^-1 r (NIS) with those of r. The sum over N
independent ones has N k degrees, and their average lies in

    [chi2(N k, 0.025), chi2(N k, 0.975)] / N          in 95 of 100 cases

(Bar-Shalom, Li, Kirubarajan, Estimation with applications to tracking and navigation, 2001, section 5.4).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nacelle.spatial.scalar import Array
from nacelle.vision.observer.update import Said, quantile


@dataclass(frozen=True)
class Consistency:
    """Normalised squares of several estimates or measurements.

    Attributes:
        average: for each degree of freedom; 1 where the covariance is right.
        interval: in which that lies in 95 of 100 cases, if it is.
        count: how many there are.
        rejected: how many of them were rejected as outliers; they do not count in the average.
    """

    average: float
    interval: tuple[float, float]
    count: int
    rejected: int = 0

    @property
    def ok(self) -> bool:
        """Whether the average lies in the interval."""
        return self.interval[0] <= self.average <= self.interval[1]


def chi_square_interval(degrees: int, outside: float = 0.05) -> tuple[float, float]:
    """Where a chi-square variable over its degrees lies, but for a probability of being outside."""
    tail = 0.5 * outside
    return quantile(degrees, 1.0 - tail) / degrees, quantile(degrees, tail) / degrees


def nees(error: Array, covariance: Array) -> Array:
    """Normalised estimation error squared e^T P^-1 e (...) of errors (..., k), covariances (..., k, k)."""
    scale = np.sqrt(np.diagonal(covariance, axis1=-2, axis2=-1))
    e, C = error / scale, covariance / (scale[..., :, None] * scale[..., None, :])
    return np.asarray(np.sum(e * np.linalg.solve(C, e[..., None])[..., 0], axis=-1))


def consistency(said: Sequence[Said]) -> Consistency:
    """How normalised innovations of measurements at several times compare with chi-square."""
    degrees = sum(one.degrees for one in said)
    each = [single for one in said for single in one.each]
    rejected = sum(not single.accepted for single in each)
    if not degrees:
        return Consistency(float("nan"), (0.0, float("inf")), 0, rejected)
    average = sum(one.nis for one in said) / degrees
    return Consistency(average, chi_square_interval(degrees), len(each) - rejected, rejected)
