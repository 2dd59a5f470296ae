"""Forward dynamics, mass matrix, bias, gravity and energies in the public API."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from nacelle.dynamics import smallest
from nacelle.dynamics.inverse import external_load, rates_of
from nacelle.dynamics.settings import Settings
from nacelle.errors import KinematicsError
from nacelle.kinematics.motion import evaluated
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array
from nacelle.spatial.solve import solve_batch

Coordinates = Literal["platform", "actuators"]


@dataclass(frozen=True, eq=False)
class ForwardDynamics:
    """Accelerations of the nacelle.

    Attributes:
        acceleration: derivative of the reduced twist (..., n).
        margins: how far every leg is from a serial singularity (..., legs), as in `inverse_kinematics`.
        flags: for every state what was found (`Flag`).
        x: poses (..., nx).
        y: what was found by iteration (..., ny).
    """

    acceleration: Array
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
    """Find the acceleration of the nacelle under actuator forces.

    Args:
        robot: the robot.
        x: reduced poses (..., nx).
        v: reduced twists (..., n); zero if None.
        tau: forces of the actuators (..., actuators), N or N m.
        external: wrenches on bodies, as in `inverse_dynamics`.
        friction: whether friction counts.
        smooth: rate over which Coulomb friction changes its sign smoothly.
        guess: solutions near by, for robots that need iteration, as in `inverse_dynamics`.

    Raises:
        KinematicsError, UnreachableError: as in `inverse_dynamics`.
    """
    v, _ = rates_of(robot, v, None)
    forces = np.asarray(tau, dtype=float)
    if forces.shape[-1:] != (len(robot.actuators),):
        names = ", ".join(actuator.name for actuator in robot.actuators)
        raise KinematicsError(
            f"{robot.name} has {len(robot.actuators)} actuators ({names}), so tau has the shape "
            f"(..., {len(robot.actuators)}), got {forces.shape}"
        )
    options = Settings(friction, smooth).options
    inputs: tuple[Array, ...] = (v, forces)
    load = None
    if external:
        load = partial(external_load, robot, external=external)
    else:
        inputs = (*inputs, np.zeros(robot.motion.n))
    state = evaluated(
        smallest.forward,
        robot,
        x,
        *inputs,
        load=load,
        guess=guess,
        options=options,
        pivoted=smallest.pivoted("forward", robot, options),
    )
    return ForwardDynamics(state.results["acceleration"], state.results["gates"], state.flags, *state[:2])


def mass_matrix(robot: Robot, x: Any, *, coordinates: Coordinates = "platform", guess: Any = None) -> Array:
    """Mass matrix (..., n, n) along the reduced twist, or seen from the actuators: J_r^T M J_r."""
    platform = _platform(coordinates)
    outputs = "M pivot gates" if platform else "M A pivot gates"
    options = {"outputs": outputs}
    by_tree = smallest.pivoted("inertia", robot)
    found = evaluated(smallest.inertia, robot, x, guess=guess, options=options, pivoted=by_tree).results
    if platform:
        return np.asarray(found["M"])
    J = _direct(robot, found["A"])
    return np.asarray(np.swapaxes(J, -1, -2) @ found["M"] @ J)


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
    """What a state asks for without acceleration: gravity, Coriolis forces, springs, friction.

    In platform coordinates (..., n) at dv/dt = 0, in those of the actuators (..., actuators) at q'' = 0.
    """
    v, _ = rates_of(robot, v, None)
    platform = _platform(coordinates)
    options = Settings(friction, smooth).options
    by_tree = smallest.pivoted("bias", robot, options)
    options = {**options, "outputs": "h pivot gates" if platform else "h M A drift pivot gates"}
    found = evaluated(smallest.bias, robot, x, v, guess=guess, options=options, pivoted=by_tree).results
    if platform:
        return np.asarray(found["h"])
    J = _direct(robot, found["A"])
    # At q'' = 0 the twist changes by dv/dt = -J_r d, d the actuators' drift.
    held = np.einsum("...ij,...jk,...k->...i", found["M"], J, found["drift"])
    return np.asarray(np.einsum("...ij,...i->...j", J, found["h"] - held))


def gravity_forces(
    robot: Robot, x: Any, *, coordinates: Coordinates = "platform", guess: Any = None
) -> Array:
    """What holds the robot at rest against gravity: along the reduced twist, or by the actuators."""
    platform = _platform(coordinates)
    options = {"outputs": "g pivot gates" if platform else "g A pivot gates"}
    by_tree = smallest.pivoted("gravity", robot)
    found = evaluated(smallest.gravity, robot, x, guess=guess, options=options, pivoted=by_tree).results
    if platform:
        return np.asarray(found["g"])
    return np.asarray(np.einsum("...ij,...i->...j", _direct(robot, found["A"]), found["g"]))


def kinetic_energy(robot: Robot, x: Any, v: Any, *, guess: Any = None) -> Array:
    """Kinetic energy (...), J."""
    return _energies(robot, x, v, guess)["kinetic"]


def potential_energy(robot: Robot, x: Any, *, guess: Any = None) -> Array:
    """Potential energy (...) of gravity (zero at the base's origin) and of springs, J."""
    return _energies(robot, x, None, guess)["potential"]


def dissipation(robot: Robot, x: Any, v: Any, *, smooth: float | None = None, guess: Any = None) -> Array:
    """Power (...) that friction in all joints takes from the motion, W."""
    return _energies(robot, x, v, guess, smooth)["dissipation"]


def _energies(robot: Robot, x: Any, v: Any, guess: Any, smooth: float | None = None) -> dict[str, Array]:
    v, _ = rates_of(robot, v, None)
    options = {key: value for key, value in Settings(True, smooth).options.items() if key == "smooth"}
    by_tree = smallest.pivoted("energies", robot, options)
    return evaluated(smallest.energies, robot, x, v, guess=guess, options=options, pivoted=by_tree).results


def _platform(coordinates: str) -> bool:
    if coordinates not in ("platform", "actuators"):
        raise KinematicsError(f"coordinates are 'platform' or 'actuators', not {coordinates!r}")
    return coordinates == "platform"


def _direct(robot: Robot, A: Array) -> Array:
    """J_r from its inverse."""
    if A.shape[-1] == A.shape[-2]:
        return solve_batch(A, np.broadcast_to(np.eye(A.shape[-1]), A.shape))
    return np.asarray(np.linalg.pinv(A))
