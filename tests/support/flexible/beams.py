"""The links of a robot at a pose as beams and rigid bodies, read from the robot's data alone.

A body with section and material is a straight beam from its inward joint to the centroid of its other
joints, which are on a massless rigid end; ends that are given, and masses at them, come first. Section
axes: x along the beam, y the body's own y made perpendicular to x (its z where y is nearly along the
beam), or as given, z = x × y; `rectangle` is the width along y and the height along z. All in base axes
and SI units.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nacelle.kinematics.solve.inverse import inverse_kinematics
from nacelle.model.joint import Joint, JointKind
from nacelle.model.leg import BASE, Body
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
    """One beam.

    Attributes:
        body: number of its body.
        start: its first end (3,), m.
        tip: its other end (3,), m.
        R: section axes, columns (3, 3).
        section: its section.
        tips: mass matrices (6, 6) of what is rigid at the two ends, about them.
    """

    body: int
    start: Array
    tip: Array
    R: Array
    section: Section
    tips: tuple[Array, Array]

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
        stiffness: of the drive between a locked motor and its joint, N m/rad or N/m; 0 for none.
    """

    joint: Joint
    point: Array
    allowed: Array
    at_tip: tuple[bool, bool]
    stiffness: float = 0.0


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
        raise NotImplementedError("these references have no springs in joints")
    placed = inverse_kinematics(robot, np.asarray(x, dtype=float)).bodies
    R, p = np.asarray(placed.R, dtype=float), np.asarray(placed.p, dtype=float)
    inward = {joint.successor: k for k, joint in enumerate(robot.tree_joints)}
    driven = {actuator.joint for actuator in robot.actuators} if locked else set()
    joints = []
    for k, joint in enumerate(robot.joints):
        stiffness = joint.drive_stiffness if k in driven else 0.0
        held = k in driven and not stiffness
        allowed = np.zeros((6, 0)) if held else _allowed_twists(joint, R)
        at_tip = (True, inward.get(joint.successor) != k)
        joints.append(PlacedJoint(joint, _point(joint, R, p), allowed, at_tip, stiffness))
    beams = {
        k: _beam(body, k, (R[k], p[k]), joints)
        for k, body in enumerate(robot.bodies)
        if body.section is not None and body.material is not None
    }
    joints = [_assign_nearer_end(joint, beams) for joint in joints]
    return Structure(robot, R, p, beams, tuple(joints), _normal(joints, beams, R))


def _assign_nearer_end(placed: PlacedJoint, beams: dict[int, Beam]) -> PlacedJoint:
    """A joint on the ends of beams that it is nearer to: ends may be given."""
    at_tip = list(placed.at_tip)
    for side, body in enumerate((placed.joint.predecessor, placed.joint.successor)):
        if body in beams:
            beam = beams[body]
            at_tip[side] = bool(beam.R[:, 0] @ (placed.point - beam.start) > 0.5 * beam.length)
    return replace(placed, at_tip=(at_tip[0], at_tip[1]))


def _point(joint: Joint, R: Array, p: Array) -> Array:
    """Centre of a joint: the origin of its frame on the side that does not carry a plane."""
    side = joint.predecessor if joint.kind is JointKind.SPHERICAL_PLANAR else joint.successor
    frame = joint.frame_predecessor if side == joint.predecessor else joint.frame_successor
    return p[side] + R[side] @ np.asarray(frame.p, dtype=float)


def _allowed_twists(joint: Joint, R: Array) -> Array:
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


def _beam(body: Body, number: int, pose: tuple[Array, Array], joints: Sequence[PlacedJoint]) -> Beam:
    options = body.beam or {}
    if options.get("shear"):
        raise NotImplementedError("these references have no beams that shear")
    R, p = pose
    starts, tips = [], []
    for placed in joints:
        pair = (placed.joint.predecessor, placed.joint.successor)
        for end, at_tip in zip(pair, placed.at_tip, strict=True):
            # The joint of a point's two bodies is where their joints with the point are.
            if end == number and not placed.joint.at_point:
                (tips if at_tip else starts).append(placed.point)
    start = p + R @ np.array(options["from"]) if "from" in options else np.mean(starts, axis=0)
    tip = p + R @ np.array(options["to"]) if "to" in options else np.mean(tips, axis=0)
    along = (tip - start) / np.linalg.norm(tip - start)
    across = R @ np.array(options["y"]) if "y" in options else R[:, 1]
    if "y" not in options and np.linalg.norm(np.cross(across, along)) < 0.1:
        across = R[:, 2]
    across = across - along * (along @ across)
    across /= np.linalg.norm(across)
    axes = np.column_stack([along, across, np.cross(along, across)])
    masses = []
    for key, end in (("from", start), ("to", tip)):
        ten = options.get("tips", {}).get(key)
        T = shift_matrix(p - end)
        masses.append(T.T @ rigid_mass(np.array(ten), R) @ T if ten is not None else np.zeros((6, 6)))
    return Beam(number, start, tip, axes, _section(body.section, body.material), (masses[0], masses[1]))


def shift_matrix(arm: Array) -> Array:
    """Matrix (6, 6) that takes a small motion [v; w] of a rigid body to the point that is `arm` further."""
    T = np.eye(6)
    T[:3, 3:] = -_skew(arm)
    return T


def rigid_mass(ten: Array, R: Array) -> Array:
    """Mass matrix (6, 6) of a rigid body at its origin, base axes, from its ten parameters."""
    h, (xx, xy, yy, xz, yz, zz) = R @ ten[1:4], ten[4:]
    I = R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ R.T
    return np.block([[ten[0] * np.eye(3), -_skew(h)], [_skew(h), I]])


def _skew(r: Array) -> Array:
    return np.array([[0.0, -r[2], r[1]], [r[2], 0.0, -r[0]], [-r[1], r[0], 0.0]])


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


def _normal(joints: Sequence[PlacedJoint], beams: dict[int, Beam], R: Array) -> Array | None:
    """Normal of the plane of motion: revolute axes are along it, slides and beams perpendicular to it."""
    turns, others = [], [beam.R[:, 0] for beam in beams.values()]
    for placed in joints:
        joint = placed.joint
        axes = _allowed_twists(joint, R)
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
