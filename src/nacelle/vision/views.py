"""What a camera can use of a robot's legs at a pose, and why not the rest.

Each cylinder is judged by what the camera sees of its two edges (`nacelle.vision.visibility`): an edge is
usable if a long enough part of it is free. The planes of both must differ by more than the image resolves.
The usable edges determine the pose where the Jacobian from the reduced twist to them has full rank
(`image_jacobian`); an error says which views are missing where it has not. Boxes are listed: the
edges of a box are those of its faces, no plane touches it as it touches a cylinder, and so they are not
measured.

How the edges of cylinders move in the image when the robot moves.

A point C of the axis of a cylinder on body b moves by dC = v_b + w_b x (C - o_b), [v_b; w_b] = J_b v with v
the reduced twist (n,). The plane of side k touches the cylinder at X = C -+ r n_k. Since n . C = +-r stays,
dn . X = -n . dC: the edge moves in the image at X, across itself and towards growing n . (x, y, 1), by

    n . dC / (X_z |grad|)        px, |grad| that of n . (x, y, 1) in the image, 1/px

Two places on an edge say all of it. Rows of all edges: the Jacobian from the reduced twist to the image.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntFlag
from typing import Any

import numpy as np

from nacelle.errors import UnobservableError
from nacelle.kinematics.jacobian import body_jacobian
from nacelle.kinematics.pose_input import reference_pose
from nacelle.kinematics.shapes import twist_scales
from nacelle.kinematics.solve.inverse import BodyPoses
from nacelle.model.robot import Robot
from nacelle.shapes.solid import Rod
from nacelle.spatial.rotation import skew
from nacelle.spatial.scalar import Array
from nacelle.vision.camera import Camera, PixelPatch
from nacelle.vision.cylinders import Cylinder, leg_boxes
from nacelle.vision.image.pixel_model import PixelModel
from nacelle.vision.scene import CameraScene, RobotScenery, camera_is_within
from nacelle.vision.visibility import ContactLines, EdgeVisibility, edge_visibilities

# Where on an edge it is looked at, from 0 at A to 1 at B.
_EDGE_FRACTIONS = (0.2, 0.8)
# A motion by the robot's size, or by 1 rad, that moves no edge by more than this is not seen, px.
UNSEEN_MOTION = 1e-3


def edge_motion(camera: Camera, cylinder: Cylinder, bodies: BodyPoses, J: Array) -> Array:
    """How the two edges of a cylinder move in the image: (2, places, n), px per unit of the reduced twist.

    Args:
        camera: the camera.
        cylinder: the cylinder.
        bodies: poses of all bodies.
        J: Jacobians of all bodies (bodies, 6, n), as `body_jacobian`.

    Returns:
        The motion across the edges; NaN where the camera sees none.
    """
    A, B = cylinder.ends_in_base(*bodies)
    lines = ContactLines.of(Rod(camera.in_camera_axes(A), camera.in_camera_axes(B), cylinder.radius))
    X = lines.points(np.asarray(_EDGE_FRACTIONS))
    pixels = camera.pixels(X)
    result = np.full((2, len(_EDGE_FRACTIONS), J.shape[-1]), np.nan)
    for side, i in np.argwhere(np.all(np.isfinite(pixels), axis=-1)):
        C, normal = A + _EDGE_FRACTIONS[i] * (B - A), lines.normals[side]
        velocity = J[cylinder.body, :3] - skew(C - bodies.p[cylinder.body]) @ J[cylinder.body, 3:]
        edge = PixelPatch.of(camera, *pixels[side, i, :, None]).distance_from_plane(normal)
        result[side, i] = camera.pose.R @ normal @ velocity / (X[side, i, 2] * edge.slope[0])
    return result


def image_jacobian(
    robot: Robot, camera: Camera, x: Any, bodies: BodyPoses, edges: Sequence[tuple[Cylinder, int]]
) -> Array:
    """How all given edges move in the image (2 edges, n), px, for motions by the robot's size or by 1 rad."""
    J = body_jacobian(robot, x)
    rows = [edge_motion(camera, cylinder, bodies, J)[side] for cylinder, side in edges]
    return np.asarray(np.concatenate([np.zeros((0, J.shape[-1])), *rows]) * twist_scales(robot))


def observable_motions(jacobian: Array) -> tuple[int, float]:
    """How many independent motions an image Jacobian sees, and the least effect of one of all, px."""
    if not len(jacobian):
        return 0, 0.0
    values = np.linalg.svd(np.nan_to_num(jacobian), compute_uv=False)
    least = float(values[-1]) if len(values) == jacobian.shape[1] else 0.0
    return int(np.count_nonzero(values > UNSEEN_MOTION)), least


