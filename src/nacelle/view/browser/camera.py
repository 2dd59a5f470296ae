"""Where the camera is at first: so that all robots are seen whole, on wide and on narrow screens."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from nacelle.spatial.scalar import Array

FOV = math.radians(40.0)
# From where a robot in space is looked at.
_FROM = np.array([0.75, -1.0, 0.55])
_MARGIN = 1.15
# Screens narrower than this, as width over height, are phones; the part of their height that shows robots.
NARROW, _UPPER = 0.8, 0.55


@dataclass(frozen=True, eq=False)
class View:
    """A camera.

    Attributes:
        centre: what it looks at (3,), m.
        direction: from there to the camera (3,), of unit length.
        up: what is up on the screen (3,).
        radius: of the sphere that is to be seen, m.
    """

    centre: Array
    direction: Array
    up: Array
    radius: float

    def place(self, aspect: float = 1.6) -> tuple[Array, Array]:
        """Where the camera is and what it looks at (3,), m, for a screen of a width over its height.

        On a narrow screen everything is in the upper part: the controls are below.
        """
        if aspect >= NARROW:
            half = math.atan(min(aspect, 1.0) * math.tan(0.5 * FOV))
            return self.centre + _MARGIN * self.radius / math.sin(half) * self.direction, self.centre
        half = math.atan(min(aspect, _UPPER) * math.tan(0.5 * FOV))
        distance = _MARGIN * self.radius / math.sin(half)
        upward = self.up - (self.up @ self.direction) * self.direction
        upward = upward / np.linalg.norm(upward)
        target = self.centre - (1.0 - _UPPER) * distance * math.tan(0.5 * FOV) * upward
        return target + distance * self.direction, target


def view_of(low: Array, high: Array, across: int | None) -> View:
    """The camera for a box.

    Args:
        low: its lower corner (3,), m.
        high: its upper corner (3,), m.
        across: the base axis across which everything is flat: looked at along it; None if it is not.
    """
    centre, radius = 0.5 * (low + high), 0.5 * float(np.linalg.norm(high - low)) or 1.0
    if across is None:
        return View(centre, _FROM / np.linalg.norm(_FROM), np.array([0.0, 0.0, 1.0]), radius)
    up = np.eye(3)[1 if across == 2 else 2]
    # From the side that has x, or y, to the right.
    side = np.eye(3)[across] * (-1.0 if across == 1 else 1.0)
    direction = side + 0.12 * up
    return View(centre, direction / np.linalg.norm(direction), up, radius)


def nice_step(extent: float) -> float:
    """A round length, 1, 2 or 5 times a power of ten: about a tenth of an extent, m."""
    power = 10.0 ** math.floor(math.log10(0.1 * extent))
    part = 0.1 * extent / power
    return power * (1.0 if part < 1.5 else 2.0 if part < 3.5 else 5.0 if part < 7.5 else 10.0)
