"""The formulation by kinematic elements ([OAM]): bars, spindles, telescopic elements and screws.

Each leg is a chain of elements with directions x, lengths d and spins theta, and carries its part of the
nacelle. Element by element the wrenches are projected on the leg's motion basis u = [x'; d'; theta'], and the
motion constraints u = M v project the sum of all legs on the motion of the nacelle:

    F_u = sum of [dS'/du; dw/du]^T [f; n]                                             [OAM] (52)
    sum over legs of M^T F_u = 0                                                      [OAM] (56)
    A Gamma + b = 0                                                                   [OAM] (58), (63)

Here A^T Gamma = F: [OAM]'s A is this A transposed and its b is -F. [OAM] counts all directions of the end
point (r rows, for the five-bar three of which one is always zero), nacelle those in which it moves (n rows).

Motion constraints: how every element moves with the nacelle ([OAM] section 5.3).

The nacelle's bodies move with its rates w = [platform twist; rates of its joints]. Leg by leg the rates u of
the elements follow from what keeps the leg together (`leg_bodies`), linear equations at a configuration,

    C_u u + C_w w = 0,     u = M w,     M = -C_u^+ C_w                           [OAM] (37), (41), (43), (55)

What a leg's equations leave over, P C_w w = 0 with P = 1 - C_u C_u^+, and the loops of the nacelle determine
in the same way those of w that depend on others. Differentiated: C_u u' + C_w w' + (C_u)' u + (C_w)' w = 0.

Local forces and torques of elements ([OAM] section 4.2, Table 2), and their projection.

Every body has its own wrench, inertia less weight less what acts from outside; every joint with friction, a
spring or a rotor has a force or moment e along each of its axes, which acts on the body behind the joint and,
with the opposite sign, on the body before it. [OAM] (61) and Table 2 leave the second one out: the friction
of a passive joint acts on the proximal bar too. All wrenches are those that the motion requires, so [OAM]'s
have the other sign. On the motion basis u of a leg they are

    F_u = sum over bodies of [dS'/du; dw/du]^T [f; n]                                    [OAM] (52)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from nacelle.dynamics.compliance import with_forces_between
from nacelle.dynamics.joint_effort import axis_effort, loaded_joints, relative_spin
from nacelle.dynamics.physics import Physics
from nacelle.dynamics.state import State, state_at
from nacelle.dynamics.wrench import body_wrench
from nacelle.kinematics.legs.leg_type import leg_type
from nacelle.kinematics.mechanism.mechanism import Mechanism, mechanism_of
from nacelle.model.joint import Joint, JointKind
from nacelle.model.leg import BASE, PLATFORM
from nacelle.model.robot import has_mass
from nacelle.papers.elements.chain import (
    end_zeros,
    free_rates,
    leg_bodies,
    motion_basis,
    part_bodies,
    part_states,
)
from nacelle.papers.elements.reading import UncoveredError, element_legs
from nacelle.papers.elements.structure import (
    ElementGeometry,
    ElementLeg,
    Rate,
    Rigid,
    cross_and_rate,
    dotted,
    resting,
    solved_rates,
    stacked,
    times,
    zero_rate,
)
from nacelle.spatial.scalar import Array, pack
from nacelle.spatial.screw import AngularMotion, Wrench
from nacelle.tree.actuation import JointAxis, joint_axes
from nacelle.tree.closure import closure_frames
from nacelle.tree.spanning_tree import point_acceleration, point_velocity


class CarriedBody(NamedTuple):
    """A body, or a part of one, that a leg carries: its motion over the leg's motion basis."""

    body: int
    share: float
    rigid: Rigid


class LegMotion(NamedTuple):
    """How the elements of a leg move.

    Attributes:
        leg: the leg.
        u: its motion basis from the reduced twist, u.M = M (m, n) ([OAM] (55)).
        carried: all bodies that it carries, over the motion basis.
    """

    leg: ElementLeg
    u: Rate
    carried: tuple[CarriedBody, ...]


@dataclass(frozen=True)
class ElementBodyMotion:
    """How all elements of a robot move.

    Attributes:
        nacelle: how the bodies of the nacelle move with the reduced twist.
        legs: how the elements of each leg move.
    """

    nacelle: Mapping[int, Rigid]
    legs: tuple[LegMotion, ...]


def element_motion(state: State, a: Array) -> ElementBodyMotion:
    """All rates of the elements at the state's twist, and their derivatives at a = dv/dt (n,)."""
    mechanism = state.mechanism
    legs = element_legs(mechanism)
    at = ElementGeometry(state.robot, state.now.motion.poses)
    independent, dependent = mechanism.rate_structure.selections
    v = Rate(np.eye(len(a)), state.moving.u[list(mechanism.independent)], a)
    w = v.through(independent)
    if mechanism.dependent:
        depends, _ = solved_rates(
            lambda depends, v: _zeros(at, legs, v.through(independent) + depends.through(dependent)),
            len(mechanism.dependent),
            v,
        )
        w = w + depends.through(dependent)
    nacelle = _nacelle(at, w)
    return ElementBodyMotion(nacelle, tuple(_leg_motion(at, leg, nacelle) for leg in legs))


