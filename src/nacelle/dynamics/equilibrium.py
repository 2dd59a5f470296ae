"""Equilibrium: the actuator forces that hold a pose, and the pose that given forces hold.

At rest (v = dv/dt = 0, no friction) the equations of motion along the reduced twist leave the residual

    R(x) = g(x) - J_r^-T tau - L(x) = 0          (n,), N along translations, N m along rotations

g what gravity and springs require, tau (actuators,) the actuator forces, L external wrenches along the twist.
For a given pose this is linear in tau: tau = J_r^T (g - L). For given tau it is solved for x by Newton's
iteration along the tangent of the pose e (n,), the small motion whose rate is the reduced twist:

    (dR/de) e = -R,      x <- x moved by e         dR/de (n, n) exact, from the traced program

with e in base axes: translations, a rotation vector applied in front of the quaternion, joints of the
platform. dR/de is the stiffness that gravity, springs and constant forces give the robot; where it is
singular the forces do not determine a pose.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nacelle.dynamics.derivatives.derivatives import OperatingPoint, differentiate
from nacelle.dynamics.external import check_forces, check_wrenches, load_names
from nacelle.dynamics.inverse import free_coordinate_indices, inverse_dynamics
from nacelle.dynamics.jacobian import jacobian
from nacelle.dynamics.physics import WITHOUT_FRICTION
from nacelle.errors import KinematicsError, UnderactuatedError, UnreachableError
from nacelle.kinematics.flags import has_failed
from nacelle.kinematics.motion import apply_flags, integrate_pose, solve_loops
from nacelle.kinematics.pose_input import reference_pose
from nacelle.kinematics.shapes import twist_scales
from nacelle.kinematics.underactuated import undriven_coordinates
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array

# A step goes no further than this part of the robot's size, or this angle (rad).
_LONGEST = 0.1
_ITERATIONS = 60
# Where a step is this short (over the robot's size, rad) the pose is found.
_CONVERGED_STEP = 1e-13
# Below this inverse condition number the forces do not determine the pose.
_SINGULAR_STIFFNESS = 1e-12
# Of gravity, or of 1/s^2 without it, an acceleration that is nothing (all over the robot's size, or rad/s^2).
_AT_REST = 1e-8


def equilibrium(robot: Robot, x: Any, *, external: Mapping[str, Any] | None = None) -> Array:
    """Actuator forces (..., actuators), N or N m, that hold the robot at rest: tau = J_r^T (g - L).

    J_a^T tau = g(x) - sum J_b^T w_b.

    g (..., n) is what gravity and springs require along the reduced twist, L external wrenches along it.
    Friction does not count: at rest it may take any value up to its limit. Redundant actuators share the load
    with the least sum of squares. Where nothing drives some motions, the pose must be one in which nothing
    is needed along them (`equilibrium_pose` with `free`).

    Args:
        robot: the robot.
        x: reduced poses (..., nx), m and quat_xyzw or rad, in the base frame.
        external: wrenches [f; n] (..., 6), N and N m in base axes, by name of the body or tool.

    Returns:
        Actuator forces (..., actuators), N or N m.

    Raises:
        KinematicsError, UnreachableError, SingularError: as in `inverse_dynamics`.
        UnderactuatedError: if a pose accelerates along motions that nothing drives.
    """
    names = undriven_coordinates(robot)
    if not names:
        return inverse_dynamics(robot, x, external=external, friction=False).tau
    held = inverse_dynamics(robot, x, external=external, friction=False, free=names)
    assert held.a is not None
    # Accelerations that are rounding of gravity alone: of a pose that Newton's iteration has found.
    rate = np.abs(held.a[~has_failed(held.flags)]) / twist_scales(robot)
    if np.any(rate > _AT_REST * (float(np.linalg.norm(robot.gravity)) / robot.size or 1.0)):
        raise UnderactuatedError(
            f"{robot.name} is not at rest: nothing drives {', '.join(names)}, which accelerate by up to "
            f"{float(np.max(np.abs(held.a[~has_failed(held.flags)]))):.2g} m/s^2 or rad/s^2; "
            "equilibrium_pose(robot, free=...) finds a pose",
            names,
        )
    return held.tau


def equilibrium_pose(
    robot: Robot,
    tau: Any = None,
    *,
    free: Sequence[str] | str = (),
    guess: Any = None,
    external: Mapping[str, Any] | None = None,
) -> Array:
    """Pose (nx,) at which constant actuator forces balance gravity and springs; stable or not.

    Newton's iteration on R(x) = g(x) - J_r^-T tau - L(x) with the exact derivative along the tangent of the
    pose; steps are shortened until what is out of balance becomes less. With `free` coordinates the others
    stay as they are, the actuators hold whatever they must, and the free ones move until nothing is left
    along what the actuators do not drive: R(x) in the range of J_r^-T, N^T R = 0 with J_r^-1 N = 0.

    Args:
        robot: the robot.
        tau: forces of the actuators (actuators,), N or N m; zero if None.
        free: coordinates that are found, as many as motions that nothing drives; all of them, at the forces
            tau, if none is named.
        guess: a pose (nx,) to start from; the reference pose if None.
        external: wrenches (6,) on bodies, as in `inverse_dynamics`; constant in base axes, whatever the pose.

    Raises:
        KinematicsError: if shapes are wrong, numbers are not finite, the forces do not determine a pose, or
            none is found.
        UnreachableError: if the guess is out of reach.
    """
    forces = check_forces(robot, tau)
    if forces.ndim != 1:
        raise KinematicsError(f"an equilibrium is found for one set of forces, got {forces.shape}")
    if not np.all(np.isfinite(forces)):
        raise KinematicsError(f"the forces tau are not finite: {forces.tolist()}")
    if len(free) and tau is not None:
        raise KinematicsError("with free coordinates the actuators' forces are found: leave out tau or free")
    for index, wrench in check_wrenches(robot, external).items():
        if wrench.ndim != 1:
            raise KinematicsError(
                f"an equilibrium is found for one set of wrenches (6,), that on {load_names(robot)[index]} "
                f"has the shape {wrench.shape}"
            )
    indices = free_coordinate_indices(robot, free) if len(free) else tuple(range(robot.motion.n))
    x = reference_pose(robot) if guess is None else np.asarray(guess, dtype=float)
    if x.ndim != 1:
        raise KinematicsError(f"the guess is one pose, got {x.shape}")
    balance = _ForceBalance(robot, forces, external, indices if len(free) else None)
    R, slope, x = balance.at(x)
    units = twist_scales(robot)[list(indices)]
    for _ in range(_ITERATIONS):
        # Translations in the robot's size, so that all entries are energies.
        scaled = slope * units
        if not np.linalg.cond(scaled) < 1.0 / _SINGULAR_STIFFNESS:
            raise KinematicsError(
                f"the forces do not determine a pose of {robot.name}: their balance does not change along "
                "some motion, as without gravity and springs"
            )
        step = np.linalg.solve(scaled, -R)
        size = float(np.max(np.abs(step)))
        if size <= _CONVERGED_STEP:
            return x
        part = min(1.0, _LONGEST / size)
        merit = float(np.linalg.norm(R))
        moving = np.zeros(robot.motion.n)
        for _ in range(30):
            moving[list(indices)] = units * step * part
            try:
                trial = balance.at(integrate_pose(robot, x, moving))
            except (UnreachableError, KinematicsError):
                trial = None
            if trial is not None and np.linalg.norm(trial[0]) < merit:
                break
            part *= 0.5
        else:
            # What is left is rounding, or there is no way down.
            if size <= 1e-8:
                return x
            break
        R, slope, x = trial
    raise KinematicsError(f"no pose of {robot.name} was found at which these forces balance")


@dataclass(frozen=True)
class _ForceBalance:
    """What is out of balance at a pose.

    Attributes:
        robot: the robot.
        tau: forces of the actuators (actuators,).
        external: wrenches on bodies.
        free: places of coordinates that are found while the actuators hold the others; None: all of them.
    """

    robot: Robot
    tau: Array
    external: Mapping[str, Any] | None
    free: tuple[int, ...] | None

    def at(self, x: Array) -> tuple[Array, Array, Array]:
        """What is out of balance (k,), J; its derivative along the k unknowns; the pose, normalised.

        With free coordinates it is N^T R, N the motions that leave the actuators at rest, whose forces are
        taken off R first: so the change of N does not count where R is zero, and the derivative is exact.
        """
        units = twist_scales(self.robot)
        if self.free is None:
            R, slope, x = _residual(self.robot, x, self.tau, self.external)
            return units * R, units[:, None] * slope, x
        A = jacobian(self.robot, x).inverse * units
        N = np.linalg.svd(A)[2][len(units) - len(self.free) :] if len(A) else np.eye(len(units))
        R, _, x = _residual(self.robot, x, self.tau, self.external)
        held = np.linalg.lstsq(A.T, units * R, rcond=1e-12)[0] if len(A) else self.tau
        R, slope, x = _residual(self.robot, x, self.tau + held, self.external)
        return N @ (units * R), N @ (units[:, None] * slope[:, list(self.free)]), x


def _residual(
    robot: Robot, x: Array, tau: Array, external: Mapping[str, Any] | None
) -> tuple[Array, Array, Array]:
    """R (n,), its derivative along the tangent (n, n), and the pose with its quaternion normalised."""
    poses, y, flags = solve_loops(robot, x)
    zero = np.zeros(robot.motion.n)
    point = OperatingPoint(poses, y, zero, zero, tau)
    results = differentiate(robot, point, external=external, physics=WITHOUT_FRICTION)
    results = apply_flags(robot, poses, {name: results[name] for name in ("R", "pose", "margins")}, flags)
    return results["R"], results["pose"], poses
