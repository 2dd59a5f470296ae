"""Points of legs from the state of their elements: linear in directions ([OAM] (11), (27), (28)).

With F a driven joint's origin and z its axis, both constant, x the direction of its bar and E the point where
a rod begins, which is fixed to the bar,

    E = F + alpha x + beta z x x + gamma z         an arm             E = F_0 + d z          a slider
    B = E + l x_rod + h e                          a rod              B = A + d x            a strut

alpha, beta, gamma, the length l and the offset h along the axis e of a revolute joint at E are constants. The
cosine and sine of the driven joint's angle are components of x along constant axes: no trigonometry. Base
axes, m.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from nacelle.compact.line_legs.geometry import round_to_zero
from nacelle.compact.vectors import add, scale
from nacelle.errors import KinematicsError
from nacelle.kinematics.mechanism.mechanism import Mechanism
from nacelle.papers.elements.jets import (
    NO_JET,
    Jet,
    add_jets,
    constant_cross_jet,
    constant_jet,
    cross_jets,
    length_times_jet,
    unit_jet,
)
from nacelle.papers.elements.layout import ElementLayout, sample_geometries
from nacelle.papers.elements.structure import ElementGeometry, ElementLeg, ElementRod, unit_vector
from nacelle.spatial.scalar import Array, Scalar, cross, divide, dot, sqrt
from nacelle.tree.spanning_tree import CosineSine, JointTransform

# Values of a leg that differ by more between sample poses, over the robot's size, are not constant.
_SAME = 1e-9


class Hinge(NamedTuple):
    """A revolute joint at the input of an element, whose axis does not move; base axes.

    With k what is across the axis of the element's direction x at angle 0, cos q = k . x / |k|^2,
    sin q = (z x k) . x / |k|^2, q' = (z x x) . x' / |k|^2 and q'' the same of x''.

    Attributes:
        joints: the joint.
        z: its axis.
        cosine: k / |k|^2.
        square: |k|^2.
    """

    joints: tuple[int]
    z: Array
    cosine: Array
    square: float

    def step(self, x: Array) -> CosineSine:
        """Cosine and sine of the joint's angle from the unit direction x (3,): c . x and (z x c) . x."""
        return CosineSine(dot(self.cosine, x), dot(cross(self.z, self.cosine), x))

    def steps(self, x: Array, rotation: CosineSine | None, z: Array) -> dict[int, list[JointTransform]]:
        """The same by joint; nothing that turns carries it."""
        return {self.joints[0]: [self.step(x)]}

    def rates(self, x: Jet) -> tuple[list[Scalar], list[Scalar]]:
        """Rate and acceleration of the angle."""
        y = cross(self.z, x[0])
        rate, second = dot(y, x[1]), dot(y, x[2])
        if self.square == 1.0:
            return [rate], [second]
        return [rate * (1.0 / self.square)], [second * (1.0 / self.square)]

    def axes(self, x: Jet) -> list[Jet]:
        """Axes fixed to the element: x, z x x and z."""
        return [x, constant_cross_jet(self.z, x), constant_jet(self.z)]


class UniversalJoint(NamedTuple):
    """A universal joint at the input of an element, base axes with the driven joint at 0, (3,) each.

    With m = a . x and n = +-sqrt(1 - m^2) the element's direction is x = m a + n (cos q_1 c - sin q_1 b), and
    m, n are those at q_2 = 0 turned by q_2.

    Attributes:
        joints: its joint, or its two revolute ones.
        a: its first axis.
        b: its second axis at q_1 = 0.
        x: the element's direction at q_1 = q_2 = 0.
        side: sign of n.
    """

    joints: tuple[int, ...]
    a: Array
    b: Array
    x: Array
    side: float

    def steps(self, x: Array, rotation: CosineSine | None, z: Array) -> dict[int, list[JointTransform]]:
        """Cosines and sines of both angles, by joint, from the unit direction x (3,), base axes.

        With a and b the axes, c = a x b, m = a . x and n = +-sqrt(1 - m^2): (c . x, -b . x) / n, then (m, n)
        turned by the direction's own place in the joint. `rotation` is the angle of its carrier about z (3,).
        """
        a, b, c = (rotate_about(z, rotation, u) for u in (self.a, self.b, cross(self.a, self.b)))
        m = dot(a, x)
        n = self.side * sqrt(1.0 - m * m)
        reciprocal = divide(1.0, n)
        along = np.array([dot(self.a, self.x), dot(cross(self.a, self.b), self.x)])
        x_a, x_c = round_to_zero(along, 1.0).tolist()
        first = CosineSine(dot(c, x) * reciprocal, -(dot(b, x) * reciprocal))
        second = CosineSine(m * x_a + n * x_c, m * x_c - n * x_a)
        if len(self.joints) == 1:
            return {self.joints[0]: [first, second]}
        return {self.joints[0]: [first], self.joints[1]: [second]}

    def rates(self, x: Jet) -> tuple[list[Scalar], list[Scalar]]:
        """Rates and accelerations of the two angles where a does not move.

        With rho^2 = 1 - m^2 and m' = a . x'

            q_1' = (a x x) . x' / rho^2       q_1'' = ((a x x) . x'' + 2 m m' q_1') / rho^2
            q_2' = m' / n                     q_2'' = (m'' + m q_2'^2) / n
        """
        normal = cross(self.a, x[0])
        m, m_dot, m_ddot = (dot(self.a, row) for row in x)
        square = 1.0 - m * m
        reciprocal = divide(1.0, square)
        first = dot(normal, x[1]) * reciprocal
        first_dot = (dot(normal, x[2]) + (2.0 * m * m_dot) * first) * reciprocal
        n = divide(1.0, self.side * sqrt(square))
        second = m_dot * n
        return [first, second], [first_dot, (m_ddot + m * second * second) * n]

    def axes(self, x: Jet) -> list[Jet]:
        """Axes fixed to the element where a does not move: x, b and x x b."""
        b = unit_jet(constant_cross_jet(self.a, x))
        return [x, b, cross_jets(x, b)]


