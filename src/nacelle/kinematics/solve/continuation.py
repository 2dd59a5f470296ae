"""Continuation: solutions that are connected with a known one, in steps in which Newton's method is certain.

A branch is what a path from a known solution reaches: parameters p (a pose, or coordinates of actuators)
go from p_0 to p_1, and the unknowns y follow from one solution to the next. Two things are asked of a step:

- Newton's iteration from the solution before it is in its region of certain convergence, by the affine
  covariant theorem of Newton and Mysovskikh in its computable form (Deuflhard, Newton Methods for Nonlinear
  Problems, 2004, sections 2.1 and 5.1): with dy_0 and dy_1 the first two corrections

      theta = |dy_1| / |dy_0| < 1/4,       |dy_0| small

- No singularity lies within it. Near one the conditioning c (0 at a singularity) falls linearly or as a root
  to zero and rises again on whatever solution comes behind; c at the middle of the step then lies off the
  mean of its values at the ends by more than the smaller of these. So a step is taken if

      |c_middle - (c_begin + c_end) / 2| < min(c_begin, c_end) / 4

  for each leg on its own: the smallest of them all would hide a leg that passes its singularity while
  another one is worse.

Otherwise the step is halved. At a singularity the steps shrink to nothing: there a path ends, and what lies
behind it is not connected.

All samples of a batch go side by side, each with its own step, around the Newton driver that exists.

Poses and coordinates of actuators are searched in the same way (`BranchSearch`): in a straight line from a
known solution; where that is blocked by a singularity, from the nearest points of a roadmap of the branch; at
last by plain iteration, whose solutions may be on another branch. Samples along a path follow one another.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from nacelle.emit.newton import NewtonResult, NewtonSolver
from nacelle.kinematics.flags import Flag
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array

# What the loops may leave open, over the robot's size. Where there are more rows than unknowns (a spherical
# 3-RSR, a planar loop whose axes a file gives by six digits), rounding of constants leaves some 1e-13;
# results take one step more in the end.
CLOSURE_TOLERANCE = 1e-12
_ITERATIONS = 30
# By how many roundings of a place in the base a loop may be open.
_ROUNDED = 8.0
# Contraction of the first two corrections, and the longest first correction, rad or robot sizes.
_CONTRACTION = 0.2
_LONGEST_CORRECTION = 0.25
# Corrections below this are rounding, whose contraction says nothing.
_ROUNDING = 1e-10
# A last step that is longer, rad or robot sizes, improves nothing.
_POLISH = 1e-3
_FIRST_STEP = 1.0
# A path whose step falls below this part of what is left of it has met a singularity, or its end.
_BLOCKED_STEP = 2e-3
# What is left of a path may be taken by plain iteration where it is this short: its end is a singularity.
_END_PART = 1e-6
_ROUNDS = 400
# Points of the first piece of a run.
_FIRST_RUN = 16
# The longest step of plain iteration, rad or robot sizes.
_LONGEST_PLAIN = 0.5

PathPoint = Callable[[Array, Array], Array]
"""Parameters at the parts t (M,) of the paths of some samples (M,) of a batch: (indices, t) to (M, k)."""
Interpolation = Callable[[Array, Array, Array], Array]
"""Parameters at the parts t (M,) of the ways from parameters (M, k) to others."""


@dataclass(frozen=True, eq=False)
class Equations:
    """What is followed.

    Attributes:
        solver: Newton's iteration for y at parameters p.
        conditioning: (p, y) to c (N, measures): distances from singularities, 0 at one.
        units: what the unknowns count in (ny,): the robot's size for lengths, 1 for angles.
        closed: what the loops may leave open (`closed_tolerance`).
    """

    solver: NewtonSolver
    conditioning: Callable[[Array, Array], Array]
    units: Array
    closed: float = CLOSURE_TOLERANCE


def closed_tolerance(robot: Robot) -> float:
    """What the loops of a robot may leave open, over its size: no less than rounding of places leaves."""
    return CLOSURE_TOLERANCE + _ROUNDED * robot.coordinate_rounding


@dataclass(frozen=True, eq=False)
class ContinuationResult:
    """Where continuation has come.

    Attributes:
        y: unknowns (N, ny) at the last point of each path that was reached.
        part: how much of the path that is (N,): 1 where its end was reached.
        iterations: Newton's steps (N,).
    """

    y: Array
    part: Array
    iterations: Array

    @property
    def is_complete(self) -> Array:
        """Whether the ends were reached (N,)."""
        return np.asarray(self.part == 1.0)


def continue_solutions(equations: Equations, y: Array, path: PathPoint) -> ContinuationResult:
    """Follow solutions (N, ny) from where their paths begin."""
    y = np.array(y, dtype=float)
    part, step = np.zeros(len(y)), np.full(len(y), _FIRST_STEP)
    iterations = np.zeros(len(y), dtype=np.int64)
    active = np.flatnonzero(np.all(np.isfinite(y), axis=1))
    if active.size:
        first = equations.conditioning(path(active, np.zeros(active.size)), y[active])
        c = np.zeros((len(y), first.shape[1]))
        c[active] = first
    for _ in range(_ROUNDS):
        if not active.size:
            break
        begin = part[active]
        end = begin + step[active]
        end[end > 1.0 - 1e-3 * step[active]] = 1.0
        middle, goal = path(active, 0.5 * (begin + end)), path(active, end)
        certain, y_end, c_end, newton_steps = _step(equations, y[active], c[active], middle, goal)
        iterations[active] += newton_steps
        advanced = active[certain]
        y[advanced], part[advanced], c[advanced] = y_end[certain], end[certain], c_end[certain]
        step[advanced] *= 2.0
        step[active[~certain]] *= 0.5
        left = 1.0 - part[active]
        blocked = step[active] < _BLOCKED_STEP * left
        active = active[(left > 0.0) & ~blocked]
    _finish_paths(equations, y, part, path)
    return ContinuationResult(y, part, iterations)


def _step(
    equations: Equations, y: Array, c: Array, middle: Array, goal: Array
) -> tuple[Array, Array, Array, Array]:
    """Which samples may go to new parameters, their solutions and conditioning there, and Newton's steps."""
    # In the middle two corrections are accurate enough.
    first, second, certain = _corrections(equations, y, middle)
    half, newton_steps = second.y, first.iterations + second.iterations
    y_end, c_end = np.full(y.shape, np.nan), np.full(c.shape, np.nan)
    which = np.flatnonzero(certain)
    if not which.size:
        return certain, y_end, c_end, newton_steps
    certain[which], y_end[which], more = _certain_solution(equations, half[which], goal[which])
    newton_steps[which] += more
    which = np.flatnonzero(certain)
    if which.size:
        both = equations.conditioning(
            np.concatenate([goal[which], middle[which]]), np.concatenate([y_end[which], half[which]])
        )
        c_end[which] = both[: which.size]
        certain[which] = _no_singularity(c[which], both[which.size :], c_end[which])
    return certain, y_end, c_end, newton_steps


