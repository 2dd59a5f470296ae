"""Inertia in the cheapest basis.

Forces are linear in the inertial numbers, F = Y(x, v, a) p, and most columns of Y depend on others. Columns
are taken greedily, cheap ones first (an inertia along a rate, a mass where a leg holds the nacelle, then
links from the base outwards, then the nacelle), as long as they are independent over sample states; the
others are written with them. The numbers that remain are base parameters of the robot:

    p_base = K p,      K = Y_base^+ Y                 residual of the order of rounding.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import groupby

import numpy as np

from nacelle.dynamics.general.carried import carried_inwards, column_unit, in_lengths, lengths
from nacelle.dynamics.general.columns import Key, end_points
from nacelle.dynamics.general.inertia import InertialNumbers, length_power
from nacelle.dynamics.general.inertial import inertial_numbers
from nacelle.dynamics.general.sampled_columns import SampledColumns
from nacelle.dynamics.reduction.precise_factors import precise_factors
from nacelle.dynamics.reduction.reduction import Reduction, compressed, reduction
from nacelle.kinematics.general.legs import Rates
from nacelle.kinematics.general.placed import GeneralPlan, place
from nacelle.spatial.rounding import CANCELLED
from nacelle.spatial.scalar import Array, Scalar, pack

# Columns must be this independent of those before to be distinguished from dependent ones.
_INDEPENDENT = 1e-6
# Factors of columns of unit length that are rounding.
_NO_FACTOR = 1e-11
# A value is about nothing below this part of its terms.
_NOTHING = 1e-11
# Of more numbers than these no basis is sought: the time grows with the cube of their count (25 s for 480).
_MOST = 600
# By how much the terms of a force may grow, and what may be left of one.
_GROWTH = 20.0
_RESIDUAL = 1e-13


@dataclass(frozen=True, eq=False)
class Basis:
    """The numbers that remain.

    Attributes:
        keys: of the numbers as the description gives them.
        kept: of those that remain.
        K: (kept, keys).
        given: the numbers of the robot that it was found for (keys,).
        values: what they are in the basis (kept,); equal where they differ by rounding alone.
    """

    keys: tuple[Key, ...]
    kept: tuple[Key, ...]
    K: Array
    given: Array
    values: Array


def as_list(numbers: InertialNumbers, ends: dict[tuple[int, int], int]) -> dict[Key, Scalar]:
    """The numbers by key."""
    by_key: dict[Key, Scalar] = {}
    for node, values in numbers.nodes.items():
        by_key |= {("node", node, i): value for i, value in enumerate(values.tolist())}
    for body, values in numbers.bodies.items():
        by_key |= {("body", body, i): value for i, value in enumerate(values.tolist())}
    by_key |= {("end", ends[key], 0): value for key, value in numbers.ends.items()}
    by_key |= {("rate", rate, 0): value for rate, value in numbers.rates.items()}
    return by_key


# What a number costs, about, in operations.
_NODE_COSTS = (6.0, 7.0, 7.0, 7.0, 4.0, 4.0, 4.0, 6.0, 6.0, 6.0)
_BODY_COSTS = (6.0, 12.0, 12.0, 12.0, 12.0, 12.0, 12.0, 14.0, 14.0, 14.0)


def _cost(key: Key) -> float:
    kind, _, i = key
    if kind == "rate":
        return 2.0
    if kind == "end":
        return 6.0
    return _NODE_COSTS[i] if kind == "node" else _BODY_COSTS[i]


def _orders(keys: tuple[Key, ...], given: set[Key], depth: dict[int, int]) -> list[list[list[Key]]]:
    """Orders in which columns are taken: groups of the same price."""

    def price(key: Key) -> tuple[float, float]:
        kind, index, _ = key
        return {"rate": 0.0, "end": 1.0, "node": 2.0 + depth.get(index, 0), "body": 50.0}[kind], _cost(key)

    def outwards(key: Key) -> tuple[float, float]:
        kind, index, _ = key
        return {"rate": 0.0, "end": 1.0, "body": 2.0, "node": 50.0 - depth.get(index, 0)}[kind], _cost(key)

    listed = []
    for by in (price, outwards):
        for optional in (("rate", "end"), ("rate",), ("end",), ()):
            wanted = [key for key in keys if key in given or key[0] in optional]
            order = sorted(wanted, key=lambda key: (*by(key), key))
            listed.append([list(group) for _, group in groupby(order, key=by)])
    return listed


def find_basis(
    plan: GeneralPlan, others: Sequence[GeneralPlan] = ()
) -> tuple[list[tuple[int, int]], Basis | None]:
    """The cheapest basis of a robot's numbers; None where rounding cannot tell what depends on what.

    None, too, for more numbers than `_MOST`.

    Args:
        plan: the robot's plan.
        others: plans of the same robot with other numbers, for a basis that holds for every geometry: numbers
            are passed on to the links before (`carried_inwards`), and what depends on what must do so by the
            same factors in all of these robots.
    """
    robot = plan.mechanism.robot
    placed = place(robot, plan.parts, *plan.samples[0])
    ends = end_points(placed)
    own_numbers = inertial_numbers(placed)
    if others:
        own_numbers = in_lengths(carried_inwards(own_numbers, placed), lengths(placed))
    numbers = as_list(own_numbers, {})
    if not 0 < len(numbers) <= _MOST:
        return ends, None
    sampled = [SampledColumns(each, set(numbers)) for each in (plan, *others)]
    keys = sampled[0].keys
    if any(each.keys != keys for each in sampled):
        return ends, None
    units = [_units(each, keys) if others else np.ones(len(keys)) for each in (plan, *others)]
    W = compressed(np.concatenate([each.W * unit for each, unit in zip(sampled, units, strict=True)]))
    sizes = _sizes(numbers, robot.size)
    own = {
        key: 0.0 if abs(float(value)) <= CANCELLED * sizes[key] else float(value)
        for key, value in numbers.items()
    }
    depth = {node: len(placed.trees.path(node)) for node in range(1, len(placed.trees.nodes))}
    best = _cheapest(W, keys, own, sizes, depth)
    if best is None:
        return ends, None
    given = np.array([float(value) for value in numbers.values()])
    columns = _precise_columns(sampled, units, int(np.max(np.count_nonzero(best.K, axis=0))))
    factors = best.factors if columns is None else precise_factors(best, columns)
    return ends, _basis(best, dict(zip(keys, factors, strict=True)), own, sizes, given)


def _precise_columns(
    sampled: Sequence[SampledColumns], units: Sequence[Array], unknowns: int
) -> list[list[Decimal]] | None:
    """Columns of several robots with 30 digits; None where loops stay open, by contradicting numbers."""
    columns: list[list[Decimal]] = [[] for _ in sampled[0].keys]
    for each, unit in zip(sampled, units, strict=True):
        precise = each.precise(unknowns)
        if precise is None:
            return None
        for column, more, factor in zip(columns, precise, unit.tolist(), strict=True):
            column += more if factor == 1.0 else [value * Decimal(factor) for value in more]
    return columns


def _units(plan: GeneralPlan, keys: tuple[Key, ...]) -> Array:
    """By what columns are multiplied where numbers count in units of their nodes' lengths."""
    unit = lengths(place(plan.mechanism.robot, plan.parts, *plan.samples[0]))
    return np.array([float(column_unit(key, unit)) for key in keys])


