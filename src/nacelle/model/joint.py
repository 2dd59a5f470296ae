"""Joints: the kinds, their coordinates, what they lock, and one joint of a robot.

A joint connects two bodies, its predecessor and its successor, and has a frame on each. The
motion of the successor's joint frame in the predecessor's is a product of primitives:

    revolute          Rz(q)                 rotation about z
    prismatic         Tz(q)                 translation along z
    cylindrical       Tz(q1) Rz(q2)
    universal         Rx(q1) Ry(q2)         first axis x, second axis y
    spherical         R(quat_xyzw)
    planar-spherical  Tx(q1) Ty(q2) R       moves on the plane z = 0 of the predecessor (C5 joint)
    spherical-planar  R Tx(q1) Ty(q2)       the same joint with the plane on the successor
    fixed
    point             a spherical joint on a massless point: locks the position, nothing else
    coupling          no frames: a gear, a belt, a differential, q_1 - sum ratio_k q_k = offset

A joint of the spanning tree places its successor; a closure demands that the two frames, placed by
the tree, agree in what the joint locks. Same data, two roles. A coupling is a closure that locks a
combination of coordinates of revolute and prismatic joints of the tree.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import NamedTuple, TypeVar

from nacelle.spatial.pose import Pose, identity
from nacelle.spatial.scalar import Scalar, absolute, maximum, minimum


class JointKind(StrEnum):
    """The kinds of joints."""

    REVOLUTE = "revolute"
    PRISMATIC = "prismatic"
    CYLINDRICAL = "cylindrical"
    UNIVERSAL = "universal"
    SPHERICAL = "spherical"
    PLANAR_SPHERICAL = "planar-spherical"
    SPHERICAL_PLANAR = "spherical-planar"
    FIXED = "fixed"
    POINT = "point"
    COUPLING = "coupling"


class Primitive(StrEnum):
    """One step of a joint's motion: a rotation about or a translation along an axis, or spherical."""

    RX = "rx"
    RY = "ry"
    RZ = "rz"
    TX = "tx"
    TY = "ty"
    TZ = "tz"
    SPHERICAL = "ball"

    @property
    def axis(self) -> int:
        """Index of the axis, 0 to 2."""
        return "xyz".index(self.value[1])

    @property
    def is_rotation(self) -> bool:
        """Whether it is a rotation."""
        return self.value[0] != "t"

    @property
    def nq(self) -> int:
        """Number of coordinates: 4 for a spherical one (quat_xyzw), else 1."""
        return 4 if self is Primitive.SPHERICAL else 1

    @property
    def nv(self) -> int:
        """Number of rates: 3 for a spherical one (angular velocity in the successor's frame), else 1."""
        return 3 if self is Primitive.SPHERICAL else 1


_P = Primitive

MOTION: dict[JointKind, tuple[Primitive, ...]] = {
    JointKind.REVOLUTE: (_P.RZ,),
    JointKind.PRISMATIC: (_P.TZ,),
    JointKind.CYLINDRICAL: (_P.TZ, _P.RZ),
    JointKind.UNIVERSAL: (_P.RX, _P.RY),
    JointKind.SPHERICAL: (_P.SPHERICAL,),
    JointKind.PLANAR_SPHERICAL: (_P.TX, _P.TY, _P.SPHERICAL),
    JointKind.SPHERICAL_PLANAR: (_P.SPHERICAL, _P.TX, _P.TY),
    JointKind.FIXED: (),
    JointKind.POINT: (_P.SPHERICAL,),
    JointKind.COUPLING: (),
}

# What a joint locks, as scalar equations between its two frames. ("offset", i): the successor's origin
# has no component along axis i of the predecessor's frame. ("perpendicular", i, j): axis i of the
# predecessor's frame is perpendicular to axis j of the successor's. ("coupled", 0): the terms of a coupling.
Lock = tuple[str, int] | tuple[str, int, int]
_AT_POINT: tuple[Lock, ...] = (("offset", 0), ("offset", 1), ("offset", 2))
_ALONG_Z: tuple[Lock, ...] = (("offset", 0), ("offset", 1))
_Z_PARALLEL: tuple[Lock, ...] = (("perpendicular", 0, 2), ("perpendicular", 1, 2))
_ALIGNED: tuple[Lock, ...] = (*_Z_PARALLEL, ("perpendicular", 0, 1))

