"""The platform in base axes: its points, its rates as wrenches feel them, and its accelerations.

The point b (3,) of a platform body (origin p, axes c_1, c_2, c_3 as columns of R) is at p + sum b_k c_k, so
that its velocity and its acceleration are those of the origin and the same sums over

    c_k' = w x c_k          c_k'' = w' x c_k + w x c_k'

which all points of a body have in common. Where points lie in no common plane with the axes, the matrix T of
w' x r + w x (w x r) over r = R b is shorter. Along the rates of the platform a wrench (f at r, n) is, by
equal power at unit rate,

    translation k   f_k                     revolute joint, axis e at o   e . (n + (r - o) x f)
    rotation k      (n + arm x f)_k         prismatic joint               e . f

arm from the platform's origin, or from the pole about which moments are taken. N, N m, m, base axes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from nacelle.compact.vectors import ZERO, acceleration_matrix, add, all_zero, cross_nonzero, scale
from nacelle.kinematics.configuration import Configuration
from nacelle.kinematics.mechanism.mechanism import Mechanism
from nacelle.model.joint import Primitive
from nacelle.model.leg import BASE, PLATFORM
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array, Scalar, dot, pack, plus, product
from nacelle.tree.spanning_tree import transform_pose


@dataclass(frozen=True)
class PlatformAxis:
    """A rate of a joint of the platform: its axis and a point of it, base axes, and whether it turns."""

    rate: int
    axis: Array
    origin: Array
    is_rotation: bool


@dataclass(frozen=True, eq=False)
class MovingFrame:
    """A platform body in motion: origin and axes with first and second derivatives, base axes, (3,) each.

    Attributes:
        pose: orientation (3, 3) and origin of the body, m.
        w: angular velocity, rad/s.
        w_dot: its derivative, rad/s^2.
        v: velocity of the origin, m/s.
        a: acceleration of the origin, m/s^2.
        spread: whether points are found with T.
    """

    pose: Pose
    w: Array
    w_dot: Array
    v: Array
    a: Array
    spread: bool = False

    def with_gravity(self, gravity: Array) -> MovingFrame:
        """The same motion with an acceleration of gravity (3,), base axes, m/s^2, taken off."""
        return replace(self, a=add(self.a, -gravity))

    @cached_property
    def columns_dot(self) -> list[Array]:
        """c_k' = w x c_k (3,) for the three axes, base axes, 1/s."""
        return [cross_nonzero(self.w, self.pose.R[:, k]) for k in range(3)]

    @cached_property
    def columns_ddot(self) -> list[Array]:
        """c_k'' = w' x c_k + w x c_k' (3,) for the three axes, base axes, 1/s^2."""
        R = self.pose.R
        if self.spread:
            return [self.relative(R[:, k]) for k in range(3)]
        return [
            add(cross_nonzero(self.w_dot, R[:, k]), cross_nonzero(self.w, self.columns_dot[k]))
            for k in range(3)
        ]

    def velocity(self, b: Array) -> Array:
        """Velocity v + w x R b (3,), base axes, m/s, of a point b (3,) of the body, given in its frame."""
        if self.spread:
            return add(self.v, cross_nonzero(self.w, product(self.pose.R, b)))
        return add(self.v, weighted_sum(self.columns_dot, b))

    def acceleration(self, b: Array) -> Array:
        """Acceleration a + T R b (3,), base axes, m/s^2, of a point b (3,) given in the body's frame."""
        if self.spread:
            return add(self.a, self.relative(product(self.pose.R, b)))
        return add(self.a, weighted_sum(self.columns_ddot, b))

    @cached_property
    def _acceleration_matrix(self) -> Array:
        return acceleration_matrix(self.w, self.w_dot)

    def relative(self, r: Array) -> Array:
        """Acceleration w' x r + w x (w x r) (3,) of the point at r relative to the origin, base axes."""
        still = all_zero(r) or (all_zero(self.w) and all_zero(self.w_dot))
        return ZERO if still else product(self._acceleration_matrix, r)

    def velocity_at(self, r: Array) -> Array:
        """Velocity v + w x r (3,) of the point at r (3,) from the origin, base axes, m/s."""
        return add(self.v, cross_nonzero(self.w, r))

    def acceleration_at(self, r: Array) -> Array:
        """Acceleration a + w' x r + w x (w x r) (3,) of the point at r from the origin, base axes."""
        return add(self.a, _relative_acceleration(self.w, self.w_dot, r))