def _no_singularity(begin: Array, middle: Array, end: Array) -> Array:
    """Whether the conditioning (N, measures) at three points shows no singularity between them (N,)."""
    off = np.abs(middle - 0.5 * (begin + end))
    return np.asarray(np.all(off <= 0.25 * np.minimum(begin, end), axis=1))


def _certain_solution(equations: Equations, y: Array, p: Array) -> tuple[Array, Array, Array]:
    """Where Newton's iteration from y is certain to converge at new parameters; solutions, and its steps."""
    first, second, certain = _corrections(equations, y, p)
    y_end = second.y.copy()
    newton_steps = first.iterations + second.iterations
    which = np.flatnonzero(certain)
    if which.size:
        closed = equations.solver.solve(
            second.y[which], p[which], tolerance=equations.closed, max_iterations=_ITERATIONS
        )
        y_end[which], certain[which] = closed.y, closed.status == 0
        newton_steps[which] += closed.iterations
    return certain, y_end, newton_steps


def _corrections(equations: Equations, y: Array, p: Array) -> tuple[NewtonResult, NewtonResult, Array]:
    """The first two Newton steps at new parameters, and whether they show certain convergence (N,)."""
    first = equations.solver.solve(y, p, tolerance=equations.closed, max_iterations=1)
    second = equations.solver.solve(first.y, p, tolerance=equations.closed, max_iterations=1)
    with np.errstate(invalid="ignore", over="ignore"):
        d0 = np.max(np.abs(first.y - y) / equations.units, axis=1, initial=0.0)
        d1 = np.max(np.abs(second.y - first.y) / equations.units, axis=1, initial=0.0)
        certain = (d0 <= _LONGEST_CORRECTION) & ((d1 <= _CONTRACTION * d0) | (d1 <= _ROUNDING))
    return first, second, np.asarray(certain)


class CertainRun(NamedTuple):
    """Solutions (M, ny) at the first M parameters of a path, and Newton's steps (M,)."""

    y: Array
    iterations: Array


def follow_certain_run(
    equations: Equations, p0: Array, y0: Array, p: Array, between: Interpolation
) -> CertainRun:
    """Follow a path of parameters (N, k) from the solution y0 (ny,) at p0 (k,), a Newton iteration a point.

    Ends before the first point that is not certainly connected with the one before.
    """
    y, iterations = np.zeros((0, y0.size)), np.zeros(0, dtype=np.int64)
    length = _FIRST_RUN
    while len(y) < len(p):
        # Pieces of growing length: what comes behind a point where the run ends is not solved in vain.
        piece = p[len(y) : len(y) + length]
        run = _certain_piece(equations, p0, y0, piece, between)
        y, iterations = np.concatenate([y, run.y]), np.concatenate([iterations, run.iterations])
        if len(run.y) < len(piece):
            break
        p0, y0, length = piece[-1], run.y[-1], 4 * length
    return CertainRun(y, iterations)


