"""A robot placed at a configuration, with the decisions of its plan: frames, platform, constraints.

A leg is a tree of nodes, each in its own axes: E_k = G_R R_k(q) takes them to those of the parent, G the
constant frame of the joint. A constraint joins a node to the platform, or to another node, and forbids some
components of their relative twist,

    f . (v_2 - v_1) + n . (w_2 - w_1) = 0            a row [f; n] (6,) of it, in its own axes

with v at its point. What of a robot is known by points alone, rods and bars (`Parts`), has no nodes. Moments
of the platform may be taken about the point where the first leg holds it (the pole), which takes that leg out
of them. What is decided, and how, is in `plan`, above the elimination of the legs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from nacelle.compact.constraints import (
    Constraint,
    ConstraintKey,
    JointClosure,
    LineConstraint,
    closure_constraint,
    coupling_constraint,
    line_constraint,
    rod_constraint,
    spin_constraint,
)
from nacelle.compact.leg_trees import LegTrees, WorklessDirection, leg_trees
from nacelle.compact.line_legs.known import LineLeg, line_leg_axes, line_legs
from nacelle.compact.platform import MomentPole, PlatformState, PrescribedFrame, platform_state
from nacelle.compact.sides import PrescribedLine
from nacelle.compact.solve import EliminationOrder, SolveOrder
from nacelle.kinematics.configuration import Configuration
from nacelle.kinematics.legs.chain import TOLERANCE
from nacelle.kinematics.mechanism.mechanism import Mechanism
from nacelle.kinematics.mechanism.rods import MassPointRod, mass_point_rods
from nacelle.model.joint import Joint
from nacelle.model.leg import PLATFORM
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array, pack, sample_values
from nacelle.tree.rates import InternalFreedom
from nacelle.tree.spanning_tree import joint_rate_indices


@dataclass(frozen=True)
class LegOrder:
    """How the rows of a leg are eliminated.

    Attributes:
        order: pivots and rows that are left.
        zeros: entries (row, rate) of M that are always zero.
        kept: rows that are left and decide dependent rates of the platform.
        units: what the rows count in.
    """

    order: EliminationOrder
    zeros: frozenset[tuple[int, int]]
    kept: tuple[int, ...]
    units: tuple[float, ...]


class FormOptions(NamedTuple):
    """How the form is written for a robot.

    Attributes:
        direct: whether legs that are bars are known by their line; then the rates of their passive joints
            are not found.
        line_axes: whether bars are written in axes of their own.
        asymmetric: whether rods on universal joints with any inertia are bars, too.
    """

    direct: bool = False
    line_axes: bool = False
    asymmetric: bool = True


ALL_JOINTS = FormOptions()


@dataclass(frozen=True)
class Parts:
    """What of a robot is known by points alone, and idle spins of the rest.

    Attributes:
        mechanism: the robot's analysis.
        rods: bodies that are rods (`rods`).
        legs_by_line: legs that are bars (`find_line_legs`).
        omitted_bodies: bodies of rods and bars, which have no frames.
        spins: for every leg idle spins of other bodies.
        form_options: how the form is written.
        up: entry of the directions of struts that never vanishes.
    """

    mechanism: Mechanism
    rods: frozenset[int] = frozenset()
    legs_by_line: tuple[int, ...] = ()
    omitted_bodies: frozenset[int] = frozenset()
    spins: tuple[tuple[InternalFreedom, ...], ...] = ()
    form_options: FormOptions = ALL_JOINTS
    up: int = 2

    def struts_of(self, robot: Robot) -> dict[int, LineLeg]:
        """The bars of the robot with its numbers, which may be symbols."""
        return line_legs(robot, self.legs_by_line, self.up)


@dataclass(frozen=True, eq=False)
class CompactPlan:
    """The decisions for a robot.

    Attributes:
        parts: rods, bars and idle spins.
        legs: for every leg its order.
        loop_rows: rows of the platform's own loops that decide dependent rates.
        solve: how the platform's balance is solved; None for up to three unknowns.
        determinant: typical size of the determinant of the balance, for up to three unknowns.
        dependent: how its dependent rates are found; None for up to three.
        margins: for every leg, and for dependent rates, what squared determinants are multiplied by.
        distances: for every one of `iterated_distances`, what it is multiplied by.
        is_complete: whether the rows that were not chosen say nothing of the rates, at any state.
        unit: actuators (leg, row) whose force itself is an unknown of the balance: then an entry is constant.
        workless: for constraints a direction in which their force does no work on the platform.
    """

    parts: Parts
    legs: tuple[LegOrder, ...]
    loop_rows: tuple[int, ...] = ()
    solve: SolveOrder | None = None
    determinant: float = 1.0
    dependent: SolveOrder | None = None
    margins: tuple[float, ...] = ()
    distances: tuple[float, ...] = ()
    is_complete: bool = True
    unit: frozenset[tuple[int, int]] = frozenset()
    workless: dict[ConstraintKey, WorklessDirection] = field(default_factory=dict)

    @property
    def mechanism(self) -> Mechanism:
        """The robot's analysis."""
        return self.parts.mechanism

    @property
    def active_rows(self) -> list[tuple[int, int]]:
        """For every actuator of the tree its leg and row, in the order of the balance's unknowns."""
        return [(k, row) for k, leg in enumerate(self.legs) for row, _ in leg.order.active]


