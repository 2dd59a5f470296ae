"""Motions on a time line: poses of a trajectory or a run at any time, and the clock that plays them.

Between samples a run is linear in the plain coordinates and along the shorter rotation in orientations; its
rates, where it has none, are differences of its poses. Files of runs are the tables that `nacelle simulate
--csv` and `nacelle control --out` write, and their npz.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nacelle.errors import NacelleError, TableError
from nacelle.files import unread_reason
from nacelle.kinematics.flags import has_failed
from nacelle.kinematics.motion import twist_from_rates
from nacelle.kinematics.solve.inverse import inverse_kinematics
from nacelle.kinematics.tools import find_tool
from nacelle.model.leg import PLATFORM
from nacelle.model.platform import Tool
from nacelle.model.reduced import layout_of
from nacelle.model.robot import Robot
from nacelle.spatial.pose import identity
from nacelle.spatial.rotation import quat_conjugate, quat_exp, quat_log, quat_multiply
from nacelle.spatial.scalar import Array
from nacelle.trajectory import Sample, Trajectory
from nacelle.trajectory.base import displacements, nearest_signs
from nacelle.trajectory.sampling import sample_trajectory
from nacelle.trajectory.waypoints import read_poses

# Samples of a trajectory, and of the trace of a tool.
_SAMPLES = 400
# Rates of a run are differences over this part of it at least, or noise of small steps would be shown.
_STEP = 1.0 / 400.0


@dataclass(frozen=True, eq=False)
class Playback:
    """A motion of a robot.

    Attributes:
        robot: the robot.
        name: what it is, for people.
        times: of its samples (N,), s, rising.
        x: its poses (N, nx).
        v: reduced twists (N, n); None where rates are differences.
        a: their derivatives (N, n); likewise.
        lost: how many samples have no solution within the robot's reach.
    """

    robot: Robot
    name: str
    times: Array
    x: Array
    v: Array | None = None
    a: Array | None = None
    lost: int = 0

    @property
    def start(self) -> float:
        """When it begins, s."""
        return float(self.times[0])

    @property
    def duration(self) -> float:
        """How long it is, s."""
        return float(self.times[-1] - self.times[0])

    def pose(self, t: float) -> Array:
        """The pose (nx,) at a time since its begin, s; before and after it rests."""
        k, part = self._locate(t)
        layout = layout_of(self.robot.motion)
        x = self.x[k] + part * (self.x[k + 1] - self.x[k])
        if layout.quaternion is not None:
            first, last = self.x[k, layout.quaternion], self.x[k + 1, layout.quaternion]
            rotation_vector = quat_log(quat_multiply(last, quat_conjugate(first)))
            x[layout.quaternion] = quat_multiply(quat_exp(part * rotation_vector), first)
        return np.asarray(x)

    def rates(self, t: float) -> tuple[Array, Array]:
        """Reduced twist and acceleration (n,) at a time since its begin."""
        if self.v is not None and self.a is not None:
            k, part = self._locate(t)
            return (
                np.asarray(self.v[k] + part * (self.v[k + 1] - self.v[k])),
                np.asarray(self.a[k] + part * (self.a[k + 1] - self.a[k])),
            )
        h = max(_STEP * self.duration, float(np.min(np.diff(self.times))))
        t = min(max(t, h), self.duration - h) if self.duration > 2.0 * h else 0.5 * self.duration
        layout = layout_of(self.robot.motion)
        x = nearest_signs(layout, np.stack([self.pose(t + step) for step in (-h, 0.0, h)]))
        back, forth = displacements(layout, x) / h
        return twist_from_rates(self.robot, x[1], 0.5 * (back + forth), (forth - back) / h)

    def _locate(self, t: float) -> tuple[int, float]:
        """The sample before a time and the part of the step since it."""
        time = min(max(self.start + t, float(self.times[0])), float(self.times[-1]))
        k = min(max(int(np.searchsorted(self.times, time)) - 1, 0), len(self.times) - 2)
        return k, float((time - self.times[k]) / (self.times[k + 1] - self.times[k]))

    def trace(self, tool: str = "") -> Array:
        """Where a tool goes (T, 3), m, base axes: the first tool of the robot, or its platform frame."""
        return tool_trace(self.robot, self.even_samples(_SAMPLES)[1], tool)

    def even_samples(self, max_count: int) -> tuple[Array, Array]:
        """Samples evenly over time, at most `max_count`: times since the begin (T,) and poses (T, nx)."""
        count = min(max_count, max(2, len(self.times)))
        times = np.linspace(0.0, self.duration, count)
        return times, np.array([self.pose(float(t)) for t in times])


def traced_tool(robot: Robot, name: str = "") -> Tool:
    """The tool that is traced: the named one, the first one, or the platform's own frame."""
    if name:
        return find_tool(robot, name)
    return robot.tools[0] if robot.tools else Tool("platform", PLATFORM, identity())


def tool_trace(robot: Robot, x: Array, name: str = "") -> Array:
    """Where a tool is at poses (T, nx): (T, 3), m, base axes; poses out of reach are left out."""
    tool = traced_tool(robot, name)
    solution = inverse_kinematics(robot, x, follow=True, limits=False)
    R, p = solution.bodies
    points = p[:, tool.body] + R[:, tool.body] @ tool.frame.p
    return np.asarray(points[~has_failed(solution.flags)])


