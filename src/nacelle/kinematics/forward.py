"""Forward kinematics: from the actuators to the pose of the platform, or to all assemblies.

In closed form where spheres or circles meet (`nacelle.kinematics.solve.spheres`); otherwise by continuation
with Newton's iteration and the exact Jacobian (`PoseSearch`), on the pose and the passive coordinates that
legs without a closed form have. All assemblies of such robots are sought on all joints (`JointSearch`).

q_a(x) = q (actuators,) has several solutions x (nx,), the *assemblies*. The one that is meant is connected
with the reference pose, or with the guess. Signs tell assemblies apart: that of det J_r^-1 changes at a
parallel singularity, those of `nacelle.kinematics.branch` where a leg or loop changes its branch. All of them
are sought by iteration from many poses drawn with fixed seeds; those that converge and differ by more than
1e-6 (lengths over the robot's size, rad) are kept: all are solutions, but nothing proves that there are no
more.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from nacelle.emit.track import FOLLOWED, BoundTrack, TrackRules
from nacelle.errors import KinematicsError, UnreachableError
from nacelle.kinematics import kinematic_model
from nacelle.kinematics.branch import branch_of, pose_step_units, pose_units
from nacelle.kinematics.flags import Flag, Flagged
from nacelle.kinematics.jacobian import NEAR_CONDITIONING, conditioning, scaled_inverse
from nacelle.kinematics.limits import actuator_limits, is_beyond_actuator_limits, wrap_actuators
from nacelle.kinematics.mechanism.mechanism import Mechanism, mechanism_of
from nacelle.kinematics.native import compile_native, compile_native_newton, compile_native_track
from nacelle.kinematics.pose_input import broadcast_guess, check_actuators, check_poses
from nacelle.kinematics.solve import newton_steps
from nacelle.kinematics.solve.continuation import (
    BranchSearch,
    Equations,
    Roadmap,
    SearchedSamples,
    build_roadmap,
    closed_tolerance,
    polish_solutions,
)
from nacelle.kinematics.solve.inverse import InverseKinematics, inverse_kinematics
from nacelle.kinematics.solve.one_state import bind_branch_check, single_sample
from nacelle.kinematics.solve.spheres import has_sphere_solution, sphere_forward, sphere_kinematics
from nacelle.model.robot import Robot
from nacelle.results import HasTable, Plottable
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation import quat_exp, quat_from_matrices, quat_multiply, rotation_matrices
from nacelle.spatial.scalar import Array
from nacelle.tree.actuation import actuator_scales, unwind_angles, unwrap_angles
from nacelle.tree.spanning_tree import wrap_angles

# Points of the roadmap, how far around the reference they are sought (robot sizes, rad), and from how many of
# them a sample is sought.
_GOALS, _ROADMAP_REACH, _ROADMAP_ANGLE, _NEAREST = 96, 0.6, 1.6, 3
# Starts of the search for all assemblies, and how many of them are tried where any solution will do.
_STARTS, _TRIES = 256, 24


def assembly_search(mechanism: Mechanism) -> PoseSearch:
    """The search for assemblies: without closed forms of legs also those that are folded the other way."""
    return PoseSearch(mechanism) if mechanism.has_closed_form else JointSearch(mechanism)


class PoseSearch(BranchSearch):
    """The search on the pose and the passive coordinates that legs leave open, u = [x; y]."""

    iterations = 40

    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism = mechanism
        solver = compile_native_newton(newton_steps.pose_step, mechanism.robot)
        tracker = compile_native_track(newton_steps.pose_path_step, mechanism.robot)
        units = pose_step_units(mechanism)
        closed = closed_tolerance(mechanism.robot)
        self.equations = Equations(
            solver, tracker, units, np.full(len(mechanism.robot.actuators), np.inf), closed
        )

    # ---- unknowns and poses

    def start(self, x: Array) -> Array:
        """Unknowns (N, unknowns) at poses (N, nx)."""
        if self.mechanism.has_closed_form:
            return x
        y = inverse_kinematics(self.mechanism.robot, x, limits=False).y
        return np.concatenate([x, y], axis=1)

    def poses(self, u: Array) -> tuple[Array, Array]:
        """Reduced poses x (N, nx) and passive coordinates y (N, ny), of unknowns u (N, unknowns)."""
        nx, quaternion = self.mechanism.layout.nx, self.mechanism.layout.quaternion
        x = u[:, :nx].copy()
        if quaternion is not None and len(x):
            x[:, quaternion] /= np.linalg.norm(x[:, quaternion], axis=1, keepdims=True)
        return x, np.ascontiguousarray(u[:, nx:])

    def reference(self) -> Array:
        """Unknowns (unknowns,) at the reference pose."""
        x, y = self.mechanism.reference
        return x if self.mechanism.has_closed_form else np.concatenate([x, y])

    @property
    def quaternion(self) -> slice | None:
        """Place of the platform's quaternion among the unknowns."""
        return self.mechanism.layout.quaternion

    # ---- the search

    def find(self, q: Array, starts: Array | None, follow: bool) -> tuple[Array, Array, Array]:
        """Poses (N, nx), numbers of Newton's steps and flags at actuator coordinates (N, actuators)."""
        x = np.full((len(q), self.mechanism.layout.nx), np.nan)
        if follow:
            q = unwrap_angles(q, self.mechanism.robot.revolute_actuators, self.reference_actuators())
        samples = SearchedSamples.at(q, self.reference().size)
        if len(q):
            if follow:
                first = None if starts is None else starts[:1]
                self.follow(samples, None, lambda sample: self._search_each(sample, first))
            else:
                self._search_each(samples, starts)
            good = np.flatnonzero(~samples.is_missing)
            x[good], y = self.poses(samples.y[good])
            samples.flags[good] |= self._pose_flags(x[good], y)
        return x, samples.steps, samples.flags

    def _search_each(self, samples: SearchedSamples, starts: Array | None) -> None:
        """Every sample for itself: in a straight line, by the roadmap, by plain iteration."""
        robot, q = self.mechanism.robot, samples.p
        every = np.arange(len(q))
        first = np.broadcast_to(self.reference(), samples.y.shape) if starts is None else self.start(starts)
        if starts is None and q.shape[1] == robot.motion.n:
            self.connect(samples, every, np.broadcast_to(self.reference_actuators(), q.shape), first)
        else:
            # From a guess the way is short; and between coordinates of redundant actuators that fit
            # there is no straight way on which all of them do.
            self.iterate(samples, every, first, 0)
        left = np.flatnonzero(samples.is_missing)
        if left.size:
            seeds = seeded_starts(robot)[:_TRIES] if self.mechanism.has_closed_form else first[:0]
            self.by_roadmap(samples, left, first[left], seeds)
            self._search_joints(samples, left[samples.is_missing[left]])

    def _search_joints(self, samples: SearchedSamples, left: Array) -> None:
        """Plain iteration on all joints, for legs that iteration closes: on whatever branch it ends."""
        if self.mechanism.has_closed_form or not left.size:
            return
        search = JointSearch(self.mechanism)
        again = SearchedSamples.at(samples.p[left], search.reference().size)
        for start in seeded_starts(self.mechanism.robot)[:_TRIES]:
            still = np.flatnonzero(again.is_missing)
            search.iterate(again, still, np.broadcast_to(start, again.y.shape)[still])
        good = np.flatnonzero(~again.is_missing)
        samples.y[left[good]] = np.concatenate(search.poses(again.y[good]), axis=1)
        samples.flags[left[good]] = again.flags[good]
        samples.steps[left] += again.steps

    def nearest_turns(self, p0: Array, p1: Array) -> Array:
        """Coordinates of actuators, angles within half a turn of others."""
        return unwind_angles(self.mechanism.robot, p1, p0)

    def as_path(self, p0: Array, p: Array) -> Array:
        """Coordinates of actuators, in order, without jumps by whole turns: as `find` has made them."""
        return p

    def between(self, p0: Array, p1: Array, t: Array) -> Array:
        """Coordinates of actuators at the parts t (M,) of straight ways, angles by less than half a turn."""
        return np.asarray((1.0 - t[:, None]) * p0 + t[:, None] * self.nearest_turns(p0, p1))

    def nearest_solutions(self, p: Array) -> list[Roadmap]:
        """Solutions of the branch that are nearest to coordinates of actuators (N, actuators)."""
        return _roadmap(self.mechanism.robot).nearest(p, actuator_scales(self.mechanism.robot), _NEAREST)

    # ---- signs

    def reference_actuators(self) -> Array:
        """Coordinates (actuators,), rad or m, of the actuators in the reference pose."""
        x, y = self.mechanism.reference
        return np.asarray(compile_native(kinematic_model.actuator_positions, self.mechanism.robot)(x, y)["q"])

    def signs(self, x: Array, y: Array) -> tuple[Array, Array]:
        """Signs (N, 1 + branches) against the reference, and the conditioning of the scaled J_r^-1 (N,)."""
        robot = self.mechanism.robot
        J = scaled_inverse(robot, compile_native(kinematic_model.inverse_jacobian, robot)(x, y)["J"])
        parallel = np.zeros(len(x))
        if J.shape[-1] == J.shape[-2] and len(x):
            x0, y0 = self.mechanism.reference
            at = scaled_inverse(robot, compile_native(kinematic_model.inverse_jacobian, robot)(x0, y0)["J"])
            with np.errstate(invalid="ignore"):
                at_reference = np.sign(np.linalg.det(at))
                parallel = np.asarray(np.sign(np.linalg.det(np.nan_to_num(J))) * at_reference)
        legs = np.zeros((len(x), 0))
        if branch_of(robot).size and len(x):
            legs = np.sign(compile_native(kinematic_model.branch_signs, robot)(x, y))
        return np.concatenate([parallel[:, None], legs], axis=1), conditioning(J)

    def _pose_flags(self, x: Array, y: Array) -> Array:
        """Flags of solutions: another branch by their signs, the nearness of a parallel singularity."""
        signs, figure = self.signs(x, y)
        with np.errstate(invalid="ignore"):
            off_branch = np.any(signs < 0.0, axis=1)
            near = figure < NEAR_CONDITIONING
        return np.asarray(
            np.where(off_branch, int(Flag.OTHER_BRANCH), 0) | np.where(near, int(Flag.NEAR_SINGULAR), 0)
        )


