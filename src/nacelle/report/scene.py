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
from nacelle.model.description.frame import FrameSpec
from nacelle.model.joint import Joint, JointKind
from nacelle.model.leg import BASE
from nacelle.model.robot import Robot
from nacelle.report.default_shapes import MOUTH, ROD, Slide, arc_solids, body_solids
from nacelle.report.solids import apart, box, cylinder, rim, sphere
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array

LEG_COLOURS = ("#5b7fa8", "#6f9f7f", "#8d7bb0", "#58a0a6", "#a8a05f", "#b07c96", "#7d8a99", "#8f7763")
NACELLE_COLOUR = "#e8813a"
BASE_COLOUR = "#aab0b8"
JOINT_COLOUR = "#3a4048"
ACTIVE_COLOUR = "#c4262e"
AXIS_COLOURS = ("#cf3b3b", "#3f9a4a", "#3b62cf")

# Lengths as parts of the robot's extent: the thinnest thing drawn, a joint, a face, an axis of a frame.
_THIN = 0.004
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


class _Placed:
    """A robot with the poses of its bodies."""

    def __init__(self, robot: Robot, poses: list[Pose]) -> None:
        self.robot, self.poses = robot, poses
        self.ends = [
            (poses[j.predecessor] @ j.frame_predecessor, poses[j.successor] @ j.frame_successor)
            for j in robot.joints
        ]
        points = np.array([end.p for pair in self.ends for end in pair])
        self.extent = float(np.linalg.norm(points.max(axis=0) - points.min(axis=0)))
        # Where all joints meet in one point, as in spherical mechanisms, they are drawn on a sphere.
        self.spherical = self.extent < 1e-9 * robot.size
        if self.spherical:
            masses = [body for body in robot.bodies if body.mass > 0.0]
            reach = [float(np.linalg.norm(body.inertia[1:4])) / body.mass for body in masses]
            self.extent = 2.0 * max(reach, default=0.0) or 1.0
        self.active = {actuator.joint for actuator in robot.actuators}

    def scene(self, frames: bool) -> Scene:
        robot = self.robot
        colour = {
            b: LEG_COLOURS[k % len(LEG_COLOURS)] for k, leg in enumerate(robot.legs) for b in leg.bodies
        }
        colour |= dict.fromkeys(robot.nacelle.bodies, NACELLE_COLOUR)
        nacelle = set(robot.nacelle.bodies)
        order = sorted(range(1, len(robot.bodies)), key=lambda b: (b in nacelle, b))
        parts = [self.base()]
        parts += [self.body(b, colour.get(b, BASE_COLOUR)) for b in order]
        parts += [self.joint(j) for j in range(len(robot.joints)) if self.shown(robot.joints[j])]
        parts += [self.frame(b) for b in (range(len(robot.bodies)) if frames else (BASE,))]
        return Scene(tuple(parts), self.across(), self.extent)

    # -------------------------------------------------------------------------- bodies

    def body(self, b: int, colour: str) -> Part:
        """The shapes of a body; without any, what its joints suggest."""
        body = self.robot.bodies[b]
        solids, colours = [], []
        for shape in self.shapes(b):
            solid = self.solid(shape, self.poses[b])
            if solid is not None:
                solids.append(solid)
                colours.append(shape.get("color", colour))
        if not solids:
            solids = self.default(b)
            colours = [colour] * len(solids)
        return Part("body", body.name, tuple(solids), tuple(colours))

    def solid(self, shape: dict[str, Any], pose: Pose) -> Array | None:
        """One shape of a description; None for a mesh, whose file the robot does not know."""
        thin, face = _THIN * self.extent, _FACE * self.extent
        if "cylinder" in shape:
            data = shape["cylinder"]
            start, stop = (pose.R @ np.array(data[end]) + pose.p for end in ("from", "to"))
            return cylinder(start, stop, max(data["radius"], thin), face)
        if "sphere" in shape:
            data = shape["sphere"]
            return sphere(pose.R @ np.array(data.get("at", (0.0, 0.0, 0.0))) + pose.p, data["radius"])
        if "box" in shape:
            data = shape["box"]
            at = pose @ FrameSpec.model_validate(data.get("at", {})).pose()
            return box(at, np.maximum(data["size"], 2.0 * thin), face)
        return None

    def default(self, b: int) -> list[Array]:
        """Solids of a body without shapes of its own."""
        face = _FACE * self.extent
        platform = b in self.robot.nacelle.bodies
        centres = self.joint_points(b)
        if self.spherical:
            centres = [self.tip(j) for j, joint in enumerate(self.robot.joints) if b in _bodies(joint)]
            if not platform:
                return arc_solids(centres, self.ends[0][0].p, 1.4 * ROD * self.extent, face)
        slides = []
        for joint, (fixed, moving) in zip(self.robot.joints, self.ends, strict=True):
            if _slides(joint) and joint.predecessor != BASE and b in _bodies(joint):
                tube = b == joint.predecessor
                slides.append(Slide(*((fixed.p, moving.p) if tube else (moving.p, fixed.p)), tube))
        return body_solids(centres, slides, self.poses[b].p, self.extent, face, platform=platform)

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
            for owner, end in zip((joint.predecessor, joint.successor), pair, strict=True)
            if owner == b and not joint.at_point
        ]

    # -------------------------------------------------------------------------- base

    def base(self) -> Part:
        """The base: its shapes, or a frame that joins the anchors; the rails of its sliders."""
        solids, colours = [], []
        for shape in self.shapes(BASE):
            solid = self.solid(shape, self.poses[BASE])
            if solid is not None:
                solids.append(solid)
                colours.append(shape.get("color", BASE_COLOUR))
        thin, face = _THIN * self.extent, _FACE * self.extent
        if not solids:
            points = apart(self.anchors(), 1e-3 * self.extent)
            edges = rim(points, 0.05 * self.extent)
            solids = [cylinder(points[i], points[k], thin, face) for i, k in edges]
            solids += [cylinder(*rail, 1.5 * thin, face) for rail in self.rails()]
            solids += [sphere(point, 2.5 * thin) for point in points]
            colours = [BASE_COLOUR] * len(solids)
        return Part("base", self.robot.bodies[BASE].name, tuple(solids), tuple(colours))

    def anchors(self) -> list[Array]:
        """Where legs are held by the base; sliders have rails instead."""
        return [
            self.tip(j) if self.spherical else fixed.p
            for j, (joint, (fixed, _)) in enumerate(zip(self.robot.joints, self.ends, strict=True))
            if joint.predecessor == BASE and not _slides(joint)
        ]

    def rails(self) -> list[tuple[Array, Array]]:
        """For every slide on the base a line from its anchor to a little beyond the slider."""
        rails = []
        for joint, (fixed, moving) in zip(self.robot.joints, self.ends, strict=True):
            if joint.predecessor == BASE and _slides(joint):
                axis = fixed.R[:, 2]
                stroke = float(axis @ (moving.p - fixed.p))
                margin = (0.05 if abs(stroke) > 0.2 * self.extent else 0.2) * self.extent
                low, high = min(stroke, 0.0) - margin, max(stroke, 0.0) + margin
                rails.append((fixed.p + low * axis, fixed.p + high * axis))
        return rails

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
            for shape in self.shapes(b):
                if "sphere" in shape:
                    data = shape["sphere"]
                    if float(np.linalg.norm(frame.p - np.array(data["at"]))) < data["radius"]:
                        r = max(r, 0.8 * data["radius"])
                elif "cylinder" in shape:
                    data = shape["cylinder"]
                    start, bar = np.array(data["from"]), np.subtract(data["to"], data["from"])
                    length = float(np.linalg.norm(bar))
                    foot = start + bar * np.clip((frame.p - start) @ bar / max(length, 1e-300) ** 2, 0.0, 1.0)
                    near = float(np.linalg.norm(frame.p - foot)) < data["radius"]
                    if near and length > 3.0 * data["radius"]:
                        r = max(r, 1.15 * data["radius"])
        return min(r, 0.03 * self.extent)

    def sleeve(self, j: int) -> Array:
        """The mark of a slide: through the slider on a rail of the base, at the mouth of a tube otherwise."""
        joint, (fixed, moving) = self.robot.joints[j], self.ends[j]
        axis = fixed.R[:, 2]
        stroke = float(axis @ (moving.p - fixed.p))
        r, reach = 1.3 * _JOINT * self.extent, 1.3 * _JOINT * self.extent
        if joint.predecessor == BASE:
            r = 0.95 * _JOINT * self.extent
            shapes = [
                self.solid(shape, self.poses[joint.successor]) for shape in self.shapes(joint.successor)
            ]
            spans = [(solid.reshape(-1, 3) - moving.p) @ axis for solid in shapes if solid is not None]
            if spans:
                reach = min(max(float(np.max(np.abs(span))) for span in spans), 0.1 * self.extent) + 2.5 * r
            return cylinder(moving.p - reach * axis, moving.p + reach * axis, r, r)
        mouth = MOUTH * stroke
        for shape in self.shapes(joint.predecessor):
            if "cylinder" in shape:
                data, pose = shape["cylinder"], self.poses[joint.predecessor]
                ends = [pose.R @ np.array(data[end]) + pose.p - fixed.p for end in ("from", "to")]
                strokes = sorted((axis @ end for end in ends), key=lambda s: s * np.sign(stroke))
                if abs(strokes[1] - strokes[0]) > 0.99 * float(np.linalg.norm(ends[1] - ends[0])):
                    mouth, r = float(strokes[1]), 1.15 * data["radius"]
        centre = fixed.p + mouth * axis
        return cylinder(centre - reach * axis, centre + reach * axis, r, r)

    def shapes(self, b: int) -> tuple[dict[str, Any], ...]:
        """The shapes of a body."""
        return self.robot.bodies[b].display

    def frame(self, b: int) -> Part:
        """The axes of a body: red x, green y, blue z."""
        pose = self.poses[b]
        length = (_AXIS if b == BASE else 0.5 * _AXIS) * self.extent
        r = 0.6 * _THIN * self.extent
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


def _bodies(joint: Joint) -> tuple[int, int]:
    return joint.predecessor, joint.successor


def _slides(joint: Joint) -> bool:
    return joint.kind in (JointKind.PRISMATIC, JointKind.CYLINDRICAL)
