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

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from nacelle.compact.bars.geometry import clean
from nacelle.compact.vectors import add, scaled
from nacelle.errors import KinematicsError
from nacelle.kinematics.mechanism.mechanism import Mechanism
from nacelle.model.joint import JointKind
from nacelle.papers.elements.jets import (
    Jet,
    constant_jet,
    cross_jets,
    crossed_jet,
    plus_jet,
    scaled_jet,
    unit_jet,
)
from nacelle.papers.elements.layout import ARM, ElementLayout, bar_direction, in_space, sample_geometries
from nacelle.papers.elements.structure import ElementGeometry, ElementLeg, ElementRod
from nacelle.spatial.scalar import Array, Scalar, cross, divide, dot, sqrt
from nacelle.tree.spanning_tree import CosSin, Step

# Constants of a leg that differ by more between sample poses, over the robot's size, are none.
_SAME = 1e-9


class Hinge(NamedTuple):
    """A revolute joint at the input of an element, whose axis does not move; base axes.

    With k what is across the axis of the element's direction x at angle 0, cos q = k . x / |k|^2,
    sin q = (z x k) . x / |k|^2, q' = (z x x) . x' / |k|^2 and q'' the same of x''.

    Attributes:
        joint: the joint.
        z: its axis.
        cosine: k / |k|^2.
        square: |k|^2.
    """

    joint: int
    z: Array
    cosine: Array
    square: float

    def step(self, x: Array) -> CosSin:
        """Cosine and sine of the joint's angle from the unit direction x (3,): c . x and (z x c) . x."""
        return CosSin(dot(self.cosine, x), dot(np.cross(self.z, self.cosine), x))

    def rates(self, x: Jet) -> tuple[Scalar, Scalar]:
        """Rate and acceleration of the angle."""
        y = cross(self.z, x[0])
        if self.square == 1.0:
            return dot(y, x[1]), dot(y, x[2])
        return dot(y, x[1]) * (1.0 / self.square), dot(y, x[2]) * (1.0 / self.square)


class Universal(NamedTuple):
    """A universal joint at the input of an element, base axes with the driven joint at 0, (3,) each.

    With m = a . x and n = +-sqrt(1 - m^2) the element's direction is x = m a + n (cos q_1 c - sin q_1 b), and
    m, n are those at q_2 = 0 turned by q_2.

    Attributes:
        a: its first axis.
        b: its second axis at q_1 = 0.
        x: the element's direction at q_1 = q_2 = 0.
        side: sign of n.
        joints: its joint, or its two revolute ones.
    """

    a: Array
    b: Array
    x: Array
    side: float
    joints: tuple[int, ...]

    def steps(self, x: Array, turn: CosSin | None, z: Array) -> list[Step]:
        """Cosines and sines of both angles from the unit direction x (3,), base axes.

        With a and b the axes, c = a x b, m = a . x and n = +-sqrt(1 - m^2): (c . x, -b . x) / n, then (m, n)
        turned by the direction's own place in the joint. `turn` is the angle about z (3,) of what carries it.
        """
        a, b, c = (turned_about(z, turn, u) for u in (self.a, self.b, np.cross(self.a, self.b)))
        m = dot(a, x)
        n = self.side * sqrt(1.0 - m * m)
        reciprocal = divide(1.0, n)
        x_a, x_c = float(self.a @ self.x), float(np.cross(self.a, self.b) @ self.x)
        return [
            CosSin(dot(c, x) * reciprocal, -(dot(b, x) * reciprocal)),
            CosSin(m * x_a + n * x_c, m * x_c - n * x_a),
        ]

    def rates(self, x: Jet) -> tuple[tuple[Scalar, Scalar], tuple[Scalar, Scalar]]:
        """Rates and accelerations of the two angles where a does not move.

        With rho^2 = 1 - m^2 and m' = a . x'

            q_1' = (a x x) . x' / rho^2       q_1'' = ((a x x) . x'' + 2 m m' q_1') / rho^2
            q_2' = m' / n                     q_2'' = (m'' + m q_2'^2) / n
        """
        beside = cross(self.a, x[0])
        m, m_dot, m_ddot = (dot(self.a, row) for row in x)
        square = 1.0 - m * m
        reciprocal = divide(1.0, square)
        first = dot(beside, x[1]) * reciprocal
        first_dot = (dot(beside, x[2]) + (2.0 * m * m_dot) * first) * reciprocal
        n = divide(1.0, self.side * sqrt(square))
        second = m_dot * n
        return (first, second), (first_dot, (m_ddot + m * second * second) * n)


def turned_about(z: Array, turn: CosSin | None, u: Array) -> Array:
    """A constant vector u (3,) turned about a constant axis z: z (z . u) + c (u - z (z . u)) + s z x u."""
    if turn is None:
        return u
    along = z * (z @ u)
    return add(along, add(scaled(turn.c, clean(u - along)), scaled(turn.s, clean(np.cross(z, u)))))