def rotate_about(z: Array, rotation: CosineSine | None, u: Array) -> Array:
    """A constant unit vector u (3,) turned about a constant axis: z (z . u) + c (u - z (z . u)) + s z x u."""
    return u if rotation is None else add(part_along(z, u), rotate_across(z, rotation, u))


def part_along(z: Array, u: Array) -> Array:
    """The part z (z . u) of a constant unit vector along an axis."""
    return round_to_zero(z * dot(z, u), 1.0)


def rotate_across(z: Array, rotation: CosineSine, u: Array) -> Array:
    """What of that is across the axis: c (u - z (z . u)) + s z x u."""
    return add(
        scale(rotation.c, round_to_zero(u - z * dot(z, u), 1.0)),
        scale(rotation.s, round_to_zero(cross(z, u), 1.0)),
    )


@dataclass(frozen=True)
class RodPoints:
    """Constants of a rod or strut.

    Attributes:
        rod: it.
        start: its input E in the axes x, z x x, z of the driven bar (3,), from F; of a slider, and of a strut
            on the base, in base axes, from the base's origin with the slider at 0.
        length: l; of a strut 0.
        offset: B less E + l x or A + d x, m, of a strut on the base along the axes that its joint gives, of
            others along those of the base.
        local: its output in the frame of the platform's body there.
        joint: at its input, a revolute one whose axis does not move or a universal one whose second axis is
            perpendicular to it; None for others.
    """

    rod: ElementRod
    start: Array
    length: float
    offset: Array
    local: Array
    joint: Hinge | UniversalJoint | None


@dataclass(frozen=True)
class LegPoints:
    """Constants of a leg.

    Attributes:
        leg: the leg as elements.
        F: origin of the driven joint, base axes.
        z: its axis.
        arm: the driven joint of a bar; None for others.
        rods: of its rods or its strut.
        length_at_zero: length of a strut where its joint is at 0; l = flip q + this.
    """

    leg: ElementLeg
    F: Array
    z: Array
    arm: Hinge | None
    rods: tuple[RodPoints, ...]
    length_at_zero: float = 0.0


@lru_cache(maxsize=64)
def leg_points(mechanism: Mechanism, leg: ElementLeg) -> LegPoints:
    """Find the constants of a leg at the reference, and check them at other poses.

    Raises:
        KinematicsError: if a point of the leg is not fixed to its elements.
    """
    size = mechanism.robot.size
    first, *others = (_leg_constants(size, leg, at) for at in sample_geometries(mechanism))
    for sample in others:
        for here, there in zip(first.rods, sample.rods, strict=True):
            apart = np.concatenate([here.start - there.start, here.offset - there.offset])
            if float(np.max(np.abs([*apart, here.length - there.length]))) > _SAME * size:
                raise KinematicsError(
                    f"leg {leg.leg.name!r} ends off the line of its elements, at no constant place"
                )
    return first


def _leg_constants(size: float, leg: ElementLeg, at: ElementGeometry) -> LegPoints:
    F, z, arm = np.zeros(3), np.zeros(3), None
    axes, root, length = np.eye(3), np.zeros(3), 0.0
    if leg.driver is not None:
        frame, far = at.frame(leg.driver), at.frame(leg.driver, on_successor=True)
        F, z = round_to_zero(frame.p, size), round_to_zero(frame.R[:, 2])
        if leg.has_arm:
            x = unit_vector(at.arm(leg))
            axes, root = np.stack([x, np.cross(z, x), z], axis=1), frame.p
            # The bar turned back to where the joints' axes coincide.
            arm = Hinge((leg.driver,), z, round_to_zero(frame.R @ far.R.T @ x), 1.0)
        elif leg.form != "shaft":
            root = far.p - frame.p
    rods = []
    for rod in leg.bars:
        (E, B), x = at.ends(leg, rod), at.direction(leg, rod)
        joint = _input_joint(leg, rod, at, x)
        l = float(x @ (B - E))
        offset = round_to_zero(B - E - l * x, size)
        if leg.prismatic is not None:
            slide = at.frame(leg.prismatic, on_successor=True).p - at.frame(leg.prismatic).p
            l, length = 0.0, float(round_to_zero(np.array([l - x @ slide]), size)[0])
            if leg.form == "strut" and joint is not None:
                Q = np.stack([axis[0] for axis in joint.axes(constant_jet(x))], axis=1).astype(float)
                offset = round_to_zero(np.linalg.solve(Q, offset), size)
        local = at.local_origin(rod.tip, rod.platform)
        rods.append(RodPoints(rod, round_to_zero(axes.T @ (E - root), size), l, offset, local, joint))
    return LegPoints(leg, F, z, arm, tuple(rods), length)


