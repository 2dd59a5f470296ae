"""A robot placed at a configuration, with the decisions of its plan: frames, nacelle, ties.

What is decided, and how, is in `plan`, above the elimination of the legs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from nacelle.kinematics.general.bars import Bar, bars_of, own_axes
from nacelle.kinematics.general.chain import Chains, Idle, chains
from nacelle.kinematics.general.elimination import Order
from nacelle.kinematics.general.nacelle import Nacelle, nacelle_at
from nacelle.kinematics.general.rods import rods_of
from nacelle.kinematics.general.solve import ConstantRows, eliminate, reduced
from nacelle.kinematics.general.ties import Rod, Tie, bar_tie, closure_tie, rod_tie, spin_tie
from nacelle.kinematics.legs.axes import TOLERANCE
from nacelle.kinematics.mechanism.idle import Spin
from nacelle.kinematics.mechanism.mechanism import Mechanism
from nacelle.kinematics.tree.configuration import Configuration, configuration
from nacelle.model.leg import PLATFORM
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array, Scalar, pack


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
    units: tuple[Array, Array]
    constant: ConstantRows | None = None
    left: SolveOrder | None = None

    def solved(self, A: list[list[Scalar]], b: list[Scalar]) -> tuple[Array, Scalar]:
        """The solution of A x = b, and the smallest pivot without units."""
        if self.constant is None or self.left is None:
            found, pivot, *_ = eliminate(A, b, self.pivots, self.units)
            return found, pivot
        A, b, whole = reduced(A, b, self.constant)
        found, pivot = self.left.solved(A, b)
        return whole(found), pivot


class Way(NamedTuple):
    """How the form is written for a robot.

    Attributes:
        direct: whether legs that are bars are known by their line; then the rates of their passive joints
            are not found.
        turned: whether bars are written in axes of their own.
        uneven: whether rods on universal joints with any inertia are bars, too.
    """

    direct: bool = False
    turned: bool = False
    uneven: bool = True


WHOLE = Way()


@dataclass(frozen=True)
class Parts:
    """What of a robot is known by points alone, and idle spins of the rest.

    Attributes:
        rods: bodies that are rods (`find_rods`).
        bars: legs that are bars (`find_bars`).
        omitted: bodies of rods and bars, which have no frames.
        spins: for every leg idle spins of other bodies.
        way: how the form is written.
        up: entry of the directions of struts that never vanishes.
    """

    rods: frozenset[int] = frozenset()
    bars: tuple[int, ...] = ()
    omitted: frozenset[int] = frozenset()
    spins: tuple[tuple[Spin, ...], ...] = ()
    way: Way = WHOLE
    up: int = 2


@dataclass(frozen=True, eq=False)
class Plan:
    """The decisions for a robot.

    Attributes:
        mechanism: its analysis.
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
        idle: for ties (leg, number) a direction in which their force does no work on the nacelle.
    """

    mechanism: Mechanism
    parts: Parts
    legs: tuple[LegOrder, ...]
    own_rows: tuple[int, ...]
    solve: SolveOrder | None
    determinant: float
    dependent: SolveOrder | None
    samples: tuple[tuple[Array, Array], ...]
    margins: tuple[float, ...] = ()
    complete: bool = True
    unit: frozenset[tuple[int, int]] = frozenset()
    idle: dict[tuple[int, int], Idle] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Placed:
    """A robot at a configuration, ready for the general form.

    Attributes:
        robot: the robot; its numbers may be symbols.
        now: all positions.
        chains: the legs' frames.
        nacelle: the nacelle.
        rods: its rods.
        ties: for every leg its ties.
    """

    robot: Robot
    now: Configuration
    chains: Chains
    nacelle: Nacelle
    rods: tuple[Rod, ...]
    ties: tuple[tuple[Tie, ...], ...]


def place(
    robot: Robot,
    mechanism: Mechanism,
    parts: Parts,
    x: Array,
    y: Array,
    *,
    pole: bool = False,
) -> Placed:
    """Place a robot: frames, nacelle and ties; with `pole`, moments count about the first leg's point."""
    return _placed(robot, mechanism, parts, configuration(robot, x, y), pole)


def placed_at(plan: Plan, robot: Robot, now: Configuration) -> Placed:
    """A robot at a configuration, where nothing but its rates is wanted."""
    placed = _placed(robot, plan.mechanism, plan.parts, now, False)
    return replace(placed, chains=replace(placed.chains, joined=False, runs={}))


