"""Named models of a robot: what is counted, exported and flashed.

Each is a function with its inputs, outputs and options for one robot, in the smallest form that nacelle knows
for it: struts and driven rods as in `nacelle.dynamics.compact`, everything else by the equivalent tree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from nacelle.compile import Compiled, compile_function, make_program
from nacelle.dynamics import functions as general
from nacelle.dynamics.compact import functions as compact
from nacelle.dynamics.compact import measured, mixed
from nacelle.dynamics.compact.choose import chosen
from nacelle.dynamics.compact.model import applies
from nacelle.dynamics.friction import friction_options
from nacelle.errors import KinematicsError, did_you_mean
from nacelle.kinematics import functions as kinematics
from nacelle.kinematics.mechanism import mechanism
from nacelle.model.reduced import layout_of
from nacelle.model.robot import Robot
from nacelle.program.program import Program
from nacelle.spatial.physics import input_shapes

NAMES = (
    "inverse_dynamics",
    "forward_dynamics",
    "inverse_kinematics",
    "jacobian",
    "mass_matrix",
    "bias_forces",
    "gravity_forces",
)
INPUTS = ("pose", "elements", "encoders")


@dataclass(frozen=True, eq=False)
class Model:
    """A model of a robot.

    Attributes:
        name: one of `NAMES`.
        robot: the robot.
        form: "compact" (the smallest form), "mixed" (for some of the legs) or "tree".
        function: physics function of (robot, *inputs, **options).
        inputs: names and shapes.
        options: keyword arguments of the function.
        meaning: for every input and output what it is, with units.
        includes: what the count of its operations includes, in words.
    """

    name: str
    robot: Robot
    form: str
    function: Callable[..., Any]
    inputs: Mapping[str, tuple[int, ...]]
    options: Mapping[str, Any]
    meaning: Mapping[str, str]
    includes: str

    def program(self, *, minimised: bool = True) -> Program:
        """The straight-line program, under the model's own name."""
        made = make_program(self.function, self.robot, self.inputs, (), minimised, self.options)
        return Program(self.name, made.inputs, made.outputs, made.code, made.results)

    def compile(self, **settings: Any) -> Compiled:
        """The model as native code (`nacelle.compile`)."""
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
) -> Model:
    """A named model of a robot.

    Args:
        robot: the robot.
        name: one of `NAMES`.
        input: for inverse dynamics "pose", "elements" ([OAM]) or "encoders".
        friction: whether friction counts.
        smooth: rate over which Coulomb friction changes its sign smoothly.
        guarded: for inverse dynamics from the pose, whether smallest pivot and gates come along.

    Raises:
        KinematicsError: if there is no such model of this robot.
    """
    if name not in NAMES:
        raise KinematicsError(f"no model is called {name!r}; {did_you_mean(name, NAMES)}")
    if input not in INPUTS:
        raise KinematicsError(f"no input is called {input!r}; {did_you_mean(input, INPUTS)}")
    if input != "pose" and name != "inverse_dynamics":
        raise KinematicsError(
            f"the model {name} takes the pose; elements and encoders serve inverse_dynamics"
        )
    robot = robot.alike
    options = friction_options(friction, smooth)
    reason = applies(mechanism(robot))
    if name in ("inverse_dynamics", "forward_dynamics"):
        if not reason:
            return _compact(robot, name, input, options, guarded)
        if input != "pose":
            raise KinematicsError(f"no model of {robot.name} from {input}: {reason}")
        if not mixed.applies(mechanism(robot)):
            return _mixed(robot, name, options)
    return _tree(robot, name, options)


def _mixed(robot: Robot, name: str, options: dict[str, Any]) -> Model:
    forward = name == "forward_dynamics"
    shapes = input_shapes(mixed.forward if forward else mixed.inverse, robot)
    assert shapes is not None
    wanted = ("x", "y", "v", "tau" if forward else "a")
    inputs = {key: shapes[key] for key in wanted if shapes[key] != (0,)}
    function = mixed.forward_dynamics if forward else mixed.inverse_dynamics
    includes = "struts and rods in the smallest form, nacelle and other legs by the tree, and the solve"
    return Model(name, robot, "mixed", function, inputs, options, _meaning(robot, inputs), includes)


