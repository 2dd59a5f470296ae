"""Forward kinematics: from the actuators to the pose of the nacelle.

In closed form where spheres or circles meet (`nacelle.kinematics.sphere`); otherwise by Newton's iteration
with the exact Jacobian: on the pose alone where the inverse kinematics is in closed form, on pose and
joints together for the others. A forward problem has several solutions: the iteration finds the one that is
connected with its start.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nacelle.emit.newton import NewtonResult
from nacelle.errors import KinematicsError, UnreachableError
from nacelle.kinematics import functions, sphere
from nacelle.kinematics.flags import Flag
from nacelle.kinematics.inverse import (
    CLOSED,
    InverseKinematics,
    inverse_kinematics,
    polished,
)
from nacelle.kinematics.limits import actuator_outside
from nacelle.kinematics.mechanism import Mechanism, mechanism
from nacelle.kinematics.native import native, native_newton
from nacelle.kinematics.pose_input import broadcast_guess, checked_poses, quat_from_matrices
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation import rotation_quat
from nacelle.spatial.scalar import Array

_ITERATIONS = 30
# The longest step of the iteration, in robot sizes and radians together.
_LONGEST = 0.5
_STAGES = (8, 48)
_NEAR_GATE = 1e-4


@dataclass(frozen=True, eq=False)
class ForwardKinematics:
    """Poses at given coordinates of the actuators.

    Attributes:
        robot: the robot.
        q: coordinates of the actuators (..., actuators).
        x: reduced poses (..., nx); NaN where none was found.
        iterations: Newton's steps (...); 0 in closed form.
        flags: for every sample what was found (`Flag`).
    """

    robot: Robot
    q: Array
    x: Array
    iterations: Array
    flags: Array

    @property
    def ok(self) -> Array:
        """Whether each sample has a pose, with the actuators within their limits."""
        beyond = Flag.INVALID | Flag.UNREACHABLE | Flag.OUT_OF_LIMITS
        return np.asarray((self.flags & int(beyond)) == 0)

    def inverse(self) -> InverseKinematics:
        """All joints at the poses."""
        return inverse_kinematics(self.robot, self.x)


def forward_kinematics(robot: Robot, q: Any, guess: Any = None, *, follow: bool = False) -> ForwardKinematics:
    """Find the pose of the nacelle from the coordinates of the actuators.

    Args:
        robot: the robot.
        q: coordinates of the actuators (..., actuators), rad or m, in their order.
        guess: poses (..., nx) or one pose (nx,) to start from; the reference pose if None.
        follow: whether the samples, in order, are a path: each starts from the solution before it.

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
    known = mechanism(robot)
    batch = wanted.shape[:-1]
    rows = wanted.reshape(-1, count)
    valid = np.all(np.isfinite(rows), axis=1)
    if not batch and not valid[0]:
        bad = [a.name for a, value in zip(robot.actuators, rows[0], strict=True) if not np.isfinite(value)]
        raise KinematicsError(f"{robot.name}: {', '.join(bad)} not finite")
    flags = np.where(valid, 0, int(Flag.INVALID))
    x = np.full((len(rows), known.layout.nx), np.nan)
    iterations = np.zeros(len(rows), dtype=np.int64)
    if guess is None and sphere.applies(known):
        found = native(functions.sphere_forward, robot)(rows)
        with np.errstate(invalid="ignore"):
            met = valid & (found["gate"] >= 0.0)
            flags |= np.where(met & (found["gate"] < _NEAR_GATE), int(Flag.NEAR_SINGULAR), 0)
        x[met] = found["x"][met]
    else:
        starts = None if guess is None else checked_poses(robot, guess)[0]
        if starts is not None:
            starts = broadcast_guess(starts, (*batch, known.layout.nx)).reshape(-1, known.layout.nx)
        iteration = _Reduced(known) if known.closed_form else _Whole(known)
        x[valid], iterations[valid], met_valid = iteration.solve(
            rows[valid], None if starts is None else starts[valid], follow
        )
        met = np.zeros(len(rows), dtype=bool)
        met[valid] = met_valid
        x[~met] = np.nan
    flags |= np.where(met | ~valid, 0, int(Flag.UNREACHABLE))
    flags |= np.where(met & actuator_outside(robot, rows), int(Flag.OUT_OF_LIMITS), 0)
    if not batch and not met[0]:
        told = ", ".join(f"{value:.6g}" for value in rows[0])
        raise UnreachableError(
            f"{robot.name}: no pose was found for the actuators at [{told}]; give a guess nearer to it, or "
            "check the coordinates"
        )
    return ForwardKinematics(
        robot,
        wanted,
        x.reshape(*batch, known.layout.nx),
        iterations.reshape(batch),
        flags.reshape(batch),
    )


