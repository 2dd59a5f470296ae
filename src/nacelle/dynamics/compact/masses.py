"""The platform's inertia as masses: at the legs' ends, where accelerations are known already, and few more.

A rigid body is its second moments P = sum of m b b^T over its points, b = (x, y, z, 1): ten numbers. Any
masses with the same P, negative ones too, make the same inertial wrench. Masses at the ends of the legs cost
almost nothing; what they leave is one more point and an even distribution

    P = sum of mass_j b_j b_j^T + mass e e^T + even diag(1, 1, 1, 0)

whose moment is 2 even dw/dt. Of P only what the platform's motion feels has to be met.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from nacelle.spatial.inertia import inertia_matrix
from nacelle.spatial.rounding import NEAR
from nacelle.spatial.scalar import Array

# Masses may be so much larger than the platform's own before what they cancel costs digits.
_LARGEST = 20.0
_STARTS = 40
# Steps from each start: a point that is to be found is found in far fewer.
_STEPS = 40
# Masses below this part of the body's own are rounding.
_NO_MASS = 1e-13
# Masses below this part of the whole are good enough to end the search.
_GOOD = 1.0


@dataclass(frozen=True)
class Masses:
    """A body as masses.

    Attributes:
        at_ends: at the legs' ends (legs,), kg.
        mass: of one more point, kg; 0 if there is none.
        place: where it is (3,), m.
        even: of the even distribution, kg m^2.
    """

    at_ends: Array
    mass: float
    place: Array
    even: float


def second_moments(parameters: Array) -> Array:
    """P (4, 4) from ten parameters: P_ij = sum of m x_i x_j, from I = tr(S) 1 - S."""
    I = inertia_matrix(parameters)
    S = 0.5 * np.trace(I) * np.eye(3) - I
    P = np.zeros((4, 4))
    P[:3, :3], P[:3, 3], P[3, :3], P[3, 3] = S, parameters[1:4], parameters[1:4], parameters[0]
    return P


def felt(P: Array, turns: tuple[int, ...]) -> Array:
    """What of second moments (..., 4, 4) a motion with rotations about these axes of the platform feels."""
    if len(turns) == 3:
        i, j = np.triu_indices(4)
        return np.asarray(P[..., i, j])
    if len(turns) == 1:
        a, b = (turns[0] + 1) % 3, (turns[0] + 2) % 3
        return np.stack([P[..., 3, 3], P[..., a, 3], P[..., b, 3], P[..., a, a] + P[..., b, b]], axis=-1)
    return np.asarray(P[..., 3, 3][..., None])


def fit(ends: Array, parameters: Array, turns: tuple[int, ...], size: float) -> Masses | None:
    """Masses for a body, found once; None where no moderate ones are found.

    Args:
        ends: where the legs end (legs, 3), the platform's axes.
        parameters: the body's ten, floats.
        turns: rotations of the platform's motion: all three, one about an axis of its own, or none.
        size: of the robot, m.
    """
    return _fit(ends.tobytes(), parameters.tobytes(), turns, size)


@lru_cache(maxsize=256)
def _fit(ends_bytes: bytes, parameter_bytes: bytes, turns: tuple[int, ...], size: float) -> Masses | None:
    ends, parameters = np.frombuffer(ends_bytes).reshape(-1, 3), np.frombuffer(parameter_bytes)
    if len(turns) == 2:
        return None
    unit = np.array([size, size, size, 1.0])
    scale = np.outer(unit, unit)
    total = max(float(parameters[0]), float(np.trace(inertia_matrix(parameters))) / size**2, 1e-300)
    target = felt(second_moments(parameters) / scale / total, turns)
    b = np.concatenate([ends / size, np.ones((len(ends), 1))], axis=1)
    columns = felt(np.einsum("ki,kj->kij", b, b), turns).T
    even = felt(np.diag([1.0, 1.0, 1.0, 0.0]), turns)[:, None]
    for basis in (columns, np.concatenate([columns, even], axis=1)) if turns else (columns,):
        found = _without_rounding(np.linalg.lstsq(basis, target, rcond=1e-10)[0])
        if np.max(np.abs(basis @ found - target)) < 1e-12 and np.max(np.abs(found)) < _LARGEST:
            rest = found[len(ends) :]
            return Masses(
                found[: len(ends)] * total,
                0.0,
                np.zeros(3),
                float(rest[0]) * total * size**2 if len(rest) else 0.0,
            )
    if len(turns) != 3:
        return None
    return _with_point(columns, even, target, turns, total, size)


def _with_point(
    columns: Array, even: Array, target: Array, turns: tuple[int, ...], total: float, size: float
) -> Masses | None:
    """Masses at the ends and one more point, with and without an even distribution."""
    random = np.random.default_rng(7)
    for basis in (columns, np.concatenate([columns, even], axis=1)):
        # What the basis cannot give is left to the point.
        u, s, _ = np.linalg.svd(basis)
        rank = int(np.sum(s > 1e-10 * s[0]))
        blind = u[:, rank:].T
        best: tuple[float, Array, float] | None = None
        for sign in (1.0, -1.0):
            starts = random.normal(size=(_STARTS, 4)) * np.array([0.3, 0.3, 0.3, 1.0])
            for h in _points(starts, blind, target, sign):
                remainder = target - sign * felt(np.outer(h, h), turns)
                ends = np.linalg.lstsq(basis, remainder, rcond=1e-10)[0]
                worst = max(float(np.max(np.abs(ends))), float(h @ h))
                # Mirror images are equally good: the first of them stays.
                if best is None or worst < (1.0 - NEAR) * best[0]:
                    best = (worst, h, sign)
                if worst < _GOOD:
                    break
            if best is not None and best[0] < _GOOD:
                break
        if best is not None and best[0] < _LARGEST:
            _, h, sign = best
            h, ends = _polished(basis, target, h, sign, turns)
            count = columns.shape[1]
            return Masses(
                ends[:count] * total,
                sign * float(h[3] ** 2) * total,
                h[:3] / h[3] * size,
                float(ends[count]) * total * size**2 if len(ends) > count else 0.0,
            )
    return None


def _points(starts: Array, blind: Array, target: Array, sign: float) -> Array:
    """Points h (solutions, 4) with f = blind (target - sign h h^T) = 0, from starts (starts, 4).

    Each f is c - sign h^T Q h. All starts take the steps of Levenberg and Marquardt at once,
    (J^T J + damping 1) step = -J^T f with J = -2 sign Q h.
    """
    i, j = np.triu_indices(4)
    Q = np.zeros((len(blind), 4, 4))
    Q[:, i, j] += 0.5 * blind
    Q[:, j, i] += 0.5 * blind
    c = blind @ target

    def deviation(h: Array) -> Array:
        return np.asarray(c - sign * np.einsum("si,qij,sj->sq", h, Q, h))

    h, f = starts, deviation(starts)
    damping = np.full((len(h), 1, 1), 1e-2)
    for _ in range(_STEPS):
        J = -2.0 * sign * np.einsum("qij,sj->sqi", Q, h)
        JT = np.swapaxes(J, 1, 2)
        step = np.linalg.solve(JT @ J + damping * np.eye(4), -(JT @ f[:, :, None]))[:, :, 0]
        moved = deviation(h + step)
        better = np.sum(moved * moved, axis=1) < np.sum(f * f, axis=1)
        h, f = np.where(better[:, None], h + step, h), np.where(better[:, None], moved, f)
        damping = np.maximum(damping * np.where(better, 0.1, 10.0)[:, None, None], 1e-14)
    good = (np.max(np.abs(f), axis=1, initial=0.0) <= 1e-7) & (np.abs(h[:, 3]) >= 1e-3)
    return np.asarray(h[good])


def _polished(
    basis: Array, target: Array, h: Array, sign: float, turns: tuple[int, ...]
) -> tuple[Array, Array]:
    """Newton on masses and point together, to rounding; a place beside an axis by rounding lies on it."""
    h = np.where(np.abs(h) < 1e-9, 0.0, h)
    ends = np.linalg.lstsq(basis, target - sign * felt(np.outer(h, h), turns), rcond=1e-10)[0]
    for _ in range(6):
        left = target - basis @ ends - sign * felt(np.outer(h, h), turns)
        moved = [k for k in range(4) if h[k] != 0.0]
        unit = np.eye(4)
        slopes = np.stack(
            [sign * felt(np.outer(unit[k], h) + np.outer(h, unit[k]), turns) for k in moved], axis=1
        )
        step = np.linalg.lstsq(np.concatenate([basis, slopes], axis=1), left, rcond=1e-12)[0]
        ends = ends + step[: basis.shape[1]]
        h = h.copy()
        h[moved] += step[basis.shape[1] :]
    return h, _without_rounding(ends)


def _without_rounding(masses: Array) -> Array:
    """Masses, in units of the body's own, with those set to zero that the solve has left beside zero."""
    return np.where(np.abs(masses) < _NO_MASS, 0.0, masses)
