"""What is decided from numbers before anything is traced: rods, orders of elimination, dependent rates.

The rows of a leg over its own rates u_l and the platform's rates w are

    A_l u_l + B_l w = 0          at every configuration

and are eliminated in a fixed order of pivots, so that a traced program has no branches. The order is chosen
at sample states, closed configurations around the reference: a pivot is large, without units, at the worst of
them, and entries that are zero at all of them are always zero. Rows that remain decide the dependent rates
of the platform. Every decision has a margin far above rounding, and the first of equals is taken, so that it
is the same on every machine. A plan holds only if the compact form then gives the rates of the equivalent
tree at the samples (`reason_for_tree`).

The rows that the legs do not use up, and those of the platform's own loops, hold for its dependent rates z:

    D z = -(the same rows) over the independent ones            D (d, d), one row for each dependent rate

Of all such rows those d are kept that are most independent at the worst of some generic poses (Gram and
Schmidt at every sample, sparse rows first). The balance of the platform, C f = load (n, n), has a column for
each actuator's unknown f: what its unit is along the reduced twist. For both systems an order of pivots is
found that is strong at all samples (`solve`), rows over their units and columns over their size. Where a
constraint's force along a constant direction does no work on the platform, a multiple of it is dropped.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import lru_cache

import numpy as np

from nacelle.compact.configured import (
    ALL_JOINTS,
    CompactPlan,
    ConfiguredRobot,
    FormOptions,
    LegOrder,
    Parts,
    active_rates,
    configure_for_rates,
    configure_robot,
    leg_rates,
)
from nacelle.compact.constraint_rows import PointRow
from nacelle.compact.constraints import ConstraintKey, Strut
from nacelle.compact.leg_trees import WorklessDirection
from nacelle.compact.legs import (
    Legs,
    eliminate_legs,
    iterated_determinants,
    leg_determinant,
    legs_by_coupling,
    platform_determinant,
)
from nacelle.compact.line_legs.known import find_line_legs, line_leg_axes, line_leg_bodies, line_legs
from nacelle.compact.solve import (
    MatrixUnits,
    SolveOrder,
    constant_columns,
    constant_rows,
    find_order,
    pivot_order,
    product_of,
    without_constant_rows,
)
from nacelle.errors import CompilerWarning
from nacelle.kinematics.configuration import Configuration, configuration, rate_map
from nacelle.kinematics.margins import margins
from nacelle.kinematics.mechanism.assembly import rate_scale
from nacelle.kinematics.mechanism.mechanism import Mechanism, mechanism_of
from nacelle.kinematics.mechanism.rods import find_rods
from nacelle.kinematics.sample_states import closed_sample_states
from nacelle.model.robot import Robot
from nacelle.spatial.physics import Form, form_for, refusal_reason
from nacelle.spatial.rounding import index_of_largest, median
from nacelle.spatial.scalar import Array

# Entries of sample matrices below this part of their size are zero.
_ZERO_PART = 1e-11


def _order_of(tables: Array, unit: Array) -> SolveOrder:
    """An order for square matrices (samples, n, n) whose rows have units."""
    C = np.where(np.max(np.abs(tables), axis=0) < _ZERO_PART * np.max(np.abs(tables)), 0.0, tables)
    C = C / unit[None, :, None]
    size = median(np.max(np.abs(C), axis=1))
    size = np.where(size > 0.0, size, 1.0)
    return SolveOrder(pivot_order(C / size), MatrixUnits(unit, size))


def dependent_order(plan: CompactPlan, configured: list[ConfiguredRobot]) -> SolveOrder | None:
    """Pivots for the dependent rates of the platform that are strong at all samples."""
    count = len(plan.mechanism.dependent)
    if count < 2:
        return None
    D = np.stack([np.asarray(eliminate_legs(plan, at).D, dtype=float) for at in configured])
    if count <= 3 and not constant_columns(D).any():
        return None
    return _order_of(D, median(np.max(np.abs(D), axis=2)))


def solve_order(plan: CompactPlan, configured: list[ConfiguredRobot]) -> tuple[SolveOrder | None, float]:
    """Pivots of the platform's balance that are strong at all samples; for up to three, its determinant."""
    mechanism = plan.mechanism
    n = len(mechanism.independent)
    if len(plan.active_rows) != n:
        return None, 1.0
    C = np.stack([np.array(eliminate_legs(plan, at).balance_columns, dtype=float).T for at in configured])
    if n == 1:
        return None, float(np.max(np.abs(np.linalg.det(C))))
    unit = 1.0 / rate_scale(mechanism.robot)[list(mechanism.independent)]
    order, constant = _order_of(C, unit), constant_rows(C)
    if constant is None:
        return order, 1.0
    rows = [i for i in range(n) if i not in constant.rows]
    left = np.array([without_constant_rows(table.tolist(), [0.0] * n, constant)[0] for table in C])
    return replace(order, constant=constant, left=_order_of(left, unit[rows])), 1.0


