"""The models of a robot as physics functions: in the compact form, and by the tree where that supports none.

The same program for the API, for counts and for export, which differ only in the outputs and inputs that they
keep.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from nacelle.dynamics import reference as tree
from nacelle.dynamics.physics import ALL_TERMS, Physics
from nacelle.dynamics.reference import require_inertia
from nacelle.kinematics.kinematic_model import inverse_jacobian
from nacelle.kinematics.samples import input_samples
from nacelle.kinematics.shapes import of_actuators, of_pose, of_twist, of_unknowns
from nacelle.kinematics.underactuated import model_hint, require_driven
from nacelle.model.robot import Robot
from nacelle.spatial.physics import compact, physics, sampled
from nacelle.spatial.scalar import Array, pack, sqrt

# What nothing drives has no forces that the parameters make.
_OF_REGRESSOR = "the regressor of actuator forces needs"


def _kept(results: Mapping[str, Array], outputs: str) -> dict[str, Array]:
    """The outputs that are wanted; what has no fixed pivots has its margin for a figure, or the best."""
    margin = results.get("parallel_margin")
    whole = {"pivot": pack([1.0])[0] if margin is None else sqrt(margin), **results}
    return {name: whole[name] for name in outputs.split()}


def _load(robot: Robot, load: Array | None) -> Array:
    return np.zeros(robot.motion.n) if load is None else load


@sampled(input_samples)
@physics(x=of_pose, y=of_unknowns, v=of_twist, a=of_twist, load=of_twist)
def inverse(
    robot: Robot,
    x: Array,
    y: Array,
    v: Array,
    a: Array,
    load: Array | None = None,
    *,
    outputs: str = "force pivot margins",
    **options: Any,
) -> dict[str, Array]:
    """Actuator forces, smallest pivot and margins; `load` (n,) is a force along v from outside."""
    require_driven(robot.numeric, "the model inverse_dynamics needs", model_hint)
    return _kept(compact(tree.inverse)(robot, x, y, v, a, _load(robot, load), **options), outputs)


@sampled(input_samples)
@physics(x=of_pose, y=of_unknowns, v=of_twist, a=of_twist)
def regressor(
    robot: Robot,
    x: Array,
    y: Array,
    v: Array,
    a: Array,
    *,
    outputs: str = "Y pivot margins",
    **options: Any,
) -> dict[str, Array]:
    """Y (actuators, parameters) with force = Y p, p the robot's `linear_parameters`; pivot and margins."""
    require_driven(robot.numeric, _OF_REGRESSOR, model_hint)
    return _kept(compact(tree.regressor)(robot, x, y, v, a, **options), outputs)


@sampled(input_samples)
@physics(x=of_pose, y=of_unknowns, v=of_twist, v_ref=of_twist, a_ref=of_twist)
def reference_regressor(
    robot: Robot,
    x: Array,
    y: Array,
    v: Array,
    v_ref: Array,
    a_ref: Array,
    *,
    outputs: str = "Y pivot margins",
    **options: Any,
) -> dict[str, Array]:
    """Y (actuators, parameters) with J_r^-T Y p = M a_ref + C(x, v) v_ref + g and friction at v."""
    require_driven(robot.numeric, _OF_REGRESSOR, model_hint)
    return _kept(compact(tree.reference_regressor)(robot, x, y, v, v_ref, a_ref, **options), outputs)


@sampled(input_samples)
@physics(x=of_pose, y=of_unknowns, v=of_twist, tau=of_actuators, load=of_twist)
def forward(
    robot: Robot,
    x: Array,
    y: Array,
    v: Array,
    tau: Array,
    load: Array | None = None,
    *,
    outputs: str = "acceleration pivot margins",
    **options: Any,
) -> dict[str, Array]:
    """The derivative of the reduced twist at actuator forces tau: M dv/dt = A^T tau + load - h."""
    require_inertia(robot)
    return _kept(compact(tree.forward)(robot, x, y, v, tau, _load(robot, load), **options), outputs)


@sampled(input_samples)
@physics(x=of_pose, y=of_unknowns)
def inertia(robot: Robot, x: Array, y: Array, *, outputs: str = "M A pivot margins") -> dict[str, Array]:
    """Mass matrix (n, n) along the reduced twist, J_r^-1 (actuators, n) and margins."""
    return _kept(compact(tree.inertia)(robot, x, y), outputs)


@sampled(input_samples)
@physics(x=of_pose, y=of_unknowns)
def jacobian(robot: Robot, x: Array, y: Array, *, outputs: str = "J pivot margins") -> dict[str, Array]:
    """J_r^-1 (actuators, n), the rates of the actuators from the reduced twist, and margins."""
    return _kept(inverse_jacobian(robot, x, y), outputs)


@sampled(input_samples)
@physics(x=of_pose, y=of_unknowns, v=of_twist)
def bias(
    robot: Robot, x: Array, y: Array, v: Array, *, outputs: str = "h pivot margins", **options: Any
) -> dict[str, Array]:
    """Force along the reduced twist at dv/dt = 0; with "M", "A" and the actuators' "actuator_bias"."""
    return _kept(compact(tree.bias)(robot, x, y, v, **options), outputs)


@sampled(input_samples)
@physics(x=of_pose, y=of_unknowns)
def gravity(robot: Robot, x: Array, y: Array, *, outputs: str = "g A pivot margins") -> dict[str, Array]:
    """Force g (n,) along the reduced twist that holds the robot against gravity, N or N m, and J_r^-1."""
    return _kept(compact(tree.gravity)(robot, x, y), outputs)


@sampled(input_samples)
@physics(x=of_pose, y=of_unknowns, v=of_twist)
def energies(
    robot: Robot,
    x: Array,
    y: Array,
    v: Array,
    *,
    outputs: str = "kinetic potential dissipation pivot margins",
    physics: Physics = ALL_TERMS,
) -> dict[str, Array]:
    """Kinetic and potential energy (J), and the power that friction takes (W)."""
    return _kept(compact(tree.energies)(robot, x, y, v, physics=physics), outputs)
