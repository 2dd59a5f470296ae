"""Bodies, the legs that they form, and springs and dampers between two of them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from operator import mul
from typing import Any

from nacelle.spatial.scalar import Array, Scalar

BASE = 0
PLATFORM = 1


@dataclass(frozen=True)
class Body:
    """One body, rigid, or flexible where it has a section.

    Attributes:
        name: full name, "leg1.arm".
        inertia: ten parameters in Pinocchio's order (see `nacelle.spatial.inertia`).
        display: shapes to draw, as plain data.
        section: cross-section of a flexible link as plain data in SI units, or None.
        material: material of a flexible link as plain data in SI units, or None.
        beam: how a flexible link deforms (`nacelle.model.flexible`), as plain data in SI units, or None.
        spin: what becomes of an idle spin that its inertia feels: "neglect", "universal", or "" for the
            default; applied by the check, and then empty; no part of the hash.
    """

    name: str
    inertia: tuple[float, ...] = (0.0,) * 10
    display: tuple[dict[str, Any], ...] = ()
    section: dict[str, Any] | None = None
    material: dict[str, Any] | None = None
    beam: dict[str, Any] | None = None
    spin: str = ""

    @property
    def mass(self) -> float:
        """Mass in kg."""
        return self.inertia[0]

    @property
    def massless(self) -> bool:
        """Whether the body has neither mass nor inertia."""
        return not any(self.inertia)


@dataclass(frozen=True)
class Leg:
    """One leg: a connected component of the graph without base and platform.

    Attributes:
        name: its name.
        bodies: indices of its bodies, in the order of the tree.
        joints: indices of its tree joints; they place its bodies.
        closures: indices of its closures.
        branch: sign of the leg's Jacobian determinant on the chosen branch; 0 if not given.
    """

    name: str
    bodies: tuple[int, ...]
    joints: tuple[int, ...]
    closures: tuple[int, ...]
    branch: int = 0


@dataclass(frozen=True)
class MovingPlatform:
    """The moving platform: body 1 and what hangs on it.

    Attributes:
        kind: "rigid", "point", "articulated", or "none": a robot without a platform, whose bodies hang on the
            platform body, massless and fixed to the base.
        bodies: indices of its bodies; the first is placed by the platform coordinates.
        joints: indices of its tree joints.
        closures: indices of its own closures (loops of the platform, joints between legs at a point).
    """

    kind: str
    bodies: tuple[int, ...]
    joints: tuple[int, ...]
    closures: tuple[int, ...]


# ---- between two bodies


@dataclass(frozen=True, eq=False)
class LineSpring:
    """A linear spring, with a parallel damper, between points of two bodies.

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


# ---- torsion springs between two bodies: a torque by the angle of one about an axis of the other


@dataclass(frozen=True, eq=False)
class TorsionSpring:
    """A spring about an axis of a body that holds the angle of another one about it, by a polynomial law.

    With s = angle - rest, the angle being the twist of the second body about the axis
    (`nacelle.dynamics.compliance`), its torque on the second body about the axis is

        n = -(k_1 s + k_2 s^2 + k_3 s^3 + ...)          N m

    Attributes:
        name: its name, "leg1.bushing" if it is written in a leg.
        bodies: indices of the two bodies; one may be the base.
        rotations: of its frame, whose z is the axis, in the frame of each body, (3, 3) each; the angle is
            zero where the two are parallel.
        stiffness: k_1, k_2, ..., N m/rad, N m/rad^2, ...
        rest: angle without a torque, rad.
    """

    name: str
    bodies: tuple[int, int]
    rotations: tuple[Array, Array]
    stiffness: tuple[float, ...]
    rest: float = 0.0

    @property
    def stiffness_names(self) -> tuple[str, ...]:
        """Names of its coefficients: "k1", "k2", ..."""
        return tuple(f"k{degree}" for degree in range(1, len(self.stiffness) + 1))

    def holding_torque(self, s: Scalar) -> Scalar:
        """Torque (N m) that holds it at s from its rest (rad): k_1 s + k_2 s^2 + ..."""
        return sum(k * power for k, power in zip(self.stiffness, self._powers(s), strict=True))

    def energy(self, s: Scalar) -> Scalar:
        """Energy (J) that it stores at s from its rest (rad): k_1 s^2 / 2 + k_2 s^3 / 3 + ..."""
        terms = zip(self.stiffness, self._powers(s), range(2, len(self.stiffness) + 2), strict=True)
        return sum(k * (power * s * (1.0 / n)) for k, power, n in terms)

    def _powers(self, s: Scalar) -> list[Scalar]:
        """s, s^2, ..., one for each coefficient."""
        return list(accumulate([s] * len(self.stiffness), mul))
