"""Inertial forces along a reference: M a_r + C(x, v) v_r + g from forces at plain motions.

C = sum over particles of dm J^T J', so that M' - 2 C is skew-symmetric. J'(v) v_r is bilinear: with Q(v) =
J'(v) v,

    J'(v) v_r = Q(v + v_r) / 4 - Q(v - v_r) / 4 + J c / 2,      c = [0; w_r x w]

over the independent rates. c is there because twists are no derivatives of coordinates: the derivatives of
J v_r along v and of J v along v_r differ by J c, w and w_r the platform's angular velocities.
"""

from __future__ import annotations

import numpy as np

from nacelle.kinematics.mechanism.mechanism import Mechanism
from nacelle.spatial.scalar import Array, cross, pack


def reference_motions(
    mechanism: Mechanism, v: Array, v_ref: Array, a_ref: Array, w: Array, w_ref: Array
) -> list[tuple[float, Array, Array]]:
    """Motions (weight, v, a) whose weighted inertial forces, gravity among them, are those of a reference.

    Args:
        mechanism: the robot's analysis.
        v: reduced twist (n,).
        v_ref: that of the reference (n,).
        a_ref: derivative of the reference (n,).
        w: angular velocity (3,) of the platform at v, rad/s; zero for a point.
        w_ref: the same at v_ref.
    """
    spin = cross(w_ref, w)
    c = pack([spin[k - 3] if k in (3, 4, 5) else 0.0 for k in _rates(mechanism)])
    a = a_ref + 0.5 * c
    still = np.zeros(len(v))
    return [(0.25, v + v_ref, 2.0 * a), (-0.25, v - v_ref, -2.0 * a), (1.0, still, still)]


def _rates(mechanism: Mechanism) -> list[int]:
    """Places in u of the independent rates; -1 for those that are no rates of a platform with axes."""
    return [k if mechanism.robot.platform_nv == 6 else -1 for k in mechanism.independent]
