"""Assembly: close the loops at given values of the platform's independent coordinates.

The closures leave open r(p, q) (rows,), lengths over the robot's size and angles in rad; along the rates u of
the tree r' = J u, J (rows, rates). With the independent coordinates held, a damped Gauss-Newton step is

    du = -(J^T J + m 1)^-1 J^T r,      (p, q) moved by du        m the damping, at most |r|^2 near a solution

which converges quadratically. It is written with the singular values of J, and those that are rounding are
left out: along idle motions (the spin of a rod between two spherical joints) nothing moves. Each leg is
closed on its own first, with the platform held, from the joints' guesses and then from random starts; a last
iteration over all closures at once finds the coordinates that depend on the others (parasitic motion). It
supports the checks of a description and works for every mechanism.

The reference pose itself may be special, and there J may have less rank than at a generic pose. So ranks are
taken at closed configurations near it: the independent coordinates are moved at random by 0.4 to 1 of a reach
(over the robot's size, rad), all other rates a little (1e-2), and the loops are closed again, first the legs
with the platform held, then all joints. Matrices count without units: J_ik s_k / z_i with s_k the scale of a
rate and z_i that of a row.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from nacelle.errors import AssemblyError
from nacelle.kinematics.limits import limit_readings
from nacelle.model.joint import Joint, Primitive
from nacelle.model.leg import BASE, PLATFORM, Leg
from nacelle.model.platform import AXES
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation import quat_from_vector, quat_product, rotation_quat
from nacelle.spatial.scalar import Array
from nacelle.tree.closure import ClosureState, NumberClosures, closure_state, has_reversed_axis
from nacelle.tree.spanning_tree import (
    NumericTree,
    TreeKinematics,
    coordinate_rate_indices,
    joint_rate_indices,
    tree_kinematics,
)

# A closure counts as closed below this part of the robot's size (or this angle in radians).
CLOSED = 1e-9
# Starts of a leg that does not close, and of one that closes on another branch than the given one.
_STARTS = 6
_BRANCH_STARTS = 24
_STEPS = 40
# Of attempts that leave a leg open by less than this (of the robot's size, or in radians) the first counts.
_NEARLY_CLOSED = 0.02
# A platform that the iteration moves by less than this (of the robot's size, or as entries of a rotation) is
# left where it was given.
_PLATFORM_STAYS = 1e-12
# Directions whose singular value is below this part of the largest are idle: rounding is no reason to move.
_NULL_MOTION = 1e-12


@dataclass(frozen=True)
class ClosureGap:
    """What a closure leaves open: a distance (m), an angle (rad), or an axis the wrong way round."""

    distance: float
    angle: float
    is_reversed: bool = False

    def __str__(self) -> str:
        if self.is_reversed:
            return "closes only the wrong way round"
        if self.distance > 0.0:
            return f"stays open by {self.distance * 1e3:.4g} mm"
        return f"stays open by {math.degrees(self.angle):.4g} deg"


@dataclass(frozen=True, eq=False)
class Assembly:
    """A configuration in which all loops are closed, or the nearest one found.

    Attributes:
        platform: pose of the platform body.
        q_tree: coordinates of the tree joints (nq,): rad, m, quat_xyzw.
        motion: poses and twists of the tree.
        closures: residual and Jacobian of the closures.
        open: for each closure that is not closed its name and its gap.
        unreached_legs: indices of the legs that do not reach the platform where it is.
        missed: indices of the legs for which no solution on the given branch was found.
    """

    platform: Pose
    q_tree: Array
    motion: TreeKinematics
    closures: ClosureState
    open: dict[str, ClosureGap]
    unreached_legs: tuple[int, ...] = ()
    missed: tuple[int, ...] = ()


def guess_coordinates(robot: Robot) -> Array:
    """The joints' reference values as coordinates of the tree (nq,): rad, m, quat_xyzw."""
    values = [value for joint in robot.tree_joints for value in joint.guess]
    q = np.array(values, dtype=float)
    for joint in (robot.joints[k] for k in robot.couplings):
        # A joint that follows others has a guess of its own only where one is written.
        (first, _), *others = joint.terms
        index = robot.q_slices[first].start
        if q[index] == 0.0:
            q[index] = joint.offset - sum(factor * q[robot.q_slices[j].start] for j, factor in others)
    return q


