"""Constraints: what the closures, rods, struts and idle spins of a leg demand of its rates, in local axes.

    sum over rates of M_ik u_k = g_i(w)          rates u of the leg, rates w of the platform

A constraint joins a point of a leg to one of the platform, or of the same leg (`sides`). It locks components
of the velocity v and of the angular velocity w of its far side relative to the near one, a row for each
(`constraint_rows`); what the leg's own rates move of it is the left side, M_ik that of rate k alone, and what
the platform moves is g_i. Rows onto the platform are written in the axes of the leg's last link, those of a
loop inside a leg in the axes of the last link that both sides have in common. A multiplier of a row (N or
N m) is the force that the other side puts on the leg along it. With joints that close loops there are

    constraint   row             right-hand side b of M u' = b
    rod          d . v           d . a_rel + v_rel . v_rel                    d = B - A, d . d constant
    strut        d . v / d_k     (d . a_rel + v_rel . v_rel - l'^2) / d_k     d . d = l^2
    spin         e . w           -e . w'                                      an idle spin is set to zero
    coupling     factors         0                                            nothing of the platform is felt

Gravity is taken off both sides alike; m/s, rad/s, N, N m. Loops of the platform itself are constraints of its
own rates, in base axes: each row with direction f (3,) of a force and n (3,) of a moment locks

    f . (v_2 - v_1) + n . (w_2 - w_1) = 0

v_i velocity of body i at the point where both meet, w_i its angular velocity. An idle spin of a body that
hangs between spherical joints is such a row as well, against the base: n . w_2 = 0, n its axis.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import ClassVar, NamedTuple

import numpy as np

from nacelle.compact.constraint_rows import (
    AngularRow,
    CrossRow,
    JointRow,
    OffsetRow,
    PointRow,
    RelativeMotion,
    Row,
    SpinRow,
    largest_entry,
)
from nacelle.compact.leg_trees import LegTrees, NodeFrame
from nacelle.compact.line_legs.geometry import LegForm
from nacelle.compact.line_legs.known import LineLeg, project_to_plane
from nacelle.compact.motion import Columns, MechanismMotion, point_unit_twists
from nacelle.compact.platform import PlatformState
from nacelle.compact.sides import Frames, LegSides, PlatformSides, PrescribedLine, Sides
from nacelle.compact.vectors import ZERO, add, scale
from nacelle.kinematics.configuration import Configuration
from nacelle.kinematics.mechanism.assembly import coupling_scale
from nacelle.kinematics.mechanism.rods import MassPointRod
from nacelle.model.joint import Joint
from nacelle.model.leg import BASE
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array, Scalar, cross, divide, dot, pack, plus, product, sample_values, sqrt
from nacelle.spatial.screw import AngularMotion, Twist, Wrench
from nacelle.tree.closure import coupling_rates, coupling_residual

_UNIT = np.eye(3)
# Entries of a constant unit vector below this are zero.
_ALIGNED = 1e-12


# Gives the frames of a joint on its first and its second body, seen from a node (0: from the base).
JointFrames = Callable[[int, int], tuple[Pose, Pose]]


class ConstraintKey(NamedTuple):
    """Which constraint: the index of its leg, and its number among those of that leg."""

    leg: int
    number: int


_NO_KEY = ConstraintKey(-1, -1)


@dataclass(frozen=True, eq=False)
class Constraint(ABC):
    """The rows of a closure, a rod, a coupling or an idle spin, at a configuration.

    Attributes:
        rows: the rows.
        sides: the points that it joins.
        key: which constraint it is.
        start: index of its first row among those of its leg.
        reports_closure_error: whether what its rows leave open tells how far loops are from closed.
    """

    rows: Sequence[Row]
    sides: Sides
    _: KW_ONLY
    key: ConstraintKey = _NO_KEY
    start: int = 0
    reports_closure_error: ClassVar[bool] = True

    @property
    def span(self) -> range:
        """Indices of its rows among those of its leg."""
        return range(self.start, self.start + len(self.rows))

    @property
    def platform(self) -> PlatformSides | None:
        """Its sides, where it joins a leg to the platform."""
        return self.sides if isinstance(self.sides, PlatformSides) else None

    @property
    def multiplier_sides(self) -> Sides:
        """Its sides, where forces of multipliers alone act."""
        return self.sides

    def relative_velocity(self, trees: LegTrees, u: dict[int, Scalar], frames: Frames) -> Array:
        """Velocity (3,), m/s, of the far point relative to the leg's point."""
        return self.sides.relative_velocity(trees, u, frames)

    def rates(self, trees: LegTrees, frames: Frames) -> list[Scalar]:
        """Right-hand sides g_i(w) of the rows M u = g for the rates: f . v of the far point, or n . w."""
        v, w = self.sides.platform_twist(trees, frames)
        return [row.rate(v, w) for row in self.rows]

    @abstractmethod
    def accelerations(self, motion: MechanismMotion) -> list[Scalar]:
        """Right-hand sides b of M u' = b for the accelerations of the leg's rates, m/s^2 or rad/s^2."""

    def open(self, now: Configuration, frames: JointFrames) -> list[Scalar]:
        """What the rows leave open, r: M u = g(w) + r is Newton's step towards closed loops.

        Args:
            now: all positions.
            frames: gives frames of joints.
        """
        return [0.0] * len(self.rows)

    def wrench(self, multipliers: Sequence[Scalar | None]) -> Wrench:
        """Force and moment (3,): sum of multiplier times direction over rows; None counts nothing."""
        force, moment = ZERO, ZERO
        for row, value in zip(self.rows, multipliers, strict=True):
            if value is not None:
                force = add(force, scale(value, row.force))
                moment = add(moment, scale(value, row.moment))
        return Wrench(force, moment)


