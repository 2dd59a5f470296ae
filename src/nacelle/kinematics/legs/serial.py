"""Serial legs in closed form: a chain of single axes and spherical joints whose end is put on a point W.

    W = X_0 M_1(q_1) X_1 ... M_k(q_k) X_k

M are rotations about z (R, q in rad), translations along z (P, q in m) and spherical joints (S), X constant
frames. Each form is a short sequence of subproblems (`nacelle.kinematics.legs.subproblem`), each with a root
to choose:

    elbow-*     the driven joint brings the elbow to the rod's length from W; then the rod is aimed at W
    *-slide     the prismatic joint gives the distance from the foot to W; then the strut is aimed at W
    pair-turn   the heights along the second axis give the first angle, the distance to W the third
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from nacelle.kinematics.legs.chain import LegChain
from nacelle.kinematics.legs.subproblem import (
    angle_equation,
    angle_onto,
    circle_to_point,
    line_to_point,
    rotate,
    rotate_back,
    spherical_aim,
    stretch,
    two_angles,
)
from nacelle.kinematics.tree.spanning_tree import CosSin, Step
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array, Scalar, divide, dot, pack, plus, product
from nacelle.spatial.short_rotation import rotation_cost, shortest


class Roots:
    """Signs that are left, margins that were met, and the references of spherical joints.

    Beside the margins of roots, which are squared sines, the squares of lever arms count, over that of the
    leg's or, beside slides, of the robot's size: an axis through the leg's end does not move it.
    """

    def __init__(
        self, signs: Sequence[int], references: Mapping[int, tuple[float, ...]], size: float
    ) -> None:
        self._signs = iter(signs)
        self._references = references
        self.size = size
        self.root_margins: list[Scalar] = []

    def sign(self) -> int:
        """Which root is taken next, 1 or -1."""
        return next(self._signs)

    def reference(self, joint: int) -> Array:
        """The reference orientation of a spherical joint, quaternion (4,), scalar last."""
        return np.array(self._references[joint])

    def take(self, solution: tuple[Scalar, Scalar]) -> Scalar:
        """Note the margin of a solution and give its value."""
        self.root_margins.append(solution[1])
        return solution[0]

    def lever(self, square: Scalar, size2: Scalar) -> None:
        """Note the square of a lever arm, and of the size that it counts in, m^2."""
        self.root_margins.append(divide(square, size2))


class EndPoint(NamedTuple):
    """The point of the nacelle where a leg ends, in the base: p + offset, with a constant offset if any."""

    p: Array
    offset: Array | None

    def seen(self, frame: Pose) -> Array:
        """The point (3,), m, seen from a frame (R, p): R^T (W - p)."""
        whole = self.p if self.offset is None else plus(self.p, self.offset)
        return np.asarray(product(frame.R.T, plus(whole, -frame.p)))

    def from_arm(self, frame: Pose) -> Array:
        """R^T (p + offset - frame.p) (3,), m, as `seen`; constants are summed beforehand."""
        if self.offset is None or frame.R.dtype == object or frame.p.dtype == object:
            return self.seen(frame)
        return np.asarray(plus(product(frame.R.T, self.p), product(frame.R.T, plus(self.offset, -frame.p))))


def _short_axes(R: Array) -> Array | None:
    """The cheapest constant axes with the same third one; None where numbers are not known."""
    try:
        return shortest(R, 2)
    except TypeError:
        return None


def elbow(
    letter: str, X: Pose, e: Array, W: EndPoint, length2: Scalar, roots: Roots
) -> tuple[Step, Pose, Array]:
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
    sign = roots.sign()
    if letter == "R":
        # In axes that need not turn about the joint's own to be those of the base.
        axes = _short_axes(X.R)
        ahead = None
        if axes is not None and rotation_cost(X.R) > rotation_cost(axes):
            own = product(axes.T, X.R)
            ahead = CosSin(own[0, 0], own[1, 0])
        else:
            axes = X.R
        step, margin, rod = circle_to_point(e, W.from_arm(Pose(axes, X.p)), length2, sign, ahead)
    else:
        step, margin, rod = line_to_point(e, W.from_arm(X), length2, sign)
    roots.root_margins.append(margin)
    return step, X @ axis_motion(step), rod


def axis_motion(step: Step) -> Pose:
    """Motion of a turn about or a slide along z."""
    if isinstance(step, CosSin):
        c, s = step
        return Pose(pack([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]), np.zeros(3))
    return Pose(np.eye(3), pack([0.0, 0.0, step]))


def _elbow_universal(chain: LegChain, W: EndPoint, roots: Roots) -> list[Step]:
    X0, X1, X2, X3 = chain.X
    step, _, rod = elbow(chain.letters[0], X0, X1.p, W, dot(X3.p, X3.p), roots)
    first, second, margin = two_angles(X2.R, X3.p, product(X1.R.T, rod), roots.sign())
    roots.root_margins.append(margin)
    return [step, first, second]


def _elbow_spherical(chain: LegChain, W: EndPoint, roots: Roots) -> list[Step]:
    X0, X1, X2 = chain.X
    step, _, rod = elbow(chain.letters[0], X0, X1.p, W, dot(X2.p, X2.p), roots)
    return [step, spherical_aim(X2.p, product(X1.R.T, rod), roots.reference(chain.owners[1]))]


def _elbow_revolute(chain: LegChain, W: EndPoint, roots: Roots) -> list[Step]:
    X0, X1, X2 = chain.X
    step, _, rod = elbow(chain.letters[0], X0, X1.p, W, dot(X2.p, X2.p), roots)
    return [step, angle_onto(X2.p, product(X1.R.T, rod))]


def _universal_prismatic(chain: LegChain, W: EndPoint, roots: Roots) -> list[Step]:
    X0, X1, X2, X3 = chain.X
    u = W.seen(X0)
    o, z = plus(X2.p, product(X2.R, X3.p)), X2.R[:, 2]
    square = dot(u, u)
    length = roots.take(stretch(o, z, square, roots.sign()))
    roots.lever(square, roots.size**2)
    first, second, margin = two_angles(X1.R, o + length * z, u, roots.sign())
    roots.root_margins.append(margin)
    return [first, second, length]


def _spherical_prismatic(chain: LegChain, W: EndPoint, roots: Roots) -> list[Step]:
    X0, X1, X2 = chain.X
    u = W.seen(X0)
    o, z = plus(X1.p, product(X1.R, X2.p)), X1.R[:, 2]
    square = dot(u, u)
    length = roots.take(stretch(o, z, square, roots.sign()))
    roots.lever(square, roots.size**2)
    return [spherical_aim(o + length * z, u, roots.reference(chain.owners[0])), length]


def _revolute_prismatic(chain: LegChain, W: EndPoint, roots: Roots) -> list[Step]:
    X0, X1, X2 = chain.X
    flat = np.array([1.0, 1.0, 0.0])
    u, o, z = W.seen(X0) * flat, plus(X1.p, product(X1.R, X2.p)) * flat, X1.R[:, 2] * flat
    square = dot(u, u)
    length = roots.take(stretch(o, z, square, roots.sign()))
    roots.lever(square, roots.size**2)
    return [angle_onto(o + length * z, u), length]


def _universal_revolute(chain: LegChain, W: EndPoint, roots: Roots) -> list[Step]:
    X0, X1, X2, X3 = chain.X
    u, n = W.seen(X0), X1.R[:, 2]
    across = X2.p[2] + X2.R[2, 2] * X3.p[2]
    first = roots.take(
        angle_equation(
            n[0] * u[0] + n[1] * u[1], n[0] * u[1] - n[1] * u[0], across - n[2] * u[2], roots.sign()
        )
    )
    u2 = product(X1.R.T, rotate_back(first, u))
    h, g = product(X2.R.T, X2.p), X3.p
    h2, g2 = h[0] * h[0] + h[1] * h[1], g[0] * g[0] + g[1] * g[1]
    square = u2[0] * u2[0] + u2[1] * u2[1]
    roots.lever(u[0] * u[0] + u[1] * u[1], h2 + g2)
    roots.lever(square, h2 + g2)
    flat = square - h2 - g2
    third = roots.take(
        angle_equation(h[0] * g[0] + h[1] * g[1], h[1] * g[0] - h[0] * g[1], 0.5 * flat, roots.sign())
    )
    return [first, angle_onto(X2.p + product(X2.R, rotate(third, g)), u2), third]


SOLVED = {
    "elbow-universal": _elbow_universal,
    "elbow-spherical": _elbow_spherical,
    "elbow-revolute": _elbow_revolute,
    "universal-prismatic": _universal_prismatic,
    "spherical-prismatic": _spherical_prismatic,
    "revolute-prismatic": _revolute_prismatic,
    "universal-revolute": _universal_revolute,
}
