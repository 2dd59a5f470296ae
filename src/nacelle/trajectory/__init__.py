"""Motions of the platform over time: pose x, twist v and acceleration a with exact derivatives.

    path = nacelle.Line(start, end, duration=0.4)
    sample = path(t)  # sample.x, sample.v, sample.a
    fast = nacelle.trajectory.scale_to_limits(path, speed=2.0, acceleration=40.0)
    motion = nacelle.trajectory.Chain([path, nacelle.trajectory.Reversed(path)])

Times in s, positions in m, orientations as unit quaternions (x, y, z, w).
"""

from nacelle.lazy import attach

attach(__name__)
