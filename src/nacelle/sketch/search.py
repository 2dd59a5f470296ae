"""Directions of joint axes for which a platform on some legs has a motion: a search by screws.

For every way to spread the legs, and for every combination of the directions that `posture` offers, the
usual ones first, the screws of the legs say whether the platform has the motion that is asked for and
whether the actuators control it. The cheapest of those that do are written as descriptions and checked,
which also proves that the motion is finite.

How a platform on some legs moves follows from the screws of their joints in one pose. A leg with joint rates
q gives the platform the twist V = T q, [v; w] at its origin in base axes, with the columns

    revolute   [a x (O - X); a]      prismatic   [a; 0]      O the platform's origin, X the joint, a its axis

and a platform on legs 1..L can have the twists that all of them allow, the intersection of the column spaces
of T_1..T_L (Hunt: Kinematic Geometry of Mechanisms, 1978; Kong, Gosselin: Type Synthesis of Parallel
Mechanisms, 2007). Rates of the actuators follow as J_a = (rows of the active joints of T^+) W, W a basis of
these twists. One pose proves no finite motion: the check does that afterwards.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nacelle.errors import NacelleError, format_count
from nacelle.model.platform import AXES
from nacelle.progress import task
from nacelle.sketch.legs import (
    TANGENTIAL,
    LegLetters,
    Posture,
    RobotLengths,
    Vector,
    cross_product,
    legs_notation,
    place_joints,
)

# ---- motion of a platform by the screws of its legs


Matrix = NDArray[np.float64]

# Singular values below this part of the largest are zero: axes are exact, so rounding leaves 1e-15.
_ZERO = 1e-9


@dataclass(frozen=True)
class LegScrews:
    """A leg with directions of its axes.

    Attributes:
        posture: its joints.
        axes: directions of the axes of each joint.
        twists: (6, freedoms), in the leg's frame, lengths in platform radii.
        rates: the pseudo-inverse (freedoms, 6).
        active: columns of the actuated joints.
        locked: (6 - rank, 6), wrenches that the leg resists, as rows.
        internal_freedoms: those that do not move the platform.
        regularity: smallest singular value of T over the largest, idle ones left out.
    """

    posture: Posture
    axes: tuple[tuple[Vector, ...], ...]
    twists: Matrix
    rates: Matrix
    active: tuple[int, ...]
    locked: Matrix
    internal_freedoms: int
    regularity: float


def leg_screws(posture: Posture, axes: tuple[tuple[Vector, ...], ...]) -> LegScrews:
    """The screws of a leg."""
    radius = float(posture.shape.platform)
    columns: list[Matrix] = []
    active: list[int] = []
    for k, letter in enumerate(posture.leg.letters):
        arm = (np.array(posture.shape.origin) - np.array(posture.points[k])) / radius
        if k in posture.leg.active:
            active.append(len(columns))
        directions = [np.array(axis) / math.sqrt(sum(x * x for x in axis)) for axis in axes[k]]
        directions = list(np.eye(3)) if letter == "S" else directions
        if letter in "PC":
            columns.append(np.concatenate([directions[0], np.zeros(3)]))
        if letter != "P":
            columns += [np.concatenate([np.cross(a, arm), a]) for a in directions]
    twists = np.stack(columns, axis=1)
    U, size, Vt = np.linalg.svd(twists)
    rank = int(np.count_nonzero(size > _ZERO * size[0]))
    rates = (Vt[:rank].T / size[:rank]) @ U[:, :rank].T
    internal_freedoms = twists.shape[1] - rank
    return LegScrews(
        posture,
        axes,
        twists,
        rates,
        tuple(active),
        U[:, rank:].T,
        internal_freedoms,
        float(size[rank - 1] / size[0]),
    )


@dataclass(frozen=True)
class LegPlacement:
    """Where a leg is: reflected in y = 0 if mirrored, then turned about z.

    Attributes:
        angle: degrees.
        mirrored: whether the leg is reflected first.
    """

    angle: float
    mirrored: bool = False

    @property
    def twist_map(self) -> Matrix:
        """The (6, 6) orthogonal matrix that takes twists in the leg's frame to base axes."""
        c, s = math.cos(math.radians(self.angle)), math.sin(math.radians(self.angle))
        Q = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        if not self.mirrored:
            return np.kron(np.eye(2), Q)
        F = Q @ np.diag([1.0, -1.0, 1.0])
        # Angular velocities are pseudovectors.
        return np.block([[F, np.zeros((3, 3))], [np.zeros((3, 3)), -F]])