def integrate_tree(robot: Robot, platform: Pose, q: Array, step: Array) -> tuple[Pose, Array]:
    """Move the tree by a step (rates,) of its rates, m and rad: R <- exp(step) R, q <- q + step."""
    m = robot.platform_nv
    R = platform.R
    if m == 6:
        R = rotation_quat(quat_from_vector(step[3:6])) @ R
    new_platform = Pose(R, platform.p + step[:3])
    result = np.array(q)
    for joint, at_q, at_v in zip(robot.tree_joints, robot.q_slices, robot.v_slices, strict=True):
        i, k = at_q.start, m + at_v.start
        for primitive in joint.primitives:
            if primitive is Primitive.SPHERICAL:
                quat = quat_product(q[i : i + 4], quat_from_vector(step[k : k + 3]))
                result[i : i + 4] = quat / np.linalg.norm(quat)
            else:
                result[i] = q[i] + step[k]
            i, k = i + primitive.nq, k + primitive.nv
    return new_platform, result


def independent_rate_mask(robot: Robot) -> Array:
    """Which rates of the tree the independent coordinates give: a mask (rates,) over u.

    The other components of the platform's twist are left to the closures, so that parasitic motion
    is found and not assumed away.
    """
    m = robot.platform_nv
    mask = np.zeros(m + robot.nv, dtype=bool)
    mask[[index for name, index in coordinate_rate_indices(robot).items() if name not in AXES[m:]]] = True
    return mask


def row_scale(robot: Robot) -> Array:
    """Scale of each lock (rows,): the robot's size (m) for offsets, 1 for angles.

    That of a coupling makes the largest of its factors 1, without units.
    """
    return np.array(
        [
            coupling_scale(robot, joint) if joint.is_coupling else robot.size if len(lock) == 2 else 1.0
            for joint in robot.closures
            for lock in joint.locks
        ]
    )


def coupling_scale(robot: Robot, joint: Joint) -> float:
    """Scale of the equation of a coupling: its largest factor, strokes in the robot's size; rad or m."""
    units = [1.0 if robot.joints[j].primitives[0].is_rotation else robot.size for j, _ in joint.terms]
    return max(abs(factor) * unit for (_, factor), unit in zip(joint.terms, units, strict=True))


def rate_scale(robot: Robot) -> Array:
    """Scale of each rate of the tree (rates,): the robot's size (m) for translations, 1 rad for rotations."""
    return np.where(rotation_mask(robot), 1.0, robot.size)


def motion_scale(robot: Robot) -> Array:
    """The same for motions that are tried: a joint moves as much more as it is faster than those coupled."""
    result = rate_scale(robot)
    for k in robot.couplings:
        top = coupling_scale(robot, robot.joints[k])
        for j, factor in robot.joints[k].terms:
            index = robot.platform_nv + robot.v_slices[j].start
            result[index] = max(result[index], top / abs(factor))
    return result


def rotation_mask(robot: Robot) -> Array:
    """Which rates of the tree are rotations: a mask (rates,) over u."""
    mask = [False] * 3 + [True] * (robot.platform_nv - 3)
    for joint in robot.tree_joints:
        mask += [primitive.is_rotation for primitive in joint.primitives for _ in range(primitive.nv)]
    return np.array(mask)


