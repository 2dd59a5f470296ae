"""Springs between two bodies: a force along the line between a point of each."""

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
