"""Shifts of encoder zeros that redundant encoders show by themselves, without forces.

More encoders than degrees of freedom agree on a pose only if their zeros are right. With x(t) the pose of
least squares, in units in which all encoders count alike, and J (actuators, n) = dq/dv there,

    e(t) = q - q(x),      with zeros z added to q:  e + N z,      N = 1 - J J^+

Along a direction u, one encoder or all, the best shift is s = -sum (N u)^T e / sum |N u|^2. It is reported if
it is above five deviations (those of `zero_shift`: what remains is correlated over time) and 0.005 rad or
robot sizes, and leaves at most half of the disagreement: geometry that is wrong makes encoders disagree, too,
but not as a constant shift does.
"""

from __future__ import annotations

import numpy as np

from nacelle.dynamics.jacobian import jacobian
from nacelle.identification.data.checks.correction import Correction
from nacelle.identification.data.checks.judge import Judge
from nacelle.identification.data.checks.zero_shift import BELIEVED, score_variance
from nacelle.kinematics.forward.actuator_path import actuator_scales, unwound
from nacelle.kinematics.inverse import inverse_kinematics
from nacelle.spatial.scalar import Array

# Shifts below this, rad or robot sizes, may be errors of the geometry; what one must leave at most.
_SMALLEST, _LEFT = 0.005, 0.5
# Independent samples, and the part of the samples that may have no pose.
_INDEPENDENT, _LOST = 60.0, 0.05


def zeros_of_gaps(judge: Judge, correction: Correction) -> tuple[Array, float]:
    """The shift of zeros (actuators,) that makes redundant encoders agree, rad or robot sizes.

    Returns:
        The shift, zero if none is to be reported, and the smallest one of any encoder that would be.
    """
    robot = judge.robot
    m, n = len(robot.actuators), robot.motion.n
    zeros, smallest = np.zeros(m), np.inf
    path = judge.path(correction)
    good = np.all(np.isfinite(path.x), axis=1)
    if m == n or np.mean(~good) > _LOST:
        return zeros, smallest
    units = actuator_scales(robot)
    own = inverse_kinematics(robot, path.x[good], limits=False).actuators
    e = (unwound(robot, path.q[good], own) - own) / units
    J = jacobian(robot, path.x[good]).inverse / units[:, None]
    N = np.eye(m) - J @ np.linalg.pinv(J)
    best = np.sum(e**2)
    for u in (*np.eye(m), np.ones(m)):
        d = -N @ u
        square = float(np.sum(d**2))
        if square <= 1e-6 * len(e):
            continue
        s = float(np.sum(d * e)) / square
        r = e - s * d
        freedom = max(len(e) * (m - n) - 1.0, 1.0)
        floor = np.sum(r**2) / freedom * max(len(e) / _INDEPENDENT, 1.0) / square
        deviation = float(np.sqrt(max(floor, score_variance(np.sum(d * r, axis=1)) / square**2)))
        least = max(BELIEVED * deviation, _SMALLEST)
        smallest = min(smallest, least)
        if abs(s) > least and np.sum(r**2) < min(best, _LEFT**2 * np.sum(e**2)):
            zeros, best = s * u, np.sum(r**2)
    return zeros, smallest
