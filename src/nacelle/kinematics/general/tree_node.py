"""A frame of a leg's chain, and the freedom to choose its axes.

A node is one primitive joint. A vector u (3,) in its axes is E u in its parent's, and its origin is at o
there:

    revolute    E = G_R R_k(q),      o = G_p                    G = (G_R, G_p) the joint's constant pose, m
    prismatic   E = G_R,             o = G_p + G_R (q e)        e its axis, q in m

The axes of a link are free to be chosen. Turned about a revolute joint's own axis by a constant angle t they
change nothing but q -> q + t, and those of a prismatic link may be turned at will, if e is turned back. That
freedom is used to make the next constant rotation one about a coordinate axis (`short_rotation`). Two
revolute joints with parallel axes turn vectors as one: R_m(p) G_R R_k(q) = G_R R_k(q + p), or q - p where the
axes are opposite.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from nacelle.kinematics.general.vectors import is_zero, scaled
from nacelle.kinematics.tree.spanning_tree import CosSin, Step, step_motion
from nacelle.model.joint import Primitive
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import (
    Array,
    Scalar,
    at_sample,
    atan2,
    cos,
    divide,
    pack,
    plus,
    product,
    sin,
    sqrt,
)
from nacelle.spatial.short_rotation import ALIGNED, even_entries, rotation, rotation_cost, shortest


@dataclass(frozen=True, eq=False)
class TreeNode:
    """A frame of a chain.

    Attributes:
        parent: number of its parent.
        rates: places in u of the primitive's rates.
        G: constant pose of the joint frame in the parent's axes.
        primitive: the primitive.
        step: where it is.
        split: whether G and the primitive are applied one after the other: cheaper for general axes.
        angle: of a revolute joint whose angle is given itself, else None.
        prismatic_axis: of a prismatic joint, in the node's axes, which need not be those of its frame.
    """

    parent: int
    rates: tuple[int, ...]
    G: Pose
    primitive: Primitive
    step: Step
    split: bool
    angle: Scalar | None = None
    prismatic_axis: Array | None = None

    @cached_property
    def _motion(self) -> Pose:
        return step_motion(self.primitive, self.step)

    @cached_property
    def E(self) -> Array:
        """Rotation from the node's axes to its parent's (3, 3)."""
        return product(self.G.R, self._motion.R)

    @cached_property
    def o(self) -> Array:
        """Origin in the parent's axes (3,), m."""
        if self.primitive.is_rotation:
            return self.G.p
        return np.asarray(plus(self.G.p, product(self.G.R, scaled(self.step, self.axes[0]))))

    @property
    def axes(self) -> list[Array]:
        """Unit axes (3,) of the rates in the node's axes: one e, of a spherical joint x, y and z."""
        unit = np.eye(3)
        if not self.rates:
            return []
        if self.prismatic_axis is not None:
            return [self.prismatic_axis]
        return list(unit) if self.primitive is Primitive.SPHERICAL else [unit[self.primitive.axis]]

    def moved(self, vector: Array) -> Array:
        """A vector (3,) in the axes of the joint's frame on the parent: R_k(q) u."""
        return product(self._motion.R, vector)

    def up(self, vector: Array) -> Array:
        """A vector (3,) of the node's axes in the parent's: E u, E = G_R R_k(q)."""
        if self.split:
            return product(self.G.R, self.moved(vector))
        return product(self.E, vector)

    def down(self, vector: Array) -> Array:
        """A vector (3,) of the parent's axes in the node's: E^T u."""
        if self.split:
            return product(self._motion.R.T, product(self.G.R.T, vector))
        return product(self.E.T, vector)


def is_aligned(R: Array, axis: int) -> bool:
    """Whether a constant rotation R (3, 3) takes an axis (0, 1, 2) to a coordinate axis."""
    return sum(not is_zero(entry) for entry in R[:, axis].tolist()) == 1


