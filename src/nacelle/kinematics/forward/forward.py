"""Forward kinematics: from the actuators to the pose of the nacelle.

In closed form where spheres or circles meet (`nacelle.kinematics.forward.spheres`); otherwise by continuation
with Newton's iteration and the exact Jacobian: on the pose alone where the inverse kinematics is in closed
form, on pose and joints together for the others.

A forward problem has several solutions, the *assemblies*. The one that is meant is connected with the
reference pose, or with the guess: the actuators go there in a straight line; where that path is blocked by a
singularity, from the nearest points of a roadmap. Signs tell assemblies apart: that of det J_r^-1 changes at
a parallel singularity, those of `nacelle.kinematics.iteration.branch` where a leg or loop changes its branch.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from nacelle.errors import KinematicsError, UnreachableError
from nacelle.kinematics import functions
from nacelle.kinematics.flags import Flag
from nacelle.kinematics.forward import spheres as sphere
from nacelle.kinematics.inverse import InverseKinematics, inverse_kinematics
from nacelle.kinematics.iteration import newton_steps
from nacelle.kinematics.iteration.branch import branch_of
from nacelle.kinematics.iteration.continuation import (
    CLOSED,
    Equations,
    Roadmap,
    continued,
    polished,
    roadmap,
    sure_run,
)
from nacelle.kinematics.iteration.unknowns import pose_units
from nacelle.kinematics.jacobian import NEAR, conditioning, scaled_inverse
from nacelle.kinematics.limits import actuator_outside
from nacelle.kinematics.mechanism.mechanism import Mechanism, mechanism_of
from nacelle.kinematics.native import native, native_newton
from nacelle.kinematics.pose_input import broadcast_guess, checked_poses
from nacelle.model.joint import Primitive
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation_path import quat_exp, quat_from_matrices, quat_multiply, rotation_matrices
from nacelle.spatial.scalar import Array

_ITERATIONS = 40
# The longest step of plain iteration, in robot sizes and radians together.
_LONGEST = 0.5
# The same where iteration starts anywhere: a leg that is drawn out of reach ends it.
_SHORT = 0.1
_NEAR_GATE = 1e-4
# Coordinates of actuators that are the same, rad or robot sizes.
_SAME = 1e-5
# Points of the roadmap, how far around the reference they are sought (robot sizes, rad), and from how many of
# them a sample is sought.
_GOALS, _FAR, _TURN, _NEAREST = 96, 0.6, 1.6, 3
# Starts of the search for all assemblies, how many of them are tried where any solution will do, and how far
# apart two assemblies are at least (robot sizes, rad).
_STARTS, _TRIES, _APART = 256, 24, 1e-6


@dataclass(frozen=True, eq=False)
class Assemblies:
    """All poses that were found for one sample of actuator coordinates.

    Attributes:
        x: reduced poses (k, nx), that of the branch of the reference first where there is one.
        signs: for each the sign of det J_r^-1 (0 for redundant actuation), then those of the branches of legs
            and loops that are found by iteration (k, 1 + branches); 1 in the reference pose.
        names: to whom the signs belong.
    """

    x: Array
    signs: Array
    names: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class ForwardKinematics:
    """Poses at given coordinates of the actuators.

    Attributes:
        robot: the robot.
        q: coordinates of the actuators (..., actuators).
        x: reduced poses (..., nx); NaN where none was found.
        iterations: Newton's steps (...); 0 in closed form.
        flags: for every sample what was found (`Flag`).
        assemblies: all poses that were found, an array (...) of `Assemblies`; None if not asked for.
    """

    robot: Robot
    q: Array
    x: Array
    iterations: Array
    flags: Array
    assemblies: Any = None

    @property
    def ok(self) -> Array:
        """Whether each sample has a pose on the reference's branch, the actuators within their limits."""
        beyond = Flag.INVALID | Flag.UNREACHABLE | Flag.SINGULAR | Flag.OUT_OF_LIMITS | Flag.OTHER_BRANCH
        return np.asarray((self.flags & int(beyond)) == 0)

    def inverse(self) -> InverseKinematics:
        """All joints at the poses."""
        return inverse_kinematics(self.robot, self.x)