def unit_forces(plan: CompactPlan, configured: list[ConfiguredRobot]) -> frozenset[tuple[int, int]]:
    """Actuators whose column of the balance has a constant entry if it belongs to a unit force of theirs."""
    n = len(plan.mechanism.independent)
    if len(plan.active_rows) != n or n > 3:
        return frozenset()
    tables: dict[tuple[int, int], list[list[list[float]]]] = {}
    for at in configured:
        legs = eliminate_legs(plan, at)
        for key, column in zip(plan.active_rows, legs.balance_columns, strict=True):
            factors = legs.factors[key[0]]
            if len(factors.upper[key[1]]) == 1:
                reciprocal = float(factors.reciprocals[key[1]])
                values = [float(value) for value in column]
                tables.setdefault(key, []).append([values, [value * reciprocal for value in values]])
    return frozenset(key for key, table in tables.items() if _gains_constants(np.array(table)))


def _gains_constants(columns: Array) -> bool:
    """Whether columns (samples, 2, n) have more constant entries, zeros apart, in the second form."""
    size = np.max(np.abs(columns), axis=(0, 2))
    still = np.ptp(columns, axis=0) <= _ZERO_PART * size[:, None]
    filled = np.max(np.abs(columns), axis=0) > _ZERO_PART * size[:, None]
    before, after = np.count_nonzero(still & filled, axis=1)
    return bool(after > before)


def choose_dependent_rows(
    parts: Parts, configured: list[ConfiguredRobot], legs: list[LegOrder]
) -> tuple[list[LegOrder], tuple[int, ...], bool]:
    """Choose the rows that decide the dependent rates of the platform: those that are most independent.

    Also says whether the platform's own rows that were not chosen are always zero.
    """
    mechanism = parts.mechanism
    if not mechanism.dependent:
        return legs, (), True
    scale = rate_scale(mechanism.robot)[list(mechanism.dependent)]
    tables = []
    for at in configured:
        trial = [LegOrder(leg.order, leg.zeros, leg.order.left, leg.units) for leg in legs]
        factors = eliminate_legs(CompactPlan(parts, tuple(trial)), at)
        rows = [row.coefficients for loop in factors.loops for row in loop.rows]
        loop_count = len(rows)
        keys = [(k, row) for k, leg in enumerate(trial) for row in leg.kept]
        rows += [factors.platform_rows[key] for key in keys]
        tables.append([[float(row.get(rate, 0.0)) for rate in mechanism.dependent] for row in rows])
    D = np.array(tables) * scale
    D = D / np.maximum(np.max(np.abs(D), axis=(0, 2), keepdims=True), 1e-300)
    chosen: list[int] = []
    left = D.copy()
    for _ in mechanism.dependent:
        # Gram and Schmidt at every sample: the row that is longest at the worst one, sparse rows first.
        length = np.min(np.linalg.norm(left, axis=2), axis=0)
        filled = np.count_nonzero(np.max(np.abs(D), axis=0) > _ZERO_PART, axis=1)
        good = length > 0.3 * np.max(length)
        score = np.where(good, -filled + 1e-3 * length, -np.inf)
        best = int(np.flatnonzero(score >= np.max(score) - 1e-9)[0])
        chosen.append(best)
        q = left[:, best] / np.linalg.norm(left[:, best], axis=1, keepdims=True)
        left = left - np.einsum("sr,sd->srd", np.einsum("srd,sd->sr", left, q), q)
        left[:, best] = 0.0
    chosen.sort()
    kept = [keys[i - loop_count] for i in chosen if i >= loop_count]
    result = [
        LegOrder(leg.order, leg.zeros, tuple(row for k, row in kept if k == index), leg.units)
        for index, leg in enumerate(legs)
    ]
    loops_left = [i for i in range(loop_count) if i not in chosen]
    complete = bool(np.all(np.abs(D[:, loops_left]) <= _ZERO_PART))
    return result, tuple(i for i in chosen if i < loop_count), complete


