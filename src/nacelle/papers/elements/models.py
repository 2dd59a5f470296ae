"""The compact form from the state of the kinematic elements ([OAM] (66)): another stage of motion.

    pose       place -> eliminate -> motion      -> required forces -> platform's balance
    elements   lines, joints, platform as measured -> required forces -> platform's balance

The lines of rods and struts, the driven joints and the platform come with their derivatives from directions
and lengths (`papers.elements.placement`), without trigonometry, forward kinematics or iteration, and
nothing is solved for them; forces and the balance are those of `models` and `regressor`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nacelle.compact.configured import ALL_JOINTS, FormOptions, configure_robot, has_square_balance
from nacelle.compact.inertial import condensed_numbers, ends_with_inertia
from nacelle.compact.legs import Legs, PrescribedMotion, eliminate_legs, prescribed_mechanism_motion
from nacelle.compact.models import actuator_forces, form_options
from nacelle.compact.motion import MechanismMotion
from nacelle.compact.plan import plan_of
from nacelle.compact.regressor import linear_form, virtual_power
from nacelle.dynamics.models import Model, describe_variables
from nacelle.dynamics.physics import ALL_TERMS, Physics
from nacelle.errors import KinematicsError
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.samples import input_samples
from nacelle.model.linear_parameters import Columns, Signs, column_count, with_linear_forms
from nacelle.model.robot import Robot
from nacelle.papers.elements.from_inputs import (
    element_samples,
    element_shapes,
    elements_from_encoders,
    reason_without_encoders,
)
from nacelle.papers.elements.placement import ElementMotion, element_layout, reason_without_elements
from nacelle.spatial.physics import draw_inputs_with
from nacelle.spatial.scalar import Array


def _measured_motion(
    robot: Robot,
    arrays: Sequence[Array],
    options: FormOptions = ALL_JOINTS,
    *,
    heavy: bool,
    friction: bool = True,
) -> tuple[Legs, MechanismMotion]:
    """The robot as its elements are measured, its legs eliminated; `heavy` where inertia will be counted."""
    now = ElementMotion(robot, dict(zip(element_shapes(robot), arrays, strict=True)))
    plan = plan_of(robot, options)
    legs = eliminate_legs(
        plan,
        configure_robot(plan.parts, now.configuration, pole=heavy and has_square_balance(plan), sensed=now),
    )
    prescribed = PrescribedMotion(*now.joint_rates, *now.platform_rates, dict(now.frames))
    ends = ends_with_inertia(legs.configured, condensed_numbers(legs.configured)) if heavy else frozenset()
    return legs, prescribed_mechanism_motion(legs, prescribed, ends, friction=friction)


@draw_inputs_with(element_samples)
def inverse_from_elements(
    robot: Robot, *arrays: Array, outputs: str = "force pivot", physics: Physics = ALL_TERMS
) -> dict[str, Array]:
    """Actuator forces (actuators,), N or N m, and the smallest pivot, from the kinematic elements.

    Args:
        robot: the robot.
        arrays: the variables in the order of `element_shapes`, each with its two derivatives.
        outputs: which of the results are wanted.
        physics: what the equations of motion include.
    """
    options = form_options(robot, physics, None, asymmetric=False)
    legs, moving = _measured_motion(robot, arrays, options, heavy=True, friction=physics.friction)
    results = actuator_forces(legs, moving, physics, np.zeros(robot.motion.n))
    return {name: results[name] for name in outputs.split()}


@draw_inputs_with(element_samples)
def regressor_from_elements(
    robot: Robot,
    *arrays: Array,
    columns: Columns = None,
    signs: Signs = None,
    outputs: str = "Y pivot",
    physics: Physics = ALL_TERMS,
) -> dict[str, Array]:
    """Y (actuators, columns) with force = Y p, and the smallest pivot, from the kinematic elements."""
    legs, moving = _measured_motion(with_linear_forms(robot, columns, signs), arrays, heavy=False)
    power = virtual_power(legs, moving, [(1.0, moving)], physics)
    results = linear_form(legs, power, column_count(robot, columns))
    return {name: results[name] for name in outputs.split()}


@draw_inputs_with(input_samples)
def inverse_from_encoders(
    robot: Robot, q: Array, q_dot: Array, q_ddot: Array, **options: Any
) -> dict[str, Array]:
    """Actuator forces (actuators,), N or N m, and the smallest pivot, from the actuators' coordinates.

    Args:
        robot: the robot.
        q: coordinates of the actuators, rad or m.
        q_dot: their rates.
        q_ddot: their accelerations.
        options: as in `inverse_from_elements`.
    """
    return inverse_from_elements(robot, *elements_from_encoders(robot, q, q_dot, q_ddot).values(), **options)


# ---- named models from what is measured


_KINDS = {
    "direction": "direction of the element, base axes,",
    "length": "length of the element, m,",
    "coordinate": "coordinate of the driven joint; m, rad,",
    "point": "origin of the body, base axes, m,",
}


def model_from_elements(robot: Robot, name: str, options: dict[str, Any]) -> Model:
    """A named model of the variables of an element state.

    Raises:
        KinematicsError: if the robot's legs are not made of elements.
    """
    mechanism = mechanism_of(robot)
    _raise_unsupported(robot, "elements", reason_without_elements(mechanism))
    function = inverse_from_elements if name == "inverse_dynamics" else regressor_from_elements
    inputs = element_shapes(robot)
    variables = {
        variable.name: f"{_KINDS[variable.kind]} with its first and second derivatives"
        for variable in element_layout(mechanism).variables
    }
    meaning = describe_variables(robot) | variables
    includes = "legs, platform and the solve for the actuators' forces"
    return Model(name, robot, "compact", function, inputs, options, meaning, includes)


def model_from_encoders(robot: Robot, name: str, options: dict[str, Any]) -> Model:
    """The named model of coordinates, rates and accelerations of the actuators.

    Raises:
        KinematicsError: if the robot's legs are not made of elements, or its pose does not follow linearly.
    """
    mechanism = mechanism_of(robot)
    _raise_unsupported(
        robot, "encoders", reason_without_elements(mechanism) or reason_without_encoders(mechanism)
    )
    inputs = dict.fromkeys(("q", "q_dot", "q_ddot"), (len(robot.actuators),))
    includes = "forward kinematics, legs, platform and the solve for the actuators' forces"
    return Model(
        name, robot, "compact", inverse_from_encoders, inputs, options, describe_variables(robot), includes
    )


def _raise_unsupported(robot: Robot, source: str, reason: str) -> None:
    if reason:
        raise KinematicsError(f"no model of {robot.name} from {source}: {reason}")