LOCKS: dict[JointKind, tuple[Lock, ...]] = {
    JointKind.REVOLUTE: _AT_POINT + _Z_PARALLEL,
    JointKind.PRISMATIC: _ALONG_Z + _ALIGNED,
    JointKind.CYLINDRICAL: _ALONG_Z + _Z_PARALLEL,
    JointKind.UNIVERSAL: (*_AT_POINT, ("perpendicular", 0, 1)),
    JointKind.SPHERICAL: _AT_POINT,
    JointKind.PLANAR_SPHERICAL: (("offset", 2),),
    JointKind.SPHERICAL_PLANAR: (("offset", 2),),
    JointKind.FIXED: _AT_POINT + _ALIGNED,
    JointKind.POINT: _AT_POINT,
    JointKind.COUPLING: (("coupled", 0),),
}

LETTERS: dict[JointKind, str] = {
    JointKind.REVOLUTE: "R",
    JointKind.PRISMATIC: "P",
    JointKind.CYLINDRICAL: "C",
    JointKind.UNIVERSAL: "U",
    JointKind.SPHERICAL: "S",
    JointKind.PLANAR_SPHERICAL: "C5",
    JointKind.SPHERICAL_PLANAR: "C5",
    JointKind.FIXED: "F",
    JointKind.POINT: "S",
    JointKind.COUPLING: "G",
}


@dataclass(frozen=True)
class FrictionTerm:
    """One basis function of the joint rate with its coefficient ([AGH2005] (24)).

    Attributes:
        basis: "viscous", "coulomb", "coulomb-smooth", "stribeck", "quadratic", "cubic" or "constant".
        coefficient: N or N m, per power of the rate.
        scale: rate at which a smooth or Stribeck term bends, m/s or rad/s; 0 for the others.
    """

    basis: str
    coefficient: float
    scale: float = 0.0


@dataclass(frozen=True)
class Spring:
    """A linear spring on one coordinate: force = -stiffness (q - rest)."""

    stiffness: float
    rest: float

    def holding_force(self, q: Scalar) -> Scalar:
        """Force (N or N m) that holds it at a coordinate: stiffness (q - rest)."""
        return self.stiffness * (q - self.rest)


class Interval(NamedTuple):
    """Where a coordinate may be, lower <= q <= upper, rad or m; infinite where there is no limit."""

    lower: float = -math.inf
    upper: float = math.inf


UNBOUNDED = Interval()
"""The limits of a coordinate that has none."""


@dataclass(frozen=True)
class Stop:
    """A compliant end stop at the limits of one coordinate.

    With s how far the coordinate q is beyond a limit, signed (0 within the limits), it pushes back with

        F = k s + d,     d = damping q', held within -k |s| and k |s|          k the stiffness

    a spring and a damper whose force is never larger than the spring's: so F is continuous where the stop is
    met and left, never pulls, and the damper only takes power.

    Attributes:
        stiffness: N m/rad or N/m.
        damping: N m s/rad or N s/m.
    """

    stiffness: float
    damping: float = 0.0

    def spring_force(self, s: Scalar) -> Scalar:
        """The part k s of the force, N or N m, at s beyond a limit."""
        return self.stiffness * s

    def damper_force(self, s: Scalar, rate: Scalar) -> Scalar:
        """The part d of the force, N or N m, at s beyond a limit and a rate of the coordinate."""
        most = self.stiffness * absolute(s)
        return minimum(maximum(self.damping * rate, -most), most)


