"""What a package holds: models of a robot, each as one function with named inputs and outputs.

An entry is a model of `nacelle.dynamics.models` as a controller needs it: inputs that are empty or zero
are folded away, and of the outputs the one that the model is named after comes first, followed by what is to
be watched.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from nacelle.compile import Specification, make_program
from nacelle.compile.specification import resolve_input_shapes
from nacelle.dynamics.models import INPUTS, MODELS_BY_INPUT, Model, model
from nacelle.dynamics.physics import Physics
from nacelle.elastic.named import ELASTIC_NAMES, elastic_model
from nacelle.emit.names import identifier
from nacelle.errors import ExportError, KinematicsError, did_you_mean
from nacelle.export.entry import (
    CLOSING_STEP,
    KINEMATICS,
    Entry,
    ExportRequest,
    pose_description,
    with_preparation,
)
from nacelle.export.kinematics import FORWARD_KINEMATICS, KINEMATICS_LABELS, kinematics_entries
from nacelle.export.loop import assembly_entry, controller_entries, plant_entries
from nacelle.kinematics.branch import RELATION_TOLERANCE, branch_of
from nacelle.kinematics.kinematic_model import branch_signs
from nacelle.kinematics.margins import margin_names
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.solve.newton_steps import loop_closing_step
from nacelle.model.numbers import GROUPS
from nacelle.model.reduced import layout_of
from nacelle.model.robot import Robot
from nacelle.spatial.physics import copy_declarations, input_shapes

LONGEST = 20
"""Length of the longest prefix of a package: endings are added, and C tells 63 characters apart."""

# The output that a model is named after, and those to be watched.
_MAIN = {
    "inverse_dynamics": "force",
    "forward_dynamics": "acceleration",
    "inverse_kinematics": "active",
    "jacobian": "J",
    "mass_matrix": "M",
    "bias_forces": "h",
    "gravity_forces": "g",
    "regressor": "Y",
    "reference_regressor": "Y",
    "elastic_inverse_dynamics": "force",
    "elastic_forward_dynamics": "acceleration",
}
_WATCHED = ("pivot", "margins", "branch")
# What an elastic model gives in addition to the output that it is named after.
_ELASTIC = ("elastic", "acceleration")

_TITLES = {
    "inverse_dynamics": "forces of the actuators that a motion of the platform needs",
    "forward_dynamics": "acceleration of the platform from the forces of the actuators",
    "inverse_kinematics": "coordinates of the actuators at a pose of the platform",
    "jacobian": "rates of the actuators from the reduced twist, q' = J v",
    "mass_matrix": "mass matrix along the reduced twist",
    "bias_forces": "force along the reduced twist at zero acceleration: velocity, gravity, friction",
    "gravity_forces": "force along the reduced twist that holds the robot against gravity",
    "regressor": "actuators' forces as a linear form in the parameters, force = Y p",
    "reference_regressor": "the same along a reference v_ref, a_ref at the twist v, friction at v",
    "elastic_inverse_dynamics": "forces of the actuators and elastic accelerations at their accelerations",
    "elastic_forward_dynamics": "accelerations of the actuators and elastic ones at their forces",
    CLOSING_STEP: "one step of Newton's iteration for what the legs leave open at a pose",
}


# Headers of C that a file of the same name would hide, and targets of CMake; modules of Python go with them.
_RESERVED_NAMES = """
    assert complex ctype errno fenv features float inttypes iso646 limits locale math setjmp signal stdarg
    stdbool stddef stdint stdio stdlib string tgmath time wchar wctype
    all clean edit_cache help install package rebuild_cache test
    casadi numpy scipy
