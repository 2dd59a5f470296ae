"""Jourdain's principle of virtual power ([AGH2005]): recursion in the axes of each body.

    tau = sum over bodies of J_T^T (m dv + dw x s + w x (w x s)) + J_R^T (I dw + w x I w + s x dv)     (14)
        + (dq/dtheta)^T Q_f                                                                       (13)

Velocities, accelerations (gravity is an acceleration of the base, upwards) and their partial derivatives
J_T, J_R after the generalised velocities theta' = v run from body to body, (5)-(10), each in the axes of the
body; nothing is computed in base axes. Rates of the joints, dq/dtheta and q'' come from the inverse
kinematics of each leg. Friction acts in all joints, active and passive, (24)-(28), also where
the loops are cut.

[AGH2005] has serial legs; a body that carries two (a pair of rods), bodies that hang on the platform, and
platforms with joints follow by the same recursion, so the formulation supports every robot.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from nacelle.dynamics.compliance import add_forces_between_bodies
from nacelle.dynamics.joint_effort import axis_effort, loaded_joints, relative_angular_acceleration
from nacelle.dynamics.physics import Physics
from nacelle.dynamics.state import State
from nacelle.dynamics.wrench import inertial_wrench
from nacelle.model.joint import Joint, Primitive
from nacelle.model.leg import BASE, PLATFORM
from nacelle.model.robot import body_parameters, has_mass
from nacelle.spatial.pose import Pose, identity
from nacelle.spatial.rotation import skew
from nacelle.spatial.scalar import Array, cross
from nacelle.spatial.screw import AngularMotion
from nacelle.tree.actuation import joint_axes
from nacelle.tree.spanning_tree import JointTransform, transform_pose


class PrimitiveRates(NamedTuple):
    """Rates of a primitive (k,), their time derivatives, and their partial ones (k, n) after theta'."""

    rate: Array
    acceleration: Array
    partial: Array


class LocalMotion(NamedTuple):
    """How a frame moves, in its own axes.

    Attributes:
        v: velocity of its origin, m/s.
        w: angular velocity, rad/s.
        dv: acceleration of its origin less that of gravity, m/s^2.
        dw: angular acceleration, rad/s^2.
        JT: dv/dtheta' (3, n).
        JR: dw/dtheta' (3, n).
    """

    v: Array
    w: Array
    dv: Array
    dw: Array
    JT: Array
    JR: Array

    def in_frame(self, frame: Pose) -> LocalMotion:
        """The motion of a frame that is fixed in this one ([AGH2005] (5)-(10) without a joint)."""
        R, r = frame.R.T, frame.p
        w, dw = self.w, self.dw
        return LocalMotion(
            R @ (self.v + cross(w, r)),
            R @ w,
            R @ (self.dv + cross(dw, r) + cross(w, cross(w, r))),
            R @ dw,
            R @ (self.JT - skew(r) @ self.JR),
            R @ self.JR,
        )

    def after_rotation(self, axes: Array, rates: PrimitiveRates) -> LocalMotion:
        """The motion after a rotation about axes (3, k) of the new frame ([AGH2005] (7), (8), (10))."""
        s_dot = axes @ rates.rate
        dw = self.dw + cross(self.w, s_dot) + axes @ rates.acceleration
        return self._replace(w=self.w + s_dot, dw=dw, JR=self.JR + axes @ rates.partial)

    def after_translation(self, axes: Array, rates: PrimitiveRates) -> LocalMotion:
        """The motion after a translation along axes (3, k) of the new frame ([AGH2005] (5), (6), (9))."""
        s_dot = axes @ rates.rate
        dv = self.dv + axes @ rates.acceleration + 2.0 * cross(self.w, s_dot)
        return self._replace(v=self.v + s_dot, dv=dv, JT=self.JT + axes @ rates.partial)


def primitive_axes(primitive: Primitive) -> Array:
    """Directions (3, k) of a primitive in its own frame."""
    return np.eye(3) if primitive is Primitive.SPHERICAL else np.eye(3)[:, [primitive.axis]]


def joint_rates(state: State, index: int, u_dot: Array) -> list[PrimitiveRates]:
    """Rates of a tree joint, primitive by primitive: u, u' and the rows of U, from u_dot (rates,)."""
    robot, moving = state.robot, state.moving
    start = robot.platform_nv + robot.v_slices[index].start
    result = []
    for primitive in robot.joints[index].primitives:
        indices = slice(start, start + primitive.nv)
        result.append(PrimitiveRates(moving.u[indices], u_dot[indices], moving.U[indices]))
        start += primitive.nv
    return result


