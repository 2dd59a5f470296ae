"""What is drawn of a robot, in the frames of its bodies: the same solids at every pose, moved with them.

Bodies have the solids of their description (`display`), or what their joints suggest (`nacelle.shapes`);
joints have marks, red where a drive moves them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from nacelle.kinematics.inverse import inverse_kinematics
from nacelle.kinematics.pose_input import reference_pose
from nacelle.model.hanging import hanging_chains
from nacelle.model.joint import JointKind
from nacelle.model.leg import BASE, PLATFORM
from nacelle.model.robot import Robot
from nacelle.scene.between import Between, links_between
from nacelle.scene.colours import (
    ACTIVE_COLOUR,
    BASE_COLOUR,
    JOINT_COLOUR,
    LEG_COLOURS,
    NACELLE_COLOUR,
    hexadecimal,
)
from nacelle.scene.marks import joint_marks
from nacelle.scene.meshes import body_meshes
from nacelle.scene.motion import PosesOverTime, rotations
from nacelle.shapes.placed import THIN, PlacedRobot, slides_along
from nacelle.shapes.solid import Ball, Block, Drawn, Rod, described_solids
from nacelle.shapes.strokes import Range
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array


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
    solids: tuple[Drawn, ...]
    colours: tuple[str, ...]
    active: bool = False


@dataclass(frozen=True, eq=False)
class RobotGeometry:
    """What is drawn of a robot.

    Attributes:
        robot: the robot.
        parts: everything to draw: the base, the legs, the nacelle, the joints; a joint whose mark is in
            pieces on both bodies has two parts of one name.
        across: for a robot that moves in a plane of two base axes, the third (0 to 2); None otherwise.
        extent: diagonal of the box around all joints at the reference pose, m.
        links: springs and dampers between bodies, which stretch as these move.
    """

    robot: Robot
    parts: tuple[BodyPart, ...]
    across: int | None
    extent: float
    links: tuple[Between, ...] = ()


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
    placed = PlacedRobot(robot, poses, None if motion is None else _travelled(robot, motion))
    links = links_between(placed)
    parts = (*_parts(placed), *_ends(links, placed.extent))
    return RobotGeometry(robot, parts, across(placed), placed.extent, links)


def _parts(placed: PlacedRobot) -> list[BodyPart]:
    robot = placed.robot
    # Chains of the nacelle's mechanism are drawn as legs; a robot without a nacelle has nothing else to draw.
    chains = (*hanging_chains(robot), *robot.legs)
    in_chains = {b for chain in chains for b in chain.bodies}
    nacelle = set(robot.nacelle.bodies) - in_chains
    colour = {b: LEG_COLOURS[k % len(LEG_COLOURS)] for k, leg in enumerate(chains) for b in leg.bodies}
    colour |= dict.fromkeys(nacelle, NACELLE_COLOUR)
    unseen = set() if robot.has_nacelle else {PLATFORM}
    order = [BASE, *sorted(set(range(1, len(robot.bodies))) - unseen, key=lambda b: (b in nacelle, b))]
    bodies = [_body(placed, b, colour.get(b, BASE_COLOUR)) for b in order]
    # A base that nothing is held by is not to be seen.
    parts = [part for part in bodies if part.solids]
    driven = {actuator.joint for actuator in robot.actuators}
    for j, joint in enumerate(robot.joints):
        active = j in driven
        if joint.is_coupling or (unseen and (joint.predecessor, joint.successor) == (BASE, PLATFORM)):
            continue
        for b, solid in joint_marks(placed, j):
            own = _thick(solid.moved(placed.poses[b].inverse()), placed.extent)
            shown = ACTIVE_COLOUR if active else JOINT_COLOUR
            parts.append(BodyPart("joint", joint.name, b, (own,), (shown,), active))
    return parts


def _ends(links: Sequence[Between], extent: float) -> list[BodyPart]:
    """A ball at each end of a spring or a damper."""
    return [
        BodyPart(link.kind, link.name, b, (Ball(point, 2.0 * THIN * extent),), (link.colour,))
        for link in links
        for b, point in zip(link.bodies, link.points, strict=True)
    ]


def _body(placed: PlacedRobot, b: int, colour: str) -> BodyPart:
    """A body with its solids, each in its own colour or that of the body."""
    back, body = placed.poses[b].inverse(), placed.robot.bodies[b]
    own: list[Drawn] = [*described_solids(body), *body_meshes(body, placed.robot.folder)]
    own = own or [solid.moved(back) for solid in placed.solids(b)]
    solids = tuple(_thick(solid, placed.extent) for solid in own)
    colours = tuple(hexadecimal(solid.colour or colour) for solid in solids)
    return BodyPart("base" if b == BASE else "body", body.name, b, solids, colours)


def _thick(solid: Drawn, extent: float) -> Drawn:
    """A solid that is not thinner than the thinnest thing that is drawn."""
    thin = THIN * extent
    if isinstance(solid, Rod):
        return replace(solid, radius=max(solid.radius, thin))
    if isinstance(solid, Block):
        return replace(solid, size=np.maximum(solid.size, thin))
    return solid


def _travelled(robot: Robot, motion: PosesOverTime) -> dict[int, Range]:
    """Least and greatest stroke of all sliding joints over a motion, m."""
    R, p = rotations(motion.quaternion), motion.position
    strokes = {}
    for j, joint in enumerate(robot.joints):
        if slides_along(joint):
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
                strokes[j] = float(stroke.min()), float(stroke.max())
    return strokes


def across(placed: PlacedRobot) -> int | None:
    """The base axis perpendicular to the plane in which all bodies move; None if they do not."""
    revolute: list[Array] = []
    slides: list[Array] = []
    for joint, (fixed, _) in zip(placed.robot.joints, placed.ends, strict=True):
        if joint.kind in (JointKind.POINT, JointKind.FIXED, JointKind.COUPLING):
            continue
        if joint.kind not in (JointKind.REVOLUTE, JointKind.PRISMATIC):
            return None
        (revolute if joint.kind is JointKind.REVOLUTE else slides).append(fixed.R[:, 2])
    return next((k for k in range(3) if _plane(k, revolute, slides)), None)


def _plane(k: int, revolute: Sequence[Array], slides: Sequence[Array]) -> bool:
    along = all(abs(abs(axis[k]) - 1.0) < 1e-9 for axis in revolute)
    return bool(revolute) and along and all(abs(axis[k]) < 1e-9 for axis in slides)
