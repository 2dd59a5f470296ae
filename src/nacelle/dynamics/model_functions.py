"""The models of a robot as physics functions: in the compact form, and by the tree where that supports none.

The same program for the API, for counts and for export, which differ only in the outputs and inputs that they
keep. Each takes the inputs of its function in `reference`: the reduced pose x (nx,), passive coordinates y
(ny,), the reduced twist v (n,), and others; `load` (n,), a force along v from outside, may be left out.

    inverse              "force" (actuators,), N or N m, that the motion x, v, a requires
    forward              "acceleration" (n,) at actuator forces tau: M dv/dt = A^T tau + load - h
    inertia              "M" (n, n) along v, and "A" = J_r^-1 (actuators, n)
    bias                 "h" (n,), the force along v at dv/dt = 0; "M", "A", and their "actuator_bias"
    gravity              "g" (n,), the force along v that holds the robot against gravity; and "A"
    jacobian             "J" = J_r^-1 (actuators, n)
    energies             "kinetic" and "potential", J, and the "dissipation" of friction, W
    regressor            "Y" (actuators, parameters): force = Y p, p the robot's `linear_parameters`
    reference_regressor  "Y" with J_r^-T Y p = M a_ref + C(x, v) v_ref + g, and friction at v

Further outputs of all are "pivot", the smallest pivot of the program, and the "margins" of the legs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from nacelle.dynamics import reference as tree
from nacelle.dynamics.reference import require_inertia
from nacelle.kinematics.kinematic_model import inverse_jacobian
from nacelle.kinematics.samples import input_samples
from nacelle.kinematics.underactuated import model_hint, require_driven
from nacelle.model.robot import Robot
from nacelle.spatial.physics import compact_form, draw_inputs_with, physics
from nacelle.spatial.scalar import Array, pack, sqrt


def _select_outputs(results: Mapping[str, Array], outputs: str) -> dict[str, Array]:
    """The outputs that are wanted; what has no fixed pivots has its margin for a figure, or the best."""
    margin = results.get("parallel_margin")
    whole = {"pivot": pack([1.0])[0] if margin is None else sqrt(margin), **results}
    return {name: whole[name] for name in outputs.split()}


def _make_model(
    name: str,
    function: Callable[..., dict[str, Array]],
    usual: str,
    require: Callable[[Robot], None] | None = None,
) -> Callable[..., dict[str, Array]]:
    """A model of this module.

    Args:
        name: of the model.
        function: gives its results.
        usual: the outputs that are kept if none are named.
        require: raises an error for robots that have no such model.
    """
    inputs = vars(function)["physics_inputs"]

    def model(robot: Robot, *arrays: Array, outputs: str = usual, **options: Any) -> dict[str, Array]:
        if require is not None:
            require(robot)
        if "load" in inputs and len(arrays) < len(inputs):
            load = options.pop("load", None)
            arrays = (*arrays, np.zeros(robot.motion.n) if load is None else load)
        return _select_outputs(function(robot, *arrays, **options), outputs)

    # By these the cache knows it.
    model.__module__, model.__name__, model.__qualname__ = __name__, name, name
    model.__doc__ = function.__doc__
    return draw_inputs_with(input_samples)(physics(**inputs)(model))


def _require_driven(what: str) -> Callable[[Robot], None]:
    """Demand an actuator for every motion: what nothing drives has no forces of actuators."""
    return lambda robot: require_driven(robot.numeric, what, model_hint)


_of_forces = _require_driven("the model inverse_dynamics needs")
_of_regressor = _require_driven("the regressor of actuator forces needs")

inverse = _make_model("inverse", compact_form(tree.inverse), "force pivot margins", _of_forces)
forward = _make_model("forward", compact_form(tree.forward), "acceleration pivot margins", require_inertia)
inertia = _make_model("inertia", compact_form(tree.inertia), "M A pivot margins")
bias = _make_model("bias", compact_form(tree.bias), "h pivot margins")
gravity = _make_model("gravity", compact_form(tree.gravity), "g A pivot margins")
jacobian = _make_model("jacobian", inverse_jacobian, "J pivot margins")
energies = _make_model("energies", compact_form(tree.energies), "kinetic potential dissipation pivot margins")
regressor = _make_model("regressor", compact_form(tree.regressor), "Y pivot margins", _of_regressor)
reference_regressor = _make_model(
    "reference_regressor", compact_form(tree.reference_regressor), "Y pivot margins", _of_regressor
)
