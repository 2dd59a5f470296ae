"""Rotations: matrices R_a_b that take coordinates in b to those in a; quaternions, vectors, their motion.

With K = skew(e), K u = e x u, a rotation by the angle t (rad) about the unit vector e is (Rodrigues)

    R = exp(t K) = 1 + sin(t) K + (1 - cos(t)) K K

for e x u is u's part across e, turned by a right angle, and -K K u that part itself. The unit quaternion
(x, y, z, w) = (sin(t/2) e, cos(t/2)), scalar last, gives the same with half angles: with Q = skew(x, y, z)

    R = 1 + 2 w Q + 2 Q Q

and products of quaternions are products of rotations; q and -q are the same rotation. Right-handed frames.

The angular velocity w (3,) in base axes is defined by R' = skew(w) R, rad/s. Of a product R_a R_b follow

    w = w_a + R_a w_b,      w' = w_a' + w_a x (R_a w_b) + R_a w_b'

and of a rotation vector r = axis times angle (rad), with K = skew(r), a = |r|, smooth at zero:

    R = exp(K) = 1 + s K + c K K                  s = sin(a)/a,   c = (1 - cos(a))/a^2
    w = J(r) r',   J = 1 + c K + d K K            d = (1 - s)/a^2, the left Jacobian, w in the fixed axes
    dw/dt = J r'' + bias(r, r')                   bias = the derivative of J at r', times r'

over any scalar, and again, to full precision at every angle, for arrays of floats with leading batch
dimensions, (..., 4) for quaternions (scalar last) and (..., 3) for vectors, which broadcast.

Constant rotations may cost little. A product R u of a general rotation and a vector takes 9 multiplications
and 6 additions. A rotation about a coordinate axis has five entries that are not zero, one of them 1, and
takes 4 and 2; a permutation of axes with signs takes none. The axis e_k of a joint is taken to R e_k by R and
by every R R_k(t), t an angle about e_k: where R e_k lies in a coordinate plane, one of these is cheap, and t
is added to the joint's angle. Entries may be symbols of numbers that are given at run time; what is decided
is decided at their sample.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from nacelle.spatial.recorded import Recorded
from nacelle.spatial.rounding import clean_rounding, index_of_largest
from nacelle.spatial.scalar import (
    Array,
    Scalar,
    cos,
    cross,
    dot,
    norm,
    pack,
    plus,
    product,
    sample_values,
    sin,
    sqrt,
    where,
)
from nacelle.spatial.trigonometry import sine_cosine

# Quadratic convergence: a matrix with three digits is a rotation to rounding after four steps.
_POLAR_STEPS = 6


def _exact_cos_sin(angle: Scalar) -> tuple[Scalar, Scalar]:
    """Cosine and sine; of a float the same on every machine."""
    if isinstance(angle, float) and not isinstance(angle, Recorded):
        s, c = sine_cosine(float(angle))
        return c, s
    return cos(angle), sin(angle)


def rotation(axis: int, c: Scalar, s: Scalar) -> Array:
    """Rotation matrix (3, 3) about a coordinate axis from cosine c and sine s of the angle."""
    # Rows and columns of the plane turn, cyclically after the axis.
    i, j = (axis + 1) % 3, (axis + 2) % 3
    R: list[list[Scalar]] = [[0.0] * 3 for _ in range(3)]
    R[axis][axis] = 1.0
    R[i][i], R[i][j], R[j][i], R[j][j] = c, -s, s, c
    return pack(R)


def rotation_x(angle: Scalar) -> Array:
    """Rotation matrix (3, 3) by `angle` (rad) about x: [1 0 0; 0 c -s; 0 s c]."""
    return rotation(0, *_exact_cos_sin(angle))


def rotation_y(angle: Scalar) -> Array:
    """Rotation matrix (3, 3) by `angle` (rad) about y: [c 0 s; 0 1 0; -s 0 c]."""
    return rotation(1, *_exact_cos_sin(angle))


def rotation_z(angle: Scalar) -> Array:
    """Rotation matrix (3, 3) by `angle` (rad) about z: [c -s 0; s c 0; 0 0 1]."""
    return rotation(2, *_exact_cos_sin(angle))


def skew(v: Array) -> Array:
    """Matrix (3, 3) of the cross product, v^ w = v x w ([KI2007] (15))."""
    x, y, z = v.tolist()
    entries = [[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]]
    return pack(entries) if v.dtype == object else np.array(entries)


def skews(v: Array) -> Array:
    """Matrices (N, 3, 3) of the cross products v x with vectors of floats (N, 3)."""
    matrices = np.zeros((len(v), 3, 3))
    matrices[:, [2, 0, 1], [1, 2, 0]], matrices[:, [1, 2, 0], [2, 0, 1]] = v, -v
    return matrices


def rotation_axis_angle(axis: Array, angle: Scalar) -> Array:
    """Rodrigues: R = 1 + sin(angle) K + (1 - cos(angle)) K K, K = skew(axis), |axis| = 1."""
    c, s = _exact_cos_sin(angle)
    K = skew(axis)
    R: Array = plus(plus(np.eye(3), s * K), (1.0 - c) * product(K, K))
    return R


def rotation_rpy(rpy: Array) -> Array:
    """Roll-pitch-yaw about fixed axes: R = Rz(yaw) Ry(pitch) Rx(roll), angles in rad."""
    return product(product(rotation_z(rpy[2]), rotation_y(rpy[1])), rotation_x(rpy[0]))


def rpy_from_rotation(R: Array) -> Array:
    """Roll, pitch and yaw about fixed axes, rad: R = Rz(yaw) Ry(pitch) Rx(roll).

    The roll is what the other two leave: exact also where pitch is a right angle and yaw any number.
    """
    yaw = float(np.arctan2(R[1, 0], R[0, 0]))
    pitch = float(np.arctan2(-R[2, 0], np.hypot(R[0, 0], R[1, 0])))
    left = rotation_y(pitch).T @ rotation_z(yaw).T @ R
    return np.array([float(np.arctan2(left[2, 1], left[1, 1])), pitch, yaw])


def rotation_quat(quat_xyzw: Array) -> Array:
    """Rotation matrix (3, 3) of a unit quaternion (4,), scalar last: 1 + 2 w Q + 2 Q Q, Q = skew(x, y, z)."""
    x, y, z, w = quat_xyzw.tolist()
    # Doubled once: 24 operations, where doubling every entry takes 30.
    x2, y2, z2 = x + x, y + y, z + z
    xx, yy, zz = x * x2, y * y2, z * z2
    xy, xz, yz = x * y2, x * z2, y * z2
    wx, wy, wz = w * x2, w * y2, w * z2
    return pack(
        [
            [1.0 - (yy + zz), xy - wz, xz + wy],
            [xy + wz, 1.0 - (xx + zz), yz - wx],
            [xz - wy, yz + wx, 1.0 - (xx + yy)],
        ]
    )


def quat_from_rotation(R: Array) -> Array:
    """Unit quaternion (x y z w) of a rotation matrix of floats, w >= 0.

    The largest of the four components is taken first, so nothing small is divided by.
    """
    diagonal = np.diagonal(R)
    squares = np.array(
        [
            1.0 + diagonal[0] - diagonal[1] - diagonal[2],
            1.0 - diagonal[0] + diagonal[1] - diagonal[2],
            1.0 - diagonal[0] - diagonal[1] + diagonal[2],
            1.0 + diagonal[0] + diagonal[1] + diagonal[2],
        ]
    )
    pick = index_of_largest(squares)
    vee = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    if pick == 3:
        quat = np.append(vee, squares[3])
    else:
        quat = np.empty(4)
        for k in range(3):
            quat[k] = squares[pick] if k == pick else R[pick, k] + R[k, pick]
        quat[3] = vee[pick]
    unit: Array = clean_rounding(quat / norm(quat))
    # A half turn has no sign of its own: there the first component that is not zero is positive.
    leading = unit[3] if unit[3] != 0.0 else next(value for value in unit if value != 0.0)
    return -unit + 0.0 if leading < 0.0 else unit


def nearest_rotation(R: Array) -> Array:
    """The rotation nearest to a matrix of floats that is one but for its last digits.

    It is the orthogonal factor of the polar decomposition, by Newton: X <- (X + X^-T) / 2; the same on every
    machine.
    """
    for _ in range(_POLAR_STEPS):
        cofactors = np.stack([cross(R[1], R[2]), cross(R[2], R[0]), cross(R[0], R[1])])
        R = 0.5 * (R + cofactors / dot(R[0], cofactors[0]))
    return R


def quat_product(a: Array, b: Array) -> Array:
    """Quaternion product a b (4,), both scalar last: rotation b first, then a."""
    (a0, a1, a2, a3), (b0, b1, b2, b3) = a.tolist(), b.tolist()
    return pack(
        [
            a3 * b0 + a0 * b3 + a1 * b2 - a2 * b1,
            a3 * b1 - a0 * b2 + a1 * b3 + a2 * b0,
            a3 * b2 + a0 * b1 - a1 * b0 + a2 * b3,
            a3 * b3 - a0 * b0 - a1 * b1 - a2 * b2,
        ]
    )


def quat_from_vector(rotation_vector: Array) -> Array:
    """Unit quaternion (x y z w) of a rotation vector (axis times angle, rad), of floats."""
    angle = math.sqrt(dot(rotation_vector, rotation_vector))
    part = math.sin(angle / 2) / angle if angle > 1e-300 else 0.0
    return np.array([*(part * x for x in rotation_vector.tolist()), math.cos(angle / 2)])


def frame_from_two_axes(first: Array, second: Array) -> Array:
    """Right-handed frame (3, 3), of floats, with x along `first` and y in the half plane of `second`.

    Entries of axes that lie along coordinate axes stay exactly 0 or +-1.
    """
    x = first / norm(first)
    y = plus(second, -(dot(x, second) * x))
    y = y / norm(y)
    return np.stack([x, y, cross(x, y)], axis=1) + 0.0


def frame_with_z(axis: Array) -> Array:
    """Right-handed frame (3, 3), of floats, whose z axis lies along `axis` (3,); the identity for axis = z.

    The other two axes are the coordinate axes turned cyclically where `axis` is one of them, so that
    robots made of coordinate axes keep exact zeros and ones.
    """
    z = axis / norm(axis)
    largest = index_of_largest(np.abs(z))
    x = np.zeros(3)
    x[(largest + 1) % 3] = math.copysign(1.0, z[largest])
    R_yzx = frame_from_two_axes(z, x)
    return np.stack([R_yzx[:, 1], R_yzx[:, 2], R_yzx[:, 0]], axis=1)


# ---- rotation vectors r = axis times angle, rad: their rotation, their rates, smooth at zero


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


def quat_from_rotation_vector(r: Array) -> Array:
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


# ---- rotations that move: exponential and logarithm, angular velocity and its derivative, exactly


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
    rotated: Array = vector + 2.0 * (quat_xyzw[..., 3:] * half + cross_rows(quat_xyzw[..., :3], half))
    return rotated


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


def make_quat_continuous(quat_xyzw: Array) -> Array:
    """Choose the signs of quaternions (N, 4) such that each is the nearer one to its predecessor."""
    products = np.sum(quat_xyzw[1:] * quat_xyzw[:-1], axis=-1)
    signs = np.cumprod(np.concatenate([[1.0], np.where(products < 0.0, -1.0, 1.0)]))
    return np.asarray(signs[:, None] * quat_xyzw)


def rotation_vector_motion(r: Array, dr: Array, ddr: Array) -> RotationMotion:
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


def fixed_axis_motion(vector: Array, s: Array, ds: Array, dds: Array) -> RotationMotion:
    """Motion of exp(s skew(r)) about a fixed vector r (rad): w = r s', w' = r s'', s of shape (...)."""
    return RotationMotion(quat_exp(s[..., None] * vector), ds[..., None] * vector, dds[..., None] * vector)


def compose_motions(a: RotationMotion, b: RotationMotion) -> RotationMotion:
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


# ---- constant rotations that cost little: about one coordinate axis, or none


# Entries of a constant unit vector below this are zero.
ALIGNED = 1e-12


def rotation_cost(R: Array) -> int:
    """What a constant rotation of a vector takes, in operations."""
    return {3: 0, 5: 6}.get(int(np.count_nonzero(np.abs(sample_values(R)) > ALIGNED)), 15)


def round_entries(R: Array) -> Array:
    """A constant matrix (3, 3) that has zeros and ones where rounding has left nearly so."""
    try:
        number = sample_values(R)
    except TypeError:
        # Of a leg that hangs on the platform: it moves.
        return R
    whole = np.round(number)
    near = np.abs(number - whole) < ALIGNED
    return pack([[whole[i, j] if near[i, j] else R[i, j] for j in range(3)] for i in range(3)])


def cheapest_rotation(R: Array, k: int) -> Array | None:
    """The cheapest constant rotation A (3, 3) with A e_k = R e_k; None if it is as long as R.

    A permutation of axes, and a rotation about the coordinate axis perpendicular to the image.
    """
    e = R[:, k]
    size = np.abs(sample_values(e))
    zero = [m for m in range(3) if size[m] < ALIGNED]
    if len(zero) == 2:
        j = int(np.argmax(size))
        half_turn_rotation = rotation((j + 1) % 3, 1.0 if sample_values(e)[j] > 0.0 else -1.0, 0.0)
        return half_turn_rotation @ np.roll(np.eye(3), j - k, axis=0)
    if len(zero) != 1:
        return None
    # The image lies in a coordinate plane, which holds k or an axis j that k is taken to.
    m = zero[0]
    j = (m + 1) % 3 if k == m else k
    c, s = e[j], e[3 - j - m] * (1.0 if (m + 1) % 3 == j else -1.0)
    return product(rotation(m, c, s), np.roll(np.eye(3), j - k, axis=0))
