"""The formulation by kinematic elements ([OAM]): bars, spindles, telescopic elements and screws.

Each leg is a chain of elements with directions x, lengths d and spins theta, and carries its part of the
platform. Element by element the wrenches are projected on the leg's motion basis u = [x'; d'; theta'], and
the motion constraints u = M v project the sum of all legs on the motion of the platform:

    F_u = sum of [dS'/du; dw/du]^T [f; n]                                             [OAM] (52)
    sum over legs of M^T F_u = 0                                                      [OAM] (56)
    A Gamma + b = 0                                                                   [OAM] (58), (63)

Here A^T Gamma = F: [OAM]'s A is this A transposed and its b is -F. [OAM] counts all directions of the end
point (r rows, for the five-bar three of which one is always zero), platform those in which it moves (n rows).

The kinematic coordinates [dS'/du; dw/du] of a body ([OAM] (49), (50), Table 1) follow from the base outwards,

    B' = A' + d' x + d x',   w = x x x' + theta' x                                   [OAM] (12), (14), (30)

with every point that lies off an element's line carried along as w x e. The motion constraints M ([OAM] (41),
(43), (55)) are the rates of the elements at unit twists: an element of a body with angular velocity w has
x' = w x x and theta' = w . x, and d' is what the body slides along x. On a universal joint whose first axis a
is on the base that spin is (a . x) ((a x x) . x') / |a x x|^2, which [OAM] (7) leaves out; a strut between
two spherical joints has an idle spin, and none about the line of their centres is taken.

Every body has its own wrench, inertia less weight less what acts from outside; every joint with friction, a
spring or a rotor has a force or moment e along each of its axes, which acts on the body behind the joint and,
with the opposite sign, on the body before it. [OAM] (61) and Table 2 leave the second one out: the friction
of a passive joint acts on the proximal bar too. All wrenches are those that the motion requires, so [OAM]'s
have the other sign.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from nacelle.compact.line_legs.geometry import sample_motions
from nacelle.dynamics.compliance import add_forces_between_bodies
from nacelle.dynamics.joint_effort import joint_efforts
from nacelle.dynamics.physics import Physics
from nacelle.dynamics.state import State
from nacelle.dynamics.wrench import body_wrenches
from nacelle.kinematics.legs.leg_type import leg_type
from nacelle.kinematics.legs.parallelogram import Parallelogram
from nacelle.kinematics.mechanism.mechanism import Mechanism, mechanism_of
from nacelle.model.leg import BASE
from nacelle.model.robot import Robot
from nacelle.papers.elements.structure import (
    ElementGeometry,
    ElementLeg,
    EndJoint,
    UnsupportedElementsError,
    element_legs,
    welded_bodies,
)
from nacelle.spatial.rotation import skew
from nacelle.spatial.scalar import Array, divide, dot, pack
from nacelle.spatial.screw import Wrench
from nacelle.tree.actuation import closure_axes, joint_axes
from nacelle.tree.closure import closure_frames
from nacelle.tree.rates import tree_rates
from nacelle.tree.spanning_tree import TreeKinematics

# States of an element that are vectors (3,); others are numbers.
_VECTORS = ("A", "x")
# Elements and tree give the same motions in sample poses within this part of the largest.
_SAME = 1e-7


class PartialVelocity(NamedTuple):
    """How a rigid body moves with the motion basis u (m,) of a leg.

    Attributes:
        p: a point of the body (3,), m, base axes.
        v: dp'/du (3, m).
        w: dw/du (3, m).
    """

    p: Array
    v: Array
    w: Array

    def at(self, point: Array) -> Array:
        """dS'/du (3, m) of the body's point S at `point` (3,), base axes: v + w x r ([OAM] (14), (15))."""
        return np.asarray(self.v - skew(point - self.p) @ self.w)


class CarriedBody(NamedTuple):
    """A body that a leg carries, the part of its wrenches that it carries, and its kinematic coordinates."""

    body: int
    share: float
    velocity: PartialVelocity


class LegMotion(NamedTuple):
    """How the elements of a leg move.

    Attributes:
        leg: the leg.
        M: its motion basis from the reduced twist (m, n) ([OAM] (55)).
        carried: all bodies that it carries, over the motion basis.
    """

    leg: ElementLeg
    M: Array
    carried: tuple[CarriedBody, ...]


def element_motion(robot: Robot, motion: TreeKinematics, U: Array) -> list[LegMotion]:
    """How the elements of all legs move where the tree is, U (rates, n) its rates from the reduced twist."""
    at = ElementGeometry(robot, motion.poses)
    return [
        LegMotion(leg, _motion_constraints(at, leg, motion, U), _carried_bodies(at, leg))
        for leg in element_legs(mechanism_of(robot))
    ]


def _motion_constraints(at: ElementGeometry, leg: ElementLeg, motion: TreeKinematics, U: Array) -> Array:
    """M (m, n): the rates of a leg's elements from the reduced twist."""
    rows: list[Array] = []
    for element, (A, x) in zip(leg.all_elements, at.lines(leg), strict=True):
        J = motion.point_jacobian(element.body, A) @ U
        for name in element.basis:
            if name == "d":
                tube = BASE if leg.prismatic is None else leg.rods[0].body
                rows.append(x @ (J - motion.point_jacobian(tube, A) @ U)[:3])
            else:
                rows += list({"A": J[:3], "x": -skew(x) @ J[3:], "theta": [x @ J[3:]]}[name])
    return np.stack(rows)


