"""The smallest form at the public API, and what happens where its fixed pivots are weak."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from nacelle.compile import Compiled
from nacelle.dynamics import functions, smallest
from nacelle.kinematics.native import native
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array

# Scaled pivots below this are weak: the pivoted program of the tree takes over.
WEAK_PIVOT = 1e-2


def program(robot: Robot, options: Mapping[str, Any]) -> Compiled:
    """The compiled form of a robot: a function of (x, y, v, a, load)."""
    return native(smallest.inverse, robot, tuple(smallest.settings("inverse", robot, options).items()))


def squared(pivot: Array) -> Array:
    """The pivot figure of a form with fixed pivots (...), as that of the other forms: a squared ratio."""
    figure = np.minimum(pivot, 1.0)
    return np.asarray(figure * figure)


def evaluate(
    robot: Robot, x: Array, y: Array, v: Array, a: Array, load: Array, options: dict[str, Any]
) -> dict[str, Array]:
    """Forces, pivots and gates of states (batch dimensions broadcast); weak states by the tree.

    Args:
        robot: the robot.
        x: reduced poses (..., nx).
        y: what iteration found (..., ny).
        v: reduced twists (..., n).
        a: their derivatives (..., n).
        load: force along the reduced twist from outside (..., n).
        options: "friction" and "smooth".
    """
    pivoted = (("formulation", "tree"), *options.items())
    return guarded(
        program(robot, options), lambda: native(functions.inverse, robot, pivoted), (x, y, v, a, load)
    )


def guarded(small: Compiled, pivoted: Callable[[], Compiled], states: tuple[Array, ...]) -> dict[str, Array]:
    """A function with fixed pivots at states (batch dimensions broadcast), weak ones by a pivoted function.

    Args:
        small: the function; "pivot" is one of its results.
        pivoted: gives a function of the same inputs, whose pivot is the square of a ratio.
        states: the inputs.
    """
    found: dict[str, Array] = small(*states)
    with np.errstate(invalid="ignore"):
        # Not a number where a strut lies across the upright axis.
        weak = np.asarray(~(found["pivot"] >= WEAK_PIVOT))
    found["pivot"] = squared(found["pivot"])
    if not np.any(weak):
        return found
    batch = weak.shape
    again = pivoted()(*(np.broadcast_to(part, batch + part.shape[-1:])[weak] for part in states))
    for name, value in found.items():
        whole = np.array(value)
        whole[weak] = again[name]
        found[name] = whole
    return found
