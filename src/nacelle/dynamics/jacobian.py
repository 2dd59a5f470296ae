"""The Jacobians between the nacelle and the actuators, by the model that is counted and exported.

    q_a' = J_r^-1 v,      v = J_r q_a'                           [KI2007] (10), (80)

v (n,) reduced twist, m/s and rad/s in base axes, q_a' (actuators,) rates of the actuators, rad/s or m/s. The
legs give J_r^-1 (actuators, n); J_r is its inverse, for redundant actuation its pseudo-inverse. The
transposes take forces the other way: F = J_r^-T Gamma along v.
"""

from __future__ import annotations

from typing import Any

from nacelle.dynamics import compact_form
from nacelle.kinematics.jacobian import Jacobian, judged
from nacelle.model.robot import Robot


def jacobian(robot: Robot, x: Any, *, guess: Any = None) -> Jacobian:
    """Jacobians between the reduced twist and the rates of the actuators: q_a' = J_r^-1 v, v = J_r q_a'.

    J_r^-1 is (..., actuators, n), J_r (..., n, actuators); twists in base axes.

    Args:
        robot: the robot.
        x: reduced poses (..., nx).
        guess: solutions near by, for robots that need iteration, as in `inverse_kinematics`.

    Raises:
        UnreachableError: if a single pose is out of reach; in a batch it is flagged.
        SingularError: if a single pose is a parallel singularity, where J_r does not exist; in a batch it is
            flagged, and J_r is NaN.
    """
    return judged(robot, compact_form.at_states("jacobian", robot, x, guess=guess))