def solve_closures(
    robot: Robot, platform: Pose, q: Array, held: Array, *, patience: int = 4
) -> tuple[Pose, Array, TreeKinematics, ClosureState]:
    """Close the loops by damped Gauss-Newton; rates in `held` do not move.

    Lengths are scaled by the robot's size, so that all numbers are pure. The damping falls with the
    square of the error, so that convergence is quadratic; with A = U diag(s) V^T the step is

        -V diag(s / (s^2 + m)) U^T r,      s above `_NULL_MOTION` of the largest alone

    since r has rounding in the directions of the others, which the small damping near a solution would
    enlarge by up to 1 / |r|. Couplings may wind joints by many turns, which full steps compensate and damping
    does not: with them it begins small, and whole turns do not count in the length of a step. After
    `patience` steps that have not reduced the error it is left as it is.
    """
    free = np.flatnonzero(~held)
    scale, units = row_scale(robot), rate_scale(robot)[free]
    tree, closures = NumericTree(robot), NumberClosures(robot)
    motion = tree.motion(platform, q)
    state = closures.state(motion)
    winds = bool(robot.couplings)
    turning = rotation_mask(robot)[free]
    damping, stalled = 1e-12 if winds else 1e-3, 0
    for _ in range(_STEPS):
        r = state.residual / scale
        error = float(np.linalg.norm(r))
        if not np.isfinite(error) or error < 1e-15 or free.size == 0 or stalled >= patience:
            break
        A = state.jacobian[:, free] / scale[:, None] * units
        U, s, V = np.linalg.svd(A, full_matrices=False)
        acting = s > _NULL_MOTION * s[0]
        m = min(damping, error * error) if error < 1e-3 else damping
        solution = -(V[acting].T @ (s[acting] / (s[acting] ** 2 + m) * (U[:, acting].T @ r)))
        step = np.zeros(held.size)
        length = np.abs(solution)
        if winds:
            length = np.where(turning, np.abs(np.sin(0.5 * solution * units)), length)
        step[free] = solution / max(1.0, float(np.max(length))) * units
        new_platform, new_q = integrate_tree(robot, platform, q, step)
        new_motion = tree.motion(new_platform, new_q)
        new_state = closures.state(new_motion)
        new_error = float(np.linalg.norm(new_state.residual / scale))
        if new_error < error:
            stalled = stalled + 1 if new_error > 0.99 * error else 0
            platform, q, motion, state = new_platform, new_q, new_motion, new_state
            damping = max(damping / 8.0, 1e-14)
        else:
            stalled += 1
            damping = max(damping, 1e-10) * 30.0
    return platform, q, motion, state


def isolate_leg(robot: Robot, leg: Leg | None) -> tuple[Robot, Array]:
    """Give the robot with one leg only (or none: the platform alone), and where its q is."""
    joints = [*robot.platform.joints, *(leg.joints if leg else ())]
    closures = (
        leg.closures if leg else tuple(c for c in robot.platform.closures if not robot.joints[c].at_point)
    )
    bodies = [BASE, PLATFORM, *(robot.joints[j].successor for j in joints)]
    index = {body: k for k, body in enumerate(bodies)}
    number = {j: k for k, j in enumerate(joints)}
    leg_joints = [
        dataclasses.replace(
            robot.joints[j],
            predecessor=index[robot.joints[j].predecessor],
            successor=index[robot.joints[j].successor],
            terms=tuple((number[k], factor) for k, factor in robot.joints[j].terms),
        )
        for j in (*joints, *closures)
    ]
    part = dataclasses.replace(
        robot,
        bodies=tuple(robot.bodies[b] for b in bodies),
        joints=tuple(leg_joints),
        tree=len(joints),
        legs=(),
        modes=(),
        actuators=(),
        springs=(),
    )
    indices = [np.arange(robot.q_slices[j].start, robot.q_slices[j].stop) for j in joints]
    return part, np.concatenate(indices) if indices else np.zeros(0, dtype=int)


def leg_branch(part: Robot, state: ClosureState, platform_joint_nv: int) -> int:
    """Sign of the determinant of a leg's Jacobian J_i ([KI2007] (18)), 0 if it is not square.

    The determinant changes its sign where two solutions of the leg meet (serial singularity), so the
    sign names the branch. Rows that are identically zero (out of the plane of a planar leg) do not
    count; signs are those of the leg's end moving against the platform.
    """
    J = scaled_closures(part, state)
    in_platform = set(range(2 + len(part.platform.joints)))
    for joint, rows in zip(part.closures, state.rows, strict=True):
        if joint.predecessor not in in_platform:
            J[rows] = -J[rows]
    J = J[:, part.platform_nv + platform_joint_nv :]
    J = J[np.max(np.abs(J), axis=1, initial=0.0) > 1e-12]
    if J.shape[0] != J.shape[1] or J.shape[0] == 0:
        return 0
    return int(np.sign(np.linalg.det(J)))


