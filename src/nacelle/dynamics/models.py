"""Named models of a robot: what is counted, exported and flashed.

Each is a function with its inputs, outputs and options for one robot, in the compact form
where that supports it (`nacelle.dynamics.model_functions`): the program that the API runs, with the inputs
and outputs that are wanted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from nacelle.compile import Compiled, compile_function, make_program
from nacelle.compile.closing import POSE
from nacelle.compile.function import DIFFERENTIABLE, Differentiable
from nacelle.dynamics import model_functions
from nacelle.dynamics.base_parameters.choice import ParameterSet, column_options
from nacelle.dynamics.physics import Physics
from nacelle.errors import KinematicsError, did_you_mean
from nacelle.kinematics import kinematic_model as kinematics
from nacelle.kinematics.solve.unknowns import closing_driver
from nacelle.model.linear_parameters import linear_parameters
from nacelle.model.reduced import layout_of
from nacelle.model.robot import Robot
from nacelle.model_names import MODEL_NAMES
from nacelle.program.program import Program
from nacelle.results import HasTable
from nacelle.spatial.physics import PAPERS, input_shapes, load_registrations

NAMES = MODEL_NAMES
INPUTS = ("pose", "elements", "encoders")
MODELS_BY_INPUT = {
    "pose": NAMES,
    "elements": ("inverse_dynamics", "regressor"),
    "encoders": ("inverse_dynamics",),
}
MEASURED_MODELS: dict[str, Callable[[Robot, str, dict[str, Any]], Model]] = {}
"""Models from what is measured in the place of a pose, by input: called with the robot, the name, options."""
_INCLUDES_EVERYTHING = "everything between these inputs and the result"


@dataclass(frozen=True, eq=False)
class Model(HasTable):
    """A model of a robot.

    Attributes:
        name: one of `NAMES`.
        robot: the robot.
        form: "compact" or "tree".
        function: physics function of (robot, *inputs, **options).
        inputs: names and shapes.
        options: keyword arguments of the function.
        meaning: for every input and output what it is, with units.
        includes: description of what the count of its operations includes.
    """

    name: str
    robot: Robot
    form: str
    function: Callable[..., Any]
    inputs: Mapping[str, tuple[int, ...]]
    options: Mapping[str, Any]
    meaning: Mapping[str, str]
    includes: str

    def program(self, *, minimise: bool = True) -> Program:
        """The straight-line program, under the model's own name."""
        raw = make_program(self.function, self.robot, self.inputs, minimise=minimise, options=self.options)
        return Program(self.name, raw.inputs, raw.outputs, raw.code, raw.results)

    def compile(self, **settings: Any) -> Compiled:
        """The model as native code, or for another target (`nacelle.compile`).

        For "jax" and "torch" quaternions need no unit length, and passive coordinates y are solved inside.
        """
        if settings.get("target") in DIFFERENTIABLE and POSE in self.inputs:
            settings["target"] = Differentiable(settings["target"], closing_driver(self.robot))
        return compile_function(
            self.function, self.robot, inputs=self.inputs, options=self.options, **settings
        )


def model(
    robot: Robot,
    name: str = "inverse_dynamics",
    *,
    input: str = "pose",
    friction: bool = True,
    smooth: float | None = None,
    guarded: bool = False,
    parameters: ParameterSet | None = None,
) -> Model:
    """A named model of a robot.

    Args:
        robot: the robot.
        name: one of `NAMES`.
        input: "pose"; "elements" ([OAM]) for inverse dynamics and the regressor; "encoders" for the first.
        friction: whether friction counts.
        smooth: rate over which Coulomb friction changes its sign smoothly.
        guarded: whether margins and the pivot figure come along.
        parameters: of a regressor those that have columns, `base_parameters(robot)`; all if None.

    Raises:
        KinematicsError: if there is no such model of this robot.
    """
    if name not in NAMES:
        raise KinematicsError(f"no model is called {name!r}; {did_you_mean(name, NAMES)}")
    if input not in INPUTS:
        raise KinematicsError(f"no input is called {input!r}; {did_you_mean(input, INPUTS)}")
    if name not in MODELS_BY_INPUT[input]:
        raise KinematicsError(
            f"the model {name} takes the pose; {input} are an input of {' and '.join(MODELS_BY_INPUT[input])}"
        )
    if parameters is not None and not name.endswith("regressor"):
        raise KinematicsError(f"the model {name} has no columns of parameters; regressors have")
    robot = robot.without_rounding_differences
    options = {"physics": Physics(friction, smooth), **column_options(parameters)}
    guard = " pivot" if guarded else ""
    if input != "pose":
        load_registrations(PAPERS)
        return MEASURED_MODELS[input](robot, name, options | {"outputs": _MODELS[name].result + guard})
    return _from_pose(robot, name, options, guarded)


