"""Motions as linear combinations of functions of time: band-limited Fourier series and B-splines at rest.

The n coordinates of the platform move about a centre,

    c(t) = c_0 + sum over j of f_j(t) Z_j,      c' = sum of f_j' Z_j,      c'' = sum of f_j'' Z_j

Z (functions, n) the coefficients, m and rad; three of them in the place of rx, ry, rz are a rotation vector
about the centre's orientation. A machine starts and stops at rest, so every f_j has f' = f'' = 0 at both
ends. For Fourier series of H harmonics, with W = 2 pi / T and unit vectors u, the functions are

    1,      sum of a_k sin(k W t) with sum of k a_k = 0,      sum of b_k cos(k W t) with sum of k^2 b_k = 0

2 H - 1 of them; a and b are the columns of Householder's reflection that takes (k) or (k^2) to the first
axis, so they are orthonormal. The motion is periodic and has no frequency above H / T. For B-splines of
degree 5 three control points at each end are one, and the others are free.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from nacelle.identification.excitation.settings import check_kind
from nacelle.model.platform import Motion
from nacelle.spatial.scalar import Array
from nacelle.trajectory import Fourier, Sample, Trajectory
from nacelle.trajectory.base import read_layout, read_pose, sample_about_pose
from nacelle.trajectory.bspline import clamped_knots, cumulative_basis

_DEGREE = 5
# Control points at each end that are one, so that the motion begins and ends at rest.
_REPEATED_POINTS = 3


@dataclass(frozen=True)
class MotionFunctions(ABC):
    """The functions f_j of a motion.

    Attributes:
        duration: T, s.
        harmonics: H; a B-spline has 2 H free points.
    """

    duration: float
    harmonics: int

    @property
    @abstractmethod
    def count(self) -> int:
        """How many functions there are."""

    @abstractmethod
    def at(self, t: Array) -> tuple[Array, Array, Array]:
        """The functions and their first and second derivatives at times (N,): (N, functions) each."""

    @abstractmethod
    def trajectory(self, center: Array, Z: Array, motion: Motion) -> Trajectory:
        """The trajectory of coefficients Z (functions, n) about a pose (nx,)."""

    @abstractmethod
    def free(self, motion: Motion) -> Array:
        """Which coefficients (functions, n) may be chosen."""

    def times(self, count: int) -> Array:
        """Times at which the motion is sampled (count,); they are spread evenly."""
        return self.duration * (np.arange(count) + 0.5) / count


class HarmonicFunctions(MotionFunctions):
    """A finite Fourier series that is at rest at time 0 and after every period."""

    @cached_property
    def _ratios(self) -> Array:
        return np.arange(1.0, self.harmonics + 1.0)

    @cached_property
    def _sines(self) -> Array:
        return _orthonormal_complement(self._ratios)

    @cached_property
    def _cosines(self) -> Array:
        return _orthonormal_complement(self._ratios**2)

    @property
    def count(self) -> int:
        """The centre, and sines and cosines, each but one."""
        return 2 * self.harmonics - 1

    def at(self, t: Array) -> tuple[Array, Array, Array]:
        """The functions and their first and second derivatives at times (N,): (N, functions) each."""
        W = 2.0 * np.pi / self.duration * self._ratios
        sine, cosine = np.sin(t[:, None] * W), np.cos(t[:, None] * W)
        ones, none = np.ones((len(t), 1)), np.zeros((len(t), 1))
        return (
            np.hstack([ones, sine @ self._sines, cosine @ self._cosines]),
            np.hstack([none, (W * cosine) @ self._sines, -(W * sine) @ self._cosines]),
            np.hstack([none, -(W * W * sine) @ self._sines, -(W * W * cosine) @ self._cosines]),
        )

    def free(self, motion: Motion) -> Array:
        """Which coefficients (count, n) are free: all but the orientation of the centre, which is given."""
        layout = read_layout(motion)
        free = np.ones((self.count, layout.n), dtype=bool)
        if layout.angular is not None:
            free[0, layout.angular] = False
        return free

    def trajectory(self, center: Array, Z: Array, motion: Motion) -> Trajectory:
        """The trajectory of coefficients Z (functions, n) about a pose (nx,)."""
        layout = read_layout(motion)
        middle = np.array(center, dtype=float)
        middle[list(layout.linear_x)] += Z[0, list(layout.linear_v)]
        # Amplitudes of sines and cosines (H, n) each.
        a, b = self._sines @ Z[1 : self.harmonics], self._cosines @ Z[self.harmonics :]
        return Fourier(middle, a, b, motion=motion, frequency=1.0 / self.duration)


def _orthonormal_complement(u: Array) -> Array:
    """Orthonormal columns (len, len - 1) perpendicular to a vector: Householder's reflection without one."""
    w = u / np.linalg.norm(u)
    w[0] += 1.0
    return np.asarray(np.eye(len(u)) - 2.0 * np.outer(w, w) / (w @ w))[:, 1:]