@dataclass(frozen=True, eq=False)
class Coupling(Constraint):
    """A coupling of coordinates, which joins no points.

    Attributes:
        joint: its index among the joints.
        of_leg: whether it couples coordinates of a leg, else those of the platform.
    """

    joint: int
    of_leg: bool

    def accelerations(self, motion: MechanismMotion) -> list[Scalar]:
        """0: its factors are constant."""
        return [0.0]

    def open(self, now: Configuration, frames: JointFrames) -> list[Scalar]:
        """What the coordinates leave open: of a leg on the right side of its row, else on the left."""
        gap = coupling_residual(now.robot.joints[self.joint], now.motion)
        return [-gap if self.of_leg else gap]


class LegSpin(Constraint):
    """An idle spin of a body of a leg that is set to zero: e . w = 0, in the axes of the body's node."""

    reports_closure_error = False

    def accelerations(self, motion: MechanismMotion) -> list[Scalar]:
        """-e . w', rad/s^2."""
        return [-dot(row.direction, motion.nodes[self.sides.node].w_dot) for row in self.rows]


@dataclass(frozen=True, eq=False)
class JointClosure(Constraint):
    """A joint that closes a loop.

    Attributes:
        rows: the rows.
        joint: its index among the joints.
        first: whether the leg carries the joint's first frame.
    """

    rows: Sequence[JointRow]
    joint: int
    first: bool

    def accelerations(self, motion: MechanismMotion) -> list[Scalar]:
        """Right-hand sides b of M u' = b, row by row, m/s^2 or rad/s^2."""
        slip = partial(self.relative_velocity, motion.trees, motion.u, motion.frames)
        relative = RelativeMotion(*self.sides.relative(motion), self.first, slip)
        return [row.acceleration(relative) for row in self.rows]

    def open(self, now: Configuration, frames: JointFrames) -> list[Scalar]:
        """What the rows leave open along their directions, m or rad."""
        near, far = frames(self.joint, self.sides.axes)[:: 1 if self.first else -1]
        return _joint_closure_errors(
            now.robot.joints[self.joint], self.rows, near, far, 1.0 if self.first else -1.0
        )


def _joint_closure_errors(
    joint: Joint, rows: Sequence[JointRow], near: Pose, far: Pose, sign: float
) -> list[Scalar]:
    """What rows of a joint leave open between its frames; `sign` is -1 where the near one is its second."""
    _, locked, _ = locked_axes(joint)
    misalignment: Array = ZERO
    if len(locked) == 3:
        parts = [scale(0.5, cross(near.R[:, k], far.R[:, k])) for k in range(3)]
        misalignment = add(add(parts[0], parts[1]), parts[2])
    elif locked:
        misalignment = cross(near.R[:, 2], far.R[:, 2])
    offset = np.asarray(plus(far.p, -near.p))
    return [row.open(offset, misalignment, sign) for row in rows]


