"""What sightings determine of a camera and of displaced anchors, and what they do not.

The information J^T J of all unknowns, with those other than the camera's (anchors, poses) eliminated, is
diagonalised in the unknowns' own units (robot sizes, rad, focal lengths): an eigenvalue is 1 / sigma^2 of its
eigenvector. A direction without information (relative to rounding) is not determined, one whose sigma is
large is weak; both are named with their parts in all unknowns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nacelle.spatial.scalar import Array

# Singular values below this part of the largest are rounding.
_NOTHING = 1e-9
# A direction with a larger standard deviation, robot sizes or rad, is weak.
WEAK = 0.02


@dataclass(frozen=True, eq=False)
class CameraExcitation:
    """How well a camera is determined.

    Attributes:
        sigma: standard deviations along the principal directions, worst first, own units; infinite where
            nothing is determined.
        directions: these directions (k, k), rows, in own units.
        names: of the unknowns (k,).
    """

    sigma: Array
    directions: Array
    names: tuple[str, ...]

    @property
    def undetermined(self) -> tuple[str, ...]:
        """Labels of the directions about which the sightings say nothing."""
        return tuple(
            self._direction_label(row)
            for row, s in zip(self.directions, self.sigma, strict=True)
            if np.isinf(s)
        )

    @property
    def weak(self) -> tuple[str, ...]:
        """Labels of poorly determined directions, worst first, with their standard deviations."""
        return tuple(
            f"{self._direction_label(row)}: {s:.2g}"
            for row, s in zip(self.directions, self.sigma, strict=True)
            if s > WEAK and not np.isinf(s)
        )

    def _direction_label(self, row: Array) -> str:
        """The larger parts of a direction: "0.98 z - 0.17 ry"."""
        order = [k for k in np.argsort(-np.abs(row)) if abs(row[k]) > 0.1]
        sign = 1.0 if row[order[0]] > 0.0 else -1.0
        parts = [f"{sign * row[k]:+.2f} {self.names[k]}" for k in order]
        return " ".join(parts).removeprefix("+").replace(" +", " + ").replace(" -", " - ")


def jacobian_excitation(J: Array, units: Array, names: Sequence[str], count: int) -> CameraExcitation:
    """What a Jacobian (rows, unknowns) says of its first `count` unknowns.

    Args:
        J: of residuals without units.
        units: what each unknown counts in (unknowns,).
        names: of the first unknowns.
        count: how many of them.
    """
    scaled = J * units
    first, rest = scaled[:, :count], scaled[:, count:]
    if rest.shape[1]:
        # What the others can explain says nothing of the camera.
        Q, _ = np.linalg.qr(rest)
        first = first - Q @ (Q.T @ first)
    _, s, V = np.linalg.svd(first, full_matrices=False)
    with np.errstate(divide="ignore"):
        sigma = np.where(s > _NOTHING * s[0], 1.0 / s, np.inf)
    return CameraExcitation(sigma[::-1], V[::-1], tuple(names[:count]))
