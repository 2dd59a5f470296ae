"""Round and round in any two coordinates, or back and forth in one.

    c = e_1 cos phi + e_2 sin phi,      phi = 2 pi turns s(t)

about a pose, e_1 and e_2 (n,) in the coordinates of the motion, m and rad (rotations as rotation vectors in
base axes), s a timing law. For robots whose platform has no two translations; others take `Circle`.
"""

from __future__ import annotations

import math

import numpy as np

from nacelle.kinematics.trajectory.base import Sample, Trajectory, sample_about
from nacelle.kinematics.trajectory.timing import Timing
from nacelle.model.platform import Motion
from nacelle.spatial.scalar import Array


class Round(Trajectory):
    """An ellipse in two coordinates about a pose; with e_2 = 0 a swing in one.

    Args:
        center: reduced pose (nx,).
        axes: e_1 and e_2 (2, n), m and rad.
        motion: motion type of the platform.
        turns: how often.
        timing: the law s(t).
    """

    def __init__(self, center: Array, axes: Array, *, motion: Motion, turns: float, timing: Timing) -> None:
        self._center, self._axes, self._law = np.asarray(center), np.asarray(axes), timing
        self._angle = 2.0 * math.pi * turns
        turning = np.linspace(0.0, timing.duration, max(2, math.ceil(4 * turns) + 1))
        super().__init__(motion, timing.duration, np.unique(np.concatenate([timing.knots, turning])))

    def inside(self, t: Array) -> Sample:
        """The motion at times (m,) that lie in [0, duration]."""
        s, ds, dds = (part[:, None] for part in self._law.inside(t))
        angle, rate, change = self._angle * s, self._angle * ds, self._angle * dds
        first, second = self._axes
        outward = np.cos(angle) * first + np.sin(angle) * second
        along = np.cos(angle) * second - np.sin(angle) * first
        return sample_about(
            self.layout, self._center, (outward, rate * along, change * along - rate * rate * outward)
        )
