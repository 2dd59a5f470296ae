"""What is decided from numbers before anything is traced: rods, orders of elimination, dependent rates.

Sample states are closed configurations around the reference. Every decision has a margin far above rounding,
and the first of equals is taken, so that it is the same on every machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np

from nacelle.kinematics.assembly import advance, held_rates, rate_scale, row_scale, solve_closures
from nacelle.kinematics.branch import branch_numbers
from nacelle.kinematics.configuration import Configuration, configuration
from nacelle.kinematics.general.chain import Chains, Idle, chains
from nacelle.kinematics.general.elimination import Order, factorise, find_order
from nacelle.kinematics.general.nacelle import Nacelle, nacelle_at
from nacelle.kinematics.general.rods import find_rods, rods_of
from nacelle.kinematics.general.ties import Rod, Tie, closure_tie, rod_tie, spin_tie
from nacelle.kinematics.margins import NEAR_MARGIN, margins
from nacelle.kinematics.mechanism import Mechanism, mechanism
from nacelle.kinematics.mobility import Spin
from nacelle.kinematics.rates import rate_map
from nacelle.model.leg import PLATFORM
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array

_FILLED = 1e-11
_SAMPLES = 12
# So many of them decide about pivots.
_PIVOT_SAMPLES = 6
# So many of them are held against the tree, to this part: a wrong decision would be off by far more.
_CHECKED, _SAME = 2, 1e-6


@dataclass(frozen=True)
class LegOrder:
    """How the rows of a leg are eliminated.

    Attributes:
        order: pivots and rows that are left.
        zeros: entries (row, rate) of M that are always zero.
        kept: rows that are left and decide dependent rates of the nacelle.
        sizes: for every pivot row a typical size of its pivot.
    """

    order: Order
    zeros: frozenset[tuple[int, int]]
    kept: tuple[int, ...]
    sizes: dict[int, float]


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
    unit: frozenset[tuple[int, int]] = frozenset()
    idle: dict[tuple[int, int], Idle] = field(default_factory=dict)


def sample_states(known: Mechanism, count: int, seed: int = 7) -> list[tuple[Array, Array]]:
    """Closed configurations (x, y) around the reference, moved along the independent coordinates."""
    robot, start = known.robot, known.assembly
    rng = np.random.default_rng(seed)
    held = held_rates(robot)
    scale = rate_scale(robot)
    nacelle = held.copy()
    nacelle[list(known.w_rates)] = True
    found = [known.reference]
    reach, tries = 0.3, 0
    while len(found) < count and tries < 12 * count:
        tries += 1
        step = np.where(held, rng.uniform(0.3, 1.0, held.size) * rng.choice([-1, 1], held.size), 0.0)
        pose, q = advance(robot, start.platform, start.q, reach * step * scale)
        pose, q, _, _ = solve_closures(robot, pose, q, nacelle)
        pose, q, _, state = solve_closures(robot, pose, q, held)
        if np.max(np.abs(state.residual / row_scale(robot)), initial=0.0) > 1e-12:
            reach *= 0.8
            continue
        x, rest = known.chart.coordinates(pose)
        for name in robot.motion.joint_names:
            x[known.layout.x_index(name)] = q[robot.q_slices[robot.joint(name)]][0]
        y = known.unknowns(rest, q)
        if _on_branch(known, x, y):
            found.append((x, y))
        else:
            reach *= 0.8
    return found


def _on_branch(known: Mechanism, x: Array, y: Array) -> bool:
    """Whether a closed configuration is on the branch of the reference, and near no serial singularity.

    Newton's iteration may have gone elsewhere: a nacelle that only translates may have tilted.
    """
    robot = known.robot
    now = configuration(robot, known, x, y)
    near = np.asarray(margins(robot, known, now), dtype=float)
    signs = np.asarray(branch_numbers(robot, known, now, y), dtype=float)
    return bool(np.all(near > NEAR_MARGIN) and np.all(signs > 0.0))


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


def plan_of(robot: Robot) -> Plan:
    """The plan of a robot, made once from its numbers."""
    own = robot.numeric
    return _plan(own, own.all_names)


def is_served(robot: Robot) -> bool:
    """Whether the general form gives a robot's rates as the equivalent tree does, at sample states.

    It should, for every robot; where it does not, the tree is taken.
    """
    own = robot.numeric
    return robot.is_like_numeric and _agrees(own, own.all_names)


@lru_cache(maxsize=64)
def _agrees(robot: Robot, names: tuple[str, ...]) -> bool:
    from nacelle.kinematics.general.legs import eliminated

    try:
        plan = _plan(robot, names)
        for x, y in plan.samples[:_CHECKED]:
            now = configuration(robot, plan.known, x, y)
            legs = eliminated(plan, placed_at(plan, robot, now))
            U = np.asarray(rate_map(robot, plan.known, now), dtype=float)
            for k, unit in enumerate(np.eye(U.shape[1])):
                w = legs.nacelle_rates(unit)
                rates = {**w, **legs.rates(legs.placed.nacelle.frames(w, {}, np.zeros(3)))}
                error = max(abs(float(value) - U[rate, k]) for rate, value in rates.items())
                if not error <= _SAME * np.max(np.abs(U[:, k])):
                    return False
    except (ArithmeticError, AssertionError, IndexError, KeyError, ValueError, np.linalg.LinAlgError):
        return False
    return True


@lru_cache(maxsize=64)
def _plan(robot: Robot, names: tuple[str, ...]) -> Plan:
    from nacelle.kinematics.general.balance import (
        dependent_order,
        idle_directions,
        rows_that_decide,
        solve_order,
        unit_forces,
    )

    del names
    known = mechanism(robot)
    rods = find_rods(known)
    spins = tuple(tuple(s for s in plan.spins if s.body not in rods) for plan in known.legs)
    with np.errstate(all="ignore"):
        states = sample_states(known, _SAMPLES)
        placed = [place(robot, known, rods, spins, x, y, pole=True) for x, y in states[:_PIVOT_SAMPLES]]
    legs = []
    for k in range(len(robot.legs)):
        legs.append(_leg_order(known, rods, placed, k))
    legs, own_rows = rows_that_decide(known, placed, legs)
    first = Plan(known, rods, spins, tuple(legs), own_rows, None, 1.0, None, tuple(states))
    first = replace(first, dependent=dependent_order(first, placed), idle=idle_directions(first, placed))
    first = replace(first, unit=unit_forces(first, placed))
    order, determinant = solve_order(first, placed)
    return replace(first, solve=order, determinant=determinant)


def active_rates(robot: Robot) -> dict[int, int]:
    """Places in u of actuated joints of the tree, and the actuator's number."""
    return {
        robot.platform_nv + robot.v_slices[actuator.joint].start: k
        for k, actuator in enumerate(robot.actuators)
        if actuator.joint < robot.tree
    }


