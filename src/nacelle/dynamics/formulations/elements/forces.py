"""Local forces and torques of elements ([OAM] section 4.2, Table 2), and their projection.

Every body has its own wrench, inertia less weight less what acts from outside; every joint with friction, a
spring or a rotor has a force or moment e along each of its axes, which acts on the body behind the joint and,
with the opposite sign, on the body before it. [OAM] (61) and Table 2 leave the second one out: the friction
of a passive joint acts on the proximal bar too. All wrenches are those that the motion requires, so [OAM]'s
have the other sign. On the motion basis u of a leg they are

    F_u = sum over bodies of [dS'/du; dw/du]^T [f; n]                                    [OAM] (52)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from nacelle.dynamics.formulations.elements.motion import ElementBodyMotion, LegMotion
from nacelle.dynamics.joint_axes import JointAxis, joint_axes, relative_spin
from nacelle.dynamics.joint_effort import axis_effort, loaded_joints
from nacelle.dynamics.settings import Settings
from nacelle.dynamics.state import State
from nacelle.dynamics.wrench import Wrench, body_wrench
from nacelle.kinematics.elements.rates import Rigid, resting
from nacelle.kinematics.tree.closure import closure_frames
from nacelle.model.joint import Joint
from nacelle.model.leg import BASE
from nacelle.model.loaded import has_mass
from nacelle.spatial.scalar import Array


class PointWrench(NamedTuple):
    """A wrench on a body, about a point (3,), base axes, N and N m."""

    body: int
    point: Array
    wrench: Wrench


def whole_bodies(motion: ElementBodyMotion) -> dict[int, Rigid]:
    """How each body moves, whatever the motion basis is: for values and their derivatives."""
    bodies = {BASE: resting(1)}
    for leg in motion.legs:
        bodies |= {body: rigid for body, _, rigid in leg.carried}
    return bodies | dict(motion.nacelle)


def body_forces(state: State, bodies: dict[int, Rigid], settings: Settings) -> list[PointWrench]:
    """What inertia, weight and external wrenches require, about each body's origin."""
    wrenches = []
    for body in range(1, len(state.robot.bodies)):
        if has_mass(state.robot, body) or body in settings.external:
            p, w = state.now.motion.poses[body].p, bodies[body].w
            motion = bodies[body].at(p).next, w.now, w.next
            wrenches.append(
                PointWrench(body, p, body_wrench(state, body, *motion, settings.external.get(body)))
            )
    return wrenches


def joint_forces(state: State, bodies: dict[int, Rigid], settings: Settings) -> list[PointWrench]:
    """What rotors, springs and friction require, on both bodies of each joint."""
    wrenches: list[PointWrench] = []
    for index in loaded_joints(state.robot):
        joint = state.robot.joints[index]
        one, two = bodies[joint.predecessor], bodies[joint.successor]
        for number, axis in enumerate(joint_axes(joint, *closure_frames(joint, state.now.motion))):
            v1, v2 = one.at(axis.point), two.at(axis.point)
            rate = axis.along(v2.now - v1.now, two.w.now - one.w.now)
            spin = relative_spin(axis, (one.w.now, two.w.now), (one.w.next, two.w.next))
            acceleration = axis.along(v2.next - v1.next, spin)
            effort = axis_effort(state, index, number, rate, acceleration, settings)
            wrenches += _pair(joint, axis, effort)
    return wrenches


def actuator_pair(state: State, index: int) -> list[PointWrench]:
    """A unit force of an actuator, on both bodies of its joint ([OAM] (16))."""
    joint = state.robot.joints[index]
    (axis,) = joint_axes(joint, *closure_frames(joint, state.now.motion))
    return _pair(joint, axis, np.ones(1))


def _pair(joint: Joint, axis: JointAxis, effort: Array) -> list[PointWrench]:
    """A force or moment on the body behind a joint, and its opposite on the one before."""
    return [
        PointWrench(joint.successor, axis.point, axis.wrench(effort)),
        PointWrench(joint.predecessor, axis.point, axis.wrench(-effort)),
    ]


def dynamic_coordinates(leg: LegMotion, wrenches: Sequence[PointWrench]) -> Array:
    """Dynamic coordinates of a leg (m,): [dS'/du]^T f + [dw/du]^T n over its bodies ([OAM] (52))."""
    total: Array = np.zeros(len(leg.u.M))
    for body, share, rigid in leg.carried:
        for wrench in wrenches:
            if wrench.body == body:
                f, n = wrench.wrench
                total = total + (rigid.at(wrench.point).M.T @ f + rigid.w.M.T @ n) * share
    return np.asarray(total)