@dataclass(frozen=True, eq=False)
class Rod(Constraint):
    """A rod of constant length along d = B - A (3,), m, from the leg's point to the other.

    Attributes:
        link: its masses, and what its rotation requires.
    """

    link: MassPointRod | LineLeg

    @property
    def d(self) -> Array:
        """The vector (3,), m, from the leg's point to the other."""
        return self.rows[0].direction

    def accelerations(self, motion: MechanismMotion) -> list[Scalar]:
        """The right-hand side d . a_rel + v_rel . v_rel of its row, m^2/s^2."""
        if self._moves_on_circle(motion):
            return [self._circle_acceleration(motion)]
        v = self.relative_velocity(motion.trees, motion.u, motion.frames)
        return [dot(self.d, self.sides.gap(motion)) + dot(v, v)]

    def _moves_on_circle(self, motion: MechanismMotion) -> bool:
        """Whether A moves on a circle, and the velocity of B against A is needed for nothing else."""
        trees, sides = motion.trees, self.sides
        if self.platform is None or self.link.resists_rotation(motion.friction):
            return False
        path = trees.path(sides.node, sides.axes)
        return len(path) == 1 and path[0] not in trees.roots and trees.node(path[0]).primitive.is_rotation

    def _circle_acceleration(self, motion: MechanismMotion) -> Scalar:
        """The right-hand side where A moves on a circle, v_A = u c.

            d.a_B + |v|^2 - d.a_A = d.a_B + v_B.v_B - u (2 v_B.c - u k),      k = c.c + d.r

        with r from the axis to A: v_B.v_B is the same for all legs of a platform that does not turn.
        """
        sides, trees, d = self.platform, motion.trees, self.d
        assert sides is not None
        body, B = sides.transmitted
        node = trees.node(sides.node)
        (axis,), (rate,) = node.axes, node.rates
        r = sides.leg_point - dot(axis, sides.leg_point) * axis
        k = dot(r, r) + dot(d, trees.up(sides.node, r, sides.axes))
        c, u = sides.near(trees)[rate][0], motion.u[rate]
        far = trees.down(sides.axes, motion.free[body].acceleration(B))
        v, _ = sides.platform_twist(trees, motion.frames)
        return dot(d, far) + dot(v, v) - u * (2.0 * dot(v, c) - u * k)


@dataclass(frozen=True, eq=False)
class SphericalRod(Rod):
    """A rod between two spherical joints.

    Attributes:
        link: the rod.
        first: whether the leg carries its first end.
    """

    link: MassPointRod
    first: bool
    reports_closure_error = False

    def open(self, now: Configuration, frames: JointFrames) -> list[Scalar]:
        """(d . d - l^2) / 2 of its length l, m^2."""
        return [0.5 * (dot(self.d, self.d) - self.link.length2)]


@dataclass(frozen=True, eq=False)
class DrivenRod(Rod):
    """A leg that is a rod on a driven slider or arm (`legs_by_line`).

    Attributes:
        sides: A and B.
        link: the leg.
        form: the same in the axes of the constraint.
    """

    sides: PlatformSides
    link: LineLeg
    form: LegForm

    def relative_velocity(self, trees: LegTrees, u: dict[int, Scalar], frames: Frames) -> Array:
        """Velocity (3,), m/s, of B relative to A; of a planar leg in its plane."""
        return project_to_plane(self.form, self.sides.relative_velocity(trees, u, frames))

    def line(self, trees: LegTrees) -> Array:
        """B - A (3,), m."""
        return self.d


