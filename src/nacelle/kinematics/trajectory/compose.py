"""Trajectories one after another, and backwards."""

from __future__ import annotations

import numpy as np

from nacelle.kinematics.trajectory.arguments import displacements
from nacelle.kinematics.trajectory.base import Sample, Trajectory
from nacelle.kinematics.trajectory.error import TrajectoryError
from nacelle.spatial.scalar import Array

# A part starts where the one before ends, within this (m, rad) and this part of the largest coordinate.
_MET = 1e-9


class Chain(Trajectory):
    """Trajectories one after another, each starting where the one before ends.

    v and a are those of the parts; they are continuous where the parts are. A part may stand in it again.
    """

    def __init__(self, *parts: Trajectory) -> None:
        """Chain the parts.

        Raises:
            TrajectoryError: if a part has another motion type, or starts elsewhere.
        """
        if not parts:
            raise TrajectoryError("a chain has at least one part")
        self._parts = parts
        motion, layout = parts[0].motion, parts[0].layout
        signs = [1.0]
        end = parts[0](parts[0].duration).x
        for k, part in enumerate(parts[1:], start=1):
            if part.motion != motion:
                raise TrajectoryError(f"part {k} has the motion {part.motion.name}, not {motion.name}")
            start = part(0.0).x
            sign = 1.0
            if layout.quaternion is not None and start[layout.quaternion] @ end[layout.quaternion] < 0.0:
                sign = -1.0
            gap = np.abs(displacements(layout, np.stack([end, _turned(layout.quaternion, start, sign)])))[0]
            if gap.max() > _MET * (1.0 + np.abs(end).max()):
                name = motion.coordinates[int(np.argmax(gap))]
                raise TrajectoryError(
                    f"part {k} does not start where part {k - 1} ends: {name} jumps by {gap.max():.3g}"
                )
            signs.append(sign)
            end = _turned(layout.quaternion, part(part.duration).x, sign)
        self._signs = signs
        self._ends = np.cumsum([part.duration for part in parts])
        knots = [part.knots + start for part, start in zip(parts, self._starts(), strict=True)]
        super().__init__(motion, float(self._ends[-1]), np.unique(np.concatenate(knots)))

    @property
    def parts(self) -> tuple[Trajectory, ...]:
        """The trajectories in their order."""
        return self._parts

    def _starts(self) -> Array:
        return np.concatenate([[0.0], self._ends[:-1]])

    def inside(self, t: Array) -> Sample:
        """The motion at times (m,) that lie in [0, duration]."""
        layout = self.layout
        which = np.minimum(np.searchsorted(self._ends, t, side="right"), len(self._parts) - 1)
        starts = self._starts()
        result = Sample(*(np.empty((len(t), count)) for count in (layout.nx, layout.n, layout.n)))
        for k in np.unique(which):
            part, here = self._parts[k], which == k
            x, v, a = part.inside(np.clip(t[here] - starts[k], 0.0, part.duration))
            result.x[here], result.v[here], result.a[here] = (
                _turned(layout.quaternion, x, self._signs[k]),
                v,
                a,
            )
        return result


class Reversed(Trajectory):
    """A trajectory backwards: x(T - t), -v(T - t), a(T - t)."""

    def __init__(self, trajectory: Trajectory) -> None:
        """Turn the trajectory round."""
        self._forward = trajectory
        end = trajectory.duration
        super().__init__(trajectory.motion, end, np.unique(np.clip(end - trajectory.knots, 0.0, end)))

    def inside(self, t: Array) -> Sample:
        """The motion at times (m,) that lie in [0, duration]."""
        x, v, a = self._forward.inside(self.duration - t)
        return Sample(x, -v, a)


def _turned(quaternion: slice | None, x: Array, sign: float) -> Array:
    """Poses with the sign of their quaternion changed, if sign is -1."""
    if quaternion is None or sign > 0.0:
        return x
    result = x.copy()
    result[..., quaternion] *= sign
    return result