# ---- kinematic coordinates


def _carried_bodies(at: ElementGeometry, leg: ElementLeg) -> tuple[CarriedBody, ...]:
    """The bodies of a leg from the base outwards, then its parts of the platform."""
    states, lines = _basis_rows(leg), at.lines(leg)
    none = np.zeros((3, sum(len(rows) for basis in states for rows in basis.values())))
    rest = before = PartialVelocity(np.zeros(3), none, none)
    bodies: dict[int, PartialVelocity] = {}
    if leg.driver is not None:
        (A, x), basis = lines[0], states[0]
        moves = x[:, None] * basis["d"] if "d" in basis else none
        before = bodies[leg.elements[0].body] = PartialVelocity(
            A, moves, _partial_angular_velocity(x, basis, none)
        )
    ends: list[PartialVelocity] = []
    for k, rod in enumerate(leg.bars, start=leg.first_bar):
        (A, x), basis = lines[k], states[k]
        end = bodies[rod.body] = PartialVelocity(A, before.at(A), _partial_angular_velocity(x, basis, none))
        if rod.hold.cross is not None:
            cross = end._replace(w=_cross_angular_velocity(at, rod.hold, before.w, end.w))
            bodies.setdefault(rod.hold.cross, cross)
        if leg.moving is not None:
            # P = A + d x: P' = A' + d' x + d x'
            d = dot(x, at.ends(leg, rod)[1] - A)
            end = PartialVelocity(A + x * d, end.v + x[:, None] * basis["d"] + basis["x"] * d, end.w)
            bodies[leg.moving] = end
        ends.append(end)
    last = ends[0] if ends else before
    if leg.fold is not None:
        last = _close_parallelogram(at, leg.fold, bodies)
    stem = welded_bodies(at.robot)
    bodies |= {b: rest if stem[b] == BASE else bodies[stem[b]] for b in leg.leg.bodies if stem[b] != b}
    carried = [CarriedBody(body, 1.0, partial) for body, partial in bodies.items()]
    for k, part in enumerate(leg.parts, start=len(leg.elements)):
        (A, x), basis = lines[k], states[k]
        holder = last if part.neighbour is None else bodies[part.neighbour]
        partial = PartialVelocity(
            A, basis["A"] if "A" in basis else holder.at(A), _partial_angular_velocity(x, basis, none)
        )
        bodies[part.element.body] = partial
        carried.append(CarriedBody(part.element.body, part.element.share, partial))
    return tuple(carried)


def _basis_rows(leg: ElementLeg) -> list[dict[str, Array]]:
    """For every element of a leg its states, each as rows (3 or 1, m) of the motion basis."""
    sizes = [{name: 3 if name in _VECTORS else 1 for name in e.basis} for e in leg.all_elements]
    rows = iter(np.eye(sum(size for variables in sizes for size in variables.values())))
    return [
        {name: np.stack([next(rows) for _ in range(k)]) for name, k in variables.items()}
        for variables in sizes
    ]


def _partial_angular_velocity(x: Array, states: Mapping[str, Array], none: Array) -> Array:
    """dw/du (3, m) of an element: x x x' + theta' x ([OAM] (12), (13)); none of one that does not turn."""
    spin = skew(x) @ states["x"] if "x" in states else none
    return spin + x[:, None] * states["theta"] if "theta" in states else spin


def _cross_angular_velocity(at: ElementGeometry, hold: EndJoint, before: Array, behind: Array) -> Array:
    """dw/du (3, m) of the body between two revolutes: w_1 + q1' a, where q1' a + q2' b = w_2 - w_1."""
    a, b = (at.axis(axis) for axis in hold.axes)
    k = dot(a, b)
    g = (a - b * k) * divide(1.0, 1.0 - k * k)
    return np.asarray(before + np.outer(a, g @ (behind - before)))


def _close_parallelogram(
    at: ElementGeometry, fold: Parallelogram, bodies: dict[int, PartialVelocity]
) -> PartialVelocity:
    """Its rods start at the hub; its end, which is given, moves with the first one and turns as the hub."""
    joints = at.robot.joints
    hub = bodies[joints[fold.hub].successor]
    for j in (fold.rod_a, fold.rod_b):
        root, rod = at.frame(j).p, joints[j].successor
        bodies[rod] = PartialVelocity(root, hub.at(root), bodies[rod].w)
    tip = at.frame(fold.end).p
    end = PartialVelocity(tip, bodies[joints[fold.rod_a].successor].at(tip), hub.w)
    bodies[joints[fold.end].successor] = end
    return end


# ---- local forces and torques of elements ([OAM] section 4.2, Table 2), and their projection