def make_playback(robot: Robot, result: Any, name: str = "") -> Playback:
    """Make a motion of what a user has: a trajectory, a run, or times and poses.

    Args:
        robot: the robot.
        result: a `Trajectory`, a `Simulation`, a `ControlRun`, or (times (N,), poses (N, nx)).
        name: what it is called; else what it is.

    Raises:
        NacelleError: if it has another type, or does not belong to this robot.
    """
    if isinstance(result, Trajectory):
        times = np.linspace(0.0, result.duration, max(2, _SAMPLES))
        sample: Sample = sample_trajectory(robot, result, times)
        return check_playback(Playback(robot, name or "trajectory", times, sample.x, sample.v, sample.a))
    run = getattr(result, "simulation", result)
    if hasattr(run, "t") and hasattr(run, "x"):
        return check_playback(Playback(robot, name or type(result).__name__, run.t, run.x))
    if isinstance(result, tuple | list) and len(result) == 2:
        times, x = (np.asarray(part, dtype=float) for part in result)
        return check_playback(Playback(robot, name or "poses", times, x))
    raise NacelleError(
        f"{type(result).__name__} cannot be played: give a trajectory, a run of nacelle.simulate or "
        "nacelle.control.closed_loop, or (times, poses)"
    )


def check_playback(motion: Playback) -> Playback:
    """The motion, if it can be played: rising times, poses of this robot, and some within its reach.

    Raises:
        NacelleError: if it cannot.
    """
    robot, layout = motion.robot, layout_of(motion.robot.motion)
    if motion.x.ndim != 2 or motion.x.shape[1] != layout.nx or motion.times.shape != motion.x.shape[:1]:
        raise NacelleError(
            f"{motion.name}: a motion of {robot.name} has times (N,) and poses (N, {layout.nx}) of "
            f"{', '.join(layout.x_names)}; got {motion.times.shape} and {motion.x.shape}"
        )
    good = np.isfinite(motion.times) & np.all(np.isfinite(motion.x), axis=1)
    lost = int(np.count_nonzero(~good))
    pick = np.flatnonzero(good)
    if pick.size < 2 or not np.all(np.diff(motion.times[pick]) > 0.0):
        raise NacelleError(f"{motion.name}: a motion has two samples or more, at rising times")
    few = pick[np.unique(np.linspace(0, pick.size - 1, min(pick.size, 64)).astype(int))]
    reached = ~has_failed(inverse_kinematics(robot, motion.x[few], limits=False).flags)
    if not np.any(reached):
        raise NacelleError(
            f"{motion.name}: {robot.name} reaches none of its poses: it is of another robot, or in other "
            "units"
        )
    out = round(float(np.mean(~reached)) * pick.size)
    v, a = (None if rates is None else rates[pick] for rates in (motion.v, motion.a))
    return Playback(robot, motion.name, motion.times[pick], motion.x[pick], v, a, lost + out)


class Clock:
    """The time of a playing motion: runs with the wall clock, at a speed, to the end or round and round.

    Attributes:
        duration: s.
        time: where it is, s.
        speed: seconds of the motion for one of the wall clock.
        loop: whether it begins again at the end.
        playing: whether it runs.
    """

    def __init__(self, duration: float) -> None:
        self.duration, self.time = duration, 0.0
        self.speed, self.loop, self.playing = 1.0, True, False

    def play(self) -> None:
        """Run; from the begin if it is at the end."""
        if self.time >= self.duration:
            self.time = 0.0
        self.playing = self.duration > 0.0

    def advance(self, elapsed: float) -> bool:
        """Let seconds of the wall clock pass; says whether the time has changed."""
        if not self.playing:
            return False
        time = self.time + self.speed * max(elapsed, 0.0)
        if time >= self.duration:
            if self.loop:
                time = math.fmod(time, self.duration)
            else:
                time, self.playing = self.duration, False
        self.time = time
        return True

    def seek(self, time: float) -> None:
        """Go to a time."""
        self.time = min(max(time, 0.0), self.duration)


# ---- files of runs


def read_run(robot: Robot, path: Path) -> Playback:
    """Read a run of a robot: times and poses.

    Args:
        robot: the robot.
        path: a CSV file with the columns t and those of the pose; or an npz file with the arrays t and x.

    Raises:
        NacelleError: if it cannot be read, or is a run of another robot.
    """
    name = path.name
    if path.suffix.lower() == ".npz":
        times, x = _read_npz(robot, path)
    else:
        try:
            poses = read_poses(path, robot.motion)
        except TableError as error:
            raise NacelleError(
                f"{name} is not a run of {robot.name}, whose pose has "
                f"{', '.join(layout_of(robot.motion).x_names)}:\n{error}"
            ) from None
        if poses.times is None:
            raise NacelleError(f"{name} has no column t: a run has times")
        times, x = poses.times, poses.points
    return check_playback(Playback(robot, name, times, x))


def _read_npz(robot: Robot, path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Times (N,) and poses (N, nx) of an npz file."""
    try:
        with np.load(path, allow_pickle=False) as data:
            missing = [key for key in ("t", "x") if key not in data]
            if missing:
                raise NacelleError(f"{path.name} has no array {missing[0]!r}: a run has times t and poses x")
            times, x = (np.asarray(data[key], dtype=float) for key in ("t", "x"))
    except OSError as error:
        message, hint = unread_reason(path, error, "run (.csv, .npz)")
        raise NacelleError(f"{path}: {message}; {hint}") from None
    except ValueError as error:
        raise NacelleError(f"{path.name} is not an npz file of a run: {error}") from None
    layout = layout_of(robot.motion)
    if x.ndim != 2 or x.shape[1] != layout.nx:
        raise NacelleError(
            f"{path.name} is not a run of {robot.name}: its poses have the shape {x.shape}, those of the "
            f"robot have {layout.nx} numbers ({', '.join(layout.x_names)})"
        )
    return times, x