@dataclass(frozen=True)
class RodPoints:
    """Constants of a rod or strut.

    Attributes:
        start: its input E in the axes x, z x x, z of the driven bar (3,), from F; of a slider, and of a strut
            on the base, in base axes, from the base's origin with the slider at 0.
        length: l; of a strut 0.
        offset: B less E + l x or A + d x, m, along axes that its joint gives: x, z x x and z of a hinge, x, b
            and x x b of a universal joint, with b its second axis; base axes of others.
        tip: the joint at its output.
        body: the body of the nacelle there.
        local: its output in the frame of that body.
        hinge: of a revolute joint at its input whose axis does not move, how it is.
        universal: of a universal joint at its input whose second axis is perpendicular to it, how it is.
    """

    start: Array
    length: float
    offset: Array
    tip: int
    body: int
    local: Array
    hinge: Hinge | None = None
    universal: Universal | None = None


@dataclass(frozen=True)
class LegPoints:
    """Constants of a leg.

    Attributes:
        leg: the leg as elements.
        F: origin of the driven joint, base axes.
        z: its axis.
        zero: direction of the driven bar where its joint is at 0.
        rods: of its rods or its strut.
        length_at_zero: length of a strut where its joint is at 0; l = flip q + this.
    """

    leg: ElementLeg
    F: Array
    z: Array
    zero: Array
    rods: tuple[RodPoints, ...]
    length_at_zero: float = 0.0


@lru_cache(maxsize=64)
def leg_points(mechanism: Mechanism, leg: ElementLeg) -> LegPoints:
    """Find the constants of a leg at the reference, and check them at other poses.

    Raises:
        KinematicsError: if a point of the leg is not fixed to its elements.
    """
    samples = sample_geometries(mechanism)
    size = mechanism.robot.size
    found = [_constants(mechanism, leg, at) for at in samples]
    first = found[0]
    for other in found[1:]:
        for one, two in zip(first.rods, other.rods, strict=True):
            apart = np.concatenate([one.start - two.start, one.offset - two.offset])
            if float(np.max(np.abs([*apart, one.length - two.length]))) > _SAME * size:
                raise KinematicsError(
                    f"leg {leg.leg.name!r} ends beside the line of its elements, at no constant place"
                )
    return first


def _constants(mechanism: Mechanism, leg: ElementLeg, at: ElementGeometry) -> LegPoints:
    robot, size = mechanism.robot, mechanism.robot.size
    F, z, zero = np.zeros(3), np.zeros(3), np.zeros(3)
    axes, root = np.eye(3), np.zeros(3)
    if leg.driver is not None:
        frame, far = at.frame(leg.driver), at.frame(leg.driver, on_successor=True)
        F, z = clean(frame.p, size), clean(frame.R[:, 2])
        if leg.form == "shaft":
            pass
        elif robot.joints[leg.driver].kind is JointKind.REVOLUTE:
            x = at.bar_direction(leg)
            axes, root = np.stack([x, np.cross(z, x), z], axis=1), frame.p
            # The bar turned back to where the joints' axes coincide.
            zero = clean(frame.R @ far.R.T @ x)
        else:
            root = far.p - frame.p
    rods, length = [], 0.0
    for k, rod in enumerate(leg.rods):
        local = _end(mechanism, rod.tip, rod.nacelle)
        if leg.form == "plane":
            rods.append(RodPoints(np.zeros(3), 0.0, np.zeros(3), rod.tip, rod.nacelle, local))
            continue
        E, B = at.ends(leg, rod)
        x = bar_direction(at, leg, k)
        start = clean(axes.T @ (E - root), size)
        hinge = _hinge(leg, rod, at, x) if not np.any(zero) else None
        cross_joint = _universal(leg, rod, at, x)
        l = float(x @ (B - E))
        offset = clean(B - E - l * x, size)
        if leg.prismatic is not None:
            length = l - float(x @ (at.frame(leg.prismatic, on_successor=True).p - at.frame(leg.prismatic).p))
            own = _offset_axes(constant_jet(x), hinge, cross_joint if leg.driver is None else None)
            if own is not None:
                Q = np.stack([axis[0] for axis in own], axis=1).astype(float)
                offset = clean(np.linalg.solve(Q, offset), size)
            l = 0.0
        points = RodPoints(start, l, offset, rod.tip, rod.nacelle, local, hinge, cross_joint)
        rods.append(points)
    return LegPoints(leg, F, z, zero, tuple(rods), length)


def _hinge(leg: ElementLeg, rod: ElementRod, at: ElementGeometry, x: Array) -> Hinge | None:
    """A revolute joint at the input of a rod or strut on base or slider."""
    if rod.hold.letter != "R" or leg.fold is not None:
        return None
    (j,) = rod.hold.joints
    frame, far = at.frame(j), at.frame(j, on_successor=True)
    z, zero = clean(frame.R[:, 2]), frame.R @ far.R.T @ x
    k = zero - z * (z @ zero)
    square = float(clean(np.array([k @ k]))[0])
    return None if square < _SAME else Hinge(j, z, clean(k / square), square)


