from nacelle.trajectory.sampling import sample_trajectory as sample_trajectory
from nacelle.trajectory.along_path import AlongPath as AlongPath, Path as Path
from nacelle.trajectory.base import (
    Chain as Chain,
    Reversed as Reversed,
    Sample as Sample,
    Trajectory as Trajectory,
    TrajectoryError as TrajectoryError,
)
from nacelle.trajectory.bspline import BSpline as BSpline
from nacelle.trajectory.paths import Circle as Circle, Fourier as Fourier, Line as Line
from nacelle.trajectory.polyline import Polyline as Polyline
from nacelle.trajectory.rounded import RoundedLines as RoundedLines, pick_and_place as pick_and_place
from nacelle.trajectory.shaping import (
    Retimed as Retimed,
    ShapedTiming as ShapedTiming,
    SplineTiming as SplineTiming,
)
from nacelle.trajectory.timing import (
    BangBang as BangBang,
    Cubic as Cubic,
    Quintic as Quintic,
    TimeScaled as TimeScaled,
    Timing as Timing,
    Trapezoid as Trapezoid,
    Uniform as Uniform,
    scale_to_limits as scale_to_limits,
    time_scaled as time_scaled,
)
from nacelle.trajectory.tool import ToolTrajectory as ToolTrajectory
from nacelle.trajectory.waypoints import Waypoints as Waypoints, read_waypoints as read_waypoints
