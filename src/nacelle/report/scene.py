"""What is drawn of a robot, as plain geometry: solids made of flat faces, in base axes.

A solid is convex and given as quadrilaterals (faces, 4, 3), small beside the robot: so a painter who takes
the far ones first hides what is hidden. Nothing here knows how it is put on paper.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

from nacelle.kinematics.inverse import inverse_kinematics
from nacelle.kinematics.pose_input import reference_pose
from nacelle.model.description import FrameSpec
from nacelle.model.joint import Joint, JointKind
from nacelle.model.leg import BASE
from nacelle.model.robot import Robot
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
    found = inverse_kinematics(robot, reference_pose(robot) if x is None else x, limits=False)
    return _Placed(robot, [Pose(R, p) for R, p in zip(*found.bodies, strict=True)]).scene(frames)


class _Placed:
    """A robot with the poses of its bodies."""

    def __init__(self, robot: Robot, poses: list[Pose]) -> None:
        self.robot, self.poses = robot, poses
        self.ends = [
            (poses[j.predecessor] @ j.frame_predecessor, poses[j.successor] @ j.frame_successor)
            for j in robot.joints
        ]
        points = np.array([end.p for pair in self.ends for end in pair])
        self.extent = float(np.linalg.norm(points.max(axis=0) - points.min(axis=0))) or 1.0
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
        """The shapes of a body; without any, lines between its joints."""
        body = self.robot.bodies[b]
        solids, colours = [], []
        for shape in self.shapes(b):
            solid = self.solid(shape, self.poses[b])
            if solid is not None:
                solids.append(solid)
                colours.append(shape.get("color", colour))
        if not solids:
            solids = self.lines(b)
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

    def lines(self, b: int) -> list[Array]:
        """Lines between the joints of a body, and a ball where they all meet."""
        points = _apart(self.joint_points(b), 1e-3 * self.extent)
        if len(points) < 2:
            centre = points[0] if len(points) else self.poses[b].p
            return [sphere(centre, 1.6 * _JOINT * self.extent)]
        if len(points) == 2:
            pairs = [(0, 1)]
        else:
            centre = np.mean(points, axis=0)
            points, pairs = [*points, centre], [(k, len(points)) for k in range(len(points))]
        r, face = 1.4 * _THIN * self.extent, _FACE * self.extent
        return [cylinder(points[i], points[k], r, face) for i, k in pairs]

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
            points = _apart(self.anchors(), 1e-3 * self.extent)
            edges = _rim(points, 0.05 * self.extent)
            solids = [cylinder(points[i], points[k], thin, face) for i, k in edges]
            solids += [cylinder(*rail, 1.5 * thin, face) for rail in self.rails()]
            solids += [sphere(point, 2.5 * thin) for point in points]
            colours = [BASE_COLOUR] * len(solids)
        return Part("base", self.robot.bodies[BASE].name, tuple(solids), tuple(colours))

    def anchors(self) -> list[Array]:
        """Where legs are held by the base; sliders have rails instead."""
        return [
            fixed.p
            for joint, (fixed, _) in zip(self.robot.joints, self.ends, strict=True)
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
        mouth = 0.5 * stroke
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
        """The base axis square to the plane in which all bodies move; None if they do not."""
        turns: list[Array] = []
        slides: list[Array] = []
        for joint, (fixed, _) in zip(self.robot.joints, self.ends, strict=True):
            if joint.kind in (JointKind.POINT, JointKind.FIXED):
                continue
            if joint.kind not in (JointKind.REVOLUTE, JointKind.PRISMATIC):
                return None
            (turns if joint.kind is JointKind.REVOLUTE else slides).append(fixed.R[:, 2])
        for k in range(3):
            along = all(abs(abs(axis[k]) - 1.0) < 1e-9 for axis in turns)
            if turns and along and all(abs(axis[k]) < 1e-9 for axis in slides):
                return k
        return None


def _slides(joint: Joint) -> bool:
    return joint.kind in (JointKind.PRISMATIC, JointKind.CYLINDRICAL)


# ------------------------------------------------------------------------------ solids


def cylinder(start: Array, stop: Array, radius: float, face: float, *, end: float = 1.0) -> Array:
    """Faces of a cylinder between two points, none longer than `face`; a cone with `end` = 0.

    Args:
        start: centre of the first end (3,).
        stop: centre of the other end (3,).
        radius: its radius, m.
        face: longest face, m.
        end: radius at the other end, as a part of the first.
    """
    start, stop = np.asarray(start, dtype=float), np.asarray(stop, dtype=float)
    length = float(np.linalg.norm(stop - start))
    axis = (stop - start) / length if length else np.array([0.0, 0.0, 1.0])
    across = np.cross(axis, np.eye(3)[int(np.argmin(np.abs(axis)))])
    across = across / np.linalg.norm(across)
    count = 12 if radius < 0.5 * face else 40
    turn = np.linspace(0.0, 2.0 * np.pi, count + 1)[:, None]
    circle = radius * (np.cos(turn) * across + np.sin(turn) * np.cross(axis, across))
    steps = max(1, int(np.ceil(length / face)))
    rings = [
        start + t * (stop - start) + (1.0 + t * (end - 1.0)) * circle
        for t in np.linspace(0.0, 1.0, steps + 1)
    ]
    discs = max(1, int(np.ceil(radius / (2.0 * face))))
    first = [start + t * circle for t in np.linspace(0.0, 1.0, discs + 1)]
    last = [stop + t * end * circle for t in np.linspace(1.0, 0.0, discs + 1)]
    return _skin([*first, *rings[1:-1], *last])


def sphere(centre: Array, radius: float) -> Array:
    """Faces of a sphere."""
    turn = np.linspace(0.0, 2.0 * np.pi, 17)[:, None]
    circle = np.hstack([np.cos(turn), np.sin(turn), np.zeros_like(turn)])
    pole = np.array([0.0, 0.0, 1.0])
    rise = np.linspace(-0.5 * np.pi, 0.5 * np.pi, 9)
    return _skin([centre + radius * (np.cos(angle) * circle + np.sin(angle) * pole) for angle in rise])


def box(pose: Pose, size: Array, face: float) -> Array:
    """Faces of a box with its centre at a frame."""
    half = 0.5 * np.asarray(size, dtype=float)
    faces = []
    for k, sign in itertools.product(range(3), (-1.0, 1.0)):
        i, j = (k + 1) % 3, (k + 2) % 3
        lines = [
            np.linspace(-half[m], half[m], max(1, min(40, int(np.ceil(2.0 * half[m] / face)))) + 1)
            for m in (i, j)
        ]
        grid = np.empty((len(lines[0]), len(lines[1]), 3))
        grid[..., i], grid[..., j] = np.meshgrid(*lines, indexing="ij")
        grid[..., k] = sign * half[k]
        faces.append(_skin(list(grid if sign > 0.0 else grid[::-1])))
    return np.asarray(np.concatenate(faces) @ pose.R.T + pose.p)


def _skin(rings: list[Array]) -> Array:
    """Quadrilaterals between rows of points (rows, points, 3)."""
    net = np.stack(rings)
    corners = [net[:-1, :-1], net[1:, :-1], net[1:, 1:], net[:-1, 1:]]
    return np.stack(corners, axis=2).reshape(-1, 4, 3)


def face_normals(faces: Array) -> Array:
    """Unit normals (faces, 3); zero where a face has no area."""
    normals = np.cross(faces[:, 2] - faces[:, 0], faces[:, 3] - faces[:, 1])
    length = np.linalg.norm(normals, axis=1, keepdims=True)
    return np.asarray(normals / np.where(length > 0.0, length, 1.0))


def outward(solid: Array) -> Array:
    """Normals of a convex solid, pointing out of it."""
    normals = face_normals(solid)
    centres = solid.mean(axis=1)
    inward = np.einsum("fi,fi->f", normals, centres - centres.mean(axis=0)) < 0.0
    return np.asarray(np.where(inward[:, None], -normals, normals))


# ------------------------------------------------------------------------------ points


def _apart(points: list[Array], distance: float) -> list[Array]:
    """Points that are not the same, in their order."""
    kept: list[Array] = []
    for point in points:
        if all(float(np.linalg.norm(point - other)) > distance for other in kept):
            kept.append(point)
    return kept


def _rim(points: list[Array], distance: float) -> list[tuple[int, int]]:
    """Edges around points that lie in one plane within a distance; none if they do not."""
    if len(points) < 2:
        return []
    if len(points) == 2:
        return [(0, 1)]
    cloud = np.array(points)
    centred = cloud - cloud.mean(axis=0)
    axes = np.linalg.svd(centred)[2]
    if np.max(np.abs(centred @ axes[2])) > distance:
        return []
    ring = _hull(centred @ axes[:2].T)
    if len(ring) < 3:  # all on one line
        ring = [int(k) for k in np.argsort(centred @ axes[0])]
        return list(itertools.pairwise(ring))
    return list(zip(ring, [*ring[1:], ring[0]], strict=True))


def _hull(points: Array) -> list[int]:
    """Corners of the convex hull of points (N, 2), counterclockwise, by Andrew's monotone chain."""
    order = [int(k) for k in np.lexsort((points[:, 1], points[:, 0]))]
    flat = 1e-12 * float(np.max(np.ptp(points, axis=0))) ** 2

    def chain(indices: list[int]) -> list[int]:
        corners: list[int] = []
        for k in indices:
            while len(corners) > 1:
                (ax, ay), (bx, by) = (
                    points[corners[-1]] - points[corners[-2]],
                    points[k] - points[corners[-2]],
                )
                if ax * by - ay * bx > flat:
                    break
                corners.pop()
            corners.append(k)
        return corners

    return chain(order)[:-1] + chain(order[::-1])[:-1]
