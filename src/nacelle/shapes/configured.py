"""A robot with the poses of its bodies, and the solids of each: described, or what its joints suggest.

All in base axes, m, and fixed on the bodies: at another pose the solids of a body are the same, moved along.
A joint has two ends, one on each of its bodies; where all joints meet in one point, as in spherical
mechanisms, they are drawn on a sphere about it.

The shapes of bodies whose description has no `display` are rods, telescopic parts, plates, arcs. Everything
follows from the joints of a body: their centres and, where a joint slides, its stroke. Lengths are parts of
the robot's extent.

A sliding joint is drawn over its whole stroke, as a telescopic pair or as a rail with a slider. Along the
joint's axis the predecessor's end is at 0 and the successor's at s, a <= s <= b with the sign of s taken
out. A tube [0, t] on the one and a rod [s - r, s] on the other overlap by m at every stroke, and neither
passes the other's end, if

    t + r = b + m,     t <= a,     r <= a

which needs b + m <= 2 a. Longer strokes have a tube that reaches behind the joint, as cylinders in gimbals
have, [-(r - a), t]; beyond three times the shortest length, and where s changes its sign, there is a rail
instead.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from nacelle.model.data import chain_name
from nacelle.model.joint import UNBOUNDED, Interval, Joint, JointKind
from nacelle.model.leg import BASE, PLATFORM
from nacelle.model.robot import Robot
from nacelle.shapes.points import distinct_points, planar_rim, spanning_edges
from nacelle.shapes.solid import Ball, Plate, Rod, Solid, described_solids
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array

# ---- strokes of sliding joints


# How far rod and tube overlap at the longest stroke, as a part of it.
_OVERLAP = 0.08
# Longest to shortest stroke of a pair whose tube reaches behind the joint.
_LONGEST = 3.0
# Strokes that a pair is made for where there are no limits, as parts of those at hand.
_SHORTER_STROKE, _LONGER_STROKE = 0.8, 1.2
# A stroke shorter than this part of the robot's extent is not drawn as a tube and a rod.
SHORT_STROKE = 0.02


@dataclass(frozen=True)
class Telescope:
    """A telescopic pair along the joint's axis, m, signed.

    Attributes:
        tube: first and last place of the tube, from the predecessor's end.
        rod: first and last place of the rod, from the successor's end; the last is 0.
    """

    tube: tuple[float, float]
    rod: tuple[float, float]


def telescope_of_stroke(limits: Interval, travel: Interval, extent: float) -> Telescope | None:
    """The telescopic pair of a joint; None if a rail shows it better.

    Args:
        limits: of the stroke, m, infinite where there is no limit.
        travel: least and greatest stroke that will be shown, m.
        extent: of the robot, m.
    """
    sign = 1.0 if sum(travel) > 0.0 else -1.0
    least, most = sorted(sign * s for s in travel)
    if least < SHORT_STROKE * extent:
        return None
    low, high = sorted(sign * s for s in limits)
    # The stroke ends at its limits; without limits at what is shown, and a little farther if it fits.
    within_limits = 0.0 < low <= least and most <= high < math.inf
    low = low if 0.0 < low <= least else _SHORTER_STROKE * least
    high = high if most <= high < math.inf else _LONGER_STROKE * most
    nearer = (max(low, _SHORTER_STROKE * least), min(high, _LONGER_STROKE * most))
    for a, b, longest in (
        (low, high, _LONGEST if within_limits else 0.0),
        (*nearer, 0.0),
        (least, most, _LONGEST),
    ):
        whole = (1.0 + _OVERLAP) * b
        if whole <= 2.0 * a:
            t = r = 0.5 * whole
        elif b <= longest * a:
            t, r = a, whole - a
        else:
            continue
        back = max(r - a, 0.0)
        return Telescope((-sign * back, sign * t), (-sign * r, 0.0))
    return None


def rail_of_stroke(limits: Interval, travel: Interval, extent: float, *, from_anchor: bool) -> Interval:
    """First and last place of a rail along the joint's axis, from the predecessor's end, m.

    Args:
        limits: of the stroke, m, infinite where there is no limit.
        travel: least and greatest stroke that will be shown, m.
        extent: of the robot, m.
        from_anchor: whether the rail begins at the predecessor's end, as where other parts hold it.
    """
    low, high = travel
    margin = 0.2 * extent if max(abs(low), abs(high)) <= 0.2 * extent else 0.05 * extent
    # Limits far away are ignored: nobody builds such a rail.
    ends = [limit if abs(limit - s) <= extent else math.inf for limit, s in zip(limits, travel, strict=True)]
    has_limit = [math.isfinite(end) for end in ends]
    first = min(low, ends[0]) - 0.03 * extent if has_limit[0] else low - margin
    last = max(high, ends[1]) + 0.03 * extent if has_limit[1] else high + margin
    if from_anchor or not any(has_limit):
        first, last = min(first, 0.0), max(last, 0.0)
    return Interval(first, last)


# ---- shapes that the joints suggest


# Radii of a rod, of the tube of a telescopic pair and of a ball, and half the thickness of a plate.
ROD_RADIUS = 0.0056
TUBE_RADIUS = 0.0095
BALL_RADIUS = 0.0176
PLATE_THICKNESS = 0.005
# Radius of a rail.
RAIL_RADIUS = 0.006


def body_solids(
    centres: Sequence[Array], slides: Sequence[Rod], origin: Array, extent: float, *, platform: bool
) -> list[Solid]:
    """Solids of a body.

    Its parts of telescopic pairs and rails, a plate over the joints of a platform that lie in a plane, and
    rods between the joints of a link (to their middle where there are more than two). A ball where there is
    nothing else.

    Args:
        centres: centres of all joints of the body, (3,) each, m.
        slides: tubes, rods and rails of its sliding joints.
        origin: of the body (3,), for one without joints.
        extent: of the robot, m.
        platform: whether the body belongs to the platform.
    """
    solids: list[Solid] = [*slides]
    points = distinct_points([*centres], 1e-3 * extent)
    if len(points) >= 2:
        edges = planar_rim(points, 0.05 * extent) if platform and len(points) > 2 else []
        if len(edges) > 2:
            corners = [points[i] for i, _ in edges]
            solids.append(Plate(np.array(corners), PLATE_THICKNESS * extent))
            inner = [point for point in points if not any(point is corner for corner in corners)]
            solids += [Ball(point, ROD_RADIUS * extent) for point in inner]
        else:
            solids += _link_rods(points, ROD_RADIUS * extent)
    if not solids:
        solids.append(Ball(points[0] if points else origin, BALL_RADIUS * extent))
    return solids


def arc_solids(tips: Sequence[Array], centre: Array, radius: float) -> list[Solid]:
    """Solids of a body of a spherical mechanism: arcs about the centre between the tips of its axes.

    Args:
        tips: for each joint a point on its axis (3,), m, all at one distance from the centre.
        centre: where all axes meet (3,), m.
        radius: of the rods, m.
    """
    points = distinct_points([*tips], 1e-6 + radius)
    solids: list[Solid] = []
    for a, b in itertools.pairwise(points):
        points_on_arc = arc_points(a, b, centre)
        solids += [Rod(start, stop, radius) for start, stop in itertools.pairwise(points_on_arc)]
    return solids or [Ball(points[0] if points else centre, 2.0 * radius)]


def arc_points(a: Array, b: Array, centre: Array, pieces: int = 12) -> Array:
    """Points (pieces + 1, 3) on the shorter great circle from a to b about a centre."""
    u, v = a - centre, b - centre
    n = np.cross(u, v)
    if np.linalg.norm(n) < 1e-9 * float(u @ u):
        # The same or opposite directions: any plane will do.
        n = np.cross(u, np.eye(3)[int(np.argmin(np.abs(u)))])
    side = np.cross(n, u)
    side = side * (np.linalg.norm(u) / np.linalg.norm(side))
    angle = float(np.arctan2(side @ v, u @ v))
    angles = np.linspace(0.0, angle, pieces + 1)[:, None]
    return np.asarray(centre + np.cos(angles) * u + np.sin(angles) * side)


def _link_rods(points: list[Array], radius: float) -> list[Rod]:
    if len(points) == 2:
        return [Rod(points[0], points[1], radius)]
    centre = np.mean(points, axis=0)
    return [
        Rod(point, centre, radius) for point in points if float(np.linalg.norm(point - centre)) > 0.1 * radius
    ]


# ---- the robot with its solids


# Which end of a joint with a ball on a plane has the ball: there both bodies have their centre, at the pose
# at which the robot is placed.
_BALL_SIDE = {JointKind.PLANAR_SPHERICAL: 1, JointKind.SPHERICAL_PLANAR: 0}
# The thinnest thing drawn, as a part of the robot's extent.
MIN_THICKNESS = 0.004


def joint_frames(robot: Robot, poses: Sequence[Pose]) -> list[tuple[Pose, Pose]]:
    """For each joint its frames on predecessor and successor, in the base, from the poses of all bodies."""
    return [
        (poses[j.predecessor] @ j.frame_predecessor, poses[j.successor] @ j.frame_successor)
        for j in robot.joints
    ]


class ConfiguredRobot:
    """A robot with the poses of its bodies.

    Attributes:
        robot: the robot.
        poses: of all bodies in the base.
        ends: for each joint the poses of its two frames in the base.
        extent: diagonal of the box around all joints and the last links of chains, m.
        spherical: whether all joints meet in one point.
    """

    def __init__(
        self, robot: Robot, poses: Sequence[Pose], travelled: Mapping[int, Interval] | None = None
    ) -> None:
        """Place a robot.

        Args:
            robot: the robot.
            poses: of all bodies in the base.
            travelled: for sliding joints by index the least and greatest stroke that will be shown, m.
        """
        self.robot, self.poses = robot, list(poses)
        self.travelled = travelled or {}
        self.ends = joint_frames(robot, poses)
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
        return self.described_solids(b) or (
            self.default_base_solids() if b == BASE else self.default_solids(b)
        )

    def described_solids(self, b: int) -> list[Solid]:
        """The solids of a body's description."""
        return [solid.transform(self.poses[b]) for solid in described_solids(self.robot.bodies[b])]

    def default_solids(self, b: int) -> list[Solid]:
        """Solids of a moving body without shapes of its own."""
        if b == PLATFORM and not self.robot.has_platform:
            return []
        platform = self.is_platform(b)
        centres = self.joint_points(b)
        if self.ends_a_chain(b):
            centres.append(self.mass_centre(b))
        if self.spherical:
            centres = [self.tip(j) for j in self.robot.joints_at(b)]
            if not platform:
                return arc_solids(centres, self.ends[0][0].p, 1.4 * ROD_RADIUS * self.extent)
        slides = [part for j in range(len(self.robot.joints)) for part in self.slide_solids(j, b)]
        return body_solids(centres, slides, self.poses[b].p, self.extent, platform=platform)

    def is_platform(self, b: int) -> bool:
        """Whether a body is drawn as a platform: of the platform, but no link of a chain there."""
        return b in self.robot.platform.bodies and not chain_name(self.robot.bodies[b].name)

    def ends_a_chain(self, b: int) -> bool:
        """Whether a body is the last link of a chain: it ends at its mass, for want of anything else."""
        return self.robot.bodies[b].mass > 0.0 and not self.is_platform(b) and len(self.joint_points(b)) == 1

    def mass_centre(self, b: int) -> Array:
        """The centre of mass (3,) of a body with mass, base axes."""
        ten = np.array(self.robot.bodies[b].inertia)
        return np.asarray(self.poses[b].p + self.poses[b].R @ (ten[1:4] / ten[0]))

    def default_base_solids(self) -> list[Solid]:
        """A base without shapes of its own: a frame that joins the anchors, and the rails of its sliders."""
        thin, rails = MIN_THICKNESS * self.extent, self.rails()
        points = distinct_points(self.anchors(), 1e-3 * self.extent)
        solids: list[Solid] = [*rails, *(Ball(point, 2.5 * thin) for point in points)]
        centre = np.mean([pose.p for pose in self.poses[BASE + 1 :]], axis=0)
        ends = [
            sorted((rail.start, rail.stop), key=lambda end: float(np.linalg.norm(end - centre)))
            for rail in rails
        ]
        frames = [distinct_points([*points, *(far for _, far in ends)], 1e-3 * self.extent)]
        if len(rails) > 1 and not points and _are_parallel(rails):
            direction = rails[0].stop - rails[0].start
            ends = [sorted((rail.start, rail.stop), key=lambda end: float(end @ direction)) for rail in rails]
            frames = [[low for low, _ in ends], [high for _, high in ends]]
        for frame in frames:
            edges = planar_rim(frame, 0.05 * self.extent) or spanning_edges(frame)
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
            for b in _joint_bodies(joint)
        )
        return np.asarray(fixed.p + (-1.0 if side < 0.0 else 1.0) * 0.5 * self.extent * axis)

    def joint_points(self, b: int) -> list[Array]:
        """Where the joints of a body are."""
        return [
            pair[_BALL_SIDE.get(joint.kind, side)].p
            for joint, pair in zip(self.robot.joints, self.ends, strict=True)
            for side, owner in enumerate(_joint_bodies(joint))
            if owner == b and not joint.at_point and not joint.is_coupling
        ]

    def anchors(self) -> list[Array]:
        """Where legs are held by the base; sliders have rails instead."""
        return [
            self.tip(j) if self.spherical else fixed.p
            for j, (joint, (fixed, _)) in enumerate(zip(self.robot.joints, self.ends, strict=True))
            if joint.predecessor in self.ground_bodies and not is_sliding(joint) and not joint.is_coupling
        ]

    @property
    def ground_bodies(self) -> tuple[int, ...]:
        """The base, and the body fixed to it on which a robot without a platform hangs."""
        return (BASE,) if self.robot.has_platform else (BASE, PLATFORM)

    def rails(self) -> list[Rod]:
        """The rails of all sliders on the base."""
        return [
            part
            for j in range(len(self.robot.joints))
            for b in self.ground_bodies
            for part in self.slide_solids(j, b)
        ]

    # -------------------------------------------------------------------------- strokes

    def stroke(self, j: int) -> float:
        """Place of the successor's end of a sliding joint along its axis, from the predecessor's, m."""
        fixed, moving = self.ends[j]
        return float(fixed.R[:, 2] @ (moving.p - fixed.p))

    def stroke_range(self, j: int) -> Interval:
        """Least and greatest stroke of a sliding joint that will be shown, m."""
        now = self.stroke(j)
        low, high = self.travelled.get(j, (now, now))
        return Interval(min(low, now), max(high, now))

    def telescope(self, j: int) -> Telescope | None:
        """The telescopic pair of a sliding joint; None if it has a rail."""
        joint = self.robot.joints[j]
        if joint.predecessor in self.ground_bodies:
            return None
        return telescope_of_stroke(_stroke_limits(joint), self.stroke_range(j), self.extent)

    def slide_solids(self, j: int, b: int) -> list[Rod]:
        """What a sliding joint adds to a body: a tube, a rod, or the rail of a slider; others nothing."""
        joint, (fixed, moving) = self.robot.joints[j], self.ends[j]
        if not is_sliding(joint) or b not in _joint_bodies(joint):
            return []
        tube = b == joint.predecessor
        pair = self.telescope(j)
        if pair is not None:
            at, (start, stop) = (fixed, pair.tube) if tube else (moving, pair.rod)
            radius = (TUBE_RADIUS if tube else ROD_RADIUS) * self.extent
        elif tube:
            at, radius = fixed, RAIL_RADIUS * self.extent
            start, stop = rail_of_stroke(
                _stroke_limits(joint),
                self.stroke_range(j),
                self.extent,
                from_anchor=b not in self.ground_bodies,
            )
        else:
            return []
        return [Rod(at.p + start * at.R[:, 2], at.p + stop * at.R[:, 2], radius)]


def is_sliding(joint: Joint) -> bool:
    """Whether a joint slides along its axis."""
    return joint.kind in (JointKind.PRISMATIC, JointKind.CYLINDRICAL)


def _joint_bodies(joint: Joint) -> tuple[int, int]:
    return joint.predecessor, joint.successor


def _stroke_limits(joint: Joint) -> Interval:
    """Limits of the stroke of a sliding joint, m; infinite without limits."""
    return joint.limits[0] if joint.limits else UNBOUNDED


def _are_parallel(rails: Sequence[Rod]) -> bool:
    directions = [(rail.stop - rail.start) / np.linalg.norm(rail.stop - rail.start) for rail in rails]
    return all(abs(abs(float(direction @ directions[0])) - 1.0) < 1e-6 for direction in directions)