@dataclass(frozen=True)
class PlatformMotion:
    """How the platform moves.

    Attributes:
        freedoms: dimension of its motion in this pose.
        is_spanned: whether the coordinates of the motion determine it.
        is_pure: whether it is the motion of those coordinates alone.
        conditioning: smallest singular value of J_a over the largest; 0 where actuators leave a motion free.
    """

    freedoms: int
    is_spanned: bool = False
    is_pure: bool = False
    conditioning: float = 0.0


def motion_on_legs(
    legs: list[LegScrews], placements: list[LegPlacement], axes: tuple[int, ...]
) -> PlatformMotion:
    """The motion of a platform on some legs.

    Args:
        legs: the legs.
        placements: where they are.
        axes: indices of the coordinates that the platform should have, in [x y z rx ry rz].
    """
    maps = [placement.twist_map for placement in placements]
    locked = np.concatenate([leg.locked @ M.T for leg, M in zip(legs, maps, strict=True)])
    _, size, Vt = np.linalg.svd(np.concatenate([locked, np.zeros((6, 6))]))
    # Rows of `locked` are of length one.
    W = Vt[int(np.count_nonzero(size > 1e-7)) :].T
    if W.shape[1] != len(axes):
        return PlatformMotion(W.shape[1])
    block = W[list(axes)]
    if np.linalg.cond(block) > 50.0:
        return PlatformMotion(W.shape[1])
    W = W @ np.linalg.inv(block)
    dependent = np.delete(W, list(axes), axis=0)
    rows = [leg.rates[list(leg.active)] @ (M.T @ W) for leg, M in zip(legs, maps, strict=True)]
    size = np.linalg.svd(np.concatenate(rows), compute_uv=False)
    conditioning = float(size[-1] / size[0]) if len(size) == len(axes) and size[0] else 0.0
    pure = dependent.size == 0 or float(np.max(np.abs(dependent))) < 1e-9
    return PlatformMotion(W.shape[1], True, pure, conditioning)


# ---- the search


# Combinations of a leg's directions that are looked at, and of several types; descriptions that are checked.
_MOST_AXES, _MOST_TOGETHER, _MOST_CHECKED = 600, 600, 8
# How far from singular a reference pose must be: of a leg alone, and of the actuators.
_LEAST_REGULAR, _LEAST_CONDITIONING = 0.01, 0.04


@dataclass(frozen=True)
class Arrangement:
    """A robot in its reference pose.

    Attributes:
        shape: its lengths.
        legs: its legs with their axes, in order.
        placements: where they are.
        motion: how its platform moves.
        cost: the lower the more usual.
    """

    shape: RobotLengths
    legs: tuple[LegScrews, ...]
    placements: tuple[LegPlacement, ...]
    motion: PlatformMotion
    cost: float


def find_arrangement(
    legs: list[LegLetters], motion: tuple[str, ...], check: Callable[[Arrangement], str]
) -> Arrangement:
    """The most usual arrangement that has a motion.

    Args:
        legs: types of all legs.
        motion: coordinates of the platform.
        check: gives an empty text for an arrangement that is right, or what is wrong with it.

    Raises:
        NacelleError: with the reason, where none is found.
    """
    _check_counts(legs, motion)
    axes = tuple(AXES.index(name) for name in motion)
    planar = not {"z", "rx", "ry"} & set(motion)
    motions: list[PlatformMotion] = []
    faults: list[str] = []
    impure: list[Arrangement] = []
    spreads = list(_leg_placements(len(legs), planar, len(motion), len(set(legs)) == 1))
    with task("looking for an arrangement of the legs") as report:
        for k, (shape, placements) in enumerate(spreads):
            good = _arrangements_of_shape(legs, axes, shape, placements, planar, motions)
            impure += [arrangement for arrangement in good if not arrangement.motion.is_pure]
            arrangement_found = _first_passing([a for a in good if a.motion.is_pure], check, faults)
            if arrangement_found is not None:
                return arrangement_found
            report(0.9 * (k + 1) / len(spreads))
        arrangement_found = _first_passing(impure, check, faults)
        if arrangement_found is not None:
            return arrangement_found
    raise NacelleError(_failure_message(legs, motion, motions, faults))