def workless_directions(
    plan: CompactPlan, configured: list[ConfiguredRobot]
) -> dict[ConstraintKey, WorklessDirection]:
    """Directions, constant in base axes, along which the force of a constraint does no work on the platform.

    A point of the platform that no rate of its leg moves along n stays in a plane: of the leg's force there
    a multiple of n may be dropped, so that an entry vanishes.
    """
    directions: dict[ConstraintKey, WorklessDirection] = {}
    trees = configured[0].trees
    for constraint in configured[0].all_constraints:
        (leg, number), sides = constraint.key, constraint.sides
        path = trees.path(sides.axes)
        if constraint.platform is None or sides.axes != sides.node or not path or path[0] in trees.roots:
            continue
        for row in plan.legs[leg].order.left:
            if row not in constraint.span or not isinstance(
                constraint.rows[row - constraint.start], PointRow
            ):
                continue
            samples = []
            for at in configured:
                sample_row = at.constraints[leg][number].rows[row - constraint.start]
                top = at.trees.up(sides.axes, sample_row.force)
                samples.append(at.trees.node(path[0]).G.R.T @ np.asarray(top, dtype=float))
                if any(eliminate_legs(plan, at).factors[leg].lower[row].values()):
                    break
            workless = _workless_direction(np.array(samples), trees.node(path[0]).G.R)
            if (
                len(samples) == len(configured)
                and workless is not None
                and workless.entry in configured[0].platform.moving
            ):
                directions.setdefault(constraint.key, workless)
    return directions


def _workless_direction(directions: Array, R: Array) -> WorklessDirection | None:
    """Unit vectors (samples, 3) that are all along one axis of constant axes R, and which entry it clears."""
    axis = int(np.argmax(np.abs(directions[0])))
    across = np.delete(directions, axis, axis=1)
    if np.max(np.abs(across)) > _ZERO_PART:
        return None
    size = np.abs(R[:, axis])
    return WorklessDirection(axis, int(np.flatnonzero(size > np.max(size) - 1e-9)[0]))


# So many of them decide about pivots.
_PIVOT_SAMPLES = 6
# So many of them are held against the tree, to this part: a wrong decision would be off by far more.
_CHECKED, _SAME = 2, 1e-6


def prefers_line_axes(robot: Robot, *, friction: bool) -> bool:
    """Whether bars are shorter in axes of their own: rods on arms that require something of their turning."""
    mechanism = mechanism_of(robot.numeric)
    legs_by_line = line_legs(mechanism.robot, find_line_legs(mechanism)).values()
    return any(
        line_leg.form.drive.revolute and line_leg.resists_rotation(friction)
        for line_leg in legs_by_line
        if not line_leg.is_strut
    )


def plan_of(robot: Robot, options: FormOptions = ALL_JOINTS) -> CompactPlan:
    """The plan of a robot, made once from its numbers."""
    numeric = robot.numeric
    return _plan(numeric, numeric.all_names, _allowed_options(numeric, options))


def _allowed_options(robot: Robot, options: FormOptions) -> FormOptions:
    """The options that the robot's form allows: struts are known by their line in the first alone."""
    return _simplified_options(
        mechanism_of(robot), options if form_for(robot.hash) is Form.COMPACT else ALL_JOINTS
    )


@lru_cache(maxsize=256)
def _simplified_options(mechanism: Mechanism, options: FormOptions) -> FormOptions:
    """The same way without what makes no difference for a robot."""
    legs_by_line = find_line_legs(mechanism, asymmetric=options.asymmetric) if options.direct else ()
    if not legs_by_line:
        return ALL_JOINTS
    axes = line_leg_axes(line_legs(mechanism.robot, legs_by_line)) if options.line_axes else {}
    return FormOptions(True, bool(axes), options.asymmetric or legs_by_line == find_line_legs(mechanism))


