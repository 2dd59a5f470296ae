"""The desired motion at the actuators, and forces of the model along it.

Legs without a closed form are followed from sample to sample: their passive coordinates y are stored. A
sample closes the loops at the new pose by Newton's steps from the y of the sample before: an error of the
order of the motion within a sample is squared by every step.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from nacelle.control.kind import DesiredMotion
from nacelle.dynamics import model_functions
from nacelle.dynamics.physics import WITHOUT_FRICTION, Physics
from nacelle.kinematics.kinematic_model import actuator_positions, inverse_jacobian
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.solve.newton_steps import loop_closing_step
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array, Scalar

# Rate over which friction that is compensated for changes its sign, rad/s or m/s.
FRICTION_SMOOTHING = 1e-3


def friction_along_twist(robot: Robot, x: Array, y: Array, v: Array, smooth: float) -> Array:
    """Force (n,) that friction of all joints requires along the twist at a twist v (n,), N or N m."""
    with_it = model_functions.bias(robot, x, y, v, outputs="h", physics=Physics(smooth=smooth))["h"]
    without = model_functions.bias(robot, x, y, v, outputs="h", physics=WITHOUT_FRICTION)["h"]
    return np.asarray(with_it - without)


# ---- the desired motion at the actuators


# Steps of Newton's iteration in a sample: motion within a sample moves joints by a few thousandths of a
# radian, so that two steps leave about 1e-10 and three less than rounding.
CLOSING_STEPS = 3


class LoopClosure(NamedTuple):
    """Passive coordinates at a pose (ny,), and what was open before its last step, over the robot's size."""

    y: Array
    error: Scalar


def close_loops(robot: Robot, y: Array, x: Array, steps: int = CLOSING_STEPS) -> LoopClosure:
    """Loops closed at a pose (nx,), from unknowns (ny,) at one nearby, by some of Newton's steps."""
    error: Scalar = 0.0
    for _ in range(steps if mechanism_of(robot).unknown_count else 0):
        step = loop_closing_step(robot, y, x)
        y, error = y + step["dy"], step["error"]
    return LoopClosure(y, error)


def solve_passive_coordinates(robot: Robot, y: Array, x: Array, steps: int = CLOSING_STEPS) -> Array:
    """Passive coordinates at a pose (ny,), from those at one nearby, by some of Newton's steps."""
    return close_loops(robot, y, x, steps).y


def desired_coordinates(robot: Robot, y: Array, motion: DesiredMotion) -> Array:
    """Coordinates q_a(x) of the actuators (actuators,), rad or m, at the desired pose with its unknowns y."""
    return np.asarray(actuator_positions(robot, motion.x, y)["q"])


def desired_rates(robot: Robot, y: Array, motion: DesiredMotion) -> Array:
    """Rates of the actuators (actuators,), rad/s or m/s, along the desired motion with its unknowns y."""
    return np.asarray(inverse_jacobian(robot, motion.x, y)["J"] @ motion.v)


def model_force(robot: Robot, y: Array, motion: DesiredMotion, **options: Any) -> Array:
    """Forces of the model along a motion (actuators,), N or N m: its inverse dynamics."""
    return np.asarray(
        model_functions.inverse(robot, motion.x, y, motion.v, motion.a, outputs="force", **options)["force"]
    )


def without_internal_forces(robot: Robot, y: Array, x: Array, force: Array) -> Array:
    """Forces without the part by which redundant drives work against one another (actuators,).

    Of a robot with more actuators than motions J^T f = 0 for some f: J (J^T J)^-1 J^T takes it out, J the
    actuators' Jacobian at the pose.
    """
    if len(robot.actuators) == robot.motion.n:
        return force
    from nacelle.spatial.solve import least_squares

    J = np.asarray(inverse_jacobian(robot, x, y)["J"])
    return np.asarray(J @ least_squares(J, force.reshape(-1, 1)).X[:, 0])
