"""The formulation by kinematic elements ([OAM]): bars, spindles, telescopic elements and screws.

Each leg is a chain of elements with directions x, lengths d and spins theta, and carries its part of the
nacelle. Element by element the wrenches are projected on the leg's motion basis u = [x'; d'; theta'], and the
motion constraints u = M v project the sum of all legs on the motion of the nacelle:

    F_u = sum of [dS'/du; dw/du]^T [f; n]                                             [OAM] (52)
    sum over legs of M^T F_u = 0                                                      [OAM] (56)
    A Gamma + b = 0                                                                   [OAM] (58), (63)

Here A^T Gamma = F: [OAM]'s A is this A transposed and its b is -F. [OAM] counts all directions of the end
point (r rows, for the five-bar three of which one is always zero), nacelle those in which it moves (n rows).
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from nacelle.dynamics.compliance.dampers import with_forces_between
from nacelle.dynamics.formulations.elements.forces import (
    PointWrench,
    actuator_pair,
    body_forces,
    dynamic_coordinates,
    joint_forces,
    whole_bodies,
)
from nacelle.dynamics.formulations.elements.motion import LegMotion, element_motion
from nacelle.dynamics.settings import Settings
from nacelle.dynamics.state import State, state_at
from nacelle.kinematics.elements.reading import UncoveredError, element_legs
from nacelle.kinematics.legs.leg_type import leg_type
from nacelle.kinematics.mechanism.mechanism import Mechanism
from nacelle.kinematics.tree.spanning_tree import point_acceleration, point_velocity
from nacelle.spatial.scalar import Array, pack

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


def equation(state: State, a: Array, settings: Settings) -> tuple[Array, Array]:
    """Give (A, F) of the linear implicit model A^T Gamma = F ([OAM] (58), with b = -F).

    Args:
        state: where the robot is and how it moves.
        a: derivative of the reduced twist (n,).
        settings: what is included.

    Returns:
        A (actuators, m) and F (m,) along the motion coordinates of the nacelle, m = n; N, N m.
    """
    motion = element_motion(state, a)
    settings = with_forces_between(state, settings)
    bodies = whole_bodies(motion)
    wrenches = [*body_forces(state, bodies, settings), *joint_forces(state, bodies, settings)]
    rows = [
        _projected(motion.legs, actuator_pair(state, actuator.joint)) for actuator in state.robot.actuators
    ]
    return pack(rows), _projected(motion.legs, wrenches)


def generalised_force(state: State, a: Array, settings: Settings) -> Array:
    """Force (n,) along the reduced twist that the motion requires ([OAM] (56))."""
    return equation(state, a, settings)[1]


def _projected(legs: tuple[LegMotion, ...], wrenches: list[PointWrench]) -> Array:
    """Sum over legs of M^T F_u (n,) ([OAM] (56))."""
    total: Array = np.zeros(legs[0].u.M.shape[1])
    for leg in legs:
        total = total + leg.u.M.T @ dynamic_coordinates(leg, wrenches)
    return np.asarray(total)