class SplineFunctions(MotionFunctions):
    """B-splines of degree 5 that begin and end at rest."""

    @property
    def count(self) -> int:
        """Control points."""
        return 2 * self.harmonics

    def at(self, t: Array) -> tuple[Array, Array, Array]:
        """The functions and their first and second derivatives at times (N,): (N, functions) each."""
        count = self.count + 2 * (_REPEATED_POINTS - 1)
        knots = clamped_knots(count, _DEGREE, self.duration)
        first, *parts = cumulative_basis(knots, _DEGREE, np.asarray(t, dtype=float))
        merged = np.clip(np.arange(count) - (_REPEATED_POINTS - 1), 0, self.count - 1)
        result = []
        for k, part in enumerate(parts):
            # B_i = C_i - C_(i+1); C is 1 up to `first` and 0 beyond `first + degree`.
            start = np.full((len(t), 1), 1.0 if k == 0 else 0.0)
            basis = np.hstack([start, part]) - np.hstack([part, np.zeros((len(t), 1))])
            values = np.zeros((len(t), self.count))
            rows = np.arange(len(t))[:, None]
            np.add.at(values, (rows, merged[first[:, None] + np.arange(_DEGREE + 1)]), basis)
            result.append(values)
        return result[0], result[1], result[2]

    def free(self, motion: Motion) -> Array:
        """Which coefficients (count, n) are free: all."""
        return np.ones((self.count, motion.n), dtype=bool)

    def trajectory(self, center: Array, Z: Array, motion: Motion) -> Trajectory:
        """The trajectory of coefficients Z (functions, n) about a pose (nx,)."""
        return CoordinateSpline(center, Z, motion=motion, duration=self.duration)


class CoordinateSpline(Trajectory):
    """A B-spline of degree 5 in coordinates about a centre, from rest to rest.

    Plain coordinates are those of `BSpline` near control points. Orientations differ from it: here the spline
    is one of a rotation vector r in base axes about the centre's orientation, q = exp(r) q_c, so that the
    motion is linear in its control points.
    """

    def __init__(
        self, center: Any, points: Any, *, motion: Motion | str | list[str], duration: float
    ) -> None:
        """Make the spline.

        Args:
            center: reduced pose (nx,) about which the platform moves.
            points: control points (K, n) about the centre, m and rad; K is even.
            motion: motion type of the platform, or its text.
            duration: s.
        """
        layout = read_layout(motion)
        self._center = read_pose(layout, center, "the centre")
        self._points = np.array(points, dtype=float)
        self._functions = SplineFunctions(float(duration), len(self._points) // 2)
        count = len(self._points) + 2 * (_REPEATED_POINTS - 1)
        super().__init__(layout.motion, float(duration), np.unique(clamped_knots(count, _DEGREE, duration)))

    def inside(self, t: Array) -> Sample:
        """The motion at times (m,) that lie in [0, duration]."""
        y, dy, ddy = (part @ self._points for part in self._functions.at(t))
        return sample_about_pose(self.layout, self._center, y, dy, ddy)


def motion_functions(kind: str, duration: float, harmonics: int) -> MotionFunctions:
    """The functions of a kind of motion.

    Raises:
        IdentificationError: if there is no such kind, or too few harmonics.
    """
    check_kind(kind, harmonics)
    return (HarmonicFunctions if kind == "fourier" else SplineFunctions)(duration, harmonics)
