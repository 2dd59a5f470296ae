"""A robot at one pose as flat faces in base axes, for painters.

A solid is convex and given as quadrilaterals (faces, 4, 3), smaller than the robot: so a painter who takes
the far ones first hides what is hidden. Nothing here knows how it is put on paper.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nacelle.kinematics.pose_input import reference_pose
from nacelle.kinematics.solve.inverse import inverse_kinematics
from nacelle.model.leg import BASE
from nacelle.model.robot import Robot
from nacelle.scene.colours import AXIS_COLOURS
from nacelle.scene.faces import cylinder_faces, solid_faces
from nacelle.scene.geometry import robot_geometry
from nacelle.shapes.configured import MIN_THICKNESS
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array

# Lengths as parts of the robot's extent: a face, an axis of a frame.
_FACE_SIZE = 0.035
_AXIS_LENGTH = 0.13


@dataclass(frozen=True)
class ScenePart:
    """One thing to draw.

    Attributes:
        kind: "body", "base", "joint", "spring", "damper" or "frame".
        name: name of the body, the joint, the spring or the damper; for "frame" that of the body.
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
        return np.concatenate([np.zeros((0, 3)), *(np.reshape(solid, (-1, 3)) for solid in self.solids)])


@dataclass(frozen=True)
class Scene:
    """A robot at one pose, ready to be drawn.

    Attributes:
        parts: everything to draw, in the order in which a flat picture stacks it.
        across: for a robot that moves in a plane of two base axes, the third (0 to 2); None otherwise.
        extent: diagonal of the box around all joints, m.
    """

    parts: tuple[ScenePart, ...]
    across: int | None
    extent: float

    @property
    def bodies(self) -> tuple[ScenePart, ...]:
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
    poses = [Pose(R, p) for R, p in zip(*joints.bodies, strict=True)]
    geometry = robot_geometry(robot)
    face = _FACE_SIZE * geometry.extent
    parts = [
        ScenePart(
            part.kind,
            part.name,
            tuple(solid_faces(solid.transform(poses[part.body]), face) for solid in part.solids),
            part.colours,
            part.active,
        )
        for part in geometry.parts
    ]
    parts += [
        ScenePart(link.kind, link.name, link.solids(poses), (link.colour,) * len(link.pieces))
        for link in geometry.links
    ]
    for b in range(len(robot.bodies)) if frames else (BASE,):
        length = _AXIS_LENGTH if b == BASE else 0.5 * _AXIS_LENGTH
        parts.append(frame_part(robot.bodies[b].name, poses[b], length, geometry.extent))
    return Scene(tuple(parts), geometry.across, geometry.extent)


def frame_part(name: str, pose: Pose, length: float, extent: float) -> ScenePart:
    """The axes of a body, of a length as a part of the extent: red x, green y, blue z."""
    length, r, face = length * extent, 0.6 * MIN_THICKNESS * extent, _FACE_SIZE * extent
    solids = []
    for k in range(3):
        tip = pose.p + length * pose.R[:, k]
        solids.append(cylinder_faces(pose.p, tip, r, face))
        solids.append(cylinder_faces(tip, tip + 0.25 * length * pose.R[:, k], 3.0 * r, face, end=0.0))
    colours = [colour for colour in AXIS_COLOURS for _ in range(2)]
    return ScenePart("frame", name, tuple(solids), tuple(colours))
