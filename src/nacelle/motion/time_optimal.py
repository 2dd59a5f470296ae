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
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from nacelle.errors import KinematicsError, RestLimitError
from nacelle.model.robot import Robot
from nacelle.motion.bound import bound_places, costate_at, lower_bound
from nacelle.motion.dynamics_along import NARROW, WIDE, PathDynamics
from nacelle.motion.interior_point import (
    PointLimits,
    Profile,
    evaluate_slacks,
    fastest_profile,
    profile_at,
)
from nacelle.motion.limits import DriveLimits, LimitName, LimitRows, Limits, PlatformLimits, ToolLimits
from nacelle.results import Plottable
from nacelle.spatial.scalar import Array
from nacelle.trajectory.along_path import AlongPath, Path
from nacelle.trajectory.base import Trajectory

# Points of an interval at first; both ends a little inside, for paths that bend at knots.
_THETA = np.array([1e-9, 0.5, 1.0 - 1e-9])
# Places of an interval at which a motion is verified, some close to its ends: next to a stop sqrt(z) is
# steep.
_NEAR = np.concatenate([_THETA[:1], np.geomspace(3e-5, 8e-3, 8)])
_PARTS = np.concatenate([_NEAR, (np.arange(1, 63) + 0.5) / 64, 1.0 - _NEAR[::-1]])
# What a limit keeps in reserve for places between these, and what has to be left of it.
_RESERVE, _MARGIN = 4e-6, 1e-6
# Violation above which an interval is halved, error of the time, as a part of it, that an interval may cause,
# parts of the first intervals that are not halved for it any more, and rounds of all that.
_COARSE, _ERROR, _FINEST, _ROUNDS = 2e-3, 1e-5, 32, 24
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
        for r, (name, exponent) in enumerate(self.names):
            close = (
                np.bincount(self.points.interval, profile.slacks[:, r] < _SATURATED, minlength=len(step))
                > 0.5
            )
            before, cost = result.get(name, (np.zeros(len(step), dtype=bool), 0.0))
            cost -= exponent * float(np.sum(profile.multipliers[:, r] * used[:, r]))
            result[name] = (before | close, cost)
        entries = [
            Saturation(name, float(np.sum(times[close]) / self.duration), cost)
            for name, (close, cost) in result.items()
            if np.any(close) or abs(cost) > 1e-6 * self.duration
        ]
        return tuple(sorted(entries, key=lambda item: item.sensitivity))

    @cached_property
    def lower_bound(self) -> float:
        """A time that no motion along the path within the limits goes below, s; 0 with redundant actuators.

        The certificate of the motion: `duration` less this bounds what is left to the optimum
        (`nacelle.motion.bound`), where limits are not convex, too.
        """
        dynamics = PathDynamics(self.robot, self.trajectory.path, self.limits, friction=self.friction)
        if dynamics.internal > 0:
            return 0.0
        motion, profile, points = self.trajectory, self.profile, self.points
        step = np.diff(motion.s)
        parts, weights = bound_places(profile.z > 0.0)
        i, theta = np.repeat(np.arange(len(step)), parts.shape[1]), parts.ravel()
        z = profile_at(step, profile.z, profile.b, i, theta)[1]
        s, p = motion.s[i] + theta * step[i], np.sqrt(z)
        limits, _ = dynamics.limits_at(s, p, i, theta, moving=np.ones_like(p), spread=NARROW)
        slope = evaluate_slacks(points, step, profile.z, profile.b, profile.nu).S_u
        pull = np.sum(profile.multipliers * slope, axis=1)
        mean = np.bincount(points.interval, pull, len(step)) / step
        costate = costate_at(s, motion.path.stops, motion.s, profile.z, mean)
        return lower_bound(limits, weights.ravel() * step[i], z, costate)

    def force_use(self, t: Array) -> Array:
        """Forces of the actuators over their limits (m, actuators) at times (m,); zero without a limit.

        Of redundant actuators the distribution is the best one.
        """
        dynamics = PathDynamics(self.robot, self.trajectory.path, self.limits, friction=self.friction)
        s, p, u = self.trajectory.progress(np.asarray(t, dtype=float))
        moving = np.ones_like(s)
        points, rows = dynamics.limits_at(
            s, np.maximum(p, 1e-9), 0 * s.astype(int), 0.0 * s, moving=moving, u=u
        )
        nu = _internal_forces(points)
        slack = points.rows[:, :, 3] + np.matmul(points.null, nu[:, :, None])[:, :, 0]
        result = np.zeros((len(s), len(self.robot.actuators)))
        for k, actuator in enumerate(self.robot.actuators):
            if ("force", actuator.name) in rows.names:
                # The first of both signs is 1 - tau / limit.
                result[:, k] = 1.0 - slack[:, rows.names.index(LimitName("force", actuator.name))]
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
    s = _first_nodes(path, intervals)
    dynamics.require_within_positions(s)
    reversals = dynamics.friction_reversals(s)
    search = _Search(dynamics, _merge_nodes(s, reversals))
    for rounds in range(1, _ROUNDS + 1):
        before = search.profile.time if rounds > 1 else np.inf
        search.solve()
        converged = dynamics.is_quadratic or abs(search.profile.time - before) < _SETTLED * before
        if search.verify() and converged:
            break
    else:
        raise KinematicsError(
            f"{robot.name}: after {rounds} rounds the profile still violates a limit by {search.worst:.1e} "
            "between nodes (give more intervals)"
        )
    trajectory = AlongPath(path, search.s, search.profile.z, search.profile.b)
    names = tuple(zip(search.rows.names, search.rows.exponents, strict=True))
    names += tuple((name, 1.0) for name in search.rows.cone_names)
    return TimeOptimal(robot, limits, trajectory, search.profile, search.points, names, friction, rounds)