def across_joint(
    joint: Joint, before: LocalMotion, steps: Sequence[JointTransform], rates: Sequence[PrimitiveRates]
) -> LocalMotion:
    """The motion of a joint's second body from that of its first, in the axes of each."""
    now = before.in_frame(joint.frame_predecessor)
    for primitive, step, rate in zip(joint.primitives, steps, rates, strict=True):
        now = now.in_frame(transform_pose(primitive, step))
        axes = primitive_axes(primitive)
        now = now.after_rotation(axes, rate) if primitive.is_rotation else now.after_translation(axes, rate)
    return now.in_frame(joint.frame_successor.inverse())


def body_motions(state: State, u_dot: Array) -> dict[int, LocalMotion]:
    """Motions of all bodies in their own axes, each from the body that carries it; u_dot (rates,).

    Accelerations are less gravity, so that weight needs no term of its own.
    """
    robot, moving = state.robot, state.moving
    nv, n = robot.platform_nv, moving.U.shape[1]
    gravity, still, none = np.asarray(robot.gravity), np.zeros(3), np.zeros((3, n))
    R = state.now.motion.poses[PLATFORM].R.T
    platform = LocalMotion(R @ moving.u[:3], still, R @ (u_dot[:3] - gravity), still, R @ moving.U[:3], none)
    if nv == 6:
        angular = slice(3, 6)
        platform = platform._replace(w=R @ moving.u[angular], dw=R @ u_dot[angular], JR=R @ moving.U[angular])
    bodies = {BASE: LocalMotion(still, still, -gravity, still, none, none), PLATFORM: platform}
    start = 0
    for index, joint in enumerate(robot.tree_joints):
        steps = state.now.steps[start : start + len(joint.primitives)]
        rates = joint_rates(state, index, u_dot)
        bodies[joint.successor] = across_joint(joint, bodies[joint.predecessor], steps, rates)
        start += len(joint.primitives)
    return bodies


def closure_rates(state: State, bodies: dict[int, LocalMotion], index: int) -> list[PrimitiveRates]:
    """Rates of a joint where a loop is cut, axis by axis, from the motions of its two bodies.

    They are compared in the axes of the joint's second frame, at a point of the axis.
    """
    joint, poses = state.robot.joints[index], state.now.motion.poses
    first = poses[joint.predecessor] @ joint.frame_predecessor
    second = poses[joint.successor] @ joint.frame_successor
    gap = first.inverse() @ second
    rates = []
    for axis in joint_axes(joint, gap.inverse(), identity()):
        at = Pose(np.eye(3), axis.point)
        far = bodies[joint.successor].in_frame(joint.frame_successor).in_frame(at)
        near = bodies[joint.predecessor].in_frame(joint.frame_predecessor).in_frame(gap).in_frame(at)
        spin = relative_angular_acceleration(axis, *(AngularMotion(body.w, body.dw) for body in (near, far)))
        pairs = ((far.v - near.v, far.w - near.w), (far.dv - near.dv, spin))
        rate, acceleration = (axis.along(*pair) for pair in pairs)
        rates.append(PrimitiveRates(rate, acceleration, axis.along(far.JT - near.JT, far.JR - near.JR)))
    return rates


def generalised_force(state: State, a: Array, physics: Physics) -> Array:
    """Force tau (n,), N or N m, along the reduced twist that a motion requires ([AGH2005] (11)).

    tau = sum over bodies J_T^T f + J_R^T n, f and n (3,) the inertial less the external wrench in body axes
    at the body's origin, with friction, springs and rotors along the rates of their joints; a (n,) is dv/dt.
    """
    robot, poses = state.robot, state.now.motion.poses
    state = add_forces_between_bodies(state, physics)
    u_dot = state.moving.U @ a + state.moving.bias
    bodies = body_motions(state, u_dot)
    tau: Array = np.zeros(len(a))
    for index, body in bodies.items():
        if index != BASE and has_mass(robot, index):
            f, n = inertial_wrench(body_parameters(robot, index), body.dv, body.w, body.dw)
            tau = tau + body.JT.T @ f + body.JR.T @ n
        if index != BASE and index in state.external:
            f, n = state.external[index].rotate(poses[index].R.T)
            tau = tau - body.JT.T @ f - body.JR.T @ n
    # Friction of all joints (24)-(28), springs and rotors, along (dq/dtheta')^T.
    for index in loaded_joints(robot):
        inside = index < robot.tree
        rates = joint_rates(state, index, u_dot) if inside else closure_rates(state, bodies, index)
        for number, axis_rates in enumerate(rates):
            effort = axis_effort(state, index, number, axis_rates.rate, axis_rates.acceleration, physics)
            tau = tau + axis_rates.partial.T @ effort
    return np.asarray(tau)