def _nacelle(at: ElementGeometry, w: Rate) -> dict[int, Rigid]:
    """Motions of the nacelle's bodies from its rates w = [platform twist; its joints' rates]."""
    robot, m, rates = at.robot, at.robot.platform_nv, mechanism_of(at.robot).nacelle_rates
    rotation = zero_rate(w.M.shape[1]) if m == 3 else w[3:6]
    bodies = {PLATFORM: Rigid(at.poses[PLATFORM].p, w[0:3], rotation)}
    for j in robot.nacelle.joints:
        joint = robot.joints[j]
        body = bodies[joint.predecessor]
        if joint.kind is not JointKind.FIXED:
            F, p = at.frame(j), at.frame(j, on_successor=True).p
            z = F.R[:, 2]
            rate = times(w[m + rates.index(m + robot.v_slices[j].start)], z, body.fixed(z))
            if joint.kind is JointKind.REVOLUTE:
                body = Rigid(F.p, body.at(F.p), body.w + rate)
            else:
                reach = cross_and_rate(body.w, p - F.p, body.fixed(p - F.p) + rate.now)
                body = Rigid(p, body.at(F.p) + reach + rate, body.w)
        bodies[joint.successor] = body
    return bodies


def _zeros(at: ElementGeometry, legs: tuple[ElementLeg, ...], w: Rate) -> list[Rate]:
    """What determines dependent motions: loops of the nacelle, and legs if the motion is parasitic."""
    nacelle = _nacelle(at, w)
    zeros: list[Rate] = []
    for c in at.robot.nacelle.closures:
        joint = at.robot.joints[c]
        if joint.at_point:
            continue
        first, second = at.frame(c), at.frame(c, on_successor=True)
        one, two = nacelle[joint.predecessor], nacelle[joint.successor]
        zeros.append(two.at(second.p) - one.at(first.p))
        for k in range(2 if joint.kind is JointKind.REVOLUTE else 3):
            e = first.R[:, k]
            zeros.append(dotted(two.w - one.w, e, one.fixed(e)))
    if mechanism_of(at.robot).parasitic:
        zeros += [_solved_leg(at, leg, nacelle)[1] for leg in legs]
    return zeros


def _solved_leg(at: ElementGeometry, leg: ElementLeg, nacelle: Mapping[int, Rigid]) -> tuple[Rate, Rate]:
    """Rates of a leg's own elements, and what the leg forbids to the nacelle, over the nacelle's basis."""
    held = nacelle[leg.rods[0].nacelle]

    def zeros(free: Rate, twist: Rate) -> list[Rate]:
        moved = Rigid(held.p, twist[0:3], twist[3:6])
        made = leg_bodies(at, leg, motion_basis(at, leg, free, moved))
        return [*made.zeros, *end_zeros(at, leg, made.ends, moved)]

    free, left = solved_rates(zeros, free_rates(leg), stacked([held.v, held.w]))
    return motion_basis(at, leg, free, held), left


def _leg_motion(at: ElementGeometry, leg: ElementLeg, nacelle: Mapping[int, Rigid]) -> LegMotion:
    """A leg's motion basis from the nacelle's motion, then its bodies and parts over that basis."""
    u = stacked([_solved_leg(at, leg, nacelle)[0], *part_states(at, leg, nacelle)])
    own = Rate(np.eye(len(u.M)), u.now, u.next)
    made = leg_bodies(at, leg, own)
    parts = part_bodies(at, leg, own, made.ends[0][1])
    carried_parts = (CarriedBody(p.element.body, p.element.share, parts[p.element.body]) for p in leg.parts)
    return LegMotion(
        leg, u, (*(CarriedBody(b, 1.0, rigid) for b, rigid in made.bodies.items()), *carried_parts)
    )


# ---- local forces and torques of elements ([OAM] section 4.2, Table 2), and their projection


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


def body_forces(state: State, bodies: dict[int, Rigid]) -> list[PointWrench]:
    """What inertia, weight and external wrenches require, about each body's origin."""
    wrenches = []
    for body in range(1, len(state.robot.bodies)):
        if has_mass(state.robot, body) or body in state.external:
            p, w = state.now.motion.poses[body].p, bodies[body].w
            motion = bodies[body].at(p).next, w.now, w.next
            wrenches.append(PointWrench(body, p, body_wrench(state, body, *motion)))
    return wrenches


