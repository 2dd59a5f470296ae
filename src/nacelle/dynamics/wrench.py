"""The wrench that a body's inertia and weight require (Newton and Euler).

About the origin o of the body's frame, in its axes, with the ten parameters m, h = m c, I:

    f = m (a_o - g) + w' x h + w x (w x h)
    n = h x (a_o - g) + I w' + w x (I w)            [CB1997] (27), corrected; [KI2007] (12); [AGH2005] (14)

a_o acceleration of the origin, m/s^2; w angular velocity, rad/s; g gravity. Every formulation takes it from
here: they differ in the motion that they give to it, and in the directions along which they project it.
"""

from __future__ import annotations

import numpy as np

from nacelle.dynamics.state import State
from nacelle.model.leg import BASE
from nacelle.model.robot import body_parameters, has_mass
from nacelle.spatial.inertia import inertia_matrix
from nacelle.spatial.scalar import Array, cross
from nacelle.spatial.screw import Wrench
from nacelle.tree.spanning_tree import point_acceleration


def inertial_wrench(parameters: Array, a: Array, w: Array, w_dot: Array) -> Wrench:
    """Wrench about a body's origin that gives it its motion, all in the body's axes.

    Args:
        parameters: ten inertial parameters [m, h, I] (10,), kg, kg m, kg m^2.
        a: acceleration of the origin less that of gravity (3,), m/s^2.
        w: angular velocity (3,), rad/s.
        w_dot: angular acceleration (3,), rad/s^2.
    """
    m, h, I = parameters[0], parameters[1:4], inertia_matrix(parameters)
    f = m * a + cross(w_dot, h) + cross(w, cross(w, h))
    return Wrench(f, cross(h, a) + I @ w_dot + cross(w, I @ w))


def body_wrench(state: State, body: int, a: Array, w: Array, w_dot: Array) -> Wrench:
    """Wrench about a body's origin, base axes: inertia less weight less external.

    Args:
        state: the robot's state.
        body: the body.
        a: acceleration of its origin (3,), base axes, m/s^2.
        w: angular velocity (3,), base axes, rad/s.
        w_dot: angular acceleration (3,), base axes, rad/s^2.
    """
    total = Wrench(np.zeros(3), np.zeros(3))
    if has_mass(state.robot, body):
        # In the body's own axes, where the parameters are constant.
        R, p = state.now.motion.poses[body].R, body_parameters(state.robot, body)
        motion = R.T @ (a - np.asarray(state.robot.gravity)), R.T @ w, R.T @ w_dot
        total = inertial_wrench(p, *motion).rotate(R)
    return total.minus(state.external[body]) if body in state.external else total


def body_wrenches(state: State, u_dot: Array) -> dict[int, Wrench]:
    """Wrenches [f; n] at their origins, base axes, N and N m, of bodies with mass or an external wrench.

    Args:
        state: where the robot is, how it moves, and what acts on it from outside.
        u_dot: accelerations of the tree's rates (rates,).
    """
    motion, velocity = state.now.motion, state.moving.velocity
    wrenches: dict[int, Wrench] = {}
    for body, pose in enumerate(motion.poses):
        if body != BASE and (has_mass(state.robot, body) or body in state.external):
            movers, twist = motion.movers[body], velocity.twists[body]
            rate = velocity.biases[body] + motion.columns[:, movers] @ u_dot[movers]
            a = point_acceleration(twist, rate, pose.p)
            wrenches[body] = body_wrench(state, body, a, twist[3:], rate[3:])
    return wrenches
