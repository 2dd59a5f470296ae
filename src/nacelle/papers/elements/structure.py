"""Kinematic elements ([OAM] section 3), bars, spindles, telescopes, screws: legs, places, rates.

An element has an input point A, a direction x (3,), a length d and a spin theta about x; those of them that
move are its motion basis ([OAM] (26)). A leg is one of

    bars           a driven bar or slider and one or more rods to the nacelle     RRR PRR RUS PUS R[SS|SS]
    strut          a telescopic element between two joints                        UPS SPS RPS RPR UPU
    shaft          the same, turned by a motor: the screw of [OAM] (8)            RUPU
    plane          a slider with a spherical joint on a face of the nacelle       PC5
    parallelogram  a driven bar or slider, a hub, and two bars side by side       PRPaR RRPaR

and its last element is its part of the nacelle.

Rates with their derivatives: what [OAM] adds up for a kinematic element.

A rate r (k,) is linear in the entries of a motion basis u (c,): r = M u, M (k, c) the motion constraints
([OAM] (41), (55)) or the kinematic coordinates ([OAM] (49), (50)), whichever u is. It is held with its value
and the value of its derivative, so products with vectors that move are differentiated as they are made:

    w x s       M = -skew(s) M_w,      (w x s)' = w' x s + w x s'
    n . r       M = n^T M_r,           (n . r)' = n . r' + n' . r

in base axes, m/s, rad/s and their derivatives. Rates C_u u + C_g g = 0 that vanish give some of them, u, from
the others, g: first M and u, then, with u in the derivatives of the products, u' (`solved_rates`).

Where the elements of a leg are: frames of joints, ends of rods, directions; base axes, m.

A rod reaches from its input E (3,), on the driven bar or slider, to its output B on the nacelle; on a
revolute joint with axis z, E is the point of the axis nearest to B,

    E = F + z (z . (B - F))                                  F the joint's origin

A bar on a revolute joint points from its axis, perpendicular to it, to E: with c = E - F

    x = (c - z (z . c)) / |c - z (z . c)|                    the direction x of [OAM] section 3
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from nacelle.kinematics.legs.parallelogram import Parallelogram
from nacelle.model.leg import Leg
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation import skew
from nacelle.spatial.scalar import Array, cross, divide, dot, norm, pack
from nacelle.spatial.solve import least_squares


@dataclass(frozen=True)
class Rate:
    """A rate of k numbers over a motion basis of c; of one number if the arrays have a dimension less.

    Attributes:
        M: (k, c): the rate for unit values of the basis.
        now: (k,) its value.
        next: (k,) the value of its derivative.
    """

    M: Array
    now: Array
    next: Array

    def __add__(self, other: Rate) -> Rate:
        return Rate(self.M + other.M, self.now + other.now, self.next + other.next)

    def __sub__(self, other: Rate) -> Rate:
        return Rate(self.M - other.M, self.now - other.now, self.next - other.next)

    def __getitem__(self, place: int | slice) -> Rate:
        return Rate(self.M[place], self.now[place], self.next[place])

    def through(self, A: Array) -> Rate:
        """The rate A r for a constant matrix A: A M, and A times its values now and next."""
        return Rate(A @ self.M, A @ self.now, A @ self.next)


def zero_rate(count: int) -> Rate:
    """The rate (3,) of what rests, over a basis of some numbers."""
    return Rate(np.zeros((3, count)), np.zeros(3), np.zeros(3))


def stacked(rates: Sequence[Rate]) -> Rate:
    """Several rates as one, those of one number as a row each."""
    return Rate(
        np.concatenate([np.atleast_2d(rate.M) for rate in rates]),
        pack([entry for rate in rates for entry in np.ravel(rate.now)]),
        pack([entry for rate in rates for entry in np.ravel(rate.next)]),
    )


def cross_and_rate(w: Rate, r: Array, r_rate: Array | None = None) -> Rate:
    """Give w x r for an angular velocity w and a vector r (3,) that has the rate r_rate; without: w x r."""
    now = cross(w.now, r)
    return Rate(-skew(r) @ w.M, now, cross(w.next, r) + cross(w.now, now if r_rate is None else r_rate))


def times(rate: Rate, s: Array, s_rate: Array) -> Rate:
    """A rate of one number times a vector s (3,) that has the rate s_rate."""
    return Rate(np.outer(s, rate.M), s * rate.now, s * rate.next + s_rate * rate.now)


def dotted(rate: Rate, n: Array, n_rate: Array) -> Rate:
    """Give n . r for a rate r (3,) and a vector n (3,) that has the rate n_rate."""
    return Rate(n @ rate.M, dot(n, rate.now), dot(n, rate.next) + dot(n_rate, rate.now))


@dataclass(frozen=True)
class Rigid:
    """How a rigid body moves.

    Attributes:
        p: a point of the body (3,), m, base axes.
        v: velocity of that point.
        w: angular velocity.
    """

    p: Array
    v: Rate
    w: Rate

    def at(self, point: Array) -> Rate:
        """Velocity of the body's point at `point` (3,), base axes: v + w x r ([OAM] (14), (15))."""
        return self.v + cross_and_rate(self.w, point - self.p)

    def fixed(self, direction: Array) -> Array:
        """Rate (3,) of a direction that is fixed to the body: w x direction."""
        return cross(self.w.now, direction)


