"""Feedback that is compiled with the plant, so that the whole loop runs in native code.

A law is a physics function of (robot, ...) over any scalar, which gives the actuators' forces; it declares
what it takes, among

    t      the time, ()                     q, qd  the actuators' coordinates and rates
    x, v   the reduced pose and twist       y      the joints that iteration solves for
    r      the reference, any shape (k,)    motor  forces of the motors, of a plant with drives
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from nacelle.compile import Compiled, compile_function, compile_irk5, compile_rk4
from nacelle.errors import KinematicsError, did_you_mean
from nacelle.kinematics.iteration.newton_steps import closing_step
from nacelle.kinematics.kinematic_model import inverse_jacobian
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.robot import Robot
from nacelle.simulation.flow import (
    NativeDriver,
    NativeImplicitDriver,
    Options,
    bound,
    by_state,
    flow,
    pose_from_coordinates,
)
from nacelle.simulation.protocol import Derivative, Feedback
from nacelle.spatial.physics import input_shapes, physics
from nacelle.spatial.scalar import Array

MOTOR = "motor"
SIGNALS = ("t", "x", "y", "v", "q", "qd", "r", MOTOR)


class LoopModel(NamedTuple):
    """What is compiled with a feedback.

    Attributes:
        flow: physics function of (robot, s, inputs, constants) that gives the state's derivative.
        signals: function of (robot, s, constants, wanted) that gives the wanted signals of the plant by name.
    """

    flow: Callable[..., Any]
    signals: Callable[..., dict[str, Any]]


def check_no_motors(robot: Robot, wanted: Sequence[str]) -> None:
    """Refuse forces of motors as a signal of a plant without drives.

    Raises:
        KinematicsError: if they are among the signals wanted.
    """
    if MOTOR in wanted:
        raise KinematicsError(
            f"a controller of {robot.name} takes {MOTOR!r}, the forces of motors whose current loops have a "
            "lag: give a DrivenPlant with Drives(lag=...)"
        )


def rigid_signals(robot: Robot, s: Array, quat_0: Array, wanted: Sequence[str]) -> dict[str, Any]:
    """Signals of a rigid robot at its state: x, y, v, and of the actuators by inverse kinematics q and qd."""
    check_no_motors(robot, wanted)
    mechanism, n = mechanism_of(robot), robot.motion.n
    x, v, y = pose_from_coordinates(mechanism, s[:n], quat_0), s[n : 2 * n], s[2 * n :]
    if mechanism.ny:
        y = y + closing_step(robot, y, x)["dy"]
    signals: dict[str, Any] = {"x": x, "y": y, "v": v}
    if "q" in wanted or "qd" in wanted:
        actuators = inverse_jacobian(robot, x, y)
        signals |= {"q": actuators["q"], "qd": actuators["J"] @ v}
    return signals


RIGID = LoopModel(flow, rigid_signals)


class LoopParts(NamedTuple):
    """What a plant gives to be compiled with a controller, or with drives around it.

    Attributes:
        robot: the robot that moves.
        model: its flow and signals.
        options: keyword arguments of the flow.
        constants: the last argument of the flow.
    """

    robot: Robot
    model: LoopModel
    options: Options
    constants: Array


@runtime_checkable
class Compilable(Protocol):
    """A plant that can be compiled with a controller."""

    def loop_parts(self) -> LoopParts:
        """What is compiled.

        Raises:
            KinematicsError: if there is no program of it.
        """


def feedback(function: Callable[..., Any], reference: Any = None, **options: Any) -> Feedback:
    """Make a feedback that is compiled together with the plant.

    Args:
        function: a physics function (`@physics`) of the robot and of signals among t, x, y, v, q, qd, r,
            which gives the forces (actuators,).
        reference: r: a function of time, or an array with one row (k,) for every step of "rk4".
        **options: keyword arguments for the law: plain numbers, texts and tuples of them.

    Raises:
        KinematicsError: if the function declares no inputs.
    """
    if not is_law(function):
        raise KinematicsError(
            f"{getattr(function, '__name__', function)!r} does not declare its inputs: decorate it with "
            "@physics(x=(2,), v=(2,), ...), or give a plain function f(t, x, v) as the force"
        )
    return Feedback(function, reference, tuple(sorted(options.items())))


def is_law(function: Any) -> bool:
    """Whether something is a physics function."""
    return callable(function) and hasattr(function, "physics_inputs")


def reference_size(robot: Robot, law: Feedback) -> int:
    """Number of entries of the reference that a law takes.

    Raises:
        KinematicsError: if the law takes something that there is not.
    """
    shapes = input_shapes(law.function, robot) or {}
    of_robot = signal_shapes(robot)
    for name, shape in shapes.items():
        if name not in SIGNALS:
            raise KinematicsError(
                f"the feedback {law.name!r} takes {name!r}; {did_you_mean(name, SIGNALS)} "
                f"(there are {', '.join(SIGNALS)})"
            )
        if name != "r" and shape != of_robot[name]:
            raise KinematicsError(
                f"the feedback {law.name!r} declares {name} with the shape {shape}; of {robot.name} it is "
                f"{of_robot[name]}"
            )
    if "r" not in shapes:
        return 0
    if len(shapes["r"]) != 1:
        raise KinematicsError(f"the reference r of the feedback {law.name!r} has a shape (k,)")
    return shapes["r"][0]


def signal_shapes(robot: Robot) -> dict[str, tuple[int, ...]]:
    """Shapes of the signals, but of the reference."""
    mechanism, count = mechanism_of(robot), len(robot.actuators)
    n = robot.motion.n
    nx, ny = mechanism.layout.nx, mechanism.ny
    return {"t": (), "x": (nx,), "y": (ny,), "v": (n,), "q": (count,), "qd": (count,), MOTOR: (count,)}


def control(law: Feedback, robot: Robot, model: LoopModel = RIGID) -> Callable[..., Array]:
    """The law as a physics function of (robot, s, [t; r], constants)."""
    shapes = input_shapes(law.function, robot) or {}
    plant_shapes = input_shapes(model.flow, robot) or {}
    state, _, constants = plant_shapes.values()
    options = dict(law.options)

    @physics(s=state, u=(1 + reference_size(robot, law),), constants=constants)
    def controlled(robot: Robot, s: Array, u: Array, constants: Array) -> Array:
        signals = {"t": u[0], "r": u[1:], **model.signals(robot, s, constants, tuple(shapes))}
        force = np.asarray(law.function(robot, *(signals[name] for name in shapes), **options))
        if force.shape != (len(robot.actuators),):
            raise KinematicsError(
                f"the feedback {law.name!r} gives the shape {force.shape}; {robot.name} has "
                f"{len(robot.actuators)} actuators"
            )
        return force

    vars(controlled)["made_from"] = (law.function, law.options, model.flow)
    return controlled


def closed_flow(
    law: Feedback, robot: Robot, settings: dict[str, Any], model: LoopModel = RIGID
) -> Callable[..., Array]:
    """The flow under the law as a physics function of (robot, s, [t; r], constants)."""
    force = control(law, robot, model)

    def closed(robot: Robot, s: Array, u: Array, constants: Array) -> Any:
        return model.flow(robot, s, force(robot, s, u, constants), constants, **settings)

    vars(closed)["physics_inputs"] = vars(force)["physics_inputs"]
    vars(closed)["made_from"] = (law.function, law.options, model.flow, sorted(settings.items()))
    return closed


# ---- as native code


class CompiledLoop:
    """A plant under a compiled feedback; its inputs are [t; r].

    Args:
        parts: what is compiled with the feedback.
        law: the feedback.
        exact_jacobian: whether implicit methods take the exact Jacobian.
    """

    def __init__(self, parts: LoopParts, law: Feedback, *, exact_jacobian: bool = False) -> None:
        self.robot, self.model, self.options, self.constants = parts
        self.law, self.exact_jacobian = law, exact_jacobian
        self.inputs = 1 + reference_size(self.robot, law)

    @property
    def size(self) -> int:
        """Number of states."""
        (size,) = next(iter((input_shapes(self.model.flow, self.robot) or {}).values()))
        return size

    @property
    def _key(self) -> tuple[Robot, LoopModel, Callable[..., Any], Options, Options]:
        return self.robot, self.model, self.law.function, self.law.options, self.options

    def derivative(self) -> Derivative:
        """The flow under the feedback."""
        return bound(_closed(*self._key), self.constants)

    def jacobian(self) -> Derivative | None:
        """Its exact Jacobian by the state, if it is wanted."""
        if not self.exact_jacobian:
            return None
        return bound(_closed_jacobian(*self._key), self.constants)

    def forces(self, s: Array, u: Array) -> Array:
        """The actuators' forces at states (..., size) and [t; r] (..., inputs)."""
        return np.asarray(_control(*self._key[:4])(s, u, self.constants))

    def driver(self) -> NativeDriver:
        """The native loop with the feedback at every stage."""
        return NativeDriver(_closed_driver(*self._key), self.constants)

    def held_driver(self) -> NativeDriver:
        """The native loop with the feedback held over each step."""
        return NativeDriver(_held_driver(*self._key), self.constants)

    def implicit_driver(self, *, held: bool = False) -> NativeImplicitDriver:
        """The native loop of implicit steps with the feedback at every stage, or held over each step."""
        return NativeImplicitDriver(_implicit_driver(*self._key, held), self.constants)


