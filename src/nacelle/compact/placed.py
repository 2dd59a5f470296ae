"""A robot placed at a configuration, with the decisions of its plan: frames, nacelle, ties.

A leg is a tree of nodes, each in its own axes: E_k = G_R R_k(q) takes them to those of the parent, G the
constant frame of the joint. A tie joins a node to the nacelle, or to another node, and forbids some
components of their relative twist,

    f . (v_2 - v_1) + n . (w_2 - w_1) = 0            a row [f; n] (6,) of the tie, in its own axes

with v at the point of the tie. What of a robot is known by points alone, rods and bars (`Parts`), has neither
nodes nor ties. Moments of the nacelle may be taken about the point where the first leg holds it (the pole),
which takes that leg out of them. What is decided, and how, is in `plan`, above the elimination of the legs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol

import numpy as np

from nacelle.compact.bars.known import Bar, bars_of, own_axes
from nacelle.compact.leg_trees import Idle, LegTrees, leg_trees
from nacelle.compact.nacelle import GivenFrame, MomentPole, PlacedNacelle, nacelle_at
from nacelle.compact.solve import (
    ConstantRows,
    MatrixUnits,
    Order,
    solve_in_order,
    without_constant_rows,
)
from nacelle.compact.ties import (
    GivenLine,
    Tie,
    TieKey,
    bar_tie,
    closure_tie,
    coupling_tie,
    rod_tie,
    spin_tie,
)
from nacelle.kinematics.configuration import Configuration, configuration
from nacelle.kinematics.legs.chain import TOLERANCE
from nacelle.kinematics.legs.rods import MassPointRod, rods_of
from nacelle.kinematics.mechanism.mechanism import Mechanism
from nacelle.model.leg import PLATFORM
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array, Scalar, at_sample, pack
from nacelle.tree.rates import Spin


@dataclass(frozen=True)
class LegOrder:
    """How the rows of a leg are eliminated.

    Attributes:
        order: pivots and rows that are left.
        zeros: entries (row, rate) of M that are always zero.
        kept: rows that are left and decide dependent rates of the nacelle.
        units: what the rows count in.
    """

    order: Order
    zeros: frozenset[tuple[int, int]]
    kept: tuple[int, ...]
    units: tuple[float, ...]


@dataclass(frozen=True)
class SolveOrder:
    """How the nacelle's balance is solved.

    Attributes:
        pivots: (row, column) in their order.
        units: of rows and columns.
        constant: rows that are solved beforehand, where there are some.
        left: how the rest is solved.
    """

    pivots: tuple[tuple[int, int], ...]
    units: MatrixUnits
    constant: ConstantRows | None = None
    left: SolveOrder | None = None

    def solved(self, A: list[list[Scalar]], b: list[Scalar]) -> tuple[Array, Scalar]:
        """The solution of A x = b, and the smallest pivot without units."""
        if self.constant is None or self.left is None:
            solution, pivot, *_ = solve_in_order(A, b, self.pivots, self.units)
            return solution, pivot
        A, b, whole = without_constant_rows(A, b, self.constant)
        solution, pivot = self.left.solved(A, b)
        return whole(solution), pivot


class Way(NamedTuple):
    """How the form is written for a robot.

    Attributes:
        direct: whether legs that are bars are known by their line; then the rates of their passive joints
            are not found.
        bar_axes: whether bars are written in axes of their own.
        asymmetric: whether rods on universal joints with any inertia are bars, too.
    """

    direct: bool = False
    bar_axes: bool = False
    asymmetric: bool = True


WHOLE = Way()


@dataclass(frozen=True)
class Parts:
    """What of a robot is known by points alone, and idle spins of the rest.

    Attributes:
        mechanism: the robot's analysis.
        rods: bodies that are rods (`find_rods`).
        bars: legs that are bars (`find_bars`).
        omitted: bodies of rods and bars, which have no frames.
        spins: for every leg idle spins of other bodies.
        way: how the form is written.
        up: entry of the directions of struts that never vanishes.
    """

    mechanism: Mechanism
    rods: frozenset[int] = frozenset()
    bars: tuple[int, ...] = ()
    omitted: frozenset[int] = frozenset()
    spins: tuple[tuple[Spin, ...], ...] = ()
    way: Way = WHOLE
    up: int = 2

    def bars_of(self, robot: Robot) -> dict[int, Bar]:
        """The bars of the robot with its numbers, which may be symbols."""
        return bars_of(robot, self.bars, self.up)


@dataclass(frozen=True, eq=False)
class CompactPlan:
    """The decisions for a robot.

    Attributes:
        parts: rods, bars and idle spins.
        legs: for every leg its order.
        own_rows: rows of the nacelle's own loops that decide dependent rates.
        solve: how the nacelle's balance is solved; None for up to three unknowns.
        determinant: typical size of the determinant of the balance, for up to three unknowns.
        dependent: how its dependent rates are found; None for up to three.
        samples: sample states (x, y).
        margins: for every leg, and for dependent rates, what squared determinants are multiplied by.
        complete: whether the rows that were not chosen say nothing of the rates, at any state.
        unit: actuators (leg, row) whose force itself is an unknown of the balance: then an entry is constant.
        idle: for ties a direction in which their force does no work on the nacelle.
    """

    parts: Parts
    legs: tuple[LegOrder, ...]
    own_rows: tuple[int, ...] = ()
    solve: SolveOrder | None = None
    determinant: float = 1.0
    dependent: SolveOrder | None = None
    samples: tuple[tuple[Array, Array], ...] = ()
    margins: tuple[float, ...] = ()
    complete: bool = True
    unit: frozenset[tuple[int, int]] = frozenset()
    idle: dict[TieKey, Idle] = field(default_factory=dict)

    @property
    def mechanism(self) -> Mechanism:
        """The robot's analysis."""
        return self.parts.mechanism