def _first_nodes(path: Path, intervals: int) -> Array:
    """Nodes with all knots and stops among them, about equally spaced."""
    ends = np.unique(np.concatenate([path.knots, path.stops]))
    ends = ends[np.concatenate([[True], np.diff(ends) > 1e-12 * path.length])]
    ends[-1] = path.length
    counts = np.maximum(np.ceil(np.diff(ends) / path.length * intervals - 1e-9).astype(int), 2)
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
    """Nodes and points that grow until the profile keeps its limits everywhere."""

    def __init__(self, dynamics: PathDynamics, s: Array) -> None:
        self.dynamics, self.s = dynamics, s
        self.extra = np.zeros((0, 2))  # further points: place s, side of a node
        self.z: Array | None = None
        self.b = np.zeros(len(s) - 1)
        self.worst = np.inf
        self.spread = WIDE
        self.reserve = np.full(len(s) - 1, _RESERVE)
        self.finest = float(np.max(np.diff(s))) / _FINEST

    def points_at(
        self, interval: Array, theta: Array, p: Array | None, *, exact: bool = False
    ) -> tuple[PointLimits, LimitRows]:
        """Limits at parts of intervals, and at rest at the stops; exact ones of the profile as it is."""
        s, path = self.s, self.dynamics.path
        step = np.diff(s)
        stops = self._stop_nodes()
        first, last = stops[:-1], stops[1:] - 1
        ends = np.concatenate([first, last])
        theta_ends = np.concatenate([np.full(len(first), _THETA[0]), np.full(len(last), _THETA[-1])])
        interval = np.concatenate([interval, ends])
        moving = np.concatenate([np.ones(len(theta)), np.zeros(len(ends))])
        theta = np.concatenate([theta, theta_ends])
        p = np.full(len(interval) - len(ends), path.length) if p is None else p
        p = np.append(p, np.zeros(len(ends)))
        u = None
        if exact and self.z is not None:
            u = profile_at(step, self.z, self.b, interval, theta)[0]
        at = s[interval] + theta * step[interval]
        return self.dynamics.limits_at(at, p, interval, theta, moving=moving, spread=self.spread, u=u)

    def solve(self) -> None:
        """The fastest profile on these nodes."""
        s, N = self.s, len(self.s) - 1
        step = np.diff(s)
        interval, theta = np.repeat(np.arange(N), len(_THETA)), np.tile(_THETA, N)
        if len(self.extra):
            k = np.clip(np.searchsorted(s, self.extra[:, 0], side="right") - 1, 0, N - 1)
            part = (self.extra[:, 0] - s[k]) / step[k]
            inside = (part > 1e-6) & (part < 1.0 - 1e-6)
            interval, theta = np.concatenate([interval, k[inside]]), np.concatenate([theta, part[inside]])
        p = None if self.z is None else self.speeds(interval, theta)
        points, self.rows = self.points_at(interval, theta, p)
        held = self.reserve[points.interval]
        points.rows[:, :, 3] -= held[:, None]
        points.cone_rows[:, :, 3] -= held[:, None]
        self._require_rest(points)
        self.points = points
        nu = _internal_forces(points)
        start = self._start(points, step, nu)
        self.profile = fastest_profile(points, step, *start)
        self.z, self.b = self.profile.z, self.profile.b

    def _stop_nodes(self) -> Array:
        """Numbers of the nodes at which the motion rests."""
        path = self.dynamics.path
        return np.asarray(np.searchsorted(self.s, path.stops - 1e-12 * path.length))

    def speeds(self, interval: Array, theta: Array) -> Array:
        """Speeds s' of the profile at parts of intervals."""
        assert self.z is not None
        z = profile_at(np.diff(self.s), self.z, self.b, interval, theta)[1]
        return np.asarray(np.sqrt(np.maximum(z, 1e-12 * np.max(self.z))))

    def verify(self) -> bool:
        """Whether no place within an interval violates a limit; else nodes and points are added."""
        assert self.z is not None
        s, N = self.s, len(self.s) - 1
        parts = _PARTS
        interval, theta = np.repeat(np.arange(N), len(parts)), np.tile(parts, N)
        self.spread = NARROW
        points, _ = self.points_at(interval, theta, self.speeds(interval, theta), exact=True)
        step = np.diff(s)
        none = np.zeros((len(points.theta), points.null.shape[2]))
        nu = _internal_forces(points, evaluate_slacks(points, step, self.z, self.b, none).S)
        S = evaluate_slacks(points, step, self.z, self.b, nu).S
        least = np.min(S, axis=1, initial=1.0)
        self.worst = float(-np.min(least))
        inexact = self._inexact_intervals()
        if self.worst <= -_MARGIN and not np.any(inexact):
            return True
        within = least[: N * len(parts)].reshape(N, len(parts))
        at_rest = least[N * len(parts) :]
        lowest = np.min(within, axis=1)
        np.minimum.at(lowest, points.interval[N * len(parts) :], at_rest)
        coarse = (lowest < -_COARSE) | inexact
        fine = (lowest < _MARGIN) & ~coarse
        worst = np.argmin(within, axis=1)
        self.extra = np.concatenate(
            [self.extra, np.stack([s[:-1] + step * parts[worst], 0.0 * step], 1)[fine]]
        )
        self.reserve = np.where(fine, self.reserve + 0.5 * np.maximum(_MARGIN - lowest, 0.0), self.reserve)
        # A new node is where a limit is violated most, else in the middle.
        cut = np.where(lowest < -_COARSE, np.clip(parts[worst], 0.1, 0.9), 0.5)
        every = np.arange(N)
        new_s, new_z = s[:-1] + cut * step, profile_at(step, self.z, self.b, every, cut)[1]
        order = np.argsort(np.concatenate([s, new_s[coarse]]), kind="stable")
        self.s = np.concatenate([s, new_s[coarse]])[order]
        self.z = np.concatenate([self.z, new_z[coarse]])[order]
        halves, second = np.where(coarse, 2, 1), np.cumsum(np.where(coarse, 2, 1))[coarse] - 1
        b = np.repeat(np.where(coarse, cut * cut, 1.0) * self.b, halves)
        b[second] = ((1.0 - cut) ** 2 * self.b)[coarse]
        self.b, self.reserve = b, np.repeat(self.reserve, halves)
        return False

    def _inexact_intervals(self) -> Array:
        """Which intervals are too long, since s'' jumps at one of their ends."""
        assert self.z is not None
        step = np.diff(self.s)
        mean, tilt = np.diff(self.z) / (2.0 * step), 2.0 * self.b / step
        jump = np.abs(mean[1:] + tilt[1:] - mean[:-1] + tilt[:-1])
        change = np.maximum(np.append(jump, 0.0), np.append(0.0, jump))
        p = np.sqrt(self.z)
        time = 2.0 * step / (p[1:] + p[:-1])
        error = 0.06 * step * change / (0.5 * (self.z[1:] + self.z[:-1])) * time
        return np.asarray((error > _ERROR * np.sum(time)) & (step > self.finest))

    def _require_rest(self, points: PointLimits) -> None:
        """Refuse a path on which a limit cannot be kept at rest."""
        nu = _internal_forces(points)
        rest = _values_at_rest(points, nu)
        if rest.size and np.min(rest) <= 0.0:
            k, r = np.unravel_index(int(np.argmin(rest)), rest.shape)
            names = [*self.rows.names, *self.rows.cone_names]
            at = self.s[points.interval[k]] + points.theta[k] * np.diff(self.s)[points.interval[k]]
            what, whom = names[r]
            path, robot = self.dynamics.path, self.dynamics.robot
            x = np.round(path(np.array([at]))[0][0], 6).tolist()
            raise RestLimitError(
                f"the limit of {what} of {whom} cannot be kept at {at:.6g} of {path.length:.6g} along the "
                f"path, x = {x}, however slowly {robot.name} moves: {1.0 - rest[k, r]:.3g} of it is needed "
                "to creep there",
                *names[r],
                float(at),
            )

    def _start(self, points: PointLimits, step: Array, nu: Array) -> tuple[Array, Array, Array]:
        """A profile within all limits, the one before or a slow one, and its internal forces."""
        s, path = self.s, self.dynamics.path
        if self.z is not None:
            for factor in (0.995, 0.98, 0.9, 0.7):
                z, b = factor * self.z, factor * self.b
                forces = _internal_forces(points, evaluate_slacks(points, step, z, b, 0.0 * nu).S)
                if np.all(evaluate_slacks(points, step, z, b, forces).S > 0.0):
                    return z, b, forces
        shape, flat = np.zeros_like(s), np.zeros(len(step))
        for a, b in pairwise(self._stop_nodes()):
            here = s[a : b + 1]
            # It rises from one stop and falls to the next.
            shape[a : b + 1] = 4.0 * (here - here[0]) * (here[-1] - here) / (here[-1] - here[0]) ** 2
        rest = _values_at_rest(points, nu)
        scale = path.length**2 * 1e4
        for _ in range(400):
            if np.all(0.1 * rest < evaluate_slacks(points, step, scale * shape, flat, nu).S):
                return scale * shape, flat, nu
            scale *= 0.5
        raise KinematicsError(f"{self.dynamics.robot.name}: no motion along the path keeps the limits")


