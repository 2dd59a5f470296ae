"""A robot with the poses of its bodies, and the solids of each: described, or what its joints suggest.

All in base axes, m, and fixed on the bodies: at another pose the solids of a body are the same, moved along.
A joint has two ends, one on each of its bodies; where all joints meet in one point, as in spherical
mechanisms, they are drawn on a sphere about it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from nacelle.model.hanging import chain_name
from nacelle.model.joint import Joint, JointKind
from nacelle.model.leg import BASE, PLATFORM
from nacelle.model.robot import Robot
from nacelle.shapes.default import RAIL, ROD, TUBE, arc_solids, body_solids
from nacelle.shapes.points import distinct_points, rim, spanning_edges
from nacelle.shapes.solid import Ball, Rod, Solid, described_solids
from nacelle.shapes.strokes import Range, Telescope, rail, telescope
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array

# Which end of a joint with a ball on a plane has the ball: there both bodies have their centre, at the pose
# at which the robot is placed.
_BALL_SIDE = {JointKind.PLANAR_SPHERICAL: 1, JointKind.SPHERICAL_PLANAR: 0}
# The thinnest thing drawn, as a part of the robot's extent.
THIN = 0.004


class PlacedRobot:
    """A robot with the poses of its bodies.

    Attributes:
        robot: the robot.
        poses: of all bodies in the base.
        ends: for each joint the poses of its two frames in the base.
        extent: diagonal of the box around all joints and the last links of chains, m.
        spherical: whether all joints meet in one point.
    """

    def __init__(
        self, robot: Robot, poses: Sequence[Pose], travelled: Mapping[int, Range] | None = None
    ) -> None:
        """Place a robot.

        Args:
            robot: the robot.
            poses: of all bodies in the base.
            travelled: for sliding joints by index the least and greatest stroke that will be shown, m.
        """
        self.robot, self.poses = robot, list(poses)
        self.travelled = travelled or {}
        self.ends = [
            (poses[j.predecessor] @ j.frame_predecessor, poses[j.successor] @ j.frame_successor)
            for j in robot.joints
        ]
        pairs = zip(robot.joints, self.ends, strict=True)
        points = np.array([end.p for joint, pair in pairs if not joint.is_coupling for end in pair])
        self.extent = float(np.linalg.norm(points.max(axis=0) - points.min(axis=0)))
        self.spherical = self.extent < 1e-9 * robot.size
        if not self.spherical:
            last = [self.mass_centre(b) for b in range(1, len(poses)) if self.ends_a_chain(b)]
            points = np.array([*points, *last])
            self.extent = float(np.linalg.norm(points.max(axis=0) - points.min(axis=0)))
        else:
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
        if b == PLATFORM and not self.robot.has_nacelle:
            return []
        platform = self.is_platform(b)
        centres = self.joint_points(b)
        if self.ends_a_chain(b):
            centres.append(self.mass_centre(b))
        if self.spherical:
            centres = [self.tip(j) for j in self.robot.joints_at(b)]
            if not platform:
                return arc_solids(centres, self.ends[0][0].p, 1.4 * ROD * self.extent)
        slides = [part for j in range(len(self.robot.joints)) for part in self.slide_parts(j, b)]
        return body_solids(centres, slides, self.poses[b].p, self.extent, platform=platform)

    def is_platform(self, b: int) -> bool:
        """Whether a body is drawn as a platform: of the nacelle, but no link of a chain there."""
        return b in self.robot.nacelle.bodies and not chain_name(self.robot.bodies[b].name)

    def ends_a_chain(self, b: int) -> bool:
        """Whether a body is the last link of a chain: it ends at its mass, for want of anything else."""
        return self.robot.bodies[b].mass > 0.0 and not self.is_platform(b) and len(self.joint_points(b)) == 1

    def mass_centre(self, b: int) -> Array:
        """The centre of mass (3,) of a body with mass, base axes."""
        ten = np.array(self.robot.bodies[b].inertia)
        return np.asarray(self.poses[b].p + self.poses[b].R @ (ten[1:4] / ten[0]))

    def default_base(self) -> list[Solid]:
        """A base without shapes of its own: a frame that joins the anchors, and the rails of its sliders."""
        thin, rails = THIN * self.extent, self.rails()
        points = distinct_points(self.anchors(), 1e-3 * self.extent)
        solids: list[Solid] = [*rails, *(Ball(point, 2.5 * thin) for point in points)]
        centre = np.mean([pose.p for pose in self.poses[BASE + 1 :]], axis=0)
        ends = [
            sorted((rail.start, rail.stop), key=lambda end: float(np.linalg.norm(end - centre)))
            for rail in rails
        ]
        frames = [distinct_points([*points, *(far for _, far in ends)], 1e-3 * self.extent)]
        if len(rails) > 1 and not points and _parallel(rails):
            along = rails[0].stop - rails[0].start
            ends = [sorted((rail.start, rail.stop), key=lambda end: float(end @ along)) for rail in rails]
            frames = [[low for low, _ in ends], [high for _, high in ends]]
        for frame in frames:
            edges = rim(frame, 0.05 * self.extent) or spanning_edges(frame)
            solids += [Rod(frame[i], frame[k], thin) for i, k in edges]
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
            pair[_BALL_SIDE.get(joint.kind, side)].p
            for joint, pair in zip(self.robot.joints, self.ends, strict=True)
            for side, owner in enumerate(_bodies(joint))
            if owner == b and not joint.at_point and not joint.is_coupling
        ]

    def anchors(self) -> list[Array]:
        """Where legs are held by the base; sliders have rails instead."""
        return [
            self.tip(j) if self.spherical else fixed.p
            for j, (joint, (fixed, _)) in enumerate(zip(self.robot.joints, self.ends, strict=True))
            if joint.predecessor in self.grounds and not slides_along(joint) and not joint.is_coupling
        ]

    @property
    def grounds(self) -> tuple[int, ...]:
        """The base, and the body fixed to it on which a robot without a nacelle hangs."""
        return (BASE,) if self.robot.has_nacelle else (BASE, PLATFORM)

    def rails(self) -> list[Rod]:
        """The rails of all sliders on the base."""
        return [
            part
            for j in range(len(self.robot.joints))
            for b in self.grounds
            for part in self.slide_parts(j, b)
        ]

    # -------------------------------------------------------------------------- strokes

    def stroke(self, j: int) -> float:
        """Place of the successor's end of a sliding joint along its axis, from the predecessor's, m."""
        fixed, moving = self.ends[j]
        return float(fixed.R[:, 2] @ (moving.p - fixed.p))

    def moved_range(self, j: int) -> Range:
        """Least and greatest stroke of a sliding joint that will be shown, m."""
        now = self.stroke(j)
        low, high = self.travelled.get(j, (now, now))
        return min(low, now), max(high, now)

    def telescope(self, j: int) -> Telescope | None:
        """The telescopic pair of a sliding joint; None if it has a rail."""
        joint = self.robot.joints[j]
        if joint.predecessor in self.grounds:
            return None
        return telescope(_stroke_limits(joint), self.moved_range(j), self.extent)

    def slide_parts(self, j: int, b: int) -> list[Rod]:
        """What a sliding joint adds to a body: a tube, a rod, or the rail of a slider; others nothing."""
        joint, (fixed, moving) = self.robot.joints[j], self.ends[j]
        if not slides_along(joint) or b not in _bodies(joint):
            return []
        tube = b == joint.predecessor
        pair = self.telescope(j)
        if pair is not None:
            at, (start, stop) = (fixed, pair.tube) if tube else (moving, pair.rod)
            radius = (TUBE if tube else ROD) * self.extent
        elif tube:
            at, radius = fixed, RAIL * self.extent
            start, stop = rail(
                _stroke_limits(joint), self.moved_range(j), self.extent, from_anchor=b not in self.grounds
            )
        else:
            return []
        return [Rod(at.p + start * at.R[:, 2], at.p + stop * at.R[:, 2], radius)]


def slides_along(joint: Joint) -> bool:
    """Whether a joint slides along its axis."""
    return joint.kind in (JointKind.PRISMATIC, JointKind.CYLINDRICAL)


def _bodies(joint: Joint) -> tuple[int, int]:
    return joint.predecessor, joint.successor


def _stroke_limits(joint: Joint) -> Range:
    """Limits of the stroke of a sliding joint, m; infinite where there are none."""
    return joint.limits[0] if joint.limits else (-math.inf, math.inf)


def _parallel(rails: Sequence[Rod]) -> bool:
    ways = [(rail.stop - rail.start) / np.linalg.norm(rail.stop - rail.start) for rail in rails]
    return all(abs(abs(float(way @ ways[0])) - 1.0) < 1e-6 for way in ways)
