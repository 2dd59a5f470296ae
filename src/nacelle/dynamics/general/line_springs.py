"""Springs between two bodies in the general form: forces on nodes and on the nacelle.

The two points are taken to base axes, d = P_2 - P_1 with l = |d| and l' = d . (v_2 - v_1) / l; the motion has
to overcome F = k (l - l_0) + c l', which is +F d / l on the second body at P_2 and -F d / l on the first.
"""

from __future__ import annotations

from nacelle.dynamics.compliance.line_springs import line_between
from nacelle.dynamics.general.required import Counted, Required
from nacelle.kinematics.general.legs import Legs, MechanismMotion
from nacelle.kinematics.general.motion import angular_velocity, columns, velocity, with_root
from nacelle.kinematics.general.placed import Placed
from nacelle.kinematics.general.vectors import ZERO, add, is_zero, scaled
from nacelle.model.leg import BASE
from nacelle.spatial.scalar import Array, Scalar, dot, plus, product


def require_line_springs(legs: Legs, motion: MechanismMotion, into: Required, counted: Counted) -> None:
    """Springs between bodies where these count, their dampers where friction does."""
    placed = legs.placed
    for spring in placed.robot.springs:
        ends = list(zip(spring.bodies, spring.points, strict=True))
        line = line_between(*(_place(placed, *end) for end in ends))
        value: Scalar = spring.pull(line.length) if counted.springs else 0.0
        if counted.friction and not is_zero(spring.damping):
            first, second = (_velocity(placed, motion, *end) for end in ends)
            value = value + spring.damping * dot(line.direction, add(second, -first))
        force = scaled(value, line.direction)
        for (body, local), point, f in zip(ends, line.points, (-force, force), strict=True):
            _on_body(placed, into, (body, local), point, f)


def _place(placed: Placed, body: int, local: Array) -> Array:
    """A point of a body in base axes."""
    if body == BASE:
        return local
    if body in placed.nacelle.poses:
        return placed.nacelle.point(body, local)
    node, at = _on_node(placed, body, local)
    return placed.trees.point(node, at)


def _on_node(placed: Placed, body: int, local: Array) -> tuple[int, Array]:
    """The node of a body of a leg, and a point of the body in its axes."""
    node, frame = placed.trees.place[body]
    return node, plus(frame.p, product(frame.R, local))


def _velocity(placed: Placed, motion: MechanismMotion, body: int, local: Array) -> Array:
    """Velocity of a point of a body, base axes."""
    if body == BASE:
        return ZERO
    if body in placed.nacelle.poses:
        return motion.frames[body].velocity(local)
    node, at = _on_node(placed, body, local)
    moved = columns(placed.trees, node, at)
    twist = (velocity(moved, motion.u), angular_velocity(moved, motion.u))
    linear, _ = with_root(placed.trees, node, at, twist, motion.frames)
    return placed.trees.up(node, linear)


def _on_body(placed: Placed, into: Required, end: tuple[int, Array], point: Array, force: Array) -> None:
    """Put a force, base axes, on a point of a body."""
    body, local = end
    if body == BASE:
        return
    if body in placed.nacelle.poses:
        into.on_nacelle(body, point, force, ZERO, local)
        return
    node, at = _on_node(placed, body, local)
    into.on_node(node, placed.trees.down(node, force), ZERO, at)