def together(first: TreeNode, second: TreeNode) -> TreeNode | None:
    """Two revolute nodes with parallel axes as one, for vectors: R_m(q) G R_k(p) = G R_k(p + q) or - q."""
    if not (isinstance(first.step, CosSin) and isinstance(second.step, CosSin)) or not second.rates:
        return None
    R, k = second.G.R, second.primitive.axis
    across = [entry for m, entry in enumerate(R[:, k].tolist()) if m != first.primitive.axis]
    if not all(is_zero(entry) for entry in across):
        return None
    sign = 1.0 if at_sample(R[first.primitive.axis, k]) > 0.0 else -1.0
    step = _added(second.step, first.step.c, sign * first.step.s)
    G = Pose(product(first.G.R, R), first.G.p)
    return replace(second, G=G, step=step, split=not is_aligned(G.R, k))


def towards(node: TreeNode | None, R: Array, axis: int) -> Array | None:
    """The rotation (3, 3) of a node's axes that puts an axis of R (3, 3) into a coordinate plane or axis."""
    if node is None or node.primitive is Primitive.SPHERICAL:
        return None
    if not node.primitive.is_rotation:
        whole = product(node.G.R, R)
        A = shortest(whole, axis)
        if A is None or rotation_cost(A) >= rotation_cost(node.G.R) + rotation_cost(R):
            return None
        return even_entries(product(node.G.R.T, A))
    e = R[:, axis]
    k, i, j = node.primitive.axis, (node.primitive.axis + 1) % 3, (node.primitive.axis + 2) % 3
    size = np.abs(at_sample(e))
    if float(np.hypot(size[i], size[j])) < 1e-9 or min(size[i], size[j]) < ALIGNED:
        return None
    reciprocal = divide(1.0, sqrt(e[i] * e[i] + e[j] * e[j]))
    return rotation(k, e[i] * reciprocal, e[j] * reciprocal)


def even(pose: Pose) -> Pose:
    """A constant pose whose rotation has zeros and ones where rounding has left nearly so."""
    return Pose(even_entries(pose.R), pose.p)


def rotated_node(node: TreeNode | None, R_new: Array) -> TreeNode:
    """A node whose axes are turned by R_new (3, 3): G_R R_new, or q + t about a revolute joint's own axis."""
    assert node is not None
    if not node.primitive.is_rotation:
        G = even(Pose(product(node.G.R, R_new), node.G.p))
        return replace(node, G=G, prismatic_axis=product(R_new.T, node.axes[0]))
    i, j = (node.primitive.axis + 1) % 3, (node.primitive.axis + 2) % 3
    return _ahead(node, R_new[i, i], R_new[j, i])


def _ahead(node: TreeNode, c: Scalar, s: Scalar) -> TreeNode:
    """A revolute node whose angle is turned on by a constant one."""
    if node.angle is None or np.min(np.abs(at_sample(pack([c, s])))) < ALIGNED:
        # Right angles cost nothing; the angle itself is not what the step has any more.
        return replace(node, step=_added(node.step, c, s), angle=None)
    angle = node.angle + atan2(s, c)
    return replace(node, step=CosSin(cos(angle), sin(angle)), angle=angle)


def _added(step: Step, c: Scalar, s: Scalar) -> CosSin:
    """An angle by cosine and sine, turned on by another."""
    return CosSin(step.c * c - step.s * s, step.s * c + step.c * s)


def split_own(node: TreeNode) -> TreeNode:
    """Give the part of a constant rotation about the joint's own axis to its angle: R = A R_k(psi)."""
    if not isinstance(node.step, CosSin):
        return node
    try:
        if rotation_cost(node.G.R) == 0:
            return node
        A = shortest(node.G.R, node.primitive.axis)
    except TypeError:
        # The axis of a leg that hangs on the nacelle moves.
        return node
    if A is None:
        return node
    own = product(A.T, node.G.R)
    i, j = (node.primitive.axis + 1) % 3, (node.primitive.axis + 2) % 3
    return _ahead(replace(node, G=Pose(A, node.G.p)), own[i, i], own[j, i])