@dataclass(frozen=True, eq=False)
class ConfiguredRobot:
    """A robot at a configuration, ready for the compact form.

    Attributes:
        robot: the robot; its numbers may be symbols.
        parts: what of it is known by points alone.
        now: all positions.
        trees: the legs' frames.
        platform: the platform.
        rods: its rods.
        constraints: for every leg its constraints.
    """

    robot: Robot
    parts: Parts
    now: Configuration
    trees: LegTrees
    platform: PlatformState
    rods: tuple[MassPointRod, ...]
    constraints: tuple[tuple[Constraint, ...], ...]

    @cached_property
    def all_constraints(self) -> tuple[Constraint, ...]:
        """The constraints of all legs."""
        return tuple(constraint for constraints in self.constraints for constraint in constraints)

    @property
    def joint_closures(self) -> list[JointClosure]:
        """Those of joints that close loops of legs."""
        return [closure for closure in self.all_constraints if isinstance(closure, JointClosure)]

    @property
    def legs_by_line(self) -> list[LineConstraint]:
        """Those of legs that are bars."""
        return [line_leg for line_leg in self.all_constraints if isinstance(line_leg, LineConstraint)]

    def joint_frames(self, index: int, axes: int) -> tuple[Pose, Pose]:
        """Frames of a joint on its first and its second body, seen from a node (0: from the base)."""
        joint = self.robot.joints[index]
        return (
            self._frame_from_node(axes, joint.predecessor, joint.frame_predecessor),
            self._frame_from_node(axes, joint.successor, joint.frame_successor),
        )

    def _frame_from_node(self, axes: int, body: int, frame: Pose) -> Pose:
        """A frame of a body, seen from a node."""
        trees = self.trees
        if body in trees.node_frames:
            node, pose = trees.node_frames[body]
            at, top = pose @ frame, trees.common(node, axes)
        else:
            node, at, top = 0, self.platform.poses[body] @ frame, 0
        R = [trees.down(axes, trees.up(node, at.R[:, k], top), top) for k in range(3)]
        return Pose(np.stack(R, axis=1), trees.from_node(axes, trees.point(node, at.p, top), top))


class MeasuredElements(Protocol):
    """A robot of which more is given than its joints."""

    @property
    def frames(self) -> Mapping[int, PrescribedFrame]:
        """Motion of the platform's bodies, without gravity."""

    def line(self, leg: int, closure: int | None) -> PrescribedLine | None:
        """How the rod of a leg that ends at a closure moves, or a leg's only one."""


def configure_for_rates(parts: Parts, now: Configuration) -> ConfiguredRobot:
    """Place a robot at a configuration, where nothing but its rates is wanted."""
    configured = configure_robot(parts, now)
    return replace(configured, trees=replace(configured.trees, joined=False, runs={}))


def configure_robot(
    parts: Parts, now: Configuration, *, pole: bool = False, sensed: MeasuredElements | None = None
) -> ConfiguredRobot:
    """Place a robot at a configuration: frames, platform and constraints.

    Args:
        parts: what of it is known by points alone.
        now: all positions.
        pole: whether moments count about the point where the first leg holds the platform.
        sensed: its rods, struts and points of the platform, where these are given by themselves.
    """
    robot = now.robot
    mechanism, legs_by_line = parts.mechanism, parts.struts_of(robot)
    frames = leg_trees(
        robot, now, parts.omitted_bodies, line_leg_axes(legs_by_line) if parts.form_options.line_axes else {}
    )
    given_frames = {} if sensed is None else sensed.frames
    platform = replace(platform_state(now), spread=_is_nonplanar(robot), prescribed_frames=given_frames)
    feet = _coplanar_anchors(parts, legs_by_line) if pole else None
    if pole and _has_pole(mechanism):
        first = _first_point(robot)
        if feet is not None:
            platform = replace(platform, pole=MomentPole(feet[0]))
        elif first is not None:
            local = first if platform.spread and _are_struts(parts, legs_by_line) else None
            platform = replace(platform, pole=MomentPole(platform.point(PLATFORM, first), local))
    rods = {rod.closure: rod for rod in mass_point_rods(robot, parts.rods).values()}

    def of_leg(k: int) -> Iterator[Constraint]:
        """The constraints of a leg."""
        if k in legs_by_line:
            foot, line = None if feet is None else feet[k], None if sensed is None else sensed.line(k, None)
            yield line_constraint(frames, platform, k, legs_by_line[k], line, foot)
            return
        for c in robot.legs[k].closures:
            if c in rods:
                line = None if sensed is None else sensed.line(k, c)
                yield rod_constraint(frames, platform, rods[c], line)
            elif robot.joints[c].is_coupling:
                yield coupling_constraint(robot, c)
            elif not robot.joints[c].at_point:
                yield closure_constraint(robot, frames, platform, c)
        for spin in parts.spins[k]:
            yield spin_constraint(frames, spin.body, spin.axis)

    constraints = tuple(tuple(_number_constraints(k, of_leg(k))) for k in range(len(robot.legs)))
    return ConfiguredRobot(robot, parts, now, frames, platform, tuple(rods.values()), constraints)


