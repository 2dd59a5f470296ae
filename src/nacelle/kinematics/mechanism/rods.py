"""Rods: bodies between two spherical joints, which the form knows by their two points alone.

The point of a rod at the part s = x / l of its length from A moves with v_A (1 - s) + v_B s if the rod does
not spin about itself. With M_0, M_1, M_2 the moments of the mass along the rod from A (mass, first moment,
inertia across; kg, kg m, kg m^2) and l its length, m, the kinetic energy is

    T = m_A v_A.v_A / 2 + m_B v_B.v_B / 2 + m_AB v_A.v_B
    m_B = M_2 / l^2      m_AB = M_1 / l - m_B      m_A = M_0 - 2 M_1 / l + m_B

the sums over the mass of s^2, s (1 - s) and (1 - s)^2 (a uniform rod: m/3, m/6, m/3; [CB1997] section 4.2
takes 2/3 and 1/3 at the ends instead). So A requires m_A a_A + m_AB a_B and B requires m_B a_B + m_AB a_A.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from nacelle.kinematics.legs.chain import TOLERANCE, end_frames
from nacelle.kinematics.legs.leg_type import leg_type
from nacelle.kinematics.mechanism.mechanism import Mechanism, mechanism_of
from nacelle.model.robot import Robot, body_parameters
from nacelle.spatial.inertia import (
    inertia_matrix,
    is_axisymmetric,
    parameters_from_frame,
    transform_parameters,
)
from nacelle.spatial.scalar import Array, Scalar, dot, plus, sqrt


def _spherical_links(robot: Robot) -> list[tuple[int, int, int]]:
    """Bodies of legs between two spherical joints: body, the tree joint that places it, and the closure."""
    links = []
    for leg in robot.legs:
        for body, inner, outer, spherical in leg_type(robot, leg).links:
            joint, closure = sorted((inner, outer))
            is_carried_by_joint = robot.joints[joint].successor == body and joint < robot.tree <= closure
            if spherical and is_carried_by_joint and not robot.joints[closure].at_point:
                links.append((body, joint, closure))
    return sorted(links, key=lambda link: link[1])


def find_rods(mechanism: Mechanism) -> frozenset[int]:
    """Bodies of legs that are rods; decided by the robot's own numbers.

    They hang on a spherical joint, end at one spherical closure, carry nothing else, spin idly, are
    axisymmetric, and nothing acts on them but friction in their joints.
    """
    robot = mechanism.robot
    internal_freedoms = {spin.body for plan in mechanism.legs for spin in plan.spins}
    loaded = {j for j, joint in enumerate(robot.joints) if joint.has_spring_or_stop or joint.rotor_inertia}
    pulled = {body for spring in robot.springs for body in spring.bodies}
    pulled |= {body for damper in robot.dampers for body in damper.bodies}
    pulled |= {body for torsion in robot.torsion_springs for body in torsion.bodies}
    return frozenset(
        body
        for body, *ends in _spherical_links(robot)
        if body in internal_freedoms
        and body not in pulled
        and not loaded.intersection(ends)
        and _is_axisymmetric(robot, body, *_rod_ends(robot, *ends))
    )


def _rod_ends(robot: Robot, joint: int, closure: int) -> tuple[Array, Array]:
    """The two points of a rod in its own frame."""
    body, end = robot.joints[joint].successor, robot.joints[closure]
    return robot.joints[joint].frame_successor.p, end_frames(end, body)[0].p


def _rod_moments(robot: Robot, body: int, A: Array, B: Array) -> tuple[Scalar, Scalar, Scalar, Scalar]:
    """Length, mass, first moment along the rod from A, and inertia across it about A."""
    p = body_parameters(robot, body)
    d = plus(B, -A)
    length = sqrt(dot(d, d))
    h = p[1:4]
    along = dot(h, d) / length
    # Inertia across through A: (trace - axial) / 2 of the inertia about A, with Steiner from the frame's
    # origin, which need not lie on the rod's line.
    I = inertia_matrix(p)
    n = d * (1.0 / length)
    trace = I[0, 0] + I[1, 1] + I[2, 2]
    axial = dot(n, I @ n)
    offset = dot(A, n)
    steiner = (dot(A, A) + offset * offset) * 0.5
    across = (trace - axial) * 0.5 - dot(A, h) - offset * along + p[0] * steiner
    return length, p[0], along - p[0] * offset, across


def _is_axisymmetric(robot: Robot, body: int, A: Array, B: Array) -> bool:
    length = float(np.linalg.norm(B - A))
    about_A = transform_parameters(np.eye(3), -A, np.asarray(body_parameters(robot, body), dtype=float))
    return length > 0.0 and is_axisymmetric(about_A, (B - A) / length, length, TOLERANCE)


def with_axisymmetric_rods(robot: Robot) -> Robot:
    """The robot with rods that are known by mass, first moment and inertia across alone, symbols or not.

    Where inertia is an open parameter of a rod, this is what of its ten numbers counts: about A, with n along
    the rod, h = M_1 n and I = M_2 (1 - n n^T).
    """
    bodies, rods = list(robot.bodies), find_rods(mechanism_of(robot.numeric))
    for body, j, c in _spherical_links(robot):
        if body not in rods:
            continue
        A, B = _rod_ends(robot, j, c)
        length, mass, first, second = _rod_moments(robot, body, A, B)
        n = plus(B, -A) * (1.0 / length)
        across = np.eye(3) - np.outer(n, n)
        ten = transform_parameters(np.eye(3), A, parameters_from_frame(mass, first * n, second * across))
        inertia = np.asarray(bodies[body].inertia)
        payload = plus(body_parameters(robot, body), -inertia)
        bodies[body] = dataclasses.replace(bodies[body], inertia=tuple(plus(ten, -payload)))
    changed = dataclasses.replace(robot, bodies=tuple(bodies))
    object.__setattr__(changed, "numeric", robot.numeric)
    object.__setattr__(changed, "is_like_numeric", robot.is_like_numeric)
    return changed


def mass_point_rods(robot: Robot, bodies: frozenset[int]) -> dict[int, MassPointRod]:
    """The rods of a robot with its numbers, which may be symbols."""
    rods: dict[int, MassPointRod] = {}
    for body, j, c in _spherical_links(robot):
        if body not in bodies:
            continue
        joint = robot.joints[j]
        _, far, frame = end_frames(robot.joints[c], body)
        length, mass, first, second = _rod_moments(robot, body, *_rod_ends(robot, j, c))
        at_B = second / (length * length)
        between = first / length - at_B
        at_A = mass - 2.0 * (first / length) + at_B
        rods[body] = MassPointRod(
            body=body,
            joint=j,
            closure=c,
            bodies=(joint.predecessor, far),
            points=(joint.frame_predecessor.p, frame.p),
            masses=(at_A, at_B, between),
            length2=length * length,
            has_friction=any(any(robot.joints[end].friction) for end in (j, c)),
        )
    return rods


@dataclass(frozen=True)
class MassPointRod:
    """A body between two spherical joints that is three masses: at A, at B and between them.

    Attributes:
        body: its index.
        joint: the tree joint at A.
        closure: the closure at B.
        bodies: the bodies that carry A and B.
        points: A and B in the frames of these bodies.
        masses: at A, at B, and between them, kg.
        length2: square of the distance of A and B, m^2.
        has_friction: whether its joints have friction.
    """

    body: int
    joint: int
    closure: int
    bodies: tuple[int, int]
    points: tuple[Array, Array]
    masses: tuple[Scalar, Scalar, Scalar]
    length2: Scalar
    has_friction: bool = False

    def resists_rotation(self, friction: bool) -> bool:
        """Whether its rotation requires something: friction at its ends, where that counts."""
        return friction and self.has_friction
