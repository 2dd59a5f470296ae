"""What is decided from numbers about the nacelle: dependent rates, the balance and its unknowns.

The rows that the legs do not use up, and those of the nacelle's own loops, hold for its dependent rates z:

    D z = -(the same rows) over the independent ones            D (d, d), one row for each dependent rate

Of all such rows those d are kept that are most independent at the worst of some generic poses (Gram and
Schmidt at every sample, sparse rows first). The balance of the nacelle, C f = load (n, n), has a column for
each actuator's unknown f: what its unit is along the reduced twist. For both systems an order of pivots is
found that is strong at all samples (`solve`), rows over their units and columns over their size. Where a
tie's force along a constant direction does no work on the nacelle, a multiple of it is dropped.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nacelle.kinematics.general.leg_trees import Idle
from nacelle.kinematics.general.legs import factorised
from nacelle.kinematics.general.placed import GeneralPlan, LegOrder, Parts, Placed, SolveOrder
from nacelle.kinematics.general.solve import (
    constant_columns,
    constant_rows,
    pivot_order,
    without_constant_rows,
)
from nacelle.kinematics.mechanism.assembly import rate_scale
from nacelle.spatial.rounding import middle
from nacelle.spatial.scalar import Array

# Entries of sample matrices below this part of their size are zero.
_FILLED = 1e-11


def _order_of(tables: Array, unit: Array) -> SolveOrder:
    """An order for square matrices (samples, n, n) whose rows have units."""
    C = np.where(np.max(np.abs(tables), axis=0) < _FILLED * np.max(np.abs(tables)), 0.0, tables)
    C = C / unit[None, :, None]
    size = middle(np.max(np.abs(C), axis=1))
    return SolveOrder(
        pivot_order(C / np.where(size > 0.0, size, 1.0)), (unit, np.where(size > 0.0, size, 1.0))
    )


def dependent_order(plan: GeneralPlan, placed: list[Placed]) -> SolveOrder | None:
    """Pivots for the dependent rates of the nacelle that are strong at all samples."""
    count = len(plan.mechanism.dependent)
    if count < 2:
        return None
    D = np.stack([np.asarray(factorised(plan, at).D, dtype=float) for at in placed])
    if count <= 3 and not constant_columns(D).any():
        return None
    return _order_of(D, middle(np.max(np.abs(D), axis=2)))


def solve_order(plan: GeneralPlan, placed: list[Placed]) -> tuple[SolveOrder | None, float]:
    """Pivots of the nacelle's balance that are strong at all samples; for up to three, its determinant."""
    mechanism = plan.mechanism
    n = len(mechanism.independent)
    count = sum(len(leg.order.active) for leg in plan.legs)
    if count != n:
        return None, 1.0
    tables = []
    for at in placed:
        columns = factorised(plan, at).balance_columns
        tables.append(np.array([[float(value) for value in column] for column in columns]).T)
    C = np.stack(tables)
    if n == 1:
        return None, float(np.max(np.abs(np.linalg.det(C))))
    unit = 1.0 / rate_scale(mechanism.robot)[list(mechanism.independent)]
    order, constant = _order_of(C, unit), constant_rows(C)
    if constant is None:
        return order, 1.0
    rows = [i for i in range(n) if i not in constant.rows]
    left = np.array([without_constant_rows(table.tolist(), [0.0] * n, constant)[0] for table in C])
    return replace(order, constant=constant, left=_order_of(left, unit[rows])), 1.0


def unit_forces(plan: GeneralPlan, placed: list[Placed]) -> frozenset[tuple[int, int]]:
    """Actuators whose column of the balance has a constant entry if it belongs to a unit force of theirs."""
    n = len(plan.mechanism.independent)
    keys = [(k, row) for k, leg in enumerate(plan.legs) for row, _ in leg.order.active]
    if len(keys) != n or n > 3:
        return frozenset()
    tables: dict[tuple[int, int], list[list[list[float]]]] = {}
    for at in placed:
        legs = factorised(plan, at)
        for key, column in zip(keys, legs.balance_columns, strict=True):
            factors = legs.factors[key[0]]
            if len(factors.upper[key[1]]) == 1:
                reciprocal = float(factors.reciprocals[key[1]])
                values = [float(value) for value in column]
                tables.setdefault(key, []).append([values, [value * reciprocal for value in values]])
    return frozenset(key for key, table in tables.items() if _gains_constants(np.array(table)))


