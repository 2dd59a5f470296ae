"""The legs as chains of frames: vectors of a leg are written in the axes of its own links.

A node is the frame behind one primitive of a joint of a leg's tree. From its parent's axes to its own lead a
constant pose G and the primitive's motion:

    vectors    a_parent = E a_node,  E = G.R R(q)
    origins    o = G.p, and for a prismatic primitive o = G.p + G.R e q

Node 0 is the base. A rotation about one axis takes four products and two sums where a change of axes to the
base takes fifteen operations, and entries of closures that are zero in the axes of a link stay zero.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from nacelle.kinematics.configuration import Configuration
from nacelle.kinematics.general.vectors import is_zero, scaled
from nacelle.kinematics.tree import Step, Turn, step_motion
from nacelle.model.joint import JointKind, Primitive
from nacelle.model.leg import BASE
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose, identity
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
    settled,
    sin,
    sqrt,
)

# Entries of a constant unit vector below this are zero.
_ALIGNED = 1e-12


@dataclass(frozen=True, eq=False)
class Node:
    """A frame of a chain.

    Attributes:
        parent: number of its parent.
        rates: places in u of the primitive's rates.
        G: constant pose of the joint frame in the parent's axes.
        primitive: the primitive.
        step: where it is.
        split: whether G and the primitive are applied one after the other: cheaper for general axes.
        angle: of a revolute joint whose angle is given itself, else None.
        slide: direction of a prismatic joint in the node's axes, which need not be those of its frame.
    """

    parent: int
    rates: tuple[int, ...]
    G: Pose
    primitive: Primitive
    step: Step
    split: bool
    angle: Scalar | None = None
    slide: Array | None = None

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
        if self.primitive.turns:
            return self.G.p
        return np.asarray(plus(self.G.p, product(self.G.R, scaled(self.step, self.axes[0]))))

    @property
    def axes(self) -> list[Array]:
        """Axes of the rates, the node's axes."""
        unit = np.eye(3)
        if not self.rates:
            return []
        if self.slide is not None:
            return [self.slide]
        return list(unit) if self.primitive is Primitive.BALL else [unit[self.primitive.axis]]

    def moved(self, vector: Array) -> Array:
        """A vector in the axes of the joint's frame on the parent."""
        return product(self._motion.R, vector)

    def up(self, vector: Array) -> Array:
        """A vector in the parent's axes."""
        if self.split:
            return product(self.G.R, self.moved(vector))
        return product(self.E, vector)

    def down(self, vector: Array) -> Array:
        """A vector of the parent's axes in the node's."""
        if self.split:
            return product(self._motion.R.T, product(self.G.R.T, vector))
        return product(self.E.T, vector)


def _is_aligned(R: Array, axis: int) -> bool:
    """Whether a constant rotation takes an axis to a coordinate axis."""
    return sum(not is_zero(entry) for entry in R[:, axis].tolist()) == 1


class Idle(NamedTuple):
    """A direction in which a force does nothing: an axis of a leg's first joint frame.

    Attributes:
        axis: which one.
        entry: entry of the force in base axes that a multiple of it makes zero.
    """

    axis: int
    entry: int


@dataclass(frozen=True, eq=False)
class Chains:
    """The chains of all legs.

    Attributes:
        nodes: all nodes; the first is the base and None.
        place: for every body of a leg and the base its node, and the pose of its frame there.
        roots: nodes that are the origin of a nacelle body in base axes, and the body: legs may hang there.
        runs: what `down` and `up` go through between two nodes, kept once it is made.
    """

    nodes: tuple[Node | None, ...]
    place: dict[int, tuple[int, Pose]]
    roots: dict[int, int]
    runs: dict[tuple[int, int], list[Node]] = field(default_factory=dict)

    def node(self, index: int) -> Node:
        """A node that is not the base."""
        node = self.nodes[index]
        assert node is not None
        return node

    def root(self, index: int) -> int | None:
        """The nacelle body that a node hangs on; None if it stands on the base."""
        path = self.path(index)
        return self.roots.get(path[0]) if path else None

    def path(self, index: int, top: int = 0) -> list[int]:
        """Nodes from below `top` down to a node."""
        found: list[int] = []
        while index != top:
            found.append(index)
            index = self.node(index).parent
        return found[::-1]

    def common(self, first: int, second: int) -> int:
        """The last node that two nodes have in common."""
        above = {0, *self.path(first)}
        index = second
        while index not in above:
            index = self.node(index).parent
        return index

    def down(self, index: int, vector: Array, top: int = 0) -> Array:
        """A vector in the axes of `top`, in those of a node below it."""
        for node in self._runs(index, top):
            vector = node.down(vector)
        return vector

    def up(self, index: int, vector: Array, top: int = 0) -> Array:
        """A vector in the axes of a node, in those of `top` above it."""
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
        return product(_even_entries(B), first.moved(vector))

    def _runs(self, index: int, top: int) -> list[Node]:
        """Nodes from below `top` to a node; parallel axes are one, with the sum of angles."""
        if (index, top) not in self.runs:
            found: list[Node] = []
            for k in self.path(index, top):
                both = _together(found[-1], self.node(k)) if found else None
                found = [*found[:-1], both] if both is not None else [*found, self.node(k)]
            self.runs[index, top] = found
        return self.runs[index, top]

    def point(self, index: int, point: Array, top: int = 0) -> Array:
        """A point of a node (its axes, from its origin), from the origin of `top` in its axes."""
        for k in reversed(self.path(index, top)):
            node = self.node(k)
            point = np.asarray(plus(node.o, node.up(point)))
        return point

    def seen(self, index: int, point: Array, top: int = 0) -> Array:
        """A point of `top`, seen from a node below it."""
        for k in self.path(index, top):
            node = self.node(k)
            point = node.down(np.asarray(plus(point, -node.o)))
        return point


