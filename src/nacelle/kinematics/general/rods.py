"""Rods: bodies between two spherical joints, which the form knows by their two points alone.

With M_0, M_1, M_2 the moments of the mass along the rod from A (mass, first moment, inertia across) and l its
length, the kinetic energy of a rod that does not spin about itself is

    T = m_A v_A.v_A / 2 + m_B v_B.v_B / 2 + m_AB v_A.v_B
    m_B = M_2 / l^2      m_AB = M_1 / l - m_B      m_A = M_0 - 2 M_1 / l + m_B.
"""

from __future__ import annotations

import numpy as np

from nacelle.kinematics.general.ties import Rod
from nacelle.kinematics.legs.axes import TOLERANCE
from nacelle.kinematics.legs.leg_type import leg_type
from nacelle.kinematics.mechanism import Mechanism
from nacelle.model.loaded import body_parameters
from nacelle.model.robot import Robot
from nacelle.spatial.inertia import inertia_matrix
from nacelle.spatial.scalar import Array, Scalar, dot, plus, sqrt


def find_rods(known: Mechanism) -> frozenset[int]:
    """Bodies of legs that are rods; decided by the robot's own numbers.

    They hang on a spherical joint, end at one spherical closure, carry nothing else, spin idly, are
    axisymmetric, and nothing but friction acts in their joints.
    """
    robot = known.robot
    found = []
    for leg, plan in zip(robot.legs, known.legs, strict=True):
        spinning = {spin.body for spin in plan.spins}
        for body, inner, outer, spherical in leg_type(robot, leg).links:
            # One end is a joint of the tree, which places the body; the other one closes a loop.
            joint, closure = sorted((inner, outer))
            ends = robot.joints[joint], robot.joints[closure]
            if (
                spherical
                and body in spinning
                and ends[0].successor == body
                and closure >= robot.tree
                and not ends[1].at_point
                and not any(any(end.springs) or end.rotor_inertia for end in ends)
                and _is_axisymmetric(robot, body, *_ends(robot, joint, closure))
            ):
                found.append(body)
    return frozenset(found)


def _ends(robot: Robot, joint: int, closure: int) -> tuple[Array, Array]:
    """The two points of a rod in its own frame."""
    body = robot.joints[joint].successor
    end = robot.joints[closure]
    frame = end.frame_predecessor if end.predecessor == body else end.frame_successor
    return robot.joints[joint].frame_successor.p, frame.p


def _moments(robot: Robot, body: int, A: Array, B: Array) -> tuple[Scalar, Scalar, Scalar, Scalar]:
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
    p = np.asarray(body_parameters(robot, body), dtype=float)
    d = B - A
    length = float(np.linalg.norm(d))
    if length == 0.0:
        return False
    n = d / length
    mass, h, I = p[0], p[1:4] - p[0] * A, inertia_matrix(p)
    about = I + mass * (np.outer(A, A) - A @ A * np.eye(3))
    shift = np.outer(A, h) + np.outer(h, A) - 2.0 * (A @ h) * np.eye(3)
    about = about + shift
    size = max(float(np.max(np.abs(about))), mass * length * length, 1e-300)
    Q = np.eye(3) - np.outer(n, n)
    across = 0.5 * float(np.trace(Q @ about @ Q))
    wanted = across * Q + float(n @ about @ n) * np.outer(n, n)
    even = float(np.max(np.abs(about - wanted))) <= TOLERANCE * size
    return bool(even and float(np.max(np.abs(Q @ h))) <= TOLERANCE * max(mass * length, 1e-300))


def rods_of(robot: Robot, bodies: frozenset[int]) -> dict[int, Rod]:
    """The rods of a robot with its numbers, which may be symbols."""
    found: dict[int, Rod] = {}
    for j in range(robot.tree):
        joint = robot.joints[j]
        body = joint.successor
        if body not in bodies:
            continue
        c = next(
            k
            for k in range(robot.tree, len(robot.joints))
            if body in (robot.joints[k].predecessor, robot.joints[k].successor)
        )
        end = robot.joints[c]
        far, frame = (
            (end.successor, end.frame_successor)
            if end.predecessor == body
            else (end.predecessor, end.frame_predecessor)
        )
        length, mass, first, second = _moments(robot, body, *_ends(robot, j, c))
        at_B = second / (length * length)
        between = first / length - at_B
        at_A = mass - 2.0 * (first / length) + at_B
        found[body] = Rod(
            body,
            j,
            c,
            (joint.predecessor, far),
            (joint.frame_predecessor.p, frame.p),
            (at_A, at_B, between),
            length * length,
        )
    return found