class JointSearch(PoseSearch):
    """The search for assemblies on the platform's pose and all joints, by plain iteration alone."""

    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism = mechanism
        robot = mechanism.robot
        solver = compile_native_newton(newton_steps.assembly_step, robot)
        self.size = 3 if robot.platform_nv == 3 else 7
        primitives = [primitive for joint in robot.tree_joints for primitive in joint.primitives]
        rotations = [primitive.is_rotation for primitive in primitives for _ in range(primitive.nq)]
        lengths = [True] * 3 + [False] * (self.size - 3) + [not rotation for rotation in rotations]
        units = np.where(lengths, robot.size, 1.0)
        tracker = compile_native_track(newton_steps.pose_path_step, robot)
        of_actuators = np.full(len(robot.actuators), np.inf)
        self.equations = Equations(solver, tracker, units, of_actuators, closed_tolerance(robot))

    def reference(self) -> Array:
        """Unknowns (unknowns,) at the reference pose."""
        assembly, robot = self.mechanism.assembly, self.mechanism.robot
        q = np.array(assembly.q_tree, dtype=float)
        # The assembly may count whole turns that the actuators' coordinates do not.
        for actuator, coordinate in zip(robot.actuators, self.reference_actuators(), strict=True):
            if actuator.joint < robot.tree and robot.joints[actuator.joint].primitives[0].is_rotation:
                index = robot.q_slices[actuator.joint].start
                q[index] += 2.0 * np.pi * np.round((coordinate - q[index]) / (2.0 * np.pi))
        R, p = assembly.platform.R, assembly.platform.p
        return np.concatenate([p, q] if self.size == 3 else [p, quat_from_matrices(R), q])

    @property
    def quaternion(self) -> slice | None:
        """Place of the platform's quaternion among the unknowns."""
        return slice(3, 7) if self.size == 7 else None

    def poses(self, u: Array) -> tuple[Array, Array]:
        """Reduced poses x (N, nx) and passive coordinates y (N, ny), of unknowns u (N, unknowns)."""
        mechanism = self.mechanism
        R = np.eye(3)
        if self.size == 7:
            R = rotation_matrices(u[:, 3:7] / np.linalg.norm(u[:, 3:7], axis=1, keepdims=True))
        return mechanism.coordinates(Pose(R, u[:, :3]), u[:, self.size :])


