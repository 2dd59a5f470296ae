"""The Jacobians between the platform and the actuators, by the model that is counted and exported.

    q_a' = J_r^-1 v,      v = J_r q_a'                           [KI2007] (10), (80)

v (n,) reduced twist, m/s and rad/s in base axes, q_a' (actuators,) rates of the actuators, rad/s or m/s. The
legs give J_r^-1 (actuators, n); J_r is its inverse, for redundant actuation its pseudo-inverse. The
transposes take forces the other way: F = J_r^-T Gamma along v.

Poses around the reference that a robot can hold.

From the reference pose x_0 (nx,) steps e (n,) along the tangent of the pose are drawn uniformly,

    |e_i| <= 0.2 u_i / 2^k,      u_i the robot's size (m) for lengths, 1 rad for angles,      k = 0, 1, ...

and x = x_0 moved by e (translations and a rotation vector in base axes, joints of the platform). A pose
counts if inverse kinematics reaches it within all limits, and if the inverse condition number of the scaled
J_r^-1 is above 0.2 of that in x_0: it is far from a parallel singularity. The box is halved until enough
count.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nacelle.dynamics import evaluation
from nacelle.errors import UnreachableError
from nacelle.kinematics.jacobian import Jacobian, flag_jacobian
from nacelle.kinematics.motion import integrate_pose
from nacelle.kinematics.pose_input import reference_pose
from nacelle.kinematics.shapes import twist_scales
from nacelle.kinematics.solve.inverse import inverse_kinematics
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array


def jacobian(robot: Robot, x: Any, *, guess: Any = None) -> Jacobian:
    """Jacobians between the reduced twist and the rates of the actuators: q_a' = J_r^-1 v, v = J_r q_a'.

    q' = J_r^-1 v, and v = J_r q' where it is square.

    J_r^-1 is (..., actuators, n), J_r (..., n, actuators); twists in base axes.

    Args:
        robot: the robot.
        x: reduced poses (..., nx), m and quat_xyzw or rad, in the base frame.
        guess: solutions near by, for robots that need iteration, as in `inverse_kinematics`.

    Returns:
        Matrices (..., actuators, n) and (..., n, actuators), rad/s or m/s for each m/s or rad/s in base
        axes.

    Raises:
        UnreachableError: if a single pose is out of reach; in a batch it is flagged.
        SingularError: if a single pose is a parallel singularity, where J_r does not exist; in a batch it is
            flagged, and J_r is NaN.
    """
    return flag_jacobian(robot, evaluation.evaluate_at_poses("jacobian", robot, x, guess=guess))


# Half the width of the box from which poses are drawn: in the robot's size, or rad.
_REACH = 0.2
# A pose whose conditioning is below this part of that in the reference is too near a singularity.
_POOR = 0.2


def sample_poses(robot: Robot, count: int = 200, *, seed: int = 0, reach: float = _REACH) -> Array:
    """Random poses (count, nx) around the reference, within reach and limits and far from singularities.

    They fill a box of `reach` of the robot's size, and as many rad, to either side, or the largest half,
    quarter, ... of it of which at least every fourth pose can be held.

    Raises:
        UnreachableError: if there are no such poses.
    """
    rng = np.random.default_rng(seed)
    x = reference_pose(robot)
    fair = float(jacobian(robot, x).conditioning) * _POOR
    units = twist_scales(robot)
    for halving in range(8):
        steps = rng.uniform(-1.0, 1.0, (4 * count, robot.motion.n)) * units * reach / 2.0**halving
        # All poses start from the reference, whose tangent they follow.
        poses = integrate_pose(robot, np.broadcast_to(x, (4 * count, x.size)), steps)
        good = inverse_kinematics(robot, poses).ok
        good[good] = jacobian(robot, poses[good]).conditioning > fair
        if np.count_nonzero(good) >= count:
            return np.asarray(poses[good][:count])
    raise UnreachableError(
        f"{robot.name} holds hardly any pose around its reference within reach and limits: give poses"
    )
