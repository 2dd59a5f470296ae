"""The legs as trees of frames: vectors of a leg are written in the axes of its own links.

A node is the frame behind one primitive of a joint of a leg's tree; node 0 is the base. A vector u (3,) in
its axes is E u in its parent's, and its origin is at o there:

    revolute    E = G_R R_k(q),      o = G_p                    G = (G_R, G_p) the joint's constant pose, m
    prismatic   E = G_R,             o = G_p + G_R (q e)        e its axis, q in m

A rotation about one axis takes four products and two sums where a change of axes to the base takes fifteen
operations, and entries of closures that are zero in the axes of a link stay zero.

The axes of a link are free to be chosen. Turned about a revolute joint's own axis by a constant angle t they
change nothing but q -> q + t, and those of a prismatic link may be turned at will, if e is turned back. That
freedom is used to make the next constant rotation one about a coordinate axis (`rotation`). Two
revolute joints with parallel axes turn vectors as one: R_m(p) G_R R_k(q) = G_R R_k(q + p), or q - p where the
axes are opposite.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from nacelle.compact.vectors import scale
from nacelle.kinematics.configuration import Configuration
from nacelle.model.joint import JointKind, Primitive
from nacelle.model.leg import BASE
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose, identity
from nacelle.spatial.rotation import ALIGNED, cheapest_rotation, rotation, rotation_cost, round_entries
from nacelle.spatial.scalar import (
    Array,
    Scalar,
    atan2,
    cos,
    divide,
    fold_constants,
    is_zero,
    pack,
    plus,
    product,
    sample_values,
    sin,
    sqrt,
)
from nacelle.tree.spanning_tree import CosineSine, JointTransform, transform_pose


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
    step: JointTransform
    split: bool
    angle: Scalar | None = None
    prismatic_axis: Array | None = None

    @cached_property
    def _motion(self) -> Pose:
        return transform_pose(self.primitive, self.step)

    @cached_property
    def E(self) -> Array:
        """Rotation from the node's axes to its parent's (3, 3)."""
        return product(self.G.R, self._motion.R)

    @cached_property
    def o(self) -> Array:
        """Origin in the parent's axes (3,), m."""
        if self.primitive.is_rotation:
            return self.G.p
        return np.asarray(plus(self.G.p, product(self.G.R, scale(self.step, self.axes[0]))))

    @property
    def axes(self) -> list[Array]:
        """Unit axes (3,) of the rates in the node's axes: one e, of a spherical joint x, y and z."""
        unit = np.eye(3)
        if not self.rates:
            return []
        if self.prismatic_axis is not None:
            return [self.prismatic_axis]
        return list(unit) if self.primitive is Primitive.SPHERICAL else [unit[self.primitive.axis]]

    def to_parent(self, vector: Array) -> Array:
        """A vector (3,) in the axes of the joint's frame on the parent: R_k(q) u."""
        return product(self._motion.R, vector)

    def up(self, vector: Array) -> Array:
        """A vector (3,) of the node's axes in the parent's: E u, E = G_R R_k(q)."""
        if self.split:
            return product(self.G.R, self.to_parent(vector))
        return product(self.E, vector)

    def down(self, vector: Array) -> Array:
        """A vector (3,) of the parent's axes in the node's: E^T u."""
        if self.split:
            return product(self._motion.R.T, product(self.G.R.T, vector))
        return product(self.E.T, vector)


def is_aligned(R: Array, axis: int) -> bool:
    """Whether a constant rotation R (3, 3) takes an axis (0, 1, 2) to a coordinate axis."""
    return sum(not is_zero(entry) for entry in R[:, axis].tolist()) == 1


def combine_parallel(first: TreeNode, second: TreeNode) -> TreeNode | None:
    """Two revolute nodes with parallel axes as one, for vectors: R_m(q) G R_k(p) = G R_k(p + q) or - q."""
    if not (isinstance(first.step, CosineSine) and isinstance(second.step, CosineSine)) or not second.rates:
        return None
    R, k = second.G.R, second.primitive.axis
    across = [entry for m, entry in enumerate(R[:, k].tolist()) if m != first.primitive.axis]
    if not all(is_zero(entry) for entry in across):
        return None
    sign = 1.0 if sample_values(R[first.primitive.axis, k]) > 0.0 else -1.0
    step = _add_angles(second.step, first.step.c, sign * first.step.s)
    G = Pose(product(first.G.R, R), first.G.p)
    return replace(second, G=G, step=step, split=not is_aligned(G.R, k))


