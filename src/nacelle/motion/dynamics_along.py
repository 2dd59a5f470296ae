"""The dynamics along a path: coefficients of forces, reactions and accelerations in u = s'' and s'.

At a place s, v = w s' and a = w u + w' s'^2, so every force is affine in u, and of the speed p = s' it has

    f = A u + Q p^2 + V p + C + (what other friction makes of p)

with s' > 0: Coulomb friction is in C, viscous friction in V, centrifugal forces and those of the bend in Q.
Four evaluations of the compiled models at all places at once give the four columns: at p (1 - d), p and
p (1 + d) without u, and at p with one. They are exact where friction has no other terms; with others they are
exact at p, with their slope, and are made again about the speeds that were found.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from nacelle.dynamics.evaluation import evaluate_states
from nacelle.dynamics.friction import DRY_FRICTION
from nacelle.dynamics.physics import Physics
from nacelle.dynamics.reactions import joint_reactions
from nacelle.errors import KinematicsError, SingularError, UnreachableError
from nacelle.kinematics.flags import Flag, has_failed
from nacelle.kinematics.kinematic_model import inverse_jacobian
from nacelle.kinematics.motion import body_motion, solve_loops, twist_from_rates
from nacelle.kinematics.native import compile_native
from nacelle.kinematics.pose_input import reference_pose
from nacelle.kinematics.solve.inverse import InverseKinematics, inverse_kinematics
from nacelle.kinematics.tools import find_tool
from nacelle.kinematics.underactuated import free_coordinates_hint, require_driven
from nacelle.model.robot import Robot
from nacelle.motion.interior_point import PointLimits
from nacelle.motion.limits import (
    LimitName,
    LimitRows,
    Limits,
    add_drive_limits,
    add_norm,
    add_platform_limits,
    add_tool_limits,
)
from nacelle.spatial.scalar import Array
from nacelle.trajectory.along_path import Path
from nacelle.trajectory.sampling import counting_start

# Part of the speed by which the other evaluations differ from it, at first and near a solution.
WIDE, NARROW = 0.5, 0.02
# Half the parts of an interval between which joints may turn back, and the speed at which that is seen, as
# a part of the path in a second.
_DIVISIONS, _CREEP = 24, 1e-6
# The least jump of a force that is looked for, as a part of the largest force.
_JUMP = 1e-6


def has_dry_friction(robot: Robot) -> bool:
    """Whether friction in a joint changes at once where the joint turns back."""
    return bool(_bases(robot) & set(DRY_FRICTION))


def is_quadratic(robot: Robot) -> bool:
    """Whether all friction of a robot is a quadratic polynomial of the speed while no joint turns back."""
    return _bases(robot) <= {"viscous", "coulomb", "quadratic", "constant"}


def _bases(robot: Robot) -> set[str]:
    return {term.basis for joint in robot.joints for axis in joint.friction for term in axis}


class _Along(NamedTuple):
    """The robot as it counts turns, derivatives c1 and c2 of the path, w, poses and states at places of it.

    `columns` gives the coefficients of a function of speeds and accelerations, `tau` are those of the forces.
    """

    robot: Robot
    c1: Array
    c2: Array
    w: Array
    poses: Array
    y: Array
    columns: Callable[[Callable[[Array, Array, bool], Array]], Array]
    tau: Array


class PathDynamics:
    """A robot on a path: poses solved once, coefficients of all that is limited."""

    def __init__(self, robot: Robot, path: Path, limits: Limits, *, friction: bool = True) -> None:
        """Check the robot.

        Raises:
            KinematicsError: if the path has another motion than the robot, or a limit a name that it lacks.
            UnderactuatedError: if nothing drives some motions.
        """
        require_driven(robot, "a time-optimal motion needs", free_coordinates_hint)
        if path.motion.coordinates != robot.motion.coordinates:
            raise KinematicsError(
                f"the path is for the motion {path.motion.name}, {robot.name} has {robot.motion.name}"
            )
        limits.check(robot)
        self.robot, self.path, self.limits = robot, path, limits
        self.physics, self.friction = Physics(friction, None), friction
        self.is_quadratic = not friction or is_quadratic(robot)
        self.internal = len(robot.actuators) - robot.motion.n
        # Whether coefficients hold for all speeds, and do not depend on places before.
        self.is_reusable = self.is_quadratic

    @cached_property
    def _reference(self) -> InverseKinematics:
        return inverse_kinematics(self.robot, reference_pose(self.robot), limits=False)

    def limits_at(
        self,
        s: Array,
        p: Array,
        interval: Array,
        theta: Array,
        *,
        moving: Array,
        spread: float = WIDE,
    ) -> tuple[PointLimits, LimitRows]:
        """The limits at places that rise.

        Args:
            s: parameters (P,).
            p: speeds s' there (P,), above zero, about which friction is taken.
            interval: in which they are (P,).
            theta: part of the interval before them (P,).
            moving: 1, or 0 where the motion is taken at rest (P,).
            spread: part of p by which the other evaluations differ.

        Raises:
            UnreachableError, SingularError: if the path leaves the workspace, or is singular.
        """
        along = self._along(s, np.where(moving > 0.0, p, 0.0), spread)
        robot = along.robot
        poses, y, columns, tau = along.poses, along.y, along.columns, along.tau
        J = compile_native(inverse_jacobian, robot)(poses, y)["J"]
        self._require_regular(s, tau, J)
        null = np.zeros((0, len(s), len(robot.actuators)))
        if self.internal > 0:
            null = np.linalg.svd(J, full_matrices=True)[0][:, :, robot.motion.n :].transpose(2, 0, 1)
        rows = LimitRows(len(s), self.internal)
        rate = np.einsum("pij,pj->pi", J, along.w)
        add_drive_limits(rows, robot, self.limits.drives, tau, rate, null)
        add_platform_limits(rows, robot, self.limits.platform, along.c1, along.c2)
        if self.limits.reactions:

            def reactions(v: Array, a: Array, friction: bool) -> Array:
                result = joint_reactions(robot, poses, v, a, friction=friction, guess=y)
                return result.wrench[..., :3]

            wrench = columns(reactions)
            for name, limit in self.limits.reactions.items():
                add_norm(rows, LimitName("reaction", name), wrench[:, :, robot.joint(name)], float(limit))
        if self.limits.tool.any:
            self._add_tool(rows, poses, columns)
        if self.limits.platform.jerk is not None:
            # Those of a jerk have two rows.
            rows.add_unlimited(2)
        blocks = rows.arrays()
        if not all(np.all(np.isfinite(part)) for part in blocks):
            raise KinematicsError(f"{self.robot.name}: forces along the path are not finite")
        mix, owner = np.stack([np.ones_like(s), np.zeros_like(s)]), np.full(len(s), -1)
        return PointLimits(interval, theta, moving, *blocks, mix, owner), rows

    def drive_forces(self, s: Array, p: Array, spread: float) -> Array:
        """Coefficients (4, P, actuators) of the drives' forces at places s that rise, about speeds p (P,)."""
        return self._along(s, p, spread).tau

    def _along(self, s: Array, p: Array, spread: float) -> _Along:
        """Poses and forces of the drives at places that rise."""
        x, c1, c2 = self.path(s)
        w, dw = twist_from_rates(self.robot, x, c1, c2)
        robot, guess = counting_start(self.robot, x)
        self.is_reusable &= guess is None
        poses, y, flags = solve_loops(robot, x, guess=guess)
        self._require_reachable(s, poses, flags)
        length = self.path.length
        push = np.maximum(p, np.max(p, initial=1e-3 * length)) ** 2 / length
        factors = (1.0 - spread, 1.0, 1.0 + spread)

        def columns(values: Callable[[Array, Array, bool], Array]) -> Array:
            """Coefficients (4, P, ...) of what is affine in u and quadratic in p."""
            speeds = np.stack([*(factor * p for factor in factors), p])
            pushes = np.stack([0.0 * p, 0.0 * p, 0.0 * p, push])
            v = w * speeds[..., None]
            a = w * pushes[..., None] + dw * (speeds**2)[..., None]
            low, here, high, pushed = values(v, a, self.friction)
            shape = (-1,) + (1,) * (here.ndim - 1)
            slow = np.where(p > 0.0, p, 1.0).reshape(shape)
            A = (pushed - here) / push.reshape(shape)
            Q = (low - 2.0 * here + high) / (2.0 * spread**2)
            if not self.is_quadratic:
                # The curve of other friction is no guide beyond its neighbourhood: its tangent is taken.
                low_r, here_r, high_r = values(v[:3], a[:3], False)
                Q = (low_r - 2.0 * here_r + high_r) / (2.0 * spread**2)
            V = (high - low) / (2.0 * spread) - 2.0 * Q
            return np.stack([A, Q / slow**2, V / slow, here - Q - V])

        def forces(v: Array, a: Array, friction: bool) -> Array:
            load = np.zeros(robot.motion.n)
            states = (poses, y, v, a, load)
            every = np.broadcast_to(flags, v.shape[:-1])
            physics = Physics(friction, None)
            return np.asarray(evaluate_states("inverse", robot, states, every, physics=physics)["force"])

        return _Along(robot, c1, c2, w, poses, y, columns, columns(forces))

    def jerk_terms(self, s: Array, low: Array, high: Array) -> Array:
        """What jerks of the platform's coordinates are made of, over their limits (3, coordinates, P).

        da/dt = s' (w ds''/ds + 3 w' s'' + w'' s'^2): w, 3 w' and w'' at parameters s (P,) of intervals from
        low to high, w'' by differences within them.
        """
        h = 1e-5 * (high - low)
        center = np.clip(s, low + 2.0 * h, high - 2.0 * h)
        _, w, dw = self.path(s)
        ddw = (self.path(center + h).a - self.path(center - h).a) / (2.0 * h)[:, None]
        limits = self.limits.platform.jerks(self.robot)
        return np.stack([w, 3.0 * dw, ddw]).transpose(0, 2, 1) / limits[:, None]

    def _add_tool(self, rows: LimitRows, poses: Array, columns: Callable[[Any], Array]) -> None:
        """Limits of what the tool carries."""
        robot, tool = self.robot, self.limits.tool
        body, arm = 1, np.zeros(3)
        if tool.tool:
            frame = find_tool(robot, tool.tool)
            body, arm = frame.body, frame.frame.p
        R = inverse_kinematics(robot, poses, limits=False).bodies.R[:, body]
        r = R @ arm

        def acceleration(v: Array, a: Array, _friction: bool) -> Array:
            motion = body_motion(robot, poses, v, a)
            twist, change = motion.twist[..., body, :], motion.acceleration[..., body, :]
            spin, spin_rate = twist[..., 3:], change[..., 3:]
            return np.asarray(change[..., :3] + np.cross(spin_rate, r) + np.cross(spin, np.cross(spin, r)))

        coefficients = columns(acceleration)
        if tool.acceleration is not None:
            add_norm(
                rows, LimitName("tool acceleration", tool.tool or "platform"), coefficients, tool.acceleration
            )
        gravity = np.asarray(robot.gravity, dtype=float)
        size = float(np.linalg.norm(gravity))
        if (tool.spill is not None or tool.grip is not None) and not size:
            raise KinematicsError(f"{robot.name} has no gravity: nothing says which way is up")
        if size:
            upright = self._reference.bodies.R[body].T @ (-gravity / size)
            force = coefficients.copy()
            force[3] -= gravity
            add_tool_limits(rows, tool, force, R @ upright)

    def _require_reachable(self, s: Array, poses: Array, flags: Array) -> None:
        bad = has_failed(flags)
        if np.any(bad):
            self._raise_at(s, poses, int(np.argmax(bad)))

    def _raise_at(self, s: Array, poses: Array, k: int) -> None:
        """Say why a pose of the path has no solution."""
        where = (
            f"at {s[k]:.6g} of {self.path.length:.6g} along the path, x = {np.round(poses[k], 6).tolist()}"
        )
        try:
            inverse_kinematics(self.robot, poses[k])
        except SingularError as fault:
            raise SingularError(f"the path is singular {where}: {fault}", fault.kind) from fault
        except KinematicsError as fault:
            raise UnreachableError(f"the path leaves the workspace {where}: {fault}") from fault
        raise UnreachableError(f"the path leaves the workspace {where}")

    def _require_regular(self, s: Array, tau: Array, J: Array) -> None:
        """Refuse a path across a parallel singularity, with the place of the crossing."""
        order = np.argsort(s, kind="stable")
        finite = np.all(np.isfinite(tau), axis=(0, 2))[order]
        until = len(s) if np.all(finite) else int(np.argmin(finite))
        if J.shape[1] == J.shape[2]:
            sign = np.sign(np.linalg.det(J[order[:until]]))
            crossing = np.flatnonzero((sign[1:] != sign[:-1]) | (sign[1:] == 0.0))
            if len(crossing):
                low, high = self._bisect_crossing(*s[order[crossing[0] : crossing[0] + 2]])
                raise SingularError(
                    f"the path crosses a parallel singularity of {self.robot.name} between {low:.9g} and "
                    f"{high:.9g} of {self.path.length:.6g} along the path: no actuator forces hold the "
                    "platform there",
                    "parallel",
                )
        if until < len(s):
            self._raise_at(s, self.path(s)[0], int(order[until]))

    def _bisect_crossing(self, low: float, high: float) -> tuple[float, float]:
        """A short interval in which the determinant of the Jacobian changes its sign."""

        def sign(s: float) -> float:
            x = self.path(np.array([s]))[0]
            poses, y, _ = solve_loops(self.robot, x)
            return float(
                np.sign(np.linalg.det(compile_native(inverse_jacobian, self.robot)(poses, y)["J"][0]))
            )

        first = sign(low)
        for _ in range(40):
            middle = 0.5 * (low + high)
            if high - low <= 1e-9 * self.path.length:
                break
            low, high = (middle, high) if sign(middle) == first else (low, middle)
        return low, high

    def friction_reversals(self, s: Array) -> Array:
        """Parameters at which a joint turns back, so that dry friction jumps: between neighbours of s (P,).

        Forces at hardly any speed are compared over short steps: where they jump, the step is bisected.
        """
        if not (self.friction and has_dry_friction(self.robot)):
            return np.zeros(0)
        samples = np.unique(np.linspace(s[:-1], s[1:], 2 * _DIVISIONS + 1).ravel())

        def creep_forces(at: Array) -> Array:
            x, c1, c2 = self.path(at)
            w, _ = twist_from_rates(self.robot, x, c1, c2)
            robot, guess = counting_start(self.robot, x)
            poses, y, flags = solve_loops(robot, x, guess=guess)
            self._require_reachable(at, poses, flags)
            still = np.zeros((1, robot.motion.n))
            states = (poses, y, _CREEP * self.path.length * w, still, still)
            return np.asarray(evaluate_states("inverse", robot, states, flags, physics=self.physics)["force"])

        values = creep_forces(samples)
        scale = np.max(np.abs(values), initial=1e-300)
        # What steps have beyond the mean of their neighbours: third order where nothing jumps.
        change = np.pad(np.diff(values, axis=0), ((1, 1), (0, 0)), "edge")
        excess = np.max(np.abs(change[1:-1] - 0.5 * (change[:-2] + change[2:])), axis=1)
        around = np.maximum(np.append(excess[1:], 0.0), np.append(0.0, excess[:-1]))
        k = np.flatnonzero((excess > _JUMP * scale) & (excess > 0.4 * around))
        low, high, first, last = samples[k], samples[k + 1], values[k], values[k + 1]
        for _ in range(45):
            if not len(k):
                break
            middle = 0.5 * (low + high)
            here = creep_forces(middle)
            left = np.max(np.abs(here - first), axis=1) < np.max(np.abs(here - last), axis=1)
            low, first = np.where(left, middle, low), np.where(left[:, None], here, first)
            high, last = np.where(left, high, middle), np.where(left[:, None], last, here)
        real = np.max(np.abs(last - first), axis=1, initial=0.0) > 0.1 * _JUMP * scale
        return np.asarray(0.5 * (low + high)[real])

    def require_within_positions(self, s: Array) -> None:
        """Refuse a path on which a joint is beyond its limits.

        Raises:
            UnreachableError: at the first such place.
        """
        x = self.path(s)[0]
        flags = inverse_kinematics(self.robot, x).flags
        beyond = (flags & int(Flag.OUT_OF_LIMITS)) != 0
        if np.any(beyond):
            k = int(np.argmax(beyond))
            raise UnreachableError(
                f"a joint of {self.robot.name} is beyond its limits at {s[k]:.6g} of {self.path.length:.6g} "
                f"along the path, x = {np.round(x[k], 6).tolist()}"
            )
