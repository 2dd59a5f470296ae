"""A state of motion: where everything is, how it moves, and what rests on it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nacelle.kinematics.configuration import Configuration, configuration
from nacelle.kinematics.margins import margins
from nacelle.kinematics.mechanism import Mechanism, mechanism
from nacelle.kinematics.rates import Moving, moving
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array


@dataclass(frozen=True)
class State:
    """A robot at a pose and a twist.

    Attributes:
        robot: the robot; its numbers may be symbols.
        known: its analysis.
        now: all positions.
        moving: all rates from v, and their drift.
    """

    robot: Robot
    known: Mechanism
    now: Configuration
    moving: Moving

    def margins(self) -> Array:
        """How far every leg is from a serial singularity; see `nacelle.kinematics.margins`."""
        return margins(self.robot, self.known, self.now)


def state_at(robot: Robot, x: Array, y: Array, v: Array) -> State:
    """The state at a reduced pose x (with what iteration found, y) and a reduced twist v."""
    known = mechanism(robot)
    now = configuration(robot, known, x, y)
    return State(robot, known, now, moving(robot, known, now, v))


def body_parameters(robot: Robot, body: int) -> Array:
    """Ten inertial parameters of a body with the payload on it."""
    total = np.asarray(robot.bodies[body].inertia)
    for load in robot.payload:
        if load.body == body:
            total = total + np.asarray(load.inertia)
    return total


def has_mass(robot: Robot, body: int) -> bool:
    """Whether a body, with the payload on it, has any inertia; decided by the robot's own numbers."""
    return bool(np.any(body_parameters(robot.numeric, body) != 0.0))
