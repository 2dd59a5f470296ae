"""The equations of a robot that proofs are about: loops that close, and numbers that are to be positive.

At a pose x (nx,) and unknowns z (nz,), the passive coordinates that have no closed form,

    loops(x, z) = 0        closure equations over the robot's size, as many as unknowns
    coordinates(x, z)      of all axes with limits, rad or m
    margins(x, z)          of all legs, 0 at a serial singularity
    J(x, z)                J_r^-1 without units: rates of the actuators from the reduced twist

with the equations of `nacelle.kinematics`. A rod between two spherical joints is left out of the unknowns:
its orientation follows from its ends A and B, and its closure is that of its length l,

    (|B - A|^2 - l^2) / (2 l s) = 0,      s the robot's size,

which is quadratic, and says nothing about its spin. Quaternions in x are divided by their length. Everything
is traced to programs with the robot's numbers as they are (doubles), and these are what a proof is about.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from nacelle.compile.interval import BoxFunction
from nacelle.errors import NacelleError
from nacelle.kinematics.configuration import Configuration, configuration
from nacelle.kinematics.kinematic_model import jacobian_at
from nacelle.kinematics.legs.serial import aim_spherical
from nacelle.kinematics.margins import margin_names, margins
from nacelle.kinematics.mechanism.mechanism import Mechanism, mechanism_of
from nacelle.kinematics.shapes import jacobian_scales
from nacelle.model.joint import JointKind, Primitive
from nacelle.model.robot import Robot
from nacelle.program.interval import derivative_program, directional_program
from nacelle.program.program import Program
from nacelle.program.trace import trace
from nacelle.shapes.configured import ConfiguredRobot
from nacelle.shapes.solid import Rod
from nacelle.spatial.interval import round_down, round_up
from nacelle.spatial.physics import compact_form
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array, Scalar, divide, dot, pack, sqrt
from nacelle.tree.closure import closure_residual


class ProofError(NacelleError):
    """A proof cannot be attempted as asked."""


class Capsule(NamedTuple):
    """All points within `radius` of the line from `start` to `stop` (3,), m, in the frame of a body."""

    body: int
    start: Array
    stop: Array
    radius: float


class Limit(NamedTuple):
    """A limit of a joint or an actuator.

    Attributes:
        name: of what it limits.
        axis: joint and number of its axis.
        side: 1 if the coordinate is to be above it, -1 if below.
        value: rad, m, or the cosine of a tilt.
    """

    name: str
    axis: tuple[int, int]
    side: float
    value: float


class _Rod(NamedTuple):
    """A rod between two spherical joints: its joint in the tree, its closure, and its quaternion in y."""

    joint: int
    closure: int
    y: slice


@dataclass(frozen=True, eq=False)
class RobotEquations:
    """The equations of a robot, and their programs.

    Attributes:
        robot: the robot.
        capsules: whose ends are outputs of `quantities`, (capsules, 2, 3) in the base, m.
    """

    robot: Robot
    capsules: tuple[Capsule, ...] = ()

    @property
    def mechanism(self) -> Mechanism:
        """The analysis of the robot."""
        return mechanism_of(self.robot)

    # ---- unknowns

    @cached_property
    def _rods(self) -> tuple[_Rod, ...]:
        robot, rods = self.robot, []
        for axis in self.mechanism.iterated_axes:
            body = robot.joints[axis.joint].successor
            at_body = [
                k for k, joint in enumerate(robot.joints) if body in (joint.predecessor, joint.successor)
            ]
            ends = [k for k in at_body if k != axis.joint]
            if (
                robot.joints[axis.joint].kind is JointKind.SPHERICAL
                and len(ends) == 1
                and ends[0] >= robot.tree
                and robot.joints[ends[0]].kind in (JointKind.SPHERICAL, JointKind.POINT)
                and len(robot.joints[ends[0]].locks) == 3
            ):
                rods.append(_Rod(axis.joint, ends[0], axis.y))
        return tuple(rods)

    @cached_property
    def kept(self) -> tuple[int, ...]:
        """Places in y of the unknowns z."""
        left_out = {k for rod in self._rods for k in range(rod.y.start, rod.y.stop)}
        return tuple(k for k in range(self.mechanism.unknown_count) if k not in left_out)

    @property
    def pose_size(self) -> int:
        """How many numbers x has."""
        return self.mechanism.layout.nx

    @property
    def unknown_count(self) -> int:
        """How many unknowns z has."""
        return len(self.kept)

    @property
    def reference(self) -> tuple[Array, Array]:
        """The reference pose as (x, z)."""
        x, y = self.mechanism.reference
        return x, y[list(self.kept)]

    def configuration(self, x: Array, z: Array) -> Configuration:
        """The robot at a pose and unknowns, of any scalar."""
        x, y = self._unit_pose(x), self._passive_coordinates(z)
        if self._rods:
            # Rods are last in the tree: nothing else depends on where they point.
            now = configuration(self.robot, x, y)
            for rod in self._rods:
                at, d, u = self._rod_ends(now, rod)
                reference = self.mechanism.reference[1][rod.y]
                y[rod.y] = list(aim_spherical(d, at.R.T @ u, reference))
        return configuration(self.robot, x, y)

    def _unit_pose(self, x: Array) -> Array:
        quaternion = self.mechanism.layout.quaternion
        if quaternion is None:
            return x
        quat = x[quaternion]
        unit = quat * divide(1.0, sqrt(dot(quat, quat)))
        return pack([*x[: quaternion.start], *unit, *x[quaternion.stop :]])

    def _passive_coordinates(self, z: Array) -> Array:
        y = np.array(self.mechanism.reference[1], dtype=object)
        y[list(self.kept)] = list(z)
        return pack(list(y))

    def _rod_ends(self, now: Configuration, rod: _Rod) -> tuple[Pose, Array, Array]:
        """Frame of the rod's joint, the rod from there in its own axes, and the way to its other end, m."""
        joint, closure = self.robot.joints[rod.joint], self.robot.joints[rod.closure]
        on_first = closure.predecessor == joint.successor
        inner, outer = closure.frame_predecessor, closure.frame_successor
        body = closure.successor
        if not on_first:
            inner, outer, body = outer, inner, closure.predecessor
        at = now.motion.poses[joint.predecessor] @ joint.frame_predecessor
        d = (joint.frame_successor.inverse() @ inner).p
        return at, d, (now.motion.poses[body] @ outer).p - at.p

    # ---- equations

    def loops(self, x: Array, z: Array) -> Array:
        """What the loops leave open (nz,)."""
        if not self.unknown_count:
            return np.zeros(0)
        y, mechanism, size = self._passive_coordinates(z), self.mechanism, self.robot.size
        now = configuration(self.robot, self._unit_pose(x), y)
        residual = closure_residual(self.robot, now.motion)
        gaps: list[Scalar] = [residual[row] / mechanism.row_scale[row] for row in self._plain_rows]
        for rod in self._rods:
            _, d, u = self._rod_ends(now, rod)
            square = dot(d, d)
            gaps.append((dot(u, u) - square) / (2.0 * np.sqrt(float(square)) * size))
        for axis in mechanism.iterated_axes:
            if axis.primitive is Primitive.SPHERICAL and axis.y.start in self.kept:
                gaps.append((dot(y[axis.y], y[axis.y]) - 1.0) * 0.5)
        if len(gaps) != self.unknown_count:
            raise ProofError(
                f"{self.robot.name} has {len(gaps)} closure equations for {self.unknown_count} unknowns: a "
                "leg that is solved numerically is overconstrained, or has a body that spins freely other "
                "than a rod between two spherical joints; proofs need as many equations as unknowns"
            )
        return pack(gaps)

    @cached_property
    def _plain_rows(self) -> tuple[int, ...]:
        """Closure equations that iteration solves, without those of rods."""
        slices = self.mechanism.assembly.closures.rows
        of_rods = [slices[rod.closure - self.robot.tree] for rod in self._rods]
        return tuple(
            row for row in self.mechanism.iterated_rows if not any(s.start <= row < s.stop for s in of_rods)
        )

    @property
    def margin_names(self) -> tuple[str, ...]:
        """To whom the margins belong."""
        return margin_names(self.mechanism)

    def quantities(self, x: Array, z: Array) -> dict[str, Array]:
        """The numbers that proofs bound: "coordinates" with limits, "margins", "J", "ends" of capsules."""
        now = self.configuration(x, z)
        rows, columns = jacobian_scales(self.robot)
        values = [self._limited_value(now, *axis) for axis in self._limited_axes]
        poses = now.motion.poses
        ends = [
            (poses[capsule.body].R @ end) + poses[capsule.body].p
            for capsule in self.capsules
            for end in (capsule.start, capsule.stop)
        ]
        return {
            "coordinates": pack(values) if values else np.zeros(0),
            "margins": compact_form(margins)(now),
            "J": compact_form(jacobian_at)(now)["J"] / rows[:, None] * columns,
            "ends": np.stack(ends).reshape(-1, 2, 3) if ends else np.zeros((0, 2, 3)),
        }

    @cached_property
    def limits(self) -> tuple[Limit, ...]:
        """The limits of joints and actuators, one by one."""
        robot = self.robot
        ranges = [
            (joint.name, (j, k), interval)
            for j, joint in enumerate(robot.joints)
            for k, interval in enumerate(joint.limits)
            if not joint.is_coupling
        ]
        ranges += [(actuator.name, (actuator.joint, 0), actuator.position) for actuator in robot.actuators]
        limits = []
        for name, axis, (low, high) in ranges:
            if robot.joints[axis[0]].primitives[axis[1]] is Primitive.SPHERICAL:
                if high < np.pi:
                    # Tilts count by their cosine, which falls; that of the limit is rounded up.
                    limits.append(Limit(f"the tilt of {name}", axis, 1.0, float(np.cos(high)) + 2.0**-52))
                continue
            if np.isfinite(low):
                limits.append(Limit(f"{name} from below", axis, 1.0, float(low)))
            if np.isfinite(high):
                limits.append(Limit(f"{name} from above", axis, -1.0, float(high)))
        return tuple(limits)

    @cached_property
    def _limited_axes(self) -> tuple[tuple[int, int], ...]:
        """Axes (joint, number) with limits."""
        return tuple(dict.fromkeys(limit.axis for limit in self.limits))

    def _limited_value(self, now: Configuration, j: int, k: int) -> Scalar:
        """The coordinate of an axis, rad or m; of a spherical joint the cosine of its tilt."""
        joint, poses = self.robot.joints[j], now.motion.poses
        if joint.primitives[k] is not Primitive.SPHERICAL:
            return now.coordinate(j, k)
        first = poses[joint.predecessor].R @ joint.frame_predecessor.R
        second = poses[joint.successor].R @ joint.frame_successor.R
        return dot(first[:, 2], second[:, 2])

    def ways_to_limits(self, coordinates: Array) -> Array:
        """Bounds (..., limits, 2) of the ways to all limits from bounds of "coordinates" (..., axes, 2).

        They are in rad or m, of tilts differences of cosines.
        """
        index = [self._limited_axes.index(limit.axis) for limit in self.limits]
        side, value = (np.array([limit[k] for limit in self.limits]) for k in (2, 3))
        chosen = coordinates[..., index, :]
        low = np.where(side > 0.0, chosen[..., 0] - value, value - chosen[..., 1])
        high = np.where(side > 0.0, chosen[..., 1] - value, value - chosen[..., 0])
        return np.stack([round_down(low), round_up(high)], axis=-1)

    # ---- programs

    @cached_property
    def programs(self) -> dict[str, Program]:
        """The traced equations: "loops" and "quantities"."""
        shapes = {"x": (self.pose_size,), "z": (self.unknown_count,)}
        return {
            "loops": trace(lambda x, z: {"loops": self.loops(x, z)}, shapes, "loops").program(),
            "quantities": trace(self.quantities, shapes, "quantities").program(),
        }

    @cached_property
    def loop_values(self) -> BoxFunction:
        """Bounds of the loops."""
        return BoxFunction(self.programs["loops"])

    @cached_property
    def loop_slopes(self) -> BoxFunction:
        """Bounds of the loops' derivative along directions."""
        return BoxFunction(directional_program(self.programs["loops"]))

    @cached_property
    def loop_jacobian(self) -> BoxFunction:
        """Bounds of the loops' Jacobian by the unknowns."""
        return BoxFunction(derivative_program(self.programs["loops"], ["z"]))

    @cached_property
    def values(self) -> BoxFunction:
        """Bounds of the quantities."""
        return BoxFunction(self.programs["quantities"])

    @cached_property
    def slopes(self) -> BoxFunction:
        """Bounds of the quantities' derivative along directions."""
        return BoxFunction(directional_program(self.programs["quantities"]))


