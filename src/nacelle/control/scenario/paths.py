"""Paths of scenarios as trajectories of a robot."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from nacelle.control.scenario.fit import Ellipse, fitting_size, fitting_time, offset_poses, workspace_middle
from nacelle.control.scenario.spec import (
    MIDDLE,
    ChangeSpec,
    CircleSpec,
    LineSpec,
    LoadSpec,
    PathSpec,
    PickAndPlaceSpec,
    PointsSpec,
    PoseSpec,
)
from nacelle.control.yaml_input import pose_from_names
from nacelle.errors import KinematicsError
from nacelle.kinematics.pose_input import is_angle, reference_pose
from nacelle.model.robot import Robot
from nacelle.spatial.rotation import rotation_axis_angle
from nacelle.spatial.scalar import Array
from nacelle.trajectory.base import Trajectory
from nacelle.trajectory.bspline import BSpline
from nacelle.trajectory.paths import Line
from nacelle.trajectory.polyline import Polyline
from nacelle.trajectory.timing import Trapezoid
from nacelle.trajectory.waypoints import Waypoints, read_waypoints

_TRANSLATIONS = ("x", "y", "z")
# Height of a pick-and-place motion over its distance; ramps of a circle, in turns at its speed.
_HEIGHT_RATIO, _RAMP_TURNS = 0.2, 0.1


class PathPlan(NamedTuple):
    """A path and when something is carried along it."""

    trajectory: Trajectory
    loads: tuple[ChangeSpec, ...] = ()


def scenario_path(robot: Robot, spec: PathSpec, folder: Path) -> PathPlan:
    """The path of a scenario for a robot.

    Args:
        robot: the model.
        spec: the path as written.
        folder: where files are looked for.

    Raises:
        NacelleError: if the path does not fit the robot.
    """
    if spec.circle is not None:
        return PathPlan(circle_path(robot, spec.circle))
    if spec.pick_and_place is not None:
        return pick_and_place_path(robot, spec.pick_and_place)
    if spec.line is not None:
        return PathPlan(line_path(robot, spec.line))
    assert spec.through is not None
    return PathPlan(waypoint_path(robot, spec.through, folder))


def pose_from_spec(robot: Robot, spec: PoseSpec) -> Array:
    """A pose (nx,) as written: coordinates, the reference pose, the middle of the workspace."""
    if isinstance(spec, dict):
        return pose_from_names(robot, spec)
    return workspace_middle(robot) if spec == MIDDLE else reference_pose(robot)


# ---- which coordinates a path is in


class _PathPlane(NamedTuple):
    """Two directions (n,) of the coordinates; the second is zero where the robot has only one.

    Attributes:
        axes: (2, n), unit vectors.
        most: a size beyond what fits, m or rad.
        metric: whether sizes are lengths.
    """

    axes: Array
    most: float
    metric: bool


def _path_plane(robot: Robot, names: tuple[str, ...] = ()) -> _PathPlane:
    """Two translations if there are, two angles, or any two coordinates, an angle of 1 rad being the size."""
    coordinates = robot.motion.coordinates
    angles = [name for name in coordinates if is_angle(robot, name)]
    lengths = [name for name in coordinates if name in _TRANSLATIONS]
    chosen = list(names) or (
        lengths[:2] if len(lengths) > 1 else angles[:2] if len(angles) > 1 else list(coordinates[:2])
    )
    metric = all(name not in angles for name in chosen)
    axes = np.zeros((2, len(coordinates)))
    for row, name in enumerate(chosen):
        # Where lengths and angles are mixed the size is in rad, and a length a part of the robot's size.
        axes[row, coordinates.index(name)] = 1.0 if metric or name in angles else robot.size
    return _PathPlane(axes, robot.size if metric else 1.5, metric)


# ---- circles


def circle_path(robot: Robot, spec: CircleSpec) -> Trajectory:
    """A circle, or what comes nearest to it in the coordinates that the robot has."""
    centre = pose_from_spec(robot, spec.centre)
    lengths = [name for name in robot.motion.coordinates if name in _TRANSLATIONS]
    if spec.plane is not None and spec.incline is not None:
        raise KinematicsError("a circle has a plane or an incline: give one of them")
    if spec.incline is not None and len(lengths) < 3:
        raise KinematicsError(f"{robot.name} moves in no three directions: leave the incline out")
    if spec.plane is not None and (
        len(spec.plane) != 2 or not set(spec.plane) <= set(lengths) or spec.plane[0] == spec.plane[1]
    ):
        raise KinematicsError(
            f"{spec.plane!r} is no plane of {robot.name}; it moves along {', '.join(lengths) or 'no line'}"
        )
    plane = _path_plane(robot, tuple(spec.plane or ""))
    axes = plane.axes
    if spec.incline is not None:
        R = np.asarray(rotation_axis_angle(np.array(spec.incline.axis), spec.incline.angle), dtype=float)
        columns = [robot.motion.coordinates.index(name) for name in _TRANSLATIONS]
        axes = np.zeros_like(plane.axes)
        axes[:, columns] = R[:, :2].T
    if (spec.radius is not None or spec.speed is not None) and not plane.metric:
        raise KinematicsError(
            f"{robot.name} has no two translations, so that its circle is in angles: leave radius and "
            "speed out"
        )
    angle = np.linspace(0.0, 2.0 * math.pi, 48, endpoint=False)[:, None]

    def poses(size: float) -> Array:
        return offset_poses(robot, centre, size * (np.cos(angle) * axes[0] + np.sin(angle) * axes[1]))

    size = spec.radius or fitting_size(robot, poses, plane.most, "circle")

    def timed_path(turn_time: float) -> Trajectory:
        ramp = _RAMP_TURNS * turn_time if spec.ramp is None else spec.ramp
        ramp = min(ramp, spec.turns * turn_time)
        law = Trapezoid(spec.turns * turn_time + ramp, ramp)
        return Ellipse(centre, size * axes, motion=robot.motion, turns=spec.turns, timing=law)

    turn_time = (
        fitting_time(robot, timed_path, "circle") if spec.speed is None else 2.0 * math.pi * size / spec.speed
    )
    forth = timed_path(turn_time)
    return forth.then(forth.reverse()) if spec.back else forth


# ---- pick and place


def pick_and_place_path(robot: Robot, spec: PickAndPlaceSpec) -> PathPlan:
    """To where something is picked up, with it back, each way up, across and down."""
    centre = pose_from_spec(robot, spec.centre)
    plane = _vertical_plane(robot)
    if not plane.metric and (spec.distance is not None or spec.height is not None or spec.speed is not None):
        raise KinematicsError(
            f"{robot.name} has no two translations, so that its way is in angles: leave distance, height and "
            "speed out"
        )
    across, up = plane.axes

    def corners(distance: float) -> Array:
        half, lift = 0.5 * distance * across, (spec.height or _HEIGHT_RATIO * distance) * up
        return np.stack([half, half + lift, lift - half, -half])

    def polygon(distance: float) -> Array:
        way = corners(distance)
        part = np.linspace(0.0, 1.0, 12)[:, None]
        sides = [a + part * (b - a) for a, b in itertools.pairwise(way)]
        return offset_poses(robot, centre, np.concatenate(sides))

    distance = spec.distance or fitting_size(robot, polygon, 2.0 * plane.most, "pick-and-place motion")
    start, above_start, over, end = offset_poses(robot, centre, corners(distance))

    def one_way(duration: float) -> BSpline:
        points = [start, above_start, above_start, over, over, end]
        return BSpline(points, motion=robot.motion, duration=duration, interpolate=False, rest=True)

    def cycle(duration: float) -> Trajectory:
        way = one_way(duration)
        holds = [Line(x, x, motion=robot.motion, duration=spec.dwell) for x in (end, start)]
        return way.then(holds[0], way.reverse(), holds[1])

    if spec.duration is not None:
        duration = float(spec.duration)
    elif spec.speed is not None:
        duration = float(distance + 2.0 * (spec.height or _HEIGHT_RATIO * distance)) / float(spec.speed)
    else:
        duration = fitting_time(robot, one_way, "pick-and-place motion")
    if not spec.load:
        return PathPlan(cycle(duration))
    picked = duration + 0.5 * spec.dwell
    load = ChangeSpec(at=picked, until=picked + duration + spec.dwell, load=LoadSpec(mass=spec.load))
    return PathPlan(cycle(duration), (load,))


def _vertical_plane(robot: Robot) -> _PathPlane:
    """Directions across and against gravity, as far as the robot has them."""
    coordinates = robot.motion.coordinates
    lengths = [name for name in coordinates if name in _TRANSLATIONS]
    gravity = np.asarray(robot.gravity, dtype=float)
    if len(lengths) < 2:
        return _path_plane(robot)
    k = int(np.argmax(np.abs(gravity)))
    up = _TRANSLATIONS[k] if gravity[k] and _TRANSLATIONS[k] in lengths else lengths[-1]
    across = next(name for name in lengths if name != up)
    plane = _path_plane(robot, (across, up))
    return plane._replace(axes=plane.axes * [[1.0], [-1.0 if gravity[k] > 0.0 else 1.0]])


# ---- lines and points


def line_path(robot: Robot, spec: LineSpec) -> Trajectory:
    """A straight line from rest to rest, and back if that is wanted."""
    ends = [pose_from_spec(robot, pose) for pose in (spec.start, spec.end)]
    forth = Line(*ends, motion=robot.motion, duration=spec.duration, speed=spec.speed)
    return forth.then(forth.reverse()) if spec.back else forth


def waypoint_path(robot: Robot, spec: PointsSpec, folder: Path) -> Trajectory:
    """A path through points: a B-spline, or straight lines with blends."""
    if spec.points is not None:
        points = Waypoints(robot.motion, np.stack([pose_from_spec(robot, pose) for pose in spec.points]))
    else:
        assert spec.file is not None
        points = read_waypoints(folder / spec.file, robot.motion)
        if points.times is None and spec.duration is None and spec.speed is None:
            raise KinematicsError(f"{spec.file} has no column t: give duration or speed")
    timing: dict[str, float | None] = {"duration": spec.duration, "speed": spec.speed}
    make: Callable[..., Polyline | BSpline] = points.polyline if spec.corners else points.bspline
    return make(**timing)
