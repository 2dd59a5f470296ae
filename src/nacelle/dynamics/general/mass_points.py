"""A nacelle body's inertia as masses: where legs hold it, and at one more point.

A rigid body is its second moments P = sum of m b b^T over its points, b = (x, y, z, 1): ten numbers. Any
masses with the same P, negative ones too, make the same inertial wrench. Six masses where legs hold the body
cost almost nothing, since accelerations are known there; what they leave is one more point and an isotropic
distribution

    P = sum of mass_j b_j b_j^T + mass e e^T + isotropic diag(1, 1, 1, 0)

whose moment is 2 isotropic dw/dt.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from nacelle.dynamics.general.inertia import InertialNumbers, second_moments
from nacelle.kinematics.general.placed import Placed
from nacelle.model.leg import PLATFORM
from nacelle.spatial.rounding import NEAR
from nacelle.spatial.scalar import Array

# Masses may be so much larger than the body's own before what they cancel costs digits.
_LARGEST = 20.0
_STARTS = 40
# Steps from each start: a point that is to be found is found in far fewer.
_STEPS = 40
# Masses below this part of the body's own are rounding.
_NO_MASS = 1e-13
# Masses below this part of the whole are good enough to end the search.
_GOOD = 1.0
# A platform with fewer numbers beside its mass is short enough.
_WORTH = 2
_UPPER = np.triu_indices(4)


@dataclass(frozen=True)
class MassPoints:
    """A body as masses.

    Attributes:
        at_ends: where legs hold it (legs,), kg.
        mass: of one more point, kg; 0 if there is none.
        place: where it is (3,), m.
        isotropic: of the isotropic distribution, kg m^2.
    """

    at_ends: Array
    mass: float
    place: Array
    isotropic: float


def fit_masses(ends: Array, P: Array, size: float) -> MassPoints | None:
    """Masses for a body, found once; None where no moderate ones are found.

    Args:
        ends: where legs hold the body (legs, 3), its axes.
        P: its second moments (4, 4).
        size: of the robot, m.
    """
    return _fit(np.ascontiguousarray(ends).tobytes(), np.ascontiguousarray(P).tobytes(), size)


def with_mass_point(numbers: InertialNumbers, placed: Placed, ends: list[tuple[int, int]]) -> InertialNumbers:
    """The platform's numbers as masses where legs hold it and at one more point, where that is shorter.

    It is where points of the platform are found by the matrix of w' x r + w x (w x r): second moments would
    need columns of it, a further point none. Numbers that are symbols stay as they are.

    Args:
        numbers: the numbers, in the cheapest basis.
        placed: where the robot is.
        ends: ties (leg, number) at different points of the nacelle.
    """
    body = numbers.bodies.get(PLATFORM)
    if body is None or body.dtype == object or not placed.nacelle.spread:
        return numbers
    if np.count_nonzero(body[1:]) < _WORTH or not {3, 4, 5} <= set(placed.nacelle.moving):
        return numbers
    own = [key for key in ends if placed.ties[key[0]][key[1]].body == PLATFORM]
    places = [placed.ties[leg][number].held[1] for leg, number in own]
    given = [numbers.ends.get(key, 0.0) for key in own]
    if not places or any(place.dtype == object for place in places):
        return numbers
    P = np.block([[second_moments(body), body[1:4, None]], [body[None, 1:4], body[None, :1]]])
    for place, mass in zip(places, given, strict=True):
        b = np.append(place, 1.0)
        P = P + float(mass) * np.outer(b, b)
    fitted = fit_masses(np.array(places), P, placed.robot.numeric.size)
    if fitted is None:
        return numbers
    bodies = {key: values for key, values in numbers.bodies.items() if key != PLATFORM}
    if fitted.isotropic:
        bodies[PLATFORM] = np.array([0.0] * 4 + [fitted.isotropic] * 3 + [0.0] * 3)
    masses = {key: float(mass) for key, mass in zip(own, fitted.at_ends, strict=True) if mass}
    others = {key: mass for key, mass in numbers.ends.items() if key not in own}
    points = {PLATFORM: (fitted.mass, fitted.place)} if fitted.mass else {}
    return replace(numbers, bodies=bodies, ends=others | masses, points=points)


@lru_cache(maxsize=256)
def _fit(ends_bytes: bytes, moment_bytes: bytes, size: float) -> MassPoints | None:
    ends, P = np.frombuffer(ends_bytes).reshape(-1, 3), np.frombuffer(moment_bytes).reshape(4, 4)
    unit = np.array([size, size, size, 1.0])
    scaled = P / np.outer(unit, unit)
    total = max(float(P[3, 3]), 2.0 * float(np.trace(P[:3, :3])) / size**2)
    # What is left of a platform whose numbers legs have taken over may be negative: no masses measure it.
    if not total > NEAR * float(np.max(np.abs(scaled))):
        return None
    target = _upper(scaled / total)
    b = np.concatenate([ends / size, np.ones((len(ends), 1))], axis=1)
    columns = _upper(np.einsum("ki,kj->kij", b, b)).T
    isotropic = _upper(np.diag([1.0, 1.0, 1.0, 0.0]))[:, None]
    for basis in (columns, np.concatenate([columns, isotropic], axis=1)):
        solution = _without_rounding(np.linalg.lstsq(basis, target, rcond=1e-10)[0])
        if np.max(np.abs(basis @ solution - target)) < 1e-12 and np.max(np.abs(solution)) < _LARGEST:
            isotropic_part = solution[len(ends) :]
            return MassPoints(
                solution[: len(ends)] * total,
                0.0,
                np.zeros(3),
                float(isotropic_part[0]) * total * size**2 if len(isotropic_part) else 0.0,
            )
    return _with_point(columns, isotropic, target, total, size)


def _with_point(
    columns: Array, isotropic: Array, target: Array, total: float, size: float
) -> MassPoints | None:
    """Masses at the ends and one more point, with and without an isotropic distribution."""
    random = np.random.default_rng(7)
    for basis in (columns, np.concatenate([columns, isotropic], axis=1)):
        # What the basis cannot give is left to the point.
        u, s, _ = np.linalg.svd(basis)
        rank = int(np.sum(s > 1e-10 * s[0]))
        blind = u[:, rank:].T
        best: tuple[float, Array, float] | None = None
        for sign in (1.0, -1.0):
            starts = random.normal(size=(_STARTS, 4)) * np.array([0.3, 0.3, 0.3, 1.0])
            for h in _points(starts, blind, target, sign):
                remainder = target - sign * _upper(np.outer(h, h))
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
            h, ends = _polished(basis, target, h, sign)
            count = columns.shape[1]
            return MassPoints(
                ends[:count] * total,
                sign * float(h[3] ** 2) * total,
                h[:3] / h[3] * size,
                float(ends[count]) * total * size**2 if len(ends) > count else 0.0,
            )
    return None


def _upper(P: Array) -> Array:
    """The ten numbers of second moments (..., 4, 4)."""
    return np.asarray(P[..., _UPPER[0], _UPPER[1]])


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


def _polished(basis: Array, target: Array, h: Array, sign: float) -> tuple[Array, Array]:
    """Newton on masses and point together, to rounding; a place beside an axis by rounding lies on it."""
    h = np.where(np.abs(h) < 1e-9, 0.0, h)
    ends = np.linalg.lstsq(basis, target - sign * _upper(np.outer(h, h)), rcond=1e-10)[0]
    for _ in range(6):
        left = target - basis @ ends - sign * _upper(np.outer(h, h))
        moved = [k for k in range(4) if h[k] != 0.0]
        unit = np.eye(4)
        slopes = np.stack([sign * _upper(np.outer(unit[k], h) + np.outer(h, unit[k])) for k in moved], axis=1)
        step = np.linalg.lstsq(np.concatenate([basis, slopes], axis=1), left, rcond=1e-12)[0]
        ends = ends + step[: basis.shape[1]]
        h = h.copy()
        h[moved] += step[basis.shape[1] :]
    return h, _without_rounding(ends)


def _without_rounding(masses: Array) -> Array:
    """Masses, in units of the body's own, with those set to zero that the solve has left beside zero."""
    return np.where(np.abs(masses) < _NO_MASS, 0.0, masses)