def _number_constraints(leg: int, constraints: Iterable[Constraint]) -> Iterator[Constraint]:
    """Constraints of a leg that know their number and their rows among those of the leg."""
    start = 0
    for number, constraint in enumerate(constraints):
        yield replace(constraint, key=ConstraintKey(leg, number), start=start)
        start += len(constraint.rows)


def _has_pole(mechanism: Mechanism) -> bool:
    """Whether moments may be taken about any point: with a rotation go the translations across its axis."""
    moving = set(mechanism.independent)
    axes = [k for k in range(3) if 3 + k in moving]
    if not axes or mechanism.dependent or max(moving) > 5:
        return False
    return all({(k + 1) % 3, (k + 2) % 3} <= moving for k in axes)


def _coplanar_anchors(parts: Parts, legs_by_line: dict[int, LineLeg]) -> list[Array] | None:
    """Points of the base that all legs join as struts, if they lie in a plane across their direction.

    Moments about one of them make three rows of the platform's balance constant.
    """
    if (
        len(parts.mechanism.independent) != 6
        or parts.form_options.line_axes
        or not _are_struts(parts, legs_by_line)
    ):
        return None
    height = np.array([float(sample_values(line_leg.form.A)[parts.up]) for line_leg in legs_by_line.values()])
    flat = float(np.ptp(height)) <= TOLERANCE * parts.mechanism.robot.size
    # All at one height, in every pose.
    level = legs_by_line[0].form.A[parts.up]
    points = [
        [level if k == parts.up else line_leg.form.A[k] for k in range(3)]
        for line_leg in legs_by_line.values()
    ]
    return [pack(point) for point in points] if flat else None


def _are_struts(parts: Parts, legs_by_line: dict[int, LineLeg]) -> bool:
    """Whether all legs are struts: their ends are needed for nothing but their lines."""
    legs = parts.mechanism.robot.legs
    return 0 < len(legs_by_line) == len(legs) and all(line_leg.is_strut for line_leg in legs_by_line.values())


def uses_pole(parts: Parts) -> bool:
    """Whether all points of the platform may be counted from the one where the first leg holds it."""
    robot = parts.mechanism.robot
    legs_by_line = parts.struts_of(robot)
    applies = _are_struts(parts, legs_by_line) and _is_nonplanar(robot) and _has_pole(parts.mechanism)
    return applies and _coplanar_anchors(parts, legs_by_line) is None


def _platform_points(robot: Robot) -> Iterator[tuple[Joint, Array]]:
    """The joints by which legs hold the platform, leg by leg, and their points in its frame (3,), m."""
    for joint in (robot.joints[c] for leg in robot.legs for c in leg.closures):
        if joint.predecessor == PLATFORM:
            yield joint, joint.frame_predecessor.p
        if joint.successor == PLATFORM:
            yield joint, joint.frame_successor.p


def _is_nonplanar(robot: Robot) -> bool:
    """Whether the points where legs hold the platform lie in no plane across one of its axes."""
    points = np.array([point for _, point in _platform_points(robot.numeric)]).reshape(-1, 3)
    across = np.ptp(points, axis=0) if len(points) else np.zeros(3)
    return bool(np.all(across > TOLERANCE * robot.numeric.size))


def _first_point(robot: Robot) -> Array | None:
    """The point where the first leg holds the platform, in its frame."""
    locked = (p for joint, p in _platform_points(robot) if sum(len(lock) == 2 for lock in joint.locks) == 3)
    return next(locked, None)


def leg_rates(parts: Parts, leg: int) -> list[int]:
    """Places in u of a leg's rates, those of rods and bars left out but for their drives."""
    robot = parts.mechanism.robot
    active = active_rates(robot)
    indices: list[int] = []
    for j in robot.legs[leg].joints:
        rates = joint_rate_indices(robot, (j,))
        driven = leg in parts.legs_by_line and any(rate in active for rate in rates)
        if robot.joints[j].successor not in parts.omitted_bodies or driven:
            indices += rates
    return indices


def active_rates(robot: Robot) -> dict[int, int]:
    """Places in u of actuated joints of the tree, and the actuator's number."""
    return {
        joint_rate_indices(robot, (actuator.joint,))[0]: k
        for k, actuator in enumerate(robot.actuators)
        if actuator.joint < robot.tree
    }


def has_square_balance(plan: CompactPlan) -> bool:
    """Whether the platform's balance gives the actuators' forces at once: as many as motions, in the tree."""
    return len(plan.active_rows) == len(plan.mechanism.independent) == len(plan.mechanism.robot.actuators)
