"""Jourdain's principle of virtual power ([AGH2005]): recursion in the axes of each body.

    tau = sum over bodies of J_T^T (m dv + dw x s + w x (w x s)) + J_R^T (I dw + w x I w + s x dv)     (14)
        + (dq/dtheta)^T Q_f                                                                       (13)

Velocities, accelerations (gravity is an acceleration of the base, upwards) and their partial derivatives
J_T, J_R after the generalised velocities theta' = v run from body to body, (5)-(10), each in the axes of the
body; nothing is found in base axes. Rates of the joints, dq/dtheta and q'' come from the inverse kinematics
of each leg. Friction acts in all joints, active and passive, (24)-(28), also where the loops are cut.

[AGH2005] has serial legs; a body that carries two (a pair of rods), bodies that hang on the nacelle, and
nacelles with joints follow by the same recursion, so the formulation serves every robot.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from nacelle.dynamics.demand import Settings
from nacelle.dynamics.friction import axis_friction, ball_friction
from nacelle.dynamics.joint_effort import axis_coordinate, rotors
from nacelle.dynamics.state import State
from nacelle.kinematics.mechanism.mechanism import Mechanism
from nacelle.kinematics.tree.spanning_tree import Step, step_motion
from nacelle.model.joint import Joint, JointKind, Primitive
from nacelle.model.leg import BASE, PLATFORM
from nacelle.model.loaded import body_parameters, has_mass
from nacelle.spatial.inertia import inertia_matrix
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation import skew
from nacelle.spatial.scalar import Array, Scalar, cross


def applies(mechanism: Mechanism) -> str:
    """Why the formulation does not serve a robot: it serves all of them, so this is empty."""
    del mechanism
    return ""


class Rates(NamedTuple):
    """Rates of a primitive (k,), their time derivatives, and their partial ones (k, n) after theta'."""

    rate: Array
    acceleration: Array
    partial: Array


class Local(NamedTuple):
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

    def seen(self, frame: Pose) -> Local:
        """The motion of a frame that is fixed in this one ([AGH2005] (5)-(10) without a joint)."""
        R, r = frame.R.T, frame.p
        w, dw = self.w, self.dw
        return Local(
            R @ (self.v + cross(w, r)),
            R @ w,
            R @ (self.dv + cross(dw, r) + cross(w, cross(w, r))),
            R @ dw,
            R @ (self.JT - skew(r) @ self.JR),
            R @ self.JR,
        )

    def turned(self, axes: Array, rates: Rates) -> Local:
        """The motion after a turn about axes (3, k) of the new frame ([AGH2005] (7), (8), (10))."""
        own = axes @ rates.rate
        dw = self.dw + cross(self.w, own) + axes @ rates.acceleration
        return self._replace(w=self.w + own, dw=dw, JR=self.JR + axes @ rates.partial)

    def slid(self, axes: Array, rates: Rates) -> Local:
        """The motion after a slide along axes (3, k) of the new frame ([AGH2005] (5), (6), (9))."""
        own = axes @ rates.rate
        dv = self.dv + axes @ rates.acceleration + 2.0 * cross(self.w, own)
        return self._replace(v=self.v + own, dv=dv, JT=self.JT + axes @ rates.partial)


def primitive_axes(primitive: Primitive) -> Array:
    """Directions (3, k) of a primitive in its own frame."""
    return np.eye(3) if primitive is Primitive.BALL else np.eye(3)[:, [primitive.axis]]


def joint_rates(state: State, index: int, u_dot: Array) -> list[Rates]:
    """Rates of a tree joint, primitive by primitive: what the inverse kinematics of the leg gives."""
    robot, moving = state.robot, state.moving
    start = robot.platform_nv + robot.v_slices[index].start
    result = []
    for primitive in robot.joints[index].primitives:
        place = slice(start, start + primitive.nv)
        result.append(Rates(moving.u[place], u_dot[place], moving.U[place]))
        start += primitive.nv
    return result


def through(joint: Joint, before: Local, steps: Sequence[Step], rates: Sequence[Rates]) -> Local:
    """The motion of a joint's second body from that of its first, in the axes of each."""
    now = before.seen(joint.frame_predecessor)
    for primitive, step, own in zip(joint.primitives, steps, rates, strict=True):
        now = now.seen(step_motion(primitive, step))
        axes = primitive_axes(primitive)
        now = now.turned(axes, own) if primitive.turns else now.slid(axes, own)
    return now.seen(joint.frame_successor.inverse())


def body_motions(state: State, u_dot: Array) -> dict[int, Local]:
    """Motions of all bodies in their own axes, each from the body that carries it."""
    robot, moving = state.robot, state.moving
    nv, n = robot.platform_nv, moving.U.shape[1]
    gravity, still, none = np.asarray(robot.gravity), np.zeros(3), np.zeros((3, n))
    R = state.now.motion.poses[PLATFORM].R.T
    platform = Local(R @ moving.u[:3], still, R @ (u_dot[:3] - gravity), still, R @ moving.U[:3], none)
    if nv == 6:
        turn = slice(3, 6)
        platform = platform._replace(w=R @ moving.u[turn], dw=R @ u_dot[turn], JR=R @ moving.U[turn])
    bodies = {BASE: Local(still, still, -gravity, still, none, none), PLATFORM: platform}
    start = 0
    for index, joint in enumerate(robot.tree_joints):
        steps = state.now.steps[start : start + len(joint.primitives)]
        rates = joint_rates(state, index, u_dot)
        bodies[joint.successor] = through(joint, bodies[joint.predecessor], steps, rates)
        start += len(joint.primitives)
    return bodies