"""
_UNUSABLE_NAMES = frozenset(_RESERVED_NAMES.split()) | {name.lower() for name in sys.stdlib_module_names}


def check_request(request: ExportRequest) -> None:
    """Refuse a request that cannot be met.

    Raises:
        ExportError: if a model or an input is unknown, a model is named twice, no model is named, or
            an option of friction cannot be used.
    """
    if not request.models and not request.loop:
        raise ExportError(f"name at least one model: {', '.join((*_MAIN, KINEMATICS))}")
    if request.loop and request.parameters:
        raise ExportError(
            "numbers of the robot are constants of a controller and a plant: leave the parameters out"
        )
    for name in request.models:
        if name not in (*_MAIN, KINEMATICS):
            hint = did_you_mean(name, (*_MAIN, KINEMATICS, FORWARD_KINEMATICS))
            raise ExportError(f"no model is called {name!r}; {hint}")
        if name in ELASTIC_NAMES and request.parameters:
            raise ExportError(f"numbers of the robot are constants of {name}: leave the parameters out")
        if request.models.count(name) > 1:
            raise ExportError(f"the model {name} is named twice")
    if request.input not in INPUTS:
        raise ExportError(f"no input is called {request.input!r}; {did_you_mean(request.input, INPUTS)}")
    if not any(name in MODELS_BY_INPUT[request.input] for name in request.models) and request.input != "pose":
        takers = " and ".join(MODELS_BY_INPUT[request.input])
        raise ExportError(f"the input {request.input} is one of {takers}, none of which is among the models")
    for group in request.parameters:
        if group not in GROUPS:
            raise ExportError(f"no group {group!r} of parameters; {did_you_mean(group, GROUPS)}")
    try:
        Physics(request.friction, request.smooth)
    except KinematicsError as error:
        raise ExportError(str(error)) from None


def package_name(robot: Robot, name: str | None) -> str:
    """The prefix of all names of a package.

    Raises:
        ExportError: if a name is given that cannot be one.
    """
    if name is not None:
        if (
            not name
            or identifier(name, "robot") != name
            or len(name) > LONGEST
            or name.lower() in _UNUSABLE_NAMES
        ):
            raise ExportError(
                f"{name!r} cannot be the name of a package: use at most {LONGEST} letters, digits and _, a "
                "letter first, and no word of C, Python or CMake"
            )
        return name
    base = identifier(robot.name, "robot")
    if base.lower() in _UNUSABLE_NAMES:
        base = f"{base}_robot"
    if len(base) <= LONGEST:
        return base
    digest = hashlib.sha256(robot.name.encode("utf-8", "surrogatepass")).hexdigest()[:6]
    return f"{base[: LONGEST - 7].rstrip('_')}_{digest}"


def entries(robot: Robot, prefix: str, request: ExportRequest) -> list[Entry]:
    """The functions of a package; for legs solved numerically the step that closes them comes first."""
    groups = request.parameters
    if "geometry" in groups and 0 not in resolve_input_shapes(loop_closing_step, robot, None, groups)["y"]:
        raise ExportError(
            f"legs of {robot.name} are solved numerically, with its geometry as it is described: leave "
            "geometry out of the parameters"
        )
    result = [entry for name in request.models for entry in _model_entries(robot, prefix, name, request)]
    result += _loop_entries(robot, prefix, request)
    # Kinematics close the legs themselves.
    others = [entry for entry in result if entry.label not in KINEMATICS_LABELS]
    rigid = [entry for entry in others if entry.model is None or entry.model.name not in ELASTIC_NAMES]
    if not any(variable.name == "y" for entry in rigid for variable in entry.program.inputs):
        return result
    return [_closing_entry(robot, prefix), *result]


def _loop_entries(robot: Robot, prefix: str, request: ExportRequest) -> list[Entry]:
    """The functions of a controller and of a plant."""
    if not request.loop:
        return []
    result = [assembly_entry(robot, prefix, request.wrong)]
    if request.controller is not None:
        if request.controller.robot.hash != robot.hash:
            raise ExportError(
                f"the controller {request.controller.name} has another model than {robot.name} as it is "
                "exported: write two packages, with names of their own, and link both"
            )
        result += controller_entries(request.controller, prefix, request.wrong)
    if request.plant:
        result += plant_entries(robot, prefix, Physics(request.friction, request.smooth))
    return result


def _model_entries(robot: Robot, prefix: str, name: str, request: ExportRequest) -> list[Entry]:
    """The function of a model; with numbers given at run time the function that prepares them comes first."""
    if name == KINEMATICS:
        return kinematics_entries(robot, prefix, request.parameters)
    if name in ELASTIC_NAMES:
        return _elastic_entries(robot, prefix, name, request)
    source = request.input if name in MODELS_BY_INPUT[request.input] else "pose"
    source_model = model(
        robot,
        name,
        input=source,
        friction=request.friction,
        smooth=request.smooth,
        guarded=not request.bare,
    )
    label = name if source == "pose" else f"{name}_{source}"
    main = _MAIN[name]
    keep = (main,) if request.bare else (main, *_WATCHED)
    shapes = {key: shape for key, shape in source_model.inputs.items() if key != "load" and 0 not in shape}
    title = _TITLES[name] + ("" if source == "pose" else f", from {source}")
    function, groups = _restrict_model(source_model, shapes, keep, request.wrong), request.parameters
    shapes = resolve_input_shapes(function, robot, shapes, groups)
    specification = Specification(function, robot, shapes, groups=groups, options=source_model.options)
    labels = variable_descriptions(source_model)
    parts = specification.split() if groups else None
    program = specification.program() if parts is None else parts.body
    entry = Entry(label, title, replace(program, name=f"{prefix}_{label}"), labels, source_model)
    return [entry] if parts is None else with_preparation(entry, parts.prologue, specification)


def _elastic_entries(robot: Robot, prefix: str, name: str, request: ExportRequest) -> list[Entry]:
    """The function of a model of a robot with flexible links."""
    source_model = elastic_model(robot, name, friction=request.friction, smooth=request.smooth)
    function = _restrict_model(
        source_model, source_model.inputs, tuple(dict.fromkeys((_MAIN[name], *_ELASTIC)))
    )
    specification = Specification(function, robot, source_model.inputs, options=source_model.options)
    program = replace(specification.program(), name=f"{prefix}_{name}")
    return [Entry(name, _TITLES[name], program, dict(source_model.meaning), source_model)]


def _restrict_model(
    source_model: Model,
    shapes: Mapping[str, tuple[int, ...]],
    keep: tuple[str, ...],
    wrong: float = RELATION_TOLERANCE,
) -> Callable[..., dict[str, Any]]:
    """The model's function of the inputs that are left, with the outputs that are kept."""

    def restrict(robot: Robot, *arrays: Any, **options: Any) -> dict[str, Any]:
        inputs = dict(zip(shapes, arrays, strict=True))
        values = [inputs.get(key, np.zeros(shape)) for key, shape in source_model.inputs.items()]
        results = dict(source_model.function(robot, *values, **options))
        if "y" in inputs and "branch" in keep and branch_of(robot).size:
            results["branch"] = branch_signs(robot, inputs["x"], inputs["y"], wrong)["branch"]
        return {key: results[key] for key in keep if key in results}

    return copy_declarations(source_model.function)(restrict)


