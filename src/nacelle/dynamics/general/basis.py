"""Inertia in the cheapest basis.

Forces are linear in the inertial numbers, F = Y(x, v, a) p, and most columns of Y depend on others. Columns
are taken greedily, cheap ones first (an inertia along a rate, a mass where a leg holds the nacelle, then
links from the base outwards, then the nacelle), as long as they are independent over sample states; the
others are written with them. The numbers that remain are base parameters of the robot:

    p_base = K p,      K = Y_base^+ Y                 residual of the order of rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from nacelle.dynamics.general.carried import carried, column_unit, in_lengths, lengths
from nacelle.dynamics.general.inertia import PAIRS, Numbers
from nacelle.dynamics.general.inertial import end_ties, inertial_numbers, reference_point
from nacelle.kinematics.general.legs import Legs, Rates, factorised, motion
from nacelle.kinematics.general.motion import angular_velocity, columns, velocity, with_root
from nacelle.kinematics.general.placed import Placed, Plan, place
from nacelle.kinematics.general.vectors import ZERO
from nacelle.kinematics.mechanism.assembly import rate_scale
from nacelle.model.robot import Robot
from nacelle.spatial.batch import Batch, from_samples
from nacelle.spatial.scalar import Array, Scalar, pack

_MOTIONS = 5
# A column whose part across those taken before is smaller than this part of it depends on them.
_DEPENDENT = 1e-9
# Between this and the former a column is neither: the numbers are left as they are.
_INDEPENDENT = 1e-6
# A column that no number of the description has must be this independent to be taken.
_OPTIONAL = 1e-2
# Numbers are zero below this part of what rounding can make of them, if they do no more than that to forces.
_SMALL = 2e-14
_NOTHING = 1e-12
# Numbers that differ by less than this part of it may be equal: whether they are, the forces decide.
_ALIKE = 2e-12
# By how much the terms of a force may grow.
_GROWTH = 20.0
_RESIDUAL = 1e-13

Key = tuple[str, int, int]


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


def as_list(numbers: Numbers, ends: dict[tuple[int, int], int]) -> dict[Key, Scalar]:
    """The numbers by key."""
    by_key: dict[Key, Scalar] = {}
    for node, values in numbers.nodes.items():
        by_key |= {("node", node, i): value for i, value in enumerate(values.tolist())}
    for body, values in numbers.bodies.items():
        by_key |= {("body", body, i): value for i, value in enumerate(values.tolist())}
    by_key |= {("end", ends[key], 0): value for key, value in numbers.ends.items()}
    by_key |= {("rate", rate, 0): value for rate, value in numbers.rates.items()}
    return by_key


def _ends(legs: Legs) -> list[tuple[int, int]]:
    """Ties at different points of the nacelle whose point is fixed there."""
    ends: list[tuple[int, int]] = []
    seen: list[tuple[int, tuple[float, ...]]] = []
    for leg, ties in enumerate(legs.placed.ties):
        for number, tie in enumerate(ties):
            if tie.body is None or tie.local is None or tie.rows[0].kind not in ("point", "rod", "strut"):
                continue
            where = (tie.body, tuple(float(value) for value in tie.local))
            if where not in seen:
                seen.append(where)
                ends.append((leg, number))
    return ends


def _columns(robot: Robot, plan: Plan) -> tuple[list[tuple[int, int]], dict[Key, Array], dict[Key, float]]:
    """Columns of Y over sample states, and for each the size of what it is a sum of.

    The column of a number is J^T (wrench of the unit number), J the twist of its body at unit v.
    """
    rng = np.random.default_rng(11)
    x, y = (np.repeat(np.stack(part), _MOTIONS, axis=0) for part in zip(*plan.samples, strict=True))
    n, count = robot.motion.n, len(plan.samples) * _MOTIONS
    # Rates of the order of one, lengths in the robot's size: products of rates weigh as much as
    # accelerations.
    unit = rate_scale(robot)[list(plan.mechanism.independent)]
    v, a = rng.normal(size=(2, count, n)) * unit
    a = a * 3.0
    placed = place(robot, plan.parts, from_samples(x, 1), from_samples(y, 1))
    legs = factorised(plan, placed)
    moving = motion(legs, from_samples(v, 1), from_samples(a, 1))
    trees, at_end = placed.trees, end_ties(placed)
    nodes = [node for node in range(1, len(trees.nodes)) if node not in trees.roots]
    points = {node: reference_point(placed, node) for node in nodes}
    moved = {node: columns(trees, node, points[node]) for node in nodes}
    J_rates: dict[int, list[Array]] = {}
    J_nodes: dict[int, list[Array]] = {node: [] for node in nodes}
    J_bodies: dict[int, list[Array]] = {body: [] for body in moving.frames}
    ends = _ends(legs)
    J_ends: list[list[Array]] = [[] for _ in ends]
    for k in range(n):
        frames = placed.nacelle.frames(legs.nacelle_rates(np.eye(n)[k] * unit[k]), {}, ZERO)
        u = legs.rates(frames)
        for rate, value in u.items():
            J_rates.setdefault(rate, []).append(_samples(pack([value]), count))
        for node in nodes:
            linear = velocity(moved[node], u)
            angular = angular_velocity(moved[node], u)
            linear, angular = with_root(trees, node, points[node], (linear, angular), frames)
            J_nodes[node].append(_samples(pack([*linear, *angular]), count))
        for body, frame in frames.items():
            J_bodies[body].append(_samples(pack([*frame.v, *frame.w]), count))
        for place_, (leg, number) in enumerate(ends):
            tie = placed.ties[leg][number]
            J_ends[place_].append(_samples(frames[tie.held[0]].velocity(tie.held[1]), count))
    column_of: dict[Key, Array] = {}
    sizes: dict[Key, float] = {}

    def keep(key: Key, J: list[Array], wrench: Array) -> None:
        """J of n columns (samples, k) each, and what it meets (samples, k)."""
        terms = np.stack(J, axis=1) * wrench[:, None, :]
        column_of[key] = terms.sum(axis=2).ravel()
        sizes[key] = float(np.linalg.norm(np.abs(terms).sum(axis=2)))

    for rate, acceleration in moving.u_dot.items():
        keep(("rate", rate, 0), J_rates[rate], _samples(pack([acceleration]), count))
    for place_, (leg, number) in enumerate(ends):
        tie = placed.ties[leg][number]
        keep(
            ("end", place_, 0),
            J_ends[place_],
            _samples(moving.frames[tie.held[0]].acceleration(tie.held[1]), count),
        )
    for node in nodes:
        mover = moving.nodes[node]
        acceleration = mover.a
        if node in at_end:
            leg, number = at_end[node]
            tie = placed.ties[leg][number]
            acceleration = trees.down(node, moving.frames[tie.held[0]].acceleration(tie.held[1]))
        Y = _regressor(_samples(acceleration, count), _samples(mover.turning, count))
        for i in range(10):
            keep(("node", node, i), J_nodes[node], Y[:, :, i])
    for body, frame in moving.frames.items():
        R = _samples(frame.pose.R, count)
        ddot = np.stack([_samples(c, count) for c in frame.columns_ddot], axis=2)
        Y = _regressor(
            np.einsum("sji,sj->si", R, _samples(frame.a, count)), np.einsum("sji,sjk->sik", R, ddot)
        )
        Y = np.concatenate([np.einsum("sij,sjk->sik", R, part) for part in (Y[:, :3], Y[:, 3:])], axis=1)
        for i in range(10):
            keep(("body", body, i), J_bodies[body], Y[:, :, i])
    return ends, column_of, sizes


def _samples(values: Array, count: int) -> Array:
    """Arrays of samples as floats (count, ...)."""
    flat = [
        np.broadcast_to(entry.samples if isinstance(entry, Batch) else float(entry), (count,))
        for entry in np.asarray(values, dtype=object).ravel()
    ]
    return np.stack(flat, axis=1).reshape(count, *np.shape(values))


def _regressor(a: Array, T: Array) -> Array:
    """Wrenches (samples, 6, 10) of unit numbers m, h, S."""
    count = len(a)
    Y = np.zeros((count, 6, 10))
    Y[:, :3, 0] = a
    eye = np.eye(3)
    for k in range(3):
        Y[:, :3, 1 + k] = T[:, :, k]
        Y[:, 3:, 1 + k] = np.cross(eye[k], a)
    for at, (i, j) in enumerate(PAIRS):
        Y[:, 3:, 4 + at] = np.cross(eye[i], T[:, :, j])
        if i != j:
            Y[:, 3:, 4 + at] += np.cross(eye[j], T[:, :, i])
    return Y


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


def _orders(columns: dict[Key, Array], keys: tuple[Key, ...], depth: dict[int, int]) -> list[list[list[Key]]]:
    """Orders in which columns are taken: groups of the same price."""

    def price(key: Key) -> tuple[float, float]:
        kind, index, _ = key
        return {"rate": 0.0, "end": 1.0, "node": 2.0 + depth.get(index, 0), "body": 50.0}[kind], _cost(key)

    def outwards(key: Key) -> tuple[float, float]:
        kind, index, _ = key
        return {"rate": 0.0, "end": 1.0, "body": 2.0, "node": 50.0 - depth.get(index, 0)}[kind], _cost(key)

    given = set(keys)
    listed = []
    for by in (price, outwards):
        for optional in (("rate", "end"), ("rate",), ("end",), ()):
            wanted = [key for key in columns if key in given or key[0] in optional]
            order = sorted(wanted, key=lambda key: (*by(key), key))
            listed.append([list(group) for _, group in groupby(order, key=by)])
    return listed


def find_basis(plan: Plan, others: Sequence[Plan] = ()) -> tuple[list[tuple[int, int]], Basis | None]:
    """The cheapest basis of a robot's numbers; None where rounding cannot tell what depends on what.

    Args:
        plan: the robot's plan.
        others: plans of the same robot with other numbers, for a basis that holds for every geometry: numbers
            are passed on to the links before (`carried`), and what depends on what must do so by the same
            factors in all of these robots.
    """
    robot = plan.mechanism.robot
    with np.errstate(all="ignore"):
        ends, columns, sizes = _columns(robot, plan)
        x, y = plan.samples[0]
        placed = place(robot, plan.parts, x, y)
        if others:
            columns, sizes = _in_lengths(columns, sizes, placed)
        for other in others:
            _, more, more_sizes = _columns(other.mechanism.robot, other)
            if more.keys() != columns.keys():
                return ends, None
            state = other.samples[0]
            at = place(other.mechanism.robot, other.parts, *state)
            more, more_sizes = _in_lengths(more, more_sizes, at)
            columns = {key: np.concatenate([own, more[key]]) for key, own in columns.items()}
            sizes = {key: float(np.hypot(own, more_sizes[key])) for key, own in sizes.items()}
    own_numbers = inertial_numbers(placed)
    if others:
        own_numbers = in_lengths(carried(own_numbers, placed), lengths(placed))
    numbers = as_list(own_numbers, {})
    depth = {node: len(placed.trees.path(node)) for node in range(1, len(placed.trees.nodes))}
    keys = tuple(numbers)
    if not keys:
        return ends, None
    p = np.array([float(value) for value in numbers.values()])
    whole = np.stack([columns[key] for key in keys], axis=1)
    best: Basis | None = None
    least = np.inf
    for order in _orders(columns, keys, depth):
        greedy = _greedy(order, set(keys), columns, sizes)
        if greedy is None:
            continue
        basis, Q = greedy
        scale = np.array([np.linalg.norm(columns[key]) for key in basis])
        Y = np.stack([columns[key] for key in basis], axis=1) / scale
        # Y = Q^T R with R upper triangular; once more for what rounding has left.
        R = np.triu(Q @ Y)
        K = np.linalg.solve(R, Q @ whole)
        K = K + np.linalg.solve(R, Q @ (whole - Y @ K))
        values = K @ p
        forces = whole @ p
        if np.linalg.norm(Y @ values - forces) > _RESIDUAL * np.linalg.norm(forces):
            continue
        # Terms that cancel lose digits: a basis that makes large ones of small ones is not taken.
        if np.linalg.norm(np.abs(Y) @ np.abs(values)) > _GROWTH * np.linalg.norm(np.abs(whole) @ np.abs(p)):
            continue
        # What rounding of the columns can make of a number that is zero.
        terms = np.linalg.norm(np.abs(whole) @ np.abs(p))
        noise = np.sum(np.abs(np.linalg.inv(R)), axis=1) * terms
        small = (np.abs(values) <= _SMALL * noise) & (np.abs(values) <= _NOTHING * terms)
        total = sum(_cost(key) for key, drop in zip(basis, small, strict=True) if not drop)
        if total < least - 1e-9:
            least = total
            kept = tuple(key for key, drop in zip(basis, small, strict=True) if not drop)
            rounding = (_ALIKE * noise)[~small]
            equal = _made_equal(kept, Y[:, ~small], scale[~small], values[~small], rounding, forces)
            best = Basis(keys, kept, (K / scale[:, None])[~small], p, equal)
    return ends, best


def _in_lengths(
    columns: dict[Key, Array], sizes: dict[Key, float], placed: Placed
) -> tuple[dict[Key, Array], dict[Key, float]]:
    """Columns, and their sizes, of numbers in units of their nodes' lengths."""
    unit = lengths(placed)
    factors = {key: float(column_unit(key, unit)) for key in columns}
    return (
        {key: factors[key] * column for key, column in columns.items()},
        {key: factors[key] * size for key, size in sizes.items()},
    )


