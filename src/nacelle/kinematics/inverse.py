"""Inverse kinematics: from the pose of the nacelle to all joints and all bodies."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from nacelle.emit.newton import Solver
from nacelle.errors import UnreachableError
from nacelle.kinematics import functions
from nacelle.kinematics.flags import Flag, failed
from nacelle.kinematics.limits import (
    actuator_outside,
    closure_coordinates,
    limited,
    outside,
    relative_pose,
)
from nacelle.kinematics.mechanism import Mechanism, mechanism
from nacelle.kinematics.native import native, native_newton
from nacelle.kinematics.pose_input import broadcast_guess, checked_poses
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array

# A leg within half a degree of its stretched or folded position is near a serial singularity.
NEAR_GATE = 1e-4
# What the loops may leave open where they were closed by iteration, over the robot's size.
CLOSED = 2e-14
_ITERATIONS = 30
# Poses between the reference and a pose that is asked for, on which the iteration rests.
_STAGES = (8, 48)


class BodyPoses(NamedTuple):
    """Where all bodies are: orientations R (..., bodies, 3, 3) and origins p (..., bodies, 3) in the base."""

    R: Array
    p: Array


@dataclass(frozen=True, eq=False)
class InverseKinematics:
    """All joints at given poses.

    Attributes:
        robot: the robot.
        x: the poses (..., nx).
        y: what was found by iteration (..., ny); empty for robots in closed form.
        q: coordinates of all tree joints (..., nq); NaN where a pose has none.
        actuators: coordinates of the actuators (..., actuators), rad or m.
        gates: for every leg how far it is from a serial singularity (..., legs): the square of a sine or
            of a ratio of lengths, 0 where two solutions meet, below 0 out of reach.
        flags: for every pose what was found (`Flag`).
    """

    robot: Robot
    x: Array
    y: Array
    q: Array
    actuators: Array
    gates: Array
    flags: Array

    @property
    def ok(self) -> Array:
        """Whether each pose has a solution within the limits."""
        return np.asarray(~failed(self.flags) & ((self.flags & int(Flag.OUT_OF_LIMITS)) == 0))

    @property
    def reachable(self) -> Array:
        """Whether each pose has a solution."""
        return np.asarray(~failed(self.flags))

    @cached_property
    def bodies(self) -> BodyPoses:
        """Poses of all bodies."""
        found = native(functions.body_poses, self.robot)(self.x, self.y)
        return BodyPoses(found["R"], found["p"])

    def joint(self, name: str) -> Array:
        """Coordinates (..., nq) of a joint by name, in the tree or a closure: rad, m, quat_xyzw."""
        j = self.robot.joint(name)
        if j < self.robot.tree:
            return np.asarray(self.q[..., self.robot.q_slices[j]])
        joint = self.robot.joints[j]
        return closure_coordinates(joint, *relative_pose(joint, *self.bodies))

    @property
    def joints(self) -> dict[str, Array]:
        """Coordinates of all joints, active and passive, by name."""
        return {joint.name: self.joint(joint.name) for joint in self.robot.joints}


def inverse_kinematics(
    robot: Robot, x: Any, *, guess: InverseKinematics | None = None, limits: bool = True
) -> InverseKinematics:
    """Find all joints at poses of the nacelle.

    Legs with a closed form are solved by it, on the branch of the reference pose; others by Newton's
    iteration from the reference pose, or from the solution `guess` at nearby poses.

    Args:
        robot: the robot.
        x: reduced poses (..., nx); see `nacelle.pose`.
        guess: solutions at one pose, or at as many poses, to start the iteration from.
        limits: whether to check the limits of joints and actuators.

    Raises:
        KinematicsError: if x has the wrong shape, or a single pose is not finite.
        UnreachableError: if a single pose is out of reach; in a batch it is flagged, and its numbers are NaN.
    """
    poses, valid = checked_poses(robot, x)
    known = mechanism(robot)
    flags = np.where(valid, 0, int(Flag.INVALID))
    y, closed = unknowns(known, poses, None if guess is None else guess.y)
    flags |= np.where(closed | ~valid, 0, int(Flag.UNREACHABLE))
    found = native(functions.joint_positions, robot)(poses, y)
    q, active, gates = found["q"], found["active"], found["gates"]
    finite = np.all(np.isfinite(q), axis=-1)
    with np.errstate(invalid="ignore"):
        reached = finite & np.all(gates >= 0.0, axis=-1)
        near = reached & np.any(gates < NEAR_GATE, axis=-1)
    flags |= np.where(reached | ~valid, 0, int(Flag.UNREACHABLE)) | np.where(near, int(Flag.NEAR_SINGULAR), 0)
    bad = failed(flags)
    q[bad], active[bad] = np.nan, np.nan
    result = InverseKinematics(robot, poses, y, q, active, gates, flags)
    if poses.ndim == 1 and bad:
        raise unreachable(robot, poses, gates, closed=bool(closed))
    if limits:
        flags |= np.where(_outside(result) & ~bad, int(Flag.OUT_OF_LIMITS), 0)
    return result


def unreachable(robot: Robot, x: Array, gates: Array, *, closed: bool) -> UnreachableError:
    """The error for a single pose, with the legs that do not reach."""
    with np.errstate(invalid="ignore"):
        legs = [leg.name for leg, gate in zip(robot.legs, gates, strict=True) if not gate >= 0.0]
    told = ", ".join(f"{value:.6g}" for value in x)
    if not closed:
        return UnreachableError(
            f"{robot.name}: the loops do not close at the pose [{told}] on the branch of the reference pose"
        )
    who = f"leg {legs[0]!r} does" if len(legs) == 1 else f"legs {', '.join(map(repr, legs))} do"
    return UnreachableError(f"{robot.name}: {who} not reach the pose [{told}]", legs)


def _outside(result: InverseKinematics) -> Array:
    robot = result.robot
    beyond = actuator_outside(robot, result.actuators)
    for j, joint in enumerate(robot.joints):
        if limited(joint) and joint.kind.value != "point":
            q = result.q[..., robot.q_slices[j]] if j < robot.tree else result.joint(joint.name)
            beyond |= outside(joint, q)
    return np.asarray(beyond)


def unknowns(known: Mechanism, x: Array, guess: Array | None = None) -> tuple[Array, Array]:
    """Find what needs iteration at poses (..., nx).

    From the reference the pose is approached in stages, so that the iteration stays on its branch.

    Returns:
        y (..., ny), and whether the loops were closed; trivial for robots in closed form.
    """
    batch = x.shape[:-1]
    if known.closed_form:
        return np.zeros((*batch, 0)), np.ones(batch, dtype=bool)
    rows = np.ascontiguousarray(x.reshape(-1, known.layout.nx))
    solver = native_newton(functions.closing_step, known.robot)
    x0, y0 = known.reference
    if guess is not None:
        start = broadcast_guess(guess, (*batch, known.ny)).reshape(-1, known.ny)
        found = solver.solve(start, rows, tolerance=CLOSED, max_iterations=_ITERATIONS)
        y, done = polished(solver, found.y, rows), np.asarray(found.status == 0)
        return y.reshape(*batch, known.ny), done.reshape(batch)
    y = np.full((len(rows), known.ny), np.nan)
    done = np.zeros(len(rows), dtype=bool)
    for stages in _STAGES:
        left = np.flatnonzero(~done & np.all(np.isfinite(rows), axis=1))
        now = np.broadcast_to(y0, (left.size, known.ny)).copy()
        good = np.ones(left.size, dtype=bool)
        for stage in range(1, stages + 1):
            if not left.size:
                break
            target = _between(known, x0, rows[left], stage / stages)
            found = solver.solve(now, target, tolerance=CLOSED, max_iterations=_ITERATIONS)
            good &= found.status == 0
            now = found.y
            left, now, good = left[good], now[good], good[good]
        y[left] = polished(solver, now, rows[left])
        done[left] = True
    return y.reshape(*batch, known.ny), done.reshape(batch)


def polished(solver: Solver, y: Array, p: Array) -> Array:
    """Take one step more: convergence is quadratic, so what is left open then is rounding."""
    return solver.solve(y, p, tolerance=0.0, max_iterations=1).y if len(y) else y


def _between(known: Mechanism, x0: Array, x: Array, part: float) -> Array:
    """Poses on the way from one pose to others; the last ones exactly."""
    if part == 1.0:
        return x
    mixed = (1.0 - part) * x0 + part * x
    place = known.layout.quaternion
    if place is not None:
        quat = x[:, place] * np.where(x[:, place] @ x0[place] < 0.0, -1.0, 1.0)[:, None]
        turned = (1.0 - part) * x0[place] + part * quat
        mixed[:, place] = turned / np.linalg.norm(turned, axis=1, keepdims=True)
    return np.asarray(mixed)