def assemble(robot: Robot, platform: Pose | None = None, q: Array | None = None, seed: int = 0) -> Assembly:
    """Close all loops.

    Args:
        robot: the robot.
        platform: pose that gives the independent coordinates; the reference pose if None.
        q: coordinates of the tree joints to start from; the joints' guesses if None.
        seed: of the random starts that follow if the first does not close a leg.

    Returns:
        The closed configuration, or the nearest one with `open` not empty.
    """
    if platform is None and q is None and seed == 0:
        # Robots that differ in their names alone are equal, but the closures that stay open have names.
        return _assemble_reference(robot, robot.all_names)
    pose = robot.reference if platform is None else platform
    return _assemble(robot, pose, guess_coordinates(robot) if q is None else np.array(q), seed)


@lru_cache(maxsize=64)
def _assemble_reference(robot: Robot, names: tuple[str, ...]) -> Assembly:
    """The reference configuration, found once: the checks of a description and the analysis share it."""
    del names  # only tells robots apart
    return _assemble(robot, robot.reference, guess_coordinates(robot), 0)


def _assemble(robot: Robot, pose: Pose, q: Array, seed: int) -> Assembly:
    """Close all loops from coordinates q of the tree, which change; arguments as in `assemble`."""
    start = q.copy()
    rng = np.random.default_rng(seed)
    unreached: list[int] = []
    missed: list[int] = []
    if robot.platform.closures and robot.platform.joints:
        _close_part(robot, None, pose, q, rng)
    for k, leg in enumerate(robot.legs):
        # Where several legs fail the pose is out of reach, and searching long for the others is in vain.
        starts = _STARTS if len(unreached) < 2 else 2
        reached, on_branch = _close_part(robot, leg, pose, q, rng, starts)
        if not reached:
            unreached.append(k)
        elif not on_branch:
            missed.append(k)
    held = independent_rate_mask(robot)
    solution = solve_closures(robot, pose, q, held)
    gaps = closure_gaps(robot, *solution[2:])
    if gaps:
        # Legs that share a platform with joints of its own may only close all together.
        together = solve_closures(robot, pose, start, held)
        gaps_together = closure_gaps(robot, *together[2:])
        if not gaps_together:
            solution, gaps = together, gaps_together
            missed = [k for k, leg in enumerate(robot.legs) if not _on_branch(robot, leg, *solution[:2])]
    if not gaps and _platform_stays(robot, pose, solution[0]):
        # The rounding of the iteration is not to become constants of programs.
        motion = tree_kinematics(robot, pose, solution[1])
        solution = (pose, solution[1], motion, closure_state(robot, motion))
    return Assembly(*solution, gaps, tuple(unreached) if gaps else (), tuple(missed))


def _platform_stays(robot: Robot, start: Pose, end: Pose) -> bool:
    """Whether the platform is where it was given, but for rounding: it has no parasitic motion here."""
    shift = float(np.max(np.abs(end.p - start.p))) / robot.size
    return (
        max(shift, float(np.max(np.abs(end.R - start.R)))) < _PLATFORM_STAYS + 8.0 * robot.coordinate_rounding
    )


def _on_branch(robot: Robot, leg: Leg, platform: Pose, q: Array) -> bool:
    """Whether a leg is on its branch in a closed configuration."""
    if not leg.branch:
        return True
    part, indices = isolate_leg(robot, leg)
    state = closure_state(part, tree_kinematics(part, platform, q[indices]))
    platform_joint_nv = sum(robot.joints[j].nv for j in robot.platform.joints)
    return leg_branch(part, state, platform_joint_nv) == leg.branch