def _certain_piece(
    equations: Equations, p0: Array, y0: Array, p: Array, between: Interpolation
) -> CertainRun:
    """`follow_certain_run` for a piece of a path, all at a time."""
    solution = equations.solver.solve(
        y0, p, tolerance=equations.closed, max_iterations=_ITERATIONS, follow=True
    )
    before, last = np.concatenate([y0[None], solution.y[:-1]]), np.concatenate([p0[None], p[:-1]])
    c = equations.conditioning(last, before)
    middle = between(last, p, np.full(len(p), 0.5))
    certain, again, _, _ = _step(equations, before, c, middle, p)
    with np.errstate(invalid="ignore"):
        same = np.max(np.abs(again - solution.y) / equations.units, axis=1) < 1e-6
    certain &= (solution.status == 0) & same
    count = len(p) if np.all(certain) else int(np.argmin(certain))
    return CertainRun(solution.y[:count], solution.iterations[:count])


def _finish_paths(equations: Equations, y: Array, part: Array, path: PathPoint) -> None:
    """Take the last bit of paths that end at a singularity, where Newton's method is slow but near enough."""
    near = np.flatnonzero((part < 1.0) & (part > 1.0 - _END_PART))
    if not near.size:
        return
    goal = path(near, np.ones(near.size))
    solution = equations.solver.solve(
        y[near], goal, tolerance=equations.closed, max_iterations=2 * _ITERATIONS
    )
    with np.errstate(invalid="ignore"):
        close = np.max(np.abs(solution.y - y[near]) / equations.units, axis=1) < _LONGEST_CORRECTION
    good = (solution.status == 0) & close
    y[near[good]], part[near[good]] = solution.y[good], 1.0


def polish_solutions(equations: Equations, y: Array, p: Array) -> Array:
    """Take one step more: convergence is quadratic, so what is left open then is rounding.

    At a singularity a step may lead anywhere: one that is not short is not taken.
    """
    if not len(y):
        return y
    stepped = equations.solver.solve(y, p, tolerance=0.0, max_iterations=1).y
    with np.errstate(invalid="ignore"):
        short = np.all(np.abs(stepped - y) <= _POLISH * equations.units, axis=1)
    return np.where(short[:, None], stepped, y)


@dataclass(frozen=True, eq=False)
class Roadmap:
    """Solutions on one branch, spread over what it reaches, from which others are near.

    Attributes:
        p: their parameters (H, k).
        y: their unknowns (H, ny).
    """

    p: Array
    y: Array

    def nearest(self, p: Array, units: Array, count: int) -> list[Roadmap]:
        """The solutions nearest to parameters (N, k), the nearest first: `count` times N of them."""
        with np.errstate(over="ignore"):
            away = np.stack([np.sum(((p - hub) / units) ** 2, axis=1) for hub in self.p], axis=1)
        order = np.argsort(away, axis=1, kind="stable")[:, :count]
        return [Roadmap(self.p[hub], self.y[hub]) for hub in order.T]


def build_roadmap(
    equations: Equations, p0: Array, y0: Array, goals: Array, between: Interpolation
) -> Roadmap:
    """Build a roadmap from one solution: to each goal in a straight line, as far as the branch goes.

    Args:
        equations: what is followed.
        p0: parameters (k,) of a solution.
        y0: its unknowns (ny,).
        goals: parameters (H, k) towards which the paths go.
        between: the straight lines.
    """
    p0, y0 = (np.asarray(part, dtype=float) for part in (p0, y0))
    origin = np.broadcast_to(p0, goals.shape)
    begin = np.broadcast_to(y0, (len(goals), y0.size))

    def path(which: Array, t: Array) -> Array:
        return between(origin[which], goals[which], t)

    first = continue_solutions(equations, begin, path)
    # Paths that were blocked are left some way before the singularity.
    part = np.where(first.is_complete, 1.0, 0.8 * first.part)
    again = continue_solutions(equations, begin, lambda which, t: path(which, t * part[which]))
    good = again.is_complete & (part > 0.05)
    p = path(np.arange(len(goals)), part)[good]
    return Roadmap(np.concatenate([p0[None], p]), np.concatenate([y0[None], again.y[good]]))


# ---- the search for solutions on a branch, at samples or along a path of them