class PrescribedPoint(NamedTuple):
    """A point of a platform body whose motion is given: in the body's frame (3,), and p, p', p''."""

    local: Array
    p: Array
    v: Array
    a: Array


@dataclass(frozen=True, eq=False, kw_only=True)
class PrescribedFrame(MovingFrame):
    """A platform body of which some points are given with their motion, and need not be found from its own.

    Attributes:
        points: the points.
        rates: c_k' and c_k'' (2, 3, 3) of its axes where these are given, too.
    """

    points: tuple[PrescribedPoint, ...] = ()
    rates: Array | None = None

    @cached_property
    def columns_dot(self) -> list[Array]:
        """c_k' (3,) for the three axes, base axes, 1/s."""
        return super().columns_dot if self.rates is None else list(self.rates[0])

    @cached_property
    def columns_ddot(self) -> list[Array]:
        """c_k'' (3,) for the three axes, base axes, 1/s^2."""
        return super().columns_ddot if self.rates is None else list(self.rates[1])

    def prescribed_point(self, b: Array) -> PrescribedPoint | None:
        """The given point at b (3,), m, in the body's frame; None if no point is there."""
        return next((point for point in self.points if np.array_equal(point.local, b)), None)

    def velocity(self, b: Array) -> Array:
        """Velocity (3,), base axes, m/s, of a point b (3,) given in the body's frame."""
        point = self.prescribed_point(b)
        return super().velocity(b) if point is None else point.v

    def acceleration(self, b: Array) -> Array:
        """Acceleration (3,), base axes, m/s^2, of a point b (3,) given in the body's frame."""
        point = self.prescribed_point(b)
        return super().acceleration(b) if point is None else point.a

    def with_gravity(self, gravity: Array) -> MovingFrame:
        """The same motion with an acceleration of gravity (3,), base axes, m/s^2, taken off."""
        points = tuple(point._replace(a=add(point.a, -gravity)) for point in self.points)
        return replace(self, a=add(self.a, -gravity), points=points)


@dataclass(frozen=True, eq=False, kw_only=True)
class PoleFrame(MovingFrame):
    """A platform body in motion whose points are counted from one of them, the pole b_0.

        v(b) = v(b_0) + w x R (b - b_0)          a(b) = a(b_0) + T R (b - b_0)

    Attributes:
        pole: b_0 (3,), in the body's frame, m.
        prescribed: acceleration of the pole, where it is given instead of that of the origin.
    """

    pole: Array
    prescribed: Array | None = None

    def velocity(self, b: Array) -> Array:
        """Velocity v(b_0) + w x R (b - b_0) (3,), base axes, m/s, of a point b (3,) given in its frame."""
        return add(self._at_pole[0], cross_nonzero(self.w, from_pole(self.pose.R, b, self.pole)))

    def acceleration(self, b: Array) -> Array:
        """Acceleration a(b_0) + T R (b - b_0) (3,), base axes, of a point b (3,) given in its frame."""
        return add(self._at_pole[1], self.relative(from_pole(self.pose.R, b, self.pole)))

    @cached_property
    def _at_pole(self) -> tuple[Array, Array]:
        """Velocity and acceleration of the pole."""
        r = product(self.pose.R, self.pole)
        return self.velocity_at(r), add(
            self.a, self.relative(r)
        ) if self.prescribed is None else self.prescribed

    def with_pole_at(self, a: Array) -> PoleFrame:
        """The same motion but for the acceleration of the pole, which is a (3,), base axes, m/s^2."""
        return replace(self, a=add(a, -self.relative(product(self.pose.R, self.pole))), prescribed=a)


def from_pole(R: Array, b: Array, pole: Array) -> Array:
    """R (b - b_0) (3,), base axes, m: a point of a body from its pole, both given in its frame."""
    away = np.asarray(plus(b, -pole))
    return ZERO if all_zero(away) else product(R, away)


class MomentPole(NamedTuple):
    """A point about which moments on the platform count.

    Attributes:
        point: base axes, m.
        local: the same point in the platform's frame, where the platform's points are counted from it.
    """

    point: Array
    local: Array | None = None


def weighted_sum(columns: list[Array], b: Array) -> Array:
    """Sum of b_k c_k; terms with b_k = 0 are left out."""
    total: Array = ZERO
    for entry, column in zip(b.tolist(), columns, strict=True):
        total = add(total, scale(entry, column))
    return total