# ---- what a camera can use of a robot's legs at a pose, and why not the rest


# Free length that an edge needs, px, and width that keeps the two edges apart, in widths of a blurred edge.
_LONG = 12.0
_WIDE = 2.5
# Edges of two cylinders nearer than this (px) may be exchanged.
_GATE = 3.0
# Samples along each edge.
_SAMPLES = 49


class ViewFlag(IntFlag):
    """What is wrong with the view of a cylinder."""

    OUT_OF_VIEW = 1
    CAMERA_INSIDE = 2
    END_ON = 4
    PARALLEL_EDGES = 8
    OCCLUDED = 16
    OVERLAPPING = 32
    MIRRORED = 64
    BOX = 128
    SHORT = 256


VIEW_MESSAGES = {
    ViewFlag.OUT_OF_VIEW: "out of view",
    ViewFlag.CAMERA_INSIDE: "the camera is inside it",
    ViewFlag.END_ON: "its axis passes through the camera's centre, which is within the endless cylinder",
    ViewFlag.PARALLEL_EDGES: "its edges are too close together to be distinguished",
    ViewFlag.OCCLUDED: "hidden by other parts",
    ViewFlag.OVERLAPPING: "another part is seen next to its edges",
    ViewFlag.MIRRORED: "its edges coincide with those of another leg: the two may be exchanged",
    ViewFlag.BOX: "a box: its edges are not those of a cylinder",
    ViewFlag.SHORT: "too little of its edges is seen",
}


@dataclass(frozen=True, eq=False)
class CylinderView:
    """How a camera sees one cylinder, or a box of a leg.

    Attributes:
        name: of the cylinder.
        leg: index of its leg.
        cylinder: index in `visible_cylinders(robot)`; -1 for a box.
        flags: what is wrong (`ViewFlag`).
        sides: the edges that can be used, of 0 and 1.
        visible: part of each edge (2,) that is in the image and not hidden, from 0 to 1.
        length: free length of each edge (2,), px.
        width: distance of the edges in the middle of what is seen, px.
        mirrored: indices of cylinders with which it may be exchanged.
    """

    name: str
    leg: int
    cylinder: int
    flags: ViewFlag
    sides: tuple[int, ...]
    visible: Array
    length: Array
    width: float
    mirrored: tuple[int, ...] = ()

    @property
    def usable(self) -> bool:
        """Whether both edges can be used: direction and place of the cylinder follow."""
        return len(self.sides) == 2

    @property
    def reason(self) -> str:
        """A message that says what is wrong; empty if nothing is."""
        return "; ".join(message for flag, message in VIEW_MESSAGES.items() if self.flags & flag)


@dataclass(frozen=True, eq=False)
class View:
    """How a camera sees the legs of a robot at one pose.

    Attributes:
        robot: the robot.
        cylinders: its cylinders, in the order of `visible_cylinders`.
        boxes: boxes of its legs, which are not measured.
        jacobian: how the usable edges move in the image (2 edges, n), px, for motions by the robot's size or
            by 1 rad.
        seen: how many independent motions the usable edges see.
        least: the least effect of a motion by the robot's size or by 1 rad on them, px.
    """

    robot: Robot
    cylinders: tuple[CylinderView, ...]
    boxes: tuple[CylinderView, ...]
    jacobian: Array
    seen: int
    least: float

    @property
    def usable(self) -> tuple[int, ...]:
        """Indices of the cylinders of which both edges can be used."""
        return tuple(view.cylinder for view in self.cylinders if view.usable)

    @property
    def edges(self) -> tuple[tuple[int, int], ...]:
        """All usable edges, as (cylinder, side)."""
        return tuple((view.cylinder, side) for view in self.cylinders for side in view.sides)

    @property
    def determined(self) -> bool:
        """Whether the usable edges determine the pose."""
        return self.seen == self.robot.motion.n

    @property
    def reasons(self) -> dict[str, str]:
        """For each cylinder or box with something wrong what that is, by name."""
        return {view.name: view.reason for view in (*self.cylinders, *self.boxes) if view.flags}

    def require(self) -> View:
        """The view itself, if it determines the pose.

        Raises:
            UnobservableError: if the usable edges do not determine it, with all reasons.
        """
        if self.determined:
            return self
        missing = self.robot.motion.n - self.seen
        lines = [f"  {name}: {reason}" for name, reason in self.reasons.items()]
        if not self.cylinders:
            lines.append("  its legs have no cylinders")
        raise UnobservableError(
            "\n".join(
                [
                    f"{self.robot.name}: {len(self.edges)} usable edges of legs leave {missing} of "
                    f"{self.robot.motion.n} motions undetermined",
                    *lines,
                ]
            ),
            self.reasons,
            missing,
        )


