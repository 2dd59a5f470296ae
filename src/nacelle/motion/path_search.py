"""Paths that are optimised: blends of corners, and points that may move within a corridor.

A path of straight lines with rounded corners has as its unknowns, all between bounds,

    h_k = f_k (largest blend of corner k),    0 < f_k <= 1          distance at which corner k is left
    p_k + d_k,    low <= d_k <= high                                points between its ends, in a corridor

and a motion along it is the fastest within the limits (`time_optimal`). Minimised is its duration; or, in a
given duration, the forces or the work of the drives: of all motions in that duration the one is taken whose
limits of force, as parts of those of the drives, are smallest. T falls with that part, so it is a root.

The unknowns are few, and a duration has no derivative where the limit that counts changes or a joint turns
back elsewhere: a derivative-free method with quadratic models in a trust region searches (COBYQA: T. M.
Ragonneau, 2022). A path that cannot be passed counts as a very slow one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from nacelle.dynamics.inverse import inverse_dynamics
from nacelle.errors import KinematicsError, RestLimitError, SingularError, UnreachableError, did_you_mean
from nacelle.kinematics.motion import joint_motion
from nacelle.model.robot import Robot
from nacelle.motion.limits import Limits
from nacelle.motion.time_optimal import TimeOptimal, time_optimal
from nacelle.progress import task
from nacelle.results import HasTable
from nacelle.spatial.rotation import quat_exp, quat_multiply
from nacelle.spatial.scalar import Array
from nacelle.trajectory.base import Trajectory, TrajectoryError, displacements
from nacelle.trajectory.paths import Line
from nacelle.trajectory.rounded import RoundedLines
from nacelle.trajectory.sampling import sample_trajectory

OBJECTIVES = {"time": "s", "force": "of the limits", "work": "J"}
"""What can be minimised, with its unit."""
# The shortest blend as a part of the longest.
_SHORTEST = 0.05
# Intervals of all motions, which the search does not verify between nodes; the radius at which it ends, as a
# part of the unknowns' range; what a path that cannot be passed counts, over the given one.
_INTERVALS, _RADIUS, _IMPASSABLE = 60, 5e-3, 10.0
# Steps and precision of the root for the part of the force; samples of the work.
_ROOTS, _PRECISION, _SAMPLES = 30, 2e-5, 4001


class _Value(NamedTuple):
    """What is minimised of a path, with the motion along it and the part of the force that it has."""

    value: float
    motion: TimeOptimal
    part: float


@dataclass(frozen=True, eq=False)
class OptimisedPath(HasTable):
    """A path whose corners and points were optimised, with the motion along it.

    Attributes:
        objective: "time", "force" or "work".
        path: the path.
        motion: the motion along it.
        value: what is minimised: duration, s; largest part of the drives' limits of force; work, J.
        before: the same of the path as it was given.
        part: of the limits of force that the motion keeps; 1 for the fastest one.
        blends: at the points between start and end (points - 2,), m.
        shift: by which these points were moved (points - 2, n), m and rad.
        evaluations: number of paths that were tried.
    """

    objective: str
    path: RoundedLines
    motion: TimeOptimal
    value: float
    before: float
    part: float
    blends: Array
    shift: Array
    evaluations: int

    @property
    def robot(self) -> Robot:
        """The robot."""
        return self.motion.robot


def optimise_path(
    robot: Robot,
    path: Trajectory,
    *,
    objective: str = "time",
    duration: float | None = None,
    corridor: Mapping[str, Sequence[float]] | None = None,
    detours: int | Sequence[int] = 0,
    blend: float | None = None,
    limits: Limits | None = None,
    friction: bool = True,
    evaluations: int = 200,
) -> OptimisedPath:
    """Find corners, and points within a corridor, with which a motion is the fastest or takes the least.

    Args:
        robot: the robot.
        path: straight lines with rounded corners, such as `pick_and_place`; its own blends are where the
            search starts.
        objective: "time"; "force", the largest part of the drives' limits of force; or "work" of the drives,
            J, of which they take nothing back.
        duration: of the motion, s, for "force" and "work".
        corridor: by how much points between start and end may move along coordinates, {"z": (0.0, 0.05)}, m
            and rad; not at all if None.
        detours: points that are added on every segment, or on each, to move within the corridor.
        blend: longest distance from a corner at which its blend begins, m; as far as segments go if None.
        limits: of the motion; force and speed of the drives in the description if None.
        friction: whether friction counts.
        evaluations: largest number of paths that are tried.

    Raises:
        KinematicsError: if names or numbers are wrong, nothing may change, or the duration is too short.
        RestLimitError, UnreachableError, SingularError: if the path as given cannot be passed.
    """
    limits = limits or Limits()
    if objective not in OBJECTIVES:
        raise KinematicsError(f"no objective is called {objective!r}; {did_you_mean(objective, OBJECTIVES)}")
    if (objective == "time") != (duration is None):
        raise KinematicsError(
            "a shortest time is found without a duration"
            if objective == "time"
            else f"the least {objective} depends on the duration of the motion: give it, in s"
        )
    if isinstance(path, Line):
        path = RoundedLines(path(np.array([0.0, path.duration])).x, motion=path.motion)
    if not isinstance(path, RoundedLines):
        raise KinematicsError(f"{path!r} has no corners to optimise: give RoundedLines, or a Line")
    search = _Search(robot, path, _Range.read(robot, corridor), detours, blend)
    measure = _Measure(robot, limits, objective, duration, friction)
    return search.run(measure, evaluations)


class _Range(NamedTuple):
    """By how much points may move: low and high (n,)."""

    low: Array
    high: Array

    @classmethod
    def read(cls, robot: Robot, corridor: Mapping[str, Sequence[float]] | None) -> _Range:
        names = robot.motion.coordinates
        result = cls(np.zeros(len(names)), np.zeros(len(names)))
        for name, ends in (corridor or {}).items():
            if name not in names:
                raise KinematicsError(f"no coordinate is called {name!r}; {did_you_mean(name, names)}")
            if len(ends) != 2:
                raise KinematicsError(f"the corridor of {name} has two ends, (low, high), got {ends!r}")
            low, high = (float(end) for end in ends)
            if not (np.isfinite(low) and np.isfinite(high) and low <= 0.0 <= high and low < high):
                raise KinematicsError(
                    f"the corridor of {name} goes from {low:g} to {high:g}: from zero or less to zero or more"
                )
            k = names.index(name)
            result.low[k], result.high[k] = low, high
        return result


class _Measure:
    """What is minimised, of a path."""

    def __init__(
        self, robot: Robot, limits: Limits, objective: str, duration: float | None, friction: bool
    ) -> None:
        self.robot, self.limits, self.objective = robot, limits, objective
        self.duration, self.friction = duration, friction
        self.part = 1.0
        force = limits.drives.numbers(robot).get("force")
        self.force = None if force is None else force / (1.0 - limits.drives.reserve)
        if objective != "time" and self.force is None:
            raise KinematicsError(
                f"the drives of {robot.name} have no limit of force that could be smaller: give "
                "DriveLimits(force=...)"
            )

    def fastest(self, path: RoundedLines, part: float, verify: bool) -> TimeOptimal:
        """The fastest motion along a path with a part of the force."""
        limits, drives = self.limits, self.limits.drives
        if part != 1.0 and self.force is not None:
            drives = dataclasses.replace(drives, force=part * self.force)
        return time_optimal(
            self.robot,
            path,
            drives=drives,
            platform=limits.platform,
            reactions=limits.reactions,
            tool=limits.tool,
            friction=self.friction,
            intervals=_INTERVALS,
            verify=verify,
        )

    def __call__(self, path: RoundedLines, *, verify: bool) -> _Value:
        """Value and motion."""
        if self.duration is None:
            motion = self.fastest(path, 1.0, verify)
            return _Value(motion.duration, motion, 1.0)
        motion, self.part = self._in_duration(path, self.duration, verify)
        value = self.part if self.objective == "force" else work(motion)
        return _Value(value, motion, self.part)

    def _in_duration(self, path: RoundedLines, duration: float, verify: bool) -> tuple[TimeOptimal, float]:
        """The motion in a duration with the smallest part of the force, and that part."""
        known: list[tuple[float, float]] = []  # logarithms of the part and of T over the duration
        low, high, at = -np.inf, np.inf, float(np.log(self.part))
        for _ in range(_ROOTS):
            try:
                motion = self.fastest(path, float(np.exp(at)), verify)
            except RestLimitError as fault:
                if at > np.log(1e3):
                    raise fault from None
                low = at
                at = 0.5 * (at + high) if np.isfinite(high) else at + 0.5
                continue
            excess = float(np.log(motion.duration / duration))
            if abs(excess) < _PRECISION:
                break
            low, high = (at, high) if excess > 0.0 else (low, at)
            known.append((at, excess))
            # At first as without weight and friction, T^2 being inverse to the force; then the secant.
            slope = -0.5
            if len(known) > 1 and known[-1][0] != known[-2][0]:
                slope = (known[-1][1] - known[-2][1]) / (known[-1][0] - known[-2][0])
            step = -excess / slope if slope < 0.0 else 2.0 * excess
            at = at + float(np.clip(step, -1.0, 1.0))
            if not low < at < high:
                at = 0.5 * (low + high)
        else:
            raise KinematicsError(
                f"{self.robot.name}: no part of the forces gives a motion of {duration:g} s along the path: "
                "other limits take longer"
            )
        return motion, float(np.exp(at))


def work(motion: TimeOptimal) -> float:
    """Work of the drives along a motion, J: integral of the sum of max(tau q', 0): they take none back."""
    t = np.linspace(0.0, motion.duration, _SAMPLES)
    sample = sample_trajectory(motion.robot, motion.trajectory, t)
    tau = inverse_dynamics(motion.robot, *sample, friction=motion.friction).tau
    rate = joint_motion(motion.robot, *sample).actuators[1]
    return float(np.trapezoid(np.sum(np.maximum(tau * rate, 0.0), axis=1), t))


class _Search:
    """The paths that may be taken: blends of corners, displacements of points, from unknowns in [0, 1]."""

    def __init__(
        self,
        robot: Robot,
        path: RoundedLines,
        room: _Range,
        detours: int | Sequence[int],
        blend: float | None,
    ) -> None:
        self.robot, self.original = robot, path
        if blend is not None and not blend > 0.0:
            raise KinematicsError(f"the longest blend is above zero, got {blend!r}")
        self.longest = np.inf if blend is None else float(blend)
        self.points, corners = self._add_detours(detours)
        self.corners = corners[1:-1]
        self.range, self.moving = room, np.flatnonzero(room.high > room.low)
        inner = len(self.points) - 2
        self.count = int(np.sum(self.corners)) + inner * len(self.moving)
        if not self.count:
            raise KinematicsError(
                "nothing of the path may change: it has no corner, and no point that may move (give a "
                "corridor, and detours on a straight line)"
            )

    def _add_detours(self, detours: int | Sequence[int]) -> tuple[Array, Array]:
        """Points of the path with those added on its segments, and which of them were there."""
        points, layout = self.original.points, self.original.layout
        try:
            counts = np.broadcast_to(np.asarray(detours), (len(points) - 1,))
        except ValueError:
            counts = np.array([-1])
        if counts.dtype.kind != "i" or np.any(counts < 0):
            raise KinematicsError(
                f"detours are a number of points, or one for each of {len(points) - 1} segments, "
                f"got {detours!r}"
            )
        ways, rows, old = displacements(layout, points), [], []
        for k, count in enumerate(counts.tolist()):
            part = np.arange(count + 1)[:, None] / (count + 1)
            rows.append(
                _shift_poses(self.original, np.repeat(points[k : k + 1], count + 1, axis=0), part * ways[k])
            )
            old += [True] + [False] * count
        return np.concatenate([*rows, points[-1:]]), np.array([*old, True])

    def start(self) -> Array:
        """Unknowns of the given path."""
        rooms = self._rooms(self.points)[self.corners]
        f = np.clip(self.original.blends / rooms, _SHORTEST, 1.0)
        low, high = self.range.low[self.moving], self.range.high[self.moving]
        at = np.tile(-low / (high - low), len(self.points) - 2)
        return np.concatenate([(f - _SHORTEST) / (1.0 - _SHORTEST), at])

    def _rooms(self, points: Array) -> Array:
        rooms = RoundedLines(points, motion=self.original.motion).blends
        return np.asarray(np.minimum(rooms, self.longest))

    def shift(self, y: Array) -> Array:
        """Displacements (points - 2, n)."""
        inner = len(self.points) - 2
        d = np.zeros((inner, len(self.range.low)))
        low, high = self.range.low[self.moving], self.range.high[self.moving]
        part = y[int(np.sum(self.corners)) :].reshape(inner, len(self.moving))
        d[:, self.moving] = low + (high - low) * part
        return d

    def path(self, y: Array) -> RoundedLines:
        """The path of the unknowns.

        Raises:
            TrajectoryError: if it turns back, or two points are the same.
        """
        points = self.points.copy()
        points[1:-1] = _shift_poses(self.original, points[1:-1], self.shift(y))
        blends = self._rooms(points)
        f = y[: int(np.sum(self.corners))]
        blends[self.corners] *= _SHORTEST + (1.0 - _SHORTEST) * f
        return RoundedLines(points, motion=self.original.motion, blend=blends.tolist())

    def run(self, measure: _Measure, evaluations: int) -> OptimisedPath:
        """The best path of a search."""
        original = measure(self.original, verify=True)
        tried = 0
        with task(f"optimising a path of {self.robot.name}") as report:

            def value(y: Array) -> float:
                nonlocal tried
                tried += 1
                report(min(0.99, tried / evaluations))
                try:
                    least = measure(self.path(np.clip(y, 0.0, 1.0)), verify=False).value / original.value
                except (TrajectoryError, RestLimitError, UnreachableError, SingularError):
                    return _IMPASSABLE
                return min(least, _IMPASSABLE)

            answer = minimize(
                value,
                self.start(),
                method="COBYQA",
                bounds=[(0.0, 1.0)] * self.count,
                options={
                    "maxfev": evaluations,
                    "initial_tr_radius": 0.25,
                    "final_tr_radius": _RADIUS,
                    "f_target": -np.inf,
                },
            )
        y = np.clip(answer.x, 0.0, 1.0)
        best = original
        if answer.fun < 1.0:
            path = self.path(y)
            best = measure(path, verify=True)
        shift = self.shift(y)
        if best.value >= original.value:
            best, path, shift = (
                original,
                self.original,
                np.zeros((len(self.original.points) - 2, shift.shape[1])),
            )
        if measure.duration is not None and best.part > 1.0:
            raise KinematicsError(
                f"no path found can be passed in {measure.duration:g} s: it needs {best.part:.3g} times the "
                "drives' force (give a longer duration)"
            )
        return OptimisedPath(
            measure.objective,
            path,
            best.motion,
            best.value,
            original.value,
            best.part,
            path.blends,
            shift,
            tried,
        )


def _shift_poses(path: RoundedLines, points: Array, d: Array) -> Array:
    """Poses (N, nx) moved by d (N, n): translations, and rotation vectors in base axes."""
    layout = path.layout
    linear, quats = layout.split_x(points)
    by, rotation = layout.split_v(d)
    return layout.join_x(
        linear + by, None if quats is None or rotation is None else quat_multiply(quat_exp(rotation), quats)
    )
