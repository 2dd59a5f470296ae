"""Trajectories: pose, twist and its derivative of a platform over time, with exact derivatives."""

from nacelle.trajectory.base import Chain, Reversed, Sample, Trajectory, TrajectoryError
from nacelle.trajectory.bspline import BSpline
from nacelle.trajectory.paths import Circle, Fourier, Line
from nacelle.trajectory.polyline import Polyline
from nacelle.trajectory.timing import (
    BangBang,
    Cubic,
    Quintic,
    TimeScaled,
    Timing,
    Trapezoid,
    Uniform,
    scale_to_limits,
    time_scaled,
)
from nacelle.trajectory.waypoints import Waypoints, read_waypoints

__all__ = [
    "BSpline",
    "BangBang",
    "Chain",
    "Circle",
    "Cubic",
    "Fourier",
    "Line",
    "Polyline",
    "Quintic",
    "Reversed",
    "Sample",
    "TimeScaled",
    "Timing",
    "Trajectory",
    "TrajectoryError",
    "Trapezoid",
    "Uniform",
    "Waypoints",
    "read_waypoints",
    "scale_to_limits",
    "time_scaled",
]
