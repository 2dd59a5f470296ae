"""Rotation vectors r = axis times angle (rad) over any scalar: their rotation, their rates, smooth at zero.

With K = skew(r), a = |r|:

    R = exp(K) = 1 + s K + c K K                  s = sin(a)/a,   c = (1 - cos(a))/a^2
    w = J(r) r',   J = 1 + c K + d K K            d = (1 - s)/a^2, the left Jacobian, w in the fixed axes
    dw/dt = J r'' + bias(r, r')                   bias = the derivative of J at r', times r'
"""

from __future__ import annotations

import numpy as np

from nacelle.spatial.rotation import quat_from_rotation, skew
from nacelle.spatial.scalar import Array, Scalar, cos, cross, dot, pack, plus, product, sin, sqrt, where

# Below this square of an angle the series of sin(a)/a is exact to rounding.
_SMALL = 1e-3


def _sinc(square: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """Give sin(a)/a, (1 - cos(a))/a^2 and (1 - sin(a)/a)/a^2 from a^2, smooth at zero."""
    small = _SMALL - square
    safe = where(small, 1.0, square)
    angle = sqrt(safe)
    ratio = sin(angle) / angle
    t = where(small, square, 0.0)
    s = where(small, 1.0 - t / 6.0 * (1.0 - t / 20.0 * (1.0 - t / 42.0 * (1.0 - t / 72.0))), ratio)
    c = where(
        small,
        0.5 - t / 24.0 * (1.0 - t / 30.0 * (1.0 - t / 56.0 * (1.0 - t / 90.0))),
        (1.0 - cos(angle)) / safe,
    )
    d = where(
        small,
        (1.0 - t / 20.0 * (1.0 - t / 42.0 * (1.0 - t / 72.0 * (1.0 - t / 110.0)))) / 6.0,
        (1.0 - ratio) / safe,
    )
    return s, c, d


def rotation_vector(r: Array) -> Array:
    """Rotation by a rotation vector r (rad): 1 + sin(a)/a K + (1 - cos(a))/a^2 K K, K = skew(r), a = |r|."""
    s, c, _ = _sinc(dot(r, r))
    K = skew(r)
    R: Array = plus(plus(np.eye(3), s * K), c * product(K, K))
    return R


def half_turn(r: Array) -> Array:
    """Unit quaternion [sin(t / 2) r / t; cos(t / 2)] (4,), scalar last, of a rotation vector r (3,), t = |r|.

    A series below t = 2e-3 rad, so that it is smooth at zero.
    """
    square = 0.25 * dot(r, r)
    small = 1e-6 - square
    half = sqrt(where(small, 1.0, square))
    series = 1.0 - square / 6.0 * (1.0 - square / 20.0)
    s = 0.5 * where(small, series, sin(half) / half)
    c = where(small, 1.0 - square / 2.0 * (1.0 - square / 12.0), cos(half))
    return pack([s * r[0], s * r[1], s * r[2], c])


def left_jacobian(r: Array) -> Array:
    """J(r) = 1 + c K + d K K (3, 3), w = J r': from the rate of r to the angular velocity, fixed axes."""
    _, c, d = _sinc(dot(r, r))
    K = skew(r)
    J: Array = np.eye(3) + c * K + d * product(K, K)
    return J


def left_jacobian_bias(r: Array, r_rate: Array) -> Array:
    """Derivative w' (3,), rad/s^2, of the angular velocity w = J(r) r' where r'' = 0, fixed axes."""
    square = dot(r, r)
    s, c, d = _sinc(square)
    small = _SMALL - square
    safe, t = where(small, 1.0, square), where(small, square, 0.0)
    # Derivatives of the factors of K and K K over r . r'.
    c_rate = where(small, -(1.0 - t / 15.0 * (1.0 - t / 37.33333333333333)) / 12.0, (s - 2.0 * c) / safe)
    d_rate = where(small, -(1.0 - t / 21.0 * (1.0 - t / 48.0)) / 60.0, (c - 3.0 * d) / safe)
    along, n = dot(r, r_rate), cross(r, r_rate)
    return np.asarray((c_rate * along) * n + (d_rate * along) * cross(r, n) + d * cross(r_rate, n))


def log_rotation(R: Array) -> Array:
    """Rotation vector r (3,), rad, of a rotation matrix (3, 3) of floats: R = exp(skew(r)), |r| <= pi."""
    quat = quat_from_rotation(R)
    length = float(np.linalg.norm(quat[:3]))
    if length < 1e-300:
        return 2.0 * quat[:3]
    return np.asarray(2.0 * np.arctan2(length, quat[3]) / length * quat[:3])
