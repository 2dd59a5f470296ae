"""Angular dampers between two bodies: a torque against their relative angular velocity."""

from __future__ import annotations

from dataclasses import dataclass


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
