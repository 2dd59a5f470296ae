"""Serial legs in closed form: a chain of single axes and spherical joints whose end is put on a point W.

    W = X_0 M_1(q_1) X_1 ... M_k(q_k) X_k

M are rotations about z (R, q in rad), translations along z (P, q in m) and spherical joints (S), X constant
frames. Each form is a short sequence of subproblems, each with a root to choose:

    elbow-*     the driven joint brings the elbow to the rod's length from W; then the rod is aimed at W
    *-slide     the prismatic joint gives the distance from the foot to W; then the strut is aimed at W
    pair-turn   the heights along the second axis give the first angle, the distance to W the third

Most subproblems come down to a cos q + b sin q = c: with h = a^2 + b^2 the unit vector (cos q, sin q) has the
component c / sqrt(h) along (a, b), so +-sqrt(h - c^2) / sqrt(h) across it,

    cos q = (a c - b w) / h,      sin q = (b c + a w) / h,      w = sign sqrt(h - c^2)

Angles are found as cosine and sine (`CosineSine`), without trigonometry. Where two solutions exist `sign`
picks
one. A `margin` comes with every root: the radicand over the square of the length that it belongs to, here
(h - c^2) / h. It is below zero where there is no solution and zero where two solutions meet, a serial
singularity. Lengths in m, vectors in the axes of the joint, whose axis is z.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from nacelle.kinematics.legs.chain import TOLERANCE, LegChain
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation import cheapest_rotation, quat_product, rotation, rotation_cost
from nacelle.spatial.scalar import (
    Array,
    Scalar,
    absolute,
    cross,
    divide,
    dot,
    norm,
    pack,
    plus,
    product,
    sqrt,
)
from nacelle.tree.spanning_tree import CosineSine, JointTransform


class Root(NamedTuple):
    """A solution and its margin."""

    value: Scalar
    margin: Scalar


class ElbowRoot(NamedTuple):
    """A solution, its margin, and the vector from the point on the joint to the given one, moved axes."""

    value: Scalar
    margin: Scalar
    rod: Array


def rotate_z(angle: CosineSine, v: Array) -> Array:
    """The vector Rz(q) v (3,), v turned by the angle q about z."""
    return pack([angle.c * v[0] - angle.s * v[1], angle.s * v[0] + angle.c * v[1], v[2]])


def rotate_z_back(angle: CosineSine, v: Array) -> Array:
    """The vector Rz(-q) v (3,), v turned back by the angle q about z."""
    return rotate_z(CosineSine(angle.c, -angle.s), v)


def angle_equation(a: Scalar, b: Scalar, c: Scalar, sign: int) -> Root:
    """Solve a cos q + b sin q = c.

    With h = a^2 + b^2 and w = sign sqrt(h - c^2): cos q = (a c - b w) / h, sin q = (b c + a w) / h.
    """
    h = a * a + b * b
    radicand = h - c * c
    w = sqrt(radicand) * float(sign)
    reciprocal = divide(1.0, h)
    return Root(CosineSine((a * c - b * w) * reciprocal, (b * c + a * w) * reciprocal), radicand * reciprocal)


def angle_between(d: Array, u: Array) -> CosineSine:
    """The angle q about z with Rz(q) d = u, for vectors (3,) of the same length and component along z."""
    reciprocal = divide(1.0, d[0] * d[0] + d[1] * d[1])
    return CosineSine((d[0] * u[0] + d[1] * u[1]) * reciprocal, (d[0] * u[1] - d[1] * u[0]) * reciprocal)


def circle_to_point(
    e: Array, w: Array, length2: Scalar, sign: int, ahead: CosineSine | None = None
) -> ElbowRoot:
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
    next_to = w[2] - e[2]
    c = 0.5 * (h + next_to * next_to) + 0.5 * (l2 - length2)
    radicand = l2 * h - c * c
    root = sqrt(radicand) * float(sign)
    over = divide(1.0, h)
    # The angle of the arm; that of the joint is less by the constant one of e.
    arm = CosineSine(
        (w[0] * c - w[1] * root) * over * reciprocal, (w[1] * c + w[0] * root) * over * reciprocal
    )
    start = (
        CosineSine(x, y)
        if ahead is None
        else CosineSine(ahead.c * x - ahead.s * y, ahead.s * x + ahead.c * y)
    )
    angle = CosineSine(arm.c * start.c + arm.s * start.s, arm.s * start.c - arm.c * start.s)
    along, across = (c - l2) * reciprocal, root * reciprocal
    rod = pack([along * x + across * y, along * y - across * x, next_to])
    return ElbowRoot(angle, divide(radicand * (reciprocal * reciprocal), length2), rod)


def line_to_point(e: Array, w: Array, length2: Scalar, sign: int) -> ElbowRoot:
    """Solve |w - e - q z|^2 = length2: a point e on a slide along z at a given distance from a point w."""
    f = plus(w, -e)
    radicand = length2 - f[0] * f[0] - f[1] * f[1]
    root = sqrt(radicand) * float(sign)
    return ElbowRoot(f[2] + root, divide(radicand, length2), pack([f[0], f[1], -root]))


def slide_to_distance(o: Array, z: Array, length2: Scalar, sign: int) -> Root:
    """Solve |o + l z|^2 = length2 for l, z of unit length: a slide that makes a given distance."""
    along = dot(o, z)
    radicand = along * along - dot(o, o) + length2
    return Root(sqrt(radicand) * float(sign) - along, divide(radicand, length2))


def aim_universal(C: Array, d: Array, u: Array, sign: int) -> tuple[CosineSine, CosineSine, Scalar]:
    """Solve Rz(q1) C Rz(q2) d = u for vectors of equal length: aim a universal joint.

    The component along the first axis does not depend on q1, which gives q2. The margin is zero where u
    lies along the first axis.
    """
    n = C[2]
    second, margin = angle_equation(
        n[0] * d[0] + n[1] * d[1], n[1] * d[0] - n[0] * d[1], u[2] - n[2] * d[2], sign
    )
    return angle_between(product(C, rotate_z(second, d)), u), second, margin


def aim_spherical(d: Array, u: Array, quat_xyzw: Array) -> Array:
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


class RootSelection:
    """Signs that are left, margins that were met, and the references of spherical joints.

    Besides the margins of roots, which are squared sines, the squares of lever arms count, over that of the
    leg's or, with slides, of the robot's size: an axis through the leg's end does not move it.

    Where the step of the driven joint is known it is taken, and the root tells on which side of the leg's
    singularity it is: the margin is below zero on the other one.

    Attributes:
        size: of the robot, m.
        driven: step of the driven joint, if it is known.
        root_margins: margins that were met.
    """

    def __init__(
        self,
        signs: Sequence[int],
        references: Mapping[int, tuple[float, ...]],
        size: float,
        driven: JointTransform | None = None,
    ) -> None:
        self._signs = iter(signs)
        self._references = references
        self.size, self.driven = size, driven
        self.root_margins: list[Scalar] = []

    def sign(self) -> int:
        """Which root is taken next, 1 or -1."""
        return next(self._signs)

    def reference(self, joint: int) -> Array:
        """The reference orientation of a spherical joint, quaternion (4,), scalar last."""
        return np.array(self._references[joint])

    def take(self, solution: Root) -> Scalar:
        """Note the margin of a solution and give its value."""
        self.root_margins.append(solution.margin)
        return solution.value

    def check(self, root: Scalar, length2: Scalar) -> None:
        """Note the root of a driven joint that is known (m), and the square of the length it belongs to."""
        self.root_margins.append(divide(root * float(self.sign()) * absolute(root), length2))

    def lever(self, square: Scalar, size2: Scalar) -> None:
        """Note the square of a lever arm, and of the size that it counts in, m^2."""
        self.root_margins.append(divide(square, size2))


class EndPoint(NamedTuple):
    """The point of the platform where a leg ends, in the base: p + offset, with a constant offset if any."""

    p: Array
    offset: Array | None

    def in_frame(self, frame: Pose) -> Array:
        """The point (3,), m, seen from a frame (R, p): R^T (W - p)."""
        whole = self.p if self.offset is None else plus(self.p, self.offset)
        return np.asarray(product(frame.R.T, plus(whole, -frame.p)))

    def in_constant_frame(self, frame: Pose) -> Array:
        """R^T (p + offset - frame.p) (3,), m, as `seen`; constants are summed beforehand."""
        if self.offset is None or frame.R.dtype == object or frame.p.dtype == object:
            return self.in_frame(frame)
        return np.asarray(plus(product(frame.R.T, self.p), product(frame.R.T, plus(self.offset, -frame.p))))


def _cheapest_axes(R: Array) -> Array | None:
    """The cheapest constant axes with the same third one; None where numbers are not known."""
    try:
        return cheapest_rotation(R, 2)
    except TypeError:
        return None


def solve_elbow(
    letter: str, X: Pose, e: Array, W: EndPoint, length2: Scalar, roots: RootSelection
) -> tuple[JointTransform, Pose, Array]:
    """Solve the driven joint of an elbow: |W - (elbow)|^2 = length2.

    Args:
        letter: "R" or "P".
        X: frame of the driven joint, base.
        e: elbow (3,), m, in the frame behind it.
        W: the point where the leg ends.
        length2: square of the distance from elbow to W, m^2.
        roots: which roots are taken.

    Returns:
        The joint's step, the frame behind it, and W - e (3,), m, seen from there.
    """
    if roots.driven is not None:
        frame = X @ axis_motion(roots.driven)
        rod = W.in_frame(frame) - e
        # The rod's component across the arm, or along the slide.
        across = rod[0] * e[1] - rod[1] * e[0]
        across = across * divide(1.0, sqrt(e[0] * e[0] + e[1] * e[1])) if letter == "R" else -rod[2]
        roots.check(across, length2)
        return roots.driven, frame, rod
    sign = roots.sign()
    if letter == "R":
        # In axes that need not turn about the joint's own to be those of the base.
        axes = _cheapest_axes(X.R)
        ahead = None
        if axes is not None and rotation_cost(X.R) > rotation_cost(axes):
            relative = product(axes.T, X.R)
            ahead = CosineSine(relative[0, 0], relative[1, 0])
        else:
            axes = X.R
        step, margin, rod = circle_to_point(e, W.in_constant_frame(Pose(axes, X.p)), length2, sign, ahead)
    else:
        step, margin, rod = line_to_point(e, W.in_constant_frame(X), length2, sign)
    roots.root_margins.append(margin)
    return step, X @ axis_motion(step), rod


def axis_motion(step: JointTransform) -> Pose:
    """Motion of a turn about or a slide along z."""
    if isinstance(step, CosineSine):
        return Pose(rotation(2, *step), np.zeros(3))
    return Pose(np.eye(3), pack([0.0, 0.0, step]))


def elbow_direction(letter: str, e: Array) -> Array:
    """Where a driven joint R or P moves an elbow at e (3,) behind it: a vector (3,) there, of any length."""
    return pack([-e[1], e[0], 0.0]) if letter == "R" else np.array([0.0, 0.0, 1.0])


def aim(
    letter: str, C: Array, d: Array, u: Array, joint: int, roots: RootSelection, *, across: bool = False
) -> list[JointTransform]:
    """Steps of a free joint that turn d (3,) to u (3,), m, vectors of equal length.

    A U has a margin of its own, 1 - (u.n)^2 with its first axis n and u of unit length. Where n is across the
    direction t in which the elbow is driven, that is not below (u.t)^2, the margin of the elbow.

    Args:
        letter: "R", "U" or "S"; an R turns about the normal of the plane in which both lie.
        C: orientation (3, 3) of the second axis of a U in the frame behind the first.
        d: vector behind the joint.
        u: where it shall point, in the frame before the joint.
        joint: the joint, whose reference an S is aimed from.
        roots: which roots are taken.
        across: whether the first axis of a U is across the direction in which the elbow is driven.
    """
    if letter == "S":
        return [aim_spherical(d, u, roots.reference(joint))]
    if letter == "R":
        return [angle_between(d, u)]
    first, second, margin = aim_universal(C, d, u, roots.sign())
    if not across:
        roots.root_margins.append(margin)
    return [first, second]


def is_across(n: Array, t: Array) -> bool:
    """Whether vectors (3,) are perpendicular, of which n has unit length; False where they are not known."""
    if n.dtype == object or t.dtype == object:
        return False
    return bool(abs(n @ t) <= TOLERANCE * norm(t))


def solve_rod(chain: LegChain, W: EndPoint, roots: RootSelection, letter: str) -> list[JointTransform]:
    """A rod of constant length on a driven joint: the elbow first, then the rod's free joint."""
    X0, X1, *_, end = chain.X
    step, _, rod = solve_elbow(chain.letters[0], X0, X1.p, W, dot(end.p, end.p), roots)
    across = is_across(X1.R[:, 2], elbow_direction(chain.letters[0], X1.p))
    return [
        step,
        *aim(letter, chain.X[-2].R, end.p, product(X1.R.T, rod), chain.joints[1], roots, across=across),
    ]