def _leg_order(known: Mechanism, rods: frozenset[int], placed: list[Placed], leg: int) -> LegOrder:
    robot = known.robot
    rates = leg_rates(robot, known, rods, leg)
    scale = dict(zip(range(len(rate_scale(robot))), rate_scale(robot), strict=True))
    samples = []
    prices: list[float] = []
    for at in placed:
        rows = [row for tie in at.ties[leg] for row in tie.rows]
        unit = [1.0 if row.kind in ("angular", "cross", "spin") else robot.size for row in rows]
        unit = [u * robot.size if row.kind == "rod" else u for u, row in zip(unit, rows, strict=True)]
        samples.append(
            [
                [float(row.coefficients.get(rate, 0.0)) * scale[rate] / u for rate in rates]
                for row, u in zip(rows, unit, strict=True)
            ]
        )
        prices = [0.0 if row.kind in ("point", "rod") else 1.0 for row in rows]
    M = np.array(samples).reshape(len(placed), len(prices), len(rates))
    filled = np.max(np.abs(M), axis=0) > _FILLED
    zeros = frozenset(
        (i, rates[j]) for i in range(len(prices)) for j in range(len(rates)) if not filled[i, j]
    )
    M[:, ~filled] = 0.0
    order = find_order(M, rates, frozenset(active_rates(robot)), prices)
    sizes: dict[int, list[float]] = {}
    for at in placed:
        coefficients = [row.coefficients for tie in at.ties[leg] for row in tie.rows]
        for place_, pivot in factorise(coefficients, order, zeros).pivots.items():
            sizes.setdefault(place_, []).append(abs(float(pivot)))
    return LegOrder(order, zeros, (), {row: max(values) for row, values in sizes.items()})
