"""What joints ask for beside the bodies: friction, springs, and rotors behind gears.

Each joint, in the tree or closing a loop, has rates along its axes, rows C over the rates of the tree; a
force or moment e along them does the power e . C u. Friction acts between the joint's two bodies, so that is
all there is to say of its reaction.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nacelle.dynamics.friction import axis_friction, ball_friction
from nacelle.dynamics.state import State
from nacelle.kinematics.actuation import joint_rate_row, rate_bias
from nacelle.kinematics.tree.closure import closure_frames
from nacelle.kinematics.tree.spanning_tree import TreeMotion, Turn
from nacelle.model.joint import Joint, JointKind, Primitive
from nacelle.model.robot import Robot
from nacelle.spatial.linear_form import is_form
from nacelle.spatial.rotation import skew
from nacelle.spatial.scalar import Array, Scalar, atan2, dot, pack


@dataclass(frozen=True)
class Axis:
    """One axis of a joint, or its ball.

    Attributes:
        joint: index of the joint.
        number: of the axis in the joint.
        rows: its rate over the rates of the tree: (1, rates), for a ball (3, rates).
    """

    joint: int
    number: int
    rows: Array

    @property
    def is_ball(self) -> bool:
        """Whether it is a ball, whose rate is an angular velocity."""
        return len(self.rows) == 3


def joint_axes(robot: Robot, motion: TreeMotion, index: int) -> list[Axis]:
    """The axes of a joint with their rates."""
    joint = robot.joints[index]
    if index >= robot.tree:
        return _closure_axes(robot, motion, index)
    axes = []
    start = robot.platform_nv + robot.v_slices[index].start
    for number, primitive in enumerate(joint.primitives):
        rows = np.zeros((primitive.nv, motion.columns.shape[1]))
        rows[range(primitive.nv), range(start, start + primitive.nv)] = 1.0
        axes.append(Axis(index, number, rows))
        start += primitive.nv
    return axes


def _closure_axes(robot: Robot, motion: TreeMotion, index: int) -> list[Axis]:
    joint = robot.joints[index]
    first, second = closure_frames(joint, motion)
    J1 = motion.point_jacobian(joint.predecessor, first.p)
    J2 = motion.point_jacobian(joint.successor, second.p)
    turn = J2[3:] - J1[3:]
    d = second.p - first.p
    # Velocity of the second origin seen from the first frame, and seen from the second.
    slip = J2[:3] - J1[:3] + skew(d) @ J1[3:]
    own_slip = J2[:3] - J1[:3] + skew(d) @ J2[3:]
    x, y, z = first.R[:, 0], first.R[:, 1], first.R[:, 2]
    match joint.kind:
        case JointKind.REVOLUTE:
            rows = [turn.T @ z]
        case JointKind.PRISMATIC:
            rows = [slip.T @ z]
        case JointKind.CYLINDRICAL:
            rows = [slip.T @ z, turn.T @ z]
        case JointKind.UNIVERSAL:
            rows = [turn.T @ x, turn.T @ second.R[:, 1]]
        case JointKind.SPHERICAL:
            return [Axis(index, 0, turn)]
        case JointKind.PLANAR_SPHERICAL:
            slides = [slip.T @ x, slip.T @ y]
            return [
                *(Axis(index, k, row.reshape(1, -1)) for k, row in enumerate(slides)),
                Axis(index, 2, turn),
            ]
        case JointKind.SPHERICAL_PLANAR:
            slides = [own_slip.T @ second.R[:, 0], own_slip.T @ second.R[:, 1]]
            return [
                Axis(index, 0, turn),
                *(Axis(index, k + 1, row.reshape(1, -1)) for k, row in enumerate(slides)),
            ]
        case _:
            rows = []
    return [Axis(index, k, row.reshape(1, -1)) for k, row in enumerate(rows)]


@dataclass(frozen=True)
class Effort:
    """What has to be held along an axis of a joint.

    Attributes:
        axis: the axis.
        values: forces or moments along its rates (k,), N or N m.
    """

    axis: Axis
    values: Array

    @property
    def rows(self) -> Array:
        """The axis' rates over the rates of the tree (k, rates)."""
        return self.axis.rows


def friction_efforts(state: State, smooth: float | None = None) -> list[Effort]:
    """Friction of all joints, active and passive, in the tree and where loops are cut."""
    robot, motion = state.robot, state.now.motion
    efforts = []
    for index, joint in enumerate(robot.joints):
        if not any(joint.friction):
            continue
        for axis in joint_axes(robot, motion, index):
            terms = joint.friction[axis.number]
            if not terms:
                continue
            rate = axis.rows @ state.moving.u
            if axis.is_ball:
                efforts.append(Effort(axis, ball_friction(terms, rate, smooth)))
            else:
                efforts.append(Effort(axis, pack([axis_friction(terms, rate[0], smooth)])))
    return efforts


def spring_efforts(state: State) -> list[Effort]:
    """Springs of all joints: what has to be held against them, stiffness (q - rest)."""
    robot, motion = state.robot, state.now.motion
    efforts = []
    for index, joint in enumerate(robot.joints):
        for axis in joint_axes(robot, motion, index) if any(joint.springs) else []:
            spring = joint.springs[axis.number]
            if spring is not None:
                q = axis_coordinate(state, index, axis.number)
                efforts.append(Effort(axis, pack([spring.held_force(q)])))
    return efforts


def axis_coordinate(state: State, index: int, number: int) -> Scalar:
    """Coordinate of an axis of a joint (rad or m)."""
    robot = state.robot
    joint = robot.joints[index]
    if index < robot.tree:
        start = sum(len(other.primitives) for other in robot.tree_joints[:index])
        step = state.now.steps[start + number]
        return atan2(step.s, step.c) if isinstance(step, Turn) else step
    return _closure_coordinate(joint, state.now.motion, number)


def _closure_coordinate(joint: Joint, motion: TreeMotion, number: int) -> Scalar:
    first, second = closure_frames(joint, motion)
    primitive = joint.primitives[number]
    d = second.p - first.p
    if primitive is Primitive.RZ:
        return atan2(dot(first.R[:, 1], second.R[:, 0]), dot(first.R[:, 0], second.R[:, 0]))
    if primitive is Primitive.RX:
        return atan2(dot(first.R[:, 2], second.R[:, 1]), dot(first.R[:, 1], second.R[:, 1]))
    if primitive is Primitive.RY:
        return atan2(dot(first.R[:, 0], second.R[:, 2]), dot(first.R[:, 0], second.R[:, 0]))
    if joint.kind is JointKind.SPHERICAL_PLANAR:
        return dot(second.R[:, primitive.axis], d)
    return dot(first.R[:, primitive.axis], d)


def rotors(robot: Robot) -> list[tuple[int, Scalar]]:
    """Joints with a rotor, and its inertia seen from the joint: gear_ratio^2 rotor_inertia."""
    return [
        (index, joint.gear_ratio * joint.gear_ratio * joint.rotor_inertia)
        for index, joint in enumerate(robot.joints)
        if robot.numeric.joints[index].rotor_inertia or is_form(joint.rotor_inertia)
    ]


def rotor_efforts(state: State, u_dot: Array) -> list[Effort]:
    """What the rotors ask for at accelerations u_dot of the tree's rates."""
    robot, motion = state.robot, state.now.motion
    efforts = []
    for index, inertia in rotors(robot):
        row = joint_rate_row(robot, motion, index)
        acceleration = row @ u_dot + rate_bias(robot, motion, state.moving.velocity, index)
        efforts.append(Effort(Axis(index, 0, row.reshape(1, -1)), pack([inertia * acceleration])))
    return efforts
