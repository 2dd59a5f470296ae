"""Straight line: plain coordinates in proportion, the orientation about a fixed axis.

    x(t) = x_0 + s(t) d,      q(t) = exp(s(t) r) q_0,      0 <= s <= 1

d and r are the differences from start to end, in m and rad, r a rotation vector in base axes. With a timing
law s(t) (`timing`) v = s' [d; r] and dv/dt = s'' [d; r]: the axis is fixed, so there is no w x term. Limits
on |v_i| and |a_i| are limits on s' and s'', |d_i| s' <= V_i.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from nacelle.kinematics.trajectory.arguments import (
    displacements,
    nearest_signs,
    positive_limit,
    read_layout,
    read_pose,
)
from nacelle.kinematics.trajectory.base import Sample, Trajectory, joined_sample
from nacelle.kinematics.trajectory.error import TrajectoryError
from nacelle.kinematics.trajectory.timing import Timing, read_timing
from nacelle.model.platform import Motion
from nacelle.spatial.rotation_path import RotationMotion, quat_multiply, turn_motion
from nacelle.spatial.scalar import Array


class Line(Trajectory):
    """A straight line with a timing law s(t).

        x = x_0 + s d,   v = s' d,   a = s'' d

    for plain coordinates, and q = exp(s r) q_0, w = s' r for the orientation: the shorter turn, about an
    axis that stands still. d and r are the differences from start to end, in m and rad, base axes.
    """

    def __init__(
        self,
        start: ArrayLike,
        end: ArrayLike,
        *,
        motion: Motion | str | list[str],
        duration: float | None = None,
        speed: ArrayLike | None = None,
        acceleration: ArrayLike | None = None,
        timing: str | Timing = "quintic",
    ) -> None:
        """Make the line.

        Args:
            start: reduced pose (nx,) at time 0.
            end: reduced pose (nx,) at the end.
            motion: motion type of the platform, or its text.
            duration: time from start to end, s; or
            speed: limits on |v_i|, one number or (n,): m/s, rad/s;
            acceleration: limits on |a_i|, one number or (n,): m/s^2, rad/s^2.
            timing: "quintic", "cubic", "trapezoid", "bang-bang", "uniform", or a law with its own duration.
        """
        layout = read_layout(motion)
        ends = np.stack([read_pose(layout, start, "the start"), read_pose(layout, end, "the end")])
        poses = nearest_signs(layout, ends)
        self._start = poses[0]
        self._way = displacements(layout, poses)[0]
        self._law = read_timing(
            timing,
            duration,
            _progress_limit(self._way, None if speed is None else positive_limit(layout, speed, "the speed")),
            _progress_limit(
                self._way,
                None if acceleration is None else positive_limit(layout, acceleration, "the acceleration"),
            ),
        )
        super().__init__(layout.motion, self._law.duration, self._law.knots)

    def inside(self, t: Array) -> Sample:
        """The motion at times (m,) that lie in [0, duration]."""
        s, ds, dds = self._law.inside(t)
        linear, quat = self.layout.split_x(self._start)
        way, turn = self.layout.split_v(self._way)
        rotation = None
        if quat is not None and turn is not None:
            turned = turn_motion(turn, s, ds, dds)
            rotation = RotationMotion(quat_multiply(turned.quat, quat), turned.w, turned.dw)
        return joined_sample(
            self.layout, (linear + s[:, None] * way, ds[:, None] * way, dds[:, None] * way), rotation
        )


def _progress_limit(way: Array, limits: Array | None) -> float | None:
    """The limit on s' (or s'') that keeps |way_i s'| <= limit_i."""
    if limits is None:
        return None
    if not np.any(way):
        raise TrajectoryError("start and end are the same: no limit gives the duration (give it)")
    largest = float(np.max(np.abs(way) / limits))
    return 1.0 / largest if largest > 0.0 else math.inf
