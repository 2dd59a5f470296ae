"""Loops closed from far away: no axis the wrong way round, several starts, the nearest solution first.

A closure's rotation is measured by sines near its solution, which vanish half a turn away, too. Where an axis
points to the wrong side, the rotation vector takes their place: with phi (3,) the vector of the smallest
rotation that brings the locked axes of the second frame to those of the first, in axes of the first,

    r = (phi_y, -phi_x) of a z axis, -phi_z of all axes,       r' = the same components of the relative rate

which agree with the sines to first order. No coordinate is held: a Levenberg-Marquardt step is the shortest
that closes the loops, so that the configuration stays near its start. Starts are tried in this order: those
given; the same with coordinates that stop at their limits; each of them along the homotopy r(q) = s r(q_0),
s from 1 to 0; then seeded random ones about the first, every second one within limits. The first that
closes with all joints within their limits is taken, otherwise the first that closes, otherwise the one with
the smallest gap. Singular values below `rank` of the largest are digits of a file, along which nothing moves.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from nacelle.kinematics.mechanism.assembly import (
    Assembly,
    closure_gaps,
    integrate_tree,
    is_beyond_limits,
    rate_scale,
    row_scale,
)
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation import quat_from_rotation
from nacelle.spatial.scalar import Array
from nacelle.tree.closure import ClosureState, NumberClosures, closure_frames
from nacelle.tree.spanning_tree import NumericTree, TreeKinematics

Configuration = tuple[Pose, Array]

_STEPS, _PATIENCE = 150, 12
# Steps of the homotopy, and iterations of each.
_HOMOTOPY, _HOMOTOPY_STEPS = 20, 15
# Random starts: how far joints are moved, rad or over the robot's size; how many more while limits are
# exceeded.
_SPREADS = (0.05, 0.2, 0.5, 1.0, 3.0) * 4
_STARTS_WITHIN_LIMITS = 6
# An earlier start, which is nearer, is left for a gap below this part of its own.
_BETTER = 0.3
# Configurations near one that are tried.
_SAMPLES = 4
# The longest step of a coordinate, rad or over the robot's size.
_LONGEST = 0.5


@dataclass(frozen=True)
class FarClosing:
    """How loops are closed from far.

    Attributes:
        rank: singular values below this part of the largest do not count.
        near: a gap (over the robot's size, or rad) that later corrections of frames close counts as closed.
        seed: of the random starts.
    """

    rank: float = 1e-12
    near: float = 0.0
    seed: int = 0


def close_from_far(
    robot: Robot, starts: Sequence[Configuration], options: FarClosing | None = None
) -> Assembly:
    """Close all loops from one of several configurations; none of the coordinates is held.

    Args:
        robot: the robot.
        starts: poses of the platform and coordinates of the tree (nq,) from which the loops are closed.
        options: what counts.
    """
    options = options or FarClosing()
    solver = _Solver(robot, options.rank)
    best, best_gap = None, math.inf
    outside = 0
    for attempt in _attempts(solver, starts, options.seed):
        gap = float(np.max(np.abs(attempt.state.residual) / solver.scale, initial=0.0))
        if attempt.is_reversed:
            gap += 1.0
        is_closed = gap < max(options.near, 1e-9)
        if best is None or (gap < _BETTER * best_gap and best_gap > max(options.near, 1e-9)):
            best, best_gap = attempt, gap
        if is_closed and not is_beyond_limits(robot, attempt.q):
            best = attempt
            break
        outside += best_gap < max(options.near, 1e-9)
        if outside > _STARTS_WITHIN_LIMITS:
            break
    assert best is not None
    return best.assembly(robot)


def close_near(robot: Robot, start: Configuration) -> Assembly:
    """Close all loops from one configuration, exactly where they can be."""
    solver = _Solver(robot, FarClosing.rank)
    return solver.close(solver.at(*start)).assembly(robot)


@dataclass(frozen=True, eq=False)
class _Attempt:
    platform: Pose
    q: Array
    motion: TreeKinematics
    state: ClosureState
    residual: Array
    jacobian: Array
    is_reversed: bool

    def assembly(self, robot: Robot) -> Assembly:
        """The configuration with what it leaves open."""
        gaps = closure_gaps(robot, self.motion, self.state)
        return Assembly(self.platform, self.q, self.motion, self.state, gaps)


def _attempts(solver: _Solver, starts: Sequence[Configuration], seed: int) -> Iterator[_Attempt]:
    """Solutions from all starts, one after the other; without and with coordinates kept within limits."""
    for start in starts:
        yield solver.close(solver.at(*start))
    bounded = [(platform, solver.within_limits(q)) for platform, q in starts]
    for start in bounded if solver.has_limits else ():
        yield solver.close(solver.close(solver.at(*start), is_bounded=True))
    for start in starts:
        attempt = solver.at(*start)
        gap = attempt.residual
        for s in np.linspace(1.0, 0.0, _HOMOTOPY + 1)[1:-1]:
            attempt = solver.close(attempt, float(s) * gap, _HOMOTOPY_STEPS)
        yield solver.close(attempt)
    rng = np.random.default_rng(seed)
    robot = solver.robot
    for k, spread in enumerate(_SPREADS):
        step = rng.uniform(-spread, spread, robot.platform_nv + robot.nv) * solver.units
        step[: robot.platform_nv] = 0.0
        if k % 2 and solver.has_limits:
            platform, q = integrate_tree(robot, *bounded[0], step)
            yield solver.close(solver.close(solver.at(platform, solver.within_limits(q)), is_bounded=True))
        else:
            yield solver.close(solver.at(*integrate_tree(robot, *starts[0], step)))


class _Solver:
    def __init__(self, robot: Robot, rank: float) -> None:
        self.robot, self.rank = robot, rank
        self.tree, self.closures = NumericTree(robot), NumberClosures(robot)
        self.scale, self.units = row_scale(robot), rate_scale(robot)
        # Limits of coordinates (nq,), infinite where there are none.
        self.lower, self.upper = np.full(robot.nq, -math.inf), np.full(robot.nq, math.inf)
        for joint, entries in zip(robot.tree_joints, robot.q_slices, strict=True):
            if joint.nq == 1 and joint.limits:
                self.lower[entries], self.upper[entries] = joint.limits[0]
        self.has_limits = bool(np.any(np.isfinite(self.lower) | np.isfinite(self.upper)))

    def within_limits(self, q: Array) -> Array:
        """Coordinates with those that are beyond limits at their middle, or at a single one."""
        inside = np.clip(q, self.lower, self.upper)
        both = np.isfinite(self.lower) & np.isfinite(self.upper) & (inside != q)
        inside[both] = 0.5 * (self.lower[both] + self.upper[both])
        return inside

    def at(self, platform: Pose, q: Array) -> _Attempt:
        """A configuration, with what it leaves open (rows,) and its Jacobian (rows, rates), without units."""
        motion = self.tree.motion(platform, q)
        state = self.closures.state(motion)
        residual, jacobian, is_reversed = _signed_rotations(self.robot, motion, state)
        jacobian = jacobian / self.scale[:, None] * self.units
        return _Attempt(platform, q, motion, state, residual / self.scale, jacobian, is_reversed)

    def close(
        self,
        attempt: _Attempt,
        target: Array | float = 0.0,
        steps: int = _STEPS,
        *,
        is_bounded: bool = False,
    ) -> _Attempt:
        """The configuration with a residual, or as near to it as the iteration comes.

        Args:
            attempt: where it begins.
            target: the residual.
            steps: how many at most.
            is_bounded: whether coordinates stop at their limits.
        """
        damping, stalled = 1e-3, 0
        for _ in range(steps):
            r = attempt.residual - target
            error = float(np.linalg.norm(r))
            if not error > 1e-15 or stalled > _PATIENCE:
                break
            U, s, V = np.linalg.svd(attempt.jacobian, full_matrices=False)
            acting = s > self.rank * s[0]
            m = min(damping, error * error) if error < 1e-3 else damping
            step = -(V[acting].T @ (s[acting] / (s[acting] ** 2 + m) * (U[:, acting].T @ r)))
            step *= self.units / max(1.0, float(np.max(np.abs(step), initial=0.0)) / _LONGEST)
            platform, q = integrate_tree(self.robot, attempt.platform, attempt.q, step)
            displaced = self.at(platform, np.clip(q, self.lower, self.upper) if is_bounded else q)
            new_error = float(np.linalg.norm(displaced.residual - target))
            if new_error < error:
                stalled = stalled + 1 if new_error > 0.99 * error else 0
                attempt, damping = displaced, max(damping / 8.0, 1e-14)
            else:
                stalled += 1
                damping = max(damping, 1e-10) * 30.0
        return attempt


def _signed_rotations(robot: Robot, motion: TreeKinematics, state: ClosureState) -> tuple[Array, Array, bool]:
    """Residual and Jacobian with rotation vectors where axes are reversed, and whether some are."""
    residual, jacobian, is_reversed = state.residual.copy(), state.jacobian.copy(), False
    for joint, rows in zip(robot.closures, state.rows, strict=True):
        squares = {
            lock[1:]: rows.start + k for k, lock in enumerate(joint.locks) if lock[0] == "perpendicular"
        }
        if not {(0, 2), (1, 2)} <= set(squares):
            continue
        first, second = closure_frames(joint, motion)
        R = first.R.T @ second.R
        phi = _smallest_rotation(R, (0, 1) in squares)
        if phi is None:
            continue
        movers = motion.movers.astype(float)
        rate = first.R.T @ (motion.columns[3:] * (movers[joint.successor] - movers[joint.predecessor]))
        is_reversed = True
        for lock, sign, axis in (((0, 2), 1.0, 1), ((1, 2), -1.0, 0), ((0, 1), -1.0, 2)):
            if lock in squares:
                residual[squares[lock]], jacobian[squares[lock]] = sign * phi[axis], sign * rate[axis]
    return residual, jacobian, is_reversed


def _smallest_rotation(R: Array, is_aligned: bool) -> Array | None:
    """The rotation vector (3,) of R, or of that of its z axis alone; None within a quarter of a turn."""
    if is_aligned:
        if np.trace(R) > 1.0:
            return None
        quat = quat_from_rotation(R)
        quat = quat if quat[3] >= 0.0 else -quat
        sine = float(np.linalg.norm(quat[:3]))
        return np.asarray(2.0 * math.atan2(sine, quat[3]) / sine * quat[:3])
    x, y, z = R[:, 2]
    if z > 0.0:
        return None
    sine = math.hypot(x, y)
    axis = np.array([-y, x, 0.0]) / sine if sine > 1e-9 else np.array([0.0, 1.0, 0.0])
    return math.atan2(sine, z) * axis


def sample_near(robot: Robot, start: Assembly, rank: float, distance: float) -> list[Assembly]:
    """Configurations near a closed one, moved along the motions that a rank leaves, and closed.

    Args:
        robot: the robot.
        start: the configuration.
        rank: singular values below this part of the largest do not count.
        distance: how far coordinates are moved, rad or over the robot's size; those of four that do not close
            as well as the start are left out.
    """
    solver, rng = _Solver(robot, rank), np.random.default_rng(3)
    first = solver.at(start.platform, start.q_tree)
    near = 10.0 * max(float(np.max(np.abs(first.residual), initial=0.0)), rank)
    _, s, Vt = np.linalg.svd(first.jacobian)
    N = Vt[int(np.sum(s > rank * np.max(s, initial=0.0))) :].T
    result = []
    for _ in range(_SAMPLES if N.shape[1] else 0):
        step = N @ rng.normal(size=N.shape[1])
        step *= distance / max(float(np.max(np.abs(step))), 1e-300) * solver.units
        closed = solver.close(solver.at(*integrate_tree(robot, start.platform, start.q_tree, step)))
        if float(np.max(np.abs(closed.residual), initial=0.0)) < near:
            result.append(closed.assembly(robot))
    return result