def _first_passing(
    good: list[Arrangement], check: Callable[[Arrangement], str], faults: list[str]
) -> Arrangement | None:
    """The cheapest of some arrangements that passes the check; what is wrong with others is noted."""
    for arrangement in heapq.nsmallest(_MOST_CHECKED, good, key=lambda a: a.cost):
        fault = check(arrangement)
        if not fault:
            return arrangement
        faults.append(fault)
    return None


def _check_counts(legs: list[LegLetters], motion: tuple[str, ...]) -> None:
    """What counting alone rules out.

    Raises:
        NacelleError: with the counts.
    """
    n, actuators = len(motion), sum(len(leg.active) for leg in legs)
    label = f"the {format_count(n, 'motion')} {', '.join(motion)}"
    if actuators < n:
        raise NacelleError(
            f"{label} need{'s' if n == 1 else ''} {format_count(n, 'actuator')}, and "
            f"{legs_notation(legs)} has "
            f"{actuators}; use more legs, or mark more "
            "joints as actuated, such as R*P*S"
        )
    for leg in dict.fromkeys(legs):
        if leg.rank < n:
            raise NacelleError(
                f"leg {leg} has {leg.freedoms} freedoms: on it the platform cannot have {label}; use more "
                "joints, or fewer coordinates in --motion"
            )
        if leg.rank > 6:
            raise NacelleError(
                f"leg {leg} has {leg.freedoms} freedoms, more than a body has: some of its links would be "
                "loose; use fewer joints"
            )
    # A leg of rank r locks 6 - r motions, and legs together at most the sum (Chebyshev, Gruebler, Kutzbach).
    least = 6 - sum(6 - leg.rank for leg in legs)
    if least > n:
        raise NacelleError(
            f"{legs_notation(legs)} leaves the platform at least {least} motions, more than {label}; "
            "use more legs, "
            "legs of fewer freedoms, or another --motion"
        )