def _placed(robot: Robot, mechanism: Mechanism, parts: Parts, now: Configuration, pole: bool) -> Placed:
    bars = bars_of(robot, mechanism, parts.bars, parts.up)
    frames = chains(robot, now, parts.omitted, own_axes(bars) if parts.way.turned else {})
    nacelle = replace(nacelle_at(robot, mechanism, now), spread=_is_spread(robot))
    feet = _feet(mechanism, parts, bars) if pole else None
    if pole and _has_pole(mechanism):
        first = _first_point(robot)
        if feet is not None:
            nacelle = replace(nacelle, pole=feet[0])
        elif first is not None:
            start = first if nacelle.spread and _are_struts(mechanism, bars) else None
            nacelle = replace(nacelle, pole=nacelle.point(PLATFORM, first), start=start)
    listed = rods_of(robot, parts.rods)
    ties = tuple(
        (replace(bar_tie(frames, nacelle, k, bars[k]), foot=None if feet is None else feet[k]),)
        if k in bars
        else tuple(_ties(robot, frames, nacelle, k, listed, parts.spins[k]))
        for k in range(len(robot.legs))
    )
    return Placed(robot, now, frames, nacelle, tuple(listed.values()), ties)


def _has_pole(mechanism: Mechanism) -> bool:
    """Whether moments may be taken about any point: with a rotation go the translations across its axis."""
    moving = set(mechanism.independent)
    axes = [k for k in range(3) if 3 + k in moving]
    if not axes or mechanism.dependent or max(moving) > 5:
        return False
    return all({(k + 1) % 3, (k + 2) % 3} <= moving for k in axes)


def _feet(mechanism: Mechanism, parts: Parts, bars: dict[int, Bar]) -> list[Array] | None:
    """Points of the base that all legs stand on as struts, if they lie in a plane across their direction.

    Moments about one of them make three rows of the nacelle's balance constant.
    """
    if len(mechanism.independent) != 6 or parts.way.turned or not _are_struts(mechanism, bars):
        return None
    height = np.array([float(bar.numeric.A[parts.up]) for bar in bars.values()])
    flat = float(np.ptp(height)) <= TOLERANCE * mechanism.robot.size
    # At one height for good.
    level = bars[0].form.A[parts.up]
    points = [[level if k == parts.up else bar.form.A[k] for k in range(3)] for bar in bars.values()]
    return [pack(point) for point in points] if flat else None


def _are_struts(mechanism: Mechanism, bars: dict[int, Bar]) -> bool:
    """Whether all legs are struts: their ends are needed for nothing but their lines."""
    return len(bars) == len(mechanism.robot.legs) and all(bar.is_strut for bar in bars.values())


def is_counted_from_pole(plan: Plan) -> bool:
    """Whether all points of the platform may be counted from the one where the first leg holds it."""
    robot, parts = plan.mechanism.robot, plan.parts
    bars = bars_of(robot, plan.mechanism, parts.bars, parts.up)
    whole = _are_struts(plan.mechanism, bars) and _is_spread(robot) and _has_pole(plan.mechanism)
    return whole and _feet(plan.mechanism, parts, bars) is None


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
    robot: Robot, frames: Chains, nacelle: Nacelle, leg: int, rods: dict[int, Rod], spins: tuple[Spin, ...]
) -> Iterator[Tie]:
    by_closure = {rod.closure: rod for rod in rods.values()}
    for c in robot.legs[leg].closures:
        if c in by_closure:
            yield rod_tie(frames, nacelle, by_closure[c])
        elif not robot.joints[c].at_point:
            yield closure_tie(robot, frames, nacelle, c)
    for spin in spins:
        yield spin_tie(frames, spin.body, spin.axis)


def leg_rates(robot: Robot, parts: Parts, leg: int) -> list[int]:
    """Places in u of a leg's rates, those of rods and bars left out but for their drives."""
    active = active_rates(robot)
    found: list[int] = []
    for j in robot.legs[leg].joints:
        place = robot.v_slices[j]
        rates = range(robot.platform_nv + place.start, robot.platform_nv + place.stop)
        driven = leg in parts.bars and any(rate in active for rate in rates)
        if robot.joints[j].successor not in parts.omitted or driven:
            found += rates
    return found


def active_rates(robot: Robot) -> dict[int, int]:
    """Places in u of actuated joints of the tree, and the actuator's number."""
    return {
        robot.platform_nv + robot.v_slices[actuator.joint].start: k
        for k, actuator in enumerate(robot.actuators)
        if actuator.joint < robot.tree
    }
