"""Feedback that is compiled with the plant, so that the whole loop runs in native code.

A law is a physics function of (robot, ...) over any scalar, which gives the actuators' forces; it declares
what it takes, among

    t      the time, ()                     q, qd  the actuators' coordinates and rates
    x, v   the reduced pose and twist       y      what iteration found, beside x
    r      the reference, any shape (k,)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from nacelle.errors import KinematicsError, did_you_mean
from nacelle.kinematics.functions import inverse_jacobian
from nacelle.kinematics.iteration.newton_steps import closing_step
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.robot import Robot
from nacelle.simulation.flow import flow, pose_of, state_size
from nacelle.spatial.physics import input_shapes, physics
from nacelle.spatial.scalar import Array

SIGNALS = ("t", "x", "y", "v", "q", "qd", "r")


@dataclass(frozen=True, eq=False)
class Feedback:
    """A law with its reference.

    Attributes:
        function: the law, a physics function.
        reference: r as a function of time, or an array with a row (k,) for every step of "rk4", held over it,
            or one row, held throughout; None if the law takes none.
        options: keyword arguments for the law, which shape the program.
    """

    function: Callable[..., Any]
    reference: Any = None
    options: tuple[tuple[str, Any], ...] = ()

    @property
    def name(self) -> str:
        """The law's name."""
        return str(getattr(self.function, "__name__", "feedback"))


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
    known = _shapes(robot)
    for name, shape in shapes.items():
        if name not in SIGNALS:
            raise KinematicsError(
                f"the feedback {law.name!r} takes {name!r}; {did_you_mean(name, SIGNALS)} "
                f"(known: {', '.join(SIGNALS)})"
            )
        if name != "r" and shape != known[name]:
            raise KinematicsError(
                f"the feedback {law.name!r} declares {name} with the shape {shape}; of {robot.name} it is "
                f"{known[name]}"
            )
    if "r" not in shapes:
        return 0
    if len(shapes["r"]) != 1:
        raise KinematicsError(f"the reference r of the feedback {law.name!r} has a shape (k,)")
    return shapes["r"][0]


def _shapes(robot: Robot) -> dict[str, tuple[int, ...]]:
    mechanism, count = mechanism_of(robot), len(robot.actuators)
    n = robot.motion.n
    nx, ny = mechanism.layout.nx, mechanism.ny
    return {"t": (), "x": (nx,), "y": (ny,), "v": (n,), "q": (count,), "qd": (count,)}


def control(law: Feedback, robot: Robot) -> Callable[..., Array]:
    """The law as a physics function of (robot, s, [t; r], quat_0)."""
    shapes = input_shapes(law.function, robot) or {}
    options = dict(law.options)

    @physics(s=state_size, u=(1 + reference_size(robot, law),), quat_0=(4,))
    def controlled(robot: Robot, s: Array, u: Array, quat_0: Array) -> Array:
        mechanism, n = mechanism_of(robot), robot.motion.n
        x, v, y = pose_of(mechanism, s[:n], quat_0), s[n : 2 * n], s[2 * n :]
        if mechanism.ny:
            y = y + closing_step(robot, y, x)["dy"]
        signals: dict[str, Any] = {"t": u[0], "r": u[1:], "x": x, "y": y, "v": v}
        if "q" in shapes or "qd" in shapes:
            found = inverse_jacobian(robot, x, y)
            signals |= {"q": found["q"], "qd": found["J"] @ v}
        force = np.asarray(law.function(robot, *(signals[name] for name in shapes), **options))
        if force.shape != (len(robot.actuators),):
            raise KinematicsError(
                f"the feedback {law.name!r} gives the shape {force.shape}; {robot.name} has "
                f"{len(robot.actuators)} actuators"
            )
        return force

    vars(controlled)["made_from"] = (law.function, law.options)
    return controlled


def closed_flow(law: Feedback, robot: Robot, settings: dict[str, Any]) -> Callable[..., Array]:
    """The flow under the law as a physics function of (robot, s, [t; r], quat_0)."""
    force = control(law, robot)

    @physics(s=state_size, u=(1 + reference_size(robot, law),), quat_0=(4,))
    def closed(robot: Robot, s: Array, u: Array, quat_0: Array) -> Array:
        return flow(robot, s, force(robot, s, u, quat_0), quat_0, **settings)

    vars(closed)["made_from"] = (law.function, law.options, sorted(settings.items()))
    return closed
