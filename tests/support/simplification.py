"""What a simplification of a robot does to its actuator forces, by the tree over a batch of samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nacelle.dynamics.actuators import least_norm_forces
from nacelle.dynamics.physics import Physics
from nacelle.dynamics.state import state_at
from nacelle.dynamics.tree_form import generalised_force
from nacelle.errors import KinematicsError, ParameterError
from nacelle.kinematics.flags import failed
from nacelle.kinematics.motion import solved
from nacelle.kinematics.pose_input import checked_rates
from nacelle.model.robot import Robot
from nacelle.spatial.batch import from_samples, to_samples
from nacelle.spatial.scalar import Array
from nacelle.tree.actuation import actuator_rows


@dataclass(frozen=True, eq=False)
class Deviation:
    """What a simplification does to the actuator forces.

    Attributes:
        force: of the full robot (..., actuators), N or N m.
        difference: of the simpler robot less that.
        maximum: largest difference over the largest force; of forces and torques the worse.
        rms: the same of root mean squares.
    """

    force: Array
    difference: Array
    maximum: float
    rms: float


def simplification_error(
    robot: Robot, simple: Robot, x: Any, v: Any, a: Any, physics: Physics | None = None
) -> Deviation:
    """Compare the actuator forces of a simpler robot with those of the full one along a motion.

    Args:
        robot: the full robot.
        simple: the simpler one; it has the same motion and as many actuators.
        x: reduced poses (..., nx).
        v: reduced twists (..., n).
        a: their derivatives (..., n).
        physics: what counts; friction too if None.

    Raises:
        ParameterError: if the robots do not have the same motion and the same kinds of actuators.
        KinematicsError: if a state cannot be reached.
    """
    kinds = [_turning(one) for one in (robot, simple)]
    if kinds[0] != kinds[1] or robot.motion.coordinates != simple.motion.coordinates:
        raise ParameterError(f"{simple.name} and {robot.name} differ in their motion or their actuators")
    physics = Physics() if physics is None else physics
    force, other = (actuator_forces(one, x, v, a, physics) for one in (robot, simple))
    difference = other - force
    # Newtons and newton metres do not add up.
    groups = [np.flatnonzero([turns is wanted for turns in kinds[0]]) for wanted in (True, False)]
    pairs = [(difference[..., group], force[..., group]) for group in groups if group.size]
    largest = max(_ratio(np.max(np.abs(d)), np.max(np.abs(f))) for d, f in pairs)
    rms = max(_ratio(np.sqrt(np.mean(d * d)), np.sqrt(np.mean(f * f))) for d, f in pairs)
    return Deviation(force, difference, largest, rms)


def _turning(robot: Robot) -> list[bool]:
    return robot.revolute_actuators


def _ratio(difference: float, force: float) -> float:
    return float(difference / force) if force else float(difference)


def actuator_forces(robot: Robot, x: Any, v: Any, a: Any, physics: Physics) -> Array:
    """Actuator forces (..., actuators) along a motion, by the tree formulation over the batch of samples."""
    v, a = checked_rates(robot, "the twist v", v), checked_rates(robot, "the acceleration a", a)
    poses, y, flags = solved(robot, x, v, a)
    batch = flags.shape
    if np.any(failed(flags)):
        raise KinematicsError(f"{robot.name}: {np.count_nonzero(failed(flags))} states cannot be reached")
    rows = [np.broadcast_to(part, (*batch, part.shape[-1])) for part in (poses, y, v, a)]
    x, y, v, a = (from_samples(part, 1) for part in rows)
    state = state_at(robot, x, y, v)
    A = actuator_rows(robot, state.now.motion) @ state.moving.U
    force = to_samples(least_norm_forces(A, generalised_force(state, a, physics)).force)
    if not np.all(np.isfinite(force)):
        raise KinematicsError(f"{robot.name}: some states cannot be reached, or are singular")
    return np.broadcast_to(force, (*batch, len(robot.actuators)))