def forward_kinematics(
    robot: Robot, q: Any, guess: Any = None, *, follow: bool = False, assemblies: bool = False
) -> ForwardKinematics:
    """Find the pose of the nacelle from the coordinates of the actuators.

    Args:
        robot: the robot.
        q: coordinates of the actuators (..., actuators), rad or m, in their order.
        guess: poses (..., nx) or one pose (nx,) to start from; the reference pose if None.
        follow: whether the samples, in order, are a path: each starts from the solution before it.
        assemblies: whether to search for all poses that belong to the coordinates: by iteration from many
            seeded starts, so all that were found, not proven to be all there are.

    Raises:
        KinematicsError: if shapes are wrong, or a single sample is not finite.
        UnreachableError: if a single sample belongs to no pose that was found; in a batch it is flagged.
    """
    count = len(robot.actuators)
    wanted = np.array(q, dtype=float)
    if wanted.shape[-1:] != (count,):
        names = ", ".join(actuator.name for actuator in robot.actuators)
        raise KinematicsError(
            f"{robot.name} has {count} actuators ({names}), so q has the shape (..., {count}), got "
            f"{wanted.shape}"
        )
    mechanism = mechanism_of(robot)
    batch = wanted.shape[:-1]
    rows = wanted.reshape(-1, count)
    valid = np.all(np.isfinite(rows), axis=1)
    if not batch and not valid[0]:
        bad = [a.name for a, value in zip(robot.actuators, rows[0], strict=True) if not np.isfinite(value)]
        raise KinematicsError(f"{robot.name}: {', '.join(bad)} not finite")
    flags = np.where(valid, 0, int(Flag.INVALID))
    x = np.full((len(rows), mechanism.layout.nx), np.nan)
    iterations = np.zeros(len(rows), dtype=np.int64)
    if guess is None and sphere.applies(mechanism):
        found = native(sphere.sphere_forward, robot)(rows)
        with np.errstate(invalid="ignore"):
            met = valid & (found["gate"] >= 0.0)
            flags |= np.where(met & (found["gate"] < _NEAR_GATE), int(Flag.NEAR_SINGULAR), 0)
        x[met] = found["x"][met]
        flags |= np.where(met | ~valid, 0, int(Flag.UNREACHABLE))
        # Spheres meet on both sides of a leg's own singularity.
        flags[met] |= np.where(_same_modes(mechanism, x[met], rows[met]), 0, int(Flag.OTHER_BRANCH))
    else:
        starts = None if guess is None else checked_poses(robot, guess)[0]
        if starts is not None:
            starts = broadcast_guess(starts, (*batch, mechanism.layout.nx)).reshape(-1, mechanism.layout.nx)[
                valid
            ]
        search = _search(mechanism)
        x[valid], iterations[valid], flags[valid] = search.find(rows[valid], starts, follow)
    met = (flags & int(Flag.INVALID | Flag.UNREACHABLE)) == 0
    flags |= np.where(met & actuator_outside(robot, rows), int(Flag.OUT_OF_LIMITS), 0)
    every = None
    if assemblies:
        every = np.empty(len(rows), dtype=object)
        every[:] = _search(mechanism).assemblies(rows, np.where(met[:, None], x, np.nan))
        every = every.reshape(batch)[()]
    if not batch and not met[0]:
        place = ", ".join(f"{value:.6g}" for value in rows[0])
        raise UnreachableError(
            f"{robot.name}: no pose was found for the actuators at [{place}]; give a guess nearer to it, or "
            "check the coordinates"
        )
    return ForwardKinematics(
        robot,
        wanted,
        x.reshape(*batch, mechanism.layout.nx),
        iterations.reshape(batch),
        flags.reshape(batch),
        every,
    )


def _search(mechanism: Mechanism) -> _Reduced:
    return _Reduced(mechanism) if mechanism.closed_form else _Whole(mechanism)