def _values_at_rest(points: PointLimits, nu: Array) -> Array:
    """All limits (P, R + C) at u = z = 0."""
    rest = points.rows[:, :, 3] + np.matmul(points.null, nu[:, :, None])[:, :, 0]
    cones = points.cone_rows[:, :, 3] - np.linalg.norm(points.cones[..., 3], axis=2)
    return np.concatenate([rest, cones], axis=1)


def _internal_forces(points: PointLimits, values: Array | None = None) -> Array:
    """Internal forces (P, k) that leave the most to the limits, at rest or where these have other values.

    For one internal force the largest of the least S_r + n_r nu is where a rising and a falling row meet.
    """
    P, R, k = points.null.shape
    nu = np.zeros((P, k))
    here = points.rows[:, :, 3] if values is None else values[:, :R]
    if k == 1:
        n = points.null[:, :, 0]
        rising, falling = n[:, :, None], n[:, None, :]
        slope = rising - falling
        meets = (rising > 0.0) & (falling < 0.0)
        height = np.where(
            meets,
            (here[:, None, :] * rising - here[:, :, None] * falling) / np.where(meets, slope, 1.0),
            np.inf,
        ).reshape(P, -1)
        best = np.argmin(height, axis=1)
        i, j = np.divmod(best, R)
        at = np.arange(P)
        meets = np.isfinite(height[at, best])
        width = np.where(meets, n[at, i] - n[at, j], 1.0)
        nu[:, 0] = np.where(meets, (here[at, j] - here[at, i]) / width, 0.0)
    elif k > 1:
        from scipy.optimize import linprog

        cost = np.append(np.zeros(k), -1.0)
        for p in range(P):
            rows = np.any(points.null[p] != 0.0, axis=1)
            A = np.concatenate([-points.null[p][rows], np.ones((rows.sum(), 1))], axis=1)
            solution = linprog(cost, A_ub=A, b_ub=here[p][rows], bounds=[(None, None)] * (k + 1))
            if solution.success:
                nu[p] = solution.x[:k]
    return nu
