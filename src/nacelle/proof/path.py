"""Paths that are proved: the whole continuous motion, not samples of it.

A trajectory is given as polynomials x(t) between times (`nacelle.trajectory.pieces`), and all motions within
a deviation of them. On an interval of time, with s from -1 to 1 and to first order in s,

    x = x_m + x_1 s + E,        z = z_m + z_1 s + D        E, D boxes around 0; E holds what is left of x(t)

1. D is found by Krawczyk's operator. With C near the inverse of the loops' Jacobian F_z at the middle,

       K = -C [F(x_m, z_m) + (F_x x_1 + F_z z_1) s + F_x E] + (1 - C F_z) D,    derivatives over the box,

   and if K lies in the interior of D, there is for every x of the box exactly one z in it that closes the
   loops, and that lies in K. At the times between two intervals the solution of the first is the one of the
   next if z_m + z_1 + K lies in the next one's box: so the whole motion is on one branch, without serial
   singularities.
2. The ways to limits and the margins of the legs are bounded to first order, too,

       g in g(x_m, z_m) + (g_x x_1 + g_z z_1) s + g_x E + g_z K,

   and so are the entries of J_r^-1, whose condition is bounded for all matrices between (`matrices`).

An interval for which a claim cannot be shown is halved, until the claim fails at its middle or the interval
is shorter than the resolution.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.polynomial import chebyshev

from nacelle.kinematics.flags import Flag, has_failed
from nacelle.kinematics.solve.inverse import inverse_kinematics
from nacelle.kinematics.underactuated import undriven_coordinates
from nacelle.model.robot import Robot
from nacelle.proof.equations import ProofError, RobotEquations, apart_pairs, robot_equations
from nacelle.proof.matrices import (
    add_boxes,
    around,
    either_way,
    identity_less_product,
    inverse_condition,
    middle_radius,
    point,
    product,
)
from nacelle.results import HasTable
from nacelle.spatial.interval import round_up
from nacelle.spatial.scalar import Array
from nacelle.trajectory.base import Trajectory
from nacelle.trajectory.pieces import Pieces, trajectory_pieces

# Intervals at the beginning, at least; and halvings of the duration after which a claim is not shown.
_FIRST, _HALVINGS = 16, 16
# Times at which polynomials are compared with the trajectory.
_CHECKS = 97
# Rounding of polynomials, over the sum of their coefficients.
_ROUNDING = 2.0**-38
# How much larger than needed the box of the unknowns is chosen at first, and its least radius.
_INFLATION, _LEAST = 2.5, 1e-12


class Bounds(NamedTuple):
    """What is to be proved.

    Attributes:
        serial: least margin of every leg (`InverseKinematics.margins`).
        parallel: least inverse condition of J_r^-1 without units (`Jacobian.conditioning`); None for none.
        clearance: least distance between the capsules of different legs, m; None for none.
        deviation: how far from the trajectory the motion may be, m, rad and entries of a quaternion.
    """

    serial: float
    parallel: float | None
    clearance: float | None
    deviation: float


class UnprovedPlace(NamedTuple):
    """The first place of a path for which something is not proved.

    Attributes:
        start: of the interval of time, s.
        stop: its end, s.
        reason: what is not shown.
        violated: whether it is proved not to hold at a time between them.
    """

    start: float
    stop: float
    reason: str
    violated: bool


@dataclass(frozen=True, eq=False, repr=False)
class PathProof(HasTable):
    """What is proved of a motion.

    Attributes:
        robot: the robot.
        trajectory: the motion.
        bounds: what was to be proved.
        times: ends of the intervals of time that prove it (N + 1,), s; those before the first place at which
            something is not shown.
        least_way: proved least way to a limit, rad or m (of tilts of spherical joints the difference of
            cosines); infinite without limits.
        least_margin: proved least margin of a leg.
        least_conditioning: proved least inverse condition of J_r^-1; infinite if it was not asked for.
        least_clearance: proved least distance between legs, m; infinite if it was not asked for.
        nearest_limit: which limit that is; empty without limits.
        unproved: the first place for which something is not shown; None if all is proved.
    """

    robot: Robot
    trajectory: Trajectory
    bounds: Bounds
    times: Array
    least_way: float
    least_margin: float
    least_conditioning: float
    least_clearance: float
    nearest_limit: str
    unproved: UnprovedPlace | None

    @property
    def proved(self) -> bool:
        """Whether everything is proved for the whole motion."""
        return self.unproved is None

    def describe(self) -> list[str]:
        """The result in sentences."""
        if self.unproved is None:
            lines = [
                f"proved for {self.trajectory.duration:g} s, in {len(self.times) - 1} intervals: all poses "
                f"within {self.bounds.deviation:g} of the path, m or rad, are reached on one branch"
            ]
            if self.nearest_limit:
                lines.append(f"ways to limits: at least {self.least_way:.6g} ({self.nearest_limit})")
            lines.append(f"margins of legs: at least {self.least_margin:.6g}")
            if self.bounds.parallel is not None:
                lines.append(f"inverse condition of the Jacobian: at least {self.least_conditioning:.6g}")
            if self.bounds.clearance is not None:
                lines.append(f"distance between legs: at least {1e3 * self.least_clearance:.6g} mm")
            return lines
        first = self.unproved
        verb = "does not hold" if first.violated else "is not shown"
        return [f"not proved: between {first.start:.9g} and {first.stop:.9g} s {verb}: {first.reason}"]


def prove(
    robot: Robot,
    trajectory: Trajectory,
    *,
    serial: float = 1e-4,
    parallel: float | None = 1e-3,
    clearance: float | None = None,
    deviation: float = 1e-9,
    guess: Any = None,
) -> PathProof:
    """Prove that a robot can follow a trajectory: reachable, within all limits, on one branch, not singular.

    Args:
        robot: the robot.
        trajectory: the motion of its platform.
        serial: margin that every leg shall keep, 0 at a serial singularity.
        parallel: inverse condition of J_r^-1 that it shall keep, 0 at a parallel singularity; None if
            that is not to be proved.
        clearance: distance that legs shall keep, m, bodies taken as capsules around the rods of their
            description, or those that the joints suggest; bodies that a joint connects are left out.
        deviation: the proof holds for all motions so near to the trajectory, m, rad and entries of a
            quaternion, each coordinate.
        guess: the branch at the start, as for `inverse_kinematics`; that of the reference pose if None.

    Returns:
        What is proved, or the first place at which something is not.

    Raises:
        ProofError: if the trajectory is of another motion type, or the robot's loops cannot be treated.
        NacelleError: if the start cannot be reached.
    """
    if trajectory.motion != robot.motion:
        raise ProofError(
            f"the trajectory is of the motion {trajectory.motion.name}, {robot.name} has {robot.motion.name}"
        )
    for name, value in (
        ("serial", serial),
        ("parallel", parallel),
        ("clearance", clearance),
        ("deviation", deviation),
    ):
        if value is not None and not (np.isfinite(value) and value >= 0.0):
            raise ProofError(f"{name} is {value} (write a number that is not negative)")
    if parallel is not None and undriven_coordinates(robot):
        raise ProofError(
            f"nothing drives {', '.join(undriven_coordinates(robot))} of {robot.name}, so "
            "every pose is a parallel singularity: prove with parallel=None"
        )
    equations = robot_equations(robot, capsules=clearance is not None)
    motion = _Motion(trajectory, deviation)
    return _Prover(equations, motion, Bounds(serial, parallel, clearance, deviation)).run(guess)


class _Segments(NamedTuple):
    """Intervals of time (N,), s, with the unknowns (N, nz) at their middles."""

    start: Array
    stop: Array
    z: Array

    def take(self, index: Array) -> _Segments:
        return _Segments(*(values[index] for values in self))


class _Expansion(NamedTuple):
    """The pose over intervals, x_m + x_1 s + E: middles and slopes (N, nx), and the radius of E (N, nx)."""

    middle: Array
    slope: Array
    rest: Array


class _Motion:
    """A trajectory as polynomials, and bounds of it over intervals of time."""

    def __init__(self, trajectory: Trajectory, deviation: float) -> None:
        pieces = trajectory_pieces(trajectory.inside, trajectory.knots, checks=_CHECKS)
        nx = pieces.sizes[0]
        self.trajectory, self.deviation, self.times = trajectory, deviation, pieces.times
        table = [pieces.coefficients[:, :, :nx]]
        scale = (2.0 / np.diff(pieces.times))[:, None, None]
        for _ in range(3):
            table.append(chebyshev.chebder(table[-1], axis=1) * scale)
        self._derivatives = [Pieces(pieces.times, part, pieces.sizes) for part in table]
        self._sums = np.sum(np.abs(table[0]), axis=1)
        self._third = np.sum(np.abs(table[3]), axis=1)

    def segments(self) -> tuple[Array, Array]:
        """Starts and ends of the first intervals, within the pieces."""
        count = np.maximum(1, np.ceil(_FIRST * np.diff(self.times) / self.times[-1])).astype(int)
        ends = [
            np.linspace(a, b, n + 1)[:-1]
            for a, b, n in zip(self.times[:-1], self.times[1:], count, strict=True)
        ]
        edges = np.concatenate([*ends, self.times[-1:]])
        return edges[:-1], edges[1:]

    def expand(self, start: Array, stop: Array) -> _Expansion:
        """The pose over intervals, by Taylor's theorem with the bound of the third derivative."""
        t, r = 0.5 * (start + stop), (0.5 * (stop - start) * (1.0 + 2.0**-40))[:, None]
        k = np.clip(np.searchsorted(self.times, t, side="right") - 1, 0, len(self.times) - 2)
        x, dx, ddx = (part.at(t) for part in self._derivatives[:3])
        rest = 0.5 * r**2 * (np.abs(ddx) + r * self._third[k]) * (1.0 + 2.0**-30)
        return _Expansion(x, r * dx, rest + _ROUNDING * self._sums[k] + self.deviation)


