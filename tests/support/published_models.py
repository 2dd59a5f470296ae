"""The robots of the published operation counts, with every number changed by about 1 %.

Only what is declared as a symmetry is kept: identical legs of one template, placement at 120 degrees,
coplanar semi-regular hexagons, axes along the base's, centres of mass and principal axes that a description
puts on the axis of a strut or bar. So no accidental zero and no round number helps a count.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

import nacelle
from nacelle.model.joint import Joint
from nacelle.spatial.pose import Pose
from support.library import library_robot

Array = np.ndarray
Robot = nacelle.Robot
PLATFORM = 1


def _body_key(name: str) -> str:
    """The name of a body in its template: "leg3.rod" is a "rod"."""
    return name.partition(".")[2] or name


def vary_inertia(
    robot: Robot, rng: np.random.Generator, *, alike: bool, general: tuple[str, ...] = ()
) -> Robot:
    """Change inertias and friction by 1 %.

    Args:
        robot: the robot.
        rng: where the changes come from.
        alike: whether legs of one template stay identical.
        general: bodies (in their template) that get all ten parameters, products of inertia too.
    """
    drawn: dict[str, Array] = {}
    bodies = []
    for body in robot.bodies:
        key = _body_key(body.name) if alike else body.name
        p = np.array(body.inertia)
        if key not in drawn:
            drawn[key] = rng.uniform(-1.0, 1.0, (2, 10))
        p = p * (1.0 + 0.01 * drawn[key][0])
        if _body_key(body.name) in general:
            size = np.array([0.0, *[0.02 * p[0] * robot.size] * 3, *[0.02 * np.max(np.abs(p[4:]))] * 6])
            p = p + size * drawn[key][1]
        bodies.append(dataclasses.replace(body, inertia=tuple(p)))
    rates: dict[str, float] = {}
    joints = []
    for joint in robot.joints:
        key = _body_key(joint.name) if alike else joint.name
        factor = rates.setdefault(key, 1.0 + 0.01 * rng.uniform(-1.0, 1.0))
        friction = tuple(
            tuple(dataclasses.replace(term, coefficient=term.coefficient * factor) for term in terms)
            for terms in joint.friction
        )
        joints.append(
            dataclasses.replace(joint, friction=friction, rotor_inertia=joint.rotor_inertia * factor)
        )
    return dataclasses.replace(robot, bodies=tuple(bodies), joints=tuple(joints))


def _move_anchors(joint: Joint, *, base: Array | None = None, end: Array | None = None) -> Joint:
    if base is not None:
        frame = joint.frame_predecessor
        joint = dataclasses.replace(joint, frame_predecessor=Pose(frame.R, base))
    if end is not None:
        frame = joint.frame_successor
        joint = dataclasses.replace(joint, frame_successor=Pose(frame.R, end))
    return joint


def with_anchors(
    robot: Robot, base: Callable[[int, Array], Array], end: Callable[[int, Array], Array]
) -> Robot:
    """Put the legs' anchors elsewhere; functions of the leg's number and the old place."""
    joints = list(robot.joints)
    for number, leg in enumerate(robot.legs):
        first, last = leg.joints[0], leg.closures[0]
        joints[first] = _move_anchors(joints[first], base=base(number, joints[first].frame_predecessor.p))
        joints[last] = _move_anchors(joints[last], end=end(number, joints[last].frame_successor.p))
    return dataclasses.replace(robot, joints=tuple(joints))


def _hexagon(radius: float, half: float) -> Array:
    """A semi-regular hexagon: angles 120 k + half and 120 k - half degrees, in the order of the angles."""
    angles = np.sort(np.concatenate([np.arange(3) * 120.0 + half, np.arange(3) * 120.0 - half]) % 360.0)
    return np.stack(
        [radius * np.cos(np.radians(angles)), radius * np.sin(np.radians(angles)), np.zeros(6)], axis=1
    )


def palida(seed: int) -> Robot:
    """PaLiDA: coplanar semi-regular hexagons, identical struts, first cardan axes along y, Table I."""
    rng = np.random.default_rng(seed)
    A = _hexagon(0.5 * (1 + 0.01 * rng.uniform(-1, 1)), 20.0 * (1 + 0.01 * rng.uniform(-1, 1)))
    B = _hexagon(0.16 * (1 + 0.01 * rng.uniform(-1, 1)), 45.0 * (1 + 0.01 * rng.uniform(-1, 1)))

    def near(points: Array, old: Array) -> Array:
        # Mirror images must be that to the last digit.
        point = points[np.argmin(np.linalg.norm(points - old, axis=1))]
        twin = points[np.argmin(np.linalg.norm(points - point * [1, -1, 1], axis=1))]
        return np.array([0.5 * (point[0] + twin[0]), 0.5 * (point[1] - twin[1]), 0.0])

    robot = vary_inertia(library_robot("palida"), rng, alike=True)
    return with_anchors(robot, lambda k, old: near(A, old), lambda k, old: near(B, old))


def scatter_anchors(robot: Robot, rng: np.random.Generator) -> Robot:
    """All anchors moved by about 1 % of the robot's size in every direction."""
    size = 0.01 * robot.size
    return with_anchors(
        robot, lambda k, p: p + rng.uniform(-size, size, 3), lambda k, p: p + rng.uniform(-size, size, 3)
    )


