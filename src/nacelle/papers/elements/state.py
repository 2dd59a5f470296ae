"""The element state {x, d, theta} of a robot with its derivatives ([OAM] (66), (67)), to and from its pose.

    state = element_state(robot, x, v, a)       directions, lengths and angles of all elements
    state.pose()                                x, v, a by linear forward kinematics (`platform_pose`)
    state.check()                               whether directions are unit vectors and the loops are closed

The variables are redundant, so a measured state contradicts itself; `project` makes it consistent. Direction
x of an element and its rates give its angular velocity ([OAM] (12), (13)) up to its spin about x,

    w = x x x' + s x,      w' = x x x'' + s' x + s x'

s = theta' of a shaft, (a . x) ((a x x) . x') / |a x x|^2 of an element on a universal joint with first axis a
on the base ([OAM] (7) leaves it out), and 0 of a rod between spherical joints.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from nacelle.compile import Compiled, compile_function
from nacelle.dynamics.evaluation import MeasuredState, parallel_margin, pivoted_model
from nacelle.errors import KinematicsError, did_you_mean
from nacelle.kinematics.kinematic_model import dense_margins
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.motion import EvaluatedStates, JointMotion, joint_motion, solve_loops
from nacelle.kinematics.native import compile_native
from nacelle.kinematics.pose_input import check_rates
from nacelle.kinematics.solve.ill_conditioned import reevaluate_with_pivoting
from nacelle.model.leg import PLATFORM
from nacelle.model.robot import Robot
from nacelle.papers.elements.from_inputs import element_arrays, element_shapes
from nacelle.papers.elements.layout import ElementLayout, is_length
from nacelle.papers.elements.models import inverse_from_elements, regressor_from_elements
from nacelle.papers.elements.placement import ElementMotion, element_layout, reason_without_elements
from nacelle.results import Plottable
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array, atan2, pack
from nacelle.trajectory.base import Sample

# A state is consistent if it differs from that of its own pose by less, directions and lengths over the size.
_CONSISTENT = 1e-6
_FUNCTIONS = {"inverse": inverse_from_elements, "regressor": regressor_from_elements}


@dataclass(frozen=True, eq=False, repr=False)
class ElementState(MeasuredState, Plottable):
    """Directions, lengths and angles of a robot's elements, each with first and second derivative.

    Attributes:
        robot: the robot.
        values: the variables by name: (..., 3, components) of directions and points, (..., 3) of lengths and
            angles; the rows are the value, its first and its second derivative. Base axes; m, rad.
    """

    robot: Robot
    values: Mapping[str, Array]

    def __post_init__(self) -> None:
        """Check names and shapes."""
        shapes = self.layout.shapes
        for name in self.values:
            if name not in shapes:
                raise KinematicsError(
                    f"{self.robot.name} has no element variable {name!r}; {did_you_mean(name, tuple(shapes))}"
                )
        checked: dict[str, Array] = {}
        for name, shape in shapes.items():
            if name not in self.values:
                raise KinematicsError(f"the element variable {name} of {self.robot.name} is missing")
            value = np.asarray(self.values[name], dtype=float)
            if value.shape[value.ndim - len(shape) :] != shape:
                raise KinematicsError(
                    f"the element variable {name} has the shape (..., {', '.join(map(str, shape))}), a value "
                    f"with two derivatives; got {value.shape}"
                )
            if not np.all(np.isfinite(value)):
                raise KinematicsError(f"the element variable {name} of {self.robot.name} is not finite")
            checked[name] = value
        object.__setattr__(self, "values", checked)

    def __getitem__(self, name: str) -> Array:
        """A variable by its name."""
        return self.values[name]

    @property
    def layout(self) -> ElementLayout:
        """The variables."""
        return element_layout(mechanism_of(self.robot))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the variables, in the order of `arrays`."""
        return tuple(self.layout.shapes)

    @property
    def arrays(self) -> tuple[Array, ...]:
        """The variables in the order of models, (samples or ..., 3, ...)."""
        return tuple(self.values[name] for name in self.names)

    def evaluate(self, name: str, options: Mapping[str, Any]) -> EvaluatedStates:
        """Results at the state: by the program from elements, and by the tree where that is weak.

        The program takes directions and lengths as they are, A(s) Gamma + b(s, s', s'') = 0 ([OAM] (58),
        (66)). The pose is found in addition, by linear forward kinematics, for margins and flags.
        """
        robot, pose = self.robot, self.pose()
        poses, y, flags = solve_loops(robot, pose.x, pose.v, pose.a)
        results = dict(native_elements(_FUNCTIONS[name], robot, tuple(options.items()))(*self.arrays))
        results["margins"] = compile_native(dense_margins, robot)(poses, y)
        load = (np.zeros_like(pose.v),) if name == "inverse" else ()
        inputs = (poses, y, pose.v, pose.a, *load)
        results = reevaluate_with_pivoting(
            robot, results, inputs, flags, pivoted_model(name, robot, **options)
        )
        results["parallel_margin"] = parallel_margin(results.pop("pivot"))
        return EvaluatedStates(poses, y, results, flags)

    def pose(self) -> Sample:
        """Pose, twist and its derivative by linear forward kinematics: no iteration, and one solution."""
        mechanism = mechanism_of(self.robot)
        motion = native_elements(platform_motion, self.robot)(*self.arrays)
        x, _ = mechanism.chart.coordinates(Pose(np.asarray(motion["R"]), np.asarray(motion["p"])))
        for k, name in enumerate(self.robot.motion.joint_names):
            x[..., mechanism.layout.x_index(name)] = motion["joints"][..., k]
        return Sample(x, np.asarray(motion["v"]), np.asarray(motion["a"]))

    def joints(self) -> JointMotion:
        """Coordinates, rates and accelerations of all joints, at the state's pose."""
        return joint_motion(self.robot, *self.pose())

    @cached_property
    def inconsistency(self) -> dict[str, Array]:
        """For every variable how far it is from that of the state's own pose (...), over the robot's size."""
        exact = element_state(self.robot, *self.pose())
        size, distances = self.robot.size, {}
        for variable in self.layout.variables:
            apart = np.abs(self.values[variable.name] - exact.values[variable.name])
            if variable.is_vector:
                apart = np.max(apart, axis=-1)
            distances[variable.name] = apart[..., 0] / (size if is_length(self.robot, variable) else 1.0)
        return distances

    def check(self, tolerance: float = _CONSISTENT) -> None:
        """Check that the state closes the loops.

        Raises:
            KinematicsError: that names the variable farthest off, if one is by more than the tolerance.
        """
        worst = {name: float(np.max(apart)) for name, apart in self.inconsistency.items()}
        name = max(worst, key=lambda key: worst[key])
        if worst[name] > tolerance:
            raise KinematicsError(
                f"the element state of {self.robot.name} is not consistent: {name} is {worst[name]:.2g} from "
                f"where its pose has it (tolerance {tolerance:.2g}); `project_elements` makes it consistent"
            )


