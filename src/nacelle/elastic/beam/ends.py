"""Which moments the ends of a flexible link carry.

Where an end carries no moment about an axis, E I v'' = 0 holds there for bending, and a beam that carries
none about its own axis at an end does not twist: shape functions are chosen by that (`shapes`). About an axis
e through its end at r a beam carries no moment if every joint there

    is passive and without springs,   leaves the rotation about e free,   lies on the axis: e x (o - r) = 0

o the joint's origin, all in the body's frame, m. A joint beside the axis has a lever; a rigid mass has a
moment of inertia.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nacelle.model.flexible import Beam
from nacelle.model.joint import Joint, JointKind
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array

_ANY = (JointKind.SPHERICAL, JointKind.POINT, JointKind.PLANAR_SPHERICAL, JointKind.SPHERICAL_PLANAR)


class MomentsCarried(NamedTuple):
    """Whether an end carries moments about the beam's axes x, y and z."""

    x: bool
    y: bool
    z: bool


def carried_moments(robot: Robot, beam: Beam) -> tuple[MomentsCarried, MomentsCarried]:
    """The moments that start and end of a beam carry."""
    ends = []
    for k, joints in enumerate((beam.start, beam.end)):
        place = beam.frame.p + beam.frame.R[:, 0] * (beam.length if k else 0.0)
        free = [True, True, True]
        for axis in range(3):
            direction = beam.frame.R[:, axis]
            free[axis] = beam.tips[k] is None and all(
                _frees(robot, j, beam.body, direction, place) for j in joints
            )
        ends.append(
            MomentsCarried(*(not f for f in free))
            if joints or beam.tips[k] is not None
            else MomentsCarried(*[False] * 3)
        )
    return ends[0], ends[1]


def _frees(robot: Robot, index: int, body: int, direction: Array, place: Array) -> bool:
    """Whether a joint leaves a body free to rotate about an axis through a place.

    Both in the body's frame.
    """
    joint = robot.numeric.joints[index]
    frame = joint.frame_predecessor if joint.predecessor == body else joint.frame_successor
    offset = np.cross(direction, frame.p - place)
    if float(np.linalg.norm(offset)) > 1e-9 * robot.size and not joint.at_point:
        return False
    if any(joint.springs) or any(actuator.joint == index for actuator in robot.actuators):
        return False
    if joint.kind in _ANY:
        return True
    axis = _own_axis(joint, body)
    return axis is not None and abs(abs(float(frame.R[:, axis] @ direction)) - 1.0) < 1e-9


def _own_axis(joint: Joint, body: int) -> int | None:
    """The axis of a joint's frame on a body about which it rotates freely; None if there is none."""
    if joint.kind in (JointKind.REVOLUTE, JointKind.CYLINDRICAL):
        return 2
    if joint.kind is JointKind.UNIVERSAL:
        return 0 if joint.predecessor == body else 1
    return None
