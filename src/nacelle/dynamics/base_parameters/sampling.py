"""The linear form over generic states, in comparable units, and which of its columns are independent.

Over N states Gamma = Y p is stacked to W (N actuators, parameters), whose rank is the number of base
parameters ([AGH2005] (22)). So that neither units nor scale decide what is zero, parameters are counted in
kg, kg s and kg s^2, s the robot's size, and motions drawn at random are scaled, g being gravity, to

    v ~ sqrt(g / s) u,      dv/dt ~ (2 g / s) u            u = s for translations, 1 rad for rotations

so that inertial forces are of the order of weights. Where friction bends at a rate, some motions are as slow
as that: beyond it a Stribeck term is nothing, and a smooth sign is 1. Poses are those by which the robot's
plan is made, and as many more as parameters with static effects (weight, springs) need.

Columns are taken in a given order as long as they are independent of those taken before; with B the columns
that are kept and D the others,

    W_D = W_B A,      so that      W p = W_B (p_B + A p_D):

p_D may be set to zero if p_B becomes p_B + A p_D ([AGH2005] (22), (23)). Base parameters are what is left
(`base_parameters`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from nacelle.dynamics import model_functions
from nacelle.kinematics.mechanism.assembly import rate_scale
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.sample_states import closed_sample_states, sample_states
from nacelle.model.linear_parameters import linear_parameters
from nacelle.model.numbers import INERTIA_NAMES
from nacelle.model.robot import Robot
from nacelle.spatial.batch import Batch, from_samples
from nacelle.spatial.scalar import Array

# A column whose part across those kept before is smaller than this part of it depends on them; factors of
# columns of unit length that are smaller are zero.
DEPENDENT_PART = 1e-8


@dataclass(frozen=True, eq=False)
class ColumnReduction:
    """Independent columns.

    Attributes:
        kept: places of the independent columns, in the order in which they were taken.
        K: (kept, columns) with W = W_kept K.
        least: the smallest part of a kept column across those before.
        most: the largest part of one that depends on them.
    """

    kept: tuple[int, ...]
    K: Array
    least: float
    most: float

    @property
    def gap(self) -> float:
        """How sharply the rank is determined: the smallest part accepted over the largest one rejected."""
        return self.least / max(self.most, float(np.finfo(float).eps))

    @property
    def sort_columns(self) -> ColumnReduction:
        """The same with the columns in the order of their places."""
        order = np.argsort(self.kept)
        return replace(self, kept=tuple(self.kept[k] for k in order), K=self.K[order])


def compress_rows(W: Array) -> Array:
    """As many rows as columns of W (rows, columns), if it has more, with the same lengths and angles."""
    if W.shape[0] <= W.shape[1]:
        return W
    # What is exactly zero stays so, whatever the library makes of it.
    return np.where(np.any(W, axis=0), np.linalg.qr(W, mode="r"), 0.0)


def reduce_columns(W: Array, order: Sequence[int]) -> ColumnReduction:
    """Find independent columns of W (rows, columns), taken in an order.

    Columns without effect are exactly zero.
    """
    size = np.linalg.norm(W, axis=0)
    scaled = compress_rows(W / np.where(size > 0.0, size, 1.0))
    kept, Q, least, most = _select_columns(scaled, [k for k in order if size[k] > 0.0])
    # The kept columns are Q^T R with R upper triangular; once more for what rounding has left.
    A = scaled[:, kept]
    R = np.triu(Q @ A)
    K = np.linalg.solve(R, Q @ scaled)
    K = K + np.linalg.solve(R, Q @ (scaled - A @ K))
    K = np.where(np.abs(K) <= DEPENDENT_PART, 0.0, K) * size / size[kept][:, None]
    K[:, kept] = np.eye(len(kept))
    return ColumnReduction(tuple(kept), K, least, most)


def _select_columns(W: Array, order: Sequence[int]) -> tuple[list[int], Array, float, float]:
    """Columns of unit length that are independent; these made orthonormal, as rows Q (kept, rows).

    Then come the smallest part of such a column across those before, and the largest of the others.
    """
    Q = np.zeros((0, len(W)))
    kept: list[int] = []
    least, most = 1.0, 0.0
    for k in order:
        left = W[:, [k]]
        for _ in range(2):
            left = left - Q.T @ (Q @ left)
        part = float(np.linalg.norm(left, axis=0)[0])
        if part < DEPENDENT_PART:
            most = max(most, part)
            continue
        least = min(least, part)
        kept.append(k)
        column = left[:, 0] / part
        column = column - Q.T @ (Q @ column)
        Q = np.vstack([Q, column / np.linalg.norm(column)])
    return kept, Q, least, most


# Motions at each sample pose.
_MOTIONS = 6
# A column below this part of what columns of its kind are is zero.
_NO_EFFECT = 1e-10
_GRAVITY = 9.81
# Parameters that are felt at rest: their columns depend on the pose alone, of which there must be enough.
_STATIC = (*INERTIA_NAMES[:4], "stiffness", "stiffness*rest", "stiffness*length", "constant")
_SPARE, _MOST = 1.5, 60


def generic_states(robot: Robot, seed: int = 0) -> tuple[Array, Array, Array, Array]:
    """Poses x, their passive coordinates y, twists v, accelerations a (N, ...) all over the workspace."""
    mechanism, samples = mechanism_of(robot), _poses(robot, seed)
    rng = np.random.default_rng(seed)
    x, y = (np.repeat(np.stack(part), _MOTIONS, axis=0) for part in zip(*samples, strict=True))
    unit = rate_scale(robot)[list(mechanism.independent)]
    g = float(np.linalg.norm(np.asarray(robot.gravity, dtype=float))) or _GRAVITY
    v, a = rng.normal(size=(2, len(x), robot.motion.n)) * unit
    rate = math.sqrt(g / robot.size)
    speeds = np.tile(_speeds(robot, rate), len(samples))
    return x, y, v * speeds[:, None], a * (2.0 * g / robot.size)


def _speeds(robot: Robot, rate: float) -> Array:
    """Speeds of the motions at a pose (_MOTIONS,), rad/s or sizes a second, of which `rate` is the usual one.

    The last two are those of the slowest and the fastest bend of friction.
    """
    bends = [
        term.scale / (1.0 if primitive.is_rotation else robot.size)
        for joint in robot.numeric.joints
        for primitive, terms in zip(joint.primitives, joint.friction, strict=False)
        for term in terms
        if term.scale > 0.0
    ]
    speeds = np.full(_MOTIONS, rate)
    if bends:
        speeds[-2:] = np.minimum(rate, [min(bends), max(bends)])
    return speeds


@lru_cache(maxsize=32)
def sampled_regressor(robot: Robot, seed: int = 0) -> Array:
    """Y over generic states (rows, parameters) for parameters in `units`; columns without effect are zero."""
    x, y, v, a = generic_states(robot, seed)
    Y = model_functions.regressor(robot, *(from_samples(part, 1) for part in (x, y, v, a)))["Y"]
    rows = [np.broadcast_to(e.samples if isinstance(e, Batch) else float(e), (len(x),)) for e in Y.ravel()]
    W = np.stack(rows, axis=1).reshape(len(x) * Y.shape[0], -1) * parameter_units(robot)
    parts = [name.rpartition(".")[2] for name in linear_parameters(robot).names]
    kinds = ["inertia" if part in INERTIA_NAMES else part for part in parts]
    size = np.linalg.norm(W, axis=0)
    largest: dict[str, float] = {}
    for kind, length in zip(kinds, size.tolist(), strict=True):
        largest[kind] = max(largest.get(kind, 0.0), length)
    nothing = [length <= _NO_EFFECT * largest[kind] for kind, length in zip(kinds, size, strict=True)]
    return np.where(nothing, 0.0, W)


def _poses(robot: Robot, seed: int) -> Sequence[tuple[Array, Array]]:
    """Closed configurations (x, y), enough of them to distinguish what acts at rest."""
    names = linear_parameters(robot).names
    at_rest = sum(name.rpartition(".")[2] in _STATIC for name in names)
    count = min(_MOST, math.ceil(_SPARE * at_rest / len(robot.actuators)))
    samples = closed_sample_states(robot)
    return samples if count <= len(samples) else sample_states(mechanism_of(robot), count, seed + 1)


def parameter_units(robot: Robot) -> Array:
    """The unit of every linear parameter: kg, kg size, kg size^2 (parameters,); rotors behind their gears."""
    gears = {joint.name: float(joint.gear_ratio) for joint in robot.joints}
    sizes = []
    for name in linear_parameters(robot).names:
        owner, _, part = name.rpartition(".")
        if part in INERTIA_NAMES:
            sizes.append(robot.size ** (0 if part == "m" else 1 if part[0] == "m" else 2))
        else:
            sizes.append(gears[owner] ** -2 if part == "rotor_inertia" else 1.0)
    return np.array(sizes)