def _input_joint(
    leg: ElementLeg, rod: ElementRod, at: ElementGeometry, x: Array
) -> Hinge | UniversalJoint | None:
    """The joint at the input of a rod or strut, where cosines and sines of its angles follow from x."""
    joints = rod.hold.joints
    if rod.hold.letter == "S" or leg.fold is not None or (rod.hold.letter == "R" and leg.has_arm):
        return None
    near, far = at.frame(joints[0]), at.frame(joints[-1], on_successor=True)
    if rod.hold.letter == "R":
        z, zero = round_to_zero(near.R[:, 2]), near.R @ far.R.T @ x
        k = round_to_zero(zero - z * dot(z, zero), 1.0)
        square = float(round_to_zero(np.array([k @ k]))[0])
        return None if square < _SAME else Hinge((joints[0],), z, round_to_zero(k / square), square)
    a, b = (at.axis(axis) for axis in rod.hold.axes)
    if abs(float(b @ x)) > _SAME:
        return None
    back = np.eye(3)
    if leg.driver is not None:
        back = at.frame(leg.driver).R @ at.frame(leg.driver, on_successor=True).R.T
    R0, column = near.R, 1
    if len(joints) == 2:
        between = at.frame(joints[0], on_successor=True).R.T @ at.frame(joints[1]).R
        R0, column = near.R @ between, 2
    side = 1.0 if float(np.cross(a, b) @ x) > 0.0 else -1.0
    first, second, zero = (round_to_zero(back @ u) for u in (a, R0[:, column], R0 @ far.R.T @ x))
    return UniversalJoint(joints, first, second, zero, side)


class MeasuredRod(NamedTuple):
    """A rod or strut from the variables of its leg.

    Attributes:
        points: its constants.
        x: its direction.
        start: its input E.
        line: B - E, less its offset.
        end: its output B.
    """

    points: RodPoints
    x: Jet
    start: Jet
    line: Jet
    end: Jet


class MeasuredLeg:
    """A leg from the variables of its elements.

    Attributes:
        points: its constants.
        coordinate: coordinate of a slider or a motor's shaft with its derivatives (3,); None for others.
        arm: direction of the driven bar; None for others.
        length: of a strut, with its derivatives (3,).
        rods: its rods, or its strut.
    """

    def __init__(self, layout: ElementLayout, index: int, values: Mapping[str, Array]) -> None:
        """Find the points of a leg; `values` has the variables by name."""
        scalars = {
            v.kind: values[v.name] for v in layout.variables if v.leg == index and v.kind != "direction"
        }
        self.points = leg_points(layout.mechanism, layout.legs[index])
        self.coordinate: Array | None = scalars.get("coordinate")
        self.length: Array | None = scalars.get("length")
        leg, named = self.points.leg, layout.directions.items()
        along = {number: layout.in_space(values[name]) for (k, number), name in named if k == index}
        self.arm: Jet | None = along[0] if leg.has_arm else None
        self.rods = [self._rod(rod, along[k]) for k, rod in enumerate(self.points.rods, start=leg.first_bar)]

    def _rod(self, rod: RodPoints, x: Jet) -> MeasuredRod:
        start = self._start(rod)
        line = add_jets(NO_JET, x, rod.length) if self.length is None else length_times_jet(self.length, x)
        offset = constant_jet(rod.offset)
        if self.points.leg.form == "strut" and rod.joint is not None and np.any(rod.offset):
            offset = NO_JET
            for axis, entry in zip(rod.joint.axes(x), rod.offset.tolist(), strict=True):
                offset = add_jets(offset, axis, entry)
        return MeasuredRod(rod, x, start, line, add_jets(add_jets(start, line), offset))

    def _start(self, rod: RodPoints) -> Jet:
        """The input E of a rod or strut."""
        points = self.points
        if self.arm is not None:
            alpha, beta, gamma = rod.start.tolist()
            point = add_jets(constant_jet(add(points.F, gamma * points.z)), self.arm, alpha)
            return add_jets(point, constant_cross_jet(points.z, self.arm), beta)
        if self.coordinate is not None and points.leg.form != "shaft":
            slid = np.stack([points.z * value for value in self.coordinate])
            return add_jets(constant_jet(rod.start), slid)
        return constant_jet(rod.start)

    def joints(self) -> Iterator[tuple[Hinge | UniversalJoint, Jet]]:
        """Joints at the inputs of rods whose angles follow from the rods' directions, each with that."""
        for rod in self.rods:
            if rod.points.joint is not None:
                yield rod.points.joint, rod.x
