"""Rotations that move: exponential and logarithm, angular velocity and its derivative, exactly.

The angular velocity w (3,) in base axes is defined by R' = skew(w) R. Of a product R_a R_b follow

    w = w_a + R_a w_b,      w' = w_a' + w_a x (R_a w_b) + R_a w_b'

and of R = exp(skew(r)), r(t) a rotation vector (axis times angle, rad), w = J(r) r' with the left Jacobian

    J = 1 + A skew(r) + B skew(r)^2,      A = (1 - cos t) / t^2,      B = (t - sin t) / t^3,      t = |r|

All functions work on arrays of floats with leading batch dimensions, (..., 4) for quaternions (scalar last)
and (..., 3) for vectors, and broadcast; rad/s and rad/s^2.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from nacelle.spatial.scalar import Array

# Below this square of the angle the series are used. No two terms of them cancel there, and this many
# of them reach full precision: 10^14 / 31! is 1e-20.
_SERIES_BELOW = 10.0
_TERMS = 15
_A_SERIES = [(-1.0) ** k / math.factorial(2 * k + 2) for k in range(_TERMS)]
_B_SERIES = [(-1.0) ** k / math.factorial(2 * k + 3) for k in range(_TERMS)]
# 2 dA/du and 2 dB/du, u the square of the angle.
_DA_SERIES = [2.0 * k * _A_SERIES[k] for k in range(1, _TERMS)]
_DB_SERIES = [2.0 * k * _B_SERIES[k] for k in range(1, _TERMS)]


class RotationMotion(NamedTuple):
    """A rotation in motion.

    Attributes:
        quat: unit quaternion quat_xyzw (..., 4).
        w: angular velocity in base axes (..., 3), rad/s.
        dw: its time derivative (..., 3), rad/s^2.
    """

    quat: Array
    w: Array
    dw: Array


def cross_rows(a: Array, b: Array) -> Array:
    """Cross product a x b of vectors (..., 3)."""
    a0, a1, a2 = a[..., 0], a[..., 1], a[..., 2]
    b0, b1, b2 = b[..., 0], b[..., 1], b[..., 2]
    return np.stack([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0], axis=-1)


def quat_multiply(a: Array, b: Array) -> Array:
    """Quaternion product a b of quaternions (..., 4), scalar last: rotation b first, then a."""
    vector = a[..., 3:] * b[..., :3] + b[..., 3:] * a[..., :3] + cross_rows(a[..., :3], b[..., :3])
    scalar = a[..., 3] * b[..., 3] - np.sum(a[..., :3] * b[..., :3], axis=-1)
    return np.concatenate([vector, scalar[..., None]], axis=-1)


def quat_conjugate(quat_xyzw: Array) -> Array:
    """Quaternion (-x, -y, -z, w) of the inverse rotation, for unit quaternions (..., 4)."""
    return np.asarray(quat_xyzw * np.array([-1.0, -1.0, -1.0, 1.0]))


def quat_rotate(quat_xyzw: Array, vector: Array) -> Array:
    """Turn a vector: R u = u + 2 w (q x u) + 2 q x (q x u), (q, w) the unit quaternion."""
    half = cross_rows(quat_xyzw[..., :3], vector)
    turned: Array = vector + 2.0 * (quat_xyzw[..., 3:] * half + cross_rows(quat_xyzw[..., :3], half))
    return turned


def quat_exp(rotation_vector: Array) -> Array:
    """Unit quaternion of a rotation vector r (axis times angle, rad): (sin(|r|/2) r/|r|, cos(|r|/2))."""
    angle = np.linalg.norm(rotation_vector, axis=-1, keepdims=True)
    vector = 0.5 * np.sinc(angle / (2.0 * np.pi)) * rotation_vector
    return np.concatenate([vector, np.cos(0.5 * angle)], axis=-1)


def quat_log(quat_xyzw: Array, *, shorter: bool = True) -> Array:
    """Rotation vector r (rad) of a unit quaternion, the inverse of `quat_exp`.

    Args:
        quat_xyzw: unit quaternions (..., 4).
        shorter: take the shorter turn, |r| <= pi, for which the sign of the quaternion does not matter;
            otherwise exp(r) has the sign of the quaternion, and |r| < 2 pi. Half a turn has two vectors; the
            one along the quaternion's vector part is taken.
    """
    flipped = (quat_xyzw[..., 3:] < 0.0) & shorter
    quat = np.where(flipped, -quat_xyzw, quat_xyzw)
    vector, scalar = quat[..., :3], quat[..., 3:]
    sine = np.linalg.norm(vector, axis=-1, keepdims=True)
    tiny = sine < 1e-150
    factor = np.where(tiny, 2.0, 2.0 * np.arctan2(sine, scalar) / np.where(tiny, 1.0, sine))
    return np.asarray(factor * vector)


def rotation_matrices(quat_xyzw: Array) -> Array:
    """Rotation matrices (..., 3, 3) of unit quaternions (..., 4)."""
    axes = np.broadcast_to(np.eye(3), (*quat_xyzw.shape[:-1], 3, 3))
    return np.swapaxes(quat_rotate(quat_xyzw[..., None, :], axes), -1, -2)


def quat_from_matrices(R: Array) -> Array:
    """Unit quaternions (..., 4), w >= 0, of rotation matrices (..., 3, 3).

    Of the four ways to read the quaternion from the matrix the one with the largest component is taken.
    """
    R = np.asarray(R, dtype=float)
    diagonal = np.diagonal(R, axis1=-2, axis2=-1)
    trace = diagonal.sum(axis=-1)
    squares = np.concatenate([1.0 - trace[..., None] + 2.0 * diagonal, 1.0 + trace[..., None]], axis=-1)
    S, V = R + np.swapaxes(R, -1, -2), R - np.swapaxes(R, -1, -2)
    vee = np.stack([V[..., 2, 1], V[..., 0, 2], V[..., 1, 0]], axis=-1)
    table = np.empty((*squares.shape, 4))
    table[..., :3, :3] = S
    for k in range(3):
        table[..., k, k] = squares[..., k]
    table[..., :3, 3] = vee
    table[..., 3, :3] = vee
    table[..., 3, 3] = squares[..., 3]
    pick = np.argmax(np.nan_to_num(squares, nan=-1.0), axis=-1)
    quat = np.take_along_axis(table, pick[..., None, None], axis=-2)[..., 0, :]
    quat = quat / np.linalg.norm(quat, axis=-1, keepdims=True)
    return np.asarray(np.where(quat[..., 3:] < 0.0, -quat, quat))


def quat_continuous(quat_xyzw: Array) -> Array:
    """Choose the signs of quaternions (N, 4) such that each is the nearer one to its predecessor."""
    products = np.sum(quat_xyzw[1:] * quat_xyzw[:-1], axis=-1)
    signs = np.cumprod(np.concatenate([[1.0], np.where(products < 0.0, -1.0, 1.0)]))
    return np.asarray(signs[:, None] * quat_xyzw)


def vector_motion(r: Array, dr: Array, ddr: Array) -> RotationMotion:
    """Motion of R = exp(skew(r)) from a rotation vector r(t) and its derivatives (..., 3).

    With the left Jacobian, u = r.r and the angle theta = |r|,

        w  = J r',   J = 1 + A skew(r) + B skew(r)^2,
        w' = J r'' + A' r x r' + B' r x (r x r') + B r' x (r x r'),
        A  = (1 - cos theta) / theta^2,   B = (theta - sin theta) / theta^3.

    The precision is full at every angle, zero included.
    """
    square = np.sum(r * r, axis=-1, keepdims=True)
    A, B, dA, dB = _jacobian_coefficients(square)
    rate = np.sum(r * dr, axis=-1, keepdims=True)  # half the derivative of the square
    r_dr = cross_rows(r, dr)
    r_r_dr = cross_rows(r, r_dr)
    r_ddr = cross_rows(r, ddr)
    w = dr + A * r_dr + B * r_r_dr
    dw = (
        ddr + A * r_ddr + B * (cross_rows(r, r_ddr) + cross_rows(dr, r_dr)) + rate * (dA * r_dr + dB * r_r_dr)
    )
    return RotationMotion(quat_exp(r), w, dw)


def turn_motion(vector: Array, s: Array, ds: Array, dds: Array) -> RotationMotion:
    """Motion of exp(s skew(r)) about a fixed vector r (rad): w = r s', w' = r s'', s of shape (...)."""
    return RotationMotion(quat_exp(s[..., None] * vector), ds[..., None] * vector, dds[..., None] * vector)


def compose(a: RotationMotion, b: RotationMotion) -> RotationMotion:
    """Motion of the product R_a R_b: w = w_a + R_a w_b, w' = w_a' + w_a x (R_a w_b) + R_a w_b'."""
    w_b = quat_rotate(a.quat, b.w)
    dw = a.dw + cross_rows(a.w, w_b) + quat_rotate(a.quat, b.dw)
    return RotationMotion(quat_multiply(a.quat, b.quat), a.w + w_b, dw)


def _jacobian_coefficients(square: Array) -> tuple[Array, Array, Array, Array]:
    """A, B and 2 dA/du, 2 dB/du of the left Jacobian as functions of u, the square of the angle."""
    small = square < _SERIES_BELOW
    u = np.where(small, square, 0.0)
    series = [_polynomial(c, u) for c in (_A_SERIES, _B_SERIES, _DA_SERIES, _DB_SERIES)]
    u = np.where(small, 1.0, square)
    theta = np.sqrt(u)
    sine, cosine = np.sin(theta), np.cos(theta)
    closed = (
        (1.0 - cosine) / u,
        (theta - sine) / (u * theta),
        (theta * sine - 2.0 * (1.0 - cosine)) / (u * u),
        (3.0 * sine - theta * (2.0 + cosine)) / (u * u * theta),
    )
    A, B, dA, dB = (np.where(small, near, far) for near, far in zip(series, closed, strict=True))
    return A, B, dA, dB


def _polynomial(coefficients: list[float], u: Array) -> Array:
    """Sum of c_k u^k, by Horner's rule."""
    total = np.full_like(u, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        total = total * u + coefficient
    return total