@dataclass(frozen=True, eq=False)
class Strut(Constraint):
    """A leg that is a strut, joined to the base at A (`legs_by_line`).

    With z an entry of its direction, (d / z) . v_B = (l / z) l' is its row: an entry of it is constant.

    Attributes:
        sides: A and B.
        link: the leg.
        form: the same in the axes of the constraint.
        foot: a constant point of its line, base axes, where moments are counted from such points.
    """

    sides: PlatformSides
    link: LineLeg
    form: LegForm
    foot: Array | None = None

    def relative_velocity(self, trees: LegTrees, u: dict[int, Scalar], frames: Frames) -> Array:
        """Velocity (3,), m/s, of B relative to A; of a planar leg in its plane."""
        return project_to_plane(self.form, self.sides.relative_velocity(trees, u, frames))

    def line(self, trees: LegTrees) -> Array:
        """B - A (3,), m."""
        return self._line_between_points(trees) if self.sides.line is None else self.sides.line.r

    def _line_between_points(self, trees: LegTrees) -> Array:
        """B - A (3,), m, from the places of both points."""
        return np.asarray(plus(trees.from_node(self.sides.axes, self.sides.point), -self.sides.leg_point))

    def accelerations(self, motion: MechanismMotion) -> list[Scalar]:
        """(d . a_rel + v_rel . v_rel - l'^2) / d_k, m/s^2."""
        v, rate = self.relative_velocity(motion.trees, motion.u, motion.frames), motion.u[self.link.rate]
        value = dot(self.rows[0].direction, self.sides.gap(motion))
        up = self._line_between_points(motion.trees)[self.link.up]
        return [value + (dot(v, v) - rate * rate) * divide(1.0, up)]

    @property
    def multiplier_sides(self) -> PlatformSides:
        """Its sides, where forces of multipliers alone act: these may be taken to its foot."""
        return self.sides if self.foot is None else replace(self.sides, point=self.foot, local=None)


LineConstraint = DrivenRod | Strut


@dataclass(frozen=True, eq=False)
class PlatformLoop:
    """A loop between two bodies of the platform, or between one and the base; forces are on the second body.

    Attributes:
        rows: the rows, over the moving rates of the platform, base axes.
        bodies: the first and the second body.
        point: where both meet (3,), base axes, m.
        joint: the joint that closes it; None of an idle spin.
    """

    rows: Sequence[JointRow]
    bodies: tuple[int, int]
    point: Array
    joint: int | None

    def accelerations(self, motion: MechanismMotion) -> list[Scalar]:
        """Second derivatives of the rows where all rates are constant, m/s^2 or rad/s^2."""
        near, far = (motion.frames[body] for body in self.bodies)
        arms = [plus(self.point, -frame.pose.p) for frame in (near, far)]
        gap = add(far.acceleration_at(arms[1]), -near.acceleration_at(arms[0]))
        slip = add(far.velocity_at(arms[1]), -near.velocity_at(arms[0]))
        first, second = (AngularMotion(frame.w, frame.w_dot) for frame in (near, far))
        relative = RelativeMotion(gap, first, second, True, lambda: slip)
        return [row.acceleration(relative) for row in self.rows]

    def open(self, now: Configuration, frames: JointFrames) -> list[Scalar]:
        """What the rows leave open, m or rad: of the second body against the first."""
        if self.joint is None:
            return [0.0] * len(self.rows)
        return _joint_closure_errors(now.robot.joints[self.joint], self.rows, *frames(self.joint, 0), 1.0)

    def over_rates(self, platform: PlatformState) -> PlatformLoop:
        """The same with its rows over the moving rates of the platform."""
        rows = [replace(row, coefficients=self._coefficients(platform, row)) for row in self.rows]
        return replace(self, rows=rows)

    def _coefficients(self, platform: PlatformState, row: Row) -> dict[int, Scalar]:
        """A row f . (v_2 - v_1) + n . (w_2 - w_1) over the moving rates of the platform, by rate."""
        common, f, n = platform.common(*self.bodies), row.force, row.moment
        first, coefficients = (
            platform.generalised_forces(k, self.point, f, n, without=common) for k in self.bodies
        )
        for rate, value in first.items():
            coefficients[rate] = coefficients[rate] - value if rate in coefficients else -value
        return coefficients


# ---- the constraints of a robot


def locked_axes(joint: Joint) -> tuple[list[int], list[int], bool]:
    """Locked offsets, locked rotation axes (of the first frame), and whether a universal cross is locked."""
    offsets = [lock[1] for lock in joint.locks if len(lock) == 2]
    squares = [(lock[1], lock[2]) for lock in joint.locks if len(lock) == 3]
    if not squares:
        return offsets, [], False
    if squares == [(0, 1)]:
        return offsets, [], True
    return offsets, [0, 1, 2] if len(squares) == 3 else [0, 1], False


def rotation_basis(R: Array, axes: list[int]) -> list[Array]:
    """Directions (3,) that span the locked rotations of axes R (3, 3); unit vectors where they can be."""
    if len(axes) in (0, 3):
        return list(_UNIT[: len(axes)])
    free = R[:, 2]
    if free.dtype != object and np.count_nonzero(free) == 1:
        k = int(np.flatnonzero(free)[0])
        return [_UNIT[i] for i in range(3) if i != k]
    return [R[:, k] for k in axes]