def chains(robot: Robot, now: Configuration, omitted: frozenset[int] = frozenset()) -> Chains:
    """The chains of a robot at a configuration; bodies that are omitted have no nodes.

    The axes of a revolute node may be turned about its own axis by any constant angle, those of a prismatic
    one anyhow. They are chosen so that the axis of the next joint lies in a coordinate plane or along an
    axis: then the constant rotation between them is one about a coordinate axis, or none, and what is left of
    it belongs to the next joint's own angle.
    """
    starts = np.cumsum([0, *(len(joint.primitives) for joint in robot.tree_joints)])
    nodes: list[Node | None] = [None]
    place: dict[int, tuple[int, Pose]] = {BASE: (0, identity())}
    parents: set[int] = {0}
    roots: dict[int, int] = {}

    def face(index: int, R: Array, axis: int) -> Pose:
        """Turn the axes of a node that nothing hangs on yet towards an axis; gives the pose in new axes."""
        turn = None if index in parents else _towards(nodes[index], R, axis)
        if turn is None:
            return identity()
        nodes[index] = _turned(nodes[index], turn)
        back = Pose(turn.T, np.zeros(3))
        place.update({b: (k, _even(back @ at)) for b, (k, at) in place.items() if k == index})
        return back

    for leg in robot.legs:
        for j in leg.joints:
            joint = robot.joints[j]
            if joint.successor in omitted:
                continue
            if joint.predecessor not in place:
                # A leg that hangs on the nacelle: its first node is the body's origin in base axes.
                pose = now.motion.poses[joint.predecessor]
                nodes.append(Node(0, (), Pose(np.eye(3), pose.p), Primitive.RZ, Turn(1.0, 0.0), False))
                place[joint.predecessor] = (len(nodes) - 1, Pose(pose.R, np.zeros(3)))
                roots[len(nodes) - 1] = joint.predecessor
                parents.add(len(nodes) - 1)
            index, frame = place[joint.predecessor]
            G = frame @ _settled(joint.frame_predecessor)
            rate = robot.platform_nv + robot.v_slices[j].start
            for number, primitive in enumerate(joint.primitives):
                turning = primitive.turns and primitive is not Primitive.BALL
                if turning:
                    G = _even(face(index, G.R, primitive.axis) @ G)
                parents.add(index)
                rates = tuple(range(rate, rate + primitive.nv))
                angle = now.angles.get(j)
                node = _split_own(
                    Node(index, rates, G, primitive, now.steps[starts[j] + number], False, angle)
                )
                split = turning and not _is_aligned(node.G.R, primitive.axis)
                nodes.append(replace(node, split=split))
                index, G = len(nodes) - 1, identity()
                rate += primitive.nv
            place[joint.successor] = (index, G @ _settled(joint.frame_successor).inverse())
    # Bodies of the nacelle are not part of the legs.
    place = {body: at for body, at in place.items() if at[0] not in roots}
    for body, frame in _last_axes(robot, place):
        index, own = place[body]
        face(index, (own @ frame).R, 2)
    return Chains(tuple(nodes), place, roots)


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


def _together(first: Node, second: Node) -> Node | None:
    """Two revolute nodes with parallel axes as one, for vectors: R_m(q) G R_k(p) = G R_k(p + q) or - q."""
    if not (isinstance(first.step, Turn) and isinstance(second.step, Turn)) or not second.rates:
        return None
    R, k = second.G.R, second.primitive.axis
    across = [entry for m, entry in enumerate(R[:, k].tolist()) if m != first.primitive.axis]
    if not all(is_zero(entry) for entry in across):
        return None
    sign = 1.0 if at_sample(R[first.primitive.axis, k]) > 0.0 else -1.0
    step = _added(second.step, first.step.c, sign * first.step.s)
    G = Pose(product(first.G.R, R), first.G.p)
    return replace(second, G=G, step=step, split=not _is_aligned(G.R, k))


def _settled(frame: Pose) -> Pose:
    """A joint frame whose constants are floats, where numbers of the robot are symbols."""
    return Pose(settled(frame.R), settled(frame.p))