@dataclass(frozen=True, eq=False)
class Placed:
    """A robot at a configuration, ready for the compact form.

    Attributes:
        robot: the robot; its numbers may be symbols.
        parts: what of it is known by points alone.
        now: all positions.
        trees: the legs' frames.
        nacelle: the nacelle.
        rods: its rods.
        ties: for every leg its ties.
    """

    robot: Robot
    parts: Parts
    now: Configuration
    trees: LegTrees
    nacelle: PlacedNacelle
    rods: tuple[MassPointRod, ...]
    ties: tuple[tuple[Tie, ...], ...]

    def joint_frames(self, index: int, axes: int) -> tuple[Pose, Pose]:
        """Frames of a joint on its first and its second body, seen from a node (0: from the base)."""
        joint = self.robot.joints[index]
        return (
            self._seen(axes, joint.predecessor, joint.frame_predecessor),
            self._seen(axes, joint.successor, joint.frame_successor),
        )

    def _seen(self, axes: int, body: int, frame: Pose) -> Pose:
        """A frame of a body, seen from a node."""
        trees = self.trees
        if body in trees.place:
            node, own = trees.place[body]
            at, top = own @ frame, trees.common(node, axes)
        else:
            node, at, top = 0, self.nacelle.poses[body] @ frame, 0
        R = [trees.down(axes, trees.up(node, at.R[:, k], top), top) for k in range(3)]
        return Pose(np.stack(R, axis=1), trees.seen(axes, trees.point(node, at.p, top), top))


def place(robot: Robot, parts: Parts, x: Array, y: Array, *, pole: bool = False) -> Placed:
    """Place a robot at a reduced pose x (nx,) with what iteration found, y (ny,): frames, nacelle and ties.

    With `pole`, moments count about the point where the first leg holds the nacelle.
    """
    return place_configured(robot, parts, configuration(robot, x, y), pole=pole)


def place_configured(robot: Robot, parts: Parts, now: Configuration, *, pole: bool = False) -> Placed:
    """The same from all positions."""
    return _placed(robot, parts, now, pole)


class Seen(Protocol):
    """A robot of which more is given than its joints."""

    @property
    def configuration(self) -> Configuration:
        """All positions."""

    @property
    def frames(self) -> Mapping[int, GivenFrame]:
        """Motion of the nacelle's bodies, without gravity."""

    def line(self, leg: int, closure: int | None) -> GivenLine | None:
        """How the rod of a leg that ends at a closure moves, or a leg's only one."""


def place_as_seen(seen: Seen, parts: Parts, *, pole: bool = False) -> Placed:
    """A robot whose rods, struts and points of the nacelle are given by themselves."""
    now = seen.configuration
    return _placed(now.robot, parts, now, pole, seen)


def placed_at(robot: Robot, parts: Parts, now: Configuration) -> Placed:
    """A robot at a configuration, where nothing but its rates is wanted."""
    placed = _placed(robot, parts, now, False)
    return replace(placed, trees=replace(placed.trees, joined=False, runs={}))


def _placed(robot: Robot, parts: Parts, now: Configuration, pole: bool, seen: Seen | None = None) -> Placed:
    mechanism, bars = parts.mechanism, parts.bars_of(robot)
    frames = leg_trees(robot, now, parts.omitted, own_axes(bars) if parts.way.bar_axes else {})
    given = {} if seen is None else seen.frames
    nacelle = replace(nacelle_at(now), spread=_is_spread(robot), given=given)
    feet = _feet(parts, bars) if pole else None
    if pole and _has_pole(mechanism):
        first = _first_point(robot)
        if feet is not None:
            nacelle = replace(nacelle, pole=MomentPole(feet[0]))
        elif first is not None:
            local = first if nacelle.spread and _are_struts(parts, bars) else None
            nacelle = replace(nacelle, pole=MomentPole(nacelle.point(PLATFORM, first), local))
    listed = rods_of(robot, parts.rods)

    def bar(k: int) -> Tie:
        tie = bar_tie(frames, nacelle, k, bars[k], None if seen is None else seen.line(k, None))
        return tie if feet is None else replace(tie, foot=feet[k])

    ties = tuple(
        (bar(k),)
        if k in bars
        else tuple(_ties(robot, frames, nacelle, k, rods=listed, spins=parts.spins[k], seen=seen))
        for k in range(len(robot.legs))
    )
    return Placed(robot, parts, now, frames, nacelle, tuple(listed.values()), ties)


