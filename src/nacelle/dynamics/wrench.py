"""The wrench that a body's inertia and weight ask for (Newton and Euler).

About the origin o of the body's frame, with ten parameters m, h = m c, I:

    f = m (a_o - g) + w' x h + w x (w x h)
    n = h x (a_o - g) + I w' + w x (I w)                       [CB1997] (27), corrected; [KI2007] (14)
"""

from __future__ import annotations

from typing import NamedTuple

from nacelle.kinematics.tree.spanning_tree import point_acceleration
from nacelle.spatial.inertia import inertia_matrix
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array, cross, pack


class Wrench(NamedTuple):
    """A force (N) and a moment (N m) about a point, base axes."""

    f: Array
    n: Array

    def about(self, arm: Array) -> Wrench:
        """The same wrench about a point that lies at -arm from the old one."""
        return Wrench(self.f, self.n + cross(arm, self.f))


def inertial_wrench(parameters: Array, pose: Pose, twist: Array, rate: Array, gravity: Array) -> Wrench:
    """Wrench about the body's origin that gives a body its motion against gravity, base axes.

    Args:
        parameters: ten inertial parameters.
        pose: of the body's frame.
        twist: spatial twist [v0; w] of the body.
        rate: its derivative.
        gravity: acceleration of gravity (3,), base axes.
    """
    # In the body's own axes, where the parameters are constant.
    w, w_dot = pose.R.T @ twist[3:], pose.R.T @ rate[3:]
    a = pose.R.T @ (point_acceleration(twist, rate, pose.p) - gravity)
    m, h, I = parameters[0], parameters[1:4], inertia_matrix(parameters)
    f = m * a + cross(w_dot, h) + cross(w, cross(w, h))
    n = cross(h, a) + I @ w_dot + cross(w, I @ w)
    return Wrench(pose.R @ f, pose.R @ n)


def zero_wrench() -> Wrench:
    """No force and no moment."""
    return Wrench(pack([0.0, 0.0, 0.0]), pack([0.0, 0.0, 0.0]))