def aligning_rotation(node: TreeNode | None, R: Array, axis: int) -> Array | None:
    """The rotation (3, 3) of a node's axes that puts an axis of R (3, 3) into a coordinate plane or axis."""
    if node is None or node.primitive is Primitive.SPHERICAL:
        return None
    if not node.primitive.is_rotation:
        R_total = product(node.G.R, R)
        A = cheapest_rotation(R_total, axis)
        if A is None or rotation_cost(A) >= rotation_cost(node.G.R) + rotation_cost(R):
            return None
        return round_entries(product(node.G.R.T, A))
    e = R[:, axis]
    k, i, j = node.primitive.axis, (node.primitive.axis + 1) % 3, (node.primitive.axis + 2) % 3
    size = np.abs(sample_values(e))
    if float(np.hypot(size[i], size[j])) < 1e-9 or min(size[i], size[j]) < ALIGNED:
        return None
    reciprocal = divide(1.0, sqrt(e[i] * e[i] + e[j] * e[j]))
    return rotation(k, e[i] * reciprocal, e[j] * reciprocal)


def with_rounded_rotation(pose: Pose) -> Pose:
    """A constant pose whose rotation has zeros and ones where rounding has left nearly so."""
    return Pose(round_entries(pose.R), pose.p)


def rotated_node(node: TreeNode | None, R_new: Array) -> TreeNode:
    """A node whose axes are turned by R_new (3, 3): G_R R_new, or q + t about a revolute joint's own axis."""
    assert node is not None
    if not node.primitive.is_rotation:
        G = with_rounded_rotation(Pose(product(node.G.R, R_new), node.G.p))
        return replace(node, G=G, prismatic_axis=product(R_new.T, node.axes[0]))
    i, j = (node.primitive.axis + 1) % 3, (node.primitive.axis + 2) % 3
    return _advance_angle(node, R_new[i, i], R_new[j, i])


def _advance_angle(node: TreeNode, c: Scalar, s: Scalar) -> TreeNode:
    """A revolute node whose angle is turned on by a constant one."""
    if node.angle is None or np.min(np.abs(sample_values(pack([c, s])))) < ALIGNED:
        # Right angles cost nothing; the angle itself is not what the step has any more.
        return replace(node, step=_add_angles(node.step, c, s), angle=None)
    angle = node.angle + atan2(s, c)
    return replace(node, step=CosineSine(cos(angle), sin(angle)), angle=angle)


def _add_angles(step: JointTransform, c: Scalar, s: Scalar) -> CosineSine:
    """An angle by cosine and sine, turned on by another."""
    return CosineSine(step.c * c - step.s * s, step.s * c + step.c * s)


def absorb_own_rotation(node: TreeNode) -> TreeNode:
    """Give the part of a constant rotation about the joint's own axis to its angle: R = A R_k(psi)."""
    if not isinstance(node.step, CosineSine):
        return node
    try:
        if rotation_cost(node.G.R) == 0:
            return node
        A = cheapest_rotation(node.G.R, node.primitive.axis)
    except TypeError:
        # The axis of a leg that hangs on the platform moves.
        return node
    if A is None:
        return node
    about_axis = product(A.T, node.G.R)
    i, j = (node.primitive.axis + 1) % 3, (node.primitive.axis + 2) % 3
    return _advance_angle(replace(node, G=Pose(A, node.G.p)), about_axis[i, i], about_axis[j, i])


class WorklessDirection(NamedTuple):
    """A direction in which a force does nothing: an axis of a leg's first joint frame.

    Attributes:
        axis: which one.
        entry: entry of the force in base axes that a multiple of it makes zero.
    """

    axis: int
    entry: int


class NodeFrame(NamedTuple):
    """A frame on a node: the node's index, and the pose of the frame in its axes."""

    node: int
    pose: Pose