class PointWrench(NamedTuple):
    """A wrench on a body, about a point (3,), base axes, N and N m."""

    body: int
    point: Array
    wrench: Wrench


def _motion_wrenches(state: State, a: Array, physics: Physics) -> list[PointWrench]:
    """What bodies require about their origins, and rotors, springs and friction on both bodies of a joint."""
    motion, u_dot = state.now.motion, state.moving.U @ a + state.moving.bias
    state = add_forces_between_bodies(state, physics)
    bodies = body_wrenches(state, u_dot)
    wrenches = [PointWrench(body, motion.poses[body].p, wrench) for body, wrench in bodies.items()]
    for effort in joint_efforts(state, u_dot, physics):
        wrenches += _wrench_pair(state, effort.joint, effort.number, effort.values)
    return wrenches


def _wrench_pair(state: State, index: int, number: int, effort: Array) -> list[PointWrench]:
    """Efforts (k,) along an axis of a joint on the body behind it, and their opposite on the one before."""
    joint, motion = state.robot.joints[index], state.now.motion
    inside = index < state.robot.tree
    axes = joint_axes(joint, *closure_frames(joint, motion)) if inside else closure_axes(joint, motion)
    axis = axes[number]
    return [
        PointWrench(joint.successor, axis.point, axis.wrench(effort)),
        PointWrench(joint.predecessor, axis.point, axis.wrench(-effort)),
    ]


def _project_wrenches(legs: Sequence[LegMotion], wrenches: Sequence[PointWrench]) -> Array:
    """Sum over legs of M^T F_u (n,), F_u = sum of [dS'/du]^T f + [dw/du]^T n (m,) ([OAM] (52), (56))."""
    total: Array = np.zeros(legs[0].M.shape[1])
    for leg in legs:
        F: Array = np.zeros(len(leg.M))
        for body, share, partial in leg.carried:
            for wrench in wrenches:
                if wrench.body == body:
                    f, n = wrench.wrench
                    F = F + (partial.at(wrench.point).T @ f + partial.w.T @ n) * share
        total = total + leg.M.T @ F
    return np.asarray(total)


# ---- the formulation by kinematic elements


@lru_cache(maxsize=64)
def reason_not(mechanism: Mechanism) -> str:
    """Say in one sentence why a robot cannot be written as kinematic elements; empty if it can.

    Covered are legs of a driven bar or slider with rods, with a parallelogram or with a ball on a plane,
    struts on the base, and shafts that a motor turns. Not covered are legs without elements (`leg_type`),
    spindles between universal joint and hinge (URS), screws on cylindrical joints, slides on the platform
    (PSPP), legs that share bodies, and platforms with other joints than revolutes and slides. As a safeguard
    the motions of all bodies in sample poses are compared with those of the tree.
    """
    robot = mechanism.robot
    for leg in robot.legs:
        kind = leg_type(robot, leg)
        if not kind.elements:
            return f"leg {leg.name!r} ({kind.name}) is not made of kinematic elements"
    try:
        element_legs(mechanism)
    except UnsupportedElementsError as reason:
        return str(reason)
    if not all(_agrees_with_tree(mechanism, motion) for motion in sample_motions(mechanism)):
        return "the motion of its bodies is not that of its kinematic elements"
    return ""


def _agrees_with_tree(mechanism: Mechanism, motion: TreeKinematics) -> bool:
    """Whether elements and tree give the same twists to all bodies."""
    robot = mechanism.robot
    U = tree_rates(robot, mechanism, motion, np.zeros(robot.motion.n)).U
    expected = {body: motion.jacobian(body) @ U for body in range(1, len(robot.bodies))}
    largest = max(float(np.max(np.abs(J))) for J in expected.values())
    legs = element_motion(robot, motion, U)
    for leg in legs:
        for body, _, partial in leg.carried:
            J = np.concatenate([partial.at(motion.poses[body].p), partial.w]) @ leg.M
            if float(np.max(np.abs(J - expected[body]))) > _SAME * (1.0 + largest):
                return False
    return {body for leg in legs for body, _, _ in leg.carried} == set(expected)


def implicit_model(state: State, a: Array, physics: Physics) -> tuple[Array, Array]:
    """Give (A, F) of the linear implicit model A^T Gamma = F ([OAM] (58), with b = -F).

    Args:
        state: where the robot is and how it moves.
        a: derivative of the reduced twist (n,).
        physics: what is included.

    Returns:
        A (actuators, m) and F (m,) along the motion coordinates of the platform, m = n; N, N m.
    """
    legs = element_motion(state.robot, state.now.motion, state.moving.U)
    # A unit force of each actuator, on both bodies of its joint ([OAM] (16)).
    units = [_wrench_pair(state, actuator.joint, 0, np.ones(1)) for actuator in state.robot.actuators]
    A = pack([_project_wrenches(legs, pair) for pair in units])
    return A, _project_wrenches(legs, _motion_wrenches(state, a, physics))


def generalised_force(state: State, a: Array, physics: Physics) -> Array:
    """Force (n,) along the reduced twist that the motion requires ([OAM] (56))."""
    return implicit_model(state, a, physics)[1]
