"""The quantities of any result: which function gives them, by the name of its class."""

from __future__ import annotations

import contextlib
import importlib
from typing import Any

from nacelle.errors import NacelleError, did_you_mean
from nacelle.report.results.quantity import ResultQuantity

_FUNCTIONS = {
    "kinematics": {
        "InverseKinematics": "inverse_kinematics",
        "ForwardKinematics": "forward_kinematics",
        "Jacobian": "jacobian",
        "Singularities": "singularities",
        "BodyMotion": "body_motion",
        "JointMotion": "joint_motion",
        "ToolPose": "tool_pose",
        "Trajectory": "trajectory",
        "Waypoints": "waypoints",
        "ElementState": "element_state",
        "ElementProjection": "element_projection",
    },
    "dynamics": {
        "InverseDynamics": "inverse_dynamics",
        "ForwardDynamics": "forward_dynamics",
        "Regressor": "regressor",
        "Reactions": "reactions",
        "PeakReactions": "peak_reactions",
        "Sizing": "sizing",
        "GravityBalance": "gravity_balance",
        "LinearModel": "linear_model",
        "Simulation": "simulation",
    },
    "identification": {
        "Excitation": "excitation",
        "Measurement": "measurement",
        "Samples": "samples",
        "Rehearsal": "rehearsal",
        "Validation": "validation",
        "Estimator": "estimator",
        "Identification": "identification",
        "ConsistentParameters": "consistent_parameters",
    },
    "elastic": {
        "NaturalFrequencies": "natural_frequencies",
        "FrequencyMap": "frequency_map",
        "Buckling": "buckling",
        "StaticDeflection": "static_deflection",
    },
    "control": {"ControlRun": "control_run", "Observation": "observation"},
}
# Where the quantities of a class are, by its name.
HOMES = {name: (home, function) for home, listed in _FUNCTIONS.items() for name, function in listed.items()}


def quantities(result: Any) -> list[ResultQuantity]:
    """All quantities of a result; none of what has no numbers with names."""
    for one in type(result).__mro__:
        if one.__name__ in HOMES:
            home, function = HOMES[one.__name__]
            module = importlib.import_module(f"nacelle.report.results.{home}")
            found: list[ResultQuantity] = getattr(module, function)(result)
            return found
    return []


def robot_in(result: Any) -> Any:
    """The robot that a result is about, or its name; None if it is about none."""
    for holder in (result, getattr(result, "base", None), getattr(result, "state", None)):
        # A simulation of a plant without a robot says so by an error.
        with contextlib.suppress(NacelleError):
            robot = getattr(holder, "robot", None)
            if robot is not None:
                return robot
    return getattr(getattr(result, "grid", None), "robot", None)


def chosen(result: Any, keys: tuple[str, ...]) -> list[ResultQuantity]:
    """The quantities of a result with these keys.

    Raises:
        NacelleError: if it has none of such a name.
    """
    found = {one.key: one for one in quantities(result)}
    for key in keys:
        if key not in found:
            raise NacelleError(f"{type(result).__name__} has no {key!r}; {did_you_mean(key, tuple(found))}")
    return [found[key] for key in keys]