class _Verdicts(NamedTuple):
    """What is shown of intervals.

    Attributes:
        reasons: index of the first claim that is not shown, -1 if all are (N,).
        violated: whether that claim is proved not to hold at the middle (N,).
        z: unknowns at the middles (N, nz).
        slope: their slopes (N, nz).
        box: radii of the boxes in which they are unique (N, nz).
        solution: radii of those in which they are (N, nz).
        least: proved least way, margin, conditioning and clearance (N, 4).
        nearest: the limit that is nearest (N,).
    """

    reasons: Array
    violated: Array
    z: Array
    slope: Array
    box: Array
    solution: Array
    least: Array
    nearest: Array


class _Prover:
    """The proof of one motion."""

    def __init__(self, equations: RobotEquations, motion: _Motion, bounds: Bounds) -> None:
        self.equations, self.motion, self.bounds = equations, motion, bounds
        robot = equations.robot
        self.reasons = [
            f"{robot.name} closes its loops on the branch where it begins",
            *(f"{limit.name} keeps within its limit" for limit in equations.limits),
            *(f"the margin of {name} is above {bounds.serial:g}" for name in equations.margin_names),
            f"the inverse condition of the Jacobian is above {bounds.parallel:g}"
            if bounds.parallel is not None
            else "",
        ]
        self.pairs = apart_pairs(robot, equations.capsules)
        names = [robot.bodies[capsule.body].name for capsule in equations.capsules]
        self.reasons += [
            f"{names[i]} and {names[j]} are {1e3 * (bounds.clearance or 0.0):g} mm apart"
            for i, j in self.pairs
        ]

    def run(self, guess: Any) -> PathProof:
        """Halve intervals until all are proved, or one cannot be."""
        start, stop = self.motion.segments()
        waiting = _Segments(start, stop, self._unknowns(0.5 * (start + stop), guess))
        shortest = self.motion.trajectory.duration * 2.0**-_HALVINGS
        done: list[tuple[_Segments, _Verdicts]] = []
        # The first time at which a claim does not hold, and the first interval for which one is not shown.
        violation = np.inf
        failed: UnprovedPlace | None = None
        while len(waiting.start):
            verdicts = self.judge(waiting)
            good = verdicts.reasons < 0
            done.append((waiting.take(good), _Verdicts(*(part[good] for part in verdicts))))
            middle = 0.5 * (waiting.start + waiting.stop)
            violation = min(violation, float(np.min(middle[verdicts.violated], initial=np.inf)))
            end = violation if failed is None else min(violation, failed.start)
            short = ~good & (waiting.stop - waiting.start <= shortest) & (waiting.start < end)
            for k in np.flatnonzero(short):
                if failed is None or waiting.start[k] < failed.start:
                    reason = self.reasons[int(verdicts.reasons[k])]
                    ends = float(waiting.start[k]), float(waiting.stop[k])
                    failed = UnprovedPlace(*ends, reason, violated=False)
            again = ~good & ~short & (waiting.start < end)
            waiting = _halves(waiting.take(again), verdicts.z[again], verdicts.slope[again])
            if not len(waiting.start):
                waiting = self._find_unlinked(done, np.inf if failed is None else failed.start)
        if failed is not None and violation <= failed.stop + 2.0 * shortest:
            failed = failed._replace(stop=max(failed.stop, violation), violated=True)
        return self._result(done, failed)

    def _unknowns(self, t: Array, guess: Any) -> Array:
        """Unknowns (N, nz) near solutions along the motion; NaN where none is found."""
        equations = self.equations
        if not equations.unknown_count:
            return np.zeros((len(t), 0))
        at = np.concatenate([[0.0], t])
        solution = inverse_kinematics(
            equations.robot, self.motion.trajectory(at).x, guess=guess, follow=True, limits=False
        )
        if guess is None and solution.flags[0] & int(Flag.OTHER_BRANCH):
            raise ProofError(
                f"the motion of {equations.robot.name} begins on a branch that is not connected with the "
                "reference pose: give a guess"
            )
        y = np.where(has_failed(solution.flags)[:, None], np.nan, solution.y)
        return np.asarray(y[1:, list(equations.kept)])

    def judge(self, segments: _Segments) -> _Verdicts:
        """What is shown of intervals."""
        x = self.motion.expand(segments.start, segments.stop)
        with np.errstate(all="ignore"):
            loops = self._solve_loops(x, segments.z)
            return self._bound_quantities(x, loops)

    def _solve_loops(self, x: _Expansion, z: Array) -> _Verdicts:
        """The unknowns over intervals, by Krawczyk's operator."""
        equations, count, nz = self.equations, len(z), z.shape[1]
        nothing = np.zeros((count, nz))
        reasons = np.full(count, -1)
        empty = _Verdicts(
            reasons, np.zeros(count, bool), z, nothing, nothing, nothing, np.zeros((count, 4)), reasons
        )
        if not nz or not count:
            return empty
        at = point(x.middle)
        A = equations.loop_jacobian(at, point(z))["d_loops"].mean(axis=-1)
        good = np.all(np.isfinite(A), axis=(-2, -1))
        C = np.linalg.pinv(np.where(good[:, None, None], A, np.eye(nz)))
        # One step of Newton's method, then the slope of the solution.
        z = z - (C @ equations.loop_values(at, point(z))["loops"].mean(axis=-1)[..., None])[..., 0]
        along = equations.loop_slopes(at, point(z), point(x.slope), point(nothing))["d_loops"]
        slope = -(C @ along.mean(axis=-1)[..., None])[..., 0]

        ends = (around(x.middle, np.abs(x.slope) + x.rest), around(0.0 * x.rest, x.rest))
        open_at_middle = equations.loop_values(at, point(z))["loops"]

        # C F at z_m + z_1 s, with derivatives between there and the middle.
        Z = around(z, np.abs(slope))
        first = equations.loop_slopes(ends[0], Z, point(x.slope), point(slope))["d_loops"]
        second = equations.loop_slopes(ends[0], Z, ends[1], point(nothing))["d_loops"]
        total = add_boxes(open_at_middle, either_way(first), second)
        needed = product(C, total[..., None, :]).size[..., 0]
        radius = _INFLATION * needed + _LEAST * equations.robot.size
        rest = identity_less_product(
            C, equations.loop_jacobian(ends[0], around(z, np.abs(slope) + radius))["d_loops"]
        ).size
        solution = round_up(needed + (rest @ radius[..., None])[..., 0] * (1.0 + 2.0**-30))
        contracts = np.all(solution < radius, axis=-1)
        return empty._replace(
            reasons=np.where(contracts, -1, 0),
            z=z,
            slope=slope,
            box=np.asarray(radius),
            solution=np.asarray(solution),
        )

    def _bound_quantities(self, x: _Expansion, loops: _Verdicts) -> _Verdicts:
        """Ways, margins and the condition of the Jacobian over intervals."""
        equations, bounds = self.equations, self.bounds
        X = around(x.middle, np.abs(x.slope) + x.rest)
        Z = around(loops.z, np.abs(loops.slope) + loops.solution)
        directions = (around(0.0 * x.rest, x.rest), around(0.0 * loops.z, loops.solution))
        middle = equations.values(point(x.middle), point(loops.z))
        first = equations.slopes(X, Z, point(x.slope), point(loops.slope))
        second = equations.slopes(X, Z, *directions)
        box = {
            name: add_boxes(middle[name], either_way(first[f"d_{name}"]), second[f"d_{name}"])
            for name in middle
        }
        if equations.unknown_count:
            # What is violated is so at the solution, which is known to lie in a box.
            middle = equations.values(point(x.middle), around(loops.z, loops.solution))
        ways, way_at_middle = (equations.ways_to_limits(part["coordinates"]) for part in (box, middle))
        ways, legs = ways[..., 0], box["margins"][..., 0]
        conditioning = np.full((len(ways), 1), np.inf)
        holds = [ways > 0.0, legs > bounds.serial]
        fails_at_middle = [way_at_middle[..., 1] < 0.0, middle["margins"][..., 1] <= bounds.serial]
        if bounds.parallel is not None:
            conditioning = inverse_condition(box["J"])[:, None]
            holds.append(conditioning > bounds.parallel)
            fails_at_middle.append(_largest_condition(middle["J"])[:, None] <= bounds.parallel)
        else:
            holds.append(conditioning > 0.0)
            fails_at_middle.append(conditioning < 0.0)
        gaps = np.full((len(ways), 1), np.inf)
        if bounds.clearance is not None:
            radii = np.array([capsule.radius for capsule in equations.capsules])
            least, most = _distances(box["ends"], middle["ends"], self.pairs)
            gaps = least - radii[self.pairs].sum(axis=1)
            holds.append(gaps > bounds.clearance)
            fails_at_middle.append(most - radii[self.pairs].sum(axis=1) < bounds.clearance)
        claims = np.concatenate(holds, axis=1)
        reasons = np.where(claims.all(axis=1), -1, 1 + np.argmin(claims, axis=1))
        # A claim that does not hold at the middle comes before others that are not shown.
        fails = np.concatenate(fails_at_middle, axis=1) & (loops.reasons < 0)[:, None]
        reasons = np.where(fails.any(axis=1), 1 + np.argmax(fails, axis=1), reasons)
        lowest = [np.min(part, axis=1, initial=np.inf) for part in (ways, legs, conditioning, gaps)]
        return loops._replace(
            reasons=np.where(loops.reasons >= 0, 0, reasons),
            violated=np.asarray(fails.any(axis=1)),
            least=np.stack(lowest, axis=1),
            nearest=np.argmin(ways, axis=1) if ways.shape[1] else loops.reasons,
        )

    def _find_unlinked(self, done: list[tuple[_Segments, _Verdicts]], last: float) -> _Segments:
        """Intervals before a time whose solutions are not shown to be their neighbours', halved again."""
        if not self.equations.unknown_count:
            return done[0][0].take(np.zeros(0, int))
        segments, verdicts = _join(done)
        end, begin = verdicts.z[:-1] + verdicts.slope[:-1], verdicts.z[1:] - verdicts.slope[1:]
        apart = np.abs(end - begin) * (1.0 + 2.0**-40)
        rounding = 2.0**-50 * (np.abs(verdicts.z) + np.abs(verdicts.slope))
        room = apart + rounding[:-1] + rounding[1:]
        forward = np.all(room + verdicts.solution[:-1] < verdicts.box[1:], axis=1)
        backward = np.all(room + verdicts.solution[1:] < verdicts.box[:-1], axis=1)
        loose = np.flatnonzero(
            ~(forward | backward) & (segments.stop[:-1] == segments.start[1:]) & (segments.stop[:-1] < last)
        )
        if not loose.size:
            return segments.take(loose)
        again = np.zeros(len(segments.start), dtype=bool)
        again[loose] = again[loose + 1] = True
        shortest = self.motion.trajectory.duration * 2.0**-_HALVINGS
        if np.min((segments.stop - segments.start)[again]) <= shortest:
            raise ProofError(
                f"between {segments.start[loose[0]]:.9g} and {segments.stop[loose[0] + 1]:.9g} s the "
                "solutions of neighbouring intervals are not shown to be one: prove with a smaller deviation"
            )
        done[:] = [(segments.take(~again), _Verdicts(*(part[~again] for part in verdicts)))]
        return _halves(segments.take(again), verdicts.z[again], verdicts.slope[again])

    def _result(self, done: list[tuple[_Segments, _Verdicts]], failed: UnprovedPlace | None) -> PathProof:
        segments, verdicts = _join(done)
        before = segments.start < (np.inf if failed is None else failed.start)
        least = np.min(verdicts.least[before], axis=0, initial=np.inf)
        limits = self.equations.limits
        nearest, (way, margin, conditioning, gap) = "", least.tolist()
        if limits and before.any():
            nearest = limits[int(verdicts.nearest[before][np.argmin(verdicts.least[before][:, 0])])].name
        edges = np.append(segments.start[before], segments.stop[before][-1:])
        last = self.motion.times[-1] if failed is None else failed.start
        covers = np.array_equal(segments.stop[before][:-1], segments.start[before][1:])
        if before.any() and not (covers and edges[0] == self.motion.times[0] and edges[-1] == last):
            raise ProofError("intervals do not cover the motion: please report this")
        return PathProof(
            self.equations.robot,
            self.motion.trajectory,
            self.bounds,
            edges,
            way,
            margin,
            conditioning,
            gap,
            nearest,
            failed,
        )


