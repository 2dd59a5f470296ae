"""A robot placed at a configuration, with the decisions of its plan: frames, nacelle, ties.

What is decided, and how, is in `plan`, above the elimination of the legs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from nacelle.kinematics.configuration import Configuration, configuration
from nacelle.kinematics.general.chain import Chains, Idle, chains
from nacelle.kinematics.general.elimination import Order
from nacelle.kinematics.general.nacelle import Nacelle, nacelle_at
from nacelle.kinematics.general.rods import rods_of
from nacelle.kinematics.general.ties import Rod, Tie, closure_tie, rod_tie, spin_tie
from nacelle.kinematics.mechanism import Mechanism
from nacelle.kinematics.mobility import Spin
from nacelle.model.leg import PLATFORM
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array


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
    """

    pivots: tuple[tuple[int, int], ...]
    units: tuple[Array, Array]


@dataclass(frozen=True, eq=False)
class Plan:
    """The decisions for a robot.

    Attributes:
        known: its analysis.
        rods: bodies that are rods (`find_rods`).
        spins: for every leg idle spins of other bodies.
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

    known: Mechanism
    rods: frozenset[int]
    spins: tuple[tuple[Spin, ...], ...]
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
    known: Mechanism,
    rods: frozenset[int],
    spins: tuple[tuple[Spin, ...], ...],
    x: Array,
    y: Array,
    *,
    pole: bool = False,
) -> Placed:
    """Place a robot: frames, nacelle and ties; with `pole`, moments count about the first leg's point."""
    return _placed(robot, known, rods, spins, configuration(robot, known, x, y), pole)


def placed_at(plan: Plan, robot: Robot, now: Configuration) -> Placed:
    """A robot at a configuration, where nothing but its rates is wanted."""
    placed = _placed(robot, plan.known, plan.rods, plan.spins, now, False)
    return replace(placed, chains=replace(placed.chains, joined=False, runs={}))


def _placed(
    robot: Robot,
    known: Mechanism,
    rods: frozenset[int],
    spins: tuple[tuple[Spin, ...], ...],
    now: Configuration,
    pole: bool,
) -> Placed:
    frames = chains(robot, now, rods)
    nacelle = nacelle_at(robot, known, now)
    if pole and _has_pole(known):
        nacelle = replace(nacelle, pole=_first_point(robot, nacelle))
    listed = rods_of(robot, rods)
    ties = tuple(tuple(_ties(robot, frames, nacelle, k, listed, spins[k])) for k in range(len(robot.legs)))
    return Placed(robot, now, frames, nacelle, tuple(listed.values()), ties)


def _has_pole(known: Mechanism) -> bool:
    """Whether moments may be taken about any point: all translations are independent, all rotations too."""
    return set(range(6)) <= set(known.independent)


def _first_point(robot: Robot, nacelle: Nacelle) -> Array | None:
    """The point where the first leg holds the platform."""
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
                    return (nacelle.poses[PLATFORM] @ frame).p
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


def leg_rates(robot: Robot, known: Mechanism, rods: frozenset[int], leg: int) -> list[int]:
    """Places in u of a leg's rates, those of rods left out."""
    found: list[int] = []
    for j in robot.legs[leg].joints:
        if robot.joints[j].successor not in rods:
            place = robot.v_slices[j]
            found += range(robot.platform_nv + place.start, robot.platform_nv + place.stop)
    return found


def active_rates(robot: Robot) -> dict[int, int]:
    """Places in u of actuated joints of the tree, and the actuator's number."""
    return {
        robot.platform_nv + robot.v_slices[actuator.joint].start: k
        for k, actuator in enumerate(robot.actuators)
        if actuator.joint < robot.tree
    }
