"""The way from the base through a leg to the nacelle: its joints, and those that act as one.

From body to body each joint is passed once, forward or against its direction, with its frames on both. For
neighbours X = far^-1 near is the constant frame between them; they are one group where X says so, within
1e-12 of the robot's size:

    R R     -> U    axes that meet at a right angle, in a point c
    R R R   -> S    the third one meets the second at a right angle in c, too
    P R     -> C    along one line

A leg is the sequence of letters, such as UPS; one that branches once, into rods side by side, is written
R[SS|SS]. Fixed joints are left out: the body behind one is seen from the body before it.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from nacelle.kinematics.legs.axes import TOLERANCE, coaxial, crossing
from nacelle.model.joint import LETTERS, JointKind
from nacelle.model.leg import BASE, Leg
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array


class Passed(NamedTuple):
    """A joint on the way.

    Attributes:
        joint: its index.
        kind: its kind.
        forward: whether it is passed from its predecessor to its successor.
        before: the body before it.
        after: the body behind it.
        near: its frame on the body before.
        far: its frame on the body behind.
    """

    joint: int
    kind: JointKind
    forward: bool
    before: int
    after: int
    near: Pose
    far: Pose


@dataclass(frozen=True, eq=False)
class Group:
    """Joints that act as one: a single joint, or revolutes that act as a universal or spherical joint.

    Attributes:
        letter: of the joint that they act as.
        joints: they, in the order of the way.
        centre: the joint's origin, or where the axes meet (3,), in the frame of the body before.
    """

    letter: str
    joints: tuple[Passed, ...]
    centre: Array

    @property
    def before(self) -> int:
        """The body before."""
        return self.joints[0].before

    @property
    def after(self) -> int:
        """The body behind."""
        return self.joints[-1].after


@dataclass(frozen=True, eq=False)
class Route:
    """All ways through a leg.

    Attributes:
        trunk: from the base to the nacelle, or to the body where branches begin.
        branches: from there to the nacelle, side by side; empty for a chain.
        reason: why the leg is not of this shape; empty if it is.
    """

    trunk: tuple[Group, ...] = ()
    branches: tuple[tuple[Group, ...], ...] = ()
    reason: str = ""


def route(robot: Robot, leg: Leg) -> Route:
    """Read a leg as a chain, or as a chain that branches once."""
    if any(robot.joints[c].is_coupling for c in leg.closures):
        return Route(reason="its joints are coupled")
    left = [*leg.joints, *leg.closures]
    trunk = _walk(robot, leg, BASE, left)
    end = trunk[-1].after if trunk else BASE
    if end == BASE:
        roots = [j for j in (*leg.joints, *leg.closures) if BASE in _ends(robot, j)]
        return Route(reason=f"it is attached to the base by {len(roots)} joints, not by one")
    if end not in leg.bodies:
        return Route(joint_groups(robot, trunk)) if not left else Route(reason="it has a loop of its own")
    # Branches that begin behind fixed joints are seen from the body before these.
    fixed = list(itertools.takewhile(lambda joint: joint.kind is JointKind.FIXED, reversed(trunk)))[::-1]
    branches = []
    for j in [j for j in left if end in _ends(robot, j)]:
        if j in left:
            branches.append(_walk(robot, leg, end, left, j))
    if left or len(branches) < 2 or any(b[-1].after in (BASE, *leg.bodies) for b in branches):
        return Route(reason="not all of its joints lie on ways from the base to the nacelle")
    listed = (joint_groups(robot, [*fixed, *branch]) for branch in branches)
    return Route(joint_groups(robot, trunk), tuple(listed))


def _ends(robot: Robot, j: int) -> tuple[int, int]:
    return robot.joints[j].predecessor, robot.joints[j].successor


def _walk(robot: Robot, leg: Leg, body: int, left: list[int], first: int | None = None) -> list[Passed]:
    """The joints from a body on, until the leg ends or branches; they are taken out of `left`."""
    passed: list[Passed] = []
    while True:
        nexts = [j for j in left if body in _ends(robot, j)] if first is None else [first]
        if len(nexts) != 1:
            return passed
        first = None
        left.remove(nexts[0])
        passed.append(_passed(robot, nexts[0], body))
        body = passed[-1].after
        if body not in leg.bodies:
            return passed


def _passed(robot: Robot, j: int, body: int) -> Passed:
    joint = robot.joints[j]
    ends = (joint.predecessor, joint.successor)
    frames = (joint.frame_predecessor, joint.frame_successor)
    if joint.predecessor == body:
        return Passed(j, joint.kind, True, *ends, *frames)
    return Passed(j, joint.kind, False, *ends[::-1], *frames[::-1])


def _without_fixed(passed: list[Passed]) -> list[Passed]:
    result: list[Passed] = []
    carried: tuple[int, Pose] | None = None
    for joint in passed:
        before, near = (
            (joint.before, joint.near) if carried is None else (carried[0], carried[1] @ joint.near)
        )
        if joint.kind is JointKind.FIXED:
            carried = before, near @ joint.far.inverse()
        else:
            result.append(joint._replace(before=before, near=near))
            carried = None
    return result


def joint_groups(robot: Robot, passed: list[Passed]) -> tuple[Group, ...]:
    """Merge revolutes whose axes cross in one point (RR to U, RRR to S), and coaxial P and R (to C)."""
    joints, size = _without_fixed(passed), robot.size
    X = [a.far.inverse() @ b.near for a, b in itertools.pairwise(joints)]
    groups: list[Group] = []
    k = 0
    while k < len(joints):
        count, centre = 1, joints[k].near.p
        kinds = [joint.kind for joint in joints[k : k + 3]]
        if kinds[:2] == [JointKind.REVOLUTE] * 2 and crossing(X[k], size):
            count, centre = 2, joints[k].near.p + X[k].p[2] * joints[k].near.R[:, 2]
            if kinds == [JointKind.REVOLUTE] * 3 and crossing(X[k + 1], size):
                # Heights along the second axis of the points where the others meet it.
                height = -float(X[k].R[:, 2] @ X[k].p)
                count = 3 if abs(height - X[k + 1].p[2]) < TOLERANCE * size else 2
        letter = {1: LETTERS[kinds[0]], 2: "U", 3: "S"}[count]
        if set(kinds[:2]) == {JointKind.PRISMATIC, JointKind.REVOLUTE} and coaxial(X[k], size):
            count, letter = 2, "C"
        groups.append(Group(letter, tuple(joints[k : k + count]), np.asarray(centre)))
        k += count
    return tuple(groups)


def is_planar(groups: tuple[Group, ...]) -> bool:
    """Whether a chain moves in a plane: parallel revolutes, slides across them, anything at a point."""
    joints = [joint for group in groups for joint in group.joints]
    if len(joints) < 3 or joints[-1].kind not in (JointKind.POINT, JointKind.REVOLUTE):
        return False
    if joints[-1].kind is JointKind.POINT:
        joints = joints[:-1]
    # Axes with all coordinates zero: turns about the normal do not change how they lie to it.
    R, axes = np.eye(3), list[tuple[JointKind, Array]]()
    for joint in joints:
        R = R @ joint.near.R
        axes.append((joint.kind, R[:, 2]))
        R = R @ joint.far.R.T
    revolute_axes = [axis for kind, axis in axes if kind is JointKind.REVOLUTE]
    if not revolute_axes or any(kind not in (JointKind.REVOLUTE, JointKind.PRISMATIC) for kind, _ in axes):
        return False
    return all(
        abs(float(revolute_axes[0] @ axis)) < TOLERANCE
        if kind is JointKind.PRISMATIC
        else float(np.linalg.norm(np.cross(revolute_axes[0], axis))) < TOLERANCE
        for kind, axis in axes
    )
