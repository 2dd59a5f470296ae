"""A leg flattened to single axes (R, P) along z and spherical joints (S), and how two axes lie.

    W = X_0 M_1(q_1) X_1 ... M_k(q_k) X_k

M_i is a rotation about z by q_i (rad), a translation along z by q_i (m) or the rotation of a quaternion, X_i
are constant frames between them. W is the leg's end, the frame of the closure on its last body, in the base.
A joint with several axes gives several letters; a body hangs behind the last letter of the joint that carries
it.

With X = (R, p) the frame of the second of two joints in that of the first, on the body between them, the
second axis has the direction e = R z = (R_02, R_12, R_22), so that, within the one tolerance of recognition,

    parallel        R_02 = R_12 = 0                          coaxial    and p_x = p_y = 0
    perpendicular   R_22 = 0                                 crossing   and (e x p)_z = 0: the lines meet
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from nacelle.model.joint import Joint, Primitive
from nacelle.model.leg import BASE, Leg
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose, identity
from nacelle.spatial.scalar import Array, Scalar, dot, pack

# Angles are right and axes parallel within this (rad); lengths are equal, points the same and axes meet
# within this part of the robot's size. The numbers of a description are right to about 1e-15 after the
# rotations of their placements, and what is solved as special must be so to rounding: a leg that is off by
# 1e-9 is not.
TOLERANCE = 1e-12


def are_parallel(X: Pose) -> bool:
    """Whether the axes have one direction, or opposite ones."""
    return float(np.hypot(X.R[0, 2], X.R[1, 2])) < TOLERANCE


def are_perpendicular(X: Pose) -> bool:
    """Whether the axes are at a right angle."""
    return abs(float(X.R[2, 2])) < TOLERANCE


def are_crossing(X: Pose, size: float) -> bool:
    """Whether the axes meet at a right angle: two revolutes act as a universal joint."""
    return are_perpendicular(X) and abs(float(X.R[0, 2] * X.p[1] - X.R[1, 2] * X.p[0])) < TOLERANCE * size


def is_on_axis(point: Array, size: float) -> bool:
    """Whether a point (3,), m, lies on the z axis of its frame, within `TOLERANCE` of the robot's size."""
    return float(np.hypot(point[0], point[1])) < TOLERANCE * size


def are_coaxial(X: Pose, size: float) -> bool:
    """Whether the two axes are one line."""
    return are_parallel(X) and is_on_axis(X.p, size)


def axis_relation(X: Pose, size: float) -> str:
    """How the second axis lies to the first, in one word."""
    if are_parallel(X):
        return "coaxial" if is_on_axis(X.p, size) else "parallel"
    if are_perpendicular(X):
        return "crossing" if are_crossing(X, size) else "perpendicular"
    return "oblique"


# The cyclic permutation that takes z to the axis of a primitive.
_TO_Z = {
    0: np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]),
    1: np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]),
    2: np.eye(3),
}


class ChainBody(NamedTuple):
    """A body of a chain.

    Attributes:
        body: its index.
        letter_count: how many letters move it.
        pose: its frame in the moved frame of the last of these letters.
    """

    body: int
    letter_count: int
    pose: Pose


@dataclass
class LegChain:
    """A leg, or a part of one, as turns, slides and spherical joints with constant frames between them.

    Attributes:
        letters: "R", "P" or "S" for each.
        joints: the joint that each belongs to.
        X: frames before, between and behind them.
        target: the closure at the end.
        bodies: the bodies that the letters move.
    """

    letters: str
    joints: list[int]
    X: list[Pose]
    target: Joint
    bodies: tuple[ChainBody, ...]


def end_frames(closure: Joint, body: int) -> tuple[Pose, int, Pose]:
    """A closure from a leg's last body: frame there, body on the other side, frame there."""
    if closure.predecessor == body:
        return closure.frame_predecessor, closure.successor, closure.frame_successor
    return closure.frame_successor, closure.predecessor, closure.frame_predecessor


def platform_end(leg: Leg, closure: Joint) -> tuple[int, Pose, bool]:
    """A closure of a leg at the platform: body there, frame there, whether the platform is the successor."""
    outward = closure.predecessor in leg.bodies
    _, body, frame = end_frames(closure, closure.predecessor if outward else closure.successor)
    return body, frame, outward


def flatten_joints(robot: Robot, joints: Sequence[int], closure: Joint, start: Pose) -> LegChain:
    """Flatten joints that follow one another, from a frame `start` before the first one's body."""
    letters = ""
    owners: list[int] = []
    X: list[Pose] = []
    bodies: list[ChainBody] = []
    pose = start
    for j in joints:
        joint = robot.joints[j]
        pose = pose @ joint.frame_predecessor
        for primitive in joint.primitives:
            if primitive is Primitive.SPHERICAL:
                letters, owners, X = letters + "S", [*owners, j], [*X, pose]
                pose = identity()
                continue
            P = Pose(_TO_Z[primitive.axis], np.zeros(3))
            letters, owners = letters + ("R" if primitive.is_rotation else "P"), [*owners, j]
            X.append(pose @ P)
            pose = P.inverse()
        pose = pose @ joint.frame_successor.inverse()
        bodies.append(ChainBody(joint.successor, len(letters), pose))
    frame, _, _ = end_frames(closure, robot.joints[joints[-1]].successor)
    return LegChain(letters, owners, [*X, pose @ frame], closure, tuple(bodies))


def serial_chain(robot: Robot, leg: Leg) -> LegChain | None:
    """The chain of a leg whose tree runs from the base through all its bodies to one closure."""
    if len(leg.closures) != 1 or not leg.joints:
        return None
    body = BASE
    for j in leg.joints:
        if robot.joints[j].predecessor != body:
            return None
        body = robot.joints[j].successor
    closure = robot.joints[leg.closures[0]]
    if body not in (closure.predecessor, closure.successor):
        return None
    return flatten_joints(robot, leg.joints, closure, identity())


def centre_universal_joint(chain: LegChain, i: int) -> LegChain:
    """Move the frames of turns i and i + 1 along their axes to the point where these meet.

    X_i = Tz(s1) (C, 0) Tz(-s2), and a slide along the axis of a turn may pass it.
    """
    C, t = chain.X[i + 1]
    s1, s2 = t[2], -dot(C[:, 2], t)
    X = list(chain.X)
    X[i] = X[i] @ _translation_along_z(s1)
    X[i + 1] = Pose(C, np.zeros(3))
    X[i + 2] = _translation_along_z(-s2) @ X[i + 2]
    back = {i + 1: _translation_along_z(-s1), i + 2: _translation_along_z(-s2)}
    bodies = tuple(
        ChainBody(body, behind, back[behind] @ pose) if behind in back else ChainBody(body, behind, pose)
        for body, behind, pose in chain.bodies
    )
    return LegChain(chain.letters, chain.joints, X, chain.target, bodies)


def _translation_along_z(s: Scalar) -> Pose:
    return Pose(np.eye(3), pack([0.0, 0.0, s]))