@dataclass(frozen=True, eq=False)
class LegTrees:
    """The trees of all legs.

    Attributes:
        nodes: all nodes; the first is the base and None.
        node_frames: for every body of a leg and the base its node, and the pose of its frame there.
        roots: nodes that are the origin of a platform body in base axes, and the body: legs may hang there.
        joined: whether joints with parallel axes turn a vector at once: pays for several vectors.
        runs: what `down` and `up` go through between two nodes, kept once it is made.
    """

    nodes: tuple[TreeNode | None, ...]
    node_frames: dict[int, NodeFrame]
    roots: dict[int, int]
    frames: dict[int, int] = field(default_factory=dict)
    joined: bool = True
    runs: dict[tuple[int, int], list[TreeNode]] = field(default_factory=dict)

    def node(self, index: int) -> TreeNode:
        """A node that is not the base."""
        node = self.nodes[index]
        assert node is not None
        return node

    def root(self, index: int) -> int | None:
        """The platform body that a node hangs on; None if it is on the base."""
        path = self.path(index)
        return self.roots.get(path[0]) if path else None

    def path(self, index: int, top: int = 0) -> list[int]:
        """Nodes from below `top` down to a node."""
        nodes: list[int] = []
        while index != top:
            nodes.append(index)
            index = self.node(index).parent
        return nodes[::-1]

    def common(self, first: int, second: int) -> int:
        """The last node that two nodes have in common."""
        above = {0, *self.path(first)}
        index = second
        while index not in above:
            index = self.node(index).parent
        return index

    def down(self, index: int, vector: Array, top: int = 0) -> Array:
        """A vector (3,) in the axes of `top`, in those of a node below it: product of E^T along the path."""
        for node in self._combined_path(index, top):
            vector = node.down(vector)
        return vector

    def up(self, index: int, vector: Array, top: int = 0) -> Array:
        """A vector (3,) in the axes of a node, in those of `top` above it: product of E along the path."""
        for node in reversed(self._combined_path(index, top)):
            vector = node.up(vector)
        return vector

    def tensor_to_base(self, index: int, K: Array) -> Array:
        """A symmetric matrix K (3, 3) in the axes of a node, in those of the base: E K E^T along the path."""
        if not index:
            return K
        half = [self.up(index, K[:, k]) for k in range(3)]
        full = [self.up(index, pack([column[i] for column in half])) for i in range(3)]
        return pack([[full[max(i, j)][min(i, j)] for j in range(3)] for i in range(3)])

    def force_to_base_without(self, index: int, vector: Array, workless: WorklessDirection) -> Array:
        """A force in base axes but for a multiple of an idle direction n: its entry j is zero.

        F - n F_j / n_j = (1 - n e_j^T / n_j) G ..., with G the constant axes of the first joint's frame.
        """
        first, *others = self._combined_path(index, 0)
        for node in reversed(others):
            vector = node.up(vector)
        axis, j = workless
        R = first.G.R
        n = R[:, axis]
        B = pack(
            [
                [0.0 if i == j or c == axis else R[i, c] - n[i] * divide(R[j, c], n[j]) for c in range(3)]
                for i in range(3)
            ]
        )
        return product(round_entries(B), first.to_parent(vector))

    def _combined_path(self, index: int, top: int) -> list[TreeNode]:
        """Nodes from below `top` to a node; parallel axes are one, with the sum of angles."""
        if (index, top) not in self.runs:
            nodes: list[TreeNode] = []
            for k in self.path(index, top):
                both = combine_parallel(nodes[-1], self.node(k)) if nodes and self.joined else None
                nodes = [*nodes[:-1], both] if both is not None else [*nodes, self.node(k)]
            self.runs[index, top] = nodes
        return self.runs[index, top]

    def point(self, index: int, point: Array, top: int = 0) -> Array:
        """A point (3,), m, of a node, from the origin of `top` in its axes: o + E point from node to node."""
        for k in reversed(self.path(index, top)):
            node = self.node(k)
            point = np.asarray(plus(node.o, node.up(point)))
        return point

    def from_node(self, index: int, point: Array, top: int = 0) -> Array:
        """A point (3,), m, of `top`, seen from a node below it: E^T (point - o) from node to node."""
        for k in self.path(index, top):
            node = self.node(k)
            point = node.down(np.asarray(plus(point, -node.o)))
        return point


