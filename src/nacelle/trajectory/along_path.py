"""Motion along a path: any timing s(t) of any geometry x(s).

A path is a trajectory whose own timing does not count: its "time" is the parameter s, its v the derivative
w = dx/ds (an angular velocity per s for a quaternion), its a the derivative w' = dw/ds. A timing s(t) moves
along it with

    v = w s',      a = w s'' + w' s'^2

Between two nodes of distance d the square of the speed, z = s'^2, is quadratic in s, with the bend b above
the straight line in the middle. So s'' = u_0 + k (s - s_0) is linear in s, k = -4 b / d^2, and with the
hyperbolic functions of sqrt(k) t (of sines and cosines for k < 0)

    s = s_0 + p_0 sinh(sqrt(k) t) / sqrt(k) + u_0 (cosh(sqrt(k) t) - 1) / k,      p = s'
    d / (p_0 + p_1) = tanh(sqrt(k) T / 2) / sqrt(k)           for the time T from node to node

A path stops where it turns a sharp corner: it is made of parts that are each passed without a stop.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nacelle.spatial.scalar import Array
from nacelle.trajectory.base import Chain, Reversed, Sample, Trajectory, TrajectoryError
from nacelle.trajectory.paths import Circle, Line
from nacelle.trajectory.timing import TimeScaled, Uniform
from nacelle.trajectory.tool import ToolTrajectory

# Parts of a chain join without a stop if their directions agree within this angle, rad.
_SMOOTH = 1e-7
# Samples between two knots, and the part of the highest |dx/ds| below which a path rests.
_SAMPLES, _REST = 9, 1e-6


class PathPart(NamedTuple):
    """A trajectory as a stretch of a path.

    Attributes:
        trajectory: whose parameter sigma is its "time".
        start: s at its begin.
        scale: ds / dsigma.
    """

    trajectory: Trajectory
    start: float
    scale: float

    @property
    def end(self) -> float:
        """Parameter s at its end."""
        return self.start + self.scale * self.trajectory.duration


class Path:
    """The geometry of a trajectory: x(s), w = dx/ds and dw/ds, with the places where a motion has to stop.

    Attributes:
        parts: trajectories one after another.
        stops: rising parameters s where the motion rests, the start and the end among them.
        knots: rising parameters s between which the path is smooth.
    """

    def __init__(self, trajectory: Trajectory) -> None:
        """Take the geometry of a trajectory.

        Raises:
            TrajectoryError: if it rests, or stops, anywhere but between parts of a chain.
        """
        self.motion, self.layout = trajectory.motion, trajectory.layout
        parts: list[PathPart] = []
        stops, end = [0.0], 0.0
        for piece in geometry_of(trajectory):
            _require_moving(piece)
            scale = 1.0
            if parts:
                before = parts[-1]
                leaving = before.trajectory.inside(np.array([before.trajectory.duration])).v[0] / before.scale
                coming = piece.inside(np.zeros(1)).v[0]
                norms = np.linalg.norm(leaving), np.linalg.norm(coming)
                if np.linalg.norm(leaving / norms[0] - coming / norms[1]) < _SMOOTH:
                    scale = float(norms[1] / norms[0])
                else:
                    stops.append(end)
            parts.append(PathPart(piece, end, scale))
            end = parts[-1].end
        self.parts = tuple(parts)
        self.stops = np.array([*stops, end])
        self.knots = np.unique(
            np.concatenate([part.start + part.scale * part.trajectory.knots for part in parts])
        )
        self._starts = np.array([part.start for part in parts])

    @property
    def length(self) -> float:
        """The parameter s at the end."""
        return float(self.stops[-1])

    def __call__(self, s: Array) -> Sample:
        """Pose x (m, nx), w = dx/ds and dw/ds (m, n) at parameters s (m,), clipped to the path."""
        layout = self.layout
        which = np.clip(np.searchsorted(self._starts, s, side="right") - 1, 0, len(self.parts) - 1)
        result = Sample(*(np.empty((len(s), size)) for size in (layout.nx, layout.n, layout.n)))
        for k in np.unique(which):
            part, here = self.parts[k], which == k
            sigma = np.clip((s[here] - part.start) / part.scale, 0.0, part.trajectory.duration)
            x, w, dw = part.trajectory.inside(sigma)
            result.x[here], result.v[here], result.a[here] = x, w / part.scale, dw / part.scale**2
        return result


def geometry_of(trajectory: Trajectory) -> list[Trajectory]:
    """A trajectory as parts without timing laws: lines and circles at uniform speed, others as they are."""
    match trajectory:
        case Line() | Circle():
            return [trajectory.with_timing(Uniform(1.0))]
        case Chain():
            return [piece for part in trajectory.parts for piece in geometry_of(part)]
        case Reversed():
            return [Reversed(piece) for piece in reversed(geometry_of(trajectory.forward))]
        case TimeScaled():
            return geometry_of(trajectory.unscaled)
        case ToolTrajectory():
            return [trajectory.with_trajectory(piece) for piece in geometry_of(trajectory.inner)]
    return [trajectory]


def _require_moving(piece: Trajectory) -> None:
    knots = piece.knots
    s = np.unique(np.linspace(knots[:-1], knots[1:], _SAMPLES).ravel())
    speed = np.linalg.norm(piece.inside(s).v, axis=1)
    finite = np.isfinite(speed)
    if not np.any(finite):
        return
    k = int(np.argmin(np.where(finite, speed, np.inf)))
    if speed[k] <= _REST * float(np.max(speed[finite])):
        raise TrajectoryError(
            f"{piece!r} rests at {s[k]:g} of {piece.duration:g}: a path keeps moving, since its own timing "
            "does not count (give RoundedLines, or a BSpline with rest=False; join parts with `then` where "
            "the motion is to stop)"
        )


class AlongPath(Trajectory):
    """A motion along a path with s'' linear in s between nodes."""

    def __init__(self, path: Path, s: Array, z: Array, b: Array, *, smooth: bool = False) -> None:
        """Make the motion.

        Args:
            path: the geometry.
            s: rising parameters (N + 1,) from 0 to the end of the path.
            z: squared speeds s'^2 there (N + 1,); of two neighbours at most one is zero.
            b: bends of z above a straight line in the middle of every interval (N,).
            smooth: whether s'' begins and ends at zero where the motion rests: next to a stop d^3 s/dt^3 is
                constant, s = d (t / T)^3.
        """
        self._path, self.smooth = path, smooth
        self.s, self.z, self.b = (np.array(part, dtype=float) for part in (s, z, b))
        step = np.diff(self.s)
        self._p = np.sqrt(self.z)
        self._k = -4.0 * self.b / step**2
        self._u = np.diff(self.z) / (2.0 * step) - 0.5 * self._k * step
        half = step / (self._p[1:] + self._p[:-1])
        steps = 2.0 * half * _inverse_tangent(self._k * half**2)
        self._starts, self._ends = (smooth & (part == 0.0) for part in (self.z[:-1], self.z[1:]))
        steps = np.where(self._starts | self._ends, 3.0 * half, steps)
        times = np.concatenate([[0.0], np.cumsum(steps)])
        super().__init__(path.motion, float(times[-1]), times)

    @property
    def path(self) -> Path:
        """The geometry."""
        return self._path

    def progress(self, t: Array) -> tuple[Array, Array, Array]:
        """s, s' and s'' at times (m,) in [0, duration]."""
        k = np.clip(np.searchsorted(self.knots, t, side="right") - 1, 0, len(self._u) - 1)
        tau, u, p, stiffness = t - self.knots[k], self._u[k], self._p[k], self._k[k]
        sine, cosine = _sine_and_cosine(stiffness * tau**2)
        way = tau * (p * sine + u * tau * cosine)
        # Rounding must not lead beyond the ends of an interval, where the path may bend otherwise.
        s = np.clip(self.s[k] + way, self.s[k], self.s[k + 1])
        speed = p * (1.0 + stiffness * tau**2 * cosine) + u * tau * sine
        acceleration = u + stiffness * way
        if self.smooth:
            for ends, side in ((self._starts, 1.0), (self._ends, -1.0)):
                here = ends[k]
                if np.any(here):
                    j, T = k[here], np.diff(self.knots)[k[here]]
                    part = tau[here] / T if side > 0.0 else 1.0 - tau[here] / T
                    node = j if side > 0.0 else j + 1
                    top = np.maximum(self._p[j], self._p[j + 1])
                    s[here] = self.s[node] + side * (self.s[j + 1] - self.s[j]) * part**3
                    speed[here], acceleration[here] = top * part**2, side * 2.0 * top / T * part
        return s, np.maximum(speed, 0.0), acceleration

    def inside(self, t: Array) -> Sample:
        """The motion at times (m,) that lie in [0, duration]."""
        s, p, u = (part[:, None] for part in self.progress(t))
        x, w, dw = self._path(s[:, 0])
        return Sample(x, w * p, w * u + dw * p * p)


