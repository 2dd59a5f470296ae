"""Springs between two bodies, along the line between a point of each, and angular dampers."""

from __future__ import annotations

from dataclasses import dataclass

from nacelle.spatial.scalar import Array, Scalar


@dataclass(frozen=True, eq=False)
class LineSpring:
    """A linear spring, with a damper beside it, between points of two bodies.

    With l the distance of the points and l' its rate, it pulls them together with

        F = stiffness (l - length) + damping l'          N

    Attributes:
        name: its name, "leg1.tendon" if it is written in a leg.
        bodies: indices of the two bodies; one may be the base.
        points: a point of each, in its body's frame, (3,) each, m.
        stiffness: N/m.
        length: free length, m.
        damping: N s/m.
    """

    name: str
    bodies: tuple[int, int]
    points: tuple[Array, Array]
    stiffness: float
    length: float
    damping: float = 0.0

    def pull(self, length: Scalar) -> Scalar:
        """Tension (N) of the spring alone at a distance of the points (m)."""
        return self.stiffness * (length - self.length)


# ---- angular dampers between two bodies: a torque against their relative angular velocity


@dataclass(frozen=True, eq=False)
class Damper:
    """A viscous damper of the relative rotation of two bodies, alike about all axes.

    With w_1, w_2 the angular velocities of the bodies the torque on the second is

        n_2 = -damping (w_2 - w_1)          N m,        n_1 = -n_2 on the first

    Attributes:
        name: its name, "leg1.grease" if it is written in a leg.
        bodies: indices of the two bodies; one may be the base.
        damping: N m s/rad.
    """

    name: str
    bodies: tuple[int, int]
    damping: float