def leg_trees(
    robot: Robot,
    now: Configuration,
    omitted: frozenset[int] = frozenset(),
    axes: Mapping[int, Array] | None = None,
) -> LegTrees:
    """The trees of a robot at a configuration; bodies that are omitted have no nodes.

    The axes of a revolute node may be turned about its own axis by any constant angle, those of a prismatic
    one anyhow. They are chosen so that the axis of the next joint lies in a coordinate plane or along an
    axis: then the constant rotation between them is one about a coordinate axis, or none, and what is left of
    it belongs to the next joint's own angle.
    """
    starts = np.cumsum([0, *(len(joint.primitives) for joint in robot.tree_joints)])
    nodes: list[TreeNode | None] = [None]
    frame_of: dict[int, NodeFrame] = {BASE: NodeFrame(0, identity())}
    parents: set[int] = {0}
    roots: dict[int, int] = {}

    def face(index: int, R: Array, axis: int) -> Pose:
        """Turn the axes of a node that nothing hangs on yet towards an axis; gives the pose in new axes."""
        R_new = None if index in parents else aligning_rotation(nodes[index], R, axis)
        if R_new is None:
            return identity()
        nodes[index] = rotated_node(nodes[index], R_new)
        back = Pose(R_new.T, np.zeros(3))
        frame_of.update(
            {
                b: NodeFrame(k, with_rounded_rotation(back @ at))
                for b, (k, at) in frame_of.items()
                if k == index
            }
        )
        return back

    frames: dict[int, int] = {}
    for number, leg in enumerate(robot.legs):
        base = frame_of[BASE]
        if axes and number in axes:
            nodes.append(
                TreeNode(0, (), Pose(axes[number], np.zeros(3)), Primitive.RZ, CosineSine(1.0, 0.0), False)
            )
            frames[number] = len(nodes) - 1
            parents.add(len(nodes) - 1)
            base = NodeFrame(len(nodes) - 1, Pose(axes[number].T, np.zeros(3)))
        for j in leg.joints:
            joint = robot.joints[j]
            if joint.successor in omitted:
                continue
            if joint.predecessor not in frame_of:
                # A leg that hangs on the platform: its first node is the body's origin in base axes.
                pose = now.motion.poses[joint.predecessor]
                nodes.append(
                    TreeNode(0, (), Pose(np.eye(3), pose.p), Primitive.RZ, CosineSine(1.0, 0.0), False)
                )
                frame_of[joint.predecessor] = NodeFrame(len(nodes) - 1, Pose(pose.R, np.zeros(3)))
                roots[len(nodes) - 1] = joint.predecessor
                parents.add(len(nodes) - 1)
            index, frame = base if joint.predecessor == BASE else frame_of[joint.predecessor]
            G = frame @ _with_constant_floats(joint.frame_predecessor)
            rate = robot.platform_nv + robot.v_slices[j].start
            for at, primitive in enumerate(joint.primitives):
                revolute = primitive.is_rotation and primitive is not Primitive.SPHERICAL
                if revolute:
                    G = with_rounded_rotation(face(index, G.R, primitive.axis) @ G)
                parents.add(index)
                rates = tuple(range(rate, rate + primitive.nv))
                angle = now.angles.get(j)
                node = absorb_own_rotation(
                    TreeNode(index, rates, G, primitive, now.steps[starts[j] + at], False, angle)
                )
                split = revolute and not is_aligned(node.G.R, primitive.axis)
                nodes.append(replace(node, split=split))
                index, G = len(nodes) - 1, identity()
                rate += primitive.nv
            frame_of[joint.successor] = NodeFrame(
                index, G @ _with_constant_floats(joint.frame_successor).inverse()
            )
    # Bodies of the platform are not part of the legs.
    frame_of = {body: at for body, at in frame_of.items() if at.node not in roots}
    for body, frame in _last_axes(robot, frame_of):
        index, node_pose = frame_of[body]
        face(index, (node_pose @ frame).R, 2)
    return LegTrees(tuple(nodes), frame_of, roots, frames)


def _last_axes(robot: Robot, frame_of: dict[int, NodeFrame]) -> list[tuple[int, Pose]]:
    """Closures with one free rotation at a node that has no other closure: the body and the joint's frame."""
    ends = [
        (body, frame, joint)
        for index, joint in enumerate(robot.joints)
        for body, frame in (
            (joint.predecessor, joint.frame_predecessor),
            (joint.successor, joint.frame_successor),
        )
        if body in frame_of and not (joint.successor in frame_of and index < robot.tree)
    ]
    used = [frame_of[body][0] for body, _, _ in ends]
    return [
        (body, _with_constant_floats(frame))
        for body, frame, joint in ends
        if used.count(frame_of[body][0]) == 1 and joint.kind in (JointKind.REVOLUTE, JointKind.CYLINDRICAL)
    ]


def _with_constant_floats(frame: Pose) -> Pose:
    """A joint frame whose constants are floats, where numbers of the robot are symbols."""
    return Pose(fold_constants(frame.R), fold_constants(frame.p))
