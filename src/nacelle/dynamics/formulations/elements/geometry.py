"""Where the elements of a leg are: frames of joints, ends of rods, directions; base axes, m.

A rod reaches from its input E (3,), on the driven bar or slider, to its output B on the nacelle; on a
revolute joint with axis z, E is the point of the axis nearest to B,

    E = F + z (z . (B - F))                                  F the joint's origin

A bar on a revolute joint points from its axis, perpendicular to it, to E: with c = E - F

    x = (c - z (z . c)) / |c - z (z . c)|                    the direction x of [OAM] section 3
"""

from __future__ import annotations

import numpy as np

from nacelle.dynamics.formulations.elements.structure import ElementLeg, FrameAxis, Hold, Part
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array, divide, dot, norm


def frame(robot: Robot, poses: tuple[Pose, ...], joint: int, *, on_successor: bool) -> Pose:
    """A frame of a joint in the base."""
    own = robot.joints[joint]
    if on_successor:
        return poses[own.successor] @ own.frame_successor
    return poses[own.predecessor] @ own.frame_predecessor


def direction(robot: Robot, poses: tuple[Pose, ...], axis: FrameAxis) -> Array:
    """An axis of a joint (3,), base axes."""
    return np.asarray(frame(robot, poses, axis.joint, on_successor=axis.on_successor).R[:, axis.column])


def centre(robot: Robot, poses: tuple[Pose, ...], hold: Hold) -> Array:
    """The point about which a hold turns (3,): of a joint its origin, of two axes where they meet."""
    first = frame(robot, poses, hold.joints[0], on_successor=False)
    if len(hold.joints) == 1:
        return np.asarray(first.p)
    second = frame(robot, poses, hold.joints[1], on_successor=False)
    a = first.R[:, 2]
    return np.asarray(first.p + (a @ (second.p - first.p)) * a)


def tip_point(robot: Robot, poses: tuple[Pose, ...], leg: ElementLeg) -> Array:
    """The end of a leg on its body of the nacelle (3,)."""
    return joint_point(robot, poses, leg.rods[0].tip, leg.rods[0].nacelle)


def joint_point(robot: Robot, poses: tuple[Pose, ...], joint: int, body: int) -> Array:
    """Origin of a joint's frame on one of its bodies (3,)."""
    return np.asarray(frame(robot, poses, joint, on_successor=robot.joints[joint].successor == body).p)


def rod_ends(
    robot: Robot, poses: tuple[Pose, ...], hold: Hold, tip: int, leg: ElementLeg
) -> tuple[Array, Array]:
    """Input and output points of a rod, (3,) each, base axes, m.

    Of a parallelogram the arm from hub to wrist; on a hinge the point of its axis across from the output.
    """
    B = joint_point(robot, poses, tip, leg.rods[0].nacelle)
    if leg.fold is not None:
        root = frame(robot, poses, leg.fold.rod_a, on_successor=False).p
        return B - (frame(robot, poses, leg.fold.end, on_successor=False).p - root), B
    E = centre(robot, poses, hold)
    if hold.letter == "R":
        z = direction(robot, poses, hold.axes[0])
        E = E + z * dot(z, B - E)
    return E, B


def bar_direction(robot: Robot, poses: tuple[Pose, ...], joint: int, E: Array) -> Array:
    """Unit direction (3,) of a bar on a revolute joint: perpendicular to its axis, towards its end E."""
    F = frame(robot, poses, joint, on_successor=False)
    z, arm = F.R[:, 2], E - F.p
    across = arm - z * dot(z, arm)
    return np.asarray(across * divide(1.0, norm(across)))


def part_input(robot: Robot, poses: tuple[Pose, ...], part: Part) -> Array:
    """Input point (3,) of a part of the nacelle, base axes, m."""
    return joint_point(robot, poses, part.joint, part.element.body)


def part_direction(robot: Robot, poses: tuple[Pose, ...], part: Part) -> Array:
    """Unit direction (3,) of a part of the nacelle: from its input to the body's origin, or an axis."""
    body = part.element.body
    own = robot.numeric.joints[part.joint]
    on_successor = own.successor == body
    local = own.frame_successor.p if on_successor else own.frame_predecessor.p
    if float(np.linalg.norm(local)) < 1e-9 * robot.numeric.size:
        return np.asarray(poses[body].R[:, 0])
    r = poses[body].p - part_input(robot, poses, part)
    return np.asarray(r * divide(1.0, norm(r)))
