"""What is drawn of a robot, as plain geometry: solids made of flat faces, in base axes.

A solid is convex and given as quadrilaterals (faces, 4, 3), small beside the robot: so a painter who takes
the far ones first hides what is hidden. Nothing here knows how it is put on paper.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nacelle.kinematics.inverse import inverse_kinematics
from nacelle.kinematics.pose_input import reference_pose
from nacelle.model.joint import Joint, JointKind
from nacelle.model.leg import BASE
from nacelle.model.robot import Robot
from nacelle.report.solids import box, cylinder, plate, sphere
from nacelle.shapes.default import MOUTH
from nacelle.shapes.placed import THIN, PlacedRobot
from nacelle.shapes.solid import Ball, Block, Rod, Solid, described_solids
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array

LEG_COLOURS = ("#5b7fa8", "#6f9f7f", "#8d7bb0", "#58a0a6", "#a8a05f", "#b07c96", "#7d8a99", "#8f7763")
NACELLE_COLOUR = "#e8813a"
BASE_COLOUR = "#aab0b8"
JOINT_COLOUR = "#3a4048"
ACTIVE_COLOUR = "#c4262e"
AXIS_COLOURS = ("#cf3b3b", "#3f9a4a", "#3b62cf")

# Lengths as parts of the robot's extent: a joint, a face, an axis of a frame.
_JOINT = 0.011
_FACE = 0.035
_AXIS = 0.13


@dataclass(frozen=True)
class Part:
    """One thing to draw.

    Attributes:
        kind: "body", "base", "joint" or "frame".
        name: name of the body or the joint; for "frame" that of the body.
        active: whether it is a joint that a drive moves.
        solids: its convex solids, each (faces, 4, 3), m.
        colours: the colour of each solid.
    """

    kind: str
    name: str
    solids: tuple[Array, ...]
    colours: tuple[str, ...]
    active: bool = False

    @property
    def points(self) -> Array:
        """All corners (points, 3)."""
        return np.concatenate([np.reshape(solid, (-1, 3)) for solid in self.solids])


@dataclass(frozen=True)
class Scene:
    """A robot at one pose, ready to be drawn.

    Attributes:
        parts: everything to draw, in the order in which a flat picture stacks it.
        across: for a robot that moves in a plane of two base axes, the third (0 to 2); None otherwise.
        extent: diagonal of the box around all joints, m.
    """

    parts: tuple[Part, ...]
    across: int | None
    extent: float

    @property
    def bodies(self) -> tuple[Part, ...]:
        """The moving bodies."""
        return tuple(part for part in self.parts if part.kind == "body")

    @property
    def box(self) -> tuple[Array, Array]:
        """Lower and upper corner of the box around everything."""
        points = np.concatenate([part.points for part in self.parts])
        return points.min(axis=0), points.max(axis=0)


def scene(robot: Robot, x: Any = None, *, frames: bool = False) -> Scene:
    """Place everything that is drawn of a robot.

    Args:
        robot: the robot.
        x: reduced pose (nx,); the reference pose if None.
        frames: whether to add the frames of all bodies.

    Raises:
        UnreachableError: if the pose is out of reach.
    """
    joints = inverse_kinematics(robot, reference_pose(robot) if x is None else x, limits=False)
    return _Placed(robot, [Pose(R, p) for R, p in zip(*joints.bodies, strict=True)]).scene(frames)


class _Placed(PlacedRobot):
    """A robot with the poses of its bodies, and what is drawn of it."""

    def scene(self, frames: bool) -> Scene:
        robot = self.robot
        self.active = {actuator.joint for actuator in robot.actuators}
        colour = {
            b: LEG_COLOURS[k % len(LEG_COLOURS)] for k, leg in enumerate(robot.legs) for b in leg.bodies
        }
        colour |= dict.fromkeys(robot.nacelle.bodies, NACELLE_COLOUR)
        nacelle = set(robot.nacelle.bodies)
        order = sorted(range(1, len(robot.bodies)), key=lambda b: (b in nacelle, b))
        parts = [self.body(BASE, BASE_COLOUR)]
        parts += [self.body(b, colour.get(b, BASE_COLOUR)) for b in order]
        parts += [self.joint(j) for j in range(len(robot.joints)) if self.shown(robot.joints[j])]
        parts += [self.frame(b) for b in (range(len(robot.bodies)) if frames else (BASE,))]
        return Scene(tuple(parts), self.across(), self.extent)

    # -------------------------------------------------------------------------- bodies

    def body(self, b: int, colour: str) -> Part:
        """The solids of a body, each in its own colour or that of the body."""
        solids = self.solids(b)
        faces = tuple(self.faces(solid) for solid in solids)
        kind = "base" if b == BASE else "body"
        return Part(kind, self.robot.bodies[b].name, faces, tuple(solid.colour or colour for solid in solids))

    def faces(self, solid: Solid) -> Array:
        """Faces of a solid, which is not drawn thinner than the thinnest thing."""
        thin, face = THIN * self.extent, _FACE * self.extent
        if isinstance(solid, Rod):
            return cylinder(solid.start, solid.stop, max(solid.radius, thin), face)
        if isinstance(solid, Ball):
            return sphere(solid.centre, solid.radius)
        if isinstance(solid, Block):
            return box(solid.at, np.maximum(solid.size, 2.0 * thin), face)
        return plate([*solid.corners], solid.half, face)

    # -------------------------------------------------------------------------- joints and frames

    @staticmethod
    def shown(joint: Joint) -> bool:
        """Whether a joint has a mark: what is fixed has none."""
        return joint.kind is not JointKind.FIXED

    def joint(self, j: int) -> Part:
        """The mark of a joint: a pin along its axis, a sleeve on its slide, or a ball."""
        joint = self.robot.joints[j]
        at = self.ends[j][1]
        if self.spherical:
            at = Pose(at.R, self.tip(j))
        if joint.kind is JointKind.PRISMATIC:
            solid = self.sleeve(j)
        elif joint.kind in (JointKind.REVOLUTE, JointKind.CYLINDRICAL):
            r = self.joint_radius(joint)
            reach = 1.6 * r * at.R[:, 2]
            solid = cylinder(at.p - reach, at.p + reach, r, r)
        else:
            solid = sphere(at.p, 1.15 * self.joint_radius(joint))
        colour = ACTIVE_COLOUR if j in self.active else JOINT_COLOUR
        return Part("joint", joint.name, (solid,), (colour,), j in self.active)

    def joint_radius(self, joint: Joint) -> float:
        """A joint is a little thicker than what passes through it, within reason."""
        r = _JOINT * self.extent
        for b, frame in (
            (joint.predecessor, joint.frame_predecessor),
            (joint.successor, joint.frame_successor),
        ):
            for solid in described_solids(self.robot.bodies[b]):
                if isinstance(solid, Ball):
                    if float(np.linalg.norm(frame.p - solid.centre)) < solid.radius:
                        r = max(r, 0.8 * solid.radius)
                elif isinstance(solid, Rod):
                    start, bar = solid.start, solid.stop - solid.start
                    length = float(np.linalg.norm(bar))
                    foot = start + bar * np.clip((frame.p - start) @ bar / max(length, 1e-300) ** 2, 0.0, 1.0)
                    near = float(np.linalg.norm(frame.p - foot)) < solid.radius
                    if near and length > 3.0 * solid.radius:
                        r = max(r, 1.15 * solid.radius)
        return min(r, 0.03 * self.extent)

    def sleeve(self, j: int) -> Array:
        """The mark of a slide: through the slider on a rail of the base, at the mouth of a tube otherwise."""
        joint, (fixed, moving) = self.robot.joints[j], self.ends[j]
        axis = fixed.R[:, 2]
        stroke = float(axis @ (moving.p - fixed.p))
        r, reach = 1.3 * _JOINT * self.extent, 1.3 * _JOINT * self.extent
        if joint.predecessor == BASE:
            r = 0.95 * _JOINT * self.extent
            shapes = [self.faces(solid) for solid in self.described(joint.successor)]
            spans = [(solid.reshape(-1, 3) - moving.p) @ axis for solid in shapes]
            if spans:
                reach = min(max(float(np.max(np.abs(span))) for span in spans), 0.1 * self.extent) + 2.5 * r
            return cylinder(moving.p - reach * axis, moving.p + reach * axis, r, r)
        mouth = MOUTH * stroke
        for solid in self.described(joint.predecessor):
            if isinstance(solid, Rod):
                ends = [end - fixed.p for end in (solid.start, solid.stop)]
                strokes = sorted((axis @ end for end in ends), key=lambda s: s * np.sign(stroke))
                if abs(strokes[1] - strokes[0]) > 0.99 * float(np.linalg.norm(ends[1] - ends[0])):
                    mouth, r = float(strokes[1]), 1.15 * solid.radius
        centre = fixed.p + mouth * axis
        return cylinder(centre - reach * axis, centre + reach * axis, r, r)

    def frame(self, b: int) -> Part:
        """The axes of a body: red x, green y, blue z."""
        pose = self.poses[b]
        length = (_AXIS if b == BASE else 0.5 * _AXIS) * self.extent
        r = 0.6 * THIN * self.extent
        face = _FACE * self.extent
        solids = []
        for k in range(3):
            tip = pose.p + length * pose.R[:, k]
            solids.append(cylinder(pose.p, tip, r, face))
            solids.append(cylinder(tip, tip + 0.25 * length * pose.R[:, k], 3.0 * r, face, end=0.0))
        colours = [colour for colour in AXIS_COLOURS for _ in range(2)]
        return Part("frame", self.robot.bodies[b].name, tuple(solids), tuple(colours))

    # -------------------------------------------------------------------------- the plane

    def across(self) -> int | None:
        """The base axis perpendicular to the plane in which all bodies move; None if they do not."""
        revolute: list[Array] = []
        slides: list[Array] = []
        for joint, (fixed, _) in zip(self.robot.joints, self.ends, strict=True):
            if joint.kind in (JointKind.POINT, JointKind.FIXED):
                continue
            if joint.kind not in (JointKind.REVOLUTE, JointKind.PRISMATIC):
                return None
            (revolute if joint.kind is JointKind.REVOLUTE else slides).append(fixed.R[:, 2])
        for k in range(3):
            along = all(abs(abs(axis[k]) - 1.0) < 1e-9 for axis in revolute)
            if revolute and along and all(abs(axis[k]) < 1e-9 for axis in slides):
                return k
        return None