def _compact(robot: Robot, name: str, source: str, options: dict[str, Any], guarded: bool) -> Model:
    n, actuators = robot.motion.n, len(robot.actuators)
    pose = compact.pose_shapes(robot)
    known = mechanism(robot)
    inputs: dict[str, tuple[int, ...]]
    function: Callable[..., Any]
    if name == "forward_dynamics":
        function, inputs = compact.forward_dynamics, {**pose, "twist": (n,), "force": (actuators,)}
        includes = "legs, inertia matrix, bias and the solve for the acceleration"
    elif source == "pose":
        function = compact.guarded_inverse_dynamics if guarded else compact.inverse_dynamics
        inputs = {**pose, "twist": (n,), "acceleration": (n,)}
        includes = "inverse kinematics, legs, platform and the solve for the actuators' forces"
    elif source == "elements":
        _refuse(robot, source, measured.why_no_elements(known))
        function, inputs = compact.inverse_dynamics_from_elements, measured.element_shapes(robot)
        includes = "legs, platform and the solve for the actuators' forces"
    else:
        _refuse(robot, source, measured.why_no_encoders(known))
        function = compact.inverse_dynamics_from_encoders
        inputs = dict.fromkeys(("q", "q_dot", "q_ddot"), (actuators,))
        includes = "forward kinematics, legs, platform and the solve for the actuators' forces"
    settings = chosen(function, robot, inputs, options)
    return Model(name, robot, "compact", function, inputs, settings, _meaning(robot, inputs), includes)


def _refuse(robot: Robot, source: str, reason: str) -> None:
    if reason:
        raise KinematicsError(f"no model of {robot.name} from {source}: {reason}")


def _tree(robot: Robot, name: str, options: dict[str, Any]) -> Model:
    functions: dict[str, Callable[..., Any]] = {
        "inverse_dynamics": general.inverse,
        "forward_dynamics": general.forward,
        "inverse_kinematics": kinematics.joint_positions,
        "jacobian": kinematics.inverse_jacobian,
        "mass_matrix": general.inertia,
        "bias_forces": general.bias,
        "gravity_forces": general.gravity,
    }
    function = functions[name]
    takes_friction = name in ("inverse_dynamics", "forward_dynamics", "bias_forces")
    shapes = input_shapes(function, robot)
    assert shapes is not None
    includes = "everything between these inputs and the result"
    kept = options if takes_friction else {}
    return Model(name, robot, "tree", function, dict(shapes), kept, _meaning(robot, shapes), includes)


def _meaning(robot: Robot, inputs: Mapping[str, tuple[int, ...]]) -> dict[str, str]:
    layout = layout_of(robot.motion)
    drives = ", ".join(actuator.name for actuator in robot.actuators)
    words = {
        "rotation": "rotation matrix of the platform, rows one after the other"
        if inputs.get("rotation") == (3, 3)
        else "cosine and sine of the platform's angle",
        "position": "of the platform's origin, base axes, m",
        "twist": f"reduced twist {', '.join(layout.v_names)}; m/s, rad/s",
        "acceleration": "derivative of the reduced twist; m/s^2, rad/s^2",
        "force": f"actuators' forces {drives}; N, N m",
        "pivot": "smallest scaled pivot of the solve: weak below 1e-2, 0 at a parallel singularity",
        "gates": "for every leg: positive where it can be closed, 0 at a serial singularity",
        "q": f"coordinates of the actuators {drives}; rad, m",
        "q_dot": "their rates",
        "q_ddot": "their accelerations",
        "x": f"reduced pose {', '.join(layout.x_names)}; m, rad, quat_xyzw",
        "y": "what iteration finds (joints of legs without a closed form)",
        "v": f"reduced twist {', '.join(layout.v_names)}; m/s, rad/s",
        "a": "derivative of the reduced twist",
        "tau": f"actuators' forces {drives}; N, N m",
        "load": "force along the reduced twist from outside; N, N m",
    }
    for key, shape in inputs.items():
        if key not in words:
            kind = "length" if len(shape) == 1 else "direction"
            words[key] = f"{kind} of the element with its first and second derivatives"
    return words
