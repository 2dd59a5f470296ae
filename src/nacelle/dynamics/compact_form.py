"""The smallest form at the door: where it serves, and what happens where its fixed pivots are weak."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from nacelle.compile import Compiled
from nacelle.dynamics import functions
from nacelle.dynamics.compact import mixed
from nacelle.dynamics.compact.choose import chosen
from nacelle.dynamics.compact.functions import inverse
from nacelle.dynamics.compact.model import applies
from nacelle.kinematics.mechanism import mechanism
from nacelle.kinematics.native import native
from nacelle.model.robot import Robot
from nacelle.spatial.physics import input_shapes
from nacelle.spatial.scalar import Array

# Scaled pivots below this are weak: the pivoted program of the tree takes over.
WEAK_PIVOT = 1e-2


def why_not(robot: Robot) -> str:
    """Why the smallest form does not serve a robot, not even for some of its legs; empty if it does."""
    known = mechanism(robot)
    reason = applies(known)
    return reason if reason and mixed.applies(known) else ""


def program(robot: Robot, options: Mapping[str, Any]) -> Compiled:
    """The compiled form of a robot: a function of (x, y, v, a, load)."""
    if not fixed_pivots(robot):
        return native(mixed.inverse, robot, tuple(options.items()))
    shapes = input_shapes(inverse, robot)
    assert shapes is not None
    return native(inverse, robot, tuple(chosen(inverse, robot, shapes, options).items()))


def fixed_pivots(robot: Robot) -> bool:
    """Whether the form of a robot takes its pivots in a fixed order, so that they may be weak."""
    return not applies(mechanism(robot))


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
    found: dict[str, Array] = program(robot, options)(x, y, v, a, load)
    if not fixed_pivots(robot):
        return found
    with np.errstate(invalid="ignore"):
        # Not a number where a strut lies across the upright axis.
        weak = np.asarray(~(found["pivot"] >= WEAK_PIVOT))
    found["pivot"] = squared(found["pivot"])
    if not np.any(weak):
        return found
    batch = weak.shape
    states = [np.broadcast_to(part, batch + part.shape[-1:])[weak] for part in (x, y, v, a, load)]
    again = native(functions.inverse, robot, (("formulation", "tree"), *options.items()))(*states)
    for name in ("force", "pivot", "gates"):
        whole = np.array(found[name])
        whole[weak] = again[name]
        found[name] = whole
    return found