def _leg_placements(
    count: int, planar: bool, n: int, identical_legs: bool
) -> Iterator[tuple[RobotLengths, tuple[LegPlacement, ...]]]:
    """Ways to spread legs around the base: evenly, with a twist, and in pairs as in a hexapod."""
    base, platform, height = (400, 120, 0) if planar else (500, 200, 600)
    even = tuple(LegPlacement(360.0 * k / count) for k in range(count))
    # Planar knees bend along the circle; spatial ones in the plane through the axis, or across.
    bulges: tuple[Vector, ...] = (
        (TANGENTIAL,) if planar else (cross_product(TANGENTIAL, (platform - base, 0, height)), TANGENTIAL)
    )
    pairs = tuple(
        LegPlacement(720.0 * pair / count + sign * 90.0 / count, sign < 0)
        for pair in range(count // 2)
        for sign in (-1, 1)
    )
    for bulge in bulges:
        ways = [(even, 0.0), (even, 30.0)]
        if identical_legs and count >= 4 and count % 2 == 0:
            paired = (pairs, 180.0 / count)
            ways = [paired, *ways] if n > 4 else [*ways, paired]
        for placements, twist in ways:
            yield RobotLengths(base, platform, height, twist, bulge), placements


def _arrangements_of_shape(
    legs: list[LegLetters],
    axes: tuple[int, ...],
    shape: RobotLengths,
    placements: tuple[LegPlacement, ...],
    planar: bool,
    motions: list[PlatformMotion],
) -> list[Arrangement]:
    """Arrangements of legs in a shape for which the screws are right."""
    types = list(dict.fromkeys(legs))
    most = _MOST_AXES if len(types) == 1 else max(8, round(_MOST_TOGETHER ** (1.0 / len(types))))
    each = [_leg_candidates(leg, shape, planar, len(axes), most) for leg in types]
    together = heapq.nsmallest(
        _MOST_TOGETHER, itertools.product(*each), key=lambda combination: sum(cost for _, cost in combination)
    )
    good = []
    for combination in together:
        by_type = {leg: screws for leg, (screws, _) in zip(types, combination, strict=True)}
        screws_of_legs = [by_type[leg] for leg in legs]
        motion = motion_on_legs(screws_of_legs, list(placements), axes)
        motions.append(motion)
        if motion.is_spanned and motion.conditioning > _LEAST_CONDITIONING:
            cost = sum(cost for _, cost in combination) / len(combination) + 3.0 * max(
                0.0, math.log10(0.3 / motion.conditioning)
            )
            good.append(
                Arrangement(shape, tuple(screws_of_legs), placements, motion, cost + (shape.twist != 0.0))
            )
    return good


def _leg_candidates(
    leg: LegLetters, shape: RobotLengths, planar: bool, n: int, max_count: int
) -> list[tuple[LegScrews, float]]:
    """A leg with its most usual directions of axes, each with its cost, where it is not singular."""
    joints = place_joints(leg, shape)
    choices = [joints.choices(k, planar) for k in range(len(leg.letters))]
    while math.prod(map(len, choices)) > 20_000:
        longest = max(choices, key=len)
        longest.pop()
    numbered = [list(enumerate(options)) for options in choices]
    usual = heapq.nsmallest(4 * max_count, itertools.product(*numbered), key=_cost)
    legs_found: list[tuple[LegScrews, float]] = []
    for combination in usual:
        screws = leg_screws(joints, tuple(axes for _, axes in combination))
        rank = screws.twists.shape[1] - screws.internal_freedoms
        if (
            rank < n
            or screws.regularity < _LEAST_REGULAR
            or screws.internal_freedoms > (leg.letters.count("S") > 1)
        ):
            continue
        legs_found.append((screws, _cost(combination)))
        if len(legs_found) == max_count:
            break
    return legs_found


def _cost(combination: tuple[tuple[int, tuple[Vector, ...]], ...]) -> float:
    """How unusual directions are: late ones of the lists, and turning axes that change direction."""
    cost = float(sum(rank for rank, _ in combination))
    axes = [axis for _, directions in combination for axis in directions]
    return cost + 0.5 * sum(any(cross_product(a, b)) for a, b in itertools.pairwise(axes))


def _failure_message(
    legs: list[LegLetters], motion: tuple[str, ...], motions: list[PlatformMotion], faults: list[str]
) -> str:
    """Why no arrangement was right."""
    n, label = len(motion), f"{legs_notation(legs)} with the motion {', '.join(motion)}"
    if faults:
        return f"no arrangement of {label} passes the check: {faults[0]}"
    if not motions:
        return (
            f"{label}: every arrangement of a leg that was tried is singular or leaves a link loose; use "
            "other joints"
        )
    freedoms = sorted({motion_seen.freedoms for motion_seen in motions})
    if n not in freedoms:
        if freedoms[0] > n:
            return (
                f"{label}: the platform would have {freedoms[0]} motions, not {n}; use more legs, legs of "
                "fewer freedoms, or another --motion"
            )
        return (
            f"{label}: in every arrangement that was tried the platform has "
            f"{' or '.join(map(str, freedoms)) if freedoms != [0] else 'no'} motions, not {n}; use other "
            "joints, or another --motion"
        )
    if not any(motion_seen.is_spanned for motion_seen in motions):
        return f"{label}: the platform has {n} motions, but not those; use another --motion"
    return (
        f"{label}: the actuated joints do not control the platform in any arrangement that was tried; "
        "mark others, such as [R]PR"
    )
