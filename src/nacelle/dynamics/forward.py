"""Forward dynamics, mass matrix, bias, gravity and energies at the public API.

What a motion requires along the reduced twist v (n,) is affine in dv/dt, F = M dv/dt + h, so

    M dv/dt + h = J_r^-T tau + L                              [KI2007] (28), with J_r^-T for its J_r^T

M (n, n) mass matrix ([KI2007] (29)), h (n,) bias: gravity, Coriolis and centrifugal forces, springs,
friction; tau (actuators,) forces of the actuators, L (n,) external wrenches along v; all in base axes. It is
solved for dv/dt. From the actuators, v = J_r q' and dv/dt = J_r (q'' - d), d their acceleration where
dv/dt = 0 (bias acceleration), and equal power multiplies forces by J_r^T:

    tau = (J_r^T M J_r) q'' + J_r^T (h - M J_r d) - J_r^T L

The first bracket is the mass matrix seen from the actuators, the second term the bias at q'' = 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from nacelle.dynamics import evaluation
from nacelle.dynamics.evaluation import external_load
from nacelle.dynamics.external import check_forces
from nacelle.dynamics.physics import ALL_TERMS, Physics
from nacelle.dynamics.reference import singular_mass_error
from nacelle.errors import KinematicsError, SingularError
from nacelle.kinematics.flags import Flagged
from nacelle.kinematics.jacobian import direct_jacobian
from nacelle.kinematics.pose_input import check_twist_and_derivative
from nacelle.kinematics.underactuated import require_driven
from nacelle.model.robot import Robot
from nacelle.results import Plottable
from nacelle.spatial.scalar import Array

Coordinates = Literal["platform", "actuators"]


@dataclass(frozen=True, eq=False, repr=False)
class ForwardDynamics(Flagged, Plottable):
    """Accelerations of the platform.

    Attributes:
        robot: the robot.
        a: derivative of the reduced twist (..., n), m/s^2 and rad/s^2, base axes.
        margins: how far every leg is from a serial singularity (..., legs), as in `inverse_kinematics`.
        flags: for every state what was found (`Flag`).
        x: poses (..., nx).
        y: passive coordinates, solved numerically (..., ny).
    """

    robot: Robot
    a: Array
    margins: Array
    flags: Array
    x: Array
    y: Array


def forward_dynamics(
    robot: Robot,
    x: Any,
    v: Any,
    tau: Any,
    *,
    external: Mapping[str, Any] | None = None,
    friction: bool = True,
    smooth: float | None = None,
    guess: Any = None,
) -> ForwardDynamics:
    """Find the acceleration of the platform under actuator forces: dv/dt = M^-1 (J_r^-T tau + L - h).

    M(x) a = J_a^T tau - h(x, v) + sum J_b^T w_b.

    Args:
        robot: the robot.
        x: reduced poses (..., nx), m and quat_xyzw or rad, in the base frame.
        v: reduced twists (..., n), m/s and rad/s, base axes; zero if None.
        tau: forces of the actuators (..., actuators), N or N m.
        external: wrenches [f; n] (..., 6), N and N m in base axes, by name of the body or tool.
        friction: whether friction counts.
        smooth: rate (rad/s, m/s) over which Coulomb friction changes its sign smoothly.
        guess: solutions near by, for robots that need iteration, as in `inverse_dynamics`.

    Returns:
        Acceleration a (..., n), m/s^2 and rad/s^2 in base axes, with margins and flags.

    Raises:
        KinematicsError, UnreachableError: as in `inverse_dynamics`.
        SingularError: if the mass matrix is singular at every pose, or a single pose is singular, also by its
            mass matrix; in a batch it is flagged, with NaN.
    """
    v, _ = check_twist_and_derivative(robot, v, None)
    forces = check_forces(robot, () if tau is None else tau)
    inputs: tuple[Array, ...] = (v, forces) if external else (v, forces, np.zeros(robot.motion.n))
    load = partial(external_load, robot, external=external) if external else None
    physics = Physics(friction, smooth)
    try:
        state = evaluation.evaluate_at_poses(
            "forward", robot, x, *inputs, load=load, guess=guess, physics=physics
        )
    except SingularError as error:
        if error.kind == "mass":
            raise
        # Where there is a mass matrix it is what is singular.
        raise singular_mass_error(robot, x, mass_matrix(robot, x, guess=guess)) from None
    return ForwardDynamics(
        robot, state.results["acceleration"], state.results["margins"], state.flags, *state[:2]
    )


def mass_matrix(robot: Robot, x: Any, *, coordinates: Coordinates = "platform", guess: Any = None) -> Array:
    """Mass matrix M (..., n, n) along the reduced twist, T = v^T M v / 2; of the actuators J_r^T M J_r.

    M = sum over bodies of J_b^T I_b J_b, and rotors behind their gears ([KI2007] (29)).

    Args:
        robot: the robot.
        x: reduced poses (..., nx), m and quat_xyzw or rad, base axes; see `nacelle.pose`.
        coordinates: "platform", along the reduced twist, or "actuators", along their rates.
        guess: solutions near by, for robots that need iteration, as in `inverse_kinematics`.

    Returns:
        The matrix (..., n, n) in base axes: kg between translations, kg m between a translation and a
            rotation, kg m^2 between rotations.

    Raises:
        KinematicsError: if shapes are wrong or a single state is not finite.
        UnreachableError, SingularError: for a single pose; in a batch its numbers are NaN.
    """
    platform = _is_along_platform(coordinates)
    outputs = "M pivot margins" if platform else "M A pivot margins"
    results = evaluation.evaluate_at_poses("inertia", robot, x, guess=guess, outputs=outputs).results
    if platform:
        return np.asarray(results["M"])
    J = _direct_jacobian(robot, results["A"])
    return np.asarray(np.swapaxes(J, -1, -2) @ results["M"] @ J)


def bias_forces(
    robot: Robot,
    x: Any,
    v: Any,
    *,
    coordinates: Coordinates = "platform",
    friction: bool = True,
    smooth: float | None = None,
    guess: Any = None,
) -> Array:
    """What a state requires without acceleration: gravity, Coriolis forces, springs, friction; N or N m.

    M dv/dt + h = J_r^-T Gamma: h (..., n) at dv/dt = 0. Of the actuators J_r^T (h - M J_r d) (..., actuators)
    at q'' = 0, d the actuators' bias acceleration.

    Args:
        robot: the robot.
        x: reduced poses (..., nx), m and quat_xyzw or rad, base axes; see `nacelle.pose`.
        v: reduced twists (..., n), m/s and rad/s, base axes.
        coordinates: "platform", along the reduced twist, or "actuators", along their rates.
        friction: whether friction counts.
        smooth: rate (rad/s, m/s) over which Coulomb friction changes its sign smoothly; at once if None.
        guess: solutions near by, for robots that need iteration, as in `inverse_kinematics`.

    Returns:
        Force h (..., n) along the reduced twist, or (..., actuators): N along translations, N m about
        rotations.

    Raises:
        KinematicsError: if shapes are wrong or a single state is not finite.
        UnreachableError, SingularError: for a single pose; in a batch its numbers are NaN.
    """
    v, _ = check_twist_and_derivative(robot, v, None)
    platform = _is_along_platform(coordinates)
    physics = Physics(friction, smooth)
    outputs = "h pivot margins" if platform else "h M A actuator_bias pivot margins"
    results = evaluation.evaluate_at_poses(
        "bias", robot, x, v, guess=guess, outputs=outputs, physics=physics
    ).results
    if platform:
        return np.asarray(results["h"])
    J = _direct_jacobian(robot, results["A"])
    held = np.einsum("...ij,...jk,...k->...i", results["M"], J, results["actuator_bias"])
    return np.asarray(np.einsum("...ij,...i->...j", J, results["h"] - held))


def gravity_forces(
    robot: Robot, x: Any, *, coordinates: Coordinates = "platform", guess: Any = None
) -> Array:
    """What holds the robot at rest against gravity, N or N m: g (..., n) along the reduced twist, or J_r^T g.

    g = dU/dx, U the potential energy of all masses; springs do not count. Of the actuators (..., actuators).

    Args:
        robot: the robot.
        x: reduced poses (..., nx), m and quat_xyzw or rad, base axes; see `nacelle.pose`.
        coordinates: "platform", along the reduced twist, or "actuators", along their rates.
        guess: solutions near by, for robots that need iteration, as in `inverse_kinematics`.

    Returns:
        Force g (..., n) along the reduced twist, or (..., actuators): N along translations, N m about
        rotations.

    Raises:
        KinematicsError: if shapes are wrong or a single state is not finite.
        UnreachableError, SingularError: for a single pose; in a batch its numbers are NaN.
    """
    platform = _is_along_platform(coordinates)
    outputs = "g pivot margins" if platform else "g A pivot margins"
    results = evaluation.evaluate_at_poses("gravity", robot, x, guess=guess, outputs=outputs).results
    if platform:
        return np.asarray(results["g"])
    return np.asarray(np.einsum("...ij,...i->...j", _direct_jacobian(robot, results["A"]), results["g"]))


def kinetic_energy(robot: Robot, x: Any, v: Any, *, guess: Any = None) -> Array:
    """Kinetic energy T = v^T M v / 2 (...), J, of bodies and rotors.

    Args:
        robot: the robot.
        x: reduced poses (..., nx), m and quat_xyzw or rad, base axes; see `nacelle.pose`.
        v: reduced twists (..., n), m/s and rad/s, base axes.
        guess: solutions near by, for robots that need iteration, as in `inverse_kinematics`.

    Returns:
        Energy (...) in J.

    Raises:
        KinematicsError: if shapes are wrong or a single state is not finite.
        UnreachableError, SingularError: for a single pose; in a batch its numbers are NaN.
    """
    return _energies(robot, x, v, guess)["kinetic"]


def potential_energy(robot: Robot, x: Any, *, guess: Any = None) -> Array:
    """Potential energy (...), J: of gravity, zero at the base's origin, and of springs, k (q - rest)^2 / 2.

    Args:
        robot: the robot.
        x: reduced poses (..., nx), m and quat_xyzw or rad, base axes; see `nacelle.pose`.
        guess: solutions near by, for robots that need iteration, as in `inverse_kinematics`.

    Returns:
        Energy (...) in J, zero with all masses at the origin of the base frame and all springs at rest.

    Raises:
        KinematicsError: if shapes are wrong or a single state is not finite.
        UnreachableError, SingularError: for a single pose; in a batch its numbers are NaN.
    """
    return _energies(robot, x, None, guess)["potential"]


def dissipation(robot: Robot, x: Any, v: Any, *, smooth: float | None = None, guess: Any = None) -> Array:
    """Power (...), W, that friction in all joints, active and passive, takes from the motion: sum of f q'.

    Args:
        robot: the robot.
        x: reduced poses (..., nx), m and quat_xyzw or rad, base axes; see `nacelle.pose`.
        v: reduced twists (..., n), m/s and rad/s, base axes.
        smooth: rate (rad/s, m/s) over which Coulomb friction changes its sign smoothly; at once if None.
        guess: solutions near by, for robots that need iteration, as in `inverse_kinematics`.

    Returns:
        Power (...) in W that friction takes.

    Raises:
        KinematicsError: if shapes are wrong or a single state is not finite.
        UnreachableError, SingularError: for a single pose; in a batch its numbers are NaN.
    """
    return _energies(robot, x, v, guess, Physics(smooth=smooth))["dissipation"]


def _energies(robot: Robot, x: Any, v: Any, guess: Any, physics: Physics = ALL_TERMS) -> dict[str, Array]:
    v, _ = check_twist_and_derivative(robot, v, None)
    return evaluation.evaluate_at_poses("energies", robot, x, v, guess=guess, physics=physics).results


def _is_along_platform(coordinates: str) -> bool:
    if coordinates not in ("platform", "actuators"):
        raise KinematicsError(f"coordinates are 'platform' or 'actuators', not {coordinates!r}")
    return coordinates == "platform"


def _direct_jacobian(robot: Robot, A: Array) -> Array:
    """J_r from its inverse."""
    require_driven(robot, "coordinates='actuators' need")
    return direct_jacobian(A, pseudo=A.shape[-1] != A.shape[-2])