@lru_cache(maxsize=16)
def robot_equations(robot: Robot, *, capsules: bool = False) -> RobotEquations:
    """The equations of a robot, traced once; with the capsules of its legs if asked for."""
    return RobotEquations(robot.numeric, leg_capsules(robot.numeric) if capsules else ())


def leg_capsules(robot: Robot) -> tuple[Capsule, ...]:
    """The rods of all bodies of legs: those of the description, or what the joints suggest."""
    poses = mechanism_of(robot).assembly.motion.poses
    configured = ConfiguredRobot(robot, poses)
    capsules = []
    for body in (body for leg in robot.legs for body in leg.bodies):
        inverse = poses[body].inverse()
        rods = (solid.transform(inverse) for solid in configured.solids(body) if isinstance(solid, Rod))
        capsules += [Capsule(body, rod.start, rod.stop, rod.radius) for rod in rods]
    return tuple(capsules)


def apart_pairs(robot: Robot, capsules: tuple[Capsule, ...]) -> Array:
    """Pairs (P, 2) of capsules of different legs whose bodies no joint connects."""
    leg_of = {body: k for k, leg in enumerate(robot.legs) for body in leg.bodies}
    joined = {frozenset((joint.predecessor, joint.successor)) for joint in robot.joints}
    pairs = [
        (i, j)
        for i, first in enumerate(capsules)
        for j, second in enumerate(capsules[:i])
        if leg_of[first.body] != leg_of[second.body] and frozenset((first.body, second.body)) not in joined
    ]
    return np.array(pairs, dtype=int).reshape(-1, 2)