class _Reduced:
    """The search on the pose alone, for robots in closed form."""

    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism = mechanism
        self.solver = native_newton(newton_steps.forward_step, mechanism.robot)
        self.equations = Equations(self.solver, self._conditioning, pose_units(mechanism))

    # ---- unknowns and poses

    def start(self, x: Array) -> Array:
        """Unknowns at poses."""
        return x

    def poses(self, u: Array) -> tuple[Array, Array]:
        """Reduced poses x, and what iteration finds there y, of unknowns."""
        x = u.copy()
        place = self.mechanism.layout.quaternion
        if place is not None and len(x):
            x[:, place] /= np.linalg.norm(x[:, place], axis=1, keepdims=True)
        return x, np.zeros((len(x), 0))

    def reference(self) -> Array:
        """Unknowns at the reference pose."""
        return np.asarray(self.mechanism.reference[0])

    @property
    def quaternion(self) -> slice | None:
        """Place of the platform's quaternion among the unknowns."""
        return self.mechanism.layout.quaternion

    # ---- the search

    def find(self, q: Array, starts: Array | None, follow: bool) -> tuple[Array, Array, Array]:
        """Poses (N, nx), numbers of Newton's steps and flags at actuator coordinates (N, actuators)."""
        x = np.full((len(q), self.mechanism.layout.nx), np.nan)
        steps, flags = np.zeros(len(q), dtype=np.int64), np.full(len(q), int(Flag.UNREACHABLE))
        if not len(q):
            return x, steps, flags
        u = self._along(q, starts, steps, flags) if follow else self._each(q, starts, steps, flags)
        good = np.flatnonzero((flags & int(Flag.UNREACHABLE)) == 0)
        x[good], y = self.poses(polished(self.equations, u[good], q[good]))
        flags[good] |= self._pose_flags(x[good], y)
        return x, steps, flags

    def _each(self, q: Array, starts: Array | None, steps: Array, flags: Array) -> Array:
        """Every sample for itself: in a straight line, by the roadmap, by plain iteration."""
        reference, q0 = self.reference(), self.reference_actuators()
        size = reference.size
        u = np.full((len(q), size), np.nan)
        every = np.arange(len(q))
        first = np.broadcast_to(reference, (len(q), size)) if starts is None else self.start(starts)
        if starts is None and q.shape[1] == self.mechanism.robot.motion.n:
            left = self._connect(every, q, np.broadcast_to(q0, q.shape), first, u, steps, flags)
        else:
            # From a guess the way is short; and between coordinates of redundant actuators that fit
            # there is no straight way on which all of them do.
            left = self._iterate(every, q, first, u, steps, flags, 0)
        if not left.size:
            return u
        road = _roadmap(self.mechanism.robot)
        nearest = road.nearest(q[left], _actuator_units(self.mechanism.robot), _NEAREST)
        for k in range(nearest.shape[1]):
            still = flags[left] == int(Flag.UNREACHABLE)
            hub = nearest[still, k]
            self._connect(left[still], q, road.p[hub], road.y[hub], u, steps, flags)
        anywhere = _starts(self.mechanism.robot)[:_TRIES]
        for start in (
            first[left],
            *(road.y[nearest[:, k]] for k in range(nearest.shape[1])),
            *(np.broadcast_to(start, first[left].shape) for start in anywhere),
        ):
            still = flags[left] == int(Flag.UNREACHABLE)
            self._iterate(left[still], q, start[still], u, steps, flags, int(Flag.OTHER_BRANCH))
        return u

    def _along(self, q: Array, starts: Array | None, steps: Array, flags: Array) -> Array:
        """Samples as a path: each continued from the one before."""
        u = np.full((len(q), self.reference().size), np.nan)
        first = None if starts is None else starts[:1]
        q = _unwound_path(self.mechanism.robot, q, self.reference_actuators())
        own_steps, own_flags = steps[:1], flags[:1]
        u[:1] = self._each(q[:1], first, own_steps, own_flags)
        place, last = 1, 0 if not own_flags[0] & int(Flag.UNREACHABLE) else -1
        while place < len(q):
            if last < 0:
                u[place : place + 1] = self._each(
                    q[place : place + 1], first, steps[place : place + 1], flags[place : place + 1]
                )
            else:
                run = sure_run(self.equations, q[last], u[last], q[place:], _between)
                u[place : place + len(run.y)] = run.y
                steps[place : place + len(run.y)] += run.iterations
                flags[place : place + len(run.y)] = flags[last]
                place += len(run.y)
                last = place - 1
                if place == len(q):
                    break
                k = np.array([place])
                self._connect(k, q, q[last : last + 1], u[last : last + 1], u, steps, flags)
                if flags[place] & int(Flag.UNREACHABLE):
                    self._iterate(k, q, u[last : last + 1], u, steps, flags, int(Flag.OTHER_BRANCH))
            if not flags[place] & int(Flag.UNREACHABLE):
                last = place
            place += 1
        return u

    def _connect(
        self, left: Array, q: Array, q0: Array, u0: Array, u: Array, steps: Array, flags: Array
    ) -> Array:
        """Continue from solutions to the samples `left`; give those that were not reached."""
        if not left.size:
            return left
        goal = _unwound(self.mechanism.robot, q[left], q0)
        found = continued(self.equations, u0, lambda which, t: _between(q0[which], goal[which], t))
        steps[left] += found.iterations
        done = left[found.reached]
        u[done], flags[done] = found.y[found.reached], 0
        return left[~found.reached]

    def _iterate(
        self, left: Array, q: Array, u0: Array, u: Array, steps: Array, flags: Array, flag: int
    ) -> Array:
        """Plain iteration from some starts; give the samples that were not solved."""
        if not left.size:
            return left
        found = self.solver.solve(
            np.ascontiguousarray(u0),
            q[left],
            tolerance=CLOSED,
            max_iterations=_ITERATIONS,
            max_step=_LONGEST * max(self.mechanism.robot.size, 1.0),
        )
        steps[left] += found.iterations
        done = found.status == 0
        u[left[done]], flags[left[done]] = found.y[done], flag
        remaining: Array = left[~done]
        return remaining

    # ---- signs

    def _conditioning(self, q: Array, u: Array) -> Array:
        """The conditioning of the scaled J_r^-1 and those of the legs (N, 1 + margins)."""
        robot = self.mechanism.robot
        found = native(functions.inverse_jacobian, robot)(*self.poses(u))
        with np.errstate(invalid="ignore"):
            parallel = conditioning(scaled_inverse(robot, found["J"]))
            squares = found["gates"]
            if not self.mechanism.closed_form:
                squares = native(functions.distances, robot)(*self.poses(u))
            return np.concatenate([parallel[:, None], np.sqrt(squares)], axis=1)

    def reference_actuators(self) -> Array:
        """Coordinates of the actuators in the reference pose."""
        x, y = self.mechanism.reference
        return np.asarray(native(functions.actuator_positions, self.mechanism.robot)(x, y)["q"])

    def signs(self, x: Array, y: Array) -> tuple[Array, Array]:
        """Signs (N, 1 + branches) against the reference, and the conditioning of the scaled J_r^-1 (N,)."""
        robot = self.mechanism.robot
        J = scaled_inverse(robot, native(functions.inverse_jacobian, robot)(x, y)["J"])
        parallel = np.zeros(len(x))
        if J.shape[-1] == J.shape[-2] and len(x):
            x0, y0 = self.mechanism.reference
            at = scaled_inverse(robot, native(functions.inverse_jacobian, robot)(x0, y0)["J"])
            with np.errstate(invalid="ignore"):
                at_reference = np.sign(np.linalg.det(at))
                parallel = np.asarray(np.sign(np.linalg.det(np.nan_to_num(J))) * at_reference)
        legs = np.zeros((len(x), 0))
        if branch_of(robot).size and len(x):
            legs = np.sign(native(functions.branch_signs, robot)(x, y))
        return np.concatenate([parallel[:, None], legs], axis=1), conditioning(J)

    def _pose_flags(self, x: Array, y: Array) -> Array:
        """Flags of solutions: another branch by their signs, the nearness of a parallel singularity."""
        signs, figure = self.signs(x, y)
        with np.errstate(invalid="ignore"):
            other = np.any(signs < 0.0, axis=1)
            near = figure < NEAR
        return np.asarray(
            np.where(other, int(Flag.OTHER_BRANCH), 0) | np.where(near, int(Flag.NEAR_SINGULAR), 0)
        )

    def assemblies(self, q: Array, own: Array) -> list[Assemblies]:
        """All poses that seeded starts lead to, for samples (N, actuators) with their own poses (N, nx)."""
        names = ("parallel", *branch_of(self.mechanism.robot).names)
        starts = _starts(self.mechanism.robot)
        result = []
        for wanted, pose in zip(q, own, strict=True):
            if not np.all(np.isfinite(wanted)):
                result.append(Assemblies(np.zeros((0, own.shape[1])), np.zeros((0, len(names))), names))
                continue
            found = self.solver.solve(
                starts,
                wanted[None],
                tolerance=CLOSED,
                max_iterations=4 * _ITERATIONS,
                max_step=_SHORT * max(self.mechanism.robot.size, 1.0),
            )
            u = found.y[found.status == 0]
            x, y = self.poses(polished(self.equations, u, np.broadcast_to(wanted, (len(u), wanted.size))))
            angles = np.array(self.mechanism.layout.units) == "rad"
            x[:, angles] = _wrapped(x[:, angles])
            keep = _distinct(self.mechanism, x, y, pose)
            signs, _ = self.signs(x[keep], y[keep])
            result.append(Assemblies(x[keep], signs, names))
        return result