def require_elements(robot: Robot) -> None:
    """Check that a robot has an element state.

    Raises:
        KinematicsError: if it has none, with the reason.
    """
    reason = reason_without_elements(mechanism_of(robot))
    if reason:
        raise KinematicsError(f"{robot.name} has no element state: {reason}")


def element_state(robot: Robot, x: Any, v: Any = None, a: Any = None) -> ElementState:
    """The element state of a robot at poses.

    Args:
        robot: the robot.
        x: reduced poses (..., nx).
        v: reduced twists (..., n); zero if None.
        a: their derivatives (..., n); zero if None.

    Raises:
        KinematicsError: if the robot's legs are not made of elements, or shapes are wrong.
        UnreachableError: if a single pose is out of reach.
    """
    require_elements(robot)
    n = robot.motion.n
    rates = [
        check_rates(robot, what, np.zeros(n) if value is None else value)
        for what, value in (("the twist v", v), ("the acceleration a", a))
    ]
    poses, y, _ = solve_loops(robot, x, *rates)
    return ElementState(robot, elements_at(robot, poses, y, *rates))


def elements_at(robot: Robot, x: Array, y: Array, v: Array, a: Array) -> dict[str, Array]:
    """All variables by name at states, natively.

    Robots that differ in their names alone share the program, whose outputs may have other names.
    """
    values = compile_native(element_arrays, robot)(x, y, v, a).values()
    return dict(zip(element_shapes(robot), values, strict=True))


@lru_cache(maxsize=128)
def native_elements(
    function: Callable[..., Any], robot: Robot, options: tuple[tuple[str, Any], ...] = ()
) -> Compiled:
    """A physics function of the element state, compiled for a robot."""
    return compile_function(function, robot, inputs=element_shapes(robot), options=dict(options))


def platform_motion(robot: Robot, *arrays: Array) -> dict[str, Array]:
    """Orientation R (3, 3), origin p (3,), m, reduced twist v (n,), its derivative a (n,), and joints.

    Base axes, from the variables of the element state in the order of models.
    """
    mechanism = mechanism_of(robot)
    measured = ElementMotion(robot, dict(zip(element_shapes(robot), arrays, strict=True)))
    rates, seconds = measured.platform_rates
    pose = measured.frames[PLATFORM].pose
    joints = [measured.platform_step(robot.joint(name))[0] for name in robot.motion.joint_names]
    return {
        "R": pack(pose.R.tolist()),
        "p": pack(pose.p.tolist()),
        "v": pack([rates[k] for k in mechanism.independent]),
        "a": pack([seconds[k] for k in mechanism.independent]),
        "joints": pack([atan2(step.s, step.c) if hasattr(step, "s") else step for step in joints] or [0.0]),
    }