class SearchedSamples(NamedTuple):
    """Samples that are searched for, written as they are found.

    Attributes:
        p: parameters (N, k).
        y: unknowns (N, unknowns); NaN where none were found.
        steps: numbers of Newton's steps (N,).
        flags: `UNREACHABLE` until a sample is found (N,).
    """

    p: Array
    y: Array
    steps: Array
    flags: Array

    @classmethod
    def at(cls, p: Array, unknowns: int) -> SearchedSamples:
        """Samples at parameters (N, k), all of them still to be found."""
        count = len(p)
        nothing = np.full((count, unknowns), np.nan)
        return cls(p, nothing, np.zeros(count, dtype=np.int64), np.full(count, int(Flag.UNREACHABLE)))

    def part(self, first: int, last: int) -> SearchedSamples:
        """Some of them, from `first` to before `last`."""
        return SearchedSamples(*(array[first:last] for array in self))

    @property
    def is_missing(self) -> Array:
        """Whether they are still to be found (N,)."""
        return np.asarray((self.flags & int(Flag.UNREACHABLE)) != 0)


class BranchSearch(ABC):
    """The search for unknowns y at parameters p, on the branch of the reference pose.

    Attributes:
        equations: what is followed.
        iterations: steps of plain iteration at most.
    """

    equations: Equations
    iterations: int

    @abstractmethod
    def between(self, p0: Array, p1: Array, t: Array) -> Array:
        """Parameters at the parts t (M,) of the ways from parameters (M, k) to others; the last exactly."""

    @abstractmethod
    def nearest_solutions(self, p: Array) -> list[Roadmap]:
        """Solutions of the branch that are nearest to parameters (N, k): N of them, then the next nearest."""

    def connect(self, samples: SearchedSamples, left: Array, p0: Array, y0: Array) -> Array:
        """Continue from solutions (p0, y0) to the samples `left`; give the last solutions on their paths."""
        if not left.size:
            return y0
        goal = samples.p[left]
        path = continue_solutions(
            self.equations, y0, lambda which, t: self.between(p0[which], goal[which], t)
        )
        samples.steps[left] += path.iterations
        reached = left[path.is_complete]
        samples.y[reached], samples.flags[reached] = path.y[path.is_complete], 0
        return path.y

    def iterate(
        self, samples: SearchedSamples, left: Array, y0: Array, flag: int = int(Flag.OTHER_BRANCH)
    ) -> None:
        """Plain iteration from y0 for the samples `left`, on whatever branch it ends; flagged so."""
        if not left.size:
            return
        solution = self.equations.solver.solve(
            np.ascontiguousarray(y0),
            samples.p[left],
            tolerance=self.equations.closed,
            max_iterations=self.iterations,
            max_step=_LONGEST_PLAIN * self.equations.units,
        )
        samples.steps[left] += solution.iterations
        closed = solution.status == 0
        samples.y[left[closed]], samples.flags[left[closed]] = solution.y[closed], flag

    def by_roadmap(
        self,
        samples: SearchedSamples,
        left: Array,
        y0: Array,
        starts: Iterable[Array] = (),
        *,
        connected: bool = True,
    ) -> None:
        """Seek the samples `left`, to which no straight path leads.

        Args:
            samples: all samples.
            left: those that are sought.
            y0: unknowns (left, unknowns) from which plain iteration begins, before the roadmap's.
            starts: further unknowns (unknowns,) for it.
            connected: whether to continue from the roadmap first.
        """
        hubs = self.nearest_solutions(samples.p[left])
        for hub in hubs if connected else ():
            still = samples.is_missing[left]
            self.connect(samples, left[still], hub.p[still], hub.y[still])
        for start in (y0, *(hub.y for hub in hubs), *starts):
            still = samples.is_missing[left]
            self.iterate(samples, left[still], np.broadcast_to(start, y0.shape)[still])

    def follow(
        self,
        samples: SearchedSamples,
        last: SearchedSamples | None,
        search: Callable[[SearchedSamples], None] | None = None,
    ) -> None:
        """Seek samples as a path: one with care, then as many as Newton's method takes surely.

        Args:
            samples: the samples, in order.
            last: the solution from which the path begins; None if its first point is searched for.
            search: finds that point.
        """
        index = 0
        while index < len(samples.p):
            sample = samples.part(index, index + 1)
            if last is None and search is not None:
                search(sample)
            elif last is not None:
                stopped = self.connect(sample, np.zeros(1, dtype=int), last.p, last.y)
                self.iterate(sample, np.flatnonzero(sample.is_missing), stopped)
            index += 1
            if sample.is_missing[0]:
                continue
            run = follow_certain_run(
                self.equations, sample.p[0], sample.y[0], samples.p[index:], self.between
            )
            behind = samples.part(index, index + len(run.y))
            behind.y[:], behind.flags[:] = run.y, sample.flags
            behind.steps[:] += run.iterations
            index += len(run.y)
            last = samples.part(index - 1, index)
