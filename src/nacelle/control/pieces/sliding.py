"""The sliding variable: a reference that leads back to the desired motion, and how far the twist is from it.

With the displacement e from the pose to the desired one along the twist (`pose_difference`),

    v_ref = v_d + l e        a_ref = a_d + l e'        s = v_ref - v

l the rate, rad/s, at which e decays while s is zero. J.-J. E. Slotine, W. Li: On the adaptive control of
robot manipulators. Int. J. of Robotics Research 6(3), 1987.

Of a rotation by t about n, base axes, e = 2 sin(t/2) n is twice the vector part of the quaternion from the
orientation to the desired one; from its derivative, with c = cos(t/2),

    e' = c (w_d - w) + (w_d + w) x e / 2
"""

from __future__ import annotations

from typing import NamedTuple

from nacelle.control.kind import DesiredMotion
from nacelle.control.pieces.ahead import Ahead
from nacelle.control.pieces.pose import pose_difference
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array, Scalar, cross, dot, maximum, pack, sqrt


class Sliding(NamedTuple):
    """The reference v_ref, a_ref (n,) and the sliding variable s (n,), along the reduced twist."""

    v_ref: Array
    a_ref: Array
    s: Array


def sliding(robot: Robot, motion: DesiredMotion, ahead: Ahead, rate: Scalar) -> Sliding:
    """v_ref = v_d + l e, a_ref = a_d + l e' and s = v_ref - v (n,), m/s and rad/s, base axes.

    Args:
        robot: the robot.
        motion: the desired x, v_d and a_d.
        ahead: pose, unknowns and twist v of the platform when the force will act.
        rate: l, rad/s.
    """
    e = pose_difference(robot, motion.x, ahead.x, ahead.y)
    v_ref = motion.v + rate * e
    a_ref = motion.a + rate * _rate(robot, e, motion.v, ahead.v)
    return Sliding(v_ref, a_ref, v_ref - ahead.v)


def _rate(robot: Robot, e: Array, v_d: Array, v: Array) -> Array:
    """The derivative e' (n,)."""
    off = v_d - v
    place = mechanism_of(robot).layout.angular
    if mechanism_of(robot).layout.quaternion is None or place is None:
        return off
    turn = e[place]
    c = sqrt(maximum(1.0 - 0.25 * dot(turn, turn), 0.0))
    turning = c * off[place] + 0.5 * cross(v_d[place] + v[place], turn)
    return pack([*off[: place.start], *turning, *off[place.stop :]])
