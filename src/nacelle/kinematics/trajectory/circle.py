"""Circle in a plane of the platform's translations.

    p = c + r (e_1 cos phi + e_2 sin phi),      phi = phi_0 + 2 pi turns s(t)

c (3,) centre and r radius, m, e_1 and e_2 unit vectors in the base, s a timing law from 0 to 1 (`timing`).
Differentiated, with o = p - c and t = r (e_2 cos phi - e_1 sin phi),

    v = phi' t,      a = phi'' t - phi'^2 o          m/s, m/s^2: tangential and centripetal
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from nacelle.kinematics.trajectory.arguments import read_layout, read_pose, read_positive
from nacelle.kinematics.trajectory.base import Sample, Trajectory
from nacelle.kinematics.trajectory.error import TrajectoryError
from nacelle.kinematics.trajectory.timing import Timing, read_timing
from nacelle.model.platform import Motion
from nacelle.model.reduced import ReducedLayout
from nacelle.spatial.rotation import frame_with_z
from nacelle.spatial.scalar import Array

_TRANSLATIONS = ("x", "y", "z")


class Circle(Trajectory):
    """A circle with a timing law s(t), all other coordinates held.

        p = c + r (e_1 cos phi + e_2 sin phi),   phi = phi_0 + 2 pi turns s(t)

    The law "uniform" gives constant speed; after whole turns the circle ends where and as it began, so that
    it can be repeated (`Chain`).
    """

    def __init__(
        self,
        center: ArrayLike,
        radius: float,
        *,
        motion: Motion | str | list[str],
        plane: str | None = None,
        normal: ArrayLike | None = None,
        start_angle: float = 0.0,
        turns: float = 1.0,
        duration: float | None = None,
        speed: float | None = None,
        acceleration: float | None = None,
        timing: str | Timing = "quintic",
    ) -> None:
        """Make the circle.

        Args:
            center: reduced pose (nx,) at the centre; its orientation and other coordinates are held.
            radius: m.
            motion: motion type of the platform, or its text; it has two translations or three.
            plane: the two translations e_1, e_2, such as "xy" or "zx"; the first two of the motion, if
                neither this nor the normal is given.
            normal: vector (3,) perpendicular to the plane, for motions with three translations; e_1 and e_2
                follow it right-handed.
            start_angle: phi_0, rad.
            turns: number of turns; negative ones run backwards.
            duration: s; or
            speed: limit on the speed along the circle, m/s;
            acceleration: limit on the tangential acceleration, m/s^2.
            timing: "quintic", "cubic", "trapezoid", "bang-bang", "uniform", or a law with its own duration.
        """
        layout = read_layout(motion)
        self._center = read_pose(layout, center, "the centre")
        radius = read_positive(radius, "the radius")
        self._angle = 2.0 * math.pi * float(turns)
        self._start_angle = float(start_angle)
        if not (math.isfinite(self._angle) and self._angle != 0.0 and math.isfinite(self._start_angle)):
            raise TrajectoryError(f"a circle of {turns} turns from {start_angle} rad is no way")
        axes = _axes(layout, plane, normal)
        self._cosine, self._sine = radius * axes[0], radius * axes[1]
        length = radius * abs(self._angle)
        self._law = read_timing(
            timing,
            duration,
            None if speed is None else read_positive(speed, "the speed") / length,
            None if acceleration is None else read_positive(acceleration, "the acceleration") / length,
        )
        turning = np.linspace(0.0, self._law.duration, max(2, math.ceil(4 * abs(turns)) + 1))
        knots = np.unique(np.concatenate([self._law.knots, turning]))
        super().__init__(layout.motion, self._law.duration, knots)

    def inside(self, t: Array) -> Sample:
        """The motion at times (m,) that lie in [0, duration]."""
        s, ds, dds = (part[:, None] for part in self._law.inside(t))
        angle = self._start_angle + self._angle * s
        rate, change = self._angle * ds, self._angle * dds
        outward = np.cos(angle) * self._cosine + np.sin(angle) * self._sine
        along = np.cos(angle) * self._sine - np.sin(angle) * self._cosine
        layout = self.layout
        linear, quat = layout.split_x(np.broadcast_to(self._center, (len(t), layout.nx)))
        still = None if quat is None else np.zeros(3)
        return Sample(
            layout.join_x(linear + outward, quat),
            layout.join_v(rate * along, still),
            layout.join_v(change * along - rate * rate * outward, still),
        )


def _axes(layout: ReducedLayout, plane: str | None, normal: ArrayLike | None) -> Array:
    """The unit vectors e_1, e_2 of the plane among the plain coordinates, (2, count)."""
    names = [layout.x_names[k] for k in layout.linear_x]
    translations = [name for name in names if name in _TRANSLATIONS]
    result = np.zeros((2, len(names)))
    if normal is not None:
        if plane is not None:
            raise TrajectoryError("give the plane or its normal, one of the two")
        vector = np.array(normal, dtype=float)
        if vector.shape != (3,) or not np.all(np.isfinite(vector)) or not np.any(vector):
            raise TrajectoryError(
                f"the normal {vector.tolist()} is not a vector of 3 numbers with a direction"
            )
        if len(translations) < 3:
            raise TrajectoryError(
                f"the motion {layout.motion.name} has not all of x, y, z (give the plane, not its normal)"
            )
        frame = frame_with_z(vector / np.abs(vector).max())
        for k, name in enumerate(_TRANSLATIONS):
            result[:, names.index(name)] = frame[k, :2]
        return result
    if plane is None:
        if len(translations) < 2:
            raise TrajectoryError(
                f"the motion {layout.motion.name} has no two translations for a circle (take a line)"
            )
        plane = "".join(translations[:2])
    if len(plane) != 2 or plane[0] == plane[1] or not set(plane) <= set(translations):
        raise TrajectoryError(
            f"{plane!r} is not a plane of the motion {layout.motion.name} "
            f"(two of {', '.join(translations) or 'no translations'})"
        )
    for row, name in enumerate(plane):
        result[row, names.index(name)] = 1.0
    return result
