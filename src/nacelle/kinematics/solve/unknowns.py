"""Passive coordinates y at poses, solved numerically on the branch of the reference pose.

Legs without a closed form, loops of the platform and parasitic motion are solved by Newton's iteration. Their
equations have several solutions; the one that is meant is connected with the reference pose:

0. with a guess near by, as in a control loop: by plain iteration, where a few short steps close the loops;
1. by continuation in a straight line from the reference (or from a guess);
2. where that is blocked by a singularity, from the nearest points of a roadmap of the branch;
3. where there is no such path, but plain iteration closes the loops: flagged `OTHER_BRANCH`;
4. else the pose is out of reach: `UNREACHABLE`.

The signs of `nacelle.kinematics.branch` are checked for every solution.

How a robot's pose is completed before a program that is differentiated (`nacelle.compile.closing`).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from nacelle.compile.closing import PoseClosure
from nacelle.compile.compiled import cores
from nacelle.emit.jit.target import run_in_blocks
from nacelle.emit.newton import NewtonSolver
from nacelle.errors import KinematicsError
from nacelle.kinematics import kinematic_model
from nacelle.kinematics.branch import branch_of, pose_units, unknown_units
from nacelle.kinematics.flags import Flag, fold_columns, is_finite
from nacelle.kinematics.mechanism.mechanism import Mechanism, mechanism_of
from nacelle.kinematics.native import compile_native, compile_native_newton, compile_native_track
from nacelle.kinematics.pose_input import broadcast_guess
from nacelle.kinematics.solve import newton_steps
from nacelle.kinematics.solve.continuation import (
    BranchSearch,
    Equations,
    Roadmap,
    SearchedSamples,
    build_roadmap,
    closed_tolerance,
)
from nacelle.kinematics.solve.newton_steps import loop_closing_step
from nacelle.model.robot import Robot
from nacelle.spatial.rotation import quat_exp, quat_multiply
from nacelle.spatial.scalar import Array
from nacelle.tree.actuation import unwrap_angles
from nacelle.tree.spanning_tree import wrap_angles

# Poses of the roadmap, and how far around the reference they are sought: robot sizes, rad.
_GOALS, _ROADMAP_REACH, _ROADMAP_ANGLE = 96, 1.2, 1.6
# From how many points of the roadmap a pose is sought.
_NEAREST = 2
# A guess is near where plain iteration closes the loops in so few steps, none of them longer than this (rad,
# robot sizes): convergence is then quadratic from the first step on, and no other solution that near.
_NEAR_STEPS, _NEAR_STEP = 4, 0.125
BLOCK = 4096
"""Samples that are searched for at once."""


class PassiveCoordinates(NamedTuple):
    """Passive coordinates, solved numerically.

    Attributes:
        y: unknowns (..., ny); NaN where the loops do not close.
        flags: `UNREACHABLE`, `OTHER_BRANCH` or 0 (...).
    """

    y: Array
    flags: Array


class SearchStart(NamedTuple):
    """Where the search begins: poses x and unknowns y of solutions, (..., nx) and (..., ny).

    Without their poses the unknowns start plain iteration alone.
    """

    x: Array | None
    y: Array


def search_start(robot: Robot, guess: Any) -> SearchStart | None:
    """Where the search begins, from what a user gives: a result with x and y, or y (..., ny) alone.

    Raises:
        KinematicsError: if it does not fit the robot.
    """
    if guess is None:
        return None
    mechanism = mechanism_of(robot)
    x = getattr(guess, "x", None)
    y = getattr(guess, "y", guess if x is None else None)
    try:
        start = SearchStart(None if x is None else np.asarray(x, dtype=float), np.asarray(y, dtype=float))
    except (TypeError, ValueError):
        start = SearchStart(None, np.full(1, np.nan))
    fits = start.y.shape[-1:] == (mechanism.unknown_count,)
    if not fits or (start.x is not None and start.x.shape[-1:] != (mechanism.layout.nx,)):
        raise KinematicsError(
            f"the guess is a solution of {robot.name} as inverse_kinematics or inverse_dynamics gives it, "
            f"with {mechanism.layout.nx} coordinates and {mechanism.unknown_count} unknowns, or its y "
            "alone, got "
            f"{type(guess).__name__}"
        )
    return start


def guess_settings(mechanism: Mechanism) -> dict[str, Any]:
    """Settings of the plain iteration that begins with a guess."""
    return {
        "tolerance": closed_tolerance(mechanism.robot),
        "max_iterations": _NEAR_STEPS,
        "max_step": _NEAR_STEP * unknown_units(mechanism),
        "polish": True,
    }


def step_units(mechanism: Mechanism) -> Array:
    """What steps of the unknowns count in (ny,): `unknown_units`, more for joints that are fast."""
    units = unknown_units(mechanism)
    if not mechanism.robot.couplings:
        return units
    for axis in mechanism.iterated_axes:
        if mechanism.robot.joints[axis.joint].nq == 1:
            units[axis.y] = mechanism.scales[1][axis.u]
    return units


def solve_unknowns(
    mechanism: Mechanism, x: Array, guess: SearchStart | None = None, *, follow: bool = False
) -> PassiveCoordinates:
    """Solve passive coordinates at poses, and angles that count turns.

    Angles continue those of a guess, or along a path. For a single pose they are within half a turn of the
    centres of their joints (`Joint.centre`), but for coupled joints.

    Args:
        mechanism: analysis of the robot.
        x: poses (..., nx).
        guess: solutions to begin with, one or as many as poses; the reference pose if None, and where they
            are not finite, or are not near and have no poses of their own.
        follow: whether the poses, in order, are a path: each begins with the solution before it.
    """
    if mechanism.counted:
        return _solve_with_turns(mechanism, x, guess, follow)
    batch = x.shape[:-1]
    if mechanism.has_closed_form:
        return PassiveCoordinates(np.zeros((*batch, 0)), np.zeros(batch, dtype=np.int64))
    rows = np.ascontiguousarray(x.reshape(-1, mechanism.layout.nx))
    x0, y0 = mechanism.reference
    start_x, start_y = (
        np.broadcast_to(x0, rows.shape),
        np.broadcast_to(y0, (len(rows), mechanism.unknown_count)),
    )
    search, near = _UnknownSearch(mechanism), None
    if guess is not None:
        guess_y = broadcast_guess(guess.y, (*batch, mechanism.unknown_count)).reshape(
            -1, mechanism.unknown_count
        )
        if guess.x is None:
            near = search.near(rows, guess_y)
            guess_x, guess_y = rows, near.y
        else:
            guess_x = broadcast_guess(guess.x, x.shape).reshape(rows.shape)
            near = None if follow else search.near(rows, guess_y)
        usable = (np.all(np.isfinite(guess_x), axis=1) & np.all(np.isfinite(guess_y), axis=1))[:, None]
        start_x, start_y = np.where(usable, guess_x, start_x), np.where(usable, guess_y, start_y)
    if follow:
        solutions = search.along(rows, start_x, start_y)
    elif near is None:
        solutions = PassiveCoordinates(np.empty(start_y.shape), np.empty(len(rows), dtype=np.int64))

        def part(a: int, b: int) -> None:
            block = search.each(rows[a:b], start_x[a:b], start_y[a:b], free=True)
            solutions.y[a:b], solutions.flags[a:b] = _wrap_near_centres(mechanism, block.y), block.flags

        run_in_blocks(part, len(rows), BLOCK, cores())
    else:
        solutions = near
        left = np.flatnonzero(near.flags & int(Flag.UNREACHABLE))
        if left.size:
            again = search.each(rows[left], start_x[left], start_y[left], free=guess_x is rows)
            solutions.y[left], solutions.flags[left] = again
    y, flags = solutions
    return PassiveCoordinates(y.reshape(*batch, mechanism.unknown_count), flags.reshape(batch))


def _wrap_near_centres(mechanism: Mechanism, y: Array) -> Array:
    """Unknowns (N, ny), changed to have angles within half a turn of their centres."""
    for index, centre in mechanism.centred_angles:
        y[:, index] = wrap_angles(y[:, index], centre)
    return y


def _solve_with_turns(
    mechanism: Mechanism, x: Array, guess: SearchStart | None, follow: bool
) -> PassiveCoordinates:
    """The same where angles count turns: passive coordinates, then these angles."""
    robot, size = mechanism.robot, mechanism.iterated_count
    start_iterated = None if guess is None else SearchStart(guess.x, guess.y[..., :size])
    iterated = solve_unknowns(mechanism_of(robot.as_described), x, start_iterated, follow=follow)
    near = mechanism.reference[1][size:] if guess is None else guess.y[..., size:]
    near = np.where(np.isfinite(near), near, mechanism.reference[1][size:])
    if follow and guess is not None:
        near = near.reshape(-1, near.shape[-1])[0]
    start = np.concatenate([iterated.y, broadcast_guess(near, (*x.shape[:-1], near.shape[-1]))], axis=-1)
    angles = np.asarray(compile_native(kinematic_model.angles_with_turns, robot)(x, start))
    if follow:
        rows = angles.reshape(-1, angles.shape[-1])
        angles = unwrap_angles(rows, np.ones(rows.shape[1], dtype=bool)).reshape(angles.shape)
    return PassiveCoordinates(np.concatenate([iterated.y, angles], axis=-1), iterated.flags)


class _UnknownSearch(BranchSearch):
    """The search for the unknowns of one robot at poses."""

    iterations = 50

    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism = mechanism
        solver: NewtonSolver = compile_native_newton(newton_steps.loop_closing_step, mechanism.robot)
        closed = closed_tolerance(mechanism.robot)
        tracker = compile_native_track(newton_steps.closing_path_step, mechanism.robot)
        self.equations = Equations(solver, tracker, step_units(mechanism), pose_units(mechanism), closed)

    def nearest_solutions(self, p: Array) -> list[Roadmap]:
        """Solutions of the branch that are nearest to poses (N, nx)."""
        return _roadmap(self.mechanism.robot).nearest(p, pose_units(self.mechanism), _NEAREST)

    def near(self, x: Array, start: Array) -> PassiveCoordinates:
        """Solve poses (N, nx) from unknowns (N, ny) of solutions near by."""
        solution = self.equations.solver.solve(start, x, **guess_settings(self.mechanism))
        closed = solution.status == 0
        flags = np.where(closed, 0, int(Flag.UNREACHABLE))
        y = np.where(closed[:, None], solution.y, np.nan)
        flags[closed] |= self._branch_flags(x[closed], y[closed])
        return PassiveCoordinates(y, flags)

    def each(self, x: Array, start_x: Array, start_y: Array, *, free: bool) -> PassiveCoordinates:
        """Solve every pose (N, nx) for itself; with `free` by way of the roadmap, too."""
        samples = SearchedSamples.at(x, self.mechanism.unknown_count)
        left = np.flatnonzero(is_finite(x) & is_finite(start_y))
        # Nearest to the branch is what comes behind the point where the straight path was blocked.
        last = self.connect(samples, left, start_x[left], start_y[left])
        missed = samples.is_missing[left]
        if np.any(missed):
            self.by_roadmap(samples, left[missed], last[missed], connected=free)
        return self._check_solutions(samples)

    def along(self, x: Array, start_x: Array, start_y: Array) -> PassiveCoordinates:
        """Solve poses (N, nx) as a path; those that are not finite are left out."""
        samples = SearchedSamples.at(x, self.mechanism.unknown_count)
        valid = np.flatnonzero(np.all(np.isfinite(x), axis=1))
        path = SearchedSamples.at(x[valid], self.mechanism.unknown_count)
        self.follow(path, path._replace(p=start_x[:1], y=start_y[:1]))
        samples.y[valid], samples.flags[valid] = path.y, path.flags
        return self._check_solutions(samples)

    def _check_solutions(self, samples: SearchedSamples) -> PassiveCoordinates:
        """Check the signs of solutions."""
        x, y, _, flags = samples
        missing = samples.is_missing
        good = np.flatnonzero(~missing) if np.any(missing) else slice(None)
        flags[good] |= self._branch_flags(x[good], y[good])
        return PassiveCoordinates(y, flags)

    def _branch_flags(self, x: Array, y: Array) -> Array:
        """`OTHER_BRANCH` where signs of solutions differ from those of the reference pose (N,)."""
        return np.where(is_on_branch(self.mechanism.robot, x, y), 0, int(Flag.OTHER_BRANCH))

    def nearest_turns(self, p0: Array, p1: Array) -> Array:
        """Poses with, of the two quaternions of an orientation, those nearer to the ones of others."""
        quaternion = self.mechanism.layout.quaternion
        if quaternion is None:
            return p1
        faced = np.array(p1)
        faced[np.sum(p0[:, quaternion] * p1[:, quaternion], axis=1) < 0.0, quaternion] *= -1.0
        return faced

    def as_path(self, p0: Array, p: Array) -> Array:
        """Poses, in order, whose quaternions do not change their sign."""
        quaternion = self.mechanism.layout.quaternion
        if quaternion is None:
            return p
        path = np.concatenate([p0[None], p])
        turns = np.sum(path[1:, quaternion] * path[:-1, quaternion], axis=1) < 0.0
        path[1:, quaternion] *= np.where(np.cumsum(turns) % 2, -1.0, 1.0)[:, None]
        return path[1:]

    def between(self, p0: Array, p1: Array, t: Array) -> Array:
        """Poses (M, nx) at the parts t (M,) of the ways from poses to poses."""
        mixed = (1.0 - t[:, None]) * p0 + t[:, None] * self.nearest_turns(p0, p1)
        quaternion = self.mechanism.layout.quaternion
        if quaternion is not None:
            mixed[:, quaternion] /= np.linalg.norm(mixed[:, quaternion], axis=1, keepdims=True)
        return np.asarray(mixed)


def is_on_branch(robot: Robot, x: Array, y: Array) -> Array:
    """Whether all numbers of `branch` have the sign of the reference pose, at (..., nx) and (..., ny)."""
    if not branch_of(robot).size or not x.size:
        return np.ones(x.shape[:-1], dtype=bool)
    numbers = compile_native(kinematic_model.branch_signs, robot)(x, y)
    with np.errstate(invalid="ignore"):
        return ~fold_columns(np.logical_or, numbers < 0.0, False)


@lru_cache(maxsize=16)
def _roadmap(robot: Robot) -> Roadmap:
    """Poses on the branch of the reference, as far as straight lines from it lead."""
    mechanism = mechanism_of(robot)
    search = _UnknownSearch(mechanism)
    x0, y0 = mechanism.reference
    rng = np.random.default_rng(0)
    layout = mechanism.layout
    far = np.sqrt(rng.uniform(0.02, 1.0, (_GOALS, 1)))
    steps = far * rng.uniform(-1.0, 1.0, (_GOALS, layout.nx))
    goals = x0 + steps * np.where(np.array(layout.units) == "m", _ROADMAP_REACH * robot.size, _ROADMAP_ANGLE)
    if layout.quaternion is not None:
        rotation = _ROADMAP_ANGLE * far * rng.uniform(-1.0, 1.0, (_GOALS, 3))
        goals[:, layout.quaternion] = quat_multiply(quat_exp(rotation), x0[layout.quaternion])
    return build_roadmap(search.equations, x0, y0, goals, search.between)


# ---- how a robot's pose is completed before a program that is differentiated (`nacelle.compile.closing`)


def closing_driver(robot: Robot) -> PoseClosure:
    """Unit quaternions, and closed loops by Newton's iteration from the reference pose."""
    mechanism = mechanism_of(robot)

    def find(x: Array, y: Array | None) -> Array:
        return solve_unknowns(mechanism, x, search_start(robot, y)).y

    step = loop_closing_step if mechanism.unknown_count else None
    return PoseClosure(robot, mechanism.layout.quaternion, step, mechanism.reference, find)