def resting(count: int) -> Rigid:
    """The base."""
    return Rigid(np.zeros(3), zero_rate(count), zero_rate(count))


def solved_rates(rows: Callable[[Rate, Rate], Sequence[Rate]], count: int, given: Rate) -> tuple[Rate, Rate]:
    """Rates u (count,) for which rows(u, given) vanish, and what of the rows is left: least squares.

    Args:
        rows: rates of u and of the given ones that are zero, at least as many as u.
        count: of unknown rates.
        given: the given rates, over their basis of c numbers.

    Returns:
        u and the rows left, which no u meets; both over the basis of the given rates.
    """
    c = given.M.shape[1]
    wide = Rate(np.concatenate([np.zeros((len(given.M), count)), given.M], axis=1), given.now, given.next)

    def at(now: Array) -> Rate:
        return stacked(rows(Rate(np.eye(count, count + c), now, np.zeros(count)), wide))

    still_ = at(np.zeros(count))
    C = still_.M[:, :count]
    speed = least_squares(C, -np.concatenate([still_.M[:, count:], still_.now[:, None]], axis=1))
    acceleration = least_squares(C, -at(speed.X[:, c]).next[:, None])
    return (
        Rate(speed.X[:, :c], speed.X[:, c], acceleration.X[:, 0]),
        Rate(speed.left[:, :c], speed.left[:, c], acceleration.left[:, 0]),
    )


# ---- kinematic elements ([OAM] section 3): bars, spindles, telescopic elements and screws, and legs of them


# States of an element that are vectors (3,); the others are numbers.
_VECTORS = ("A", "x")


class FrameAxis(NamedTuple):
    """An axis of a joint's frame: column of the frame on the successor, or on the predecessor."""

    joint: int
    on_successor: bool
    column: int


@dataclass(frozen=True)
class Hold:
    """What holds an element at one end.

    Attributes:
        letter: "R", "U" or "S".
        joints: one joint, or two revolutes that act as a universal joint.
        cross: the body between those two; None for one joint.
        before: axis fixed to the body before; None for a spherical joint.
        behind: axis fixed to the body behind; None for a spherical joint.
    """

    letter: str
    joints: tuple[int, ...]
    cross: int | None
    before: FrameAxis | None
    behind: FrameAxis | None

    @property
    def axes(self) -> tuple[FrameAxis, FrameAxis]:
        """The axes fixed to the body before and to the body behind, which a spherical joint does not have."""
        assert self.before is not None
        assert self.behind is not None
        return self.before, self.behind


@dataclass(frozen=True)
class ElementRod:
    """A bar or strut with its two ends.

    Attributes:
        body: the body at its input; of a strut the part that does not slide.
        hold: what holds it at its input.
        end: what holds it at its output, seen from the element.
        tip: the joint at its output.
        nacelle: the body of the nacelle there.
    """

    body: int
    hold: Hold
    end: Hold
    tip: int
    nacelle: int


@dataclass(frozen=True)
class KinematicElement:
    """A kinematic element ([OAM] section 3.1).

    Attributes:
        name: its name.
        letter: "B", "Sp", "T" or "S".
        body: the body that it is, or that slides in it.
        basis: which of its states move: "x", "d", "theta", and "A" where no other element gives it.
        share: the part of the body's wrenches that it carries: 1, or 1/k of a nacelle.
    """

    name: str
    letter: str
    body: int
    basis: tuple[str, ...]
    share: float = 1.0


class NacellePart(NamedTuple):
    """A part of the nacelle that a leg carries.

    Attributes:
        element: it, last in the leg.
        joint: the joint at its input.
        neighbour: the body of the nacelle that it hangs on; None if on the leg itself.
    """

    element: KinematicElement
    joint: int
    neighbour: int | None