def reason_for_tree(robot: Robot, *, direct: bool = False) -> str:
    """Why a robot is not written in the compact form but by its equivalent tree; empty where it is.

    The compact form should give every robot's rates as the tree does, at sample states; where it does not,
    the tree is taken. With `direct` it is the form that knows bars by their line which is asked.
    """
    numeric = robot.numeric
    if not robot.is_like_numeric:
        return "its numbers are open"
    if form_for(numeric.hash) is Form.TREE:
        return refusal_reason(numeric.hash) or "the tree is wanted"
    if _drives_platform_closures(numeric):
        return (
            "a loop of the platform's own, or one between legs, is closed by a joint with a drive or a rotor"
        )
    if numeric.torsion_springs:
        return f"it has torsion springs between bodies ({numeric.torsion_springs[0].name})"
    options = (
        FormOptions(True, prefers_line_axes(numeric, friction=True), asymmetric=False)
        if direct
        else ALL_JOINTS
    )
    return _disagreement(numeric, numeric.all_names, _allowed_options(numeric, options))


def _drives_platform_closures(robot: Robot) -> bool:
    """Whether a closure of the platform's own has an actuator or a rotor, one between legs at a point too."""
    driven = {actuator.joint for actuator in robot.actuators}
    return any(c in driven or robot.joints[c].rotor_inertia for c in robot.platform.closures)


@lru_cache(maxsize=64)
def _disagreement(robot: Robot, names: tuple[str, ...], options: FormOptions) -> str:
    """In what the rates of the compact form are not those of the tree; empty where they are."""
    try:
        plan = _plan(robot, names, options)
        for now in _configurations(robot, names)[:_CHECKED]:
            legs = eliminate_legs(plan, configure_for_rates(plan.parts, now))
            U = np.asarray(rate_map(now), dtype=float)
            for k, unit in enumerate(np.eye(U.shape[1])):
                w = legs.platform_rates(unit)
                rates = {**w, **legs.rates(legs.configured.platform.frames(w, {}))}
                error = max(abs(float(value) - U[rate, k]) for rate, value in rates.items())
                if not error <= _SAME * np.max(np.abs(U[:, k])):
                    return f"its rates would be off by {error:.1e} at a sample state"
    except Exception as error:
        # A defect: whoever uses the robot gets its tree and a word about it, and the tests get an error.
        reason = f"the compact form failed ({type(error).__name__}: {error})".replace(": )", ")")
        warnings.warn(f"{robot.name} is computed by the tree: {reason}", CompilerWarning, stacklevel=2)
        return reason
    return ""


@lru_cache(maxsize=64)
def _configurations(robot: Robot, names: tuple[str, ...]) -> list[Configuration]:
    """All positions at the states that decide about pivots, the same for all ways."""
    with np.errstate(all="ignore"):
        return [configuration(robot, x, y) for x, y in closed_sample_states(robot)[:_PIVOT_SAMPLES]]


def _parts(mechanism: Mechanism, options: FormOptions, configurations: list[Configuration]) -> Parts:
    """What of a robot is known by points alone."""
    robot, rods = mechanism.robot, find_rods(mechanism)
    legs_by_line = find_line_legs(mechanism, asymmetric=options.asymmetric) if options.direct else ()
    omitted = rods | line_leg_bodies(robot, legs_by_line)
    spins = tuple(tuple(s for s in plan.spins if s.body not in omitted) for plan in mechanism.legs)
    parts = Parts(mechanism, rods, legs_by_line, omitted, spins, options)
    directions = []
    for now in configurations if legs_by_line else ():
        for strut in (
            line_leg for line_leg in configure_robot(parts, now).legs_by_line if isinstance(line_leg, Strut)
        ):
            d = np.asarray(strut.rows[0].direction, dtype=float)
            directions.append(np.abs(d) / np.linalg.norm(d))
    return replace(parts, up=index_of_largest(np.min(directions, axis=0))) if directions else parts


