"""How a platform on some legs moves, by the screws of their joints in one pose.

A leg with joint rates q gives the platform the twist V = T q, [v; w] at its origin in base axes, with the
columns

    revolute   [a x (O - X); a]      prismatic   [a; 0]      O the platform's origin, X the joint, a its axis

and a platform on legs 1..L can have the twists that all of them allow, the intersection of the column spaces
of T_1..T_L (Hunt: Kinematic Geometry of Mechanisms, 1978; Kong, Gosselin: Type Synthesis of Parallel
Mechanisms, 2007). Rates of the actuators follow as J_a = (rows of the active joints of T^+) W, W a basis of
these twists. One pose proves no finite motion: the check does that afterwards.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nacelle.sketch.posture import Posture, Vector

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
        idle: freedoms that do not move the platform.
        regular: smallest singular value of T over the largest, idle ones left out.
    """

    posture: Posture
    axes: tuple[tuple[Vector, ...], ...]
    twists: Matrix
    rates: Matrix
    active: tuple[int, ...]
    locked: Matrix
    idle: int
    regular: float


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
    idle = twists.shape[1] - rank
    return LegScrews(
        posture, axes, twists, rates, tuple(active), U[:, rank:].T, idle, float(size[rank - 1] / size[0])
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
        spanned: whether the coordinates of the motion determine it.
        pure: whether it is the motion of those coordinates alone.
        conditioning: smallest singular value of J_a over the largest; 0 where actuators leave a motion free.
    """

    freedoms: int
    spanned: bool = False
    pure: bool = False
    conditioning: float = 0.0


def motion_on_legs(
    legs: list[LegScrews], places: list[LegPlacement], axes: tuple[int, ...]
) -> PlatformMotion:
    """The motion of a platform on some legs.

    Args:
        legs: the legs.
        places: where they are.
        axes: indices of the coordinates that the platform should have, in [x y z rx ry rz].
    """
    maps = [place.twist_map for place in places]
    locked = np.concatenate([leg.locked @ M.T for leg, M in zip(legs, maps, strict=True)])
    _, size, Vt = np.linalg.svd(np.concatenate([locked, np.zeros((6, 6))]))
    # Rows of `locked` are of length one.
    W = Vt[int(np.count_nonzero(size > 1e-7)) :].T
    if W.shape[1] != len(axes):
        return PlatformMotion(W.shape[1])
    chosen = W[list(axes)]
    if np.linalg.cond(chosen) > 50.0:
        return PlatformMotion(W.shape[1])
    W = W @ np.linalg.inv(chosen)
    others = np.delete(W, list(axes), axis=0)
    rows = [leg.rates[list(leg.active)] @ (M.T @ W) for leg, M in zip(legs, maps, strict=True)]
    size = np.linalg.svd(np.concatenate(rows), compute_uv=False)
    conditioning = float(size[-1] / size[0]) if len(size) == len(axes) and size[0] else 0.0
    pure = others.size == 0 or float(np.max(np.abs(others))) < 1e-9
    return PlatformMotion(W.shape[1], True, pure, conditioning)
