"""Finite Fourier series about a pose, as for the excitation of identification.

    y(t)   = sum over k = 1 .. H of   a_k sin(k W t) + b_k cos(k W t)          W = 2 pi frequency, rad/s
    y'(t)  = sum of k W (a_k cos(k W t) - b_k sin(k W t)),      y'' = -sum of (k W)^2 (a_k sin + b_k cos)

a_k and b_k (n,) amplitudes, m and rad. Plain coordinates are c + y; rotations take y as a rotation vector r
about the orientation of the centre, R = exp(skew(r)) R_c, with the exact w = J(r) r' (`rotation_path`). Its
spectrum is bounded and it is periodic, so that measurements can be averaged over periods.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from nacelle.kinematics.trajectory.arguments import read_layout, read_pose, read_positive
from nacelle.kinematics.trajectory.base import Sample, Trajectory, sample_about
from nacelle.kinematics.trajectory.error import TrajectoryError
from nacelle.model.platform import Motion
from nacelle.spatial.scalar import Array


class Fourier(Trajectory):
    """A finite Fourier series in every coordinate about a centre.

        y(t) = sum over k = 1 .. H of a_k sin(k W t) + b_k cos(k W t),   W = 2 pi frequency

    Plain coordinates are x = c + y. The three entries of y in the place of rx, ry, rz are a rotation vector
    r in base axes about the orientation of the centre, q = exp(r) q_c, with w = J(r) r' and w' by the exact
    derivative of the exponential.
    """

    def __init__(
        self,
        center: ArrayLike,
        a: ArrayLike,
        b: ArrayLike,
        *,
        motion: Motion | str | list[str],
        frequency: float,
        duration: float | None = None,
    ) -> None:
        """Make the series.

        Args:
            center: reduced pose (nx,) about which the platform moves.
            a: amplitudes of the sines (H, n): m, rad.
            b: amplitudes of the cosines (H, n): m, rad.
            motion: motion type of the platform, or its text.
            frequency: of the first harmonic, Hz.
            duration: s; one period if left out.
        """
        layout = read_layout(motion)
        self._center = read_pose(layout, center, "the centre")
        self._a, self._b = _amplitudes(a, layout.n, "a"), _amplitudes(b, layout.n, "b")
        if self._a.shape != self._b.shape:
            raise TrajectoryError(f"a has {len(self._a)} harmonics, b has {len(self._b)}")
        frequency = read_positive(frequency, "the frequency")
        duration = 1.0 / frequency if duration is None else read_positive(duration, "the duration")
        count = len(self._a)
        self._frequencies = 2.0 * math.pi * frequency * np.arange(1, count + 1)
        pieces = max(1, math.ceil(4 * count * frequency * duration))
        super().__init__(layout.motion, duration, np.linspace(0.0, duration, pieces + 1))

    def inside(self, t: Array) -> Sample:
        """The motion at times (m,) that lie in [0, duration]."""
        W = self._frequencies
        sine, cosine = np.sin(t[:, None] * W), np.cos(t[:, None] * W)
        y = sine @ self._a + cosine @ self._b
        dy = (W * cosine) @ self._a - (W * sine) @ self._b
        ddy = -(W * W * sine) @ self._a - (W * W * cosine) @ self._b
        return sample_about(self.layout, self._center, (y, dy, ddy))


def _amplitudes(value: ArrayLike, n: int, name: str) -> Array:
    amplitudes = np.array(value, dtype=float)
    if amplitudes.ndim != 2 or amplitudes.shape[1] != n or not len(amplitudes):
        raise TrajectoryError(f"{name} has shape {amplitudes.shape}, not (harmonics, {n})")
    if not np.all(np.isfinite(amplitudes)):
        harmonic = int(np.argwhere(~np.isfinite(amplitudes))[0, 0]) + 1
        raise TrajectoryError(f"{name} of harmonic {harmonic} is not finite")
    return amplitudes
