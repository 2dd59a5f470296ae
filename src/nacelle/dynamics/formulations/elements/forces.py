"""Local forces and torques of elements ([OAM] section 4.2, Table 2), and their projection.

Every body has its own wrench, inertia less weight less what acts from outside; every joint with friction, a
spring or a rotor has a force or moment e along each of its axes, which acts on the body behind the joint and,
with the opposite sign, on the body before it. [OAM] (61) and Table 2 leave the second one out: the friction
of a passive joint acts on the proximal bar too. All wrenches are those that the motion asks for, so [OAM]'s
have the other sign.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from nacelle.dynamics.demand import Settings
from nacelle.dynamics.formulations.elements.bodies import Group
from nacelle.dynamics.formulations.elements.motion import ElementMotion
from nacelle.dynamics.formulations.elements.rates import Rigid, dotted, resting, turned
from nacelle.dynamics.formulations.elements.structure import frame
from nacelle.dynamics.friction import axis_friction, ball_friction
from nacelle.dynamics.joint_effort import axis_coordinate, rotors
from nacelle.dynamics.state import State
from nacelle.model.joint import Joint, JointKind
from nacelle.model.leg import BASE
from nacelle.model.loaded import body_parameters, has_mass
from nacelle.model.robot import Robot
from nacelle.spatial.inertia import inertia_matrix
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array, Scalar, cross, dot


class Local(NamedTuple):
    """A wrench on a body: force f (N) and moment n (N m) about a point (3,), base axes."""

    body: int
    point: Array
    f: Array
    n: Array


class Freedom(NamedTuple):
    """An axis of a joint as a force acts along it.

    Attributes:
        s: its direction (3,), base axes; None for a ball.
        turns: whether it turns.
        point: where a force along it acts (3,).
        rate: its rate; of a ball the relative angular velocity (3,).
    """

    s: Array | None
    turns: bool
    point: Array
    rate: Scalar


def wholes(state: State, motion: ElementMotion, found: Sequence[Group]) -> dict[int, Rigid]:
    """How each body moves, whatever the motion basis is: for values and their derivatives."""
    bodies = {BASE: resting(1)}
    for group in found:
        bodies |= {body: rigid for body, _, rigid in group.carried}
    return bodies | dict(motion.nacelle)


def inertia_forces(state: State, bodies: dict[int, Rigid]) -> list[Local]:
    """What inertia and weight ask for, about each body's origin o, with m, h = m c and I in base axes.

    f = m (o'' - g) + w' x h + w x (w x h),   n = h x (o'' - g) + I w' + w x (I w)
    """
    robot, g = state.robot, np.asarray(state.robot.gravity)
    found = []
    for body in range(1, len(robot.bodies)):
        if not has_mass(robot, body):
            continue
        pose, rigid, parameters = state.now.motion.poses[body], bodies[body], body_parameters(robot, body)
        w, w_rate = rigid.w.now, rigid.w.next
        h, I = pose.R @ parameters[1:4], pose.R @ inertia_matrix(parameters) @ pose.R.T
        fall = rigid.at(pose.p).next - g
        f = fall * parameters[0] + cross(w_rate, h) + cross(w, cross(w, h))
        found.append(Local(body, pose.p, f, cross(h, fall) + I @ w_rate + cross(w, I @ w)))
    return found


def external_forces(state: State, settings: Settings) -> list[Local]:
    """What acts from outside, taken off."""
    poses = state.now.motion.poses
    return [Local(body, poses[body].p, -wrench.f, -wrench.n) for body, wrench in settings.external.items()]


def joint_forces(state: State, bodies: dict[int, Rigid], settings: Settings) -> list[Local]:
    """What rotors, springs and friction ask for, on both bodies of each joint."""
    robot, poses = state.robot, state.now.motion.poses
    found: list[Local] = []
    for index, inertia in rotors(robot):
        (freedom,) = freedoms(robot, poses, bodies, index)
        acceleration = joint_acceleration(robot, poses, bodies, index)
        found += _pair(robot.joints[index], freedom, inertia * acceleration)
    for index, joint in enumerate(robot.joints):
        slips = settings.friction and any(joint.friction)
        if not slips and not any(spring is not None for spring in joint.springs):
            continue
        for number, freedom in enumerate(freedoms(robot, poses, bodies, index)):
            spring = joint.springs[number] if joint.springs else None
            if spring is not None:
                stretch = axis_coordinate(state, index, number) - spring.rest
                found += _pair(joint, freedom, spring.stiffness * stretch)
            terms = joint.friction[number] if slips else ()
            if terms and freedom.s is None:
                found += _pair(joint, freedom, ball_friction(terms, freedom.rate, settings.smooth))
            elif terms:
                found += _pair(joint, freedom, axis_friction(terms, freedom.rate, settings.smooth))
    return found


def actuator_pair(state: State, bodies: dict[int, Rigid], index: int) -> list[Local]:
    """A unit force of an actuator, on both bodies of its joint ([OAM] (16))."""
    robot = state.robot
    (freedom,) = freedoms(robot, state.now.motion.poses, bodies, index)
    return _pair(robot.joints[index], freedom, 1.0)


def _pair(joint: Joint, freedom: Freedom, effort: Scalar) -> list[Local]:
    """A force or moment on the body behind a joint, and its opposite on the one before."""
    vector = effort if freedom.s is None else freedom.s * effort
    zero = np.zeros(3)
    f, n = (zero, vector) if freedom.turns else (vector, zero)
    return [
        Local(joint.successor, freedom.point, f, n),
        Local(joint.predecessor, freedom.point, -f, -n),
    ]


def freedoms(robot: Robot, poses: tuple[Pose, ...], bodies: dict[int, Rigid], index: int) -> list[Freedom]:
    """The axes of a joint in the order of its friction."""
    joint = robot.joints[index]
    first, second = (frame(robot, poses, index, on_successor=side) for side in (False, True))
    one, two = bodies[joint.predecessor], bodies[joint.successor]
    turn = two.w.now - one.w.now

    def slide(s: Array, point: Array) -> Freedom:
        return Freedom(s, False, point, dot(s, two.at(point).now - one.at(point).now))

    def hinge(s: Array) -> Freedom:
        return Freedom(s, True, second.p, dot(s, turn))

    ball = Freedom(None, True, second.p, turn)
    x, y, z = first.R[:, 0], first.R[:, 1], first.R[:, 2]
    match joint.kind:
        case JointKind.REVOLUTE:
            return [hinge(z)]
        case JointKind.PRISMATIC:
            return [slide(z, second.p)]
        case JointKind.CYLINDRICAL:
            return [slide(z, second.p), hinge(z)]
        case JointKind.UNIVERSAL:
            return [hinge(x), hinge(second.R[:, 1])]
        case JointKind.SPHERICAL:
            return [ball]
        case JointKind.PLANAR_SPHERICAL:
            return [slide(x, second.p), slide(y, second.p), ball]
    return []


def joint_acceleration(robot: Robot, poses: tuple[Pose, ...], bodies: dict[int, Rigid], index: int) -> Scalar:
    """Second derivative of the coordinate of a revolute or prismatic joint, z on the body before it.

    q' = z . (w_2 - w_1), or q = z . d with d from the first origin to the second, differentiated twice.
    """
    joint = robot.joints[index]
    one, two = bodies[joint.predecessor], bodies[joint.successor]
    first, second = (frame(robot, poses, index, on_successor=side) for side in (False, True))
    z = first.R[:, 2]
    z_rate = one.carried(z)
    if joint.kind is JointKind.REVOLUTE:
        return dot(z, two.w.next - one.w.next) + dot(z_rate, two.w.now - one.w.now)
    v1, v2 = one.at(first.p), two.at(second.p)
    swing = turned(one.w, z, z_rate)
    d, d_rate = second.p - first.p, v2.now - v1.now
    d_next = v2.next - v1.next
    return dot(z, d_next) + dot(z_rate, d_rate) + dotted(swing, d, d_rate).next


def dynamic_coordinates(group: Group, wrenches: Sequence[Local]) -> Array:
    """Dynamic coordinates of a leg (m,): [dS'/du]^T f + [dw/du]^T n over its bodies ([OAM] (52))."""
    total: Array = np.zeros(len(group.M))
    for body, share, rigid in group.carried:
        for wrench in wrenches:
            if wrench.body == body:
                power = rigid.at(wrench.point).M.T @ wrench.f + rigid.w.M.T @ wrench.n
                total = total + power * share
    return np.asarray(total)