class _Reduced:
    """Newton's iteration on the pose alone."""

    def __init__(self, known: Mechanism) -> None:
        self.known = known
        self.solver = native_newton(functions.forward_step, known.robot)

    def start(self, x: Array) -> Array:
        """Unknowns at poses."""
        return x

    def poses(self, y: Array) -> Array:
        """Poses of unknowns."""
        place = self.known.layout.quaternion
        if place is not None and len(y):
            y[:, place] /= np.linalg.norm(y[:, place], axis=1, keepdims=True)
        return y

    def reference(self) -> Array:
        """Unknowns at the reference pose."""
        return self.known.reference[0]

    def solve(self, q: Array, starts: Array | None, follow: bool) -> tuple[Array, Array, Array]:
        """Poses, numbers of steps, and which samples were solved.

        From the reference the coordinates are approached in stages where the direct way fails.
        """
        robot = self.known.robot
        longest = _LONGEST * max(robot.size, 1.0)

        def iterate(start: Array, wanted: Array, follow: bool = False) -> NewtonResult:
            return self.solver.solve(
                start,
                wanted,
                tolerance=CLOSED,
                max_iterations=_ITERATIONS,
                max_step=longest,
                follow=follow,
            )

        first = self.reference()[None] if starts is None else self.start(starts)
        found = iterate(first[:1] if follow else first, q, follow)
        y, steps, good = found.y, found.iterations.copy(), found.status == 0
        q0 = inverse_kinematics(robot, self.known.reference[0], limits=False).actuators
        for stages in _STAGES if starts is None or follow else ():
            left = np.flatnonzero(~good)
            now = np.broadcast_to(self.reference(), (left.size, y.shape[1])).copy()
            for stage in range(1, stages + 1):
                if not left.size:
                    break
                part = stage / stages
                target = q[left] if stage == stages else (1.0 - part) * q0 + part * q[left]
                found = iterate(now, target)
                solved = found.status == 0
                steps[left] += found.iterations
                left, now = left[solved], found.y[solved]
            y[left], good[left] = now, True
        y[good] = polished(self.solver, y[good], q[good])
        return self.poses(y), steps, good


class _Whole(_Reduced):
    """Newton's iteration on the platform's pose and all joints."""

    def __init__(self, known: Mechanism) -> None:
        self.known = known
        self.solver = native_newton(functions.assembling_step, known.robot)

    def start(self, x: Array) -> Array:
        """Unknowns at poses: all joints there."""
        found = inverse_kinematics(self.known.robot, x, limits=False)
        platform = found.bodies
        return self._unknowns(platform.R[:, 1], platform.p[:, 1], found.q)

    def reference(self) -> Array:
        """Unknowns at the reference pose."""
        assembly = self.known.assembly
        return self._unknowns(assembly.platform.R, assembly.platform.p, assembly.q)

    def _unknowns(self, R: Array, p: Array, q: Array) -> Array:
        parts = [p, q] if self.known.robot.platform_nv == 3 else [p, quat_from_matrices(R), q]
        return np.concatenate(parts, axis=-1)

    def poses(self, y: Array) -> Array:
        """Poses of unknowns."""
        known = self.known
        size = 3 if known.robot.platform_nv == 3 else 7
        x = np.empty((len(y), known.layout.nx))
        for k, row in enumerate(y):
            R = np.eye(3) if size == 3 else rotation_quat(row[3:7] / np.linalg.norm(row[3:7]))
            x[k] = known.chart.coordinates(Pose(R, row[:3]))[0]
        for name in known.robot.motion.joint_names:
            place = size + known.robot.q_slices[known.robot.joint(name)].start
            x[:, known.layout.x_index(name)] = y[:, place]
        return x
