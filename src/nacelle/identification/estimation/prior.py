"""What is known before a measurement: parameters from CAD, each with a deviation.

Parameters z of CAD are independent, with deviations s_k; base parameters beta = K z have the mean K z and the
covariance K diag(s^2) K^T. As information it adds to that of the data: Lambda = (K diag(s^2) K^T)^-1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nacelle.dynamics.base_parameters.base_parameters import BaseParameters
from nacelle.errors import IdentificationError
from nacelle.model.numbers.parameters import INERTIA_NAMES
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
        deviations = self.deviation * _magnitudes(base)
        covariance = (base.K * deviations**2) @ base.K.T
        scale = np.sqrt(np.diag(covariance))
        scale[scale == 0.0] = 1.0
        # A parameter that is zero in CAD is not known to be zero.
        scaled = covariance / np.outer(scale, scale)
        return np.asarray(np.linalg.pinv(scaled, hermitian=True) / np.outer(scale, scale))


def _magnitudes(base: BaseParameters) -> Array:
    """A size for every chosen parameter: its value, or what its body would have for a zero."""
    values = np.abs(base.choice.values)
    names = base.choice.names
    place = {name: k for k, name in enumerate(names)}
    sizes = values.copy()
    length = base.robot.size
    for k, name in enumerate(names):
        body, _, kind = name.rpartition(".")
        if kind not in INERTIA_NAMES:
            continue
        mass = values[place[f"{body}.m"]] if f"{body}.m" in place else 0.0
        first = kind.startswith("m") and kind != "m"
        typical = mass * (1.0 if kind == "m" else (0.1 * length if first else (0.1 * length) ** 2))
        sizes[k] = max(values[k], typical)
    positive = sizes[sizes > 0.0]
    least = float(np.min(positive)) if positive.size else 1.0
    return np.where(sizes > 0.0, sizes, least)
