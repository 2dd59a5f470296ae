"""Rotations: matrices R_a_b that take coordinates in frame b to coordinates in frame a.

With K = skew(e), K u = e x u, a rotation by the angle t (rad) about the unit vector e is (Rodrigues)

    R = exp(t K) = 1 + sin(t) K + (1 - cos(t)) K K

for e x u is u's part across e, turned by a right angle, and -K K u that part itself. The unit quaternion
(x, y, z, w) = (sin(t/2) e, cos(t/2)), scalar last, gives the same with half angles: with Q = skew(x, y, z)

    R = 1 + 2 w Q + 2 Q Q

and products of quaternions are products of rotations; q and -q are the same rotation. Right-handed frames.
"""

from __future__ import annotations

import math

import numpy as np

from nacelle.spatial.recorded import Recorded
from nacelle.spatial.rounding import cleaned, first_largest
from nacelle.spatial.scalar import Array, Scalar, cos, cross, dot, norm, pack, plus, product, sin
from nacelle.spatial.trigonometry import sine_cosine

# Quadratic convergence: a matrix with three digits is a rotation to rounding after four steps.
_POLAR_STEPS = 6


def _cos_sin(angle: Scalar) -> tuple[Scalar, Scalar]:
    """Cosine and sine; of a float the same on every machine."""
    if isinstance(angle, float) and not isinstance(angle, Recorded):
        s, c = sine_cosine(float(angle))
        return c, s
    return cos(angle), sin(angle)


def rotation_x(angle: Scalar) -> Array:
    """Rotation matrix (3, 3) by `angle` (rad) about x: [1 0 0; 0 c -s; 0 s c]."""
    c, s = _cos_sin(angle)
    return pack([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])


def rotation_y(angle: Scalar) -> Array:
    """Rotation matrix (3, 3) by `angle` (rad) about y: [c 0 s; 0 1 0; -s 0 c]."""
    c, s = _cos_sin(angle)
    return pack([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])


def rotation_z(angle: Scalar) -> Array:
    """Rotation matrix (3, 3) by `angle` (rad) about z: [c -s 0; s c 0; 0 0 1]."""
    c, s = _cos_sin(angle)
    return pack([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def skew(v: Array) -> Array:
    """Matrix (3, 3) of the cross product, v^ w = v x w ([KI2007] (15))."""
    x, y, z = v.tolist()
    entries = [[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]]
    return pack(entries) if v.dtype == object else np.array(entries)


def rotation_axis_angle(axis: Array, angle: Scalar) -> Array:
    """Rodrigues: R = 1 + sin(angle) K + (1 - cos(angle)) K K, K = skew(axis), |axis| = 1."""
    c, s = _cos_sin(angle)
    K = skew(axis)
    R: Array = plus(plus(np.eye(3), s * K), (1.0 - c) * product(K, K))
    return R


def rotation_rpy(rpy: Array) -> Array:
    """Roll-pitch-yaw about fixed axes: R = Rz(yaw) Ry(pitch) Rx(roll), angles in rad."""
    return product(product(rotation_z(rpy[2]), rotation_y(rpy[1])), rotation_x(rpy[0]))


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
    pick = first_largest(squares)
    vee = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    if pick == 3:
        quat = np.append(vee, squares[3])
    else:
        quat = np.empty(4)
        for k in range(3):
            quat[k] = squares[pick] if k == pick else R[pick, k] + R[k, pick]
        quat[3] = vee[pick]
    unit: Array = cleaned(quat / norm(quat))
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
    largest = first_largest(np.abs(z))
    x = np.zeros(3)
    x[(largest + 1) % 3] = math.copysign(1.0, z[largest])
    R_yzx = frame_from_two_axes(z, x)
    return np.stack([R_yzx[:, 1], R_yzx[:, 2], R_yzx[:, 0]], axis=1)