@dataclass(frozen=True, eq=False)
class PlatformState:
    """The platform at a configuration.

    Attributes:
        robot: the robot.
        mechanism: its analysis.
        poses: of its bodies.
        axes: for every body the rates of joints between the platform and it.
        steps: for every joint its rates, primitive by primitive.
        moving: rates that are not always zero.
        pole: where moments on the platform are counted from; its origin if None.
        spread: whether the points where legs hold the platform lie in no plane across one of its axes.
        prescribed_frames: bodies of which some points are given.
        base_bodies: bodies that the platform does not move: the base, and what hangs on it alone.
    """

    robot: Robot
    mechanism: Mechanism
    poses: dict[int, Pose]
    axes: dict[int, tuple[PlatformAxis, ...]]
    steps: dict[int, tuple[tuple[PlatformAxis, ...], ...]]
    moving: tuple[int, ...]
    pole: MomentPole | None = None
    spread: bool = False
    prescribed_frames: Mapping[int, PrescribedFrame] = field(default_factory=dict)
    base_bodies: frozenset[int] = frozenset()

    def point(self, body: int, b: Array) -> Array:
        """A point of a body, given in its frame, in base axes: p + R b (3,), m."""
        given_point = (
            self.prescribed_frames[body].prescribed_point(b) if body in self.prescribed_frames else None
        )
        if given_point is not None:
            return given_point.p
        pose = self.poses[body]
        if self.pole is None or self.pole.local is None or body != PLATFORM:
            return (pose @ Pose(np.eye(3), b)).p
        return add(self.pole.point, from_pole(pose.R, b, self.pole.local))

    def frames(self, w: dict[int, Scalar], w_dot: dict[int, Scalar]) -> dict[int, MovingFrame]:
        """All bodies at rates w, by place in u, and their derivatives; rates that are not given are zero."""
        platform = self.poses[PLATFORM]
        linear, angular = _linear_and_angular(self.robot, w)
        linear_dot, angular_dot = _linear_and_angular(self.robot, w_dot)
        motion = (platform, angular, angular_dot, linear, linear_dot, self.spread)
        local = None if self.pole is None else self.pole.local
        frames = {PLATFORM: MovingFrame(*motion) if local is None else PoleFrame(*motion, pole=local)}
        if self.base_bodies:
            frames[BASE] = MovingFrame(self.poses[BASE], ZERO, ZERO, ZERO, ZERO)
        for j in self.robot.platform.joints:
            joint = self.robot.joints[j]
            parent = frames[joint.predecessor]
            omega, omega_dot = parent.w, parent.w_dot
            point = (parent.pose @ joint.frame_predecessor).p
            arm = plus(point, -parent.pose.p)
            v, a = parent.velocity_at(arm), parent.acceleration_at(arm)
            for group in self.steps[j]:
                joint_rate, joint_rate_dot = _axis_velocity(group, w), _axis_velocity(group, w_dot)
                if group[0].is_rotation:
                    omega_dot = add(add(omega_dot, cross_nonzero(omega, joint_rate)), joint_rate_dot)
                    omega = add(omega, joint_rate)
                    continue
                offset = plus(group[0].origin, -point)
                slip = cross_nonzero(omega, joint_rate)
                v = add(add(v, cross_nonzero(omega, offset)), joint_rate)
                a = add(
                    add(a, _relative_acceleration(omega, omega_dot, offset)),
                    add(joint_rate_dot, add(slip, slip)),
                )
                point = group[0].origin
            child = self.poses[joint.successor]
            arm = plus(child.p, -point)
            v, a = add(v, cross_nonzero(omega, arm)), add(a, _relative_acceleration(omega, omega_dot, arm))
            frames[joint.successor] = MovingFrame(child, omega, omega_dot, v, a)
        return frames

    def generalised_forces(
        self,
        body: int,
        point: Array,
        force: Array,
        moment: Array,
        local: Array | None = None,
        *,
        without: frozenset[int] = frozenset(),
    ) -> dict[int, Scalar]:
        """What a wrench (force at a point, moment; base axes, N, N m) on a body is along the moving rates.

        Args:
            body: the body.
            point: where the force acts (3,), base axes, m.
            force: the force (3,), base axes, N.
            moment: the moment (3,) about that point, base axes, N m.
            local: the same point in the body's frame, if it is fixed there.
            without: rates that are left out.
        """
        forces: dict[int, Scalar] = {}
        rates = set(self.moving) - without
        if body in self.base_bodies:
            rates -= set(range(self.robot.platform_nv))
        for k in range(3):
            if k in rates:
                forces[k] = force[k]
        if any(k in rates for k in (3, 4, 5)) and self.robot.platform_nv == 6:
            arm = self._arm(body, point, local)
            about = add(moment, cross_nonzero(arm, force))
            forces |= {3 + k: about[k] for k in range(3) if 3 + k in rates}
        for axis in self.axes[body]:
            if axis.rate in rates:
                if axis.is_rotation:
                    about = add(moment, cross_nonzero(plus(point, -axis.origin), force))
                    forces[axis.rate] = dot(axis.axis, about)
                else:
                    forces[axis.rate] = dot(axis.axis, force)
        return forces

    def common(self, first: int, second: int) -> frozenset[int]:
        """Rates that move two bodies as one."""
        shared = {axis.rate for axis in self.axes[first]} & {axis.rate for axis in self.axes[second]}
        if (first in self.base_bodies) == (second in self.base_bodies):
            shared |= set(range(self.robot.platform_nv))
        return frozenset(shared)

    def _arm(self, body: int, point: Array, local: Array | None) -> Array:
        """A point from the pole, base axes."""
        if self.pole is None:
            return np.asarray(plus(point, -self.poses[PLATFORM].p))
        if self.pole.local is not None and local is not None and body == PLATFORM:
            return from_pole(self.poses[PLATFORM].R, local, self.pole.local)
        return np.asarray(plus(point, -self.pole.point))


