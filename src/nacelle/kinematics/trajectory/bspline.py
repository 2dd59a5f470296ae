"""B-splines through points, or near control points.

    x(t) = sum of B_i(t) c_i = c_0 + sum over i of C_i(t) (c_i - c_(i-1))                  m, rad
    q(t) = q_0 exp(F_1(t) r_1) exp(F_2(t) r_2) ...,      exp(r_k) = q_(k-1)^-1 q_k

c_i control points, C_i cumulative B-splines of degree p (`basis`), F_k functions that step from 0 to 1
(`steps`). Derivatives are those of C_i and F_k: v = sum of C_i' (c_i - c_(i-1)), and each factor of q turns
about a fixed axis with F_k' r_k, so w and w' follow from the rule for products of rotations
(`rotation_path`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from nacelle.kinematics.trajectory.arguments import read_layout, read_points, read_times
from nacelle.kinematics.trajectory.base import Sample, Trajectory, joined_sample
from nacelle.kinematics.trajectory.basis import clamped_knots, cumulative, interpolant
from nacelle.kinematics.trajectory.error import TrajectoryError
from nacelle.kinematics.trajectory.steps import OrientationSpline, control_steps, interpolating_steps
from nacelle.model.platform import Motion
from nacelle.spatial.scalar import Array


class BSpline(Trajectory):
    """A B-spline of degree p, through points or near control points.

    Plain coordinates are x = sum of B_i(t) c_i with control points c_i. Orientations q_k, k = 0 .. N - 1, are
    joined by the cumulative form of the same spline (Kim, Kim, Shin, SIGGRAPH 1995),

        q(t) = q_0 exp(F_1(t) r_1) exp(F_2(t) r_2) ...,   exp(r_k) = q_(k-1)^-1 q_k,

    where F_k is the spline through 0 at the points before k and 1 from there on; for control points it is the
    cumulative B-spline. So q meets the points exactly, needs no chart and no iteration, is as smooth as the
    B-spline (p - 1 derivatives), and has w and w' in closed form, since each factor turns about a fixed axis.
    About one fixed axis it is the plain spline of the angle.
    """

    def __init__(
        self,
        points: ArrayLike,
        *,
        motion: Motion | str | list[str],
        degree: int = 5,
        times: ArrayLike | None = None,
        duration: float | None = None,
        speed: ArrayLike | None = None,
        rest: bool = True,
        interpolate: bool = True,
    ) -> None:
        """Make the spline.

        Args:
            points: reduced poses (N, nx) to go through, or control points.
            motion: motion type of the platform, or its text.
            degree: 3, 5 or 7 for interpolation from rest to rest, else 2 to 7. Without `rest`, and for
                control points, too few points lower it.
            times: times (N,) of the points, s, counted from the first (not for control points); or
            duration: s, the points equally spaced in time; or
            speed: nominal |v_i| from point to point, one number or (n,): m/s, rad/s (`scale_to_limits` makes
                it exact).
            rest: start and end with v = 0 and, but for interpolation of degree 3, a = 0. For control points
                the first and the last one are repeated to that end. Without it an interpolant is "not a knot"
                at its ends.
            interpolate: go through the points; otherwise they are control points.
        """
        layout = read_layout(motion)
        poses = read_points(layout, points)
        if interpolate:
            nominal = read_times(layout, poses, times, duration, speed)
            degree = _interpolating_degree(degree, len(poses), rest)
            knots, control = interpolant(poses[:, layout.linear_x], nominal, degree, rest)
        else:
            if times is not None:
                raise TrajectoryError("control points have no times (give the duration or the speed)")
            nominal = read_times(layout, poses, None, duration, speed)
            if rest:
                # Three control points in one place hold v and a at zero.
                poses = np.concatenate([poses[:1], poses[:1], poses, poses[-1:], poses[-1:]])
            degree = min(_degree(degree), len(poses) - 1)
            knots = clamped_knots(len(poses), degree, float(nominal[-1]))
            control = poses[:, layout.linear_x]
        self._degree, self._t = degree, knots
        self._control, self._rises = control, np.diff(control, axis=0)
        self._orientations: OrientationSpline | None = None
        if layout.quaternion is not None:
            steps = (
                interpolating_steps(nominal, degree, rest)
                if interpolate
                else control_steps(len(poses), degree)
            )
            self._orientations = OrientationSpline(poses[:, layout.quaternion], steps, degree)
        super().__init__(layout.motion, float(nominal[-1]), np.unique(knots))

    def inside(self, t: Array) -> Sample:
        """The motion at times (m,) that lie in [0, duration]."""
        first, C = cumulative(self._t, self._degree, t)
        rises = self._rises[first[:, None] + np.arange(self._degree)]
        x, v, a = (np.einsum("mj,mji->mi", part, rises) for part in C)
        rotation = None if self._orientations is None else self._orientations.motion(first, C)
        return joined_sample(self.layout, (self._control[first] + x, v, a), rotation)


def _interpolating_degree(degree: int, count: int, rest: bool) -> int:
    if not rest:
        return min(_degree(degree), count - 1)
    if degree not in (3, 5, 7):
        raise TrajectoryError(f"a spline of degree {degree} cannot go from rest to rest (3, 5 or 7 can)")
    return degree


def _degree(degree: int) -> int:
    if not 2 <= degree <= 7:
        raise TrajectoryError(f"the degree is {degree} (write 2 to 7)")
    return degree