def _offset_axes(x: Jet, hinge: Hinge | None, universal: Universal | None) -> list[Jet] | None:
    """Axes fixed to an element that its joint and its direction give; None where they do not."""
    if hinge is not None:
        return [x, crossed_jet(hinge.z, x), constant_jet(hinge.z)]
    if universal is not None:
        b = unit_jet(crossed_jet(universal.a, x))
        return [x, b, cross_jets(x, b)]
    return None


def _universal(leg: ElementLeg, rod: ElementRod, at: ElementGeometry, x: Array) -> Universal | None:
    """A universal joint at the input of a rod or strut; None where its second axis is not across it."""
    if rod.hold.letter != "U" or leg.fold is not None:
        return None
    a_now, b_now = (at.axis(axis) for axis in rod.hold.axes)
    if abs(float(b_now @ x)) > _SAME:
        return None
    back = np.eye(3)
    if leg.driver is not None:
        back = at.frame(leg.driver).R @ at.frame(leg.driver, on_successor=True).R.T
    first, last = rod.hold.joints[0], rod.hold.joints[-1]
    near, far = at.frame(first), at.frame(last, on_successor=True)
    if len(rod.hold.joints) == 1:
        b0, R0 = near.R[:, 1], near.R
    else:
        between = at.frame(first, on_successor=True).R.T @ at.frame(last).R
        R0 = near.R @ between
        b0 = R0[:, 2]
    x0 = R0 @ far.R.T @ x
    c_now = np.cross(a_now, b_now)
    side = 1.0 if float(c_now @ x) > 0.0 else -1.0
    return Universal(clean(back @ a_now), clean(back @ b0), clean(back @ x0), side, rod.hold.joints)


def _end(mechanism: Mechanism, tip: int, body: int) -> Array:
    joint = mechanism.robot.joints[tip]
    frame = joint.frame_successor if joint.successor == body else joint.frame_predecessor
    return np.asarray(frame.p, dtype=float)


class MeasuredLeg:
    """A leg from the variables of its elements.

    Attributes:
        points: its constants.
        coordinate: coordinate of a slider or a motor's shaft with its derivatives (3,); None for others.
        arm: direction of the driven bar; None for others.
        lines: of every rod or strut B - E.
        directions: of every rod or strut its direction.
        ends: of every rod or strut its output B.
        length: of a strut, with its derivatives (3,).
    """

    def __init__(self, layout: ElementLayout, index: int, given: dict[str, Array]) -> None:
        """Find the points of a leg; `given` has the variables by name."""
        own = {v.kind: given[v.name] for v in layout.variables if v.leg == index and v.kind != "direction"}
        self.points = leg_points(layout.mechanism, layout.legs[index])
        leg = self.points.leg
        self.coordinate: Array | None = own.get("coordinate")
        self.length: Array | None = own.get("length")
        named = {
            number: in_space(layout, given[name]) for (k, number), name in layout.of_rod.items() if k == index
        }
        self.arm: Jet | None = named.get(ARM)
        self.directions: list[Jet] = []
        self.lines: list[Jet] = []
        self.ends: list[Jet] = []
        for k, rod in enumerate(self.points.rods):
            if leg.form == "plane":
                continue
            x = named[k]
            line = scaled_line(x, rod.length) if self.length is None else scaled_jet(self.length, x)
            self.directions.append(x)
            self.lines.append(line)
            self.ends.append(plus_jet(plus_jet(self.start(k), line), self._offset(rod, x)))

    def _offset(self, rod: RodPoints, x: Jet) -> Jet:
        """B less the end of the line."""
        leg = self.points.leg
        if leg.prismatic is None or not np.any(rod.offset):
            return constant_jet(rod.offset)
        axes = _offset_axes(x, rod.hinge, rod.universal if leg.driver is None else None)
        if axes is None:
            return constant_jet(rod.offset)
        total: Jet = np.zeros((3, 3))
        for axis, entry in zip(axes, rod.offset.tolist(), strict=True):
            total = plus_jet(total, axis, entry)
        return total

    def hinges(self) -> Iterator[tuple[Hinge, Jet]]:
        """Revolute joints at the inputs of rods that do not move, each with the rod's direction."""
        for points, x in zip(self.points.rods, self.directions, strict=False):
            if points.hinge is not None:
                yield points.hinge, x

    def start(self, number: int) -> Jet:
        """The input E of a rod or strut."""
        points, rod = self.points, self.points.rods[number]
        if self.arm is not None:
            alpha, beta, gamma = rod.start.tolist()
            moved = plus_jet(constant_jet(points.F + gamma * points.z), self.arm, alpha)
            return plus_jet(moved, crossed_jet(points.z, self.arm), beta)
        if self.coordinate is not None and points.leg.form != "shaft":
            slid = np.stack([points.z * value for value in self.coordinate])
            return plus_jet(constant_jet(rod.start), slid)
        return constant_jet(rod.start)


def scaled_line(x: Jet, length: float) -> Jet:
    """The line of a rod of constant length."""
    return plus_jet(np.zeros((3, 3)), x, length)
