"""The legs as trees of frames: vectors of a leg are written in the axes of its own links.

A node is the frame behind one primitive of a joint of a leg's tree. From its parent's axes to its own lead a
constant pose G and the primitive's motion:

    vectors    a_parent = E a_node,  E = G.R R(q)
    origins    o = G.p, and for a prismatic primitive o = G.p + G.R e q

Node 0 is the base. A rotation about one axis takes four products and two sums where a change of axes to the
base takes fifteen operations, and entries of closures that are zero in the axes of a link stay zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from nacelle.kinematics.general.tree_node import (
    TreeNode,
    even,
    is_aligned,
    rotated_node,
    split_own,
    together,
    towards,
)
from nacelle.kinematics.tree.configuration import Configuration
from nacelle.kinematics.tree.spanning_tree import CosSin
from nacelle.model.joint import JointKind, Primitive
from nacelle.model.leg import BASE
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose, identity
from nacelle.spatial.scalar import Array, divide, pack, plus, product, settled
from nacelle.spatial.short_rotation import even_entries


class Idle(NamedTuple):
    """A direction in which a force does nothing: an axis of a leg's first joint frame.

    Attributes:
        axis: which one.
        entry: entry of the force in base axes that a multiple of it makes zero.
    """

    axis: int
    entry: int


@dataclass(frozen=True, eq=False)
class LegTrees:
    """The trees of all legs.

    Attributes:
        nodes: all nodes; the first is the base and None.
        place: for every body of a leg and the base its node, and the pose of its frame there.
        roots: nodes that are the origin of a nacelle body in base axes, and the body: legs may hang there.
        joined: whether joints with parallel axes turn a vector at once: pays for several vectors.
        runs: what `down` and `up` go through between two nodes, kept once it is made.
    """

    nodes: tuple[TreeNode | None, ...]
    place: dict[int, tuple[int, Pose]]
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
        """The nacelle body that a node hangs on; None if it is on the base."""
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
        for node in self._runs(index, top):
            vector = node.down(vector)
        return vector

    def up(self, index: int, vector: Array, top: int = 0) -> Array:
        """A vector (3,) in the axes of a node, in those of `top` above it: product of E along the path."""
        for node in reversed(self._runs(index, top)):
            vector = node.up(vector)
        return vector

    def up_beside(self, index: int, vector: Array, idle: Idle) -> Array:
        """A force in base axes but for a multiple of an idle direction n: its entry j is zero.

        F - n F_j / n_j = (1 - n e_j^T / n_j) G ..., with G the constant axes of the first joint's frame.
        """
        first, *others = self._runs(index, 0)
        for node in reversed(others):
            vector = node.up(vector)
        axis, j = idle
        R = first.G.R
        n = R[:, axis]
        B = pack(
            [
                [0.0 if i == j or c == axis else R[i, c] - n[i] * divide(R[j, c], n[j]) for c in range(3)]
                for i in range(3)
            ]
        )
        return product(even_entries(B), first.moved(vector))

    def _runs(self, index: int, top: int) -> list[TreeNode]:
        """Nodes from below `top` to a node; parallel axes are one, with the sum of angles."""
        if (index, top) not in self.runs:
            nodes: list[TreeNode] = []
            for k in self.path(index, top):
                both = together(nodes[-1], self.node(k)) if nodes and self.joined else None
                nodes = [*nodes[:-1], both] if both is not None else [*nodes, self.node(k)]
            self.runs[index, top] = nodes
        return self.runs[index, top]

    def point(self, index: int, point: Array, top: int = 0) -> Array:
        """A point (3,), m, of a node, from the origin of `top` in its axes: o + E point from node to node."""
        for k in reversed(self.path(index, top)):
            node = self.node(k)
            point = np.asarray(plus(node.o, node.up(point)))
        return point

    def seen(self, index: int, point: Array, top: int = 0) -> Array:
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
    place: dict[int, tuple[int, Pose]] = {BASE: (0, identity())}
    parents: set[int] = {0}
    roots: dict[int, int] = {}

    def face(index: int, R: Array, axis: int) -> Pose:
        """Turn the axes of a node that nothing hangs on yet towards an axis; gives the pose in new axes."""
        R_new = None if index in parents else towards(nodes[index], R, axis)
        if R_new is None:
            return identity()
        nodes[index] = rotated_node(nodes[index], R_new)
        back = Pose(R_new.T, np.zeros(3))
        place.update({b: (k, even(back @ at)) for b, (k, at) in place.items() if k == index})
        return back

    frames: dict[int, int] = {}
    for number, leg in enumerate(robot.legs):
        base = place[BASE]
        if axes and number in axes:
            nodes.append(
                TreeNode(0, (), Pose(axes[number], np.zeros(3)), Primitive.RZ, CosSin(1.0, 0.0), False)
            )
            frames[number] = len(nodes) - 1
            parents.add(len(nodes) - 1)
            base = (len(nodes) - 1, Pose(axes[number].T, np.zeros(3)))
        for j in leg.joints:
            joint = robot.joints[j]
            if joint.successor in omitted:
                continue
            if joint.predecessor not in place:
                # A leg that hangs on the nacelle: its first node is the body's origin in base axes.
                pose = now.motion.poses[joint.predecessor]
                nodes.append(TreeNode(0, (), Pose(np.eye(3), pose.p), Primitive.RZ, CosSin(1.0, 0.0), False))
                place[joint.predecessor] = (len(nodes) - 1, Pose(pose.R, np.zeros(3)))
                roots[len(nodes) - 1] = joint.predecessor
                parents.add(len(nodes) - 1)
            index, frame = base if joint.predecessor == BASE else place[joint.predecessor]
            G = frame @ _settled(joint.frame_predecessor)
            rate = robot.platform_nv + robot.v_slices[j].start
            for at, primitive in enumerate(joint.primitives):
                revolute = primitive.is_rotation and primitive is not Primitive.SPHERICAL
                if revolute:
                    G = even(face(index, G.R, primitive.axis) @ G)
                parents.add(index)
                rates = tuple(range(rate, rate + primitive.nv))
                angle = now.angles.get(j)
                node = split_own(
                    TreeNode(index, rates, G, primitive, now.steps[starts[j] + at], False, angle)
                )
                split = revolute and not is_aligned(node.G.R, primitive.axis)
                nodes.append(replace(node, split=split))
                index, G = len(nodes) - 1, identity()
                rate += primitive.nv
            place[joint.successor] = (index, G @ _settled(joint.frame_successor).inverse())
    # Bodies of the nacelle are not part of the legs.
    place = {body: at for body, at in place.items() if at[0] not in roots}
    for body, frame in _last_axes(robot, place):
        index, own = place[body]
        face(index, (own @ frame).R, 2)
    return LegTrees(tuple(nodes), place, roots, frames)


def _last_axes(robot: Robot, place: dict[int, tuple[int, Pose]]) -> list[tuple[int, Pose]]:
    """Closures with one free rotation at a node that has no other closure: the body and the joint's frame."""
    sides = [
        (body, frame, joint)
        for joint in robot.joints
        for body, frame in (
            (joint.predecessor, joint.frame_predecessor),
            (joint.successor, joint.frame_successor),
        )
        if body in place
    ]
    ends = [
        (body, frame, joint)
        for body, frame, joint in sides
        if not (joint.successor in place and joint in robot.tree_joints)
    ]
    used = [place[body][0] for body, _, _ in ends]
    return [
        (body, _settled(frame))
        for body, frame, joint in ends
        if used.count(place[body][0]) == 1 and joint.kind in (JointKind.REVOLUTE, JointKind.CYLINDRICAL)
    ]


def _settled(frame: Pose) -> Pose:
    """A joint frame whose constants are floats, where numbers of the robot are symbols."""
    return Pose(settled(frame.R), settled(frame.p))