def _join(done: Sequence[tuple[_Segments, _Verdicts]]) -> tuple[_Segments, _Verdicts]:
    """Proved intervals in the order of time."""
    segments = _Segments(*(np.concatenate(parts) for parts in zip(*(s for s, _ in done), strict=True)))
    verdicts = _Verdicts(*(np.concatenate(parts) for parts in zip(*(v for _, v in done), strict=True)))
    order = np.argsort(segments.start)
    return segments.take(order), _Verdicts(*(part[order] for part in verdicts))


def _halves(segments: _Segments, z: Array, slope: Array) -> _Segments:
    """Both halves of intervals; unknowns at their middles by the slope."""
    start, stop, _ = segments
    middle = 0.5 * (start + stop)
    return _Segments(
        np.concatenate([start, middle]),
        np.concatenate([middle, stop]),
        np.concatenate([z - 0.5 * slope, z + 0.5 * slope]),
    )


def _distances(ends: Array, middle: Array, pairs: Array) -> tuple[Array, Array]:
    """Bounds (N, P) of the distances of lines, from below over boxes and from above at the middles, m.

    All points of two lines are apart along a direction n at least by the smallest difference of their ends;
    n is that of the nearest points at the middle.

    Args:
        ends: boxes of the ends of lines (N, lines, 2, 3, 2), m.
        middle: the same at the middles.
        pairs: pairs of lines (P, 2).
    """
    a, b = (middle[:, pairs[:, k]].mean(axis=-1) for k in range(2))
    first, second = nearest_points(a, b)
    n = first - second
    length = np.linalg.norm(n, axis=-1)
    n = n / np.maximum(length, 1e-300)[..., None]
    A, B = (middle_radius(ends[:, pairs[:, k]]) for k in range(2))
    sides = []
    for sign, (value, radius) in ((1.0, A), (-1.0, B)):
        along = sign * np.einsum("npek,npk->npe", value, n)
        slack = np.einsum("npek,npk->npe", radius + 2.0**-48 * np.abs(value), np.abs(n)) * (1.0 + 2.0**-30)
        sides.append(np.min(along - slack, axis=-1))
    # n is of unit length to rounding; an upper bound takes the rounding of the middle along.
    size = np.max(np.abs(middle), axis=(1, 2, 3, 4))[:, None]
    least = (sides[0] + sides[1]) * (1.0 - 2.0**-40) - 2.0**-48 * size
    return np.asarray(least), np.asarray(length + 2.0**-40 * (size + length))


