"""The links of a robot at a pose as beams and rigid bodies, read from the robot's data alone.

A body with section and material is a straight beam from its inward joint to the centroid of its other
joints, which are on a massless rigid end. Section axes: x along the beam, y the body's own y made
perpendicular to x (its z where y is along the beam), z = x × y; `rectangle` is the width along y and the
height along z. All in base axes and SI units.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nacelle.kinematics.inverse import inverse_kinematics
from nacelle.model.joint import Joint, JointKind
from nacelle.model.leg import BASE
from nacelle.model.robot import Robot

Array = np.ndarray

# Motions of a joint's second frame against its first: rotation or translation, whose axis, which axis.
_MOTIONS: dict[JointKind, str] = {
    JointKind.REVOLUTE: "r0z",
    JointKind.PRISMATIC: "t0z",
    JointKind.CYLINDRICAL: "t0z r0z",
    JointKind.UNIVERSAL: "r0x r1y",
    JointKind.SPHERICAL: "r0x r0y r0z",
    JointKind.PLANAR_SPHERICAL: "t0x t0y r0x r0y r0z",
    JointKind.SPHERICAL_PLANAR: "t1x t1y r0x r0y r0z",
    JointKind.FIXED: "",
    JointKind.POINT: "r0x r0y r0z",
}


@dataclass(frozen=True)
class Section:
    """A section: area, second moments, torsion constant, and its material's moduli and density.

    Attributes:
        A: area, m^2.
        Iy: second moment about y (bending along z), m^4.
        Iz: second moment about z (bending along y), m^4.
        J: Saint-Venant's torsion constant, m^4.
        E: Young's modulus, Pa.
        G: shear modulus E / (2 (1 + nu)), Pa.
        rho: density, kg/m^3.
    """

    A: float
    Iy: float
    Iz: float
    J: float
    E: float
    G: float
    rho: float


@dataclass(frozen=True)
class Beam:
    """One beam: its body, its two ends, its section axes (columns of R) and its section."""

    body: int
    start: Array
    tip: Array
    R: Array
    section: Section

    @property
    def length(self) -> float:
        """Length, m."""
        return float(np.linalg.norm(self.tip - self.start))


@dataclass(frozen=True)
class PlacedJoint:
    """One joint at the pose.

    Attributes:
        joint: the joint.
        point: where it is (3,), m.
        allowed: motions [v; w] of the second body against the first at that point (6, k).
        at_tip: for each of the two bodies whether the joint is at the tip, if the body is a beam.
    """

    joint: Joint
    point: Array
    allowed: Array
    at_tip: tuple[bool, bool]


@dataclass(frozen=True)
class Structure:
    """A robot at a pose, undeformed.

    Attributes:
        robot: the robot.
        R: orientations of bodies (bodies, 3, 3).
        p: origins of bodies (bodies, 3), m.
        beams: the flexible links by body.
        joints: all joints; those with an actuator are locked, if that was demanded.
        normal: normal of the plane (3,) in which a planar robot moves, or None.
    """

    robot: Robot
    R: Array
    p: Array
    beams: dict[int, Beam]
    joints: tuple[PlacedJoint, ...]
    normal: Array | None


def structure(robot: Robot, x: Sequence[float] | Array, locked: bool = True) -> Structure:
    """Place a robot at the reduced pose x (nx,); locked: joints with an actuator do not move."""
    if any(spring is not None for joint in robot.joints for spring in joint.springs):
        raise NotImplementedError("springs in joints")
    placed = inverse_kinematics(robot, np.asarray(x, dtype=float)).bodies
    R, p = np.asarray(placed.R, dtype=float), np.asarray(placed.p, dtype=float)
    inward = {joint.successor: k for k, joint in enumerate(robot.tree_joints)}
    driven = {actuator.joint for actuator in robot.actuators} if locked else set()
    joints = tuple(
        PlacedJoint(
            joint,
            _point(joint, R, p),
            np.zeros((6, 0)) if k in driven else _allowed(joint, R),
            (True, inward.get(joint.successor) != k),
        )
        for k, joint in enumerate(robot.joints)
    )
    beams = {
        k: _beam(k, _section(body.section, body.material), R[k], joints)
        for k, body in enumerate(robot.bodies)
        if body.section is not None and body.material is not None
    }
    return Structure(robot, R, p, beams, joints, _normal(robot, joints, beams, R))


def _point(joint: Joint, R: Array, p: Array) -> Array:
    """Centre of a joint: the origin of its frame on the side that does not carry a plane."""
    side = joint.predecessor if joint.kind is JointKind.SPHERICAL_PLANAR else joint.successor
    frame = joint.frame_predecessor if side == joint.predecessor else joint.frame_successor
    return p[side] + R[side] @ np.asarray(frame.p, dtype=float)


def _allowed(joint: Joint, R: Array) -> Array:
    axes = (
        R[joint.predecessor] @ np.asarray(joint.frame_predecessor.R, dtype=float),
        R[joint.successor] @ np.asarray(joint.frame_successor.R, dtype=float),
    )
    columns = []
    for motion in _MOTIONS[joint.kind].split():
        axis = axes[int(motion[1])][:, "xyz".index(motion[2])]
        columns.append(np.concatenate([np.zeros(3), axis] if motion[0] == "r" else [axis, np.zeros(3)]))
    if joint.at_point:  # the point locks the position already
        columns += list(np.eye(6)[:3])
    return np.array(columns).reshape(-1, 6).T


def _beam(body: int, section: Section, R: Array, joints: Sequence[PlacedJoint]) -> Beam:
    starts, tips = [], []
    for placed in joints:
        pair = (placed.joint.predecessor, placed.joint.successor)
        for end, at_tip in zip(pair, placed.at_tip, strict=True):
            # The joint of a point's two bodies is where their joints with the point are.
            if end == body and not placed.joint.at_point:
                (tips if at_tip else starts).append(placed.point)
    start, tip = np.mean(starts, axis=0), np.mean(tips, axis=0)
    along = (tip - start) / np.linalg.norm(tip - start)
    across = R[:, 1] if np.linalg.norm(np.cross(R[:, 1], along)) > 1e-6 else R[:, 2]
    across = across - along * (along @ across)
    across /= np.linalg.norm(across)
    return Beam(body, start, tip, np.column_stack([along, across, np.cross(along, across)]), section)


def _section(shape: dict[str, Any], material: dict[str, Any]) -> Section:
    E, nu, rho = material["E"], material.get("nu", 0.3), material["density"]
    G = E / (2.0 * (1.0 + nu))
    if "area" in shape:
        return Section(shape["area"], shape["Iy"], shape["Iz"], shape["J"], E, G, rho)
    if "circle" in shape or "tube" in shape:
        outer, inner = shape.get("tube", (shape.get("circle"), 0.0))
        I = np.pi / 64.0 * (outer**4 - inner**4)
        return Section(np.pi / 4.0 * (outer**2 - inner**2), I, I, 2.0 * I, E, G, rho)
    width, height = shape.get("rectangle") or (shape["square"], shape["square"])
    Iy, Iz = width * height**3 / 12.0, height * width**3 / 12.0
    return Section(width * height, Iy, Iz, torsion_constant(width, height), E, G, rho)


def torsion_constant(width: float, height: float) -> float:
    """Saint-Venant's torsion constant of a rectangle, m^4, by the series of the membrane analogy."""
    a, b = max(width, height), min(width, height)
    n = np.arange(1, 40, 2)
    series = float(np.sum(np.tanh(n * np.pi * a / (2.0 * b)) / n**5))
    return a * b**3 * (1.0 / 3.0 - 64.0 / np.pi**5 * b / a * series)


def _normal(robot: Robot, joints: Sequence[PlacedJoint], beams: dict[int, Beam], R: Array) -> Array | None:
    """Normal of the plane of motion: revolute axes are along it, slides and beams perpendicular to it."""
    turns, others = [], [beam.R[:, 0] for beam in beams.values()]
    for placed in joints:
        joint = placed.joint
        axes = _allowed(joint, R)
        if joint.kind is JointKind.REVOLUTE:
            turns.append(axes[3:, 0])
        elif joint.kind is JointKind.PRISMATIC:
            others.append(axes[:3, 0])
        elif joint.kind not in (JointKind.FIXED, JointKind.POINT):
            return None
    if not turns:
        return None
    normal = turns[0]
    tilts = [np.linalg.norm(np.cross(normal, axis)) for axis in turns] + [
        abs(normal @ axis) for axis in others
    ]
    return normal if max(tilts) < 1e-9 else None


def rigid_bodies(robot: Robot, beams: dict[int, Beam]) -> list[int]:
    """Numbers of the bodies that are neither base nor beam."""
    return [k for k in range(len(robot.bodies)) if k != BASE and k not in beams]