def solve_strut(chain: LegChain, W: EndPoint, roots: RootSelection, letter: str) -> list[JointTransform]:
    """A strut whose end o + length z (3,) is as far from its foot as W: the length, then its free joint."""
    slide, end = chain.X[-2:]
    u, o, z = W.in_frame(chain.X[0]), plus(slide.p, product(slide.R, end.p)), slide.R[:, 2]
    if letter == "R":
        flat = np.array([1.0, 1.0, 0.0])
        u, o, z = u * flat, o * flat, z * flat
    square = dot(u, u)
    if roots.driven is not None:
        length = roots.driven
        roots.check(dot(o, z) + length, square)
    else:
        length = roots.take(slide_to_distance(o, z, square, roots.sign()))
    roots.lever(square, roots.size**2)
    return [*aim(letter, chain.X[1].R, o + length * z, u, chain.joints[0], roots), length]


def solve_universal_revolute(
    chain: LegChain, W: EndPoint, roots: RootSelection, letter: str
) -> list[JointTransform]:
    """Two links in a plane that turns: heights along the second axis, then the distance to W."""
    X0, X1, X2, X3 = chain.X
    u, n = W.in_frame(X0), X1.R[:, 2]
    across = X2.p[2] + X2.R[2, 2] * X3.p[2]
    first = roots.take(
        angle_equation(
            n[0] * u[0] + n[1] * u[1], n[0] * u[1] - n[1] * u[0], across - n[2] * u[2], roots.sign()
        )
    )
    u2 = product(X1.R.T, rotate_z_back(first, u))
    h, g = product(X2.R.T, X2.p), X3.p
    h2, g2 = h[0] * h[0] + h[1] * h[1], g[0] * g[0] + g[1] * g[1]
    square = u2[0] * u2[0] + u2[1] * u2[1]
    roots.lever(u[0] * u[0] + u[1] * u[1], h2 + g2)
    roots.lever(square, h2 + g2)
    flat = square - h2 - g2
    third = roots.take(
        angle_equation(h[0] * g[0] + h[1] * g[1], h[1] * g[0] - h[0] * g[1], 0.5 * flat, roots.sign())
    )
    return [first, angle_between(X2.p + product(X2.R, rotate_z(third, g)), u2), third]


CHAIN_SOLVERS = {"rod": solve_rod, "strut": solve_strut, "universal-revolute": solve_universal_revolute}
"""By kind or name of a closed form (`leg_type.FORMS`): called with chain, end, roots and free joint."""
