"""States of a robot around its reference, as the inputs of its models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from nacelle.dynamics.inverse import inverse_dynamics
from nacelle.dynamics.jacobian import sample_poses
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.motion import joint_motion
from nacelle.kinematics.shapes import twist_scales
from nacelle.kinematics.solve.unknowns import solve_unknowns
from nacelle.kinematics.underactuated import undriven_coordinates
from nacelle.model.robot import Robot
from nacelle.papers.elements.state import elements_at
from nacelle.spatial.scalar import Array

STATES = 12
# Largest rates: the robot's size, or 1 rad, per second; and their derivatives.
_RATE, _ACCELERATION = 1.0, 5.0


@dataclass(frozen=True, eq=False)
class SampleStates:
    """States of a robot, a row each: pose x, unknowns y, twist v, its derivative a, forces tau."""

    robot: Robot
    x: Array
    y: Array
    v: Array
    a: Array
    options: Mapping[str, Any]

    @cached_property
    def tau(self) -> Array:
        """Forces of the actuators that the motion needs; what nothing drives moves as it will."""
        free = undriven_coordinates(self.robot)
        return inverse_dynamics(self.robot, self.x, self.v, self.a, free=free, **self.options).tau

    @cached_property
    def actuators(self) -> Array:
        """Coordinates of the actuators."""
        return joint_motion(self.robot, self.x, self.v, self.a).actuators[0]

    @cached_property
    def actuator_rates(self) -> Array:
        """Rates of the actuators."""
        return joint_motion(self.robot, self.x, self.v, self.a).actuators[1]


def random_states(robot: Robot, count: int = STATES, *, seed: int = 0, **options: Any) -> SampleStates:
    """Seeded states around the reference pose, far from singularities.

    Args:
        robot: the robot.
        count: how many.
        seed: of the random numbers.
        **options: `friction` and `smooth` of the forces.
    """
    rng = np.random.default_rng([seed, 7])
    x = sample_poses(robot, count, seed=seed)
    units = twist_scales(robot)
    v = rng.uniform(-_RATE, _RATE, (count, robot.motion.n)) * units
    a = rng.uniform(-_ACCELERATION, _ACCELERATION, (count, robot.motion.n)) * units
    y, _ = solve_unknowns(mechanism_of(robot), x)
    return SampleStates(robot, x, y, v, a, options)


def model_inputs(states: SampleStates, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Array]:
    """The inputs of a model at some states, by name, a row each."""
    values = {
        "x": states.x,
        "y": states.y,
        "v": states.v,
        "a": states.a,
        # A reference that differs from the motion: that of the state before.
        "v_ref": np.roll(states.v, 1, axis=0),
        "a_ref": np.roll(states.a, 1, axis=0),
    }
    values |= {"tau": states.tau} if "tau" in shapes else {}
    if not set(shapes) <= set(values):
        values |= _encoder_inputs(states) if "q_ddot" in shapes else _element_inputs(states)
    return {name: np.asarray(values[name]).reshape(len(states.x), -1) for name in shapes}


def _encoder_inputs(states: SampleStates) -> dict[str, Array]:
    q, q_dot, q_ddot = joint_motion(states.robot, states.x, states.v, states.a).actuators
    return {"q": q, "q_dot": q_dot, "q_ddot": q_ddot}


def _element_inputs(states: SampleStates) -> dict[str, Array]:
    """The variables of the kinematic elements with two derivatives."""
    return elements_at(states.robot, states.x, states.y, states.v, states.a)