class _Whole(_Reduced):
    """The search on the platform's pose and all joints."""

    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism = mechanism
        robot = mechanism.robot
        self.solver = native_newton(newton_steps.assembling_step, robot)
        self.size = 3 if robot.platform_nv == 3 else 7
        units = [robot.size] * 3 + [1.0] * (self.size - 3)
        for joint in robot.tree_joints:
            for primitive in joint.primitives:
                is_length = not (primitive is Primitive.BALL or primitive.turns)
                units += [robot.size if is_length else 1.0] * primitive.nq
        self.equations = Equations(self.solver, self._conditioning, np.array(units))

    def start(self, x: Array) -> Array:
        """Unknowns at poses: all joints there."""
        found = inverse_kinematics(self.mechanism.robot, x, limits=False)
        platform = found.bodies
        return self._unknowns(platform.R[:, 1], platform.p[:, 1], found.q)

    def reference(self) -> Array:
        """Unknowns at the reference pose."""
        assembly = self.mechanism.assembly
        return self._unknowns(assembly.platform.R, assembly.platform.p, assembly.q)

    @property
    def quaternion(self) -> slice | None:
        """Place of the platform's quaternion among the unknowns."""
        return slice(3, 7) if self.size == 7 else None

    def _unknowns(self, R: Array, p: Array, q: Array) -> Array:
        parts = [p, q] if self.size == 3 else [p, quat_from_matrices(R), q]
        return np.concatenate(parts, axis=-1)

    def poses(self, u: Array) -> tuple[Array, Array]:
        """Reduced poses x, and what iteration finds there y, of unknowns."""
        mechanism = self.mechanism
        R = np.eye(3)
        if self.size == 7:
            R = rotation_matrices(u[:, 3:7] / np.linalg.norm(u[:, 3:7], axis=1, keepdims=True))
        x, dependent = mechanism.chart.coordinates(Pose(R, u[:, :3]))
        for name in mechanism.robot.motion.joint_names:
            place = self.size + mechanism.robot.q_slices[mechanism.robot.joint(name)].start
            x[:, mechanism.layout.x_index(name)] = u[:, place]
        return x, mechanism.unknowns(dependent, u[:, self.size :])