@lru_cache(maxsize=16)
def _roadmap(robot: Robot) -> Roadmap:
    """Coordinates of actuators and solutions that are connected with the reference."""
    search = PoseSearch(mechanism_of(robot))
    q0 = search.reference_actuators()
    rng = np.random.default_rng(0)
    reach = np.where(actuator_scales(robot) == 1.0, _ROADMAP_ANGLE, _ROADMAP_REACH * robot.size)
    far = np.sqrt(rng.uniform(0.02, 1.0, (_GOALS, 1)))
    goals = q0 + far * rng.uniform(-1.0, 1.0, (_GOALS, q0.size)) * reach
    return build_roadmap(search.equations, q0, search.reference(), goals, search.between)


@lru_cache(maxsize=16)
def seeded_starts(robot: Robot) -> Array:
    """Seeded starts (starts, unknowns) of the search for all assemblies, where closed-form legs reach."""
    mechanism = mechanism_of(robot)
    search = assembly_search(mechanism)
    u0 = search.reference()
    rng = np.random.default_rng(0)
    wide = np.where(search.equations.units == 1.0, np.pi, 1.5 * robot.size)
    many = 32 * _STARTS if mechanism.has_closed_form else _STARTS
    starts = u0 + rng.uniform(-1.0, 1.0, (many, u0.size)) * wide
    quaternion = search.quaternion
    if quaternion is not None:
        rotations = quat_exp(rng.uniform(-1.0, 1.0, (many, 3)) * np.pi)
        starts[:, quaternion] = quat_multiply(rotations, u0[quaternion])
    starts[0] = u0
    if mechanism.has_closed_form:
        margins = compile_native(kinematic_model.actuator_positions, robot)(starts, np.zeros((many, 0)))[
            "margins"
        ]
        with np.errstate(invalid="ignore"):
            starts = starts[np.all(margins > 0.0, axis=1)]
    return np.ascontiguousarray(starts[:_STARTS])