def body_force(parameters: Array, body: Local) -> Array:
    """Share (n,) of one body in the generalised force ([AGH2005] (14)).

    Args:
        parameters: ten inertial parameters.
        body: its motion.
    """
    m, s, I = parameters[0], parameters[1:4], inertia_matrix(parameters)
    w, dw, dv = body.w, body.dw, body.dv
    force = m * dv + cross(dw, s) + cross(w, cross(w, s))
    moment = I @ dw + cross(w, I @ w) + cross(s, dv)
    return np.asarray(body.JT.T @ force + body.JR.T @ moment)


class Axis(NamedTuple):
    """An axis of a joint: index of the joint, number of the axis in it, and its rates."""

    joint: int
    number: int
    rates: Rates


def tree_axes(state: State, u_dot: Array) -> Iterator[Axis]:
    """Axes of the joints of the tree."""
    for index in range(state.robot.tree):
        for number, rates in enumerate(joint_rates(state, index, u_dot)):
            yield Axis(index, number, rates)


def closure_axes(state: State, bodies: dict[int, Local], index: int) -> Iterator[Axis]:
    """Axes of a joint where a loop is cut, from the motions of its two bodies.

    They are compared in the axes of the joint's second frame, at its origin. A massless point has no
    orientation, so a joint to it has no axes.
    """
    joint, poses = state.robot.joints[index], state.now.motion.poses
    first = poses[joint.predecessor] @ joint.frame_predecessor
    second = poses[joint.successor] @ joint.frame_successor
    gap = first.inverse() @ second
    two = bodies[joint.successor].seen(joint.frame_successor)
    # The first body's motion in the axes of the second frame, at its origin.
    one = bodies[joint.predecessor].seen(joint.frame_predecessor).seen(gap)
    # Accelerations are asked for where there are rotors, on revolute and prismatic joints: what the axis' own
    # motion adds is across the axis.
    turn = Rates(two.w - one.w, two.dw - one.dw, two.JR - one.JR)
    slide = Rates(two.v - one.v, two.dv - one.dv, two.JT - one.JT)
    for number, primitive in enumerate(joint.primitives if joint.kind is not JointKind.POINT else ()):
        own = turn if primitive.turns else slide
        axes = primitive_axes(primitive)
        # The second axis of a universal joint turns with the second frame.
        if primitive is not Primitive.BALL and not (number and joint.kind is JointKind.UNIVERSAL):
            axes = gap.R.T @ axes
        yield Axis(index, number, Rates(axes.T @ own.rate, axes.T @ own.acceleration, axes.T @ own.partial))


def axis_force(state: State, axis: Axis, settings: Settings) -> Array:
    """Share (n,) of an axis: friction ([AGH2005] (24)-(28)), spring and rotor, along (dq/dtheta')^T."""
    joint, rate = state.robot.joints[axis.joint], axis.rates.rate
    terms = joint.friction[axis.number] if joint.friction and settings.friction else ()
    if len(rate) == 3:
        effort = ball_friction(terms, rate, settings.smooth) if terms else np.zeros(3)
        return np.asarray(axis.rates.partial.T @ effort)
    total: Scalar = axis_friction(terms, rate[0], settings.smooth) if terms else 0.0
    spring = joint.springs[axis.number] if joint.springs else None
    if spring is not None:
        total = total + spring.held_force(axis_coordinate(state, axis.joint, axis.number))
    for index, inertia in rotors(state.robot):
        if index == axis.joint:
            total = total + inertia * axis.rates.acceleration[0]
    return np.asarray(axis.rates.partial[0] * total)


def generalised_force(state: State, a: Array, settings: Settings) -> Array:
    """Force (n,) along the reduced twist, tau of [AGH2005] (11)."""
    robot, poses = state.robot, state.now.motion.poses
    u_dot = state.moving.U @ a + state.moving.bias
    bodies = body_motions(state, u_dot)
    tau: Array = np.zeros(len(a))
    for index, body in bodies.items():
        if index != BASE and has_mass(robot, index):
            tau = tau + body_force(body_parameters(robot, index), body)
        if index != BASE and index in settings.external:
            f, n = settings.external[index]
            R = poses[index].R.T
            tau = tau - body.JT.T @ (R @ f) - body.JR.T @ (R @ n)
    busy = {index for index, _ in rotors(robot)}
    busy |= {k for k, joint in enumerate(robot.joints) if any(joint.friction) or any(joint.springs)}
    axes = [axis for axis in tree_axes(state, u_dot) if axis.joint in busy]
    for index in range(robot.tree, len(robot.joints)):
        axes += closure_axes(state, bodies, index) if index in busy else []
    for axis in axes:
        tau = tau + axis_force(state, axis, settings)
    return np.asarray(tau)