def sparse_rotation_basis(R: Array, axes: list[int]) -> list[Array]:
    """The same for a free axis f that is constant, with directions of two entries at most.

    e_i - (f_i / f_m) e_m for the two i other than the largest entry m of f.
    """
    if len(axes) in (0, 3):
        return list(_UNIT[: len(axes)])
    free = R[:, 2]
    size, m = np.abs(sample_values(free)), largest_entry(free)
    return [
        _UNIT[i] if size[i] < _ALIGNED else pack(_UNIT[i] - divide(free[i], free[m]) * _UNIT[m])
        for i in range(3)
        if i != m
    ]


class ClosureAxes(NamedTuple):
    """Axes of a closure's joint frames as columns, on the leg's side and on the other.

    Attributes:
        near: on the leg's side (3, 3).
        far: on the other side (3, 3).
        first: whether the leg carries the joint's first frame.
    """

    near: Array
    far: Array
    first: bool

    def of(self, number: int, axis: int) -> Array:
        """An axis (3,), unit vector in the axes of the rows, of the joint's first (0) or second (1) frame."""
        return (self.near if self.first == (number == 0) else self.far)[:, axis]


def closure_rows(
    joint: Joint,
    size: float,
    twists: Columns,
    axes: ClosureAxes,
    directions: list[Array],
    free: Array | None = None,
) -> tuple[JointRow, ...]:
    """The rows of a joint that closes a loop.

    Args:
        joint: the joint.
        size: of the robot, m.
        twists: for every rate the velocity of the leg's point and the angular velocity.
        axes: of its joint frames.
        directions: that span the locked rotations.
        free: axis of the only free rotation, where it is constant.
    """
    offsets, _, is_cross = locked_axes(joint)
    rows: list[JointRow] = []
    for k in offsets:
        if len(offsets) == 3:
            rows.append(PointRow({rate: v[k] for rate, (v, _) in twists.items()}, _UNIT[k], size))
        else:
            e = axes.of(0, k)
            rows.append(OffsetRow(_translation_coefficients(e, twists), e, size))
    rows += [AngularRow(_rotation_coefficients(e, twists), e, 1.0, free) for e in directions]
    if is_cross:
        e, f = axes.of(0, 0), axes.of(1, 1)
        n = cross(f, e)
        rows.append(CrossRow(_rotation_coefficients(n, twists), n, 1.0, (e, f)))
    return tuple(rows)


def _translation_coefficients(e: Array, twists: Columns) -> dict[int, Scalar]:
    """A row e . v over the rates."""
    return {rate: dot(e, v) for rate, (v, _) in twists.items()}


def _rotation_coefficients(e: Array, twists: Columns) -> dict[int, Scalar]:
    """A row e . w over the rates."""
    return {rate: dot(e, w) for rate, (_, w) in twists.items()}


def _leg_side(trees: LegTrees, first: int, second: int) -> int:
    """Which of two bodies is the leg's: the only one, or the one on a node where the other is the base."""
    return (
        0
        if first in trees.node_frames and (second not in trees.node_frames or trees.node_frames[first].node)
        else 1
    )


def closure_constraint(robot: Robot, trees: LegTrees, platform: PlatformState, index: int) -> JointClosure:
    """A joint that closes a loop of a leg."""
    joint = robot.joints[index]
    bodies = (joint.predecessor, joint.successor)
    frames = (joint.frame_predecessor, joint.frame_successor)
    side = _leg_side(trees, *bodies)
    (node, frame), body, first = trees.node_frames[bodies[side]], bodies[1 - side], side == 0
    near_frame, size = frame @ frames[side], robot.numeric.size
    if body in trees.node_frames:
        far_node, far = trees.node_frames[body]
        near, outer = NodeFrame(node, near_frame), NodeFrame(far_node, far @ frames[1 - side])
        rows, inside = _closure_inside_leg(trees, joint, size, near, outer, first)
        return JointClosure(rows, inside, index, first)
    far_frame = platform.poses[body] @ frames[1 - side]
    far_axes = np.stack([trees.down(node, far_frame.R[:, k]) for k in range(3)], axis=1)
    offsets, locked, _ = locked_axes(joint)
    near_point, point = near_frame.p, far_frame.p
    local: Array | None = frames[1 - side].p
    if 0 < len(offsets) < 3:
        if first:
            # The leg carries the plane or line: its material point under the platform's point.
            near_point = trees.from_node(node, point)
        else:
            # The platform carries it: its material point under the leg's point.
            point, local = trees.point(node, near_frame.p), None
    axes, free = ClosureAxes(near_frame.R, far_axes, first), near_frame.R[:, 2] if len(locked) == 2 else None
    twists = point_unit_twists(trees, node, near_point)
    rows = closure_rows(joint, size, twists, axes, sparse_rotation_basis(near_frame.R, locked), free)
    return JointClosure(rows, PlatformSides(node, node, near_point, body, local, point), index, first)