def _rotation(axis: int, c: Scalar, s: Scalar) -> Array:
    """A constant rotation about a coordinate axis."""
    return step_motion((Primitive.RX, Primitive.RY, Primitive.RZ)[axis], Turn(c, s)).R


def _towards(node: Node | None, R: Array, axis: int) -> Array | None:
    """The rotation of a node's axes after which an axis of R lies in a coordinate plane, or along an axis."""
    if node is None or node.primitive is Primitive.BALL:
        return None
    if not node.primitive.turns:
        whole = product(node.G.R, R)
        A = _shortest(whole, axis)
        if A is None or _cost(A) >= _cost(node.G.R) + _cost(R):
            return None
        return _even_entries(product(node.G.R.T, A))
    e = R[:, axis]
    k, i, j = node.primitive.axis, (node.primitive.axis + 1) % 3, (node.primitive.axis + 2) % 3
    size = np.abs(at_sample(e))
    if float(np.hypot(size[i], size[j])) < 1e-9 or min(size[i], size[j]) < _ALIGNED:
        return None
    share = divide(1.0, sqrt(e[i] * e[i] + e[j] * e[j]))
    return _rotation(k, e[i] * share, e[j] * share)


def _cost(R: Array) -> int:
    """What a constant rotation of a vector takes, in operations."""
    return {3: 0, 5: 6}.get(int(np.count_nonzero(np.abs(at_sample(R)) > _ALIGNED)), 15)


def _even(pose: Pose) -> Pose:
    """A constant pose whose rotation has zeros and ones where rounding has left nearly so."""
    return Pose(_even_entries(pose.R), pose.p)


def _even_entries(R: Array) -> Array:
    """A constant matrix that has zeros and ones where rounding has left nearly so."""
    try:
        number = at_sample(R)
    except TypeError:
        # Of a leg that hangs on the nacelle: it moves.
        return R
    whole = np.round(number)
    near = np.abs(number - whole) < _ALIGNED
    return pack([[whole[i, j] if near[i, j] else R[i, j] for j in range(3)] for i in range(3)])


def _turned(node: Node | None, turn: Array) -> Node:
    """A node whose axes are turned, a revolute one about its own axis."""
    assert node is not None
    if not node.primitive.turns:
        G = _even(Pose(product(node.G.R, turn), node.G.p))
        return replace(node, G=G, slide=product(turn.T, node.axes[0]))
    i, j = (node.primitive.axis + 1) % 3, (node.primitive.axis + 2) % 3
    return _ahead(node, turn[i, i], turn[j, i])


def _ahead(node: Node, c: Scalar, s: Scalar) -> Node:
    """A revolute node whose angle is turned on by a constant one."""
    if node.angle is None or np.min(np.abs(at_sample(pack([c, s])))) < _ALIGNED:
        # Right angles cost nothing; the angle itself is not what the step has any more.
        return replace(node, step=_added(node.step, c, s), angle=None)
    angle = node.angle + atan2(s, c)
    return replace(node, step=Turn(cos(angle), sin(angle)), angle=angle)


def _added(step: Step, c: Scalar, s: Scalar) -> Turn:
    """An angle by cosine and sine, turned on by another."""
    return Turn(step.c * c - step.s * s, step.s * c + step.c * s)


def _shortest(R: Array, k: int) -> Array | None:
    """The cheapest constant rotation that takes the axis k where R takes it; None if it is as long as R.

    A permutation of axes, and a rotation about the coordinate axis perpendicular to the image.
    """
    e = R[:, k]
    size = np.abs(at_sample(e))
    zero = [m for m in range(3) if size[m] < _ALIGNED]
    if len(zero) == 2:
        j = int(np.argmax(size))
        turn = _rotation((j + 1) % 3, 1.0 if at_sample(e)[j] > 0.0 else -1.0, 0.0)
        return turn @ np.roll(np.eye(3), j - k, axis=0)
    if len(zero) != 1:
        return None
    # The image lies in a coordinate plane, which holds k or an axis j that k is taken to.
    m = zero[0]
    j = (m + 1) % 3 if k == m else k
    c, s = e[j], e[3 - j - m] * (1.0 if (m + 1) % 3 == j else -1.0)
    return product(_rotation(m, c, s), np.roll(np.eye(3), j - k, axis=0))


def _split_own(node: Node) -> Node:
    """Give the part of a constant rotation about the joint's own axis to its angle: R = A R_k(psi)."""
    if not isinstance(node.step, Turn):
        return node
    try:
        if _cost(node.G.R) == 0:
            return node
        A = _shortest(node.G.R, node.primitive.axis)
    except TypeError:
        # The axis of a leg that hangs on the nacelle moves.
        return node
    if A is None:
        return node
    own = product(A.T, node.G.R)
    i, j = (node.primitive.axis + 1) % 3, (node.primitive.axis + 2) % 3
    return _ahead(replace(node, G=Pose(A, node.G.p)), own[i, i], own[j, i])
