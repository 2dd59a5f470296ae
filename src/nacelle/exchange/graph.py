"""A mechanism between two formats: bodies, joints, closures, couplings, names, and the report.

A joint has a frame on each of its bodies, `at` on the parent and `child_at` on the child; the second frame
moves in the first by the joint's axes one after the other, rotations about or strokes along them. Coordinates
are those of the file, in rad and m; a spherical joint has a quaternion x y z w.

Names of a file become names of a description: letters, digits, underscores and hyphens, each once. The report
says what was done.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from nacelle.errors import DescriptionError, Problem
from nacelle.model.joint import UNBOUNDED, Interval
from nacelle.model.source.node import file_error
from nacelle.spatial.pose import Pose, identity
from nacelle.spatial.rotation import quat_from_rotation, rotation_axis_angle, rotation_quat
from nacelle.spatial.scalar import Array

# ---- names


class UniqueNames:
    """The names that were given."""

    def __init__(self, reserved: Iterable[str] = ("base",)) -> None:
        """None yet; the words of the format are taken."""
        self._used: set[str] = set(reserved)

    def new(self, name: str, otherwise: str) -> str:
        """A name like the given one that is not taken; `otherwise` where none is given."""
        clean = re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-") or otherwise
        if not clean[0].isalpha():
            clean = f"n{clean}"
        number, unique = 2, clean
        while unique in self._used:
            unique, number = f"{clean}-{number}", number + 1
        self._used.add(unique)
        return unique


# ---- the graph


# The name of the base in every graph.
BASE = "base"


@dataclass(frozen=True, eq=False)
class Solid:
    """A rigid body: mass (kg), centre (3,) and inertia (3, 3) about it in body axes; shapes to draw."""

    mass: float = 0.0
    com: Array = field(default_factory=lambda: np.zeros(3))
    inertia: Array = field(default_factory=lambda: np.zeros((3, 3)))
    shapes: tuple[Shape, ...] = ()

    @property
    def is_massless(self) -> bool:
        """Whether it has neither mass nor inertia."""
        return self.mass == 0.0 and not np.any(self.inertia)


def combined_solid(first: Solid, second: Solid, X: Pose, shapes: tuple[Shape, ...] = ()) -> Solid:
    """A body with another one on it, which has the pose X in it and brings shapes with it."""
    mass = first.mass + second.mass
    if second.is_massless:
        return replace(first, shapes=(*first.shapes, *shapes))
    com = X.R @ second.com + X.p
    centre = (first.mass * first.com + second.mass * com) / mass if mass else first.com
    inertia = first.inertia + X.R @ second.inertia @ X.R.T
    for m, c in ((first.mass, first.com), (second.mass, com)):
        d = c - centre
        inertia = inertia + m * (d @ d * np.eye(3) - np.outer(d, d))
    return Solid(mass, centre, 0.5 * (inertia + inertia.T), (*first.shapes, *shapes))


@dataclass(frozen=True, eq=False)
class Shape:
    """A shape to draw: "cylinder" (radius, length along z), "box" (edges) or "sphere" (radius), m."""

    kind: str
    size: tuple[float, ...]
    at: Pose


@dataclass(frozen=True, eq=False)
class Motor:
    """What drives an axis.

    Attributes:
        name: of the actuator.
        gear: turns of the motor for one of the joint.
        force: largest force or torque at the joint, N or N m.
        speed: largest rate at the joint, m/s or rad/s.
        is_certain: whether the file says that it is there; otherwise a limit of effort only suggests it.
        index: in the vector of forces.
    """

    name: str
    gear: float = 1.0
    force: float = math.inf
    speed: float = math.inf
    is_certain: bool = True
    index: int = 0


@dataclass(frozen=True, eq=False)
class Axis:
    """One axis of a joint: direction in the joint's frame, and what acts along it (SI units).

    Attributes:
        direction: unit vector (3,).
        turns: whether it is a rotation.
        value: coordinate in the assembly.
        damping: viscous friction.
        coulomb: friction that does not depend on the rate's size.
        quadratic: friction with the square of the rate.
        cubic: friction with its third power.
        armature: inertia of the rotor, at the joint.
        stiffness: of a spring.
        rest: coordinate at which the spring is free.
        limits: lower and upper end.
        stop: stiffness of end stops at the limits; 0 without end stops.
        motor: what drives it.
    """

    direction: Array
    turns: bool = True
    value: float = 0.0
    damping: float = 0.0
    coulomb: float = 0.0
    quadratic: float = 0.0
    cubic: float = 0.0
    armature: float = 0.0
    stiffness: float = 0.0
    rest: float = 0.0
    limits: Interval = UNBOUNDED
    stop: float = 0.0
    motor: Motor | None = None

    @property
    def is_bare(self) -> bool:
        """Whether nothing acts along it and nothing bounds it."""
        friction = (self.damping, self.coulomb, self.quadratic, self.cubic)
        acts = (*friction, self.armature, self.stiffness, self.stop)
        return not any(acts) and self.motor is None and self.limits == UNBOUNDED

    def pose(self, value: float) -> Pose:
        """The motion along the axis."""
        if self.turns:
            return Pose(rotation_axis_angle(self.direction, value), np.zeros(3))
        return Pose(np.eye(3), self.direction * value)


@dataclass(frozen=True, eq=False)
class Link:
    """A joint between two bodies.

    Attributes:
        name: of the joint.
        parent: name of the body that carries it.
        child: name of the other body.
        at: frame on the parent.
        child_at: frame on the child.
        axes: none for a fixed or spherical joint, one (revolute, prismatic) or two (universal).
        spherical: whether it is one.
        quat: x y z w of a spherical joint in the assembly.
        damping: of a spherical joint, N m s/rad.
        armature: of a spherical joint, kg m^2.
        line: of the file, where it is written; 0 if that is not known.
    """

    name: str
    parent: str
    child: str
    at: Pose
    child_at: Pose = field(default_factory=identity)
    axes: tuple[Axis, ...] = ()
    spherical: bool = False
    quat: Array = field(default_factory=lambda: np.array([0.0, 0.0, 0.0, 1.0]))
    damping: float = 0.0
    armature: float = 0.0
    line: int = 0

    @property
    def kind(self) -> str:
        """Type of the joint, as descriptions name it."""
        if self.spherical:
            return "spherical"
        if not self.axes:
            return "fixed"
        if len(self.axes) == 2:
            return "universal"
        return "revolute" if self.axes[0].turns else "prismatic"

    @property
    def motor(self) -> Motor | None:
        """What drives it."""
        return self.axes[0].motor if len(self.axes) == 1 else None

    def pose(self) -> Pose:
        """Pose of the child in the parent, in the assembly."""
        pose = self.at
        if self.spherical:
            pose = pose @ Pose(rotation_quat(self.quat), np.zeros(3))
        for axis in self.axes:
            pose = pose @ axis.pose(axis.value)
        return pose @ self.child_at.inverse()

    def reverse(self) -> Link:
        """The joint seen from its child: the same motion with the same coordinates, axes turned round."""
        axes = tuple(replace(axis, direction=-axis.direction) for axis in reversed(self.axes))
        quat = self.quat * np.array([-1.0, -1.0, -1.0, 1.0])
        return replace(
            self,
            parent=self.child,
            child=self.parent,
            at=self.child_at,
            child_at=self.at,
            axes=axes,
            quat=quat,
        )


@dataclass(frozen=True, eq=False)
class Coupling:
    """Joint = sum of ratio times joint + offset, rad and m."""

    name: str
    joint: str
    follows: dict[str, float]
    offset: float = 0.0


@dataclass(frozen=True, eq=False)
class Strut:
    """A spring with a damper between points of two bodies: N/m, m, N s/m."""

    name: str
    bodies: tuple[str, str]
    points: tuple[Array, Array]
    stiffness: float
    length: float
    damping: float = 0.0


@dataclass(frozen=True, eq=False)
class RotationDamper:
    """A damper of the relative rotation of two bodies, alike about all axes, N m s/rad."""

    name: str
    bodies: tuple[str, str]
    damping: float


@dataclass(frozen=True, eq=False)
class NamedFrame:
    """A named frame on a body, such as a tool's; no part of the dynamics."""

    name: str
    body: str
    at: Pose


