"""Angular dampers between two bodies in the general form: moments on nodes and on the nacelle.

With w_1, w_2 the angular velocities of the bodies in base axes the motion has to overcome n = c (w_2 - w_1),
which is +n on the second body and -n on the first.
"""

from __future__ import annotations

from nacelle.dynamics.general.required import Counted, Required
from nacelle.kinematics.general.legs import Legs, MechanismMotion
from nacelle.kinematics.general.motion import angular_velocity, columns, velocity, with_root
from nacelle.kinematics.general.placed import Placed
from nacelle.kinematics.general.vectors import ZERO, add, scaled
from nacelle.model.leg import BASE
from nacelle.spatial.scalar import Array


def require_dampers(legs: Legs, motion: MechanismMotion, into: Required, counted: Counted) -> None:
    """Angular dampers between bodies, where friction counts."""
    placed = legs.placed
    if not counted.friction:
        return
    for damper in placed.robot.dampers:
        first, second = (_angular_velocity(placed, motion, body) for body in damper.bodies)
        moment = scaled(damper.damping, add(second, -first))
        for body, n in zip(damper.bodies, (-moment, moment), strict=True):
            _on_body(placed, into, body, n)


def _angular_velocity(placed: Placed, motion: MechanismMotion, body: int) -> Array:
    """Angular velocity of a body, base axes."""
    if body == BASE:
        return ZERO
    if body in placed.nacelle.poses:
        return motion.frames[body].w
    node, _ = placed.trees.place[body]
    moved = columns(placed.trees, node, ZERO)
    twist = (velocity(moved, motion.u), angular_velocity(moved, motion.u))
    _, angular = with_root(placed.trees, node, ZERO, twist, motion.frames)
    return placed.trees.up(node, angular)


def _on_body(placed: Placed, into: Required, body: int, moment: Array) -> None:
    """Put a moment, base axes, on a body."""
    if body == BASE:
        return
    if body in placed.nacelle.poses:
        into.on_nacelle(body, placed.nacelle.poses[body].p, ZERO, moment)
        return
    node, _ = placed.trees.place[body]
    into.on_node(node, ZERO, placed.trees.down(node, moment))
