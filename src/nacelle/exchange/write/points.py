"""A point nacelle taken away: the joints that meet in it act between the bodies of the legs themselves.

Bodies 1 to k have a common point. Where a joint of the description acts between two of them it becomes a
joint in full (a revolute one there locks the position, too); bodies that are not yet joined so are joined
by spherical ones. The mass m of the point is divided among the k bodies, m / k at the point of each, which
is the same mass at the same place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from nacelle.model.joint import Joint, JointKind
from nacelle.model.leg import PLATFORM
from nacelle.model.robot import Robot
from nacelle.spatial.inertia import transform_parameters
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array

# What is left of a joint where the point locks the position already.
_AT_POINT = {JointKind.PRISMATIC: JointKind.FIXED, JointKind.CYLINDRICAL: JointKind.REVOLUTE}


@dataclass(frozen=True, eq=False)
class Joined:
    """A robot's closures without its point.

    Attributes:
        closures: between bodies of the legs; couplings among them.
        shares: for each body its share of the point's inertia, ten parameters in its frame.
        holder: a body that has the point, and the point in it: what else is at the point goes there.
    """

    closures: tuple[Joint, ...]
    shares: dict[int, Array]
    holder: tuple[int, Pose]


def is_one_point(robot: Robot) -> bool:
    """Whether all that acts on a point nacelle acts in one point; if not it is a body that never turns."""
    meeting = [joint for joint in robot.closures if PLATFORM in _ends(joint)]
    points = [_point_frame(joint).p for joint in meeting]
    points += [
        np.array(point, dtype=float)
        for spring in robot.springs
        for body, point in zip(spring.bodies, spring.points, strict=True)
        if body == PLATFORM
    ]
    alike = all(np.allclose(point, points[0], rtol=0.0, atol=1e-12 * robot.size) for point in points)
    return alike and not any(PLATFORM in (joint.predecessor, joint.successor) for joint in robot.tree_joints)


def without_point(robot: Robot) -> Joined:
    """The closures of a robot whose nacelle is a point."""
    held = {_leg_body(joint): _leg_frame(joint) for joint in robot.closures if PLATFORM in _ends(joint)}
    bodies = list(held)
    # Each body with those that joints at the point hold it to.
    parts = {body: {body} for body in bodies}
    closures: list[Joint] = []
    for joint in robot.closures:
        if PLATFORM in _ends(joint):
            continue
        if joint.at_point:
            joint = _in_full(joint, held)
            _unite(parts, joint.predecessor, joint.successor)
        closures.append(joint)
    first = bodies[0]
    for other in bodies[1:]:
        if other not in parts[first]:
            _unite(parts, first, other)
            meeting = next(j for j in robot.closures if PLATFORM in _ends(j) and other in _ends(j))
            closures.append(
                replace(
                    meeting,
                    kind=JointKind.SPHERICAL,
                    predecessor=first,
                    successor=other,
                    frame_predecessor=held[first],
                    frame_successor=held[other],
                )
            )
    # What never turns has a mass alone.
    loads = [load.inertia[0] for load in robot.payload if load.body == PLATFORM]
    mass = (robot.bodies[PLATFORM].mass + sum(loads)) / len(bodies)
    ten = np.array([mass] + [0.0] * 9)
    shares = {body: transform_parameters(np.eye(3), held[body].p, ten) for body in bodies}
    return Joined(tuple(closures), shares, (first, held[first]))


def _unite(parts: dict[int, set[int]], one: int, other: int) -> None:
    whole = parts[one] | parts[other]
    for body in whole:
        parts[body] = whole


def _ends(joint: Joint) -> Sequence[int]:
    return () if joint.is_coupling else (joint.predecessor, joint.successor)


def _leg_body(joint: Joint) -> int:
    return joint.successor if joint.predecessor == PLATFORM else joint.predecessor


def _leg_frame(joint: Joint) -> Pose:
    """The point in the frame of the leg's body."""
    own = joint.frame_successor if joint.predecessor == PLATFORM else joint.frame_predecessor
    return Pose(np.eye(3), own.p)


def _point_frame(joint: Joint) -> Pose:
    """The frame on the point of a joint that holds it."""
    return joint.frame_predecessor if joint.predecessor == PLATFORM else joint.frame_successor


def _in_full(joint: Joint, held: dict[int, Pose]) -> Joint:
    """A joint at the point that locks the position itself."""
    one, two = held.get(joint.predecessor), held.get(joint.successor)
    first = joint.frame_predecessor if one is None else Pose(joint.frame_predecessor.R, one.p)
    second = joint.frame_successor if two is None else Pose(joint.frame_successor.R, two.p)
    kind = _AT_POINT.get(joint.kind, joint.kind)
    skipped = int(joint.kind is JointKind.CYLINDRICAL)
    return replace(
        joint,
        kind=kind,
        frame_predecessor=first,
        frame_successor=second,
        at_point=False,
        **{what: getattr(joint, what)[skipped:] for what in ("friction", "springs", "stops", "limits")},
    )
