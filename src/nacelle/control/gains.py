"""Gains from a bandwidth: what every actuator feels as its mass, and the kind's own rule.

M_a = J^+T M J^+ is the mass matrix at the actuators, J^+ the left inverse of their Jacobian J. At one pose
its diagonal is the mass that an actuator feels while the others are held.
"""

from __future__ import annotations

import numpy as np

from nacelle.control.controller import Controller
from nacelle.control.kind import Kind, Tuning
from nacelle.dynamics.forward import mass_matrix
from nacelle.kinematics.inverse import inverse_kinematics
from nacelle.kinematics.kinematic_model import inverse_jacobian
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.native import native
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array

# Bandwidth of a loop over the rate of its samples if nothing is said, and the most, Hz.
_PART, _MOST = 1.0 / 80.0, 25.0
DAMPING = 1.0


def actuator_inertia(robot: Robot, x: Array) -> Array:
    """M_a (..., actuators, actuators) at poses (..., nx), kg, kg m or kg m^2."""
    joints = inverse_kinematics(robot, x, limits=False)
    J = native(inverse_jacobian, robot)(x, joints.y)["J"]
    across = np.swapaxes(J, -1, -2)
    left = np.linalg.solve(across @ J, across)
    return np.asarray(np.swapaxes(left, -1, -2) @ mass_matrix(robot, x, guess=joints) @ left)


def tuned(
    kind: Kind,
    robot: Robot,
    *,
    period: float,
    bandwidth: float | None = None,
    damping: float = DAMPING,
    delay: float = 0.0,
) -> Controller:
    """A controller with gains for a bandwidth.

    Args:
        kind: the law.
        robot: the model.
        period: sample time, s.
        bandwidth: of the loop, Hz; chosen if None.
        damping: ratio of its poles.
        delay: from a sample to the time at which its forces act, s.
    """
    x = mechanism_of(robot).reference[0]
    w = min(_MOST, _PART / period) if bandwidth is None else bandwidth
    inertia = np.diagonal(actuator_inertia(robot, x))
    limits = np.array([actuator.force for actuator in robot.actuators])
    tuning = Tuning(period, w, damping, delay, inertia, limits)
    return Controller(kind, robot, period, kind.gains(robot).join(kind.tuned(robot, tuning)))