def joint_forces(state: State, bodies: dict[int, Rigid], physics: Physics) -> list[PointWrench]:
    """What rotors, springs and friction require, on both bodies of each joint."""
    wrenches: list[PointWrench] = []
    for index in loaded_joints(state.robot):
        joint = state.robot.joints[index]
        one, two = bodies[joint.predecessor], bodies[joint.successor]
        for number, axis in enumerate(joint_axes(joint, *closure_frames(joint, state.now.motion))):
            v1, v2 = one.at(axis.point), two.at(axis.point)
            rate = axis.along(v2.now - v1.now, two.w.now - one.w.now)
            spin = relative_spin(axis, *(AngularMotion(body.w.now, body.w.next) for body in (one, two)))
            acceleration = axis.along(v2.next - v1.next, spin)
            effort = axis_effort(state, index, number, rate, acceleration, physics)
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


# ---- the formulation by kinematic elements


# Elements and tree give the same motions in the reference pose within this part of the largest.
_SAME = 1e-7


@lru_cache(maxsize=64)
def reason_not(mechanism: Mechanism) -> str:
    """Say in one sentence why a robot cannot be written as kinematic elements; empty if it can.

    Covered are legs of a driven bar or slider with rods, with a parallelogram or with a ball on a plane,
    struts on the base, and shafts that a motor turns. Not covered are legs without elements (`leg_type`),
    spindles between universal joint and hinge (URS), screws on cylindrical joints, slides on the nacelle
    (PSPP), legs that share bodies, and nacelles with other joints than revolutes and slides. As a safeguard
    the motions of all bodies in the reference pose are compared with those of the tree.
    """
    robot = mechanism.robot
    for leg in robot.legs:
        kind = leg_type(robot, leg)
        if not kind.elements:
            return f"leg {leg.name!r} ({kind.name}) is not made of kinematic elements"
    try:
        element_legs(mechanism)
    except UncoveredError as reason:
        return str(reason)
    x, y = mechanism.reference
    v = np.cos(np.arange(robot.motion.n) + 1.0)
    state = state_at(robot, x, y, v)
    if not _agrees(state, np.sin(np.arange(robot.motion.n) + 1.0)):
        return "the motion of its bodies is not that of its kinematic elements"
    return ""


def _agrees(state: State, a: Array) -> bool:
    """Whether elements and tree give the same velocities and accelerations to all bodies."""
    motion = element_motion(state, a)
    bodies = whole_bodies(motion)
    u_dot = state.moving.U @ a + state.moving.bias
    moved, expected = [], []
    for body, pose in enumerate(state.now.motion.poses):
        if body == 0:
            continue
        if body not in bodies:
            return False
        movers = state.now.motion.movers[body]
        twist = state.moving.velocity.twists[body]
        rate = state.moving.velocity.biases[body] + state.now.motion.columns[:, movers] @ u_dot[movers]
        point = bodies[body].at(pose.p)
        moved.append([point.now, bodies[body].w.now, point.next, bodies[body].w.next])
        expected.append(
            [point_velocity(twist, pose.p), twist[3:], point_acceleration(twist, rate, pose.p), rate[3:]]
        )
    difference = np.abs(np.array(moved) - np.array(expected))
    return bool(np.all(difference <= _SAME * (1.0 + np.max(np.abs(expected)))))


def equation(state: State, a: Array, physics: Physics) -> tuple[Array, Array]:
    """Give (A, F) of the linear implicit model A^T Gamma = F ([OAM] (58), with b = -F).

    Args:
        state: where the robot is and how it moves.
        a: derivative of the reduced twist (n,).
        physics: what is included.

    Returns:
        A (actuators, m) and F (m,) along the motion coordinates of the nacelle, m = n; N, N m.
    """
    motion = element_motion(state, a)
    state = with_forces_between(state, physics)
    bodies = whole_bodies(motion)
    wrenches = [*body_forces(state, bodies), *joint_forces(state, bodies, physics)]
    rows = [
        _projected(motion.legs, actuator_pair(state, actuator.joint)) for actuator in state.robot.actuators
    ]
    return pack(rows), _projected(motion.legs, wrenches)


def generalised_force(state: State, a: Array, physics: Physics) -> Array:
    """Force (n,) along the reduced twist that the motion requires ([OAM] (56))."""
    return equation(state, a, physics)[1]


def _projected(legs: tuple[LegMotion, ...], wrenches: list[PointWrench]) -> Array:
    """Sum over legs of M^T F_u (n,) ([OAM] (56))."""
    total: Array = np.zeros(legs[0].u.M.shape[1])
    for leg in legs:
        total = total + leg.u.M.T @ dynamic_coordinates(leg, wrenches)
    return np.asarray(total)