class _AttemptRank(NamedTuple):
    """How good an attempt to close a leg is; the least is the best.

    Attributes:
        gap: how far its loops are open: distances over the robot's size and angles in rad, summed.
        wrong: whether it is on another branch than the leg's.
        outside: whether a joint is beyond its limits.
    """

    gap: float
    wrong: bool
    outside: bool

    def is_better_than(self, best: _AttemptRank) -> bool:
        """Whether the attempt replaces the best one before it.

        A leg that closes only where the platform gives way (parasitic motion) has a small gap on each of its
        branches while the platform is held: the gap does not choose between them, the guess does.
        """
        if self.gap > 0.0 and best.gap < _NEARLY_CLOSED:
            return False
        return self < best


def _close_part(
    robot: Robot,
    leg: Leg | None,
    pose: Pose,
    q: Array,
    rng: np.random.Generator,
    starts: int = _STARTS,
) -> tuple[bool, bool]:
    """Close one leg (or the platform's loops) with the platform held; put the solution into q."""
    part, indices = isolate_leg(robot, leg)
    m = part.platform_nv
    platform_joint_nv = sum(robot.joints[j].nv for j in robot.platform.joints)
    held = np.zeros(m + part.nv, dtype=bool)
    held[:m] = True
    if leg is None:
        held[[m + part.v_slices[part.joint(name)].start for name in robot.motion.joint_names]] = True
    else:
        held[m : m + platform_joint_nv] = True
    start = q[indices]
    best, best_rank = start, _AttemptRank(math.inf, True, True)
    for attempt in range(_BRANCH_STARTS):
        q_part = start if attempt == 0 else _random_start(part, pose, start, held, attempt, rng)
        _, q_part, motion, state = solve_closures(part, pose, q_part, held)
        gap = sum(gap.distance / part.size + gap.angle for gap in closure_gaps(part, motion, state).values())
        wrong = leg is not None and leg.branch not in (0, leg_branch(part, state, platform_joint_nv))
        rank = _AttemptRank(gap, wrong, is_beyond_limits(part, q_part))
        if rank.is_better_than(best_rank):
            best, best_rank = q_part, rank
        # A leg that closes on the other branch is searched on, also past starts that lead nowhere.
        if best_rank == (0.0, False, False) or (attempt >= starts and best_rank[:2] != (0.0, True)):
            break
    q[indices] = best
    return best_rank.gap == 0.0, not best_rank.wrong


def _random_start(
    part: Robot, pose: Pose, start: Array, held: Array, attempt: int, rng: np.random.Generator
) -> Array:
    """Another place to start from: near the first one, then farther away, then anywhere."""
    spread = 0.4 if attempt < 3 else 2.0 if attempt <= _STARTS else math.pi
    kick = rng.uniform(-spread, spread, held.size) * rate_scale(part)
    kick[held] = 0.0
    return integrate_tree(part, pose, start, kick)[1]


def is_beyond_limits(part: Robot, q: Array) -> bool:
    """Whether a joint of the tree is beyond its limits."""
    joints = zip(part.tree_joints, part.q_slices, strict=True)
    readings = (limit_readings(joint, q[indices], centred=True) for joint, indices in joints)
    return any(reading.beyond for joint in readings for reading in joint)


def closure_gaps(robot: Robot, motion: TreeKinematics, state: ClosureState) -> dict[str, ClosureGap]:
    """What each closure that is not closed leaves open, by its name."""
    gaps = {}
    for joint, rows in zip(robot.closures, state.rows, strict=True):
        residual = state.residual[rows]
        if joint.is_coupling:
            gap = abs(float(residual[0]))
            if not gap <= CLOSED * coupling_scale(robot, joint):
                turns = robot.joints[joint.terms[0][0]].primitives[0].is_rotation
                gaps[joint.name] = ClosureGap(0.0, gap) if turns else ClosureGap(gap, 0.0)
            continue
        offsets = [r for r, lock in zip(residual, joint.locks, strict=True) if len(lock) == 2]
        sines = [r for r, lock in zip(residual, joint.locks, strict=True) if len(lock) == 3]
        distance = float(np.linalg.norm(offsets))
        angle = math.asin(min(1.0, float(np.linalg.norm(sines)))) if np.all(np.isfinite(sines)) else math.pi
        if not distance <= (CLOSED + robot.coordinate_rounding) * robot.size:
            gaps[joint.name] = ClosureGap(distance if math.isfinite(distance) else math.inf, angle)
        elif not angle <= CLOSED:
            gaps[joint.name] = ClosureGap(0.0, angle)
        elif has_reversed_axis(joint, motion):
            gaps[joint.name] = ClosureGap(0.0, math.pi, True)
    return gaps


