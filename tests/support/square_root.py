"""A closing whose solution is a square root: y with y^2 = x_0 + x_1^2, from y = 1 at x = (1, 0)."""

from __future__ import annotations

from typing import Any

import numpy as np

import nacelle
from nacelle.compile.closing import PoseClosure
from nacelle.spatial.physics import physics
from nacelle.spatial.scalar import absolute
from support.library import library_robot


@physics(y=(1,), x=(2,))
def step(robot: nacelle.Robot, y: Any, x: Any) -> dict[str, Any]:
    """Newton's step."""
    gap = y[0] * y[0] - x[0] - x[1] * x[1]
    return {"dy": [-gap / (2.0 * y[0])], "error": absolute(gap)}


def function(robot: nacelle.Robot, x: Any, y: Any) -> Any:
    """A function of what is given and of what is found: y^3 + x_1 = (x_0 + x_1^2)^(3/2) + x_1."""
    return y[0] * y[0] * y[0] + x[1]


def square_root_closing() -> PoseClosure:
    """The closing; the positive root is the reference's branch."""

    def find(x: Any, start: Any) -> Any:
        inside = x[:, :1] + x[:, 1:] ** 2
        return np.sqrt(inside) * (1.0 if start is None else np.sign(start))

    return PoseClosure(library_robot("fivebar"), None, step, (np.array([1.0, 0.0]), np.array([1.0])), find)


INPUTS = {"x": (2,), "y": (1,)}
