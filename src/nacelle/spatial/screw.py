"""Motion and load of a rigid body as one thing each: twist, wrench, angular velocity with its derivative."""

from __future__ import annotations

from typing import NamedTuple

from nacelle.spatial.scalar import Array, cross


class Twist(NamedTuple):
    """Velocity v (3,), m/s, of a point of a body, and the body's angular velocity w (3,), rad/s."""

    v: Array
    w: Array


class AngularMotion(NamedTuple):
    """Angular velocity w (3,), rad/s, and its time derivative w_dot (3,), rad/s^2."""

    w: Array
    w_dot: Array


class Wrench(NamedTuple):
    """A force (N) and a moment (N m) about a point."""

    f: Array
    n: Array

    def about(self, arm: Array) -> Wrench:
        """The same wrench about a point that lies at -arm (3,), m, from the old one: n + arm x f."""
        return Wrench(self.f, self.n + cross(arm, self.f))

    def rotate(self, R: Array) -> Wrench:
        """The same wrench in other axes, [R f; R n] with R (3, 3) from the old ones to the new ones."""
        return Wrench(R @ self.f, R @ self.n)

    def plus(self, other: Wrench) -> Wrench:
        """The sum of two wrenches about the same point."""
        return Wrench(self.f + other.f, self.n + other.n)

    def minus(self, other: Wrench) -> Wrench:
        """The difference of two wrenches about the same point."""
        return Wrench(self.f - other.f, self.n - other.n)