# ---- all assemblies at given actuator coordinates: the poses that iteration from many seeded starts leads to


_ITERATIONS_FROM_SEEDS = 160
# The longest step, in robot sizes and radians together: iteration starts anywhere, and a leg that is drawn
# out of reach ends it.
_SHORT_STEP = 0.1
# How far apart two assemblies are at least (robot sizes, rad).
_DISTINCT = 1e-6


@dataclass(frozen=True, eq=False)
class Assemblies(HasTable):
    """All poses that were found for one sample of actuator coordinates.

    Attributes:
        x: reduced poses (k, nx), that of the branch of the reference first where there is one.
        signs: for each the sign of det J_r^-1 (0 for redundant actuation), then those of the branches of legs
            and loops that are solved numerically (k, 1 + branches); 1 in the reference pose.
        names: to whom the signs belong.
    """

    x: Array
    signs: Array
    names: tuple[str, ...]


def find_assemblies(search: PoseSearch, q: Array, poses: Array) -> list[Assemblies]:
    """All poses that seeded starts lead to, for samples (N, actuators) with their own poses (N, nx)."""
    mechanism = search.mechanism
    names = ("parallel", *branch_of(mechanism.robot).names)
    starts = seeded_starts(mechanism.robot)
    angles = np.array(mechanism.layout.units) == "rad"
    result = []
    for q_row, pose in zip(q, poses, strict=True):
        if not np.all(np.isfinite(q_row)):
            result.append(Assemblies(np.zeros((0, poses.shape[1])), np.zeros((0, len(names))), names))
            continue
        solution = search.equations.solver.solve(
            starts,
            q_row[None],
            tolerance=search.equations.closed,
            max_iterations=_ITERATIONS_FROM_SEEDS,
            max_step=_SHORT_STEP * search.equations.units,
        )
        u = solution.y[solution.status == 0]
        x, y = search.poses(
            polish_solutions(search.equations, u, np.broadcast_to(q_row, (len(u), q_row.size)))
        )
        x[:, angles] = wrap_angles(x[:, angles], 0.0)
        keep = _distinct_poses(mechanism, x, y, pose)
        signs, _ = search.signs(x[keep], y[keep])
        result.append(Assemblies(x[keep], signs, names))
    return result