@dataclass(frozen=True)
class ElementLeg:
    """A leg as elements.

    Attributes:
        leg: the leg.
        form: "bars", "strut", "shaft", "plane" or "parallelogram".
        driver: the joint between the base and the first body; None for a strut.
        rods: bars, or the strut.
        prismatic: the slide of a strut; None elsewhere.
        moving: the body that slides in a strut.
        flip: -1.0 if the slide's axis points towards the strut's input, else 1.0.
        fold: the joints of a parallelogram.
        elements: its own elements, from the base on.
        parts: its parts of the nacelle.
    """

    leg: Leg
    form: str
    driver: int | None
    rods: tuple[ElementRod, ...]
    prismatic: int | None = None
    moving: int | None = None
    flip: float = 1.0
    fold: Parallelogram | None = None
    elements: tuple[KinematicElement, ...] = ()
    parts: tuple[NacellePart, ...] = ()

    @property
    def all_elements(self) -> tuple[KinematicElement, ...]:
        """Its own elements, then its parts of the nacelle."""
        return (*self.elements, *(part.element for part in self.parts))


def split_states(elements: tuple[KinematicElement, ...], u: Rate) -> list[dict[str, Rate]]:
    """The rates of elements by the names of their states, out of their motion basis u."""
    states, start = [], 0
    for element in elements:
        own = {}
        for name in element.basis:
            own[name] = u[start : start + 3] if name in _VECTORS else u[start]
            start += 3 if name in _VECTORS else 1
        states.append(own)
    return states


# ---- where the elements of a leg are: frames of joints, ends of rods, directions; base axes, m


@dataclass(frozen=True)
class ElementGeometry:
    """A robot with the poses of its bodies, read as elements; points (3,) and directions (3,), base axes."""

    robot: Robot
    poses: tuple[Pose, ...]

    def frame(self, joint: int, *, on_successor: bool = False) -> Pose:
        """The frame of a joint on its predecessor or successor, in the base."""
        own = self.robot.joints[joint]
        if on_successor:
            return self.poses[own.successor] @ own.frame_successor
        return self.poses[own.predecessor] @ own.frame_predecessor

    def axis(self, axis: FrameAxis) -> Array:
        """An axis of a joint, unit vector (3,), base axes."""
        return np.asarray(self.frame(axis.joint, on_successor=axis.on_successor).R[:, axis.column])

    def origin(self, joint: int, body: int) -> Array:
        """Origin (3,), base axes, m, of a joint's frame on one of its bodies."""
        return np.asarray(self.frame(joint, on_successor=self.robot.joints[joint].successor == body).p)

    def centre(self, hold: Hold) -> Array:
        """The point (3,), base axes, m, about which a hold rotates: a joint's, or of two axes."""
        first = self.frame(hold.joints[0])
        if len(hold.joints) == 1:
            return np.asarray(first.p)
        a = first.R[:, 2]
        return np.asarray(first.p + (a @ (self.frame(hold.joints[1]).p - first.p)) * a)

    def ends(self, leg: ElementLeg, rod: ElementRod) -> tuple[Array, Array]:
        """Input and output (3,), base axes, m, of a rod or strut; of a parallelogram those of its arm."""
        B = self.origin(rod.tip, rod.nacelle)
        if leg.fold is not None:
            return B - (self.frame(leg.fold.end).p - self.frame(leg.fold.rod_a).p), B
        E = self.centre(rod.hold)
        if rod.hold.letter == "R" and leg.prismatic is None:
            z = self.axis(rod.hold.axes[0])
            E = E + z * dot(z, B - E)
        return E, B

    def direction(self, leg: ElementLeg, rod: ElementRod) -> Array:
        """Direction (B - E) / |B - E| (3,), base axes, of a rod from E to B, or a strut's axis."""
        if leg.prismatic is not None:
            return np.asarray(self.frame(leg.prismatic).R[:, 2] * leg.flip)
        E, B = self.ends(leg, rod)
        return unit_vector(B - E)

    def bar_direction(self, leg: ElementLeg) -> Array:
        """Unit direction (3,), base axes, of the driven bar: perpendicular to its axis, towards its end."""
        assert leg.driver is not None
        F = self.frame(leg.driver)
        z, arm = F.R[:, 2], self.ends(leg, leg.rods[0])[0] - F.p
        return unit_vector(arm - z * dot(z, arm))

    def part_input(self, part: NacellePart) -> Array:
        """Input point (3,), base axes, m, of a part of the nacelle."""
        return self.origin(part.joint, part.element.body)

    def part_direction(self, part: NacellePart) -> Array:
        """Unit direction (3,), base axes, of a part of the nacelle: to the body's origin, or an axis."""
        body = part.element.body
        own = self.robot.numeric.joints[part.joint]
        local = (own.frame_successor if own.successor == body else own.frame_predecessor).p
        if float(np.linalg.norm(local)) < 1e-9 * self.robot.numeric.size:
            return np.asarray(self.poses[body].R[:, 0])
        return unit_vector(self.poses[body].p - self.part_input(part))


def unit_vector(r: Array) -> Array:
    """Give r / |r| (3,)."""
    return np.asarray(r * divide(1.0, norm(r)))
