"""Operating points: states of motion with the actuator forces and the acceleration that belong together.

    F(x, v, a) = M a + h(x, v) = J_r^-T tau + L

holds along the reduced twist (n,), M mass matrix, h bias, L external wrenches: inverse dynamics gives tau
(actuators,) where a = dv/dt (n,) is given, forward dynamics a otherwise. Base axes, SI units.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from nacelle.dynamics.external import checked_forces, twist_and_derivative
from nacelle.dynamics.forward import forward_dynamics
from nacelle.dynamics.inverse import inverse_dynamics
from nacelle.kinematics.shapes import of_actuators, of_pose, of_twist, of_unknowns
from nacelle.kinematics.underactuated import undriven
from nacelle.model.robot import Robot
from nacelle.spatial.physics import gathers
from nacelle.spatial.scalar import Array


class OperatingPoint(NamedTuple):
    """States (...) that satisfy the equations of motion.

    Attributes:
        x: reduced poses (..., nx).
        y: what was found by iteration (..., ny).
        v: reduced twists (..., n).
        a: their derivatives (..., n).
        tau: actuator forces (..., actuators), N or N m.
    """

    x: Array
    y: Array
    v: Array
    a: Array
    tau: Array


# What a physics function declares for a point, field by field.
POINT_SHAPES = {"x": of_pose, "y": of_unknowns, "v": of_twist, "a": of_twist, "tau": of_actuators}

at_point = gathers(OperatingPoint, len(OperatingPoint._fields))


def operating_point(
    robot: Robot,
    x: Any,
    v: Any,
    *,
    a: Any = None,
    tau: Any = None,
    external: Mapping[str, Any] | None = None,
    friction: bool = True,
    smooth: float | None = None,
    guess: Any = None,
) -> tuple[OperatingPoint, Array]:
    """The operating point at an acceleration (zero if None), or at actuator forces if given; and its flags.

    Coordinates that nothing drives accelerate as the forces let them.

    Raises:
        KinematicsError, UnreachableError, SingularError: as in `inverse_dynamics`.
    """
    v, a = twist_and_derivative(robot, v, a)
    given: dict[str, Any] = {"external": external, "friction": friction, "smooth": smooth, "guess": guess}
    if tau is None:
        held = inverse_dynamics(robot, x, v, a, free=undriven(robot), **given)
        a = a if held.acceleration is None else held.acceleration
        return OperatingPoint(held.x, held.y, v, a, held.force), held.flags
    tau = checked_forces(robot, tau)
    driven = forward_dynamics(robot, x, v, tau, **given)
    return OperatingPoint(driven.x, driven.y, v, driven.acceleration, tau), driven.flags