@dataclass(frozen=True)
class Joint:
    """One joint of a robot, in the tree or as a closure.

    Attributes:
        name: full name, "leg1.knee".
        kind: which kind.
        predecessor: index of the body that carries the first frame.
        successor: index of the body that carries the second frame.
        frame_predecessor: pose of the joint frame in the predecessor's body frame.
        frame_successor: pose of the joint frame in the successor's body frame.
        friction: for each friction axis (`friction_axes`) its terms.
        springs: for each friction axis a spring or None.
        stops: for each friction axis an end stop at its limits or None; empty without end stops.
        rotor_inertia: of the drive, kg m^2 or kg, on the motor's side of the gear; of a spherical joint
            about all three axes.
        gear_ratio: motor rate per joint rate.
        drive_stiffness: of a spring between motor and load, N m/rad or N/m at the joint; 0 if it is rigid.
        drive_damping: parallel to this spring, N m s/rad or N s/m.
        limits: for each friction axis (lower, upper), infinite where there is no limit.
        guess: reference value of the coordinates (`nq` of them), picks the branch.
        at_point: a joint between legs at a point platform; the point locks the position already.
        terms: of a coupling, (joint, factor) for each coordinate of the tree in it, the dependent one with 1
            first: sum factor q = offset.
        offset: of a coupling, rad or m.
    """

    name: str
    kind: JointKind
    predecessor: int
    successor: int
    frame_predecessor: Pose = field(default_factory=identity)
    frame_successor: Pose = field(default_factory=identity)
    friction: tuple[tuple[FrictionTerm, ...], ...] = ()
    springs: tuple[Spring | None, ...] = ()
    stops: tuple[Stop | None, ...] = ()
    rotor_inertia: float = 0.0
    gear_ratio: float = 1.0
    drive_stiffness: float = 0.0
    drive_damping: float = 0.0
    limits: tuple[Interval, ...] = ()
    guess: tuple[float, ...] = ()
    at_point: bool = False
    terms: tuple[tuple[int, float], ...] = ()
    offset: float = 0.0

    @property
    def is_coupling(self) -> bool:
        """Whether it couples coordinates and has no frames."""
        return self.kind is JointKind.COUPLING

    @property
    def primitives(self) -> tuple[Primitive, ...]:
        """The steps of the joint's motion."""
        return MOTION[self.kind]

    @property
    def locks(self) -> tuple[Lock, ...]:
        """What the joint locks."""
        locks = LOCKS[self.kind]
        return tuple(lock for lock in locks if lock[0] == "perpendicular") if self.at_point else locks

    @property
    def nq(self) -> int:
        """Number of coordinates."""
        return sum(primitive.nq for primitive in self.primitives)

    @property
    def nv(self) -> int:
        """Number of rates."""
        return sum(primitive.nv for primitive in self.primitives)

    @property
    def has_spring_or_stop(self) -> bool:
        """Whether a force in it depends on its coordinates: a spring, or an end stop."""
        return any(self.springs) or any(self.stops)

    @property
    def friction_axes(self) -> tuple[Primitive, ...]:
        """Where friction acts: along every primitive, in a spherical joint along the relative rotation."""
        return self.primitives

    def has_elastic_force(self, number: int) -> bool:
        """Whether a force along an axis depends on its coordinate: of a spring, or of an end stop."""
        return any(forces and forces[number] is not None for forces in (self.springs, self.stops))

    def centre(self, number: int) -> float:
        """Angle (rad) about which the angle of an axis is read: of those a turn apart the nearest to it.

        The middle of the limits, of a single one a quarter of a turn inside; without limits the rest position
        of a spring; else 0. It is 0, too, where the limits are between -pi and pi and no force depends on the
        angle: within them it is then the same.
        """
        lower, upper = self._limits_of(number)
        loaded = self.has_elastic_force(number)
        if not loaded and -math.pi <= lower and upper <= math.pi:
            return 0.0
        if math.isfinite(lower) and math.isfinite(upper):
            value = 0.5 * (lower + upper)
        elif math.isfinite(lower) or math.isfinite(upper):
            value = lower + 0.5 * math.pi if math.isfinite(lower) else upper - 0.5 * math.pi
        else:
            spring = self.springs[number] if self.springs else None
            value = 0.0 if spring is None else float(spring.rest)
        return value if abs(value) > 1e-12 else 0.0

    def may_turn(self, number: int) -> bool:
        """Whether a rotation has no limits, or limits that leave room for more than one turn."""
        lower, upper = self._limits_of(number)
        return upper - lower > 2.0 * math.pi + 1e-9

    def counts_turns(self, number: int) -> bool:
        """Whether turns of an axis matter to a motion: to a force, or to limits more than a turn apart."""
        primitive = self.primitives[number]
        if not primitive.is_rotation or primitive is Primitive.SPHERICAL or not self.may_turn(number):
            return False
        return self.has_elastic_force(number) or any(math.isfinite(end) for end in self._limits_of(number))

    def _limits_of(self, number: int) -> Interval:
        return self.limits[number] if self.limits else UNBOUNDED


def neutral_coordinates(kind: JointKind) -> tuple[float, ...]:
    """Coordinates of a joint whose two frames coincide."""
    values: list[float] = []
    for primitive in MOTION[kind]:
        values += [0.0, 0.0, 0.0, 1.0] if primitive is Primitive.SPHERICAL else [0.0]
    return tuple(values)


_T = TypeVar("_T")


def reversed_planar_joint(joint: Joint) -> Joint:
    """A C5 joint as one of the other kind: u, v, rotation (planar-spherical) or rotation, u, v."""
    if joint.kind is JointKind.PLANAR_SPHERICAL:
        other_kind, axes, coordinates = JointKind.SPHERICAL_PLANAR, 2, 2
    else:
        other_kind, axes, coordinates = JointKind.PLANAR_SPHERICAL, 1, 4

    def move_entries(entries: tuple[_T, ...], count: int = axes) -> tuple[_T, ...]:
        return (*entries[count:], *entries[:count])

    return replace(
        joint,
        kind=other_kind,
        friction=move_entries(joint.friction),
        springs=move_entries(joint.springs),
        stops=move_entries(joint.stops),
        limits=move_entries(joint.limits),
        guess=move_entries(joint.guess, coordinates),
    )
