"""Rows of constraints: what a joint that closes a loop, a rod or a coupling demands of the rates of a leg.

    sum over rates of M_ik u_k = f . v + n . w          rates u of the leg; v, w of the platform, far side

Differentiated, M u' = b, with all accelerations taken at constant u, v_rel = v_s - v_r and a_rel = a_s - a_r;
r marks the leg's side and s the far one. The rows of a joint that closes a loop, with e a direction it locks:

    row       over unit rates          b                                         left open (Newton's step)
    point     v_k, k = 1, 2, 3         a_rel, entry by entry                     gap_k
    offset    e . v                    e . (a_rel - 2 w_c x v_rel)               e . gap
    angular   e . w                    e . (w_s' - w_r' - w_r x w_s)             e . phi
    cross     n . w, n = f_2 x e_1     n . (w_s' - w_r') + n' . (w_s - w_r)      +- e_1 . f_2
    spin      e . w                    e . (w_s' - w_r')                         0

c is the side that carries e, gap leads from the leg's joint frame to the other one, phi is the small rotation
that takes the leg's axes to the others, and e_1 . f_2 = 0 are the axes of a universal joint.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from nacelle.compact.vectors import ZERO, add, cross_nonzero, inner, scale
from nacelle.spatial.scalar import Array, Scalar, cross, divide, dot, sample_values
from nacelle.spatial.screw import AngularMotion


@dataclass(frozen=True, eq=False)
class Row:
    """One row.

    Attributes:
        coefficients: M_ik by rate.
        direction: (3,), along which the far point is felt, or about which the rotation of the far side is.
        unit: what it counts in: rad, m, m^2 for a rod, the largest factor of a coupling.
        turns: whether it feels the rotation: its multiplier is a moment (N m), else a force (N).
        pivot_price: what it costs as a pivot, among others that are as good.
    """

    coefficients: dict[int, Scalar]
    direction: Array
    unit: float
    turns: ClassVar[bool] = False
    pivot_price: ClassVar[float] = 0.0

    @property
    def force(self) -> Array:
        """Force (3,) on the far point of a unit multiplier."""
        return ZERO if self.turns else self.direction

    @property
    def moment(self) -> Array:
        """Moment (3,) on the far side of a unit multiplier."""
        return self.direction if self.turns else ZERO

    def rate(self, v: Array, w: Array) -> Scalar:
        """Its right-hand side f . v or n . w where the far side moves with v (3,), m/s, and w (3,), rad/s."""
        return dot(self.direction, w if self.turns else v)


class RelativeMotion(NamedTuple):
    """How the two sides of a joint that closes a loop move, vectors (3,) in one set of axes.

    Attributes:
        gap: acceleration of the far point less that of the leg's, at constant rates of the leg, m/s^2.
        near: angular velocity and its derivative on the leg's side.
        far: the same on the other side.
        first: whether the leg carries the joint's first frame.
        relative_velocity: gives the velocity of the far point less that of the leg's, m/s, where a row needs
            it.
    """

    gap: Array
    near: AngularMotion
    far: AngularMotion
    first: bool
    relative_velocity: Callable[[], Array]


class JointRow(Row, ABC):
    """A row of a joint that closes a loop."""

    @abstractmethod
    def acceleration(self, motion: RelativeMotion) -> Scalar:
        """Its right-hand side b of M u' = b, m/s^2 or rad/s^2."""

    def open(self, offset: Array, misalignment: Array, sign: float) -> Scalar:
        """What it leaves open, m or rad.

        Args:
            offset: from the leg's joint frame to the other (3,), m.
            misalignment: the small rotation (3,) that takes the leg's axes to the others, rad.
            sign: 1 where the leg carries the joint's first frame, else -1.
        """
        return inner(self.direction.tolist(), offset.tolist())


class PointRow(JointRow):
    """An entry of a point whose three offsets are locked."""

    def acceleration(self, motion: RelativeMotion) -> Scalar:
        """The entry of a_rel."""
        return motion.gap[int(np.argmax(self.direction))]


class OffsetRow(JointRow):
    """An offset along a direction e that the joint's first body carries."""

    pivot_price = 1.0

    def acceleration(self, motion: RelativeMotion) -> Scalar:
        """E . (a_rel - 2 w_c x v_rel), c the side that carries e."""
        carrier = (motion.near if motion.first else motion.far).w
        return dot(
            self.direction, add(motion.gap, scale(-2.0, cross_nonzero(carrier, motion.relative_velocity())))
        )


class RotationRow(JointRow, ABC):
    """A row of a joint that locks a rotation."""

    turns = True
    pivot_price = 1.0


@dataclass(frozen=True, eq=False)
class AngularRow(RotationRow):
    """A rotation about a direction e across the joint's free one.

    Attributes:
        free: axis of the only free rotation, where it is constant in the constraint's axes.
    """

    free: Array | None

    def acceleration(self, motion: RelativeMotion) -> Scalar:
        """E . (w_s' - w_r' - w_r x w_s)."""
        (w, w_dot), (z, z_dot) = motion.near, motion.far
        if self.free is not None:
            # About a constant axis f alone z - w = f (z - w)_m / f_m.
            m = largest_entry(self.free)
            z = scale((z[m] - w[m]) * divide(1.0, self.free[m]), self.free)
        return dot(self.direction, add(add(z_dot, -w_dot), -cross_nonzero(w, z)))

    def open(self, offset: Array, misalignment: Array, sign: float) -> Scalar:
        """E . phi, rad."""
        return dot(self.direction, misalignment)


@dataclass(frozen=True, eq=False)
class CrossRow(RotationRow):
    """The right angle of a universal joint's axes, about n = f x e.

    Attributes:
        arms: unit vectors e (on the first) and f (on the second side).
    """

    arms: tuple[Array, Array]

    def acceleration(self, motion: RelativeMotion) -> Scalar:
        """N . (w_s' - w_r') + n' . (w_s - w_r)."""
        (w, w_dot), (z, z_dot), (e, f) = motion.near, motion.far, self.arms
        first, second = (w, z) if motion.first else (z, w)
        n_dot = add(cross(cross(second, f), e), cross(f, cross(first, e)))
        return dot(self.direction, add(z_dot, -w_dot)) + dot(n_dot, add(z, -w))

    def open(self, offset: Array, misalignment: Array, sign: float) -> Scalar:
        """The cosine e . f that shall vanish."""
        return sign * dot(*self.arms)


class SpinRow(RotationRow):
    """The rotation of a body about an axis e of its own, which is set to zero."""

    def acceleration(self, motion: RelativeMotion) -> Scalar:
        """E . (w_s' - w_r'): the axis turns with the body, and its own change, w x e, is across w."""
        return dot(self.direction, add(motion.far.w_dot, -motion.near.w_dot))


def largest_entry(vector: Array) -> int:
    """Index of the largest entry of a constant unit vector (3,), the first of equals."""
    size = np.abs(sample_values(vector))
    return int(np.flatnonzero(size > np.max(size) - 1e-9)[0])
