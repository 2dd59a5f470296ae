"""B-splines through points, or near control points, and orientations along them.

    x(t) = sum of B_i(t) c_i = c_0 + sum over i >= 1 of C_i(t) (c_i - c_(i-1))             m, rad
    q(t) = q_0 exp(F_1(t) r_1) exp(F_2(t) r_2) ...,      exp(r_k) = q_(k-1)^-1 q_k

c_i control points, B_i B-splines of degree p on rising knots t_i (s), which sum up to 1, and C_i = sum over
j >= i of B_j: the form in differences alone, in which orientations are splined as well. F_k (`StepFunctions`)
step
from 0 to 1, so that q passes q_k where F_1 .. F_k are 1 and all later ones 0. Derivatives are those of C_i
and F_k: each factor of q turns about a fixed axis with F_k' r_k, so w and w' follow from the rule for
products of rotations.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from nacelle.model.platform import Motion
from nacelle.spatial.rotation import (
    RotationMotion,
    compose_motions,
    fixed_axis_motion,
    quat_conjugate,
    quat_log,
    quat_multiply,
)
from nacelle.spatial.scalar import Array
from nacelle.trajectory.base import (
    Sample,
    Trajectory,
    TrajectoryError,
    join_sample,
    read_layout,
    read_points,
    read_times,
)


class CumulativeSplines(NamedTuple):
    """Cumulative B-splines of degree p that change at times (m,).

    Attributes:
        first: the control point (m,) after which they follow.
        values: the p functions (m, p).
        rates: their derivatives (m, p), 1/s.
        changes: their second derivatives (m, p), 1/s^2.
    """

    first: Array
    values: Array
    rates: Array
    changes: Array

    def some(self, times: slice) -> CumulativeSplines:
        """Those at some of the times."""
        return CumulativeSplines(*(part[times] for part in self))


def cumulative_basis(knots: Array, degree: int, t: Array) -> CumulativeSplines:
    """Cumulative B-splines that change at times (m,), with two derivatives.

    With C_i = sum over j >= i of B_j, a spline is c_0 + sum over i of C_i (c_i - c_(i-1)). Of the control
    points those from index `first` on matter: the p functions C_(first + 1) to C_(first + p) change, those
    before are 1 and those after 0. Derivatives telescope:

        C_i' = p / (t_(i+p) - t_i) B_(i, p-1).
    """
    span = _span(knots, degree, t)
    indices = span[:, None] - degree + np.arange(1, degree + 1)
    values = np.cumsum(_basis(knots, degree, span, t)[:, :0:-1], axis=1)[:, ::-1]
    factor = degree / (knots[indices + degree] - knots[indices])
    rates = factor * _basis(knots, degree - 1, span, t)
    lower = _basis(knots, degree - 2, span, t) if degree > 1 else np.zeros((len(t), 0))
    # B_(i, p-1)' from the functions of degree p - 2 that do not vanish: those with i from span - p + 2.
    inner = indices[:, 1:]
    scaled = (degree - 1) * lower / (knots[inner + degree - 1] - knots[inner])
    none = np.zeros((len(t), 1))
    changes = factor * (np.hstack([none, scaled]) - np.hstack([scaled, none]))
    return CumulativeSplines(span - degree, values, rates, changes)


def basis_functions(knots: Array, degree: int, t: Array) -> tuple[Array, Array]:
    """B-splines that do not vanish at times (m,): places of the first (m,), values (m, degree + 1)."""
    span = _span(knots, degree, t)
    return span - degree, _basis(knots, degree, span, t)


def _span(knots: Array, degree: int, t: Array) -> Array:
    """The last knots (m,) at times or before, where a curve of a degree is."""
    return np.clip(np.searchsorted(knots, t, side="right") - 1, degree, len(knots) - degree - 2)


def _basis(knots: Array, degree: int, span: Array, t: Array) -> Array:
    """The degree + 1 B-splines that do not vanish between knots span and span + 1, (m, degree + 1).

    The recursion of Cox and de Boor: B_(i,d) = (t - t_i) / (t_(i+d) - t_i) B_(i,d-1)
    + (t_(i+d+1) - t) / (t_(i+d+1) - t_(i+1)) B_(i+1,d-1).
    """
    values = np.ones((len(t), 1))
    none = np.zeros((len(t), 1))
    for d in range(1, degree + 1):
        indices = span[:, None] - d + np.arange(1, d + 1)
        share = values / (knots[indices + d] - knots[indices])
        rising = (t[:, None] - knots[indices]) * share
        falling = (knots[indices + d] - t[:, None]) * share
        values = np.hstack([falling, none]) + np.hstack([none, rising])
    return values


def interpolant(values: Array, times: Array, degree: int, rest: bool) -> tuple[Array, Array]:
    """Knots and control points of the spline through values (N, count) at times, by banded equations.

    From rest to rest the first (degree - 1) / 2 derivatives vanish at both ends; otherwise the ends are
    "not a knot".
    """
    from scipy.interpolate import make_interp_spline

    ends = None
    if rest:
        zeros = [(order, np.zeros(values.shape[1])) for order in range(1, (degree + 1) // 2)]
        ends = (zeros, zeros)
    spline = make_interp_spline(times, values, k=degree, bc_type=ends)
    return np.asarray(spline.t, dtype=float), np.asarray(spline.c, dtype=float)


def clamped_knots(count: int, degree: int, end: float) -> Array:
    """Equally spaced knots (count + degree + 1,) from 0 to `end` for `count` control points, ends full."""
    inner = np.linspace(0.0, end, count - degree + 1)
    return np.concatenate([np.zeros(degree), inner, np.full(degree, end)])


# What lies outside the band of step functions is 0 or 1 within this.
_STEP_TOLERANCE = 1e-14
# Columns solved for at once, and times evaluated at once.
_CHUNK = 256
_TIMES = 4096


@dataclass(frozen=True, eq=False)
class StepFunctions:
    """Splines F_k, k = 1 .. N - 1, that step from 0 to 1 between point k - 1 and point k.

    F_k = sum of B_i(t) D_ik over the control points i: through points the spline through 0 before point k and
    1 from there on, so that about one fixed axis the sum of F_k r_k is the plain spline of the angle. It is 0
    or 1, to rounding, away from its step, so only a band is kept: column c of row i belongs to
    k = i - shift - width - p + c, p the degree.

    Attributes:
        band: D (control points, 2 (width + p) + 1).
        shift: control point k + shift has its place about point k.
        width: how many points away from its step a function still waves.
    """

    band: Array
    shift: int
    width: int


def control_steps(count: int, degree: int) -> StepFunctions:
    """Steps between control points: F_k = C_k, the cumulative B-splines themselves."""
    row = (np.arange(2 * degree + 1) <= degree).astype(float)
    return StepFunctions(np.tile(row, (count, 1)), 0, 0)


def interpolating_steps(times: Array, degree: int, rest: bool) -> StepFunctions:
    """Steps between points with times: F_k is the spline through 0 before point k and 1 from there on."""
    width = min(8 * (degree + 1), len(times))
    while True:
        steps, outside = _band(times, degree, rest, width)
        if outside <= _STEP_TOLERANCE or width == len(times):
            return steps
        width = min(2 * width, len(times))


def _band(times: Array, degree: int, rest: bool, width: int) -> tuple[StepFunctions, float]:
    """The steps in a band of a width, and how far they are from 0 or 1 outside of it."""
    points = len(times)
    count = points + (2 * ((degree - 1) // 2) if rest else 0)
    shift, reach = (count - points) // 2, width + degree
    band = np.empty((count, 2 * reach + 1))
    band[:] = np.arange(2 * reach + 1) <= reach
    outside = 0.0
    rows = np.arange(count)[:, None]
    for start in range(1, points, _CHUNK):
        k = np.arange(start, min(start + _CHUNK, points))
        values = (np.arange(points)[:, None] >= k).astype(float)
        control = interpolant(values, times, degree, rest)[1]
        column = k - rows + shift + reach
        kept = (column >= 0) & (column <= 2 * reach)
        away = np.abs(control - (rows - shift >= k))
        outside = max(outside, float(np.max(away, where=~kept, initial=0.0)))
        band[np.broadcast_to(rows, kept.shape)[kept], column[kept]] = control[kept]
    return StepFunctions(band, shift, width), outside


@dataclass(frozen=True, eq=False)
class OrientationSpline:
    """Orientations that turn from each of N to the next by step functions.

        q(t) = q_0 exp(F_1(t) r_1) exp(F_2(t) r_2) ...,   exp(r_k) = q_(k-1)^-1 q_k

    Attributes:
        quats: orientations q_k (N, 4), of continuous sign.
        steps: the functions F_k.
        degree: of the splines.
    """

    quats: Array
    steps: StepFunctions
    degree: int

    @cached_property
    def _rotation_vectors(self) -> Array:
        """The rotation vectors r_k, (N - 1, 3)."""
        return quat_log(quat_multiply(quat_conjugate(self.quats[:-1]), self.quats[1:]), shorter=False)

    def motion(self, splines: CumulativeSplines) -> RotationMotion:
        """The motion, given the cumulative B-splines."""
        parts = [
            self._motion(splines.some(slice(start, start + _TIMES)))
            for start in range(0, max(len(splines.first), 1), _TIMES)
        ]
        return RotationMotion(*(np.concatenate(part) for part in zip(*parts, strict=True)))

    def _motion(self, splines: CumulativeSplines) -> RotationMotion:
        first, *C = splines
        p, width = self.degree, self.steps.width
        count = p + 2 * width + 1
        rows = np.arange(p + 1)
        D = self.steps.band[first[:, None, None] + rows[:, None], p - rows[:, None] + np.arange(count)]
        rise = np.diff(D, axis=1)
        F = [np.einsum("mj,mjk->mk", c, rise) for c in C]
        F[0] = F[0] + D[:, 0]
        k = (first - self.steps.shift - width)[:, None] + np.arange(count)
        some = (k >= 1) & (k < len(self.quats))
        r = np.where(
            some[..., None], self._rotation_vectors[np.clip(k - 1, 0, len(self._rotation_vectors) - 1)], 0.0
        )
        still = np.zeros((len(first), 3))
        motion = RotationMotion(self.quats[np.clip(k[:, 0] - 1, 0, len(self.quats) - 1)], still, still)
        for j in np.flatnonzero(some.any(axis=0)):
            motion = compose_motions(motion, fixed_axis_motion(r[:, j], F[0][:, j], F[1][:, j], F[2][:, j]))
        # A product of unit quaternions: only rounding is taken away.
        return motion._replace(quat=motion.quat / np.linalg.norm(motion.quat, axis=-1, keepdims=True))


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
            degree = min(_check_degree(degree), len(poses) - 1)
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
        splines = cumulative_basis(self._t, self._degree, t)
        first, *C = splines
        rises = self._rises[first[:, None] + np.arange(self._degree)]
        x, v, a = (np.einsum("mj,mji->mi", part, rises) for part in C)
        rotation = None if self._orientations is None else self._orientations.motion(splines)
        return join_sample(self.layout, self._control[first] + x, v, a, rotation)


def _interpolating_degree(degree: int, count: int, rest: bool) -> int:
    if not rest:
        return min(_check_degree(degree), count - 1)
    if degree not in (3, 5, 7):
        raise TrajectoryError(f"a spline of degree {degree} cannot go from rest to rest (3, 5 or 7 can)")
    return degree


def _check_degree(degree: int) -> int:
    if not 2 <= degree <= 7:
        raise TrajectoryError(f"the degree is {degree} (write 2 to 7)")
    return degree
