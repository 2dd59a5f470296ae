"""Paths of straight lines with rounded corners: geometry for `nacelle.time_optimal`, without a timing.

The parameter s is the length of the corners' polygon, m (rad where a segment only turns), and dx/ds is never
zero. Segment k leads from p_k in the direction u_k = d_k / l_k. About corner k, for s from s_k - h to s_k + h
with y = (s - s_k + h) / (2 h),

    x = p_k + f u_(k-1) + g u_k,       g' = 3 y^2 - 2 y^3,       f' = 1 - g'

so dx/ds turns from u_(k-1) to u_k and d2x/ds2 = g'' (u_k - u_(k-1)) is continuous, zero at both ends of the
blend. The corner is passed at the distance 3/16 h |u_k - u_(k-1)|. Orientations turn by the same functions,
q = exp(g u_k) exp(f u_(k-1)) q_k.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from nacelle.model.platform import Motion
from nacelle.spatial.rotation import RotationMotion, compose_motions, fixed_axis_motion, quat_multiply
from nacelle.spatial.scalar import Array
from nacelle.trajectory.base import (
    Sample,
    Trajectory,
    TrajectoryError,
    displacements,
    join_sample,
    read_layout,
    read_points,
    read_pose,
    read_positive,
)

# A direction that turns by more than this nearly reverses: no blend keeps moving there.
_REVERSAL = -0.999


class RoundedLines(Trajectory):
    """Straight lines through points with rounded corners: a path for `nacelle.time_optimal`."""

    def __init__(
        self,
        points: ArrayLike,
        *,
        motion: Motion | str | list[str],
        blend: float | Sequence[float] | None = None,
    ) -> None:
        """Make the path.

        Args:
            points: reduced poses (N, nx), m, rad and quat_xyzw.
            motion: motion type of the platform, or its text.
            blend: distance h from a corner at which its blend begins and ends, m; one number, or one for
                each of the N - 2 corners. As far as the segments go if None: half of a segment between two
                corners, all of the first and of the last one.
        """
        layout = read_layout(motion)
        self._points = read_points(layout, points)
        ways = displacements(layout, self._points)
        linear, angular = layout.split_v(ways)
        lengths = np.linalg.norm(linear, axis=1)
        if angular is not None:
            lengths = np.where(lengths > 0.0, lengths, np.linalg.norm(angular, axis=1))
        if not np.all(lengths > 0.0):
            k = int(np.argmin(lengths))
            raise TrajectoryError(f"points {k} and {k + 1} are the same (leave one out)")
        self._corners = np.concatenate([[0.0], np.cumsum(lengths)])
        directions = ways / lengths[:, None]
        self._half = self._read_blends(lengths, directions, blend)
        self._directions = np.concatenate([directions[:1], directions, directions[-1:]])
        end = float(self._corners[-1])
        knots = np.concatenate([self._corners - self._half, self._corners + self._half])
        super().__init__(layout.motion, end, np.unique(np.clip(np.append(knots, [0.0, end]), 0.0, end)))

    @property
    def points(self) -> Array:
        """Poses (N, nx) of the corners, start and end among them."""
        return self._points

    @property
    def blends(self) -> Array:
        """Distances h (N - 2,) from the corners at which their blends begin and end, m."""
        return np.array(self._half[1:-1])

    def _read_blends(self, lengths: Array, directions: Array, blend: float | Sequence[float] | None) -> Array:
        """Half lengths of the blends at all points (N,), zero at both ends."""
        corners = len(lengths) - 1
        half = np.zeros(corners + 2)
        if not corners:
            return half
        share = np.where(np.isin(np.arange(corners + 1), (0, corners)), 1.0, 0.5) * lengths
        room = np.minimum(share[:-1], share[1:])
        if blend is None:
            half[1:-1] = room
        else:
            values = np.broadcast_to(np.asarray(blend, dtype=float), (corners,))
            half[1:-1] = [read_positive(value, "a blend") for value in values]
        over = half[1:] + half[:-1] - lengths
        k = int(np.argmax(over))
        if over[k] > 1e-12 * lengths.sum():
            raise TrajectoryError(
                f"the blends at points {k} and {k + 1} take {half[k] + half[k + 1]:g} of the {lengths[k]:g} "
                "between them (give shorter blends)"
            )
        units = directions / np.linalg.norm(directions, axis=1)[:, None]
        cosine = np.sum(units[1:] * units[:-1], axis=1)
        if cosine.min() < _REVERSAL:
            k = int(np.argmin(cosine)) + 1
            raise TrajectoryError(
                f"the path turns back at point {k}: no blend keeps moving there (make two paths, and join "
                "them with `then`: the motion stops between them)"
            )
        return half

    def inside(self, t: Array) -> Sample:
        """Pose, dx/ds and d2x/ds2 at parameters s (m,) in [0, `duration`]."""
        starts = self._corners - self._half
        k = np.clip(np.searchsorted(starts, t, side="right") - 1, 0, len(starts) - 1)
        h = np.where(self._half[k] > 0.0, self._half[k], 1.0)
        sigma = t - self._corners[k]
        blends = (sigma < h) & (self._half[k] > 0.0)
        y = np.where(blends, (sigma + h) / (2.0 * h), 1.0)
        g = np.where(blends, h * y**3 * (2.0 - y), sigma)
        dg, ddg = y * y * (3.0 - 2.0 * y), 3.0 * y * (1.0 - y) / h
        # Beyond the blend only the segment ahead counts.
        f = np.where(blends, sigma - g, 0.0)
        layout = self.layout
        point, quat = layout.split_x(self._points[k])
        u, turn_in = layout.split_v(self._directions[k])
        v, turn_out = layout.split_v(self._directions[k + 1])
        linear = (
            point + f[:, None] * u + g[:, None] * v,
            (1.0 - dg)[:, None] * u + dg[:, None] * v,
            ddg[:, None] * (v - u),
        )
        rotation = None
        if quat is not None and turn_in is not None and turn_out is not None:
            rotated = compose_motions(
                fixed_axis_motion(turn_out, g, dg, ddg), fixed_axis_motion(turn_in, f, 1.0 - dg, -ddg)
            )
            rotation = RotationMotion(quat_multiply(rotated.quat, quat), rotated.w, rotated.dw)
        return join_sample(layout, *linear, rotation)


def pick_and_place(
    start: ArrayLike,
    distances: str | Sequence[float] = "25-305-25",
    *,
    motion: Motion | str | list[str],
    along: str = "",
    up: str = "",
    blend: float | Sequence[float] | None = None,
) -> RoundedLines:
    """The path of a pick-and-place test: up, across and down, with rounded corners.

    Args:
        start: reduced pose (nx,) at its start.
        distances: up, across and down: a text in mm such as "25-305-25", the usual test of Delta robots, or
            three numbers in m.
        motion: motion type of the platform, or its text.
        along: coordinate across, "-" before it runs backwards; the first translation besides `up` if empty.
        up: coordinate upwards; z, or the last translation of the motion, if empty.
        blend: as in `RoundedLines`.
    """
    layout = read_layout(motion)
    translations = [name for name in layout.motion.coordinates if name in ("x", "y", "z")]
    if len(translations) < 2:
        raise TrajectoryError(f"the motion {layout.motion.name} has no two translations to pick and place")
    up = up or ("z" if "z" in translations else translations[-1])
    along = along or next(name for name in translations if name != up)
    sign = -1.0 if along.startswith("-") else 1.0
    along = along.removeprefix("-")
    if up not in translations or along not in translations or up == along:
        raise TrajectoryError(
            f"pick-and-place goes up {up!r} and along {along!r} (name two of {', '.join(translations)})"
        )
    up_by, across, down_by = read_hop(distances)
    points = np.tile(read_pose(layout, start, "the start"), (4, 1))
    points[1:3, layout.x_index(up)] += up_by
    points[3, layout.x_index(up)] += up_by - down_by
    points[2:, layout.x_index(along)] += sign * across
    return RoundedLines(points, motion=layout.motion, blend=blend)


def read_hop(distances: str | Sequence[float]) -> tuple[float, float, float]:
    """Distances up, across and down, m, of a text in mm such as "25-305-25", or of three numbers in m."""
    values: list[float] = []
    try:
        if isinstance(distances, str):
            values = [1e-3 * float(part) for part in distances.split("-")]
        else:
            values = [float(value) for value in distances]
    except (TypeError, ValueError):
        values = []
    if len(values) != 3:
        raise TrajectoryError(
            f"{distances!r} is no pick-and-place path (write up-across-down in mm, such as 25-305-25)"
        )
    up, across, down = (read_positive(value, "a distance") for value in values)
    return up, across, down
