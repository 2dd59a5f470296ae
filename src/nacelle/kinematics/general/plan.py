"""What is decided from numbers before anything is traced: rods, orders of elimination, dependent rates.

Sample states are closed configurations around the reference. Every decision has a margin far above rounding,
and the first of equals is taken, so that it is the same on every machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from nacelle.kinematics.assembly import advance, held_rates, rate_scale, row_scale, solve_closures
from nacelle.kinematics.branch import branch_numbers
from nacelle.kinematics.configuration import Configuration, configuration
from nacelle.kinematics.general.chain import Chains, chains
from nacelle.kinematics.general.elimination import Order, find_order
from nacelle.kinematics.general.nacelle import Nacelle, nacelle_at
from nacelle.kinematics.general.rods import find_rods, rods_of
from nacelle.kinematics.general.solve import constant_columns, pivot_order
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
    """A robot at a configuration."""
    return _placed(robot, plan.known, plan.rods, plan.spins, now, False)


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
    legs, own_rows, complete = _decide(known, placed, legs)
    complete &= all(_says_nothing(known, leg, rods, k) for k, leg in enumerate(legs))
    first = Plan(
        *(known, rods, spins, tuple(legs), own_rows, None, 1.0, None, tuple(states)), complete=complete
    )
    first = replace(first, dependent=_dependent_order(first, placed))
    order, determinant = _solve_order(first, placed)
    return replace(first, solve=order, determinant=determinant, margins=_margin_scales(first, placed))


def _margin_scales(plan: Plan, placed: list[Placed]) -> tuple[float, ...]:
    """What makes squared determinants of legs and dependent rates the dense margins, at the median sample."""
    from nacelle.kinematics.general.legs import eliminated
    from nacelle.kinematics.general.margins import leg_determinant, nacelle_determinant

    known = plan.known
    if known.closed_form:
        return ()
    ratios = []
    for at in placed:
        legs = eliminated(plan, at)
        values = [float(leg_determinant(legs, k)) for k in range(len(plan.legs))]
        values += [float(nacelle_determinant(legs))] if known.dependent else []
        dense = np.asarray(margins(known.robot, known, at.now), dtype=float)
        ratios.append(dense / np.maximum(np.square(values), 1e-300))
    return tuple(float(ratio) for ratio in np.median(np.array(ratios), axis=0))


def _says_nothing(known: Mechanism, leg: LegOrder, rods: frozenset[int], index: int) -> bool:
    """Whether the rows of a leg that remain and are not kept are zero for good."""
    rates = leg_rates(known.robot, known, rods, index)
    return all((row, rate) in leg.zeros for row in leg.order.left if row not in leg.kept for rate in rates)


def _order_of(tables: Array, unit: Array) -> SolveOrder:
    """An order for square matrices (samples, n, n) whose rows have units."""
    C = np.where(np.max(np.abs(tables), axis=0) < _FILLED * np.max(np.abs(tables)), 0.0, tables)
    C = C / unit[None, :, None]
    size = np.median(np.max(np.abs(C), axis=1), axis=0)
    return SolveOrder(
        pivot_order(C / np.where(size > 0.0, size, 1.0)), (unit, np.where(size > 0.0, size, 1.0))
    )


def _dependent_order(plan: Plan, placed: list[Placed]) -> SolveOrder | None:
    """Pivots for the dependent rates of the nacelle that are strong at all samples."""
    from nacelle.kinematics.general.legs import eliminated

    count = len(plan.known.dependent)
    if count < 2:
        return None
    D = np.stack([np.asarray(eliminated(plan, at).D, dtype=float) for at in placed])
    if count <= 3 and not constant_columns(D).any():
        return None
    return _order_of(D, np.median(np.max(np.abs(D), axis=2), axis=0))


def _solve_order(plan: Plan, placed: list[Placed]) -> tuple[SolveOrder | None, float]:
    """Pivots of the nacelle's balance that are strong at all samples; for up to three, its determinant."""
    from nacelle.kinematics.general.legs import eliminated

    known = plan.known
    n = len(known.independent)
    count = sum(len(leg.order.active) for leg in plan.legs)
    if count != n:
        return None, 1.0
    tables = []
    for at in placed:
        legs = eliminated(plan, at)
        rows = [
            legs.along_v(legs.felt[k, row]) for k, leg in enumerate(plan.legs) for row, _ in leg.order.active
        ]
        tables.append(np.array([[float(value) for value in row] for row in rows]).T)
    C = np.stack(tables)
    if n <= 3:
        return None, float(np.max(np.abs(np.linalg.det(C))))
    return _order_of(C, 1.0 / rate_scale(known.robot)[list(known.independent)]), 1.0


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
    units: list[float] = []
    for at in placed:
        rows = [row for tie in at.ties[leg] for row in tie.rows]
        units = [1.0 if row.kind in ("angular", "cross", "spin") else robot.size for row in rows]
        units = [u * robot.size if row.kind == "rod" else u for u, row in zip(units, rows, strict=True)]
        samples.append(
            [
                [float(row.coefficients.get(rate, 0.0)) * scale[rate] / u for rate in rates]
                for row, u in zip(rows, units, strict=True)
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
    return LegOrder(order, zeros, (), tuple(units))


def _decide(
    known: Mechanism, placed: list[Placed], legs: list[LegOrder]
) -> tuple[list[LegOrder], tuple[int, ...], bool]:
    """Choose the rows that decide the dependent rates of the nacelle: those that are most independent.

    Beside them it says whether the nacelle's own rows that were not chosen are zero for good.
    """
    if not known.dependent:
        return legs, (), True
    from nacelle.kinematics.general.legs import eliminated

    scale = rate_scale(known.robot)[list(known.dependent)]
    tables = []
    for at in placed:
        trial = [LegOrder(leg.order, leg.zeros, leg.order.left, leg.units) for leg in legs]
        found = eliminated(Plan(known, frozenset(), (), tuple(trial), (), None, 1.0, None, ()), at)
        rows = [loop.coefficients(at.nacelle, row) for loop in found.loops for row in loop.tie.rows]
        own = len(rows)
        keys = [(k, row) for k, leg in enumerate(trial) for row in leg.kept]
        rows += [found.felt[key] for key in keys]
        tables.append([[float(row.get(rate, 0.0)) for rate in known.dependent] for row in rows])
    D = np.array(tables) * scale
    D = D / np.maximum(np.max(np.abs(D), axis=(0, 2), keepdims=True), 1e-300)
    chosen: list[int] = []
    left = D.copy()
    for _ in known.dependent:
        # Gram and Schmidt at every sample: the row that is longest at the worst one, sparse rows first.
        length = np.min(np.linalg.norm(left, axis=2), axis=0)
        filled = np.count_nonzero(np.max(np.abs(D), axis=0) > _FILLED, axis=1)
        good = length > 0.3 * np.max(length)
        score = np.where(good, -filled + 1e-3 * length, -np.inf)
        best = int(np.flatnonzero(score >= np.max(score) - 1e-9)[0])
        chosen.append(best)
        q = left[:, best] / np.linalg.norm(left[:, best], axis=1, keepdims=True)
        left = left - np.einsum("sr,sd->srd", np.einsum("srd,sd->sr", left, q), q)
        left[:, best] = 0.0
    chosen.sort()
    kept = [keys[i - own] for i in chosen if i >= own]
    result = [
        LegOrder(leg.order, leg.zeros, tuple(row for k, row in kept if k == index), leg.units)
        for index, leg in enumerate(legs)
    ]
    own_left = [i for i in range(own) if i not in chosen]
    complete = bool(np.all(np.abs(D[:, own_left]) <= _FILLED))
    return result, tuple(i for i in chosen if i < own), complete
