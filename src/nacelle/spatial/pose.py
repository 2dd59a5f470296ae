"""Frames placed in frames: a pose is (R, p), R_a_b and the origin of b in a.

A point with coordinates x_b (3,) in frame b has x_a = R x_b + p in frame a, R (3, 3) a rotation, p (3,) in
metres. Poses are composed and inverted without 4 x 4 matrices:

    (R, p)_a_c = (R_a_b R_b_c,  R_a_b p_b_c + p_a_b)          (R, p)_b_a = (R^T, -R^T p)

and a reflection M (M M = 1, det M = -1) of both frames turns (R, p) into (M R M, M p), again a rotation.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nacelle.spatial.rounding import compose_poses
from nacelle.spatial.scalar import Array, plus, product


class Pose(NamedTuple):
    """A frame b placed in a frame a: x_a = R x_b + p, R of shape (3, 3), p (3,) in metres."""

    R: Array
    p: Array

    def __matmul__(self, other: Pose) -> Pose:
        """Compose: the pose of c in a from b in a and c in b."""
        if object not in (self.R.dtype, self.p.dtype, other.R.dtype, other.p.dtype):
            return Pose(*compose_poses(self.R, self.p, other.R, other.p))
        return Pose(product(self.R, other.R), plus(product(self.R, other.p), self.p))

    def inverse(self) -> Pose:
        """Pose of a in b."""
        return Pose(self.R.T, -product(self.R.T, self.p))


def identity() -> Pose:
    """The pose of a frame in itself."""
    return Pose(np.eye(3), np.zeros(3))