class _ModelEntry(NamedTuple):
    """How a model is made.

    Attributes:
        function: the physics function.
        result: the output that it is about.
        friction: whether friction is an option.
        includes: what its count includes.
    """

    function: Callable[..., Any]
    result: str
    friction: bool
    includes: str


_MODELS = {
    "inverse_dynamics": _ModelEntry(
        model_functions.inverse,
        "force",
        True,
        "positions of the legs, their motion, platform and the solve for the actuators' forces",
    ),
    "forward_dynamics": _ModelEntry(
        model_functions.forward,
        "acceleration",
        True,
        "positions of the legs, their motion, mass matrix, bias and the solve for the acceleration",
    ),
    "inverse_kinematics": _ModelEntry(kinematics.joint_positions, "q", False, _INCLUDES_EVERYTHING),
    "jacobian": _ModelEntry(model_functions.jacobian, "J", False, _INCLUDES_EVERYTHING),
    "mass_matrix": _ModelEntry(model_functions.inertia, "M", False, _INCLUDES_EVERYTHING),
    "bias_forces": _ModelEntry(model_functions.bias, "h", True, _INCLUDES_EVERYTHING),
    "gravity_forces": _ModelEntry(model_functions.gravity, "g", False, _INCLUDES_EVERYTHING),
    "regressor": _ModelEntry(model_functions.regressor, "Y", True, _INCLUDES_EVERYTHING),
    "reference_regressor": _ModelEntry(model_functions.reference_regressor, "Y", True, _INCLUDES_EVERYTHING),
}


def _from_pose(robot: Robot, name: str, options: dict[str, Any], guarded: bool) -> Model:
    spec = _MODELS[name]
    shapes = input_shapes(spec.function, robot)
    assert shapes is not None
    inputs = {key: shape for key, shape in shapes.items() if key != "load"}
    if name == "inverse_kinematics":
        return Model(name, robot, "tree", spec.function, inputs, {}, describe_variables(robot), spec.includes)
    watched = " pivot margins" if guarded else ""
    settings = {**(options if spec.friction else {}), "outputs": spec.result + watched}
    return Model(
        name, robot, "compact", spec.function, inputs, settings, describe_variables(robot), spec.includes
    )


def describe_variables(robot: Robot) -> dict[str, str]:
    """What inputs and outputs of models are, with units."""
    layout = layout_of(robot.motion)
    drives = ", ".join(actuator.name for actuator in robot.actuators)
    return {
        "acceleration": "derivative of the reduced twist; m/s^2, rad/s^2",
        "force": f"actuators' forces {drives}; N, N m",
        "pivot": "smallest pivot without units: digits are lost below 1e-2, all where it is not a number",
        "margins": "reach margin of every leg: positive where it can be closed, 0 at a serial singularity",
        "q": f"coordinates of the actuators {drives}; rad, m",
        "q_dot": "their rates",
        "q_ddot": "their accelerations",
        "x": f"reduced pose {', '.join(layout.x_names)}; m, rad, quat_xyzw",
        "y": "passive coordinates, solved numerically (joints of legs without a closed form)",
        "v": f"reduced twist {', '.join(layout.v_names)}; m/s, rad/s",
        "a": "derivative of the reduced twist",
        "v_ref": "reduced twist of the reference; m/s, rad/s",
        "a_ref": "its derivative",
        "Y": f"forces {drives} at unit parameters: a row for each actuator, a column for each parameter "
        f"({', '.join(linear_parameters(robot).names)})",
        "tau": f"actuators' forces {drives}; N, N m",
        "load": "force along the reduced twist from outside; N, N m",
    }
