"""How a robot's pose is completed before a program that is differentiated (`nacelle.compile.closing`)."""

from __future__ import annotations

from nacelle.compile.closing import Closing
from nacelle.kinematics.iteration.newton_steps import closing_step
from nacelle.kinematics.iteration.unknowns import start_of, unknowns
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array


def closing_of(robot: Robot) -> Closing:
    """Unit quaternions, and closed loops by Newton's iteration from the reference pose."""
    mechanism = mechanism_of(robot)

    def find(x: Array, y: Array | None) -> Array:
        return unknowns(mechanism, x, start_of(robot, y)).y

    step = closing_step if mechanism.ny else None
    return Closing(robot, mechanism.layout.quaternion, step, mechanism.reference, find)
