"""Where the elements of a leg are: frames of joints, ends of rods, directions; base axes, m.

A rod reaches from its input E (3,), on the driven bar or slider, to its output B on the nacelle; on a
revolute joint with axis z, E is the point of the axis nearest to B,

    E = F + z (z . (B - F))                                  F the joint's origin

A bar on a revolute joint points from its axis, perpendicular to it, to E: with c = E - F

    x = (c - z (z . c)) / |c - z (z . c)|                    the direction x of [OAM] section 3
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nacelle.kinematics.elements.structure import ElementLeg, ElementRod, FrameAxis, Hold, NacellePart
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array, divide, dot, norm


@dataclass(frozen=True)
class ElementGeometry:
    """A robot with the poses of its bodies, read as elements; points (3,) and directions (3,), base axes."""

    robot: Robot
    poses: tuple[Pose, ...]

    def frame(self, joint: int, *, on_successor: bool = False) -> Pose:
        """The frame of a joint on its predecessor or successor, in the base."""
        own = self.robot.joints[joint]
        if on_successor:
            return self.poses[own.successor] @ own.frame_successor
        return self.poses[own.predecessor] @ own.frame_predecessor

    def axis(self, axis: FrameAxis) -> Array:
        """An axis of a joint, unit vector (3,), base axes."""
        return np.asarray(self.frame(axis.joint, on_successor=axis.on_successor).R[:, axis.column])

    def origin(self, joint: int, body: int) -> Array:
        """Origin (3,), base axes, m, of a joint's frame on one of its bodies."""
        return np.asarray(self.frame(joint, on_successor=self.robot.joints[joint].successor == body).p)

    def centre(self, hold: Hold) -> Array:
        """The point (3,), base axes, m, about which a hold rotates: a joint's, or of two axes."""
        first = self.frame(hold.joints[0])
        if len(hold.joints) == 1:
            return np.asarray(first.p)
        a = first.R[:, 2]
        return np.asarray(first.p + (a @ (self.frame(hold.joints[1]).p - first.p)) * a)

    def ends(self, leg: ElementLeg, rod: ElementRod) -> tuple[Array, Array]:
        """Input and output (3,), base axes, m, of a rod or strut; of a parallelogram those of its arm."""
        B = self.origin(rod.tip, rod.nacelle)
        if leg.fold is not None:
            return B - (self.frame(leg.fold.end).p - self.frame(leg.fold.rod_a).p), B
        E = self.centre(rod.hold)
        if rod.hold.letter == "R" and leg.prismatic is None:
            z = self.axis(rod.hold.axes[0])
            E = E + z * dot(z, B - E)
        return E, B

    def direction(self, leg: ElementLeg, rod: ElementRod) -> Array:
        """Direction (B - E) / |B - E| (3,), base axes, of a rod from E to B, or a strut's axis."""
        if leg.prismatic is not None:
            return np.asarray(self.frame(leg.prismatic).R[:, 2] * leg.flip)
        E, B = self.ends(leg, rod)
        return unit_vector(B - E)

    def bar_direction(self, leg: ElementLeg) -> Array:
        """Unit direction (3,), base axes, of the driven bar: perpendicular to its axis, towards its end."""
        assert leg.driver is not None
        F = self.frame(leg.driver)
        z, arm = F.R[:, 2], self.ends(leg, leg.rods[0])[0] - F.p
        return unit_vector(arm - z * dot(z, arm))

    def part_input(self, part: NacellePart) -> Array:
        """Input point (3,), base axes, m, of a part of the nacelle."""
        return self.origin(part.joint, part.element.body)

    def part_direction(self, part: NacellePart) -> Array:
        """Unit direction (3,), base axes, of a part of the nacelle: to the body's origin, or an axis."""
        body = part.element.body
        own = self.robot.numeric.joints[part.joint]
        local = (own.frame_successor if own.successor == body else own.frame_predecessor).p
        if float(np.linalg.norm(local)) < 1e-9 * self.robot.numeric.size:
            return np.asarray(self.poses[body].R[:, 0])
        return unit_vector(self.poses[body].p - self.part_input(part))


def unit_vector(r: Array) -> Array:
    """Give r / |r| (3,)."""
    return np.asarray(r * divide(1.0, norm(r)))
