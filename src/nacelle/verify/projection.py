"""All rates of the tree from the independent ones, by an engine's own closure Jacobian.

The independent rates v are entries of u (components of the platform's twist, rates of the nacelle's joints).
With the rows of the closures, of idle spins, and the choice of v on top of each other,

    K u = [0; 0; v],    K u' = [-bias; -bias; a]

K has full column rank where the mechanism has the motion that its description says, and least squares give
G, u and u'.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nacelle.kinematics.mechanism.assembly import rate_scale
from nacelle.model.leg import Leg, Nacelle
from nacelle.model.platform import AXES
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array
from nacelle.verify.engine import Snapshot, VerifyError
from nacelle.verify.loops import ClosureAtState

_RANK = 1e-9


@dataclass(frozen=True, eq=False)
class Projection:
    """The map from the independent rates, G (rates, n), and the bias of the tree's rates (rates,)."""

    G: Array
    bias: Array


def projection(robot: Robot, now: Snapshot, loops: Sequence[ClosureAtState], u: Array) -> Projection:
    """Find the map from the independent rates to all rates of the tree.

    Raises:
        VerifyError: if the closures do not determine all rates.
    """
    count = len(u)
    closing = np.concatenate([np.zeros((0, count)), *(entry.forbidden for entry in loops)])
    closing_bias = np.concatenate([np.zeros(0), *(entry.bias for entry in loops)])
    chosen = np.zeros((robot.motion.n, count))
    for row, place in zip(chosen, independent(robot), strict=True):
        row[place] = 1.0
    spins, spin_biases = _spins(robot, now, closing, chosen)
    K = np.concatenate([closing, spins, chosen])
    right = np.zeros((len(K), robot.motion.n + 1))
    right[len(closing) + len(spins) :, :-1] = np.eye(robot.motion.n)
    right[: len(closing), -1] = -closing_bias
    right[len(closing) : len(closing) + len(spins), -1] = -spin_biases
    # Lengths in the robot's size: so the rank does not hang on the units.
    unit = rate_scale(robot)
    scaled, _, rank, _ = np.linalg.lstsq(K * unit, right, rcond=1e-12)
    if rank < count:
        raise VerifyError(
            f"the closures of {robot.name} leave {count - rank} of {count} rates of the tree undetermined"
        )
    solution = unit[:, None] * scaled
    return Projection(solution[:, :-1], solution[:, -1])


def independent(robot: Robot) -> list[int]:
    """Places in u of the independent rates."""
    places = []
    for name in robot.motion.coordinates:
        if name in robot.motion.joint_names:
            places.append(robot.platform_nv + robot.v_slices[robot.joint(name)].start)
        else:
            places.append(AXES.index(name))
    return places


def _spins(robot: Robot, now: Snapshot, closing: Array, chosen: Array) -> tuple[Array, Array]:
    """Idle spins, which are zero by convention: rows over the rates, and biases.

    A leg that can move while the nacelle rests has bodies that spin, and so has the nacelle's own mechanism
    if it can move while the chosen rates rest; of each such motion the first body that turns in it does not
    turn about that axis.
    """
    rows: list[Array] = []
    biases: list[float] = []
    parts: list[tuple[Leg | Nacelle, Array]] = [(leg, closing) for leg in robot.legs]
    for part, held in [*parts, (robot.nacelle, np.concatenate([closing, chosen]))]:
        own, own_biases = _idle_spins(robot, part, now, held)
        rows += own
        biases += own_biases
    return np.array(rows).reshape(-1, closing.shape[1]), np.array(biases)


def _idle_spins(
    robot: Robot, part: Leg | Nacelle, now: Snapshot, held: Array
) -> tuple[list[Array], list[float]]:
    """Spins of a leg's or the nacelle's bodies by its own joints while rows (rows, rates) are zero."""
    places = [robot.platform_nv + k for j in part.joints for k in _range(robot.v_slices[j])]
    if not places:
        return [], []
    unit = rate_scale(robot)[places]
    _, s, Vt = np.linalg.svd(held[:, places] * unit)
    rank = int(np.sum(s > _RANK * max(float(np.max(s, initial=0.0)), 1.0)))
    idle = unit[:, None] * Vt[rank:].T
    rows: list[Array] = []
    biases: list[float] = []
    felt = np.zeros((0, idle.shape[1]))
    for body in part.bodies:
        if len(rows) == idle.shape[1]:
            break
        J = now.jacobian[body][3:]
        U, singular, _ = np.linalg.svd(J[:, places] @ idle)
        if singular[0] < _RANK:
            continue
        row = U[:, 0] @ J
        more = np.vstack([felt, row[places] @ idle])
        if np.linalg.matrix_rank(more, _RANK) > len(felt):
            felt = more
            rows.append(row)
            # The axis is fixed to the body, so its own derivative does no work: (w x axis) . w = 0.
            biases.append(float(U[:, 0] @ now.bias_acceleration[body][3:]))
    return rows, biases


def _range(place: slice) -> range:
    return range(place.start, place.stop)
