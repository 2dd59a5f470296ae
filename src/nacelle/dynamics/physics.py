"""What the equations of motion include: friction, its smoothing, springs, inertia.

Coulomb friction c sign(q') jumps where a joint stops. With a width s (rad/s or m/s) it is c tanh(q' / s),
smooth in q', and within 1 % of c beyond |q'| = 2.65 s; sign(q') in other terms likewise (`friction`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nacelle.errors import KinematicsError


def check_positive(value: Any, what: str) -> float:
    """Take a number that must be above zero, such as the rate over which Coulomb friction changes its sign.

    Raises:
        KinematicsError: if it is not.
    """
    try:
        number = float("" if isinstance(value, bool | np.bool_) else value)
    except (TypeError, ValueError):
        raise KinematicsError(f"{what} must be a number above zero, got {value!r}") from None
    if not np.isfinite(number) or number <= 0.0:
        raise KinematicsError(f"{what} must be above zero, got {number:g}")
    return number


@dataclass(frozen=True)
class Physics:
    """What the equations of motion include, checked where it is made.

    It is made once where a user calls, and travels as it is to the physics functions, as their option
    `physics`: part of the key under which their programs are kept. A negative width would turn Coulomb
    friction into a force that drives.

    Attributes:
        friction: whether friction acts, and dampers: True or False.
        smooth: rate (rad/s, m/s) over which Coulomb friction changes its sign smoothly; at once if None.
        springs: whether springs act, those of end stops among them.
        inertia: whether inertia and weight count where forces of joints, rods and struts are gathered; those
            of other bodies are gathered apart.

    Raises:
        KinematicsError: if `friction` or `smooth` cannot be used.
    """

    friction: bool = True
    smooth: float | None = None
    springs: bool = True
    inertia: bool = True

    def __post_init__(self) -> None:
        """Check and normalise."""
        friction: Any = self.friction
        if not isinstance(friction, bool | np.bool_ | int) or friction not in (0, 1):
            raise KinematicsError(f"friction is True or False, got {friction!r}")
        object.__setattr__(self, "friction", bool(friction))
        if self.smooth is not None:
            object.__setattr__(self, "smooth", check_positive(self.smooth, "smooth"))


ALL_TERMS = Physics()
WITHOUT_FRICTION = Physics(friction=False)