def judge_view(scenery: RobotScenery, camera: Camera, x: Any = None, model: PixelModel | None = None) -> View:
    """Judge what a camera sees of a robot at a pose.

    Args:
        scenery: the robot's solids.
        camera: the camera.
        x: reduced pose (nx,); the reference pose if None.
        model: the pixel model; the default one if None.
    """
    model = model or PixelModel()
    robot = scenery.robot
    x = reference_pose(robot) if x is None else x
    bodies = scenery.bodies(x)
    scene = scenery.scene(camera, *bodies)
    views = cylinder_views(scene, model)
    edges = [(scenery.cylinders[view.cylinder], side) for view in views for side in view.sides]
    jacobian = image_jacobian(robot, camera, x, bodies, edges)
    seen, least = observable_motions(jacobian)
    none = np.zeros(2)
    boxes = (CylinderView(*box, -1, ViewFlag.BOX, (), none, none, 0.0) for box in leg_boxes(robot))
    return View(robot, views, tuple(boxes), jacobian, seen, least)


def cylinder_views(scene: CameraScene, model: PixelModel) -> tuple[CylinderView, ...]:
    """Judge all cylinders of a scene."""
    seen = edge_visibilities(scene, range(len(scene.rods)), model.reach, _SAMPLES)
    exchanged = _exchangeable_cylinders(seen, scene)
    return tuple(
        _judge_cylinder(k, scene.cylinders[k], scene.rods[k], seen[k], model, exchanged[k])
        for k in range(len(scene.rods))
    )


def _judge_cylinder(
    k: int, cylinder: Cylinder, rod: Rod, seen: EdgeVisibility, model: PixelModel, others: tuple[int, ...]
) -> CylinderView:
    flags = ViewFlag(0)
    inside, hidden = np.mean(seen.inside, axis=1), seen.inside & seen.hidden
    visible = np.mean(seen.inside & ~seen.hidden, axis=1)
    length = seen.free_length(model.reach) if np.any(seen.free) else np.zeros(2)
    in_image = np.any(seen.inside, axis=0)
    width = float(np.median(seen.width[in_image])) if np.any(in_image) else 0.0
    sides = tuple(side for side in (0, 1) if length[side] >= _LONG)
    if camera_is_within(rod):
        flags |= ViewFlag.CAMERA_INSIDE
    elif not np.all(np.isfinite(seen.lines.normals)):
        flags |= ViewFlag.END_ON
    elif not np.any(inside):
        flags |= ViewFlag.OUT_OF_VIEW
    else:
        if np.any(inside < 1.0) and not sides:
            flags |= ViewFlag.OUT_OF_VIEW
        if width < _WIDE * model.width:
            flags |= ViewFlag.PARALLEL_EDGES
            sides = ()
        if others:
            flags |= ViewFlag.MIRRORED
            sides = ()
        if len(sides) < 2:
            if np.any(np.mean(hidden, axis=1) > 0.25 * inside):
                flags |= ViewFlag.OCCLUDED
            if np.any(np.mean(seen.inside & ~seen.hidden & seen.crowded, axis=1) > 0.25 * inside):
                flags |= ViewFlag.OVERLAPPING
            flags |= ViewFlag(0) if flags else ViewFlag.SHORT
    return CylinderView(cylinder.name, cylinder.leg, k, flags, sides, visible, length, width, others)


def _exchangeable_cylinders(seen: list[EdgeVisibility], scene: CameraScene) -> list[tuple[int, ...]]:
    """For each cylinder those of other bodies whose edges coincide with its own in the image, end to end."""
    ends = (
        np.stack([visibility.pixels[:, [0, -1]] for visibility in seen]) if seen else np.zeros((0, 2, 2, 2))
    )
    with np.errstate(invalid="ignore"):
        # Edges 0 and 1 from A to B, or the other way round with the sides swapped.
        ahead = np.linalg.norm(ends[:, None] - ends[None], axis=-1).max(axis=(-1, -2), initial=0.0)
        back = np.linalg.norm(ends[:, None] - ends[None][:, :, ::-1, ::-1], axis=-1)
        near = np.minimum(ahead, back.max(axis=(-1, -2), initial=0.0)) < _GATE
    body = [cylinder.body for cylinder in scene.cylinders]
    return [tuple(j for j in range(len(seen)) if near[k, j] and body[j] != body[k]) for k in range(len(seen))]
