"""The two sides of a constraint: a point of a leg and the one that it is joined to, and how they move.

A constraint joins a point of a leg to one of the platform (`PlatformSides`), or to another one of the same
leg (`LegSides`). Vectors are in the axes of a node of the leg, (3,) each, m/s, m/s^2, rad/s, N and N m; near
is the leg's side and far the other, so that

    slip = v_far - v_near          gap = a_far - a_near, with all rates of the leg constant

Gravity is taken off both sides alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from nacelle.compact.leg_trees import LegTrees, WorklessDirection
from nacelle.compact.motion import (
    Columns,
    MechanismMotion,
    NodeMotion,
    point_unit_twists,
    propagate_motion,
    velocity,
)
from nacelle.compact.platform import MovingFrame, PlatformState
from nacelle.compact.vectors import ZERO, add, scale
from nacelle.spatial.scalar import Array, Scalar, plus
from nacelle.spatial.screw import AngularMotion, Twist, Wrench

Frames = dict[int, MovingFrame]


@dataclass(frozen=True, eq=False)
class LegPoint:
    """A point of a leg, and axes for what it is joined by.

    Attributes:
        axes: node in whose axes vectors are written; 0 for the base.
        node: the leg's node.
        leg_point: the leg's point (3,) in the axes of its node, m.
    """

    axes: int
    node: int
    leg_point: Array


class PrescribedLine(NamedTuple):
    """How a rod or strut moves, where that is given and not found from its ends; base axes, (3,) each.

    Attributes:
        direction: its direction x with first and second derivative (3, 3).
        r: B - A, m.
        v: its derivative, m/s.
        a: its second derivative, m/s^2.
        a_start: acceleration of A, m/s^2.
        length: of a strut, with its derivatives (3,).
    """

    direction: Array
    r: Array
    v: Array
    a: Array
    a_start: Array
    length: Array | None = None

    def through(self, change: Callable[[Array], Array]) -> PrescribedLine:
        """The same line with all its vectors changed, to other axes."""
        r, v, a, start = (change(vector) for vector in (self.r, self.v, self.a, self.a_start))
        return PrescribedLine(np.stack([change(row) for row in self.direction]), r, v, a, start, self.length)


@dataclass(frozen=True, eq=False)
class PlatformSides(LegPoint):
    """A point of a leg, and one of the platform.

    Attributes:
        body: platform body on the far side.
        local: the platform's point in the body's frame, where it is fixed there; else None.
        point: the platform's point, base axes, m.
        line: how the line between them moves, where that is given.
    """

    body: int
    local: Array | None
    point: Array
    line: PrescribedLine | None = None

    @property
    def transmitted(self) -> tuple[int, Array]:
        """The platform body on the far side, and the point (3,), m, that is fixed in its frame."""
        assert self.local is not None
        return self.body, self.local

    def near(self, trees: LegTrees) -> Columns:
        """Columns (v, w), (3,) each, of the leg's point, by rate."""
        return point_unit_twists(
            trees, self.node, self.leg_point, None if self.axes == self.node else self.axes
        )

    def far(self, trees: LegTrees) -> Columns:
        """None: no rate of the leg moves the platform's point."""
        return {}

    def platform_twist(self, trees: LegTrees, frames: Frames) -> Twist:
        """Velocity (3,) of the platform's point, m/s, and its angular velocity (3,), rad/s."""
        frame = frames[self.body]
        if self.local is None:
            v = frame.velocity_at(plus(self.point, -frame.pose.p))
        else:
            v = frame.velocity(self.local)
        return Twist(trees.down(self.axes, v), trees.down(self.axes, frame.w))

    def relative_velocity(self, trees: LegTrees, u: dict[int, Scalar], frames: Frames) -> Array:
        """Velocity (3,), m/s, of the platform's point relative to the leg's."""
        if self.line is not None:
            return self.line.v
        near, far = self.end_velocities(trees, u, frames)
        return add(far, -near)

    def end_velocities(self, trees: LegTrees, u: dict[int, Scalar], frames: Frames) -> tuple[Array, Array]:
        """Velocities (3,), m/s, of the leg's point and of the platform's."""
        return velocity(self.near(trees), u), self.platform_twist(trees, frames).v

    def motions(self, motion: MechanismMotion) -> tuple[NodeMotion, NodeMotion]:
        """How both sides move, gravity taken off: of the leg's point and of the platform's."""
        trees, node, frame = motion.trees, motion.nodes[self.node], motion.frames[self.body]
        near_vectors = (node.w, node.w_dot, node.acceleration(self.leg_point))
        near = NodeMotion(*(trees.up(self.node, vector, self.axes) for vector in near_vectors))
        far = (frame.w, frame.w_dot, self._far_acceleration(motion.frames))
        return near, NodeMotion(*(trees.down(self.axes, vector) for vector in far))

    def relative(self, motion: MechanismMotion) -> tuple[Array, AngularMotion, AngularMotion]:
        """The gap (3,), m/s^2, and angular velocities of both sides with their derivatives, rad/s."""
        node, frame, trees = motion.nodes[self.node], motion.frames[self.body], motion.trees
        far = AngularMotion(trees.down(self.axes, frame.w), trees.down(self.axes, frame.w_dot))
        return self.gap(motion), AngularMotion(node.w, node.w_dot), far

    def gap(self, motion: MechanismMotion) -> Array:
        """Acceleration (3,) of the platform's point less that of the leg's, m/s^2.

        Gravity cancels, and would be turned into the axes for nothing, unless inertia needs it there, or the
        axes are those of the base.
        """
        if self.line is not None:
            return self.line.a
        if self._includes_gravity(motion):
            far, near = self._far_acceleration(motion.frames), self.near_acceleration(motion)
        else:
            far, near = (
                self._far_acceleration(motion.free),
                motion.weightless_nodes[self.node].acceleration(self.leg_point),
            )
        return add(motion.trees.down(self.axes, far), -near)

    def _includes_gravity(self, motion: MechanismMotion) -> bool:
        """Whether both sides are compared with gravity."""
        return self.axes != self.node or self.node in motion.heavy

    def _far_acceleration(self, frames: Frames) -> Array:
        """Acceleration (3,) of the platform's point, base axes, m/s^2."""
        frame = frames[self.body]
        if self.local is None:
            return frame.acceleration_at(plus(self.point, -frame.pose.p))
        return frame.acceleration(self.local)

    def _minus_gravity(self, motion: MechanismMotion, a: Array) -> Array:
        """An acceleration less that of gravity, which is brought into the axes on its own."""
        return add(a, -motion.trees.down(self.axes, motion.gravity))

    def near_acceleration(self, motion: MechanismMotion) -> Array:
        """Acceleration (3,) of the leg's point, m/s^2, gravity taken off.

        In base axes gravity is a constant: it is not turned into the leg's axes and back.
        """
        if self.line is not None:
            return self._minus_gravity(motion, self.line.a_start)
        if self.axes == self.node:
            return motion.nodes[self.node].acceleration(self.leg_point)
        bare = motion.weightless_nodes[self.node].acceleration(self.leg_point)
        return self._minus_gravity(motion, motion.trees.up(self.node, bare, self.axes))

    def end_acceleration(self, motion: MechanismMotion) -> Array:
        """Acceleration (3,) of the platform's point, m/s^2, gravity taken off."""
        if self._includes_gravity(motion):
            return motion.trees.down(self.axes, self._far_acceleration(motion.frames))
        return self._minus_gravity(motion, motion.trees.down(self.axes, self._far_acceleration(motion.free)))

    def platform_forces(
        self,
        trees: LegTrees,
        platform: PlatformState,
        wrench: Wrench,
        workless: WorklessDirection | None = None,
    ) -> dict[int, Scalar]:
        """What a wrench (N, N m) on the platform's point does along its rates.

        Args:
            trees: the trees.
            platform: the platform.
            wrench: force and moment (3,), in the axes of the sides.
            workless: direction in which the force does no work.
        """
        f, n = wrench
        up = (
            trees.up(self.axes, f)
            if workless is None
            else trees.force_to_base_without(self.axes, f, workless)
        )
        return platform.generalised_forces(self.body, self.point, up, trees.up(self.axes, n), self.local)