def _distinct_poses(mechanism: Mechanism, x: Array, y: Array, first: Array) -> Array:
    """Indices of poses that differ, that which is nearest to `first` in front."""
    quaternion = mechanism.layout.quaternion
    units = pose_units(mechanism)
    angles = np.array(mechanism.layout.units) == "rad"
    keep: list[int] = []
    for k in range(len(x)):
        apart = np.abs(x[keep] - x[k])
        apart[:, angles] = np.abs(wrap_angles(apart[:, angles], 0.0))
        if quaternion is not None:
            opposite = np.abs(x[keep][:, quaternion] + x[k, quaternion])
            same = np.sum(opposite, axis=1) < np.sum(apart[:, quaternion], axis=1)
            apart[same, quaternion] = opposite[same]
        far = np.max(apart / units, axis=1) > _DISTINCT
        # The same pose with its legs or dependent coordinates on other branches is another assembly.
        bent = np.max(np.abs(np.sin(0.5 * (y[keep] - y[k]))), axis=1, initial=0.0) > _DISTINCT
        if np.all(far | bent):
            keep.append(k)
    if len(keep) > 1 and np.all(np.isfinite(first)):
        apart = x[keep] - first
        apart[:, angles] = wrap_angles(apart[:, angles], 0.0)
        nearest = int(np.argmin(np.max(np.abs(apart) / units, axis=1)))
        keep.insert(0, keep.pop(nearest))
    return np.array(keep, dtype=int)


_NEAR_MARGIN = 1e-4
# Distances from singularities above this leave no doubt about the conditioning.
_FAR_FROM_SINGULAR = 0.05
# Coordinates of actuators that are the same, rad or robot sizes.
_ACTUATOR_TOLERANCE = 1e-5


@dataclass(frozen=True, eq=False, repr=False)
class ForwardKinematics(Flagged, Plottable):
    """Poses at given coordinates of the actuators.

    Attributes:
        robot: the robot.
        q: coordinates of the actuators (..., actuators).
        x: reduced poses (..., nx); NaN where none was found.
        iterations: Newton's steps (...); 0 in closed form.
        flags: for every sample what was found (`Flag`).
        assemblies: all poses that were found, an array (...) of `Assemblies`; None if not requested.
    """

    robot: Robot
    q: Array
    x: Array
    iterations: Array
    flags: Array
    assemblies: Any = None

    def inverse(self) -> InverseKinematics:
        """All joints and bodies at the poses x (..., nx): `inverse_kinematics` there."""
        return inverse_kinematics(self.robot, self.x)


def forward_kinematics(
    robot: Robot, q: Any, guess: Any = None, *, follow: bool = False, assemblies: bool = False
) -> ForwardKinematics:
    """Find the pose of the platform from the coordinates of the actuators.

    Solves phi(x, q) = 0 for x, by a closed form where there is one, else by Newton's method.

    Args:
        robot: the robot.
        q: coordinates of the actuators (..., actuators), rad or m, in their order.
        guess: poses (..., nx) or one pose (nx,) to start from; the reference pose if None.
        follow: whether the samples, in order, are a path: each starts from the solution before it.
        assemblies: whether to search for all poses that belong to the coordinates: by iteration from many
            seeded starts, so all that were found, not proven to be all there are.

    Returns:
        The poses x (..., nx), m and quat_xyzw or rad, in the base frame, with their flags (...,).

    Raises:
        KinematicsError: if shapes are wrong, or a single sample is not finite.
        UnreachableError: if a single sample belongs to no pose that was found; in a batch it is flagged.
    """
    if not follow and not assemblies:
        regular = _single_forward(robot)(q, guess)
        if regular is not None:
            return regular
    coordinates = np.array(check_actuators(robot, q, "q"))
    mechanism = mechanism_of(robot)
    batch = coordinates.shape[:-1]
    rows = coordinates.reshape(-1, len(robot.actuators))
    valid = np.all(np.isfinite(rows), axis=1)
    if not batch and not valid[0]:
        bad = [a.name for a, value in zip(robot.actuators, rows[0], strict=True) if not np.isfinite(value)]
        raise KinematicsError(f"{robot.name}: {', '.join(bad)} not finite")
    flags = np.where(valid, 0, int(Flag.INVALID))
    x = np.full((len(rows), mechanism.layout.nx), np.nan)
    iterations = np.zeros(len(rows), dtype=np.int64)
    if guess is None and has_sphere_solution(mechanism):
        outputs = compile_native(sphere_forward, robot)(rows)
        with np.errstate(invalid="ignore"):
            good = valid & (outputs["margin"] >= 0.0)
            flags |= np.where(good & (outputs["margin"] < _NEAR_MARGIN), int(Flag.NEAR_SINGULAR), 0)
        x[good] = outputs["x"][good]
        flags |= np.where(good | ~valid, 0, int(Flag.UNREACHABLE))
        # Spheres meet on both sides of a leg's own singularity.
        flags[good] |= np.where(_on_working_mode(mechanism, x[good], rows[good]), 0, int(Flag.OTHER_BRANCH))
    else:
        starts = None if guess is None else check_poses(robot, guess)[0]
        if starts is not None:
            starts = broadcast_guess(starts, (*batch, mechanism.layout.nx)).reshape(-1, mechanism.layout.nx)[
                valid
            ]
        search = PoseSearch(mechanism)
        x[valid], iterations[valid], flags[valid] = search.find(rows[valid], starts, follow)
    good = (flags & int(Flag.INVALID | Flag.UNREACHABLE)) == 0
    flags |= np.where(
        good & is_beyond_actuator_limits(robot, wrap_actuators(robot, rows)), int(Flag.OUT_OF_LIMITS), 0
    )
    every = None
    if assemblies:
        every = np.empty(len(rows), dtype=object)
        every[:] = find_assemblies(assembly_search(mechanism), rows, np.where(good[:, None], x, np.nan))
        every = every.reshape(batch)[()]
    if not batch and not good[0]:
        values = ", ".join(f"{value:.6g}" for value in rows[0])
        raise UnreachableError(
            f"{robot.name}: no pose was found for the actuators at [{values}]; give a guess nearer to it, or "
            "check the coordinates"
        )
    return ForwardKinematics(
        robot,
        coordinates,
        x.reshape(*batch, mechanism.layout.nx),
        iterations.reshape(batch),
        flags.reshape(batch),
        every,
    )