def nearest_points(a: Array, b: Array) -> tuple[Array, Array]:
    """The nearest points (..., 3) of lines between ends a and b (..., 2, 3), m; of parallel ones some."""
    u, v, w = a[..., 1, :] - a[..., 0, :], b[..., 1, :] - b[..., 0, :], a[..., 0, :] - b[..., 0, :]
    uu, uv, vv, uw, vw = (np.sum(p * q, axis=-1) for p, q in ((u, u), (u, v), (v, v), (u, w), (v, w)))
    determinant = uu * vv - uv * uv
    with np.errstate(all="ignore"):
        s = np.where(determinant > 1e-12 * uu * vv, (uv * vw - vv * uw) / determinant, 0.0)
        for _ in range(2):
            t = np.clip(np.nan_to_num((uv * np.clip(s, 0.0, 1.0) + vw) / vv), 0.0, 1.0)
            s = np.clip(np.nan_to_num((uv * t - uw) / uu), 0.0, 1.0)
    return a[..., 0, :] + s[..., None] * u, b[..., 0, :] + t[..., None] * v


def _largest_condition(box: Array) -> Array:
    """An upper bound (...) of s_min / s_max of the matrices of a box (..., m, n, 2)."""
    middle, radius = middle_radius(box)
    good = np.all(np.isfinite(middle), axis=(-2, -1))
    s = np.linalg.svd(np.where(good[..., None, None], middle, 1.0), compute_uv=False)
    # The rounding of singular values is far below 1e-9 of the largest one.
    slack = np.sqrt(np.sum(radius**2, axis=(-2, -1))) + 1e-9 * s[..., 0]
    return np.asarray(np.where(good, (s[..., -1] + slack) / np.maximum(s[..., 0] - slack, 1e-300), np.nan))