def _same_modes(mechanism: Mechanism, x: Array, q: Array) -> Array:
    """Whether legs in closed form are on the side of their singularities that the reference is on (N,)."""
    found = native(functions.actuator_positions, mechanism.robot)(x, np.zeros((len(x), 0)))
    off = found["q"] - _unwound(mechanism.robot, q, found["q"])
    with np.errstate(invalid="ignore"):
        # At its singularity a leg's coordinate is known to the root of rounding.
        return np.asarray(np.all(np.abs(off) <= _SAME * _actuator_units(mechanism.robot), axis=1))


def _between(first: Array, last: Array, t: Array) -> Array:
    """Coordinates of actuators at the parts t (M,) of the ways between two; the last ones exactly."""
    t = t[:, None]
    return np.ascontiguousarray(np.where(t == 1.0, last, (1.0 - t) * first + t * last))


def _turns(robot: Robot) -> Array:
    """Which actuators are revolute (actuators,)."""
    return np.array([robot.joints[actuator.joint].primitives[0].turns for actuator in robot.actuators])


def _unwound(robot: Robot, q: Array, start: Array) -> Array:
    """Coordinates of actuators, angles by whole turns within half a turn of those where a path begins.

    Inverse kinematics gives angles within half a turn of zero: without this a path across the seam would go
    the long way round.
    """
    whole = 2.0 * np.pi * np.round((q - start) / (2.0 * np.pi))
    return np.asarray(np.where(_turns(robot) & (whole != 0.0), q - whole, q))