# ---- one sample, as a control loop calls it


@lru_cache(maxsize=512)
def _single_forward(robot: Robot) -> _SingleForward:
    return _SingleForward(robot)


class _SingleForward:
    """Forward kinematics of one sample, where there is nothing to say of it.

    The pose is followed from the reference pose or a guess. The buffers are bound once; threads take turns
    with them. Anything but an ordinary sample is left to the code for batches.
    """

    def __init__(self, robot: Robot) -> None:
        self._robot = robot
        self._free: deque[_ForwardBuffers] = deque()
        joints = [robot.joints_within_drive_limits[actuator.joint] for actuator in robot.actuators]
        held = [joint.primitives[0].is_rotation and not joint.may_turn(0) for joint in joints]
        low, high = (bound.tolist() for bound in actuator_limits(robot))
        self._bounds = [
            (a, b, joint.centre(0) if wraps else None)
            for a, b, joint, wraps in zip(low, high, joints, held, strict=True)
        ]

    def __call__(self, q: Any, guess: Any) -> ForwardKinematics | None:
        """The pose; None where there is more to it."""
        if type(q) is not np.ndarray or q.dtype != np.float64 or q.shape != (len(self._bounds),):
            return None
        try:
            buffers = self._free.pop()
        except IndexError:
            buffers = _ForwardBuffers(self._robot)
        try:
            x = buffers.solve(q, guess)
        finally:
            self._free.append(buffers)
        if x is None:
            return None
        for value, (low, high, centre) in zip(q.tolist(), self._bounds, strict=True):
            if centre is not None and not -math.pi <= value - centre < math.pi:
                return None
            if not low <= value <= high:
                return None
        zero = np.zeros((), dtype=np.int64)
        return ForwardKinematics(self._robot, q.copy(), x, zero + buffers.steps, zero)


