"""What tolerances of the described geometry add to the deviations of estimates.

The estimates hold lengths, anchors and the zeros of encoders p (c,) at what the description says. Errors of
these are independent, with the deviations T of drawings and of homing, and move the estimates by B p. The
residuals say something about p as well, to first order

    B = A^-1 Q^T S,     J = D^-1 rho D^-1,     h_j = p_j / D_j^2

with S (rows, c) the effects on the forces, p_j what the residuals show of one number alone, D_j its deviation
and rho (c, c) the correlations of what the parameters leave of the effects. What is left of p has the mean
m and the covariance P, and adds C to the covariance of the estimates (consider covariance: of numbers that
are uncertain and not estimated; Schmidt 1966),

    P = (T^-2 + J)^-1,     m = P h,     C = B (P + m m^T) B^T
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array

# Deviation of described lengths over the robot's size, and of angles and zeros of encoders, rad.
_TOLERANCE = 0.001


@dataclass(frozen=True, eq=False)
class GeometryErrors:
    """How errors of c numbers of the geometry act on p estimates, and what the residuals show of them.

    Attributes:
        slopes: B (p, c), in units of the parameters for 1 m or 1 rad.
        information: J (c, c).
        score: h (c,).
        is_angle: whether a number is an angle (c,).
    """

    slopes: Array
    information: Array
    score: Array
    is_angle: Array

    def deviations(self, length: float, angle: float) -> Array:
        """Deviations (p,) that lengths and angles known to these deviations, m and rad, add to estimates."""
        T = np.where(self.is_angle, angle, length)
        # Scaled by T, so that a number without tolerance is exact: P = T (1 + T J T)^-1 T.
        P = T[:, None] * np.linalg.inv(np.eye(len(T)) + T[:, None] * self.information * T) * T
        m = P @ self.score
        variances = np.einsum("pc,cd,pd->p", self.slopes, P + np.outer(m, m), self.slopes)
        return np.asarray(np.sqrt(np.maximum(variances, 0.0)))


def usual_tolerances(robot: Robot, length: float | None) -> tuple[float, float]:
    """Deviations of lengths, m, and angles, rad; those of ordinary machines if no length is given."""
    if length is None:
        return _TOLERANCE * robot.size, _TOLERANCE
    return length, length / robot.size