@dataclass
class ExchangeReport:
    """What was done on the way, and what was left out, a sentence each.

    Attributes:
        steps: what was done without a change of the dynamics.
        losses_by_message: what was left out or changed, with the names of all that each concerns.
        warnings: what may be meant otherwise, with the line of the file.
    """

    steps: list[str] = field(default_factory=list)
    losses_by_message: dict[str, list[str]] = field(default_factory=dict)
    warnings: list[Problem] = field(default_factory=list)

    @property
    def losses(self) -> list[str]:
        """What was left out or changed."""
        return [
            f"{what}: {', '.join(names)}" if names else what for what, names in self.losses_by_message.items()
        ]

    def add_step(self, sentence: str) -> None:
        """Note a step that keeps the dynamics."""
        self.steps.append(sentence)

    def warn(self, error: DescriptionError) -> None:
        """Note what an error says as a warning."""
        self.warnings += [replace(problem, severity="warning") for problem in error.problems]

    def add_loss(self, sentence: str, *names: str) -> None:
        """Note what was left out or changed; once, with the names of what it concerns."""
        known = self.losses_by_message.setdefault(sentence, [])
        known += [name for name in names if name not in known]


@dataclass(frozen=True)
class Digits:
    """The last digits of a file's numbers: of lengths (m) and of angles (rad); 0 if that is not known."""

    length: float = 0.0
    angle: float = 0.0


