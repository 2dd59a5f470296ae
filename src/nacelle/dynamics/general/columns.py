"""Columns of the linear form in the inertial numbers of the general form.

Forces along the reduced twist are linear in the numbers, F = Y(x, v, a) p. A unit number puts a wrench W on
its body or node (`inertia`), and with J_k the twist of that at unit rate of v_k alone

    Y_k = J_k . W          of a mass: W = [a; 0], of h_i: [T e_i; e_i x a], of S_ij: [0; e_i x T e_j]

for numbers of nodes, of nacelle bodies, for masses where legs hold the nacelle ("end"), and for inertia along
rates. The same lines run on batches of floats, by which columns are chosen, and on symbols, by which their
factors are found with 30 digits (`basis`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from nacelle.dynamics.general.inertia import PAIRS
from nacelle.dynamics.general.inertial import end_ties, reference_point
from nacelle.kinematics.general.legs import Legs, motion
from nacelle.kinematics.general.motion import angular_velocity, columns, velocity, with_root
from nacelle.kinematics.general.placed import Placed
from nacelle.kinematics.general.vectors import ZERO, add, crossed
from nacelle.kinematics.mechanism.assembly import rate_scale
from nacelle.spatial.scalar import Array, Scalar, pack, product

Key = tuple[str, int, int]


class UnitNumber(NamedTuple):
    """What a unit number does.

    Attributes:
        key: kind, node or body or end or rate, and place among its numbers.
        J: for every rate of v the motion (k,) that meets the wrench.
        wrench: (k,), with k = 6 for nodes and bodies, 3 for ends, 1 for rates.
    """

    key: Key
    J: list[Array]
    wrench: Array


def end_points(placed: Placed) -> list[tuple[int, int]]:
    """Ties (leg, number) at different points of the nacelle whose point is fixed there."""
    ends: list[tuple[int, int]] = []
    seen: list[tuple[int, tuple[float, ...]]] = []
    for leg, ties in enumerate(placed.ties):
        for number, tie in enumerate(ties):
            if tie.body is None or tie.local is None or tie.rows[0].kind not in ("point", "rod", "strut"):
                continue
            where = (tie.body, tuple(float(value) for value in tie.local))
            if where not in seen:
                seen.append(where)
                ends.append((leg, number))
    return ends


def unit_numbers(legs: Legs, v: Array, a: Array) -> Iterator[UnitNumber]:
    """What every number of a robot does at a reduced twist v (n,) and its derivative a (n,).

    Rates of v count in m/s over the robot's size, and in rad/s.
    """
    placed, n = legs.placed, len(v)
    unit = rate_scale(placed.robot.numeric)[list(legs.plan.mechanism.independent)]
    moving = motion(legs, v, a)
    trees, at_end, ends = placed.trees, end_ties(placed), end_points(placed)
    nodes = [node for node in range(1, len(trees.nodes)) if node not in trees.roots]
    points = {node: reference_point(placed, node) for node in nodes}
    moved = {node: columns(trees, node, points[node]) for node in nodes}
    own = legs.plan.mechanism.nacelle_rates
    accelerations = {**moving.u_dot, **{rate: moving.w_dot.get(rate, 0.0) for rate in own}}
    J_rates: dict[int, list[Array]] = {rate: [] for rate in accelerations}
    J_nodes: dict[int, list[Array]] = {node: [] for node in nodes}
    J_bodies: dict[int, list[Array]] = {body: [] for body in moving.frames}
    J_ends: list[list[Array]] = [[] for _ in ends]
    for k in range(n):
        w = legs.nacelle_rates(np.eye(n)[k] * unit[k])
        frames = placed.nacelle.frames(w, {}, ZERO)
        u = legs.rates(frames)
        for rate, listed in J_rates.items():
            listed.append(pack([u[rate] if rate in u else w.get(rate, 0.0)]))
        for node in nodes:
            twist = (velocity(moved[node], u), angular_velocity(moved[node], u))
            J_nodes[node].append(pack([*_joined(with_root(trees, node, points[node], twist, frames))]))
        for body, frame in frames.items():
            J_bodies[body].append(pack([*_joined((frame.v, frame.w))]))
        for listed, (leg, number) in zip(J_ends, ends, strict=True):
            carrier, local = placed.ties[leg][number].held
            listed.append(frames[carrier].velocity(local))

    def end_acceleration(key: tuple[int, int]) -> Array:
        carrier, local = placed.ties[key[0]][key[1]].held
        return moving.frames[carrier].acceleration(local)

    for rate, acceleration in accelerations.items():
        yield UnitNumber(("rate", rate, 0), J_rates[rate], pack([acceleration]))
    for place, key in enumerate(ends):
        yield UnitNumber(("end", place, 0), J_ends[place], end_acceleration(key))
    for node in nodes:
        mover = moving.nodes[node]
        at = trees.down(node, end_acceleration(at_end[node])) if node in at_end else mover.a
        for i, (f, moment) in enumerate(_unit_wrenches(at, mover.acceleration_matrix)):
            yield UnitNumber(("node", node, i), J_nodes[node], pack([*_joined((f, moment))]))
    for body, frame in moving.frames.items():
        R = frame.pose.R
        T = product(R.T, np.stack(frame.columns_ddot, axis=1))
        for i, (f, moment) in enumerate(_unit_wrenches(product(R.T, frame.a), T)):
            wrench = pack([*_joined((product(R, f), product(R, moment)))])
            yield UnitNumber(("body", body, i), J_bodies[body], wrench)


def _joined(parts: tuple[Array, Array]) -> list[Scalar]:
    return [*parts[0].tolist(), *parts[1].tolist()]


def _unit_wrenches(a: Array, T: Array) -> Iterator[tuple[Array, Array]]:
    """Force and moment of unit numbers m, h (3), S (6) by their order in `inertia`, own axes."""
    eye = np.eye(3)
    yield a, ZERO
    for k in range(3):
        yield T[:, k], crossed(eye[k], a)
    for i, j in PAIRS:
        moment = crossed(eye[i], T[:, j])
        yield ZERO, moment if i == j else add(moment, crossed(eye[j], T[:, i]))