class _ForwardBuffers:
    """Buffers of one call of forward kinematics, and what is bound to them.

    Attributes:
        steps: evaluations of the last call; 0 in closed form.
    """

    def __init__(self, robot: Robot) -> None:
        mechanism = mechanism_of(robot)
        self._robot, self._layout, self.steps = robot, mechanism.layout, 0
        m = len(robot.actuators)
        self._q, self._spheres = np.zeros(m), None
        self._way: BoundTrack | None = None
        if has_sphere_solution(mechanism):
            self._spheres = compile_native(sphere_kinematics, robot).bind(q=self._q)
        if m == robot.motion.n:
            self._bind_way(PoseSearch(mechanism))

    def _bind_way(self, search: PoseSearch) -> None:
        """Bind what follows the pose, and what checks its branch and the nearness of singularities."""
        robot, equations, nx = self._robot, search.equations, self._layout.nx
        self._reference = search.reference(), search.reference_actuators()
        (u0, q0), self._u = self._reference, np.zeros(len(self._reference[0]))
        self._u0, self._q0 = np.array(u0, dtype=float), q0.copy()
        rules = TrackRules(equations.closed, equations.units, equations.parameter_units)
        self._way = equations.tracker.bind(self._u0, self._q0, self._q, self._u, rules)
        self._revolute = [k for k, turns in enumerate(robot.revolute_actuators) if turns]
        self._x, self._y = np.array(u0[:nx], dtype=float), np.array(u0[nx:], dtype=float)
        self._jacobian = compile_native(kinematic_model.inverse_jacobian, robot).bind(x=self._x, y=self._y)
        self._on_branch = bind_branch_check(robot, self._x, self._y)
        self._sign = 1.0
        self._sign = float(np.sign(np.linalg.det(self._unitless_jacobian())))

    def _unitless_jacobian(self) -> Array:
        """J_r^-1 at x and y, without units (actuators, n)."""
        self._jacobian.call()
        return scaled_inverse(self._robot, self._jacobian.arrays["J"])

    def _is_regular(self) -> bool:
        """Whether x is on the branch of the reference pose by its signs, and not near a singularity."""
        J = self._unitless_jacobian()
        regular = conditioning(J) >= NEAR_CONDITIONING and float(np.linalg.det(J)) * self._sign > 0.0
        return bool(regular) and self._on_branch()

    def _begin(self, guess: Any) -> bool:
        """Begin the way at a guess, or the reference pose; whether that is an ordinary one."""
        if guess is None:
            self._u0[:], self._q0[:] = self._reference
            return True
        sample = single_sample(kinematic_model.joint_positions_within_limits, self._robot)(guess, None)
        if sample is None:
            return False
        nx = self._layout.nx
        self._u0[:nx], self._u0[nx:], self._q0[:] = sample.x, sample.y, sample.results["active"]
        return True

    def solve(self, q: Array, guess: Any) -> Array | None:
        """The pose (nx,) at coordinates (actuators,); None if it is not an ordinary one."""
        self._q[:] = q
        if guess is None and self._spheres is not None:
            self._spheres.call()
            x, margin, meeting = (self._spheres.arrays[name] for name in ("x", "margin", "meeting"))
            regular = min(margin[0], meeting[0]) >= _NEAR_MARGIN
            self.steps = 0
            return x.copy() if regular else None
        if self._way is None or not math.isfinite(sum(q.tolist())) or not self._begin(guess):
            return None
        for k in self._revolute:
            off = (self._q[k] - self._q0[k]) / (2.0 * math.pi)
            self._q[k] -= 2.0 * math.pi * math.floor(off + 0.5)
        if self._way.call() != FOLLOWED:
            return None
        self.steps = self._way.taken[0] + 2
        nx, quaternion = self._layout.nx, self._layout.quaternion
        self._x[:], self._y[:] = self._u[:nx], self._u[nx:]
        if quaternion is not None:
            self._x[quaternion] /= math.sqrt(float(self._x[quaternion] @ self._x[quaternion]))
        # A way from the reference passes no singularity, and is far from one where all distances are large.
        far = guess is None and min(map(abs, self._way.distances.tolist())) >= _FAR_FROM_SINGULAR
        return self._x.copy() if far or self._is_regular() else None


def _on_working_mode(mechanism: Mechanism, x: Array, q: Array) -> Array:
    """Whether legs in closed form are on the side of their singularities that the reference is on (N,)."""
    outputs = compile_native(kinematic_model.actuator_positions, mechanism.robot)(x, np.zeros((len(x), 0)))
    off = outputs["q"] - unwind_angles(mechanism.robot, q, outputs["q"])
    with np.errstate(invalid="ignore"):
        # At its singularity a leg's coordinate is known to the root of rounding.
        return np.asarray(
            np.all(np.abs(off) <= _ACTUATOR_TOLERANCE * actuator_scales(mechanism.robot), axis=1)
        )