def _gains_constants(columns: Array) -> bool:
    """Whether columns (samples, 2, n) have more constant entries, zeros apart, in the second form."""
    size = np.max(np.abs(columns), axis=(0, 2))
    still = np.ptp(columns, axis=0) <= _FILLED * size[:, None]
    filled = np.max(np.abs(columns), axis=0) > _FILLED * size[:, None]
    before, after = np.count_nonzero(still & filled, axis=1)
    return bool(after > before)


def rows_that_decide(
    parts: Parts, placed: list[Placed], legs: list[LegOrder]
) -> tuple[list[LegOrder], tuple[int, ...], bool]:
    """Choose the rows that decide the dependent rates of the nacelle: those that are most independent.

    Beside them it says whether the nacelle's own rows that were not chosen are zero for good.
    """
    mechanism = parts.mechanism
    if not mechanism.dependent:
        return legs, (), True
    scale = rate_scale(mechanism.robot)[list(mechanism.dependent)]
    tables = []
    for at in placed:
        trial = [LegOrder(leg.order, leg.zeros, leg.order.left, leg.units) for leg in legs]
        factors = factorised(GeneralPlan(parts, tuple(trial)), at)
        rows = [loop.coefficients(at.nacelle, row) for loop in factors.loops for row in loop.tie.rows]
        own = len(rows)
        keys = [(k, row) for k, leg in enumerate(trial) for row in leg.kept]
        rows += [factors.felt[key] for key in keys]
        tables.append([[float(row.get(rate, 0.0)) for rate in mechanism.dependent] for row in rows])
    D = np.array(tables) * scale
    D = D / np.maximum(np.max(np.abs(D), axis=(0, 2), keepdims=True), 1e-300)
    chosen: list[int] = []
    left = D.copy()
    for _ in mechanism.dependent:
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


def idle_directions(plan: GeneralPlan, placed: list[Placed]) -> dict[tuple[int, int], Idle]:
    """Directions, constant in base axes, along which the force of a tie does no work on the nacelle.

    A point of the nacelle that no rate of its leg moves along n stays in a plane: of the leg's force there
    a multiple of n may be dropped, so that an entry vanishes.
    """
    directions: dict[tuple[int, int], Idle] = {}
    for k, leg in enumerate(plan.legs):
        start = 0
        for number, tie in enumerate(placed[0].ties[k]):
            rows = range(start, start + len(tie.rows))
            start += len(tie.rows)
            path = placed[0].trees.path(tie.axes)
            if tie.body is None or tie.axes != tie.node or not path or path[0] in placed[0].trees.roots:
                continue
            for row in leg.order.left:
                if row not in rows or tie.rows[row - rows.start].kind != "point":
                    continue
                seen = []
                for at in placed:
                    own = at.ties[k][number]
                    top = at.trees.up(tie.axes, own.rows[row - rows.start].force)
                    seen.append(at.trees.node(path[0]).G.R.T @ np.asarray(top, dtype=float))
                    if any(factorised(plan, at).factors[k].lower[row].values()):
                        break
                idle = _along_axis(np.array(seen), placed[0].trees.node(path[0]).G.R)
                if len(seen) == len(placed) and idle is not None and idle.entry in placed[0].nacelle.moving:
                    directions.setdefault((k, number), idle)
    return directions


def _along_axis(directions: Array, R: Array) -> Idle | None:
    """Unit vectors (samples, 3) that are all along one axis of constant axes R, and which entry it clears."""
    axis = int(np.argmax(np.abs(directions[0])))
    across = np.delete(directions, axis, axis=1)
    if np.max(np.abs(across)) > _FILLED:
        return None
    size = np.abs(R[:, axis])
    return Idle(axis, int(np.flatnonzero(size > np.max(size) - 1e-9)[0]))