def _has_pole(mechanism: Mechanism) -> bool:
    """Whether moments may be taken about any point: with a rotation go the translations across its axis."""
    moving = set(mechanism.independent)
    axes = [k for k in range(3) if 3 + k in moving]
    if not axes or mechanism.dependent or max(moving) > 5:
        return False
    return all({(k + 1) % 3, (k + 2) % 3} <= moving for k in axes)


def _feet(parts: Parts, bars: dict[int, Bar]) -> list[Array] | None:
    """Points of the base that all legs join as struts, if they lie in a plane across their direction.

    Moments about one of them make three rows of the nacelle's balance constant.
    """
    if len(parts.mechanism.independent) != 6 or parts.way.bar_axes or not _are_struts(parts, bars):
        return None
    height = np.array([float(at_sample(bar.form.A)[parts.up]) for bar in bars.values()])
    flat = float(np.ptp(height)) <= TOLERANCE * parts.mechanism.robot.size
    # At one height for good.
    level = bars[0].form.A[parts.up]
    points = [[level if k == parts.up else bar.form.A[k] for k in range(3)] for bar in bars.values()]
    return [pack(point) for point in points] if flat else None


def _are_struts(parts: Parts, bars: dict[int, Bar]) -> bool:
    """Whether all legs are struts: their ends are needed for nothing but their lines."""
    legs = parts.mechanism.robot.legs
    return 0 < len(bars) == len(legs) and all(bar.is_strut for bar in bars.values())


def is_counted_from_pole(parts: Parts) -> bool:
    """Whether all points of the platform may be counted from the one where the first leg holds it."""
    robot = parts.mechanism.robot
    bars = parts.bars_of(robot)
    whole = _are_struts(parts, bars) and _is_spread(robot) and _has_pole(parts.mechanism)
    return whole and _feet(parts, bars) is None


def _is_spread(robot: Robot) -> bool:
    """Whether the points where legs hold the platform lie in no plane across one of its axes."""
    ends = (
        (body, frame)
        for leg in robot.numeric.legs
        for joint in (robot.numeric.joints[c] for c in leg.closures)
        for body, frame in (
            (joint.predecessor, joint.frame_predecessor),
            (joint.successor, joint.frame_successor),
        )
    )
    points = np.array([frame.p for body, frame in ends if body == PLATFORM]).reshape(-1, 3)
    across = np.ptp(points, axis=0) if len(points) else np.zeros(3)
    return bool(np.all(across > TOLERANCE * robot.numeric.size))


def _first_point(robot: Robot) -> Array | None:
    """The point where the first leg holds the platform, in its frame."""
    for leg in robot.legs:
        for c in leg.closures:
            joint = robot.joints[c]
            if sum(len(lock) == 2 for lock in joint.locks) < 3:
                continue
            for body, frame in (
                (joint.predecessor, joint.frame_predecessor),
                (joint.successor, joint.frame_successor),
            ):
                if body == PLATFORM:
                    return frame.p
    return None


def _ties(
    robot: Robot,
    frames: LegTrees,
    nacelle: PlacedNacelle,
    leg: int,
    *,
    rods: dict[int, MassPointRod],
    spins: tuple[Spin, ...],
    seen: Seen | None,
) -> Iterator[Tie]:
    by_closure = {rod.closure: rod for rod in rods.values()}
    for c in robot.legs[leg].closures:
        if c in by_closure:
            yield rod_tie(frames, nacelle, by_closure[c], None if seen is None else seen.line(leg, c))
        elif robot.joints[c].is_coupling:
            yield coupling_tie(robot, c)
        elif not robot.joints[c].at_point:
            yield closure_tie(robot, frames, nacelle, c)
    for spin in spins:
        yield spin_tie(frames, spin.body, spin.axis)


def leg_rates(parts: Parts, leg: int) -> list[int]:
    """Places in u of a leg's rates, those of rods and bars left out but for their drives."""
    robot = parts.mechanism.robot
    active = active_rates(robot)
    places: list[int] = []
    for j in robot.legs[leg].joints:
        place = robot.v_slices[j]
        rates = range(robot.platform_nv + place.start, robot.platform_nv + place.stop)
        driven = leg in parts.bars and any(rate in active for rate in rates)
        if robot.joints[j].successor not in parts.omitted or driven:
            places += rates
    return places


def active_rates(robot: Robot) -> dict[int, int]:
    """Places in u of actuated joints of the tree, and the actuator's number."""
    return {
        robot.platform_nv + robot.v_slices[actuator.joint].start: k
        for k, actuator in enumerate(robot.actuators)
        if actuator.joint < robot.tree
    }


def is_direct(plan: CompactPlan) -> bool:
    """Whether the nacelle's balance gives the actuators' forces at once: as many as motions, in the tree."""
    count = sum(len(leg.order.active) for leg in plan.legs)
    return count == len(plan.mechanism.independent) == len(plan.mechanism.robot.actuators)