def _sizes(numbers: dict[Key, Scalar], length: float) -> dict[Key, float]:
    """What rounding of a number is relative to: the largest of its body, or the body's mass at a length."""
    largest: dict[tuple[str, int, int], float] = {}
    for key, value in numbers.items():
        owner = (*key[:2], _dimension(key))
        largest[owner] = max(largest.get(owner, 0.0), abs(float(value)))
    sizes = {}
    for key in numbers:
        mass = largest.get((*key[:2], 0), 0.0)
        sizes[key] = max(largest[(*key[:2], _dimension(key))], mass * length ** _dimension(key))
    return sizes


def _dimension(key: Key) -> int:
    """Power of a length in a number; -1 for inertia along a rate."""
    kind, _, place_ = key
    return -1 if kind == "rate" else length_power(place_)


def _cheapest(
    W: Array, keys: tuple[Key, ...], numbers: dict[Key, float], sizes: dict[Key, float], depth: dict[int, int]
) -> Reduction | None:
    """Independent columns of W (rows, keys) that cost the least; None where rounding decides."""
    best: Reduction | None = None
    least = np.inf
    p = np.array([numbers.get(key, 0.0) for key in keys])
    size = np.array([sizes[key] if numbers.get(key) else 0.0 for key in keys])
    forces, terms = W @ p, np.linalg.norm(np.abs(W) @ np.abs(p))
    place_of = {key: k for k, key in enumerate(keys)}
    optional = {k for k, key in enumerate(keys) if key not in numbers}
    for order in _orders(keys, set(numbers), depth):
        groups = [[place_of[key] for key in group] for group in order]
        found = reduction(W, groups, optional=optional, nothing=_NO_FACTOR)
        if not found.kept or found.least < _INDEPENDENT:
            continue
        Y, values = W[:, found.kept], found.K @ p
        if np.linalg.norm(Y @ values - forces) > _RESIDUAL * np.linalg.norm(forces):
            continue
        # Terms that cancel lose digits: a basis that makes large ones of small ones is not taken.
        if np.linalg.norm(np.abs(Y) @ np.abs(values)) > _GROWTH * terms:
            continue
        nothing = np.abs(values) <= _NOTHING * (np.abs(found.K) @ size)
        total = sum(_cost(keys[k]) for k, drop in zip(found.kept, nothing, strict=True) if not drop)
        if total < least - 1e-9:
            best, least = found, total
    return best