def _closure_inside_leg(
    trees: LegTrees, joint: Joint, size: float, near: NodeFrame, far: NodeFrame, first: bool
) -> tuple[tuple[JointRow, ...], LegSides]:
    """A loop inside a leg: rows near - far = 0 in the axes of what both have in common."""
    (node, near_frame), (far_node, outer) = near, far
    top = trees.common(node, far_node)
    offsets, locked, _ = locked_axes(joint)
    P, Q = near_frame.p, outer.p
    if 0 < len(offsets) < 3:
        # The side that carries the plane or line: its material point under the other's point.
        if first:
            P = trees.from_node(node, trees.point(far_node, Q, top), top)
        else:
            Q = trees.from_node(far_node, trees.point(node, P, top), top)
    sides = LegSides(top, node, P, far_node, Q)
    near_axes, far_axes = (
        np.stack([trees.up(k, frame.R[:, i], top) for i in range(3)], axis=1) for k, frame in (near, far)
    )
    fixed = {node: near_frame.R, far_node: outer.R}.get(top)
    directions = rotation_basis(far_axes, locked) if fixed is None else sparse_rotation_basis(fixed, locked)
    axes = ClosureAxes(near_axes, far_axes, first)
    return closure_rows(joint, size, _relative_unit_twists(trees, sides), axes, directions), sides


def _relative_unit_twists(trees: LegTrees, sides: LegSides) -> Columns:
    """Columns of the first point of a loop inside a leg less those of the second."""
    difference = dict(sides.near(trees))
    for rate, (v, w) in sides.far(trees).items():
        before = difference.get(rate, Twist(ZERO, ZERO))
        difference[rate] = Twist(add(before.v, -v), add(before.w, -w))
    return difference


def rod_constraint(
    trees: LegTrees, platform: PlatformState, rod: MassPointRod, line: PrescribedLine | None = None
) -> SphericalRod:
    """A rod; its point A is on the leg, or on the platform where B is on the leg.

    Args:
        trees: the legs' frames.
        platform: the platform.
        rod: the rod.
        line: how it moves, base axes, where that is given.
    """
    side = _leg_side(trees, *rod.bodies)
    (node, frame), body = trees.node_frames[rod.bodies[side]], rod.bodies[1 - side]
    A, B = (frame @ Pose(np.eye(3), rod.points[side])).p, rod.points[1 - side]
    sides: Sides
    if body in trees.node_frames:
        far_node, far = trees.node_frames[body]
        Q = (far @ Pose(np.eye(3), B)).p
        top = trees.common(node, far_node)
        d = np.asarray(plus(trees.point(far_node, Q, top), -trees.point(node, A, top)))
        sides = LegSides(top, node, A, far_node, Q)
        twists = _relative_unit_twists(trees, sides)
    else:
        given_point = body in platform.prescribed_frames
        point = platform.point(body, B) if given_point else (platform.poses[body] @ Pose(np.eye(3), B)).p
        # With a single joint the base's axes are cheaper: nothing of the platform's is turned.
        axes = 0 if len(trees.path(node)) <= 1 else node
        if line is not None:
            line = line.through(lambda vector: trees.down(axes, vector))
            d = line.r
        elif axes == 0:
            d = np.asarray(plus(point, -trees.point(node, A)))
        else:
            d = np.asarray(plus(trees.from_node(node, point), -A))
        sides = PlatformSides(axes, node, A, body, B, point, line)
        twists = sides.near(trees)
    return SphericalRod((_rod_row(platform, d, twists),), sides, rod, side == 0)


def _rod_row(platform: PlatformState, d: Array, twists: Columns) -> Row:
    """The row d . v of a rod that lies along d, m^2/s."""
    size = platform.robot.numeric.size
    return Row(_translation_coefficients(d, twists), d, size * size)


