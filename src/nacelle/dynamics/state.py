"""A state of motion: where everything is, how it moves, and what rests on it.

From the reduced pose x (nx,), the passive coordinates y (ny,) and the reduced twist v (n,):

    poses (R, p) of all bodies        u = U v           rates of the equivalent tree from the twist
    twists V_b = J_b u of all bodies  u' = U dv/dt + b  b the rates' derivatives where dv/dt = 0

U (rates, n), J_b (6, rates), b (rates,); twists [v; w] in base axes, SI units. All models of the dynamics by
the tree start from here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from nacelle.kinematics.configuration import Configuration, configuration, rates_at, rates_at_rest
from nacelle.kinematics.margins import margins
from nacelle.kinematics.mechanism.mechanism import Mechanism
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array
from nacelle.spatial.screw import Wrench
from nacelle.tree.actuation import actuator_rows
from nacelle.tree.rates import TreeRates


@dataclass(frozen=True)
class State:
    """A robot at a pose and a twist.

    Attributes:
        now: the robot with all positions.
        moving: all rates u = U v, and their bias accelerations: u' = U dv/dt + bias.
        external: wrenches that act on bodies from outside, about their origins, base axes, N and N m.
    """

    now: Configuration
    moving: TreeRates
    external: Mapping[int, Wrench] = field(default_factory=dict)

    @property
    def robot(self) -> Robot:
        """The robot; its numbers may be symbols."""
        return self.now.robot

    @property
    def mechanism(self) -> Mechanism:
        """Its analysis."""
        return self.now.mechanism

    @property
    def inverse_jacobian(self) -> Array:
        """J_r^-1 (actuators, n): rates of the actuators from the reduced twist."""
        return np.asarray(actuator_rows(self.robot, self.now.motion) @ self.moving.U)

    def margins(self) -> Array:
        """How far every leg is from a serial singularity (legs,), 0 there (`nacelle.kinematics.margins`)."""
        return margins(self.now)


def state_at(robot: Robot, x: Array, y: Array, v: Array) -> State:
    """The state at a reduced pose x (nx,), passive coordinates y (ny,) and a reduced twist v (n,)."""
    now = configuration(robot, x, y)
    return State(now, rates_at(now, v))


def state_at_rest(robot: Robot, x: Array, y: Array) -> State:
    """The state at rest at a reduced pose x (nx,), with the passive coordinates y (ny,)."""
    now = configuration(robot, x, y)
    return State(now, rates_at_rest(now))
