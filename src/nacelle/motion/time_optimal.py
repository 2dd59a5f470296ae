"""The fastest motion along a path within limits of drives, platform, joints and what the tool carries.

On x(s), with u = s'' and z = s'^2, all limits at a place are affine in phi = (u, z, sqrt(z), 1), or cones
(`limits`, `dynamics_along`). Between nodes u is linear, so the profile z(s) is piecewise quadratic, and

    T = integral of ds / sqrt(z)

is convex in its values at the nodes and its bends between them. An interior-point method finds them
(`interior_point`). Limits hold at both ends and in the middle of every interval; at stops also at rest, where
Coulomb friction no longer helps to brake. Then they are evaluated at many places within every interval:
intervals with a larger violation are cut, other places of violation become points at which limits hold. So
the motion keeps its limits everywhere, not only at nodes.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from nacelle.dynamics.inverse import inverse_dynamics
from nacelle.errors import KinematicsError, RestLimitError
from nacelle.model.robot import Robot
from nacelle.motion.bound import bound_places, costate_at, lower_bound
from nacelle.motion.dynamics_along import NARROW, WIDE, PathDynamics
from nacelle.motion.heating import Heating, heated_profile
from nacelle.motion.interior_point import (
    PointLimits,
    Profile,
    Start,
    evaluate_slacks,
    fastest_profile,
)
from nacelle.motion.kernels import WIDTH
from nacelle.motion.limits import DriveLimits, LimitName, LimitRows, Limits, PlatformLimits, ToolLimits
from nacelle.motion.profile_shapes import Motion, Shapes
from nacelle.results import Plottable
from nacelle.spatial.scalar import Array
from nacelle.trajectory.along_path import AlongPath, Path
from nacelle.trajectory.base import Trajectory

# Places of an interval at which limits are evaluated, less one; with internal forces, the best of which jump,
# parabolas between them do not help. Ends of intervals are taken a little inside, for paths that bend there.
_PLACES, _REDUNDANT_PLACES, _INSIDE = 16, 64, 1e-9
# What a limit keeps in reserve for places between these, and what has to be left of it.
_RESERVE, _MARGIN = 1.2e-5, 6e-6
# What rms forces keep in reserve for the error of their integrals.
_HEAT_RESERVE = 1e-6
# Parts of a profile from which its search begins again.
_AGAIN = (0.9, 0.5)
# Gap over the time at most of a motion within rms forces.
_FOUND = 1e-4
# Violation below which a larger reserve does without a further point.
_SMALL = 1e-5
# Gap over the time at which nodes are good enough to be cut, and at which the motion is found.
_FAR, _LOOSE, _TIGHT = 1e-2, 1e-3, 1e-7
# Violation above which an interval is halved, error of the time, as a part of it, that an interval may cause,
# parts of the first intervals that are not halved for it any more, and rounds of all that.
_COARSE, _ERROR, _FINEST, _ROUNDS = 2e-3, 1e-5, 32, 24
# Profiles at most about which limits of the jerk are replaced by tangents.
_TANGENTS = 60
# Rounds after which violations are answered by ever larger reserves.
_PATIENCE = 8
# Factors, one after the other, by which a profile slows down until it keeps limits: to creep in the end.
_SLOWER = (0.95, 0.9, 0.8, 0.7, 0.5, 0.5, 0.3, 0.1, 0.1, 0.1, 1e-2, 1e-3, 1e-4)
# Relative change of the time below which friction that is no polynomial of the speed is settled.
_SETTLED = 1e-6
# Slack below which a limit is saturated.
_SATURATED = 1e-3


class Saturation(NamedTuple):
    """A limit that a motion uses up.

    Attributes:
        limit: what is limited and of whom: ("force", "left").
        share: part of the time in which it is saturated.
        sensitivity: change of the duration over the relative change of the limit, s: with -0.4 a limit that
            is 1 % larger saves 4 ms.
    """

    limit: LimitName
    share: float
    sensitivity: float


@dataclass(frozen=True, eq=False, repr=False)
class TimeOptimal(Plottable):
    """The fastest motion along a path.

    Attributes:
        robot: the robot.
        limits: what it keeps.
        trajectory: the motion, from rest to rest.
        profile: the squared speeds and multipliers of the limits.
        points: limits at the points of its intervals.
        names: what is limited and of whom, for every limit of a point, and the exponent of the limit in it.
        friction: whether friction counts.
        rounds: how often the profile was computed until no place between nodes violated a limit.
    """

    robot: Robot
    limits: Limits
    trajectory: AlongPath
    profile: Profile
    points: PointLimits
    names: tuple[tuple[LimitName, float], ...]
    friction: bool
    rounds: int

    @property
    def duration(self) -> float:
        """Time of the motion, s."""
        return self.trajectory.duration

    @cached_property
    def saturations(self) -> tuple[Saturation, ...]:
        """The limits that cost time, by what a larger one would save."""
        profile, step = self.profile, np.diff(self.trajectory.s)
        times = np.diff(self.trajectory.knots)
        used = 1.0 - profile.slacks
        result: dict[LimitName, tuple[Array, float]] = {}
        owner = self.points.owner
        entries = [(name, exponent, r, owner < 0) for r, (name, exponent) in enumerate(self.names)]
        for k in np.unique(owner[owner >= 0]):
            name = LimitName("jerk", self.robot.motion.coordinates[k])
            entries += [(name, 1.0, r, owner == k) for r in range(2)]
        for name, exponent, r, at in entries:
            saturated = profile.slacks[r, at] < _SATURATED
            close = np.bincount(self.points.interval[at], saturated, minlength=len(step)) > 0.5
            before, cost = result.get(name, (np.zeros(len(step), dtype=bool), 0.0))
            cost -= exponent * float(np.sum(profile.multipliers[r, at] * used[r, at]))
            result[name] = (before | close, cost)
        drives = self.limits.drives
        heat = [
            # S = T + D - (...) / r^2 has the slope 2 (T + D) in the relative change of r where it is 0.
            Saturation(LimitName("rms force", name), 1.0, -2.0 * weight * (self.duration + drives.dwell))
            for name, weight in zip(_heated_drives(self.robot, drives)[1], profile.heat, strict=True)
        ]
        saturations = [item for item in heat if abs(item.sensitivity) > 1e-4 * self.duration] + [
            Saturation(name, float(np.sum(times[close]) / self.duration), cost)
            for name, (close, cost) in result.items()
            if np.any(close) or abs(cost) > 1e-6 * self.duration
        ]
        return tuple(sorted(saturations, key=lambda item: item.sensitivity))

    @cached_property
    def lower_bound(self) -> float:
        """A time that no motion along the path within the limits goes below, s.

        It is 0, no certificate, with limits of the jerk or of rms forces.

        The certificate of the motion: `duration` less this bounds what is left to the optimum
        (`nacelle.motion.bound`), where limits are not convex, too.
        """
        dynamics = PathDynamics(self.robot, self.trajectory.path, self.limits, friction=self.friction)
        if self.trajectory.smooth or len(self.profile.heat):
            return 0.0
        motion, profile, points = self.trajectory, self.profile, self.points
        step = np.diff(motion.s)
        stops = np.searchsorted(motion.s, motion.path.stops - 1e-12 * motion.path.length)
        shapes = Shapes(step, stops, smooth=False)
        parts, weights = bound_places(profile.z > 0.0)
        i, theta = np.repeat(np.arange(len(step)), parts.shape[1]), parts.ravel()
        z = shapes.at(profile.z, profile.b, i, theta).z
        s, p = motion.s[i] + theta * step[i], np.sqrt(z)
        limits, _ = dynamics.limits_at(s, p, i, theta, moving=np.ones_like(p), spread=NARROW)
        at_points = shapes.at(profile.z, profile.b, points.interval, points.theta)
        slope = evaluate_slacks(points, at_points.u, at_points.z, profile.nu).S_u
        pull = np.sum(profile.multipliers * slope, axis=0)
        mean = np.bincount(points.interval, pull, len(step)) / step
        costate = costate_at(s, motion.path.stops, motion.s, profile.z, mean)
        return lower_bound(limits, weights.ravel() * step[i], z, costate)

    def force_use(self, t: Array) -> Array:
        """Forces of the actuators over their limits (m, actuators) at times (m,); zero without a limit.

        Of redundant actuators the distribution is the best one.
        """
        dynamics = PathDynamics(self.robot, self.trajectory.path, self.limits, friction=self.friction)
        s, p, u = self.trajectory.progress(np.asarray(t, dtype=float))
        p = np.maximum(p, 1e-9)
        points, rows = dynamics.limits_at(
            s, p, 0 * s.astype(int), 0.0 * s, moving=np.ones_like(s), spread=NARROW
        )
        values = points.values(u, p * p, np.zeros((len(points.null), len(s))))
        slack = points.values(u, p * p, _internal_forces(points, values))
        result = np.zeros((len(s), len(self.robot.actuators)))
        for k, actuator in enumerate(self.robot.actuators):
            if ("force", actuator.name) in rows.names:
                # The first of both signs is 1 - tau / limit.
                result[:, k] = 1.0 - slack[rows.names.index(LimitName("force", actuator.name))]
        return result

    @property
    def sensitivities(self) -> Mapping[LimitName, float]:
        """Change of the duration over the relative change of a limit, s, by limit."""
        return {item.limit: item.sensitivity for item in self.saturations}


def time_optimal(
    robot: Robot,
    path: Trajectory | Path,
    *,
    drives: DriveLimits | None = None,
    platform: PlatformLimits | None = None,
    reactions: Mapping[str, float] | None = None,
    tool: ToolLimits | None = None,
    friction: bool = True,
    intervals: int = 100,
    verify: bool = True,
) -> TimeOptimal:
    """Find the fastest motion along a path from rest to rest.

    T = min of integral ds / s', subject to |Gamma(s, s', s'')| <= limits and the others, everywhere.

    Args:
        robot: the robot.
        path: a trajectory whose own timing does not count (`RoundedLines`, `pick_and_place`, a `Line`, a
            `Circle`, a `BSpline` with rest=False, parts joined by `then`), in m, rad and quat_xyzw.
        drives: limits of the actuators; those of the description if None.
        platform: limits of speed and acceleration of the platform's coordinates, m/s, rad/s, m/s^2, rad/s^2.
        reactions: largest resultant forces of joints by name, N.
        tool: limits of what a tool carries.
        friction: whether friction counts.
        intervals: least number of intervals between start and end.
        verify: whether limits are verified between the points at which they hold, and intervals cut. Without,
            the motion is that of these intervals, found in a third of the time.

    Returns:
        The motion as a trajectory, with limits that are saturated and what each costs.

    Raises:
        RestLimitError: if a limit cannot be kept even at rest.
        UnreachableError: if the path leaves the workspace.
        SingularError: if it crosses a singularity.
        KinematicsError: if nothing limits the acceleration, or names or numbers are wrong.
    """
    path = path if isinstance(path, Path) else Path(path)
    limits = Limits(
        drives or DriveLimits(), platform or PlatformLimits(), dict(reactions or {}), tool or ToolLimits()
    )
    if intervals < 4:
        raise KinematicsError(f"a path needs 4 intervals or more, got {intervals}")
    dynamics = PathDynamics(robot, path, limits, friction=friction)
    s = _first_nodes(path, intervals, 2 if limits.platform.jerk is None else 4)
    dynamics.require_within_positions(s)
    reversals = dynamics.friction_reversals(s)
    search = _Search(dynamics, _merge_nodes(s, reversals), verify)
    tolerance, before = _LOOSE if verify else _TIGHT, np.inf
    for rounds in range(1, _ROUNDS + 1):
        search.caution = 1.3 ** max(0, rounds - _PATIENCE)
        search.solve(tolerance)
        time = search.profile.time
        converged = dynamics.is_quadratic or abs(time - before) < _SETTLED * before
        before, nodes = time, len(search.s)
        if tolerance == _TIGHT and converged and not verify:
            break
        kept = search.verify()
        if tolerance == _TIGHT and converged and kept:
            break
        if len(search.s) == nodes or rounds > 1:
            tolerance = _TIGHT
    else:
        raise KinematicsError(
            f"{robot.name}: after {rounds} rounds the profile still violates a limit by {search.worst:.1e} "
            "between nodes (give more intervals)"
        )
    search.require_found()
    trajectory = AlongPath(path, search.s, search.profile.z, search.profile.b, smooth=search.smooth)
    names = tuple(zip(search.rows.names, search.rows.exponents, strict=True))
    names += tuple((name, 1.0) for name in search.rows.cone_names)
    return TimeOptimal(robot, limits, trajectory, search.profile, search.points, names, friction, rounds)


def _first_nodes(path: Path, intervals: int, least: int) -> Array:
    """Nodes with all knots and stops among them, about equally spaced."""
    ends = np.unique(np.concatenate([path.knots, path.stops]))
    ends = ends[np.concatenate([[True], np.diff(ends) > 1e-12 * path.length])]
    ends[-1] = path.length
    counts = np.maximum(np.ceil(np.diff(ends) / path.length * intervals - 1e-9).astype(int), least)
    parts = [np.linspace(a, b, n, endpoint=False) for (a, b), n in zip(pairwise(ends), counts, strict=True)]
    return np.concatenate([*parts, ends[-1:]])


def _merge_nodes(s: Array, more: Array) -> Array:
    """Nodes with others among them that do not coincide with one."""
    merged = np.unique(np.concatenate([s, more]))
    gap = 1e-11 * s[-1]
    near = np.concatenate([[False], np.diff(merged) < gap])
    near[-1] = False
    return np.asarray(merged[~near])


class _Search:
    """Nodes and points that grow until the profile keeps its limits everywhere.

    Limits are evaluated once at all places of all intervals. At points, some of them, they bound the profile;
    at all of them it is verified.
    """

    def __init__(self, dynamics: PathDynamics, s: Array, verify: bool) -> None:
        self.dynamics, self.smooth = dynamics, dynamics.limits.platform.jerk is not None
        count = 2 if not verify else _REDUNDANT_PLACES if dynamics.internal else _PLACES
        self.parts = np.linspace(0.0, 1.0, count + 1)
        self.first_points = np.isin(self.parts, (0.0, 0.5, 1.0))
        self.finest = float(np.max(np.diff(s))) / _FINEST
        self.worst, self.caution = np.inf, 1.0
        self._begin(s)
        elsewhere = self.limits.cones.size or self.smooth or dynamics.limits.drives.rms is not None
        if not (elsewhere or np.any(self.limits.rows[:3])):
            raise KinematicsError(
                f"nothing limits the motion of {dynamics.robot.name} along the path: its limits do not "
                "depend on speed or acceleration (has it inertia?)"
            )
        self._require_rest()
        if self.smooth and len(ramps := self._ramp_nodes()):
            self._begin(_merge_nodes(s, ramps))

    def _begin(self, s: Array) -> None:
        """Begin with nodes."""
        self.s, N = s, len(s) - 1
        self.chosen = np.tile(self.first_points, (N, 1))
        self.z: Array | None = None
        self.b, self.reserve = np.zeros(N), np.full(N, _RESERVE)
        self.shapes = Shapes(np.diff(s), self._stop_nodes(), self.smooth)
        self.limits, self.rows = self._limits_of(np.arange(N), WIDE)
        self.jerk = self._jerk_terms()

    def _ramp_nodes(self) -> Array:
        """Nodes next to stops, where s'' rises to what forces allow while the jerk is at its limit.

        With s = j t^3 / 6 it has risen to u at s = u^3 / (6 j^2). From there on distances double.
        """
        N, K = self.chosen.shape
        nodes: list[Array] = []
        for column in range(N * K, len(self.limits.theta)):
            k, starts = self.limits.interval[column], self.limits.theta[column] < 0.5
            side, at = (1.0, k * K) if starts else (-1.0, k * K + K - 1)
            force, rest = side * self.limits.rows[0, :, column], self.limits.rows[3, :, column]
            highest = np.min(-rest[force < 0.0] / force[force < 0.0], initial=np.inf)
            jerk = 1.0 / np.max(np.abs(self.jerk[0, :, at]))
            ramp, step = highest**3 / (6.0 * jerk**2), self.s[k + 1] - self.s[k]
            if ramp < 0.5 * step:
                count = int(np.ceil(np.log2(step / max(ramp, 1e-7 * step))))
                nodes.append(
                    self.s[k if starts else k + 1] + side * step * 0.5 ** np.arange(1.0, count + 1.0)
                )
        return np.concatenate([np.zeros(0), *nodes])

    def _jerk_terms(self) -> Array:
        """Terms of limited jerks at all places (3, coordinates, N K)."""
        N, K = self.chosen.shape
        if not self.smooth:
            return np.zeros((3, 0, N * K))
        i = self.limits.interval[: N * K]
        s = self.s[i] + self.limits.theta[: N * K] * np.diff(self.s)[i]
        return self.dynamics.jerk_terms(s, self.s[i], self.s[i + 1])

    def _theta(self, k: Array) -> Array:
        """Parts of intervals k at which their places lie (len(k), K), denser at both ends next to a stop."""
        stops, t = self._stop_nodes(), self.parts
        theta = np.tile(t, (len(k), 1))
        # Roots of the distance from a stop occur, cubic ones with limits of the jerk; bends at the other end.
        n = 3 if self.smooth else 2
        rise = t**n * (n + 1 - n * t)
        theta[np.isin(k, stops[:-1])] = rise
        theta[np.isin(k, stops[1:] - 1)] = 1.0 - rise[::-1]
        return np.clip(theta, _INSIDE, 1.0 - _INSIDE)

    def _limits_of(self, k: Array, spread: float) -> tuple[PointLimits, LimitRows]:
        """Limits at the places of intervals k, then at rest at the stops."""
        step, stops = np.diff(self.s), self._stop_nodes()
        ends = np.concatenate([stops[:-1], stops[1:] - 1])
        at_ends = np.repeat([_INSIDE, 1.0 - _INSIDE], len(stops) - 1)
        theta = np.concatenate([self._theta(k).ravel(), at_ends])
        interval = np.concatenate([np.repeat(k, len(self.parts)), ends])
        moving = np.ones(len(theta))
        moving[len(theta) - len(ends) :] = 0.0
        p = np.full(len(theta), self.dynamics.path.length) if self.z is None else self.speeds(interval, theta)
        at = self.s[interval] + theta * step[interval]
        order = np.argsort(at, kind="stable")
        limits, rows = self.dynamics.limits_at(
            at[order], p[order], interval[order], theta[order], moving=moving[order], spread=spread
        )
        return limits.select(np.argsort(order, kind="stable")), rows

    def solve(self, tolerance: float) -> None:
        """The fastest profile on these nodes."""
        count = self.chosen.size
        at = np.concatenate([np.flatnonzero(self.chosen), np.arange(count, len(self.limits.theta))])
        # Whole vectors of points: one more than once.
        at = np.append(at, np.repeat(at[-1:], -len(at) % WIDTH))
        at = at[np.argsort(self.limits.interval[at], kind="stable")]
        points = self._points(at)
        self.heating = self._heat_terms()
        start = self._start(points, at)
        if start is None:
            points, start = self._slow_start(at)
        if self.smooth:
            self._solve_smooth(points, at[at < count], start, tolerance)
        else:
            self.points = points
            self.profile = self._fastest(points, start, tolerance)
        self.z, self.b, self.central = self.profile.z, self.profile.b, self.profile.central
        self.multipliers = np.full((len(self.profile.slacks), len(self.limits.theta)), np.nan)
        if not self.smooth:
            self.multipliers[:, at] = self.central.multipliers

    def _points(self, at: Array) -> PointLimits:
        """The limits at places, with their reserve held back."""
        points = self.limits.select(at)
        self._hold(points)
        return points

    def _fastest(self, points: PointLimits, start: Start, tolerance: float) -> Profile:
        """The fastest profile from a start."""
        if self.heating is None:
            return fastest_profile(points, self.shapes, start, tolerance)
        profile = heated_profile(points, self.shapes, self.heating, start, tolerance)
        for factor in _AGAIN:
            if profile.gap < 10.0 * tolerance * profile.time:
                break
            # It came too near to its limits off the central path: from a slower profile once more.
            slower = Start(factor * profile.z, factor * profile.b, profile.nu, 1.0, np.nan * profile.slacks)
            with suppress(KinematicsError):
                slower = self._scaled_start(points, slower)
                second = heated_profile(points, self.shapes, self.heating, slower, tolerance)
                profile = min(profile, second, key=lambda candidate: candidate.gap)
        return profile

    def _heat_terms(self) -> Heating | None:
        """Forces with a limit of their rms where the time is summed."""
        robot, drives = self.dynamics.robot, self.dynamics.limits.drives
        which, _, rms = _heated_drives(robot, drives)
        if not len(which):
            return None
        rms = rms * (1.0 - _HEAT_RESERVE)
        theta = self.shapes.quadrature_places()[0].T
        interval = np.repeat(np.arange(len(theta)), theta.shape[1])
        at = self.s[:-1, None] + theta * np.diff(self.s)[:, None]
        order = np.argsort(at, axis=None, kind="stable")
        first = self.z is None
        p = (
            np.full(theta.size, self.dynamics.path.length)
            if first
            else self.speeds(interval, theta.ravel())[order]
        )
        tau = np.empty((4, theta.size, len(robot.actuators)))
        tau[:, order] = self.dynamics.drive_forces(at.ravel()[order], p, WIDE if first else NARROW)
        tau = (tau[:, :, which] / rms).reshape(4, *theta.shape, -1).transpose(0, 3, 2, 1)
        end = self.dynamics.path(self.s[-1:]).x
        still = np.zeros((1, robot.motion.n))
        rest = inverse_dynamics(robot, end, still, still, friction=False).tau[0, which]
        return Heating(np.ascontiguousarray(tau), (rest / rms) ** 2, drives.dwell)

    def require_found(self) -> None:
        """Refuse a motion within rms forces that is not nearly the fastest.

        Raises:
            KinematicsError: so.
        """
        profile = self.profile
        if self.heating is not None and profile.gap > _FOUND * profile.time:
            names = ", ".join(_heated_drives(self.dynamics.robot, self.dynamics.limits.drives)[1])
            raise KinematicsError(
                f"{self.dynamics.robot.name}: the fastest motion within the rms forces of {names} was not "
                f"found: {profile.time:.4g} s is one, {profile.gap / profile.time:.1g} of it is left. They "
                "are hardly above what holds the robot (give larger ones, or a larger `force`)"
            )

    def _is_cool(self, z: Array, b: Array) -> bool:
        """Whether a profile keeps the rms forces."""
        return self.heating is None or bool(np.all(self.heating.slack_of(self.shapes, z, b) > 0.0))

    def _require_cool(self, z: Array, b: Array) -> None:
        """Refuse rms forces that a slow motion does not keep.

        Raises:
            RestLimitError: with the drive.
        """
        if self._is_cool(z, b):
            return
        assert self.heating is not None
        robot, drives = self.dynamics.robot, self.dynamics.limits.drives
        slack = self.heating.slack_of(self.shapes, z, b)
        name = _heated_drives(robot, drives)[1][int(np.argmin(slack))]
        raise RestLimitError(
            f"the limit of the rms force of {name} cannot be kept along the path, however slowly "
            f"{robot.name} moves: what holds it against gravity, springs and Coulomb friction alone is more",
            "rms force",
            name,
            0.0,
        )

    def _hold(self, points: PointLimits) -> None:
        """Hold a part of the limits in reserve."""
        held = self.reserve[points.interval]
        points.rows[3] -= held
        points.cone_rows[3] -= held

    def _solve_smooth(self, points: PointLimits, at: Array, start: Start, tolerance: float) -> None:
        """The fastest profile with limited jerks, which hold at some places, too.

        |w ds''/ds + 3 w' s'' + w'' z| <= J / sqrt(z): the right side is convex in z. It is replaced by its
        tangent at the profile before, which lies below it, so every profile keeps the limits; each is a
        start for the next, until the time no longer changes.
        """
        z, b = start.z, start.b
        if self.z is None:
            # Jerks grow with the speed's third power.
            limits, count = self.limits, self.chosen.size
            motion = self.shapes.at(z, b, limits.interval[:count], limits.theta[:count])
            use = np.max(np.abs(self._jerk_use(motion)))
            factor = min(1.0, float(0.5 / use) ** (2.0 / 3.0))
            z, b = factor * z, factor * b
        gap, time = _FAR if self.z is None else _LOOSE, np.inf
        multipliers = np.zeros(0)
        for _ in range(_TANGENTS):
            motion = self.shapes.at(z, b, self.limits.interval[at], self.limits.theta[at])
            every = points
            for owner in np.flatnonzero(np.any(self.jerk != 0.0, axis=(0, 2))):
                limited = self._jerk_limits(int(owner), at, motion)
                self._hold(limited)
                every = every.append(limited)
            order = np.argsort(every.interval, kind="stable")
            every = every.select(np.append(order, np.repeat(order[-1:], -len(order) % WIDTH)))
            if not multipliers.size:
                multipliers = np.full((every.rows.shape[1] + every.cones.shape[2], len(every.theta)), np.nan)
            start = self._scaled_start(every, Start(z, b, np.zeros(0), gap, multipliers))
            self.points, self.profile = every, self._fastest(every, start, gap)
            z, b, multipliers = self.profile.z, self.profile.b, self.profile.multipliers
            change, time = abs(time - self.profile.time) / self.profile.time, self.profile.time
            if change < max(10.0 * gap, _SETTLED):
                if gap <= tolerance:
                    break
                gap = tolerance
        self.profile = self.profile._replace(central=Start(z, b, self.profile.nu, gap, multipliers))

    def _scaled_start(self, points: PointLimits, start: Start) -> Start:
        """A start within all limits: a profile, or a slower one of its kind."""
        none = np.zeros((len(points.null), len(points.theta)))
        for factor in (1.0, 1.0 - 1e-6, 0.9999, 0.998, 0.98, 0.9, 0.7):
            motion = self.shapes.at(factor * start.z, factor * start.b, points.interval, points.theta)
            u = points.argument(motion)
            nu = _internal_forces(points, points.values(u, motion.z, none)) if len(none) else none
            values = points.values(u, motion.z, nu)
            if np.all(values > 1e-12) and self._is_cool(factor * start.z, factor * start.b):
                gap = start.gap + 1.0 - factor
                return Start(factor * start.z, factor * start.b, nu, gap, start.multipliers)
        self._require_cool(factor * start.z, factor * start.b)
        raise self._beyond_limit(points, values)

    def _jerk_use(self, motion: Motion) -> Array:
        """Jerks over their limits (coordinates, N K) at all places."""
        w, dw, ddw = self.jerk
        slope = w * motion.rate + dw * motion.u + ddw * motion.z
        return np.asarray(np.sqrt(np.maximum(motion.z, 0.0)) * slope)

    def _jerk_limits(self, owner: int, at: Array, motion: Motion) -> PointLimits:
        """Limits of the jerk of a coordinate at some places, about a motion there."""
        w, dw, ddw = self.jerk[:, owner, at]
        limits = self.limits.select(at)
        rows = np.zeros_like(limits.rows)
        rows[3] = 1.0
        root, half = np.sqrt(motion.z), 0.5 / motion.z
        for r, side in enumerate((-1.0, 1.0)):
            rows[:, r] = side * root, side * root * ddw - half, np.zeros_like(w), np.full_like(w, 1.5)
        cone_rows = np.zeros_like(limits.cone_rows)
        cone_rows[3] = 1.0
        return replace(
            limits,
            rows=rows,
            null=np.zeros_like(limits.null),
            cone_rows=cone_rows,
            cones=np.zeros_like(limits.cones),
            mix=np.stack([dw, w]),
            owner=np.full(len(at), owner),
        )

    def _stop_nodes(self) -> Array:
        """Numbers of the nodes at which the motion rests."""
        path = self.dynamics.path
        return np.asarray(np.searchsorted(self.s, path.stops - 1e-12 * path.length))

    def speeds(self, interval: Array, theta: Array) -> Array:
        """Speeds s' of the profile at parts of intervals."""
        assert self.z is not None
        z = self.shapes.at(self.z, self.b, interval, theta).z
        return np.asarray(np.sqrt(np.maximum(z, 1e-12 * np.max(self.z))))

    def verify(self) -> bool:
        """Whether no place within an interval violates a limit; else nodes and points are added."""
        assert self.z is not None
        N, K = self.chosen.shape
        if not self.dynamics.is_reusable:
            self.limits, self.rows = self._limits_of(np.arange(N), NARROW)
        limits = self.limits
        motion = self.shapes.at(self.z, self.b, limits.interval, limits.theta)
        S = limits.values(motion.u, motion.z, np.zeros((len(limits.null), len(motion.u))))
        nu = _internal_forces(limits, S)
        S[: limits.rows.shape[1]] += np.sum(limits.null * nu[:, None], axis=0)
        within = S[:, : N * K]
        if self.smooth:
            jerk = self._jerk_use(Motion(*(part[: N * K] for part in motion)))
            within = np.concatenate([within, 1.0 - jerk, 1.0 + jerk])
        within = within.reshape(-1, N, K)
        least = np.min(within, axis=0, initial=1.0)
        if not self.dynamics.internal:
            # Between places, where a parabola through three of them is lowest.
            middle = within[..., 1:-1]
            rise, bend = within[..., 2:] - within[..., :-2], within[..., 2:] + within[..., :-2] - 2.0 * middle
            inside = np.abs(rise) < 2.0 * bend
            dip = np.divide(rise * rise, 8.0 * bend, out=np.zeros_like(rise), where=inside)
            least[:, 1:-1] = np.minimum(least[:, 1:-1], np.min(middle - dip, axis=0, initial=1.0))
        at_rest = np.min(S[:, N * K :], axis=0, initial=1.0)
        lowest = np.min(least, axis=1)
        np.minimum.at(lowest, limits.interval[N * K :], at_rest)
        self.worst = float(-np.min(lowest))
        # Where a limit changes within the shortest intervals, a larger reserve is all that helps.
        violated = (lowest < -_COARSE) & (np.diff(self.s) > 0.25 * self.finest)
        pieces = np.where(violated, 4, self.pieces())
        coarse = pieces > 1
        fine = (lowest < 0.0) & ~coarse
        if not np.any(coarse | fine):
            return True
        # Further points where a limit is violated; where these exist already, a larger reserve around them.
        points = (least < -_SMALL) & fine[:, None] & ~self.chosen
        more = np.any(points, axis=1)
        self.chosen |= points
        missing = np.where(more, _MARGIN, self.caution * (_MARGIN - lowest))
        self.reserve = np.where(fine, self.reserve + missing, self.reserve)
        self.cut(pieces)
        return False

    def cut(self, pieces: Array) -> None:
        """Cut intervals into numbers of pieces (N,)."""
        k = np.repeat(np.arange(len(pieces)), pieces - 1)
        if not len(k):
            return
        theta = (np.arange(len(k)) - np.searchsorted(k, k) + 1) / pieces[k]
        assert self.z is not None
        s, step, shapes, (N, K) = self.s, np.diff(self.s), self.shapes, self.chosen.shape
        at = np.concatenate([np.arange(N + 1.0), k + theta])
        order = np.argsort(at, kind="stable")
        self.s = np.concatenate([s, s[k] + theta * step[k]])[order]
        self.shapes = Shapes(np.diff(self.s), self._stop_nodes(), self.smooth)
        source = np.minimum(at[order][:-1].astype(int), N - 1)
        width = np.diff(at[order]) ** 2

        def divide(z: Array, b: Array) -> tuple[Array, Array]:
            return np.concatenate([z, shapes.at(z, b, k, theta).z])[order], b[source] * width

        self.z, self.b = divide(self.z, self.b)
        z, b = divide(self.central.z, self.central.b)
        self.central = self.central._replace(z=z, b=b)
        self.reserve, fresh = self.reserve[source], np.isin(source, k)
        columns = source[:, None] * K + np.arange(K)
        multipliers = np.where(np.repeat(fresh, K), np.nan, self.multipliers[:, columns.ravel()])
        self.multipliers = np.concatenate([multipliers, self.multipliers[:, N * K :]], axis=1)
        self.chosen = np.where(fresh[:, None], self.first_points, self.chosen[source])
        if not self.dynamics.is_reusable:
            self.limits, self.rows = self._limits_of(np.arange(len(source)), NARROW)
            self.jerk = self._jerk_terms()
            return
        old = columns[~fresh].ravel()
        new, self.rows = self._limits_of(np.flatnonzero(fresh), WIDE)
        kept = replace(self.limits.select(old), interval=np.repeat(np.flatnonzero(~fresh), K))
        both = kept.append(new)
        order = np.argsort(both.interval[: columns.size], kind="stable")
        self.limits = both.select(np.concatenate([order, np.arange(columns.size, len(both.theta))]))
        self.jerk = self._jerk_terms()

    def pieces(self) -> Array:
        """Into how many pieces intervals are to be cut, since s'' jumps at one of their ends."""
        assert self.z is not None
        step = np.diff(self.s)
        mean, tilt = np.diff(self.z) / (2.0 * step), 2.0 * self.b / step
        jump = np.abs(mean[1:] + tilt[1:] - mean[:-1] + tilt[:-1])
        if self.smooth:
            # It does not jump, but may rise and fall as steeply as it can between nodes.
            jump = np.abs(mean[1:] - mean[:-1])
            jump[self.shapes.after[:-1] | self.shapes.before[1:]] = 0.0
        change = np.maximum(np.append(jump, 0.0), np.append(0.0, jump))
        p = np.sqrt(self.z)
        time = 2.0 * step / (p[1:] + p[:-1])
        # Of second order in the length.
        error = 0.06 * step * change / (0.5 * (self.z[1:] + self.z[:-1])) * time / (_ERROR * np.sum(time))
        pieces = np.where(error > 4.0, 4, np.where(error > 1.0, 2, 1))
        return np.where(step > self.finest, pieces, 1)

    def _require_rest(self) -> None:
        """Refuse a path on which a limit cannot be kept at rest."""
        limits = self.limits
        if not self.dynamics.is_quadratic:
            # The tangent of other friction does not hold at rest: `_slow_start` finds what it is there.
            limits = limits.select(np.flatnonzero(limits.moving == 0.0))
        rest = _values_at_rest(limits)
        if rest.size and np.min(rest) <= 0.0:
            raise self._beyond_limit(limits, rest)

    def _beyond_limit(self, points: PointLimits, values: Array) -> RestLimitError:
        """The error of the limit that a slow motion violates most, from all limits (R + C, P) at points."""
        r, k = np.unravel_index(int(np.argmin(values)), values.shape)
        names = [*self.rows.names, *self.rows.cone_names]
        i, owner, path = points.interval[k], points.owner[k], self.dynamics.path
        name = names[r] if owner < 0 else LimitName("jerk", self.dynamics.robot.motion.coordinates[owner])
        at = self.s[i] + points.theta[k] * (self.s[i + 1] - self.s[i])
        x = np.round(path(np.array([at]))[0][0], 6).tolist()
        return RestLimitError(
            f"the limit of {name.kind} of {name.owner} cannot be kept at {at:.6g} of {path.length:.6g} along "
            f"the path, x = {x}, however slowly {self.dynamics.robot.name} moves: "
            f"{1.0 - values[r, k]:.3g} of it is needed to creep there",
            *name,
            float(at),
        )

    def _slow_start(self, at: Array) -> tuple[PointLimits, Start]:
        """Limits at places `at` about a profile that keeps them, and this profile.

        About a profile itself the tangents of friction are exact, not so far from it. It is slowed down
        until it keeps all limits.

        Raises:
            RestLimitError: if none of them does.
        """
        count = len(self.s) - 1
        if self.z is None:
            shape = self._slow_shape()
            self.z, self.b = self.dynamics.path.length**2 * shape[0], shape[1]
        for factor in _SLOWER:
            self.z, self.b = factor * self.z, factor * self.b
            self.limits, self.rows = self._limits_of(np.arange(count), NARROW)
            points, self.heating = self._points(at), self._heat_terms()
            motion = self.shapes.at(self.z, self.b, points.interval, points.theta)
            u, none = points.argument(motion), np.zeros((len(points.null), len(at)))
            nu = _internal_forces(points, points.values(u, motion.z, none))
            values = points.values(u, motion.z, nu)
            if np.all(values > _RESERVE) and self._is_cool(self.z, self.b):
                return points, Start(self.z, self.b, nu, 1.0, np.full(values.shape, np.nan))
        self._require_cool(self.z, self.b)
        raise self._beyond_limit(points, values)

    def _slow_shape(self) -> tuple[Array, Array]:
        """Squared speeds, at most 1, and bends of a profile that rises and falls between stops."""
        shape, flat = np.zeros_like(self.s), np.zeros(len(self.s) - 1)
        for a, b in pairwise(self._stop_nodes()):
            here = self.s[a : b + 1]
            shape[a : b + 1] = 4.0 * (here - here[0]) * (here[-1] - here) / (here[-1] - here[0]) ** 2
        # As the unknowns have it.
        return self.shapes.profile(self.shapes.unknowns(shape, flat))

    def _start(self, points: PointLimits, at: Array) -> Start | None:
        """A profile within all limits at points (places `at`), from before or slow; None if neither is.

        Raises:
            RestLimitError: if none is, and limits hold for all speeds.
        """
        if self.z is not None:
            with suppress(KinematicsError):
                return self._scaled_start(points, self.central._replace(multipliers=self.multipliers[:, at]))
        rest, nu = _values_at_rest(points), _internal_forces(points)
        if not self.dynamics.is_quadratic and np.min(rest, initial=1.0) <= 0.0:
            return None
        shape, flat = self._slow_shape()
        u, z, _ = self.shapes.at(shape, flat, points.interval, points.theta)
        scale = self._largest_scale(points, u, z, rest)
        for _ in range(400):
            within = np.all(0.1 * rest < points.values(scale * u, scale * z, nu))
            if within and self._is_cool(scale * shape, flat):
                return Start(scale * shape, flat, nu, 1.0, np.full(rest.shape, np.nan))
            scale *= 0.5
        if not self.dynamics.is_quadratic:
            return None
        self._require_cool(scale * shape, flat)
        raise self._beyond_limit(points, rest)

    def _largest_scale(self, points: PointLimits, u: Array, z: Array, rest: Array) -> float:
        """About the largest factor of u and z at which a tenth of every linear limit at rest is left."""
        rows = points.rows
        a = rows[0] * u + rows[1] * z * points.moving
        half, room = 0.5 * rows[2] * np.sqrt(z * points.moving), 0.89 * rest[: rows.shape[1]]
        # a q^2 + 2 half q + room = 0 for the root q of the factor: the first zero above 0.
        square = half * half - a * room
        below = np.sqrt(np.maximum(square, 0.0)) - half
        crosses = (square >= 0.0) & (below > 0.0)
        q = np.divide(room, below, out=np.full_like(room, np.inf), where=crosses)
        return float(min(np.min(q, initial=np.inf) ** 2, self.dynamics.path.length**2 * 1e4))


