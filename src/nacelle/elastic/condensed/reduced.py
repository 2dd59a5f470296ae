"""Robots without their two-point links: which can be cut so, their positions and motion then, any scalar.

    p = [platform; joints of the subchains; elastic coordinates of the subchains; for each link t (and n_1)]
    y = [rates of the actuators; other rates of the subchains; for each link t']

All entries are independent: there is no closure. In space the direction n_1 (3,) across a link is carried
along, n_1' = -w_1 e, and n_2 = e x n_1: the frame of a link that does not spin. In a plane n follows from its
normal.

Robots whose loops are all cut by flexible links that carry no moments.

A link between two points that transmits forces only (its ends carry no moments) acts between these points
with forces that depend on their motion and on the link's own coordinates. Take such links out with their
joints: where what is left has no loop, the motions of the platform and of the subchains are independent of
each other, no closure remains, and the links' own coordinates are condensed at their ends (`link`).

Such are all robots with flexible rods or struts between spherical joints, and planar ones with links between
hinges. A section must bend alike in all planes, unless the robot is planar: a rod on spherical joints spins
idly.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from nacelle.dynamics.state import State
from nacelle.elastic.beam.shapes import AXIAL, Shapes
from nacelle.elastic.condensed.link import (
    LinkConstants,
    LinkRates,
    MovingLink,
    link_constants,
    link_posture,
    moving_link,
)
from nacelle.elastic.dynamics import positions
from nacelle.elastic.flexible_tree import (
    FlexibleTree,
    build_flexible_tree,
    cache_by_numbers,
    flexible_tree,
    plane_normal,
    reference_poses,
)
from nacelle.elastic.frames import ElasticFrames, configured_frames, tree_in_motion
from nacelle.errors import KinematicsError
from nacelle.kinematics.configuration import Configuration
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.joint import Joint, JointKind
from nacelle.model.leg import BASE, PLATFORM
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation import quat_from_rotation
from nacelle.spatial.scalar import Array, Scalar, cross, divide, dot, norm, pack, product
from nacelle.tree.spanning_tree import point_acceleration, point_velocity


class LinkEnd(NamedTuple):
    """An end of a link: the body of the subchains that carries it, and where it is in its frame (3,)."""

    body: int
    position: Array

    def point(self, poses: Sequence[Pose]) -> Array:
        """Where it is (3,), m, base axes, at poses of the bodies."""
        pose = poses[self.body]
        return np.asarray(pose.p + product(pose.R, self.position) if np.any(self.position) else pose.p)


class LinkJoint(NamedTuple):
    """A passive joint at the end of links, for its friction.

    Index of the joint, links or bodies that it joins.

    `first` and `second` are ("link", number) or ("body", index in the subchains' tree).
    """

    joint: int
    first: tuple[str, int]
    second: tuple[str, int]


class TwoPointLink(NamedTuple):
    """A flexible link between two points.

    Attributes:
        shapes: its shape functions; the first coordinate is the axial one.
        number: of the beam among all of the robot.
        start: its start.
        end: its end.
        normal: in a plane the normal z with z x e the direction in which it bends, else None.
    """

    shapes: Shapes
    number: int
    start: LinkEnd
    end: LinkEnd
    normal: Array | None


@dataclass(frozen=True, eq=False)
class CondensedStructure:
    """A robot with its two-point links taken out.

    Attributes:
        elastic_tree: the whole robot as a tree of frames.
        links: the links that were taken out.
        subchains: what is left: the platform and the legs' subchains, without a loop.
        joints: passive joints with friction at the ends of links.
        normal: normal of the plane of a planar robot, else None.
        free: rates of the subchains that are not zero throughout: platform, joints, elastic.
    """

    elastic_tree: FlexibleTree
    links: tuple[TwoPointLink, ...]
    subchains: FlexibleTree
    joints: tuple[LinkJoint, ...]
    normal: Array | None
    free: tuple[int, ...]

    @property
    def robot(self) -> Robot:
        """The robot as described."""
        return self.elastic_tree.robot


@cache_by_numbers
def condensed_structure(robot: Robot) -> CondensedStructure | str:
    """A robot with its two-point links taken out, or the reason why that does not cut all its loops."""
    whole, normal = flexible_tree(robot), plane_normal(robot)
    links = {
        shapes.beam.body: (shapes, number)
        for number, shapes in enumerate(whole.shapes)
        if _is_two_point(shapes, normal is not None)
    }
    removed = {j for shapes, _ in links.values() for j in (*shapes.beam.start, *shapes.beam.end)}
    kept = [j for j in range(len(robot.joints)) if j not in removed]
    reason = _reason_not_condensed(robot, normal, set(links), kept)
    if reason:
        return reason
    index = {body: k for k, body in enumerate(k for k in range(len(robot.bodies)) if k not in links)}
    tree = build_flexible_tree(_subchain_robot(robot, kept, index), _subchain_shapes(whole, kept, index))

    def carrier(body: int, joint: int) -> int:
        """The body of the subchains' tree on which a joint sits: a section, if the body is flexible."""
        return tree.section_of(index[body], _joint_end(whole, body, joint))

    two_point_links = []
    for link_body, (shapes, number) in links.items():
        ends = []
        for joints in (shapes.beam.start, shapes.beam.end):
            end = _link_end(robot, set(links), link_body, joints, carrier)
            if isinstance(end, str):
                return end
            ends.append(end)
        two_point_links.append(
            TwoPointLink(shapes, number, ends[0], ends[1], _bending_normal(robot, shapes, normal))
        )
    numbers = {link.shapes.beam.body: k for k, link in enumerate(two_point_links)}
    friction = tuple(_friction(robot, removed, numbers, carrier))
    return CondensedStructure(
        whole, tuple(two_point_links), tree, friction, normal, _free_rates(tree, normal)
    )


def _reason_not_condensed(robot: Robot, normal: Array | None, links: set[int], kept: list[int]) -> str:
    """Why no links of a robot can be taken out, with these joints kept; empty if they can."""
    if normal is not None and np.count_nonzero(normal) > 1:
        return "its plane is not that of two base axes"
    if not links:
        return "no flexible link is free of moments at both ends"
    for j in sorted(set(range(len(robot.joints))) - set(kept)):
        if robot.joints[j].kind not in (JointKind.REVOLUTE, JointKind.SPHERICAL, JointKind.POINT):
            return f"joint {robot.joints[j].name!r} at an end of a flexible link is {robot.joints[j].kind}"
    for j in kept:
        if j >= robot.tree:
            return f"joint {robot.joints[j].name!r} closes a loop of rigid links"
    retained = {BASE, PLATFORM, *links, *(robot.joints[j].successor for j in kept)}
    for k, body in enumerate(robot.bodies):
        if k not in retained:
            return f"body {body.name!r} hangs on a flexible link"
    return ""


def _subchain_robot(robot: Robot, kept: list[int], index: dict[int, int]) -> Robot:
    """The robot without its links: joints that are kept, bodies by their new numbers."""
    joints = [robot.joints[j] for j in kept]
    return dataclasses.replace(
        robot,
        bodies=tuple(robot.bodies[k] for k in index),
        joints=tuple(
            dataclasses.replace(joint, predecessor=index[joint.predecessor], successor=index[joint.successor])
            for joint in joints
        ),
        tree=len(kept),
        actuators=tuple(
            dataclasses.replace(actuator, joint=kept.index(actuator.joint)) for actuator in robot.actuators
        ),
        payload=tuple(dataclasses.replace(load, body=index[load.body]) for load in robot.payload),
        tools=(),
        declaration=None,
    )


def _subchain_shapes(whole: FlexibleTree, kept: list[int], index: dict[int, int]) -> tuple[Shapes, ...]:
    """The beams that stay, by the numbers of the subchains."""

    def numbers(joints: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(kept.index(j) for j in joints if j in kept)

    return tuple(
        dataclasses.replace(
            s,
            beam=dataclasses.replace(
                s.beam, body=index[s.beam.body], start=numbers(s.beam.start), end=numbers(s.beam.end)
            ),
        )
        for s in whole.shapes
        if s.beam.body in index
    )


def _link_end(
    robot: Robot, links: set[int], link_body: int, joints: tuple[int, ...], carrier: Callable[[int, int], int]
) -> LinkEnd | str:
    """Where an end of a link sits; if it cannot be taken out, why."""
    held = [
        j
        for j in joints
        if _connected_body(robot, link_body, j) not in links and not robot.joints[j].at_point
    ]
    if not held:
        return f"an end of {robot.bodies[link_body].name!r} sits on other flexible links only"
    if len(held) > 1:
        return f"an end of {robot.bodies[link_body].name!r} holds two bodies together"
    joint = robot.joints[held[0]]
    frame = joint.frame_predecessor if joint.successor == link_body else joint.frame_successor
    return LinkEnd(
        carrier(_connected_body(robot, link_body, held[0]), held[0]), np.asarray(frame.p, dtype=float)
    )


def _is_two_point(shapes: Shapes, planar: bool) -> bool:
    """Whether a beam transmits forces only, and is described by its ends and its bending."""
    beam, (start, end) = shapes.beam, shapes.ends
    kinds = [c.kind for c in shapes.coordinates]
    if (
        not beam.pinned
        or kinds.count(AXIAL) != 1
        or kinds[0] != AXIAL
        or any(t is not None for t in beam.tips)
    ):
        return False
    if not beam.start or not beam.end or np.any(shapes.R):
        return False
    bending = {2: 1, 1: 2}  # axis of rotation: kind of bending
    if planar:
        return not any((start[axis] or end[axis]) and bending[axis] in kinds for axis in (1, 2))
    alike = abs(beam.section.Iy - beam.section.Iz) <= 1e-9 * beam.section.Iy
    return alike and not any(start) and not any(end)


def _bending_normal(robot: Robot, shapes: Shapes, normal: Array | None) -> Array | None:
    """The normal of the plane, or against it, for which a link bends along normal x e."""
    if normal is None:
        return None
    kinds = {c.kind for c in shapes.coordinates} - {AXIAL}
    axes = reference_poses(robot)[shapes.beam.body].R @ shapes.beam.frame.R
    across = axes[:, kinds.pop()] if kinds else np.cross(normal, axes[:, 0])
    return np.asarray(normal * np.sign(np.dot(np.cross(normal, axes[:, 0]), across)))


def _connected_body(robot: Robot, body: int, joint: int) -> int:
    """The body that a joint connects with a body."""
    connection = robot.joints[joint]
    return connection.predecessor if connection.successor == body else connection.successor


def _joint_end(whole: FlexibleTree, body: int, joint: int) -> str:
    """At which end of a beam that is kept a joint sits; "" for a rigid body."""
    for shapes in whole.shapes:
        if shapes.beam.body == body:
            return "start" if joint in shapes.beam.start else "end"
    return ""


def _friction(
    robot: Robot, removed: set[int], numbers: dict[int, int], carrier: Callable[[int, int], int]
) -> list[LinkJoint]:
    """Joints at ends of links that have friction."""
    result = []
    for j in sorted(removed):
        joint: Joint = robot.joints[j]
        if joint.kind is JointKind.POINT or not any(joint.friction):
            continue
        sides = [
            ("link", numbers[body]) if body in numbers else ("body", carrier(body, j))
            for body in (joint.predecessor, joint.successor)
        ]
        result.append(LinkJoint(j, sides[0], sides[1]))
    return result


def _free_rates(tree: FlexibleTree, normal: Array | None) -> tuple[int, ...]:
    """Rates of the subchains that are not zero throughout: of a planar robot only motions in its plane."""
    count = tree.embedding.shape[1]
    if normal is None:
        return tuple(range(count))
    m = tree.robot.platform_nv
    out = {k for k in range(3) if abs(normal[k]) > 0.5}
    out |= {3 + k for k in range(3) if m == 6 and abs(normal[k]) <= 0.5}
    return tuple(k for k in range(count) if k >= m or k not in out)


# ---- positions and motion of a robot without its two-point links, over any scalar


@dataclass(frozen=True, eq=False)
class ReducedCoordinates:
    """Where everything is in p and y.

    Attributes:
        structure: the robot with its links taken out.
        links: constants of each link.
        order: rates of the subchains in y: the actuators', then the others, by their indices.
    """

    structure: CondensedStructure
    links: tuple[LinkConstants, ...]
    order: tuple[int, ...]

    @property
    def na(self) -> int:
        """Number of actuators."""
        return len(self.structure.robot.actuators)

    @cached_property
    def zeros(self) -> tuple[int, ...]:
        """Places in p of the platform's quaternion that are zero throughout: those of a turn in a plane."""
        structure = self.structure
        if structure.normal is None or positions.platform_size(structure.subchains) == 3:
            return ()
        reference = quat_from_rotation(mechanism_of(structure.robot).assembly.platform.R)
        axis = int(np.argmax(np.abs(structure.normal)))
        others = [k for k in range(3) if k != axis]
        return () if np.max(np.abs(reference[others])) > 1e-12 else tuple(3 + k for k in others)

    @property
    def subchain_size(self) -> int:
        """Numbers in p that place the subchains."""
        return positions.position_count(self.structure.subchains)

    @cached_property
    def link_slices(self) -> tuple[slice, ...]:
        """Where each link's numbers are in p."""
        extra = 0 if self.structure.normal is not None else 3
        ends = np.cumsum([self.subchain_size, *(constants.n + extra for constants in self.links)]).tolist()
        return tuple(map(slice, ends, ends[1:]))

    @cached_property
    def link_rates(self) -> tuple[slice, ...]:
        """Where each link's rates are in y."""
        ends = np.cumsum([len(self.order), *(constants.n for constants in self.links)]).tolist()
        return tuple(map(slice, ends, ends[1:]))

    @property
    def size(self) -> int:
        """Length of p."""
        return int(self.link_slices[-1].stop)

    @property
    def n(self) -> int:
        """Length of y."""
        return int(self.link_rates[-1].stop)


@cache_by_numbers
def reduced_coordinates(robot: Robot) -> ReducedCoordinates:
    """Positions and rates of a robot whose loops are cut by two-point links.

    Raises:
        KinematicsError: if they are not.
    """
    structure = condensed_structure(robot)
    if isinstance(structure, str):
        raise KinematicsError(f"the small form does not support {robot.name}: {structure}")
    subchains = structure.subchains
    driven_rates = [
        subchains.robot.platform_nv + subchains.robot.v_slices[a.joint].start
        for a in subchains.robot.actuators
    ]
    others = [k for k in structure.free if k not in driven_rates]
    return ReducedCoordinates(
        structure, tuple(link_constants(link.shapes) for link in structure.links), (*driven_rates, *others)
    )


class LinkEndMotion(NamedTuple):
    """An end of a link: where it is, its Jacobian (3, rates), velocity and bias acceleration less gravity."""

    p: Array
    J: Array
    v: Array
    bias: Array


@dataclass(frozen=True)
class SubchainMotion:
    """A robot without its links, in motion.

    Attributes:
        reduced: where everything is in p and y.
        frames: the subchains.
        state: the subchains, for rigid bodies and joints.
        r: rates of the subchains.
        tips: of each link its two ends.
        links: the links in motion.
    """

    reduced: ReducedCoordinates
    frames: ElasticFrames
    state: State
    r: Array
    tips: tuple[tuple[LinkEndMotion, LinkEndMotion], ...]
    links: tuple[MovingLink, ...]

    @property
    def J(self) -> Array:
        """Rates of the subchains (r, order) from those in y."""
        return rate_selection(self.reduced)


def rate_selection(reduced: ReducedCoordinates) -> Array:
    """Rates of the subchains (r, order) from those in y."""
    S = np.zeros((reduced.structure.subchains.embedding.shape[1], len(reduced.order)))
    S[list(reduced.order), range(len(reduced.order))] = 1.0
    return S


def normalise_positions(reduced: ReducedCoordinates, p: Array) -> Array:
    """Positions p (size,) with unit quaternions; entries that a planar robot's platform lacks are zero."""
    entries = list(p)
    for k in reduced.zeros:
        entries[k] = 0.0
    subchain_positions = positions.normalise_positions(
        reduced.structure.subchains, pack(entries[: reduced.subchain_size])
    )
    return pack([*subchain_positions, *entries[reduced.subchain_size :]])


class Lengths(NamedTuple):
    """Lengths of all links and their rates, where they are given."""

    length: Array
    rate: Array


def subchain_motion(
    reduced: ReducedCoordinates, p: Array, y: Array, lengths: Lengths | None = None
) -> SubchainMotion:
    """The robot at positions p and rates y.

    Lengths of the links and their rates follow if they are not given.
    """
    subchains = reduced.structure.subchains
    frames, now = _subchain_frames(reduced, p)
    motion, S = frames.motion, rate_selection(reduced)
    r = product(S, y[: len(reduced.order)])
    state = tree_in_motion(subchains, now, r)
    velocity = state.moving.velocity
    gravity = np.asarray(subchains.robot.gravity)
    columns = product(subchains.embedding, S)
    tips, links = [], []
    for k, link in enumerate(reduced.structure.links):
        ends = []
        for end in (link.start, link.end):
            point = end.point(motion.poses)
            twist, bias = velocity.twists[end.body], velocity.biases[end.body]
            ends.append(
                LinkEndMotion(
                    point,
                    product(motion.point_jacobian(end.body, point)[:3], columns),
                    point_velocity(twist, point),
                    point_acceleration(twist, bias, point) - gravity,
                )
            )
        part, rate = p[reduced.link_slices[k]], y[reduced.link_rates[k]]
        constants = reduced.links[k]
        span = ends[1].p - ends[0].p
        across = (
            None
            if reduced.structure.normal is not None
            else _transverse_directions(span, part[constants.n :])
        )
        at = link_posture(span, norm(span) if lengths is None else lengths.length[k], across, link.normal)
        velocity_between = ends[1].v - ends[0].v
        stretch = dot(at.e, velocity_between) if lengths is None else lengths.rate[k]
        w = pack([dot(n, velocity_between) * at.reciprocal for n in at.n])
        links.append(moving_link(constants, at, LinkRates(stretch, w, part[: constants.n], rate)))
        tips.append((ends[0], ends[1]))
    return SubchainMotion(reduced, frames, state, r, tuple(tips), tuple(links))


def link_end_points(reduced: ReducedCoordinates, p: Array) -> list[tuple[Array, Array]]:
    """Both ends (3,) of every link."""
    poses = _subchain_frames(reduced, p)[0].motion.poses
    return [(link.start.point(poses), link.end.point(poses)) for link in reduced.structure.links]


def _subchain_frames(reduced: ReducedCoordinates, p: Array) -> tuple[ElasticFrames, Configuration]:
    """The subchains at positions p (size,)."""
    subchains, subchain_positions = (
        reduced.structure.subchains,
        normalise_positions(reduced, p)[: reduced.subchain_size],
    )
    return configured_frames(subchains, *positions.split_positions(subchains, subchain_positions))


def _transverse_directions(span: Array, first: Array) -> tuple[Array, Array]:
    """Unit vectors across a link: the first made perpendicular to it, and the second."""
    square = dot(span, span)
    first = first - span * (dot(span, first) * divide(1.0, square))
    first = first * divide(1.0, norm(first))
    return first, cross(span, first) * divide(1.0, norm(span))


def position_rates(now: SubchainMotion, p: Array, y: Array) -> Array:
    """dp/dt (size,): of the subchains by their rates, t' of the links' bending, and n_1' = -w_1 e."""
    reduced = now.reduced
    result: list[Scalar] = list(
        positions.position_rates(reduced.structure.subchains, p[: reduced.subchain_size], now.r)
    )
    for k, link in enumerate(now.links):
        result += list(y[reduced.link_rates[k]])
        if reduced.structure.normal is None:
            result += list(-link.now.w[0] * link.at.e)
    return pack(result)
