"""Feedback that is compiled with the plant, so that the whole loop runs in native code.

A law is a physics function of (robot, ...) over any scalar, which gives the actuators' forces; it declares
what it takes, among

    t      the time, ()                     q, qd  the actuators' coordinates and rates
    x, v   the reduced pose and twist       y      the joints that iteration solves for
    r      the reference, any shape (k,)    motor  forces of the motors, of a plant with drives
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from nacelle.errors import KinematicsError, did_you_mean
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.robot import Robot
from nacelle.simulation.protocol import Feedback
from nacelle.spatial.physics import input_shapes, physics
from nacelle.spatial.scalar import Array

Options = tuple[tuple[str, Any], ...]
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


def refuse_motor_signals(robot: Robot, names: Sequence[str]) -> None:
    """Refuse forces of motors as a signal of a plant without drives.

    Raises:
        KinematicsError: if they are among the signals wanted.
    """
    if MOTOR in names:
        raise KinematicsError(
            f"a controller of {robot.name} takes {MOTOR!r}, the forces of motors whose current loops have a "
            "lag: give a driven_plant with Drives(lag=...)"
        )


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


def law_inputs(
    what: str,
    function: Callable[..., Any],
    model: Robot,
    robot: Robot,
    extra: Mapping[str, tuple[int, ...]],
) -> dict[str, tuple[int, ...]]:
    """Shapes of what a law takes, by name.

    Args:
        what: label of the law for messages.
        function: the law.
        model: the robot that the law is for.
        robot: the robot that moves.
        extra: shapes of the inputs in addition to the signals.

    Raises:
        KinematicsError: if the law takes an unknown input, or one in another size.
    """
    shapes = input_shapes(function, model) or {}
    expected, names = {**signal_shapes(robot), **extra}, (*SIGNALS, *extra)
    for name, shape in shapes.items():
        if name not in names:
            raise KinematicsError(
                f"{what} takes {name!r}; {did_you_mean(name, names)} (there are {', '.join(names)})"
            )
        if name != "r" and shape != expected[name]:
            raise KinematicsError(
                f"{what} takes {name} with the shape {shape}; of {robot.name} it is {expected[name]}"
            )
    if len(shapes.get("r", (0,))) != 1:
        raise KinematicsError(f"the reference r of {what} has a shape (k,)")
    return shapes


def signal_shapes(robot: Robot) -> dict[str, tuple[int, ...]]:
    """Shapes of the signals, but of the reference."""
    mechanism, count = mechanism_of(robot), len(robot.actuators)
    n = robot.motion.n
    nx, ny = mechanism.layout.nx, mechanism.unknown_count
    return {"t": (), "x": (nx,), "y": (ny,), "v": (n,), "q": (count,), "qd": (count,), MOTOR: (count,)}


def control(law: Feedback, robot: Robot, model: LoopModel) -> Callable[..., Array]:
    """The law as a physics function of (robot, s, [t; r], constants)."""
    shapes = law_inputs(f"the feedback {law.name!r}", law.function, robot, robot, {})
    state, _, constants = (input_shapes(model.flow, robot) or {}).values()
    options = dict(law.options)

    @physics(s=state, u=(1 + shapes.get("r", (0,))[0],), constants=constants)
    def control_output(robot: Robot, s: Array, u: Array, constants: Array) -> Array:
        signals = {"t": u[0], "r": u[1:], **model.signals(robot, s, constants, tuple(shapes))}
        force = np.asarray(law.function(robot, *(signals[name] for name in shapes), **options))
        if force.shape != (len(robot.actuators),):
            raise KinematicsError(
                f"the feedback {law.name!r} gives the shape {force.shape}; {robot.name} has "
                f"{len(robot.actuators)} actuators"
            )
        return force

    vars(control_output)["made_from"] = (law.function, law.options, model.flow)
    return control_output
