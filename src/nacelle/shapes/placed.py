"""A robot with the poses of its bodies, and the solids of each: described, or what its joints suggest.

All in base axes, m. A joint has two ends, one on each of its bodies; where all joints meet in one point, as
in spherical mechanisms, they are drawn on a sphere about it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nacelle.model.joint import Joint, JointKind
from nacelle.model.leg import BASE
from nacelle.model.robot import Robot
from nacelle.shapes.default import ROD, Slide, arc_solids, body_solids
from nacelle.shapes.points import apart, rim
from nacelle.shapes.solid import Ball, Rod, Solid, described_solids
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array

# The thinnest thing drawn, as a part of the robot's extent.
THIN = 0.004


class PlacedRobot:
    """A robot with the poses of its bodies.

    Attributes:
        robot: the robot.
        poses: of all bodies in the base.
        ends: for each joint the poses of its two frames in the base.
        extent: diagonal of the box around all joints, m.
        spherical: whether all joints meet in one point.
    """

    def __init__(self, robot: Robot, poses: Sequence[Pose]) -> None:
        self.robot, self.poses = robot, list(poses)
        self.ends = [
            (poses[j.predecessor] @ j.frame_predecessor, poses[j.successor] @ j.frame_successor)
            for j in robot.joints
        ]
        points = np.array([end.p for pair in self.ends for end in pair])
        self.extent = float(np.linalg.norm(points.max(axis=0) - points.min(axis=0)))
        self.spherical = self.extent < 1e-9 * robot.size
        if self.spherical:
            masses = [body for body in robot.bodies if body.mass > 0.0]
            reach = [float(np.linalg.norm(body.inertia[1:4])) / body.mass for body in masses]
            self.extent = 2.0 * max(reach, default=0.0) or 1.0

    def solids(self, b: int) -> list[Solid]:
        """The solids of a body; without any in its description, what its joints suggest."""
        return self.described(b) or (self.default_base() if b == BASE else self.default(b))

    def described(self, b: int) -> list[Solid]:
        """The solids of a body's description."""
        return [solid.moved(self.poses[b]) for solid in described_solids(self.robot.bodies[b])]

    def default(self, b: int) -> list[Solid]:
        """Solids of a moving body without shapes of its own."""
        platform = b in self.robot.nacelle.bodies
        centres = self.joint_points(b)
        if self.spherical:
            centres = [self.tip(j) for j, joint in enumerate(self.robot.joints) if b in _bodies(joint)]
            if not platform:
                return arc_solids(centres, self.ends[0][0].p, 1.4 * ROD * self.extent)
        slides = []
        for joint, (fixed, moving) in zip(self.robot.joints, self.ends, strict=True):
            if slides_along(joint) and joint.predecessor != BASE and b in _bodies(joint):
                tube = b == joint.predecessor
                slides.append(Slide(*((fixed.p, moving.p) if tube else (moving.p, fixed.p)), tube))
        return body_solids(centres, slides, self.poses[b].p, self.extent, platform=platform)

    def default_base(self) -> list[Solid]:
        """A base without shapes of its own: a frame that joins the anchors, and the rails of its sliders."""
        thin = THIN * self.extent
        points = apart(self.anchors(), 1e-3 * self.extent)
        edges = rim(points, 0.05 * self.extent)
        solids: list[Solid] = [Rod(points[i], points[k], thin) for i, k in edges]
        solids += [Rod(*rail, 1.5 * thin) for rail in self.rails()]
        solids += [Ball(point, 2.5 * thin) for point in points]
        return solids

    def tip(self, j: int) -> Array:
        """Where a joint of a spherical mechanism is drawn: on its axis, on the side of its bodies."""
        joint, (fixed, _) = self.robot.joints[j], self.ends[j]
        if not joint.primitives:
            return np.asarray(fixed.p)
        axis = fixed.R[:, 0 if joint.kind is JointKind.UNIVERSAL else 2]
        side = sum(
            float(axis @ (self.poses[b].R @ np.array(self.robot.bodies[b].inertia[1:4])))
            for b in _bodies(joint)
        )
        return np.asarray(fixed.p + (-1.0 if side < 0.0 else 1.0) * 0.5 * self.extent * axis)

    def joint_points(self, b: int) -> list[Array]:
        """Where the joints of a body are."""
        return [
            end.p
            for joint, pair in zip(self.robot.joints, self.ends, strict=True)
            for owner, end in zip(_bodies(joint), pair, strict=True)
            if owner == b and not joint.at_point
        ]

    def anchors(self) -> list[Array]:
        """Where legs are held by the base; sliders have rails instead."""
        return [
            self.tip(j) if self.spherical else fixed.p
            for j, (joint, (fixed, _)) in enumerate(zip(self.robot.joints, self.ends, strict=True))
            if joint.predecessor == BASE and not slides_along(joint)
        ]

    def rails(self) -> list[tuple[Array, Array]]:
        """For every slide on the base a line from its anchor to a little beyond the slider."""
        rails = []
        for joint, (fixed, moving) in zip(self.robot.joints, self.ends, strict=True):
            if joint.predecessor == BASE and slides_along(joint):
                axis = fixed.R[:, 2]
                stroke = float(axis @ (moving.p - fixed.p))
                margin = (0.05 if abs(stroke) > 0.2 * self.extent else 0.2) * self.extent
                low, high = min(stroke, 0.0) - margin, max(stroke, 0.0) + margin
                rails.append((fixed.p + low * axis, fixed.p + high * axis))
        return rails


def slides_along(joint: Joint) -> bool:
    """Whether a joint slides along its axis."""
    return joint.kind in (JointKind.PRISMATIC, JointKind.CYLINDRICAL)


def _bodies(joint: Joint) -> tuple[int, int]:
    return joint.predecessor, joint.successor
