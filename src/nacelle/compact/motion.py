"""Velocities and accelerations along the trees, in local axes.

For a node with its parent's angular velocity w_p brought into its axes, and a rate r along its axis e,

    revolute    w = w_p + e r      w' = w_p' + w_p x e r + e r'      a = a_p + (turning of the parent) o
    prismatic   w = w_p            w' = w_p'                         a = a_p + (...) o + 2 w x e r + e r'

with o the node's origin. A spherical primitive has three rates along the axes of the node.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from nacelle.compact.leg_trees import LegTrees, TreeNode
from nacelle.compact.platform import MovingFrame
from nacelle.compact.vectors import ZERO, acceleration_matrix, add, all_zero, cross_nonzero, scale
from nacelle.spatial.scalar import Array, Scalar, plus, product
from nacelle.spatial.screw import Twist

# For every rate that moves a body its twist at unit rate.
Columns = dict[int, Twist]


@dataclass(frozen=True, eq=False)
class NodeMotion:
    """How a node moves, in its own axes, (3,) each.

    Attributes:
        w: angular velocity, rad/s.
        w_dot: its derivative, rad/s^2.
        a: acceleration of the origin, m/s^2.
    """

    w: Array
    w_dot: Array
    a: Array

    @cached_property
    def acceleration_matrix(self) -> Array:
        """The matrix T (3, 3) of w' x r + w x (w x r) over r, 1/s^2, in the node's axes."""
        if all_zero(self.w) and all_zero(self.w_dot):
            return np.zeros((3, 3))
        return acceleration_matrix(self.w, self.w_dot)

    def acceleration(self, point: Array) -> Array:
        """Acceleration a + w' x r + w x (w x r) (3,), m/s^2, of a point r (3,) of the node, its axes."""
        if all_zero(point):
            return self.a
        return add(self.a, product(self.acceleration_matrix, point))


def axis_velocity(node: TreeNode, rates: dict[int, Scalar]) -> Array:
    """Velocity (3,) along the axes of a node, sum of e_k u_k, in its axes: rad/s or m/s."""
    total: Array = ZERO
    for rate, axis in zip(node.rates, node.axes, strict=True):
        total = add(total, scale(rates.get(rate, 0.0), axis))
    return total


def propagate_motion(
    trees: LegTrees,
    u: dict[int, Scalar],
    u_dot: dict[int, Scalar],
    frames: Mapping[int, MovingFrame],
    *,
    top: int = 0,
    gravity: Array = ZERO,
) -> dict[int, NodeMotion]:
    """Motion of all nodes below `top`, which itself is at rest, and accelerates against gravity.

    Args:
        trees: the trees.
        u: rates by place.
        u_dot: their derivatives.
        frames: motion of the platform's bodies, for legs that hang there; nodes on others are left out.
        top: a node.
        gravity: acceleration of gravity (3,) in the axes of `top`, m/s^2.
    """
    motions = {top: NodeMotion(ZERO, ZERO, -gravity)}
    for index in range(1, len(trees.nodes)):
        node = trees.node(index)
        if node.parent not in motions or index == top:
            continue
        if index in trees.roots:
            frame = frames.get(trees.roots[index])
            if frame is None:
                continue  # a loop of the base's own is asked for
            motions[index] = NodeMotion(frame.w, frame.w_dot, frame.a)
            continue
        parent = motions[node.parent]
        joint_rate, joint_rate_dot = axis_velocity(node, u), axis_velocity(node, u_dot)
        w, w_dot = node.down(parent.w), node.down(parent.w_dot)
        a = node.down(parent.acceleration(node.o))
        if node.primitive.is_rotation:
            w_dot = add(add(w_dot, cross_nonzero(w, joint_rate)), joint_rate_dot)
            w = add(w, joint_rate)
        else:
            a = add(a, add(scale(2.0, cross_nonzero(w, joint_rate)), joint_rate_dot))
        motions[index] = NodeMotion(w, w_dot, a)
    return motions


