"""The smallest form at the door: where it serves, and what happens where its fixed pivots are weak."""

from __future__ import annotations

from typing import Any

import numpy as np

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
    if applies(mechanism(robot)):
        return _mixed(robot, x, y, v, a, load, options)
    shapes = input_shapes(inverse, robot)
    assert shapes is not None
    settings = chosen(inverse, robot, shapes, options)
    found: dict[str, Array] = native(inverse, robot, tuple(settings.items()))(x, y, v, a, load)
    found["pivot"] = np.minimum(found["pivot"], 1.0)
    with np.errstate(invalid="ignore"):
        # Not a number where a strut lies across the upright axis.
        weak = np.asarray(~(found["pivot"] >= WEAK_PIVOT))
    found["pivot"] = np.asarray(found["pivot"] ** 2)
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


def _mixed(
    robot: Robot, x: Array, y: Array, v: Array, a: Array, load: Array, options: dict[str, Any]
) -> dict[str, Array]:
    """The same by `mixed`, whose solve changes its pivots with the state."""
    found: dict[str, Array] = native(mixed.inverse, robot, tuple(options.items()))(x, y, v, a, load)
    return found
