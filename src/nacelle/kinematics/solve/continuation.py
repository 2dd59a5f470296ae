"""Continuation: solutions that are connected with a known one (`nacelle.emit.track`).

A branch is what a path from a known solution reaches: parameters p (a pose, or coordinates of actuators)
go from p_0 to p_1, and the unknowns y follow, past no singularity. At one the parts of the way shrink to
nothing: there a path ends, and what lies behind it is not connected.

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

from nacelle.compile.compiled import cores
from nacelle.emit.newton import NewtonSolver
from nacelle.emit.track import FOLLOWED, LONGEST, TrackResult, TrackRules, TrackSolver
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
# A last step that is longer, rad or robot sizes, improves nothing.
_POLISH = 1e-3
# What is left of a path may be taken by plain iteration where it is this short: its end is a singularity.
_END_PART = 1e-6
# Samples from which on several threads follow them.
_MANY = 256
# Points of the first piece of a run.
_FIRST_RUN = 16
# The longest step of plain iteration, rad or robot sizes.
_LONGEST_PLAIN = 0.5

Interpolation = Callable[[Array, Array, Array], Array]
"""Parameters at the parts t (M,) of the ways from parameters (M, k) to others."""


@dataclass(frozen=True, eq=False)
class Equations:
    """What is followed.

    Attributes:
        solver: Newton's iteration for y at parameters p.
        tracker: follows solutions y along ways of p (`nacelle.emit.track`).
        units: what the unknowns count in (ny,): the robot's size for lengths, 1 for angles.
        parameter_units: what the parameters count in (k,), likewise (`TrackRules`).
        closed: what the loops may leave open (`closed_tolerance`).
    """

    solver: NewtonSolver
    tracker: TrackSolver
    units: Array
    parameter_units: Array
    closed: float = CLOSURE_TOLERANCE

    def track(self, y: Array, p0: Array, p1: Array, *, follow: bool = False) -> TrackResult:
        """Follow solutions (N, ny) from p0 to p1 (N, k), one by one or along a path."""
        rules = TrackRules(self.closed, self.units, self.parameter_units)
        threads = cores() if len(p1) > _MANY else 1
        result = self.tracker.solve(y, p0, p1, rules, follow=follow, threads=threads)
        return result if follow else self._finish(result, p1)

    def _finish(self, result: TrackResult, p1: Array) -> TrackResult:
        """Take the last bit of ways to a singularity, where Newton's method is slow but near enough."""
        near = np.flatnonzero((result.part < 1.0) & (result.part > 1.0 - _END_PART))
        if near.size:
            goal, y = p1[near], result.y[near]
            solution = self.solver.solve(y, goal, tolerance=self.closed, max_iterations=2 * _ITERATIONS)
            with np.errstate(invalid="ignore"):
                close = np.max(np.abs(solution.y - y) / self.units, axis=1) < LONGEST
            good = (solution.status == 0) & close
            result.y[near[good]] = polish_solutions(self, solution.y[good], goal[good])
            result.part[near[good]] = 1.0
            result.status[near[good]] = FOLLOWED
        return result


def closed_tolerance(robot: Robot) -> float:
    """What the loops of a robot may leave open, over its size: no less than rounding of places leaves."""
    return CLOSURE_TOLERANCE + _ROUNDED * robot.coordinate_rounding


def polish_solutions(equations: Equations, y: Array, p: Array) -> Array:
    """Take one step more after plain iteration: convergence is quadratic, so what is left is rounding.

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
        goals: parameters (H, k) towards which the ways lead.
        between: the straight lines.
    """
    p0, y0 = (np.asarray(part, dtype=float) for part in (p0, y0))
    origin, whole = np.broadcast_to(p0, goals.shape), np.ones(len(goals))
    first = equations.track(y0[None], p0[None], between(origin, goals, whole))
    # Ways that were blocked are left some way before the singularity.
    part = np.where(first.part == 1.0, 1.0, 0.8 * first.part)
    p = between(origin, goals, part)
    again = equations.track(y0[None], p0[None], p)
    good = (again.status == FOLLOWED) & (part > 0.05)
    return Roadmap(np.concatenate([p0[None], p[good]]), np.concatenate([y0[None], again.y[good]]))


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
    def nearest_turns(self, p0: Array, p1: Array) -> Array:
        """Of what stands for the same parameters as p1 (M, k) that to which a straight way from p0 leads."""

    @abstractmethod
    def as_path(self, p0: Array, p: Array) -> Array:
        """Parameters (N, k), in order, without jumps, from p0 (k,) on."""

    @abstractmethod
    def nearest_solutions(self, p: Array) -> list[Roadmap]:
        """Solutions of the branch that are nearest to parameters (N, k): N of them, then the next nearest."""

    def connect(self, samples: SearchedSamples, left: Array, p0: Array, y0: Array) -> Array:
        """Continue from solutions (p0, y0) to the samples `left`; give the last solutions on their paths."""
        if not left.size:
            return y0
        way = self.equations.track(y0, p0, self.nearest_turns(p0, samples.p[left]))
        samples.steps[left] += way.taken
        complete = way.status == FOLLOWED
        samples.flags[left[complete]] = 0
        if np.all(complete):
            samples.y[left] = way.y
        else:
            samples.y[left[complete]] = way.y[complete]
        return way.y

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
        good = left[closed]
        samples.y[good] = polish_solutions(self.equations, solution.y[closed], samples.p[good])
        samples.flags[good] = flag

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
        """Seek samples as a path: one with care, then as many as solutions can be followed.

        Args:
            samples: the samples, in order.
            last: the solution from which the path begins; None if its first point is searched for.
            search: finds that point.
        """
        index, length = 0, _FIRST_RUN
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
            last, length = sample, _FIRST_RUN
            while index < len(samples.p):
                # Pieces of growing length: what comes behind a point where the run ends is left out.
                run = samples.part(index, index + length)
                way = self.equations.track(last.y, last.p, self.as_path(last.p[0], run.p), follow=True)
                count = int(np.argmax(way.status != FOLLOWED)) if np.any(way.status) else len(way.y)
                behind = samples.part(index, index + count)
                behind.y[:], behind.flags[:] = way.y[:count], sample.flags
                behind.steps[:] += way.taken[:count]
                index += count
                last = samples.part(index - 1, index)
                if count < len(way.y):
                    break
                length *= 4