@dataclass(frozen=True, eq=False)
class Graph:
    """A mechanism.

    Attributes:
        name: of the robot.
        file: from which it was read.
        gravity: m/s^2 in base axes.
        bodies: by their names, without the base, in the order of the tree.
        joints: of the tree: every body is the child of one of them, but for `floating` and `free_bodies`.
        closures: joints that close loops.
        couplings: between joints of the tree.
        struts: springs between bodies.
        dampers: angular dampers between bodies.
        floating: the body that moves freely, or None.
        parts: other bodies of an articulated platform, of which `floating` is the one that is placed.
        pose: of the floating body in the assembly.
        free_bodies: other bodies that move freely, with their poses in the assembly; none after the passes.
        shapes: of the base.
        marks: named frames on bodies.
        digits: of its numbers.
        other_starts: other coordinates of joints, by their names, from which loops may be closed.
        report: what was done and lost, shared by all passes.
    """

    name: str
    file: str
    gravity: Array
    bodies: dict[str, Solid]
    joints: tuple[Link, ...]
    closures: tuple[Link, ...] = ()
    couplings: tuple[Coupling, ...] = ()
    struts: tuple[Strut, ...] = ()
    dampers: tuple[RotationDamper, ...] = ()
    floating: str | None = None
    parts: tuple[str, ...] = ()
    pose: Pose = field(default_factory=identity)
    free_bodies: dict[str, Pose] = field(default_factory=dict)
    shapes: tuple[Shape, ...] = ()
    marks: tuple[NamedFrame, ...] = ()
    digits: Digits = Digits()
    other_starts: tuple[dict[str, Array], ...] = ()
    report: ExchangeReport = field(default_factory=ExchangeReport)

    @property
    def links(self) -> tuple[Link, ...]:
        """Joints of the tree, then closures."""
        return (*self.joints, *self.closures)

    @property
    def between(self) -> tuple[tuple[str, str], ...]:
        """Pairs of bodies between which springs or dampers act."""
        return (*(strut.bodies for strut in self.struts), *(damper.bodies for damper in self.dampers))

    @property
    def held_names(self) -> set[str]:
        """Bodies at which closures, springs or dampers act."""
        pairs = (*((link.parent, link.child) for link in self.closures), *self.between)
        return {body for pair in pairs for body in pair}

    @property
    def coupled(self) -> set[str]:
        """Names of the joints that couplings join."""
        return {name for coupling in self.couplings for name in (coupling.joint, *coupling.follows)}

    @property
    def size(self) -> float:
        """The largest distance between two joints on one moving body, m; 1 if all are in one point."""
        ends: dict[str, list[Array]] = {}
        for link in self.links:
            ends.setdefault(link.parent, []).append(link.at.p)
            ends.setdefault(link.child, []).append(link.child_at.p)
        ends.pop(BASE, None)
        apart = [np.linalg.norm(np.array(points) - points[0], axis=1).max() for points in ends.values()]
        return float(max(apart, default=0.0)) or 1.0

    def poses(self) -> dict[str, Pose]:
        """Poses of all bodies in the assembly, base axes."""
        poses = {BASE: identity(), **self.free_bodies}
        if self.floating is not None:
            poses[self.floating] = self.pose
        left = list(self.joints)
        while left:
            ready = [joint for joint in left if joint.parent in poses]
            if not ready:
                raise file_error(self.file, f"nothing carries the body {left[0].parent!r}")
            for joint in ready:
                poses[joint.child] = poses[joint.parent] @ joint.pose()
            left = [joint for joint in left if joint.child not in poses]
        return poses

    def with_values(self, values: dict[str, Array]) -> Graph:
        """The graph with other coordinates in the assembly, by the names of joints."""
        return replace(
            self, joints=tuple(_with_value(joint, values.get(joint.name)) for joint in self.joints)
        )


def _with_value(joint: Link, value: Array | None) -> Link:
    if value is None:
        return joint
    if joint.spherical:
        return replace(joint, quat=value)
    axes = tuple(replace(axis, value=float(v)) for axis, v in zip(joint.axes, value, strict=True))
    return replace(joint, axes=axes)


def relative_quat(R: Array) -> Array:
    """The quaternion x y z w of a rotation."""
    return np.asarray(quat_from_rotation(R), dtype=float)