def _unwound_path(robot: Robot, q: Array, start: Array) -> Array:
    """Coordinates of actuators (N, actuators) along a path, angles without jumps by whole turns."""
    steps = np.diff(q, axis=0, prepend=start[None])
    whole = 2.0 * np.pi * np.cumsum(np.round(steps / (2.0 * np.pi)), axis=0)
    return np.asarray(np.where(_turns(robot) & (whole != 0.0), q - whole, q))


def _actuator_units(robot: Robot) -> Array:
    """What the coordinates of actuators count in (actuators,): the robot's size for lengths, 1 for angles."""
    return np.where(_turns(robot), 1.0, robot.size)


def _distinct(mechanism: Mechanism, x: Array, y: Array, first: Array) -> Array:
    """Indices of poses that differ, that which is nearest to `first` in front."""
    place = mechanism.layout.quaternion
    units = pose_units(mechanism)
    angles = np.array(mechanism.layout.units) == "rad"
    keep: list[int] = []
    for k in range(len(x)):
        apart = np.abs(x[keep] - x[k])
        apart[:, angles] = np.abs(_wrapped(apart[:, angles]))
        if place is not None:
            other = np.abs(x[keep][:, place] + x[k, place])
            same = np.sum(other, axis=1) < np.sum(apart[:, place], axis=1)
            apart[same, place] = other[same]
        far = np.max(apart / units, axis=1) > _APART
        # The same pose with its legs or dependent coordinates on other branches is another assembly.
        bent = np.max(np.abs(np.sin(0.5 * (y[keep] - y[k]))), axis=1, initial=0.0) > _APART
        if np.all(far | bent):
            keep.append(k)
    if len(keep) > 1 and np.all(np.isfinite(first)):
        apart = x[keep] - first
        apart[:, angles] = _wrapped(apart[:, angles])
        nearest = int(np.argmin(np.max(np.abs(apart) / units, axis=1)))
        keep.insert(0, keep.pop(nearest))
    return np.array(keep, dtype=int)


def _wrapped(angles: Array) -> Array:
    """Angles within half a turn of zero."""
    return np.asarray((angles + np.pi) % (2.0 * np.pi) - np.pi)


@lru_cache(maxsize=16)
def _roadmap(robot: Robot) -> Roadmap:
    """Coordinates of actuators and solutions that are connected with the reference."""
    search = _search(mechanism_of(robot))
    q0 = search.reference_actuators()
    rng = np.random.default_rng(0)
    reach = np.where(_actuator_units(robot) == 1.0, _TURN, _FAR * robot.size)
    far = np.sqrt(rng.uniform(0.02, 1.0, (_GOALS, 1)))
    goals = q0 + far * rng.uniform(-1.0, 1.0, (_GOALS, q0.size)) * reach
    return roadmap(search.equations, (q0, search.reference()), goals, _between)


@lru_cache(maxsize=16)
def _starts(robot: Robot) -> Array:
    """Seeded starts of the search for all assemblies, all around, where legs in closed form reach."""
    mechanism = mechanism_of(robot)
    search = _search(mechanism)
    u0 = search.reference()
    rng = np.random.default_rng(0)
    wide = np.where(search.equations.units == 1.0, np.pi, 1.5 * robot.size)
    many = 32 * _STARTS if mechanism.closed_form else _STARTS
    starts = u0 + rng.uniform(-1.0, 1.0, (many, u0.size)) * wide
    place = search.quaternion
    if place is not None:
        turns = quat_exp(rng.uniform(-1.0, 1.0, (many, 3)) * np.pi)
        starts[:, place] = quat_multiply(turns, u0[place])
    starts[0] = u0
    if mechanism.closed_form:
        gates = native(functions.actuator_positions, robot)(starts, np.zeros((many, 0)))["gates"]
        with np.errstate(invalid="ignore"):
            starts = starts[np.all(gates > 0.0, axis=1)]
    return np.ascontiguousarray(starts[:_STARTS])