def palida_general(seed: int) -> Robot:
    """PaLiDA with general anchors."""
    rng = np.random.default_rng(seed)
    return scatter_anchors(vary_inertia(library_robot("palida"), rng, alike=True), rng)


def gough_stewart(seed: int) -> Robot:
    """Six different legs of five parameters each, general anchors and platform, tangential first axes."""
    rng = np.random.default_rng(seed)
    robot = scatter_anchors(vary_inertia(library_robot("gough-stewart"), rng, alike=False), rng)
    joints = list(robot.joints)
    for leg in robot.legs:
        first = joints[leg.joints[0]]
        angle = 0.01 * rng.uniform(-1, 1)
        c, s = np.cos(angle), np.sin(angle)
        rotation = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        frame = first.frame_predecessor
        joints[leg.joints[0]] = dataclasses.replace(
            first, frame_predecessor=Pose(rotation @ frame.R, frame.p)
        )
    return dataclasses.replace(robot, joints=tuple(joints))


def _scale_lengths(robot: Robot, rng: np.random.Generator) -> Robot:
    """Lengths changed by 1 %, the same for joints of the same name in a template."""
    factors: dict[tuple[str, int], float] = {}
    joints = []
    for joint in robot.joints:
        key = _body_key(joint.name)
        frames = []
        for side, frame in enumerate((joint.frame_predecessor, joint.frame_successor)):
            factor = factors.setdefault((key, side), 1.0 + 0.01 * rng.uniform(-1, 1))
            frames.append(Pose(frame.R, factor * frame.p))
        joints.append(dataclasses.replace(joint, frame_predecessor=frames[0], frame_successor=frames[1]))
    return dataclasses.replace(robot, joints=tuple(joints))


def fivebar(seed: int) -> Robot:
    """Two identical legs of two bars, mirrored on the base."""
    rng = np.random.default_rng(seed)
    return _scale_lengths(vary_inertia(library_robot("fivebar"), rng, alike=True), rng)


def delta(seed: int) -> Robot:
    """Three identical arms at 120 degrees and a point."""
    rng = np.random.default_rng(seed)
    return _scale_lengths(vary_inertia(library_robot("delta-codourey"), rng, alike=True), rng)


def planar(seed: int) -> Robot:
    """3-RRR: three identical legs at 120 degrees, a plate with its centre of mass anywhere."""
    rng = np.random.default_rng(seed)
    return _scale_lengths(vary_inertia(library_robot("3rrr"), rng, alike=True, general=("plate",)), rng)


def hexaglide(seed: int) -> Robot:
    """Hexaglide with general inertia of rods and platform; rails along x, anchors anywhere."""
    rng = np.random.default_rng(seed)
    robot = vary_inertia(library_robot("hexaglide"), rng, alike=True, general=("rod", "platform", "carriage"))
    return scatter_anchors(robot, rng)


def hexa(seed: int) -> Robot:
    """Hexa with general inertia of rods, arms and platform; pairs at 120 degrees, general end anchors."""
    rng = np.random.default_rng(seed)
    robot = vary_inertia(library_robot("hexa"), rng, alike=True, general=("rod", "platform", "arm"))
    size = 0.01 * robot.size
    return with_anchors(
        _scale_lengths(robot, rng), lambda k, p: p, lambda k, p: p + rng.uniform(-size, size, 3)
    )