@lru_cache(maxsize=64)
def _plan(robot: Robot, names: tuple[str, ...], options: FormOptions) -> CompactPlan:
    mechanism = mechanism_of(robot)
    configurations = _configurations(robot, names)
    with np.errstate(all="ignore"):
        parts = _parts(mechanism, options, configurations)
        configured = [configure_robot(parts, now, pole=True) for now in configurations]
    legs = [_leg_order(parts, configured, k) for k in range(len(robot.legs))]
    legs, own_rows, complete = choose_dependent_rows(parts, configured, legs)
    complete &= all(_has_no_left_rows(parts, leg, k) for k, leg in enumerate(legs))
    first = CompactPlan(parts, tuple(legs), own_rows, is_complete=complete)
    first = replace(
        first, dependent=dependent_order(first, configured), workless=workless_directions(first, configured)
    )
    first = replace(first, unit=unit_forces(first, configured))
    order, determinant = solve_order(first, configured)
    scales, distances = _margin_scales(first, configured)
    return replace(first, solve=order, determinant=determinant, margins=scales, distances=distances)


def _margin_scales(
    plan: CompactPlan, configured: list[ConfiguredRobot]
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """What makes squared determinants of legs and dependent rates the dense margins, at the median sample.

    Of all legs and of dependent rates; and of those that are iterated, the coupled ones as one.
    """
    mechanism = plan.mechanism
    if not (mechanism.iterated_legs or mechanism.dependent):
        return (), ()
    ratios, apart = [], []
    alone, coupled = legs_by_coupling(plan)
    groups = [[k] for k in alone] + ([[*coupled, -1]] if mechanism.dependent else [])
    for at in configured:
        legs = eliminate_legs(plan, at)
        values = [float(leg_determinant(legs, k)) for k in range(len(plan.legs))]
        values += [float(platform_determinant(legs))] if mechanism.dependent else []
        dense = np.asarray(margins(at.now), dtype=float)
        ratios.append(dense / np.maximum(np.square(values), 1e-300))
        squares = [float(product_of(group)) ** 2 for group in iterated_determinants(legs)]
        apart.append(
            [np.min(dense[k]) / max(square, 1e-300) for k, square in zip(groups, squares, strict=True)]
        )
    scales, distances = (tuple(median(np.array(each)).tolist()) for each in (ratios, apart))
    return scales, distances


def _has_no_left_rows(parts: Parts, leg: LegOrder, index: int) -> bool:
    """Whether the rows of a leg that remain and are not kept are always zero."""
    rates = leg_rates(parts, index)
    return all((row, rate) in leg.zeros for row in leg.order.left if row not in leg.kept for rate in rates)


def _leg_order(parts: Parts, configured: list[ConfiguredRobot], leg: int) -> LegOrder:
    robot = parts.mechanism.robot
    rates = leg_rates(parts, leg)
    scale = dict(zip(range(len(rate_scale(robot))), rate_scale(robot), strict=True))
    sample_rows = [
        [row for constraint in at.constraints[leg] for row in constraint.rows] for at in configured
    ]
    samples = [
        [[float(row.coefficients.get(rate, 0.0)) * scale[rate] / row.unit for rate in rates] for row in rows]
        for rows in sample_rows
    ]
    prices, units = [row.pivot_price for row in sample_rows[-1]], [row.unit for row in sample_rows[-1]]
    M = np.array(samples).reshape(len(configured), len(prices), len(rates))
    filled = np.max(np.abs(M), axis=0) > _ZERO_PART
    zeros = frozenset(
        (i, rates[j]) for i in range(len(prices)) for j in range(len(rates)) if not filled[i, j]
    )
    M[:, ~filled] = 0.0
    order = find_order(M, rates, frozenset(active_rates(robot)), prices)
    return LegOrder(order, zeros, (), tuple(units))


def eliminated_legs(
    robot: Robot, x: Array, y: Array, *, pole: bool = False, options: FormOptions = ALL_JOINTS
) -> Legs:
    """The robot at a reduced pose x (nx,) with the passive coordinates y (ny,), its legs eliminated."""
    plan = plan_of(robot, options)
    return eliminate_legs(plan, configure_robot(plan.parts, configuration(robot, x, y), pole=pole))
