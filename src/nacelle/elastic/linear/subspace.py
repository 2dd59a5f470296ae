"""Rates that the constraints allow: the null space of A (rows, r), with the gap that decides its rank.

Rows and columns are made pure numbers first: translations over the robot's size, elastic coordinates by the
size of their shape functions, so that the result does not depend on units or on the size of the robot. A
has the rank of its singular values above 1e-8 of the largest; those of overconstrained and redundant robots
that are zero are of the size of rounding, and what lies between (`kept`, `dropped`) says how clear the
decision is.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from nacelle.elastic.beam.functions import integral_of_product
from nacelle.elastic.extended import Extended
from nacelle.kinematics.mechanism.assembly import rate_scale
from nacelle.spatial.scalar import Array

# Singular values below this part of the largest are zero.
_RANK = 1e-8


class Subspace(NamedTuple):
    """A null space.

    Attributes:
        basis: N (r, k), its columns orthonormal in scaled rates.
        kept: smallest singular value that counts, over the largest.
        dropped: largest one that does not; 0 where there is none.
    """

    basis: Array
    kept: float
    dropped: float


@lru_cache(maxsize=64)
def rate_scales(extended: Extended) -> Array:
    """Sizes (r,) of rates: the robot's size for translations, 1 for rotations, shapes of unit size."""
    robot = extended.robot
    sizes = rate_scale(robot).tolist()
    for shapes in extended.shapes:
        for c in shapes.coordinates:
            moved = 0.0 if c.d is None else integral_of_product(c.d, c.d) / robot.size**2
            turned = 0.0 if c.r is None else integral_of_product(c.r, c.r)
            sizes.append(1.0 / float(np.sqrt(moved + turned)))
    for drive in extended.springs:
        sizes.append(1.0 if robot.joints[drive.joint].primitives[0].is_rotation else robot.size)
    return np.array(sizes)


def null_spaces(A: Array, scale: Array) -> list[Subspace]:
    """Null spaces of matrices (N, rows, r), which must be finite; `scale` (r,) are sizes of the rates."""
    if A.shape[-2] == 0:
        return [Subspace(np.diag(scale), np.inf, 0.0) for _ in A]
    _, values, right = np.linalg.svd(A * scale, full_matrices=True)
    result = []
    for sigma, V in zip(values, right, strict=True):
        size = max(float(sigma[0]), np.finfo(float).tiny)
        rank = int(np.count_nonzero(sigma > _RANK * size))
        dropped = float(sigma[rank]) / size if rank < len(sigma) else 0.0
        kept = float(sigma[rank - 1]) / size if rank else np.inf
        result.append(Subspace(scale[:, None] * V[rank:].T, kept, dropped))
    return result
