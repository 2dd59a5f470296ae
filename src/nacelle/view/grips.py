"""Grips: where the nacelle is held with the mouse, limited to the motions that the robot has.

A grip is a frame with arrows (translations along its axes) and rings (rotations about them):

    x, y, z and a free orientation    one grip in the platform's frame: it is the pose itself
    some of x, y, z                   one grip in base axes, with the arrows that the robot has
    a free orientation                rings in the platform's axes
    single angles, joints             one ring (or arrow) each, along the z-axis of the grip; its turn (or
                                      way) since it was taken is added to the coordinate as it then was

Coordinates that follow from the others (parasitic motion) have no grip.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from nacelle.kinematics.pose_input import is_angle
from nacelle.model.platform import AXES
from nacelle.model.reduced import layout_of
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation_path import quat_conjugate, quat_from_matrices, quat_multiply
from nacelle.spatial.scalar import Array
from nacelle.view.session import Session

POSE, MOVE, TURN, SINGLE = "pose", "move", "turn", "single"


@dataclass(frozen=True, eq=False)
class Grip:
    """A grip.

    Attributes:
        kind: what it sets: "pose", "move" (translations), "turn" (a free orientation) or "single".
        at: its frame in the base.
        arrows: the axes of the frame along which it can be moved.
        ring_axes: the axes of the frame about which it can be turned.
        coordinate: the coordinate that a single one sets.
    """

    kind: str
    at: Pose
    arrows: tuple[bool, bool, bool]
    ring_axes: tuple[bool, bool, bool]
    coordinate: str = ""

    @property
    def rings(self) -> bool:
        """Whether it can be turned."""
        return any(self.ring_axes)

    @property
    def quat_xyzw(self) -> Array:
        """Its orientation in the base (4,)."""
        return quat_from_matrices(self.at.R)


_ALL, _NONE, _THIRD = (True, True, True), (False, False, False), (False, False, True)


def grips(session: Session) -> tuple[Grip, ...]:
    """The grips of a robot, at the pose that is requested."""
    robot = session.robot
    platform = session.ghost() or session.platform
    moves = tuple(axis in robot.motion.coordinates for axis in AXES[:3])
    free = layout_of(robot.motion).quaternion is not None
    found = []
    if free and all(moves):
        found.append(Grip(POSE, platform, _ALL, _ALL))
    else:
        if any(moves):
            arrows = (moves[0], moves[1], moves[2])
            found.append(Grip(MOVE, Pose(np.eye(3), platform.p), arrows, _NONE))
        if free:
            found.append(Grip(TURN, platform, _NONE, _ALL))
    for name in robot.motion.coordinates:
        if name in AXES[3:] and not free:
            axis = np.eye(3)[AXES.index(name) - 3]
            found.append(Grip(SINGLE, Pose(_along(axis), platform.p), _NONE, _THIRD, name))
        elif name not in AXES:
            found.append(_joint_grip(session, name))
    return tuple(found)


def _joint_grip(session: Session, name: str) -> Grip:
    """The grip of a joint of the nacelle: a ring about its axis, or an arrow along it."""
    robot, (R, p) = session.robot, session.bodies
    joint = robot.joints[robot.joint(name)]
    at = Pose(R[joint.predecessor], p[joint.predecessor]) @ joint.frame_predecessor
    if is_angle(robot, name):
        return Grip(SINGLE, at, _NONE, _THIRD, name)
    moved = Pose(R[joint.successor], p[joint.successor]) @ joint.frame_successor
    return Grip(SINGLE, Pose(at.R, moved.p), _THIRD, _NONE, name)


def _along(axis: Array) -> Array:
    """A rotation matrix (3, 3) whose z-axis is a base axis; the identity for z itself."""
    k = int(np.argmax(np.abs(axis)))
    return np.roll(np.eye(3), k - 2, axis=0)


def dragged(robot: Robot, grip: Grip, start: Array, position: Array, quat_xyzw: Array) -> Array:
    """The pose that is asked for when a grip has been moved.

    Args:
        robot: the robot.
        grip: the grip as it was when it was taken.
        start: the pose (nx,) that was requested then.
        position: where its origin is now (3,), m, base axes.
        quat_xyzw: its orientation now (4,).
    """
    layout = layout_of(robot.motion)
    x = np.array(start, dtype=float)
    if grip.kind in (POSE, MOVE):
        for k, axis in enumerate(AXES[:3]):
            if grip.arrows[k]:
                x[layout.x_index(axis)] = position[k]
    if grip.kind in (POSE, TURN):
        x[layout.quaternion] = quat_xyzw
    if grip.kind in (POSE, MOVE, TURN):
        return x
    if grip.rings:
        turn = quat_multiply(quat_conjugate(grip.quat_xyzw), np.asarray(quat_xyzw, dtype=float))
        angle = 2.0 * math.atan2(float(turn[2]), float(turn[3]))
        step = math.remainder(angle, 2.0 * math.pi)
    else:
        step = float(grip.at.R[:, 2] @ (np.asarray(position) - grip.at.p))
    x[layout.x_index(grip.coordinate)] += step
    return x
