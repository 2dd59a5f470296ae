"""Motion of points of the platform, as few operations as their places allow.

A point at b in the platform's axes has position p + R b, velocity v + w x R b and acceleration a + W R b,
with W = w^ w^ + (dw/dt)^. Where all points lie in a plane square to one of the platform's axes, everything
is a combination of two columns of R and of their derivatives.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nacelle.spatial.scalar import Array, Scalar, cross, pack, product


class Platform(NamedTuple):
    """How the platform moves: rotation matrix, position, twist [v; w], its derivative; base axes."""

    R: Array
    p: Array
    v: Array
    w: Array
    a: Array
    dw: Array


class Point(NamedTuple):
    """A point of the platform: lever from the pole, position, velocity, acceleration."""

    d: Array
    p: Array
    v: Array
    a: Array


def turning(w: Array, dw: Array) -> Array:
    """W = w^ w^ + (dw/dt)^ (3, 3)."""
    xx, yy, zz = w[0] * w[0], w[1] * w[1], w[2] * w[2]
    xy, xz, yz = w[0] * w[1], w[0] * w[2], w[1] * w[2]
    return pack(
        [
            [-(yy + zz), xy - dw[2], xz + dw[1]],
            [xy + dw[2], -(xx + zz), yz - dw[0]],
            [xz - dw[1], yz + dw[0], -(xx + yy)],
        ]
    )


def common_plane(places: Array) -> int | None:
    """The axis of the platform along which all places (N, 3), floats, stand at one height; None if none."""
    spread = np.ptp(places, axis=0)
    flat = [k for k in range(3) if spread[k] <= 1e-13 * max(float(np.max(np.abs(places))), 1e-300)]
    return flat[0] if len(places) > 2 and flat else None


def moved_to(platform: Platform, b: Array) -> Platform:
    """The same motion, told of another point b of the platform."""
    R, _, _, w, _, dw = platform
    at = _point(platform, turning(w, dw), product(R, b))
    return Platform(R, at.p, at.v, w, at.a, dw)


def points(platform: Platform, places: list[Array], plane: int | None) -> list[Point]:
    """Motion of all points; levers are counted from the platform's origin.

    Args:
        platform: how the platform moves.
        places: of the points, in its axes.
        plane: the axis along which all of them stand at one height (`common_plane`), or None.
    """
    R, w = platform.R, platform.w
    W = turning(w, platform.dw)
    if plane is None:
        return [_point(platform, W, product(R, b)) for b in places]
    i, j = (plane + 1) % 3, (plane + 2) % 3
    c = [R[:, i], R[:, j]]
    dc = [cross(w, column) for column in c]
    ddc = [W @ column for column in c]
    height: Scalar = places[0][plane]
    origin = _point(platform, W, height * R[:, plane])

    def combined(columns: list[Array], b: Array) -> Array:
        return np.asarray(b[i] * columns[0] + b[j] * columns[1])

    found = []
    for b in places:
        found.append(
            Point(
                origin.d + combined(c, b),
                origin.p + combined(c, b),
                origin.v + combined(dc, b),
                origin.a + combined(ddc, b),
            )
        )
    return found


def _point(platform: Platform, W: Array, d: Array) -> Point:
    return Point(
        d,
        platform.p + d,
        platform.v + cross(platform.w, d),
        platform.a + W @ d,
    )


def body_moment(W: Array, R: Array, E: Array) -> Array:
    """Moment (3,), base axes, of a distribution with second moments E (3, 3) about a point at rest.

    sum over i, k of E_ik c_i x (W c_k), c the columns of R.
    """
    total: Array = np.zeros(3)
    for k in range(3):
        if not _any(E[:, k]):
            continue
        column = W @ R[:, k]
        total = total + cross(R @ E[:, k], column)
    return np.asarray(total)


def _any(values: Array) -> bool:
    return any(not (isinstance(value, float) and value == 0.0) for value in values)
