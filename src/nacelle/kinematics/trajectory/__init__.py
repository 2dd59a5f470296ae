"""Trajectories: pose, twist and its derivative of a platform over time, with exact derivatives."""

from nacelle.kinematics.trajectory.base import Chain, Reversed, Sample, Trajectory, TrajectoryError
from nacelle.kinematics.trajectory.bspline import BSpline
from nacelle.kinematics.trajectory.paths import Circle, Fourier, Line
from nacelle.kinematics.trajectory.polyline import Polyline
from nacelle.kinematics.trajectory.timing import (
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
from nacelle.kinematics.trajectory.waypoints import Waypoints, read_waypoints

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