@dataclass(frozen=True, eq=False)
class MechanismMotion:
    """Everything that moves, at given rates of the legs and their derivatives.

    Attributes:
        trees: the trees.
        u: rates of the legs by place, rad/s or m/s.
        u_dot: their derivatives; none where these are constant.
        nodes: motion of the nodes in their own axes, gravity taken off the accelerations.
        frames: motion of the platform's bodies in base axes, gravity taken off.
        weightless_nodes: the same nodes without gravity.
        free: the same bodies without gravity.
        gravity: (3,), base axes, m/s^2; it is taken off the accelerations of nodes and platform alike.
        w: rates of the platform by place, m/s and rad/s.
        w_dot: their derivatives.
        heavy: nodes whose inertia needs the acceleration, gravity taken off, where they hold the platform.
        friction: whether friction will need the velocities of rods and bars.
    """

    trees: LegTrees
    u: dict[int, Scalar]
    u_dot: dict[int, Scalar]
    nodes: dict[int, NodeMotion]
    frames: dict[int, MovingFrame]
    weightless_nodes: dict[int, NodeMotion]
    free: dict[int, MovingFrame]
    gravity: Array
    w: dict[int, Scalar] = field(default_factory=dict)
    w_dot: dict[int, Scalar] = field(default_factory=dict)
    heavy: frozenset[int] = frozenset()
    friction: bool = True


def point_unit_twists(trees: LegTrees, index: int, point: Array, top: int | None = None) -> Columns:
    """For every rate that moves a node, velocity (3,) of a point and angular velocity (3,) at unit rate.

    Args:
        trees: the trees.
        index: the node.
        point: a point of it (3,), in its axes, m.
        top: None: in the axes of the node; else only the rates below this node above it, in its axes.
    """
    velocities: Columns = {}
    if top is not None:
        position = trees.point(index, point, top)
        for k in trees.path(index, top):
            node = trees.node(k)
            arm = np.asarray(plus(position, -trees.point(k, ZERO, top)))
            for rate, axis in zip(node.rates, node.axes, strict=True):
                e = trees.up(k, axis, top)
                velocities[rate] = (
                    Twist(cross_nonzero(e, arm), e) if node.primitive.is_rotation else Twist(e, ZERO)
                )
        return velocities
    arm, k = point, index
    below: list[TreeNode] = []
    while k:
        node = trees.node(k)
        for rate, axis in zip(node.rates, node.axes, strict=True):
            # In the axes of the joint its axis is a unit vector: the product costs nothing there.
            v, w = (cross_nonzero(axis, arm), axis) if node.primitive.is_rotation else (axis, ZERO)
            for lower in reversed(below):
                v, w = lower.down(v), lower.down(w)
            velocities[rate] = Twist(v, w)
        arm = np.asarray(plus(node.o, node.up(arm)))
        below = [*below, node]
        k = node.parent
    return velocities


def velocity(columns: Columns, u: dict[int, Scalar]) -> Array:
    """Velocity (3,), m/s, of a point from its columns: sum of v_k u_k."""
    total: Array = ZERO
    for rate, (v, _) in columns.items():
        total = add(total, scale(u[rate], v))
    return total


def angular_velocity(columns: Columns, u: dict[int, Scalar]) -> Array:
    """Angular velocity (3,), rad/s, from the columns of a point: sum of w_k u_k."""
    total: Array = ZERO
    for rate, (_, w) in columns.items():
        total = add(total, scale(u[rate], w))
    return total


def node_twist(
    trees: LegTrees,
    index: int,
    point: Array,
    unit_twists: Columns,
    u: dict[int, Scalar],
    frames: Mapping[int, MovingFrame],
) -> Twist:
    """The twist (v, w), (3,) each, of a node at a point, in its axes; it is held by a body of the platform.

    sum of v_k u_k + E^T (v_b + w_b x arm) and sum of w_k u_k + E^T w_b, E from the node's axes to the base's.

    Args:
        trees: the trees.
        index: the node.
        point: the point (3,), m.
        unit_twists: of that point (`columns`).
        u: rates of the legs.
        frames: motion of the platform's bodies.
    """
    twist = Twist(velocity(unit_twists, u), angular_velocity(unit_twists, u))
    body = trees.root(index)
    if body is None:
        return twist
    frame = frames[body]
    v = frame.velocity_at(plus(trees.point(index, point), -frame.pose.p))
    return Twist(add(twist.v, trees.down(index, v)), add(twist.w, trees.down(index, frame.w)))