def _closing_entry(robot: Robot, prefix: str) -> Entry:
    shapes = input_shapes(loop_closing_step, robot)
    assert shapes is not None
    program = replace(make_program(loop_closing_step, robot, shapes), name=f"{prefix}_{CLOSING_STEP}")
    labels = {
        "y": "passive coordinates: joints of legs without a closed form; last, angles that count turns",
        "x": pose_description(robot),
        "dy": "step of y",
        "error": "how far the loops are open, relative to their size",
    }
    return Entry(CLOSING_STEP, _TITLES[CLOSING_STEP], program, labels, None, driver="newton")


def variable_descriptions(source_model: Model) -> dict[str, str]:
    """What the inputs and outputs of a model are; frames and units."""
    robot = source_model.robot
    layout = layout_of(robot.motion)
    drives = ", ".join(actuator.name for actuator in robot.actuators)
    columns = ", ".join(layout.v_names)
    labels = dict(source_model.meaning)
    labels |= {
        "x": pose_description(robot),
        "y": f"what {CLOSING_STEP} finds at the pose x",
        "active": f"coordinates of the actuators {drives}; rad, m",
        "J": f"a row for each actuator ({drives}), a column for each of {columns}",
        "M": f"rows and columns {columns}; kg, kg m, kg m^2",
        "h": f"along {columns}; N, N m",
        "g": f"along {columns}; N, N m",
        "a": "derivative of the reduced twist; m/s^2, rad/s^2",
        "acceleration": "derivative of the reduced twist; m/s^2, rad/s^2",
    }
    owners = ", ".join(margin_names(mechanism_of(robot)))
    labels["margins"] = (
        f"reach margins ({owners}): above 0 where the leg can be closed, 0 at a serial singularity"
    )
    loops = ", ".join(branch_of(robot).names)
    labels["branch"] = f"above 0 on the branch of the reference pose, 1 in it ({loops})"
    return labels