@dataclass(frozen=True, eq=False)
class LegSides(LegPoint):
    """Two points of a leg, in the axes of the last node that both have in common.

    Attributes:
        far_node: the node of the far side.
        far_point: its point (3,) in the axes of that node, m.
    """

    far_node: int
    far_point: Array

    def near(self, trees: LegTrees) -> Columns:
        """Columns (v, w), (3,) each, of the first point, by rate."""
        return point_unit_twists(trees, self.node, self.leg_point, self.axes)

    def far(self, trees: LegTrees) -> Columns:
        """The same of the second point."""
        return point_unit_twists(trees, self.far_node, self.far_point, self.axes)

    def is_on_platform(self, trees: LegTrees) -> bool:
        """Whether a side hangs on the platform, and the other does not hang on the same body."""
        return self.axes == 0 and any(trees.root(node) is not None for node in (self.node, self.far_node))

    def _platform_bodies(self, trees: LegTrees) -> list[tuple[int, Array, float]]:
        """Nacelle bodies that the sides hang on, the point (3,), base axes, m, and the rows' sign."""
        if not self.is_on_platform(trees):
            return []
        sides = ((self.node, self.leg_point, -1.0), (self.far_node, self.far_point, 1.0))
        ends = ((trees.root(node), trees.point(node, point), sign) for node, point, sign in sides)
        return [(body, point, sign) for body, point, sign in ends if body is not None]

    def platform_twist(self, trees: LegTrees, frames: Frames) -> Twist:
        """Velocity and angular velocity of the far side against the near one, by the platform alone."""
        v, w = ZERO, ZERO
        for body, point, sign in self._platform_bodies(trees):
            frame = frames[body]
            v = add(v, scale(sign, frame.velocity_at(plus(point, -frame.pose.p))))
            w = add(w, scale(sign, frame.w))
        return Twist(v, w)

    def relative_velocity(self, trees: LegTrees, u: dict[int, Scalar], frames: Frames) -> Array:
        """Velocity (3,), m/s, of the second point relative to the first."""
        v = add(velocity(self.far(trees), u), -velocity(self.near(trees), u))
        for body, point, sign in self._platform_bodies(trees):
            v = add(v, scale(sign, frames[body].velocity_at(plus(point, -frames[body].pose.p))))
        return v

    def end_velocities(self, trees: LegTrees, u: dict[int, Scalar], frames: Frames) -> tuple[Array, Array]:
        """Velocities (3,), m/s, of both points, base axes."""
        near = point_unit_twists(trees, self.node, self.leg_point, 0)
        return velocity(near, u), velocity(point_unit_twists(trees, self.far_node, self.far_point, 0), u)

    def motions(self, motion: MechanismMotion) -> tuple[NodeMotion, NodeMotion]:
        """How both sides move, gravity taken off: of the two points."""
        return self._motions(motion.trees, motion.nodes)

    def _motions(self, trees: LegTrees, nodes: dict[int, NodeMotion]) -> tuple[NodeMotion, NodeMotion]:
        def at(node: int, point: Array) -> NodeMotion:
            moving = nodes[node]
            vectors = (moving.acceleration(point), moving.w, moving.w_dot)
            a, w, w_dot = (trees.up(node, vector, self.axes) for vector in vectors)
            return NodeMotion(w, w_dot, a)

        return at(self.node, self.leg_point), at(self.far_node, self.far_point)

    def relative(self, motion: MechanismMotion) -> tuple[Array, AngularMotion, AngularMotion]:
        """The gap (3,), m/s^2, and angular velocities of both sides with their derivatives, rad/s.

        All is relative to what both sides have in common.
        """
        trees, nodes = motion.trees, motion.nodes
        if not self.is_on_platform(trees):
            nodes = propagate_motion(trees, motion.u, {}, {}, top=self.axes)
        near, far = self._motions(trees, nodes)
        return add(far.a, -near.a), AngularMotion(near.w, near.w_dot), AngularMotion(far.w, far.w_dot)

    def gap(self, motion: MechanismMotion) -> Array:
        """Acceleration (3,) of the second point less that of the first, m/s^2."""
        return self.relative(motion)[0]

    def near_acceleration(self, motion: MechanismMotion) -> Array:
        """Acceleration (3,) of the first point, m/s^2, gravity taken off."""
        return motion.trees.up(self.node, motion.nodes[self.node].acceleration(self.leg_point), self.axes)

    def end_acceleration(self, motion: MechanismMotion) -> Array:
        """Acceleration (3,) of the second point, m/s^2, gravity taken off."""
        a = motion.nodes[self.far_node].acceleration(self.far_point)
        return motion.trees.up(self.far_node, a, self.axes)

    def platform_forces(
        self,
        trees: LegTrees,
        platform: PlatformState,
        wrench: Wrench,
        workless: WorklessDirection | None = None,
    ) -> dict[int, Scalar]:
        """What forces on both points do along the rates of the platform that they hang on."""
        forces: dict[int, Scalar] = {}
        for body, point, sign in self._platform_bodies(trees):
            signed = (scale(sign, vector) for vector in wrench)
            for rate, value in platform.generalised_forces(body, point, *signed).items():
                forces[rate] = forces[rate] + value if rate in forces else value
        return forces


Sides = PlatformSides | LegSides
