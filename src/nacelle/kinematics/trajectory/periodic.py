"""Whether a trajectory ends as it starts, so that it can be run through over and over."""

from __future__ import annotations

import numpy as np

from nacelle.kinematics.trajectory.base import Trajectory

# How far the end of a trajectory may be from its start, m, rad and their rates.
_PERIODIC = 1e-9


def reason_not_periodic(trajectory: Trajectory) -> str:
    """Why a trajectory cannot be repeated: pose or twist at its end are not those at its start; else empty.

    Poses are compared in m, rad and entries of quaternions of the same sign, twists in m/s and rad/s.
    """
    start, end = trajectory(0.0), trajectory(trajectory.duration)
    place = trajectory.layout.quaternion
    if place is not None and start.x[place] @ end.x[place] < 0.0:
        end.x[place] *= -1.0
    for what, a, b in (("pose", start.x, end.x), ("twist", start.v, end.v)):
        gap = float(np.max(np.abs(a - b)))
        if gap > _PERIODIC * (1.0 + float(np.max(np.abs(a)))):
            return f"the {what} is off by {gap:.3g} at {trajectory.duration:g} s"
    return ""