def _sine_and_cosine(x: Array) -> tuple[Array, Array]:
    """sinh(r) / r and (cosh(r) - 1) / r^2 with r^2 = x, of either sign, smooth at 0."""
    r = np.sqrt(np.abs(x))
    small = r < 1e-2
    safe = np.where(small, 1.0, r)
    sine = np.where(x > 0.0, np.sinh(safe), np.sin(safe)) / safe
    half = np.where(x > 0.0, np.sinh(0.5 * safe), np.sin(0.5 * safe)) / safe
    series = 1.0 + x / 6.0 * (1.0 + x / 20.0 * (1.0 + x / 42.0))
    half_series = 0.5 * (1.0 + x / 12.0 * (1.0 + x / 30.0 * (1.0 + x / 56.0)))
    return np.where(small, series, sine), np.where(small, half_series, 2.0 * half * half)


def _inverse_tangent(x: Array) -> Array:
    """artanh(r) / r with r^2 = x, of either sign (arctan for x < 0), smooth at 0."""
    r = np.sqrt(np.abs(x))
    small = r < 1e-2
    safe = np.where(small, 0.5, r)
    with np.errstate(invalid="ignore", divide="ignore"):
        value = np.where(x > 0.0, np.arctanh(safe), np.arctan(safe)) / safe
    return np.where(small, 1.0 + x * (1.0 / 3.0 + x * (0.2 + x / 7.0)), value)
