"""Small geometric problems in closed form: what the inverse kinematics of legs is made of.

Most of them come down to a cos q + b sin q = c: with h = a^2 + b^2 the unit vector (cos q, sin q) has the
component c / sqrt(h) along (a, b), so +-sqrt(h - c^2) / sqrt(h) across it,

    cos q = (a c - b w) / h,      sin q = (b c + a w) / h,      w = sign sqrt(h - c^2)

Angles are found as cosine and sine (`CosSin`), without trigonometry. Where two solutions exist `sign` picks
one. A `margin` comes with every root: the radicand over the square of the length that it belongs to, here
(h - c^2) / h. It is below zero where there is no solution and zero where two solutions meet, a serial
singularity. Lengths in m, vectors in the axes of the joint, whose axis is z.
"""

from __future__ import annotations

from typing import NamedTuple

from nacelle.kinematics.tree.spanning_tree import CosSin
from nacelle.spatial.rotation import quat_product
from nacelle.spatial.scalar import Array, Scalar, cross, divide, dot, pack, plus, product, sqrt


class Root(NamedTuple):
    """A solution and its margin."""

    value: Scalar
    margin: Scalar


class Reached(NamedTuple):
    """A solution, its margin, and the vector from the point on the joint to the given one, moved axes."""

    value: Scalar
    margin: Scalar
    rod: Array


def rotate(angle: CosSin, v: Array) -> Array:
    """The vector Rz(q) v (3,), v turned by the angle q about z."""
    return pack([angle.c * v[0] - angle.s * v[1], angle.s * v[0] + angle.c * v[1], v[2]])


def rotate_back(angle: CosSin, v: Array) -> Array:
    """The vector Rz(-q) v (3,), v turned back by the angle q about z."""
    return rotate(CosSin(angle.c, -angle.s), v)


def angle_equation(a: Scalar, b: Scalar, c: Scalar, sign: int) -> Root:
    """Solve a cos q + b sin q = c.

    With h = a^2 + b^2 and w = sign sqrt(h - c^2): cos q = (a c - b w) / h, sin q = (b c + a w) / h.
    """
    h = a * a + b * b
    radicand = h - c * c
    w = sqrt(radicand) * float(sign)
    reciprocal = divide(1.0, h)
    return Root(CosSin((a * c - b * w) * reciprocal, (b * c + a * w) * reciprocal), radicand * reciprocal)


def angle_onto(d: Array, u: Array) -> CosSin:
    """The angle q about z with Rz(q) d = u, for vectors (3,) of the same length and component along z."""
    reciprocal = divide(1.0, d[0] * d[0] + d[1] * d[1])
    return CosSin((d[0] * u[0] + d[1] * u[1]) * reciprocal, (d[0] * u[1] - d[1] * u[0]) * reciprocal)


def circle_to_point(e: Array, w: Array, length2: Scalar, sign: int, ahead: CosSin | None = None) -> Reached:
    """Solve |w - Rz(q) e|^2 = length2: a point e on a turning arm at a given distance from a point w.

    With l the arm's length across the axis and h the squared distance of w from it, l^2 h = c^2 + r^2: c / l
    and the root r / l are the components of w along and across the arm, and l cos q, l sin q are free of l.
    The root over l and the rod's length is a sine, whose square is the margin: zero where arm and rod are in
    one plane with the axis, or where w lies on the axis.

    Args:
        e: the point on the arm (3,), axis z, m.
        w: the other point (3,), m.
        length2: squared distance, m^2.
        sign: which solution.
        ahead: constant angle from the axes of w to those of e at q = 0; none if None.
    """
    l2 = e[0] * e[0] + e[1] * e[1]
    l = sqrt(l2)
    reciprocal = divide(1.0, l)
    x, y = e[0] * reciprocal, e[1] * reciprocal
    h = w[0] * w[0] + w[1] * w[1]
    beside = w[2] - e[2]
    c = 0.5 * (h + beside * beside) + 0.5 * (l2 - length2)
    radicand = l2 * h - c * c
    root = sqrt(radicand) * float(sign)
    over = divide(1.0, h)
    # The angle of the arm; that of the joint is less by the constant one of e.
    arm = CosSin((w[0] * c - w[1] * root) * over * reciprocal, (w[1] * c + w[0] * root) * over * reciprocal)
    start = CosSin(x, y) if ahead is None else CosSin(ahead.c * x - ahead.s * y, ahead.s * x + ahead.c * y)
    angle = CosSin(arm.c * start.c + arm.s * start.s, arm.s * start.c - arm.c * start.s)
    along, across = (c - l2) * reciprocal, root * reciprocal
    rod = pack([along * x + across * y, along * y - across * x, beside])
    return Reached(angle, divide(radicand * (reciprocal * reciprocal), length2), rod)


def line_to_point(e: Array, w: Array, length2: Scalar, sign: int) -> Reached:
    """Solve |w - e - q z|^2 = length2: a point e on a slide along z at a given distance from a point w."""
    f = plus(w, -e)
    radicand = length2 - f[0] * f[0] - f[1] * f[1]
    root = sqrt(radicand) * float(sign)
    return Reached(f[2] + root, divide(radicand, length2), pack([f[0], f[1], -root]))


def stretch(o: Array, z: Array, length2: Scalar, sign: int) -> Root:
    """Solve |o + l z|^2 = length2 for l, z of unit length: a slide that makes a given distance."""
    along = dot(o, z)
    radicand = along * along - dot(o, o) + length2
    return Root(sqrt(radicand) * float(sign) - along, divide(radicand, length2))


def two_angles(C: Array, d: Array, u: Array, sign: int) -> tuple[CosSin, CosSin, Scalar]:
    """Solve Rz(q1) C Rz(q2) d = u for vectors of equal length: aim a universal joint.

    The component along the first axis does not depend on q1, which gives q2. The margin is zero where u
    lies along the first axis.
    """
    n = C[2]
    second, margin = angle_equation(
        n[0] * d[0] + n[1] * d[1], n[1] * d[0] - n[0] * d[1], u[2] - n[2] * d[2], sign
    )
    return angle_onto(product(C, rotate(second, d)), u), second, margin


def spherical_aim(d: Array, u: Array, quat_xyzw: Array) -> Array:
    """Quaternion that takes d to u, vectors of equal length: the shortest turn from a reference.

    Args:
        d: vector (3,) in the moving frame.
        u: where it shall point (3,), in the fixed frame.
        quat_xyzw: reference orientation of the moving frame (4,), of floats.
    """
    x, y, z, w = quat_xyzw
    # The reference direction, then the half-way quaternion [d0 x u; d.d + d0.u].
    t = 2.0 * cross(quat_xyzw[:3], d)
    d0 = plus(plus(d, w * t), cross(pack([x, y, z]), t))
    half = pack([*cross(d0, u), dot(d, d) + dot(d0, u)])
    return quat_product(half * divide(1.0, sqrt(dot(half, half))), quat_xyzw)
