"""Inertia in the cheapest basis.

Forces are linear in the inertial numbers, F = Y(x, v, a) p, and most columns of Y depend on others. Columns are
taken greedily, cheap ones first (an inertia along a rate, a mass where a leg holds the nacelle, then links from the
base outwards, then the nacelle), as long as they are independent over sample states; the others are
written with them. The numbers that remain are base parameters of the robot:

    p_base = K p,      K = Y_base^+ Y                 residual of the order of rounding.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nacelle.dynamics.general.core import Legs, Motion, Rates, eliminated, motion
from nacelle.dynamics.general.forces import Required, end_ties, inertial_numbers, inward, ties_on_nacelle
from nacelle.dynamics.general.inertia import PAIRS, Numbers
from nacelle.dynamics.general.plan import Plan, place, sample_states
from nacelle.dynamics.general.vectors import ZERO
from nacelle.kinematics.mechanism import Mechanism
from nacelle.model.robot import Robot
from nacelle.spatial.lane import Lane, lanes
from nacelle.spatial.scalar import Array, pack

_POSES = 12
_MOTIONS = 5
# A column whose part across those taken before is smaller than this part of it depends on them.
_DEPENDENT = 1e-9
# Between this and the former a column is neither: the numbers are left as they are.
_INDEPENDENT = 1e-5
_RESIDUAL = 1e-12

Key = tuple[str, int, int]


@dataclass(frozen=True, eq=False)
class Basis:
    """The numbers that remain.

    Attributes:
        keys: of the numbers as the description gives them.
        kept: of those that remain.
        K: (kept, keys).
    """

    keys: tuple[Key, ...]
    kept: tuple[Key, ...]
    K: Array


def as_list(numbers: Numbers, ends: dict[tuple[int, int], int]) -> dict[Key, object]:
    """The numbers by key."""
    found: dict[Key, object] = {}
    for node, values in numbers.nodes.items():
        found |= {("node", node, i): value for i, value in enumerate(values.tolist())}
    for body, values in numbers.bodies.items():
        found |= {("body", body, i): value for i, value in enumerate(values.tolist())}
    found |= {("end", ends[key], 0): value for key, value in numbers.ends.items()}
    found |= {("rate", rate, 0): value for rate, value in numbers.rates.items()}
    return found


def _ends(plan: Plan, legs: Legs) -> list[tuple[int, int]]:
    """Ties at different points of the nacelle whose point is fixed there."""
    found: list[tuple[int, int]] = []
    seen: list[tuple[int, tuple[float, ...]]] = []
    for leg, ties in enumerate(legs.placed.ties):
        for number, tie in enumerate(ties):
            if tie.body is None or tie.local is None or tie.rows[0].kind not in ("point", "rod"):
                continue
            where = (tie.body, tuple(float(value) for value in tie.local))
            if where not in seen:
                seen.append(where)
                found.append((leg, number))
    return found


def _columns(robot: Robot, plan: Plan) -> tuple[list[tuple[int, int]], dict[Key, Array], dict[Key, float]]:
    """Columns of Y over sample states, and for each the size of what it is a sum of."""
    rng = np.random.default_rng(11)
    states = sample_states(plan.known, _POSES, seed=5)
    x, y = (np.repeat(np.stack(part), _MOTIONS, axis=0) for part in zip(*states, strict=True))
    n = robot.motion.n
    unit = 1.0 / np.where([name.startswith("r") for name in robot.motion.coordinates], 1.0, 1.0)
    v, a = rng.normal(size=(2, len(x), n)) * unit * max(robot.size, 1e-3)
    placed = place(robot, plan.known, plan.rods, plan.spins, lanes(x, 1), lanes(y, 1))
    legs = eliminated(plan, placed)
    moving = motion(legs, lanes(v, 1), lanes(a, 1))
    count = len(x)

    def force(into: Required) -> Array:
        gamma = inward(into)
        held = [factors.forces(gamma, held=True)[0] for factors in legs.factors]
        return _samples(pack(legs.along_v(ties_on_nacelle(legs, into, held))), count)

    found: dict[Key, Array] = {}
    sizes: dict[Key, float] = {}
    for rate, acceleration in moving.u_dot.items():
        P = force(Required(placed, gamma={rate: 1.0}))
        column = P * _samples(pack([acceleration]), count)
        found["rate", rate, 0] = column
        sizes["rate", rate, 0] = float(np.linalg.norm(column))
    ends = _ends(plan, legs)
    for k, (leg, number) in enumerate(ends):
        tie = placed.ties[leg][number]
        into = Required(placed)
        frame = moving.frames[tie.body]
        into.on_nacelle(tie.body, tie.point, frame.acceleration(tie.local), ZERO)
        found["end", k, 0] = force(into)
    eye = np.eye(3)
    at_end = end_ties(placed)
    for node in range(1, len(placed.chains.nodes)):
        P = []
        for k in range(6):
            f, m = (eye[k], ZERO) if k < 3 else (ZERO, eye[k - 3])
            into = Required(placed)
            if node in at_end and k < 3:
                into.on_tie(at_end[node], f)
            else:
                into.on_node(node, f, m)
            P.append(force(into))
        mover = moving.nodes[node]
        a = mover.a
        if node in at_end:
            leg, number = at_end[node]
            tie = placed.ties[leg][number]
            a = placed.chains.down(node, moving.frames[tie.body].acceleration(tie.local))
        Y = _regressor(_samples(a, count), _samples(mover.turning, count))
        for i in range(10):
            terms = np.stack([Y[:, k, i, None] * P[k] for k in range(6)])
            found["node", node, i] = terms.sum(axis=0)
            sizes["node", node, i] = float(np.linalg.norm(np.abs(terms).sum(axis=0)))
    for body, frame in moving.frames.items():
        P = []
        for k in range(6):
            f, m = (eye[k], ZERO) if k < 3 else (ZERO, eye[k - 3])
            into = Required(placed)
            into.on_nacelle(body, frame.pose.p, f, m)
            P.append(force(into))
        R = _samples(frame.pose.R, count)
        ddot = np.stack([_samples(c, count) for c in frame.columns_ddot], axis=2)
        T = np.einsum("sji,sjk->sik", R, ddot)
        own = np.einsum("sji,sj->si", R, _samples(frame.a, count))
        Y = _regressor(own, T)
        Y = np.concatenate([np.einsum("sij,sjk->sik", R, Y[:, :3]), np.einsum("sij,sjk->sik", R, Y[:, 3:])], axis=1)
        for i in range(10):
            terms = np.stack([Y[:, k, i, None] * P[k] for k in range(6)])
            found["body", body, i] = terms.sum(axis=0)
            sizes["body", body, i] = float(np.linalg.norm(np.abs(terms).sum(axis=0)))
    for key, column in found.items():
        sizes.setdefault(key, float(np.linalg.norm(column)))
    return ends, {key: column.ravel() for key, column in found.items()}, sizes


def _samples(values: Array, count: int) -> Array:
    """Arrays of samples as floats (count, ...)."""
    flat = [
        np.broadcast_to(entry.samples if isinstance(entry, Lane) else float(entry), (count,))
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
    for place, (i, j) in enumerate(PAIRS):
        Y[:, 3:, 4 + place] = np.cross(eye[i], T[:, :, j])
        if i != j:
            Y[:, 3:, 4 + place] += np.cross(eye[j], T[:, :, i])
    return Y


def _price(key: Key, depth: dict[int, int]) -> float:
    kind, index, i = key
    part = (0.0, 0.2, 0.2, 0.2, 0.3, 0.3, 0.3, 0.6, 0.6, 0.6)[i]
    if kind == "rate":
        return 0.0
    if kind == "end":
        return 1.0
    return 2.0 + depth[index] + part if kind == "node" else 20.0 + part


def find_basis(known: Mechanism, plan: Plan) -> tuple[list[tuple[int, int]], Basis | None]:
    """The cheapest basis of a robot's numbers; None where rounding cannot tell what depends on what."""
    robot = known.robot
    with np.errstate(all="ignore"):
        ends, columns, sizes = _columns(robot, plan)
        x, y = plan.samples[0]
        placed = place(robot, known, plan.rods, plan.spins, x, y)
    numbers = as_list(inertial_numbers(placed, plan), {})
    depth = {node: len(placed.chains.path(node)) for node in range(1, len(placed.chains.nodes))}
    keys = tuple(numbers)
    wanted = {key for key in columns if key[0] in ("rate", "end")} | set(keys)
    order = sorted((key for key in columns if key in wanted), key=lambda key: (_price(key, depth), key))
    Q: list[Array] = []
    kept: list[Key] = []
    for key in order:
        column = columns[key]
        length = float(np.linalg.norm(column))
        if length <= _DEPENDENT * sizes[key] or length == 0.0:
            continue
        left = column / length
        for _ in range(2):
            for q in Q:
                left = left - (q @ left) * q
        part = float(np.linalg.norm(left))
        if part > _DEPENDENT:
            if part < _INDEPENDENT:
                return ends, None
            kept.append(key)
            Q.append(left / part)
    scale = np.array([np.linalg.norm(columns[key]) for key in kept])
    Y = np.stack([columns[key] for key in kept], axis=1) / scale
    whole = np.stack([columns[key] for key in keys], axis=1)
    K = np.linalg.lstsq(Y, whole, rcond=None)[0] / scale[:, None]
    p = np.array([float(value) for value in numbers.values()])
    # What rounding leaves of numbers that are zero.
    p_base = K @ p
    size = np.abs(K) @ np.abs(p)
    K[np.abs(K) * np.abs(p).max() < 0] = 0.0
    forces = whole @ p
    error = np.linalg.norm(Y @ (p_base * scale) - forces) / max(np.linalg.norm(forces), 1e-300)
    if error > _RESIDUAL:
        return ends, None
    small = np.abs(p_base) * scale <= 1e-13 * np.max(np.abs(p_base) * scale)
    return ends, Basis(keys, tuple(k for k, s in zip(kept, small, strict=True) if not s), K[~small])


def reduced(numbers: Numbers, basis: Basis, ends: list[tuple[int, int]]) -> Numbers:
    """The numbers in the cheapest basis."""
    given = as_list(numbers, {})
    values = [given[key] for key in basis.keys]
    nodes: dict[int, list[object]] = {}
    bodies: dict[int, list[object]] = {}
    masses: dict[tuple[int, int], object] = {}
    rates: Rates = {}
    for row, (kind, index, i) in zip(basis.K, basis.kept, strict=True):
        value = None
        for factor, number in zip(row, values, strict=True):
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