def _heated_drives(robot: Robot, drives: DriveLimits) -> tuple[Array, tuple[str, ...], Array]:
    """Numbers and names of the actuators with a limit of their rms force, and the limits."""
    rms = drives.numbers(robot).get("rms", np.zeros(0))
    which = np.flatnonzero(np.isfinite(rms))
    return which, tuple(robot.actuators[k].name for k in which), rms[which]


def _values_at_rest(points: PointLimits) -> Array:
    """All limits (R + C, P) at u = z = 0."""
    none = np.zeros(len(points.theta))
    return points.values(none, none, _internal_forces(points))


def _internal_forces(points: PointLimits, values: Array | None = None) -> Array:
    """Internal forces (k, P) that leave the most to the limits, at rest or where these have other values.

    For one internal force the largest of the least S_r + n_r nu is where a rising and a falling row meet.
    """
    k, R, P = points.null.shape
    nu = np.zeros((k, P))
    here = points.rows[3] if values is None else values[:R]
    if k == 1:
        n = points.null[0]
        rising, falling = n[:, None], n[None, :]
        slope = rising - falling
        meets = (rising > 0.0) & (falling < 0.0)
        height = np.where(
            meets, (here[None, :] * rising - here[:, None] * falling) / np.where(meets, slope, 1.0), np.inf
        ).reshape(-1, P)
        best = np.argmin(height, axis=0)
        i, j = np.divmod(best, R)
        at = np.arange(P)
        meets = np.isfinite(height[best, at])
        width = np.where(meets, n[i, at] - n[j, at], 1.0)
        nu[0] = np.where(meets, (here[j, at] - here[i, at]) / width, 0.0)
    elif k > 1:
        from scipy.optimize import linprog

        cost = np.append(np.zeros(k), -1.0)
        for p in range(P):
            rows = np.any(points.null[:, :, p] != 0.0, axis=0)
            A = np.concatenate([-points.null[:, rows, p].T, np.ones((rows.sum(), 1))], axis=1)
            solution = linprog(cost, A_ub=A, b_ub=here[rows, p], bounds=[(None, None)] * (k + 1))
            if solution.success:
                nu[:, p] = solution.x[:k]
    return nu
