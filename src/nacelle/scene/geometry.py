"""What is drawn of a robot, in the frames of its bodies: the same solids at every pose, moved along.

Bodies have the solids of their description (`display`), or what their joints suggest (`nacelle.shapes`), and
the meshes of the files next to the description; this is the one home of trimesh (extra `view`).

Joints have marks, red where a drive moves them: pins along axes, crosses, balls, sleeves of slides, each on
the body that holds it; marks are made in base axes, m, at the pose at which the robot is placed.

Springs and dampers between two bodies are coils and dashpots that stretch with the distance of their ends.
In the frame of such a link, its origin at the first end and z towards the second, a corner of a face is at

    (x, y, z_0 + part * length)          m

with x, y and z_0 constant: the wire of a coil stays as thick as it is, and only its pitch changes.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from nacelle.distribution import install_command
from nacelle.errors import DrawingWarning
from nacelle.kinematics.pose_input import reference_pose
from nacelle.kinematics.solve.inverse import inverse_kinematics
from nacelle.model.data import platform_branches
from nacelle.model.description.frame import FrameSpec
from nacelle.model.joint import Interval, Joint, JointKind
from nacelle.model.leg import BASE, PLATFORM, Body
from nacelle.model.robot import Robot
from nacelle.scene.colours import (
    ACTIVE_COLOUR,
    BASE_COLOUR,
    DAMPER_COLOUR,
    JOINT_COLOUR,
    LEG_COLOURS,
    PLATFORM_COLOUR,
    SPRING_COLOUR,
    hex_colour,
)
from nacelle.scene.faces import cylinder_faces, faces_between_rings, simplify_mesh, solid_faces, triangulate
from nacelle.scene.motion import PosesOverTime, rotation_matrices_wxyz
from nacelle.shapes.configured import MIN_THICKNESS, ConfiguredRobot, is_sliding
from nacelle.shapes.mesh_file import mesh_path, mesh_reason
from nacelle.shapes.solid import Ball, Block, DrawableSolid, Mesh, Rod, Solid, described_solids
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation import frame_with_z
from nacelle.spatial.scalar import Array

# ---- springs and dampers between two bodies


# Radii as parts of the robot's extent: of a coil, of a dashpot inside it, of a wire.
_COIL, _BARREL, _WIRE = 0.016, 0.009, 0.6 * MIN_THICKNESS
# Windings of a coil, pieces of each and sides of its wire; how much of the length is straight at each end.
_COILS, _PIECES, _SIDES = 8, 12, 6
_STRAIGHT = 0.15
# A barrel of a dashpot as parts of the length.
_FROM, _TO = 0.36, 0.64

# Poses by the index of their body.
Poses = Sequence[Pose] | Mapping[int, Pose]


@dataclass(frozen=True, eq=False)
class BodyLink:
    """What is drawn between a point of one body and a point of another.

    Attributes:
        kind: "spring" or "damper".
        name: its name.
        bodies: indices of the two bodies.
        points: a point of each, in its body's frame (3,), m.
        colour: #rrggbb.
        pieces: its convex pieces: of each the corners of its faces (faces, 4, 4), x, y, z_0 (m) and the part
            of the length.
    """

    kind: str
    name: str
    bodies: tuple[int, int]
    points: tuple[Array, Array]
    colour: str
    pieces: tuple[Array, ...]

    def ends(self, poses: Poses) -> tuple[Array, Array]:
        """Both ends in the base (3,), m, with the bodies at these poses."""
        first, second = (
            poses[b].R @ point + poses[b].p for b, point in zip(self.bodies, self.points, strict=True)
        )
        return first, second

    def solids(self, poses: Poses) -> tuple[Array, ...]:
        """Its pieces in the base, each (faces, 4, 3), m."""
        frame, length = link_frame(*self.ends(poses))
        return tuple(stretch_link(piece, length) @ frame.R.T + frame.p for piece in self.pieces)

    @cached_property
    def mesh(self) -> tuple[Array, Array]:
        """Corners (n, 4), as in `pieces` but each once, and triangles (m, 3), indices."""
        return triangulate(np.concatenate(self.pieces))


def link_frame(first: Array, second: Array) -> tuple[Pose, float]:
    """The frame of a link between two points, z from the first to the second, and its length, m."""
    line = np.asarray(second) - np.asarray(first)
    length = float(np.linalg.norm(line))
    return Pose(frame_with_z(line / length if length else np.array([0.0, 0.0, 1.0])), first), length


def stretch_link(corners: Array, length: float) -> Array:
    """Corners (..., 4) of a link at a length (m): (..., 3) in its frame, m."""
    position = corners[..., :3].copy()
    position[..., 2] += length * corners[..., 3]
    return np.asarray(position)


def body_links(configured: ConfiguredRobot) -> tuple[BodyLink, ...]:
    """The springs and dampers between bodies of a robot.

    A spring is a coil between its points, with a dashpot in it if it damps. A damper of a rotation has no
    points: its dashpot is between the middles of the joints of both bodies; of the base the nearest joint.
    So is the coil of a torsion spring.
    """
    robot, extent = configured.robot, configured.extent
    dashpot = _dashpot(extent)
    links = []
    for spring in robot.springs:
        pieces = _coil(extent) + (dashpot if spring.damping else ())
        first, second = (np.asarray(point, dtype=float) for point in spring.points)
        links.append(BodyLink("spring", spring.name, spring.bodies, (first, second), SPRING_COLOUR, pieces))
    for damper in robot.dampers:
        links.append(
            BodyLink(
                "damper",
                damper.name,
                damper.bodies,
                _link_points(configured, *damper.bodies),
                DAMPER_COLOUR,
                dashpot,
            )
        )
    for torsion in robot.torsion_springs:
        points, coil = _link_points(configured, *torsion.bodies), _coil(extent)
        links.append(BodyLink("spring", torsion.name, torsion.bodies, points, SPRING_COLOUR, coil))
    return tuple(links)


def _link_points(configured: ConfiguredRobot, first: int, second: int) -> tuple[Array, Array]:
    """A point of each of two bodies, in its frame, for a link that has none."""
    bodies = (first, second)
    joints = [_joint_positions(configured, b) for b in bodies]
    middles = [points.mean(axis=0) for points in joints]
    for k, b in enumerate(bodies):
        if b == BASE:
            away = np.linalg.norm(joints[k] - middles[1 - k], axis=1)
            middles[k] = joints[k][int(np.argmin(away))]
    point_first, point_second = (
        configured.poses[b].R.T @ (middle - configured.poses[b].p)
        for b, middle in zip(bodies, middles, strict=True)
    )
    return point_first, point_second


def _joint_positions(configured: ConfiguredRobot, b: int) -> Array:
    """Where the joints of a body are in the base (n, 3), m; its origin if it has none."""
    points = []
    for joint, ends in zip(configured.robot.joints, configured.ends, strict=True):
        if not joint.is_coupling:
            body_ends = zip((joint.predecessor, joint.successor), ends, strict=True)
            points += [end.p for body, end in body_ends if body == b]
    return np.array(points or [configured.poses[b].p])


def _coil(extent: float) -> tuple[Array, ...]:
    """A coil: straight wires at the ends, which go out to the windings, all of one thickness."""
    r, wire = _COIL * extent, _WIRE * extent
    out = cylinder_faces(np.zeros(3), np.array([r, 0.0, 0.0]), wire, np.inf)
    ends = [_stretched_cylinder(wire, 0.0, _STRAIGHT), _stretched_cylinder(wire, 1.0 - _STRAIGHT, 1.0)]
    ends += [
        np.concatenate([out, np.full((*out.shape[:-1], 1), at)], -1) for at in (_STRAIGHT, 1.0 - _STRAIGHT)
    ]
    rings = []
    # A ring of the wire is in the plane of its radius and the axis, whatever the pitch is.
    for part in np.linspace(0.0, 1.0, _COILS * _PIECES + 1):
        radial = np.array([np.cos(2.0 * np.pi * _COILS * part), np.sin(2.0 * np.pi * _COILS * part), 0.0])
        angle = np.linspace(0.0, 2.0 * np.pi, _SIDES + 1)[:, None]
        ring = (r + wire * np.cos(angle)) * radial + wire * np.sin(angle) * np.array([0.0, 0.0, 1.0])
        at = np.full((_SIDES + 1, 1), _STRAIGHT + (1.0 - 2.0 * _STRAIGHT) * part)
        rings.append(np.concatenate([ring, at], axis=1))
    windings = [faces_between_rings([a, b]) for a, b in pairwise(rings)]
    return (*ends, *windings)


def _dashpot(extent: float) -> tuple[Array, ...]:
    """A barrel in the middle of a wire."""
    wire = _WIRE * extent
    return (
        _stretched_cylinder(wire, 0.0, _FROM),
        _stretched_cylinder(_BARREL * extent, _FROM, _TO),
        _stretched_cylinder(wire, _TO, 1.0),
    )


def _stretched_cylinder(radius: float, start: float, stop: float) -> Array:
    """A cylinder along z between two parts of the length (faces, 4, 4)."""
    faces = cylinder_faces(np.zeros(3), np.array([0.0, 0.0, 1.0]), radius, np.inf)
    part = start + (stop - start) * faces[..., 2:]
    return np.concatenate([faces[..., :2], np.zeros_like(part), part], axis=-1)


# ---- marks of joints


# Lengths as parts of the robot's extent: a joint, and the largest one.
_JOINT = 0.011
_MAX_JOINT = 0.03


def joint_marks(configured: ConfiguredRobot, j: int) -> list[tuple[int, Solid]]:
    """The solids that mark a joint, each with the index of its body; none for what is fixed."""
    joint, (fixed, moving) = configured.robot.joints[j], configured.ends[j]
    before, after = joint.predecessor, joint.successor
    r = _radius(configured, joint)
    if joint.kind is JointKind.FIXED:
        return []
    if configured.spherical:
        fixed, moving = Pose(fixed.R, configured.tip(j)), Pose(moving.R, configured.tip(j))
    if joint.kind is JointKind.REVOLUTE:
        return [(after, _pin(moving.p, moving.R[:, 2], r))]
    if is_sliding(joint):
        return [_sleeve(configured, j)]
    if joint.kind is JointKind.UNIVERSAL:
        # The cross: a pin that turns in the predecessor, and one across it in the successor.
        return [
            (before, _pin(fixed.p, fixed.R[:, 0], 0.75 * r, 2.0)),
            (after, _pin(moving.p, moving.R[:, 1], 0.75 * r, 2.0)),
        ]
    if joint.kind in (JointKind.PLANAR_SPHERICAL, JointKind.SPHERICAL_PLANAR):
        # The ball slides on a plane: that of the predecessor, or that of the successor.
        on, ball = (fixed, moving) if joint.kind is JointKind.PLANAR_SPHERICAL else (moving, fixed)
        plane, owner = (before, after) if joint.kind is JointKind.PLANAR_SPHERICAL else (after, before)
        face = Block(Pose(on.R, ball.p), np.array([5.5 * r, 5.5 * r, 0.4 * r]))
        return [(owner, Ball(ball.p, 1.15 * r)), (plane, face)]
    return [(after, Ball(moving.p, 1.15 * r))]


def _pin(centre: Array, axis: Array, r: float, reach: float = 1.6) -> Rod:
    return Rod(centre - reach * r * axis, centre + reach * r * axis, r)


def _radius(configured: ConfiguredRobot, joint: Joint) -> float:
    """A joint is a little thicker than what passes through it, within reason."""
    r = _JOINT * configured.extent
    for b, frame in ((joint.predecessor, joint.frame_predecessor), (joint.successor, joint.frame_successor)):
        for solid in described_solids(configured.robot.bodies[b]):
            if isinstance(solid, Ball):
                if float(np.linalg.norm(frame.p - solid.centre)) < solid.radius:
                    r = max(r, 0.8 * solid.radius)
            elif isinstance(solid, Rod):
                start, axis = solid.start, solid.stop - solid.start
                length = float(np.linalg.norm(axis))
                foot = start + axis * np.clip((frame.p - start) @ axis / max(length, 1e-300) ** 2, 0.0, 1.0)
                near = float(np.linalg.norm(frame.p - foot)) < solid.radius
                if near and length > 3.0 * solid.radius:
                    r = max(r, 1.15 * solid.radius)
    return min(r, _MAX_JOINT * configured.extent)


def _sleeve(configured: ConfiguredRobot, j: int) -> tuple[int, Solid]:
    """The mark of a slide: at the mouth of a tube, or through the slider on a rail."""
    joint, (fixed, moving) = configured.robot.joints[j], configured.ends[j]
    axis, size = fixed.R[:, 2], 1.3 * _JOINT * configured.extent
    mouth, r = _tube_mouth(configured, j)
    if mouth is not None:
        centre = fixed.p + mouth * axis
        return joint.predecessor, Rod(centre - size * axis, centre + size * axis, r)
    spans = [
        (solid_faces(solid, configured.extent).reshape(-1, 3) - moving.p) @ axis
        for solid in configured.described_solids(joint.successor)
    ]
    # Longer than a described slider, or around the ball that is drawn without one.
    r, reach = 1.65 * _JOINT * configured.extent, 1.7 * size
    if spans:
        r = 0.95 * _JOINT * configured.extent
        reach = min(max(float(np.max(np.abs(span))) for span in spans), 0.1 * configured.extent) + 2.5 * r
    return joint.successor, Rod(moving.p - reach * axis, moving.p + reach * axis, r)


def _tube_mouth(configured: ConfiguredRobot, j: int) -> tuple[float | None, float]:
    """Where along the axis the tube of a pair ends, and the radius of its collar; None on a rail."""
    joint, (fixed, _) = configured.robot.joints[j], configured.ends[j]
    if joint.predecessor == BASE:
        return None, 0.0
    axis, sign = fixed.R[:, 2], np.sign(configured.stroke(j)) or 1.0
    for solid in configured.described_solids(joint.predecessor):
        if isinstance(solid, Rod):
            ends = [end - fixed.p for end in (solid.start, solid.stop)]
            low, high = sorted((float(axis @ end) for end in ends), key=lambda s: s * sign)
            if abs(high - low) > 0.99 * float(np.linalg.norm(ends[1] - ends[0])):
                return high, 1.15 * solid.radius
    pair = configured.telescope(j)
    return (None, 0.0) if pair is None else (pair.tube[1], 1.3 * _JOINT * configured.extent)


# ---- meshes of bodies


# Triangles of one mesh in a page; finer ones are made coarser.
MAX_TRIANGLES = 20_000


def body_meshes(body: Body, folder: str) -> list[Mesh]:
    """The meshes of a body in its frame; those that cannot be read are left out with a `DrawingWarning`.

    Args:
        body: the body.
        folder: of the description.
    """
    meshes = []
    for shape in body.display:
        if "mesh" in shape:
            try:
                meshes.append(_read_shape(shape["mesh"], folder, shape.get("color")))
            except UnreadableMeshError as error:
                message = f"body {body.name!r}: the mesh {shape['mesh']['file']!r} is not drawn: {error}"
                warnings.warn(message, DrawingWarning, stacklevel=2)
    return meshes


class UnreadableMeshError(Exception):
    """Why a mesh cannot be read."""


def _read_shape(data: dict[str, Any], folder: str, colour: str | None) -> Mesh:
    reason, _ = mesh_reason(folder, data["file"])
    if reason:
        raise UnreadableMeshError(reason)
    path = mesh_path(folder, data["file"])
    stamp = path.stat()
    mesh = _read_mesh(path, stamp.st_mtime_ns, stamp.st_size)
    scale = float(data.get("scale", 1.0)) * np.array([-1.0 if data.get("mirror") else 1.0, 1.0, 1.0])
    # A reflection turns the triangles inside out.
    order = [0, 2, 1] if np.prod(scale) < 0.0 else [0, 1, 2]
    scaled = Mesh(mesh.points * scale, mesh.triangles[:, order], colour)
    return scaled.transform(FrameSpec.model_validate(data.get("at", {})).pose())


@lru_cache(maxsize=64)
def _read_mesh(path: Path, changed: int, size: int) -> Mesh:
    """Read a file to draw it; it is read again when it has changed."""
    return simplify_mesh(read_mesh_file(path), MAX_TRIANGLES)


def read_mesh_file(path: Path) -> Mesh:
    """Read a file with all its triangles.

    Raises:
        UnreadableMeshError: if it cannot be read, or trimesh is not installed.
    """
    try:
        trimesh = importlib.import_module("trimesh")
    except ImportError:
        raise UnreadableMeshError(f"meshes need trimesh: {install_command('view')}") from None
    try:
        # From the open file alone: nothing that it refers to is opened.
        with path.open("rb") as file:
            read = trimesh.load(file, file_type=path.suffix.lower().removeprefix("."), force="mesh")
        points = np.asarray(read.vertices, dtype=float)
        triangles = np.asarray(read.faces, dtype=int)
    except Exception as error:  # a reader of broken files may raise anything
        raise UnreadableMeshError(f"it cannot be read: {type(error).__name__}: {error}"[:300]) from None
    if not len(triangles) or not np.all(np.isfinite(points)):
        raise UnreadableMeshError("it has no triangles, or points that are not finite")
    return Mesh(points, triangles)


# ---- what is drawn of a robot


@dataclass(frozen=True, eq=False)
class BodyPart:
    """One thing to draw, fixed on a body.

    Attributes:
        kind: "base", "body", "joint", "spring" or "damper".
        name: of the body, or of the joint, or of the spring or damper whose end it marks.
        body: index of the body that carries it.
        solids: its solids in the frame of that body, m.
        colours: of each solid, #rrggbb.
        active: whether it marks a joint that a drive moves.
    """

    kind: str
    name: str
    body: int
    solids: tuple[DrawableSolid, ...]
    colours: tuple[str, ...]
    active: bool = False


@dataclass(frozen=True, eq=False)
class RobotGeometry:
    """What is drawn of a robot.

    Attributes:
        robot: the robot.
        parts: everything to draw: the base, the legs, the platform, the joints; a joint whose mark is in
            pieces on both bodies has two parts of one name.
        across: for a robot that moves in a plane of two base axes, the third (0 to 2); None otherwise.
        extent: diagonal of the box around all joints at the reference pose, m.
        links: springs and dampers between bodies, which stretch as these move.
    """

    robot: Robot
    parts: tuple[BodyPart, ...]
    across: int | None
    extent: float
    links: tuple[BodyLink, ...] = ()


def robot_geometry(robot: Robot, motion: PosesOverTime | None = None) -> RobotGeometry:
    """What is drawn of a robot, in body frames.

    Telescopic pairs and rails are as long as the limits of their joints require, and as `motion` does.

    Args:
        robot: the robot.
        motion: that will be shown; the reference pose if None.

    Raises:
        NacelleError: if the description names a colour that does not exist.
    """
    bodies = inverse_kinematics(robot, reference_pose(robot), limits=False).bodies
    poses = [Pose(R, p) for R, p in zip(*bodies, strict=True)]
    configured = ConfiguredRobot(robot, poses, None if motion is None else _stroke_ranges(robot, motion))
    links = body_links(configured)
    parts = (*_body_parts(configured), *_link_end_parts(links, configured.extent))
    return RobotGeometry(robot, parts, normal_axis(configured), configured.extent, links)


def _body_parts(configured: ConfiguredRobot) -> list[BodyPart]:
    robot = configured.robot
    # Chains of the platform's mechanism are drawn as legs; a robot without a platform has nothing else to
    # draw.
    chains = (*platform_branches(robot), *robot.legs)
    in_chains = {b for chain in chains for b in chain.bodies}
    platform = set(robot.platform.bodies) - in_chains
    colour = {b: LEG_COLOURS[k % len(LEG_COLOURS)] for k, leg in enumerate(chains) for b in leg.bodies}
    colour |= dict.fromkeys(platform, PLATFORM_COLOUR)
    unseen = set() if robot.has_platform else {PLATFORM}
    order = [BASE, *sorted(set(range(1, len(robot.bodies))) - unseen, key=lambda b: (b in platform, b))]
    bodies = [_body_part(configured, b, colour.get(b, BASE_COLOUR)) for b in order]
    # A base that nothing is held by is not to be seen.
    parts = [part for part in bodies if part.solids]
    driven = {actuator.joint for actuator in robot.actuators}
    for j, joint in enumerate(robot.joints):
        active = j in driven
        if joint.is_coupling or (unseen and (joint.predecessor, joint.successor) == (BASE, PLATFORM)):
            continue
        for b, solid in joint_marks(configured, j):
            mark = _with_minimum_thickness(solid.transform(configured.poses[b].inverse()), configured.extent)
            colour_shown = ACTIVE_COLOUR if active else JOINT_COLOUR
            parts.append(BodyPart("joint", joint.name, b, (mark,), (colour_shown,), active))
    return parts


def _link_end_parts(links: Sequence[BodyLink], extent: float) -> list[BodyPart]:
    """A ball at each end of a spring or a damper."""
    return [
        BodyPart(link.kind, link.name, b, (Ball(point, 2.0 * MIN_THICKNESS * extent),), (link.colour,))
        for link in links
        for b, point in zip(link.bodies, link.points, strict=True)
    ]


def _body_part(configured: ConfiguredRobot, b: int, colour: str) -> BodyPart:
    """A body with its solids, each in its own colour or that of the body."""
    back, body = configured.poses[b].inverse(), configured.robot.bodies[b]
    solids_described: list[DrawableSolid] = [
        *described_solids(body),
        *body_meshes(body, configured.robot.folder),
    ]
    solids_described = solids_described or [solid.transform(back) for solid in configured.solids(b)]
    solids = tuple(_with_minimum_thickness(solid, configured.extent) for solid in solids_described)
    colours = tuple(hex_colour(solid.colour or colour) for solid in solids)
    return BodyPart("base" if b == BASE else "body", body.name, b, solids, colours)


def _with_minimum_thickness(solid: DrawableSolid, extent: float) -> DrawableSolid:
    """A solid that is not thinner than the thinnest thing that is drawn."""
    thin = MIN_THICKNESS * extent
    if isinstance(solid, Rod):
        return replace(solid, radius=max(solid.radius, thin))
    if isinstance(solid, Block):
        return replace(solid, size=np.maximum(solid.size, thin))
    return solid


def _stroke_ranges(robot: Robot, motion: PosesOverTime) -> dict[int, Interval]:
    """Least and greatest stroke of all sliding joints over a motion, m."""
    R, p = rotation_matrices_wxyz(motion.quaternion), motion.position
    strokes = {}
    for j, joint in enumerate(robot.joints):
        if is_sliding(joint):
            ends = [
                R[:, b] @ frame.p + p[:, b]
                for b, frame in (
                    (joint.predecessor, joint.frame_predecessor),
                    (joint.successor, joint.frame_successor),
                )
            ]
            axis = R[:, joint.predecessor] @ joint.frame_predecessor.R[:, 2]
            stroke = np.sum(axis * (ends[1] - ends[0]), axis=1)[motion.ok]
            if stroke.size:
                strokes[j] = Interval(float(stroke.min()), float(stroke.max()))
    return strokes


def normal_axis(configured: ConfiguredRobot) -> int | None:
    """The base axis perpendicular to the plane in which all bodies move; None if they do not."""
    revolute: list[Array] = []
    slides: list[Array] = []
    for joint, (fixed, _) in zip(configured.robot.joints, configured.ends, strict=True):
        if joint.kind in (JointKind.POINT, JointKind.FIXED, JointKind.COUPLING):
            continue
        if joint.kind not in (JointKind.REVOLUTE, JointKind.PRISMATIC):
            return None
        (revolute if joint.kind is JointKind.REVOLUTE else slides).append(fixed.R[:, 2])
    return next((k for k in range(3) if _is_planar(k, revolute, slides)), None)


def _is_planar(k: int, revolute: Sequence[Array], slides: Sequence[Array]) -> bool:
    parallel = all(abs(abs(axis[k]) - 1.0) < 1e-9 for axis in revolute)
    return bool(revolute) and parallel and all(abs(axis[k]) < 1e-9 for axis in slides)
