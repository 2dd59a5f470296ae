"""Functions that step from 0 to 1, for orientations that turn from point to point along a spline.

    q(t) = q_0 exp(F_1(t) r_1) exp(F_2(t) r_2) ...,      exp(r_k) = q_(k-1)^-1 q_k,      r_k (3,), rad

passes q_k where F_1 .. F_k are 1 and all later ones 0. For interpolation F_k is the spline through 0 at the
points before k and through 1 from there on, F_k = sum of B_i(t) D_ik; about one fixed axis the sum of F_k r_k
is then the plain spline of the angle. For control points F_k = C_k, the cumulative B-spline. Away from its
step F_k is 0 or 1 to rounding, so only a band of D is kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from nacelle.kinematics.trajectory.basis import interpolant
from nacelle.spatial.rotation_path import (
    RotationMotion,
    compose,
    quat_conjugate,
    quat_log,
    quat_multiply,
    turn_motion,
)
from nacelle.spatial.scalar import Array

# What lies outside the band of step functions is 0 or 1 within this.
_STEPPED = 1e-14
# Columns solved for at once, and times evaluated at once.
_CHUNK = 256
_TIMES = 4096


@dataclass(frozen=True, eq=False)
class Steps:
    """Splines F_k, k = 1 .. N - 1, that step from 0 to 1 between point k - 1 and point k.

    F_k = sum of B_i(t) D_ik over the control points i. It is 0 or 1, to rounding, away from its step, so only
    a band is kept: column c of row i belongs to k = i - shift - width - p + c, p the degree.

    Attributes:
        band: D (control points, 2 (width + p) + 1).
        shift: control point k + shift has its place about point k.
        width: how many points away from its step a function still waves.
    """

    band: Array
    shift: int
    width: int


def control_steps(count: int, degree: int) -> Steps:
    """Steps between control points: F_k = C_k, the cumulative B-splines themselves."""
    row = (np.arange(2 * degree + 1) <= degree).astype(float)
    return Steps(np.tile(row, (count, 1)), 0, 0)


def interpolating_steps(times: Array, degree: int, rest: bool) -> Steps:
    """Steps between points with times: F_k is the spline through 0 before point k and 1 from there on."""
    width = min(8 * (degree + 1), len(times))
    while True:
        steps, outside = _band(times, degree, rest, width)
        if outside <= _STEPPED or width == len(times):
            return steps
        width = min(2 * width, len(times))


def _band(times: Array, degree: int, rest: bool, width: int) -> tuple[Steps, float]:
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
    return Steps(band, shift, width), outside


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
    steps: Steps
    degree: int

    @cached_property
    def _turns(self) -> Array:
        """The rotation vectors r_k, (N - 1, 3)."""
        return quat_log(quat_multiply(quat_conjugate(self.quats[:-1]), self.quats[1:]), shorter=False)

    def motion(self, first: Array, C: tuple[Array, Array, Array]) -> RotationMotion:
        """The motion, given the cumulative B-splines (m, p) from control point `first` on."""
        parts = [
            self._motion(first[start : start + _TIMES], [c[start : start + _TIMES] for c in C])
            for start in range(0, max(len(first), 1), _TIMES)
        ]
        return RotationMotion(*(np.concatenate(part) for part in zip(*parts, strict=True)))

    def _motion(self, first: Array, C: list[Array]) -> RotationMotion:
        p, width = self.degree, self.steps.width
        count = p + 2 * width + 1
        rows = np.arange(p + 1)
        D = self.steps.band[first[:, None, None] + rows[:, None], p - rows[:, None] + np.arange(count)]
        rise = np.diff(D, axis=1)
        F = [np.einsum("mj,mjk->mk", c, rise) for c in C]
        F[0] = F[0] + D[:, 0]
        k = (first - self.steps.shift - width)[:, None] + np.arange(count)
        some = (k >= 1) & (k < len(self.quats))
        r = np.where(some[..., None], self._turns[np.clip(k - 1, 0, len(self._turns) - 1)], 0.0)
        still = np.zeros((len(first), 3))
        motion = RotationMotion(self.quats[np.clip(k[:, 0] - 1, 0, len(self.quats) - 1)], still, still)
        for j in np.flatnonzero(some.any(axis=0)):
            motion = compose(motion, turn_motion(r[:, j], F[0][:, j], F[1][:, j], F[2][:, j]))
        # A product of unit quaternions: only rounding is taken away.
        return motion._replace(quat=motion.quat / np.linalg.norm(motion.quat, axis=-1, keepdims=True))