def line_constraint(
    trees: LegTrees,
    platform: PlatformState,
    leg: int,
    line_leg: LineLeg,
    line: PrescribedLine | None = None,
    foot: Array | None = None,
) -> LineConstraint:
    """A leg that is a bar, in its own axes where it has some; a strut over an entry of its direction.

    Args:
        trees: the legs' frames.
        platform: the platform.
        leg: index of the leg.
        line_leg: the bar.
        line: how it moves, base axes, where that is given.
        foot: a constant point of a strut's line, base axes, where moments are counted from such points.
    """
    axes = trees.frames.get(leg, 0)
    if line_leg.is_strut:
        node, A = axes, trees.from_node(axes, line_leg.A)
    else:
        node, frame = trees.node_frames[line_leg.carrier]
        A = (frame @ Pose(np.eye(3), line_leg.A)).p
    point = platform.point(line_leg.form.body, line_leg.form.B)
    form = line_leg.in_frame(trees.node(axes).G.R if axes else None)
    if line is not None:
        line = line.through(lambda vector: project_to_plane(form, trees.down(axes, vector)))
        d = line.r
    else:
        d = project_to_plane(
            form, np.asarray(plus(trees.from_node(axes, point), -trees.point(node, A, axes)))
        )
    sides = PlatformSides(axes, node, A, form.body, form.B, point, line)
    if not line_leg.is_strut:
        return DrivenRod(
            (_rod_row(platform, d, point_unit_twists(trees, node, A, axes)),), sides, line_leg, form
        )
    # Of a line that is given the direction alone counts: its length is 1.
    d, length = (d, sqrt(dot(d, d))) if line is None else (line.direction[0], 1.0)
    reciprocal = divide(1.0, d[line_leg.up])
    gain = form.drive.side * (length * reciprocal)
    d = pack([1.0 if k == line_leg.up else d[k] * reciprocal for k in range(3)])
    row = Row({line_leg.rate: gain}, d, platform.robot.numeric.size)
    return Strut((row,), sides, line_leg, form, foot)


_NO_POINTS = LegSides(0, 0, ZERO, 0, ZERO)


def coupling_constraint(robot: Robot, index: int, moving: Container[int] | None = None) -> Coupling:
    """A coupling: its factors over the rates of its joints; of the platform, over its moving rates."""
    joint = robot.joints[index]
    factors: dict[int, Scalar] = dict(coupling_rates(robot, joint))
    if moving is not None:
        factors = {rate: factor for rate, factor in factors.items() if rate in moving}
    row = Row(factors, ZERO, coupling_scale(robot.numeric, joint))
    return Coupling((row,), _NO_POINTS, index, moving is None)


def spin_constraint(trees: LegTrees, body: int, axis: Sequence[float]) -> LegSpin:
    """An idle spin that is set to zero: axis . w = 0, in the axes of the body's node."""
    node, frame = trees.node_frames[body]
    e = frame.R @ np.array(axis)
    row = SpinRow(_rotation_coefficients(e, point_unit_twists(trees, node, ZERO)), e, 1.0)
    return LegSpin((row,), LegSides(node, node, ZERO, node, ZERO))


def platform_loops(robot: Robot, platform: PlatformState) -> list[PlatformLoop | Coupling]:
    """All loops of the platform itself."""
    loops: list[PlatformLoop | Coupling] = []
    for c in robot.platform.closures:
        joint = robot.joints[c]
        if joint.at_point:
            continue
        if joint.is_coupling:
            loops.append(coupling_constraint(robot, c, platform.moving))
            continue
        first = platform.poses[joint.predecessor] @ joint.frame_predecessor
        second: Pose = platform.poses[joint.successor] @ joint.frame_successor
        _, locked, _ = locked_axes(joint)
        axes, size = ClosureAxes(first.R, second.R, True), robot.numeric.size
        rows = closure_rows(joint, size, {}, axes, rotation_basis(first.R, locked))
        loop = PlatformLoop(rows, (joint.predecessor, joint.successor), second.p, c)
        loops.append(loop.over_rates(platform))
    for spin in platform.mechanism.platform_internal_freedoms:
        pose = platform.poses[spin.body]
        row = SpinRow({}, product(pose.R, np.array(spin.axis)), 1.0)
        loops.append(PlatformLoop((row,), (BASE, spin.body), pose.p, None).over_rates(platform))
    return loops