def _basis(
    found: Reduction,
    factors: dict[Key, dict[int, Decimal]],
    numbers: dict[Key, float],
    sizes: dict[Key, float],
    given: Array,
) -> Basis:
    """The basis with factors, and values of the numbers, that are rounded once."""
    keys, count = tuple(factors), len(found.kept)
    K, terms = np.zeros((count, len(numbers))), np.zeros(count)
    values = [Decimal(0)] * count
    for j, (key, number) in enumerate(numbers.items()):
        for place_, factor in factors[key].items():
            K[place_, j] = float(factor)
            values[place_] += factor * Decimal(number)
            terms[place_] += abs(K[place_, j]) * sizes[key] if number else 0.0
    kept = np.flatnonzero(terms)
    names = tuple(keys[found.kept[i]] for i in kept)
    rounded = _without_rounding(names, np.array([float(values[i]) for i in kept]), terms[kept])
    return Basis(tuple(numbers), names, K[kept], given, rounded)


def _without_rounding(keys: tuple[Key, ...], values: Array, terms: Array) -> Array:
    """Values that are sums of terms of some size: zero, or equal in size, where they are but for rounding."""
    seen: list[tuple[int, float, float]] = []
    cleaned = []
    for key, value, term in zip(keys, values.tolist(), terms.tolist(), strict=True):
        size, noise = abs(value), CANCELLED * term
        if size <= noise:
            cleaned.append(0.0)
            continue
        for other, same, margin in seen:
            if other == _dimension(key) and abs(size - same) <= noise + margin:
                size = same
                break
        else:
            seen.append((_dimension(key), size, noise))
        cleaned.append(math.copysign(size, value))
    return np.array(cleaned)


def cheapest_numbers(numbers: InertialNumbers, basis: Basis, ends: list[tuple[int, int]]) -> InertialNumbers:
    """The numbers in the cheapest basis."""
    given = as_list(numbers, {})
    values = [given[key] for key in basis.keys]
    own = [
        value == given_value
        for value, given_value in zip(values, basis.given, strict=True)
        if isinstance(value, float)
    ]
    constant = basis.values if len(own) == len(values) and all(own) else None
    nodes: dict[int, list[Scalar]] = {}
    bodies: dict[int, list[Scalar]] = {}
    masses: dict[tuple[int, int], Scalar] = {}
    rates: Rates = {}
    for place_, (row, (kind, index, i)) in enumerate(zip(basis.K, basis.kept, strict=True)):
        value: Scalar | None = None if constant is None else float(constant[place_])
        for factor, number in zip(row, values, strict=True) if constant is None else ():
            if factor != 0.0 and not (isinstance(number, float) and number == 0.0):
                term = float(factor) * number
                value = term if value is None else value + term
        if value is None or (constant is not None and value == 0.0):
            continue
        if kind == "node":
            nodes.setdefault(index, [0.0] * 10)[i] = value
        elif kind == "body":
            bodies.setdefault(index, [0.0] * 10)[i] = value
        elif kind == "end":
            masses[ends[index]] = value
        else:
            rates[index] = value
    return InertialNumbers(
        {node: pack(entries) for node, entries in nodes.items()},
        {body: pack(entries) for body, entries in bodies.items()},
        masses,
        rates,
    )