def _axis_velocity(group: tuple[PlatformAxis, ...], w: dict[int, Scalar]) -> Array:
    """Velocity along the axes of a primitive, base axes."""
    total: Array = ZERO
    for axis in group:
        total = add(total, scale(w.get(axis.rate, 0.0), axis.axis))
    return total


def _relative_acceleration(w: Array, w_dot: Array, arm: Array) -> Array:
    """Acceleration of a point of a body relative to another: w' x arm + w x (w x arm)."""
    return add(cross_nonzero(w_dot, arm), cross_nonzero(w, cross_nonzero(w, arm)))


def _linear_and_angular(robot: Robot, w: dict[int, Scalar]) -> tuple[Array, Array]:
    linear = pack([w.get(k, 0.0) for k in range(3)])
    if robot.platform_nv == 3:
        return linear, ZERO
    return linear, pack([w.get(k, 0.0) for k in range(3, 6)])


def platform_state(now: Configuration) -> PlatformState:
    """The platform at a configuration."""
    robot, mechanism = now.robot, now.mechanism
    starts = np.cumsum([0, *(len(joint.primitives) for joint in robot.tree_joints)])
    poses = {body: now.motion.poses[body] for body in robot.platform.bodies}
    poses[PLATFORM] = now.motion.poses[PLATFORM]
    axes: dict[int, tuple[PlatformAxis, ...]] = {PLATFORM: ()}
    grounded: set[int] = set()
    joints = (*robot.platform.joints, *robot.platform.closures)
    at_base = any(BASE in (robot.joints[j].predecessor, robot.joints[j].successor) for j in joints)
    if at_base or mechanism.platform_internal_freedoms:
        poses[BASE], axes[BASE] = now.motion.poses[BASE], ()
        grounded.add(BASE)
    steps: dict[int, tuple[tuple[PlatformAxis, ...], ...]] = {}
    for j in robot.platform.joints:
        joint = robot.joints[j]
        pose = poses[joint.predecessor] @ joint.frame_predecessor
        rate = robot.platform_nv + robot.v_slices[j].start
        groups: list[tuple[PlatformAxis, ...]] = []
        for number, primitive in enumerate(joint.primitives):
            pose = pose @ transform_pose(primitive, now.steps[starts[j] + number])
            along = range(3) if primitive is Primitive.SPHERICAL else (primitive.axis,)
            groups.append(
                tuple(
                    PlatformAxis(rate + i, pose.R[:, k], pose.p, primitive.is_rotation)
                    for i, k in enumerate(along)
                )
            )
            rate += primitive.nv
        steps[j] = tuple(groups)
        if joint.predecessor in grounded:
            grounded.add(joint.successor)
        axes[joint.successor] = (*axes[joint.predecessor], *(axis for group in groups for axis in group))
    moving = (*mechanism.independent, *mechanism.dependent)
    return PlatformState(robot, mechanism, poses, axes, steps, moving, base_bodies=frozenset(grounded))