def require_assembly(robot: Robot) -> Assembly:
    """Assemble the robot in its reference pose.

    Raises:
        AssemblyError: if loops stay open, with their gaps.
    """
    assembly = assemble(robot)
    if assembly.open:
        message = ", ".join(f"{name} {gap}" for name, gap in assembly.open.items())
        gaps = {name: gap.distance or gap.angle for name, gap in assembly.open.items()}
        raise AssemblyError(f"{robot.name} cannot be assembled: {message}", gaps)
    return assembly


# ---- closed configurations near the reference pose, at random: where ranks are those of a generic pose


_POSES = 3


def scaled_closures(robot: Robot, state: ClosureState) -> Array:
    """Jacobian of the closures (rows, rates) without units, lengths over the robot's size: J_ik s_k / z_i."""
    return state.jacobian / row_scale(robot)[:, None] * rate_scale(robot)


@lru_cache(maxsize=64)
def generic_poses(robot: Robot, start: Assembly) -> tuple[tuple[TreeKinematics, ClosureState], ...]:
    """A few closed configurations near the reference, moved along the independent coordinates."""
    rng = np.random.default_rng(1)
    result: list[tuple[TreeKinematics, ClosureState]] = []
    for reach in (0.07, 0.03, 0.01, 0.003):
        if len(result) >= _POSES:
            break
        closed = sample_closed_configuration(robot, start, reach, rng)
        if closed is not None:
            result.append(closed[2:])
    return tuple(result)


def sample_closed_configuration(
    robot: Robot, start: Assembly, reach: float, rng: np.random.Generator, *, perturbation: float = 1e-2
) -> tuple[Pose, Array, TreeKinematics, ClosureState] | None:
    """A closed configuration, moved at random along the independent coordinates; None if none is found.

    Args:
        robot: the robot.
        start: a closed configuration, and its branch.
        reach: how far it is moved along each coordinate at most, over the robot's size or in rad.
        rng: random numbers.
        perturbation: how far idle motions and passive joints are moved: a special posture of theirs must not
            count.
    """
    held = independent_rate_mask(robot)
    step = np.where(held, rng.uniform(0.4, 1.0, held.size) * rng.choice([-1, 1], held.size), 0.0)
    still = held.copy()
    still[platform_rate_indices(robot)] = True
    shake = np.where(still, 0.0, perturbation * rng.normal(size=held.size))
    return close_after_step(robot, start, reach * step + shake, 1e-11)


def close_after_step(
    robot: Robot, start: Assembly, step: Array, closed: float
) -> tuple[Pose, Array, TreeKinematics, ClosureState] | None:
    """The closed configuration behind a step (rates,) from another; None if the loops do not close.

    Args:
        robot: the robot.
        start: a closed configuration, and its branch.
        step: of all rates, over the scales of motions (`motion_scale`); independent coordinates stay where it
            leads.
        closed: what the loops may leave open, over the robot's size or in rad.
    """
    held = independent_rate_mask(robot)
    platform = held.copy()
    platform[platform_rate_indices(robot)] = True
    pose, q = integrate_tree(robot, start.platform, start.q_tree, step * motion_scale(robot))
    # The legs come to the platform before it comes to them, so that the loops stay in the assembly of the
    # reference pose.
    pose, q, _, _ = solve_closures(robot, pose, q, platform, patience=1)
    pose, q, motion, state = solve_closures(robot, pose, q, held)
    gap = np.max(np.abs(state.residual / row_scale(robot)), initial=0.0)
    return (pose, q, motion, state) if gap < closed + 8.0 * robot.coordinate_rounding else None


def platform_rate_indices(robot: Robot) -> Array:
    """Places in u (nw,) of the rates that move the platform: the platform's and those of its own joints."""
    return np.array([*range(robot.platform_nv), *joint_rate_indices(robot, robot.platform.joints)])
