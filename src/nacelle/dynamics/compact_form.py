"""The smallest form at the public API, and what happens where its fixed pivots are weak."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from nacelle.compile import Compiled
from nacelle.dynamics import smallest
from nacelle.kinematics.iteration.weak import strengthened
from nacelle.kinematics.native import native
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array


def program(robot: Robot, options: Mapping[str, Any]) -> Compiled:
    """The compiled form of a robot: a function of (x, y, v, a, load)."""
    return native(smallest.inverse, robot, tuple(options.items()))


def squared(pivot: Array) -> Array:
    """The pivot figure of a form with fixed pivots (...), as that of the other forms: a squared ratio."""
    figure = np.minimum(pivot, 1.0)
    return np.asarray(figure * figure)


def evaluate(
    robot: Robot, states: tuple[Array, ...], flags: Array, options: dict[str, Any]
) -> dict[str, Array]:
    """Forces, pivots and gates of states (batch dimensions broadcast); weak states by the tree.

    Args:
        robot: the robot.
        states: reduced poses x (..., nx), what iteration found y (..., ny), reduced twists v (..., n), their
            derivatives a (..., n), and a force along the reduced twist from outside (..., n).
        flags: of the iteration (...).
        options: "friction" and "smooth".
    """
    found: dict[str, Array] = program(robot, options)(*states)
    found = strengthened(robot, found, states, flags, smallest.pivoted("inverse", robot, options))
    return {**found, "pivot": squared(found["pivot"])}