def _greedy(
    order: list[list[Key]], given: set[Key], columns: dict[Key, Array], sizes: dict[Key, float]
) -> tuple[list[Key], Array] | None:
    """Columns that are independent of those before, made orthonormal as rows; None where one is neither.

    Of a group the most independent column comes first.
    """
    Q = np.zeros((0, len(columns[order[0][0]])))
    kept: list[Key] = []
    for group in order:
        lengths_ = {key: float(np.linalg.norm(columns[key])) for key in group}
        left = {
            key: columns[key] / length for key, length in lengths_.items() if length > _DEPENDENT * sizes[key]
        }
        left = {key: column - (Q @ column) @ Q for key, column in left.items()}
        while left:
            left = {key: column - (Q @ column) @ Q for key, column in left.items()}
            parts = {key: float(np.linalg.norm(column)) for key, column in left.items()}
            largest = max(parts.values())
            key = next(key for key, part in parts.items() if part >= largest * (1.0 - 1e-3))
            part, column = parts[key], left.pop(key)
            if part <= _DEPENDENT or (key not in given and part < _OPTIONAL):
                continue
            if part < _INDEPENDENT:
                return None
            kept.append(key)
            Q = np.vstack([Q, column / part])
    return kept, Q


def _made_equal(
    kept: tuple[Key, ...], Y: Array, scale: Array, values: Array, rounding: Array, forces: Array
) -> Array:
    """Numbers of scaled columns Y (rows, kept), with those made equal that differ by rounding alone.

    Rounding of single values is large where columns are nearly dependent, though all values together are
    right: so they are not moved one by one. Numbers of one kind whose sizes agree become one unknown, and the
    forces are solved for the unknowns that are left. Where that does not give the forces nothing is changed.
    """
    groups: list[tuple[tuple[str, int], float, float]] = []
    S = np.zeros((len(kept), len(kept)))
    for k, (kind, _, i) in enumerate(kept):
        number, noise = values[k] / scale[k], rounding[k] / scale[k]
        alike = [
            g
            for g, (other, size, margin) in enumerate(groups)
            if other == (kind, i) and abs(abs(number) - size) <= noise + margin
        ]
        if not alike:
            groups.append(((kind, i), abs(number), noise))
        S[k, alike[0] if alike else len(groups) - 1] = np.copysign(scale[k], number)
    S = S[:, : len(groups)]
    if len(groups) == len(kept):
        return values / scale
    A = Y @ S
    size = np.linalg.norm(A, axis=0)
    unknowns = np.linalg.lstsq(A / size, forces, rcond=None)[0]
    unknowns = unknowns + np.linalg.lstsq(A / size, forces - (A / size) @ unknowns, rcond=None)[0]
    left = np.linalg.norm((A / size) @ unknowns - forces)
    if left > min(_RESIDUAL * np.linalg.norm(forces), 2.0 * np.linalg.norm(Y @ values - forces)):
        return values / scale
    return np.asarray(np.sign(S) @ (unknowns / size))


def reduced(numbers: Numbers, basis: Basis, ends: list[tuple[int, int]]) -> Numbers:
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
        if value is None:
            continue
        if kind == "node":
            nodes.setdefault(index, [0.0] * 10)[i] = value
        elif kind == "body":
            bodies.setdefault(index, [0.0] * 10)[i] = value
        elif kind == "end":
            masses[ends[index]] = value
        else:
            rates[index] = value
    return Numbers(
        {node: pack(entries) for node, entries in nodes.items()},
        {body: pack(entries) for body, entries in bodies.items()},
        masses,
        rates,
    )