@lru_cache(maxsize=32)
def _control(robot: Robot, model: LoopModel, law: Callable[..., Any], options: Options) -> Compiled:
    return compile_function(control(Feedback(law, None, options), robot, model), robot)


@lru_cache(maxsize=32)
def _closed(
    robot: Robot, model: LoopModel, law: Callable[..., Any], options: Options, settings: Options
) -> Compiled:
    return compile_function(closed_flow(Feedback(law, None, options), robot, dict(settings), model), robot)


@lru_cache(maxsize=32)
def _closed_jacobian(
    robot: Robot, model: LoopModel, law: Callable[..., Any], options: Options, settings: Options
) -> Compiled:
    function = closed_flow(Feedback(law, None, options), robot, dict(settings), model)

    def jacobian(robot: Robot, s: Array, u: Array, constants: Array) -> Array:
        return by_state(function(robot, s, u, constants), s)

    vars(jacobian)["made_from"] = vars(function)["made_from"]
    return compile_function(jacobian, robot, inputs=input_shapes(function, robot), minimised=False)


@lru_cache(maxsize=32)
def _closed_driver(
    robot: Robot, model: LoopModel, law: Callable[..., Any], options: Options, settings: Options
) -> Any:
    return compile_rk4(closed_flow(Feedback(law, None, options), robot, dict(settings), model), robot)


@lru_cache(maxsize=32)
def _held_driver(
    robot: Robot, model: LoopModel, law: Callable[..., Any], options: Options, settings: Options
) -> Any:
    function = control(Feedback(law, None, options), robot, model)
    return compile_rk4(model.flow, robot, options=dict(settings), control=function)


@lru_cache(maxsize=32)
def _implicit_driver(
    robot: Robot,
    model: LoopModel,
    law: Callable[..., Any],
    options: Options,
    settings: Options,
    held: bool,
) -> Any:
    own = Feedback(law, None, options)
    if held:
        function = control(own, robot, model)
        return compile_irk5(model.flow, robot, options=dict(settings), control=function)
    return compile_irk5(closed_flow(own, robot, dict(settings), model), robot)
