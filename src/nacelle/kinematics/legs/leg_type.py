"""Leg types: what each leg of a robot is, recognised once, and which legs have a closed form.

Inverse kinematics, the formulations of dynamics and the reports read the legs from here and recognise nothing
on their own. From the base through a leg to the platform each joint is passed once, from body to body,
forward or against its direction, with its frames on both. For neighbours X = far^-1 near is the constant
frame between them; they act as one joint where X says so, within 1e-12 of the robot's size:

    R R     -> U    axes that meet at a right angle, in a point c
    R R R   -> S    the third one meets the second at a right angle in c, too
    P R     -> C    along one line

A leg is the sequence of letters, such as UPS; one that branches once, into rods side by side, is written
R[SS|SS]. Fixed joints are left out: the body behind one is seen from the body before it.

A leg that is a chain of revolute and prismatic joints about z (R, P) and spherical ones (S), with constant
frames X_0, X_1, ... before, between and behind them (`chain`), ends at a joint that holds a point W of the
platform. Its inverse kinematics has a closed form (`solution`) for

    U P, S P             telescopic legs: the length is a distance            UPS, SPS
    R U, P U, R S, P S   a driven elbow at a constant distance from W         RUS, PUS, RSS, PSS
    R R, P R, R P        the same in a plane                                  RRR, PRR, RPR
    U R                  a plane that turns, with two links in it             URU

A strut or rod on a spherical joint whose end is more than a point (SPU, PSU, RSR) has its spin from the
closure, and no closed form here. Further forms are a prismatic joint up to a plane (P-C5), three prismatic
joints and a spherical one (PSPP), rods side by side on an arm or slider, and the same with a parallelogram.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from nacelle.kinematics.legs.chain import (
    TOLERANCE,
    LegChain,
    are_coaxial,
    are_crossing,
    are_parallel,
    are_perpendicular,
    axis_relation,
    centre_universal_joint,
    is_on_axis,
    serial_chain,
)
from nacelle.kinematics.legs.parallelogram import Parallelogram, arm_offset, recognise_parallelogram
from nacelle.model.joint import LETTERS, JointKind
from nacelle.model.leg import BASE, Leg
from nacelle.model.robot import Robot
from nacelle.results import HasTable
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array

_C5 = (JointKind.PLANAR_SPHERICAL, JointKind.SPHERICAL_PLANAR)
_HOLDS_TARGET_POINT = (JointKind.REVOLUTE, JointKind.UNIVERSAL, JointKind.SPHERICAL, JointKind.POINT)


@dataclass(frozen=True)
class ClosedForm:
    """A closed form.

    Attributes:
        kind: "strut" for a leg whose last joint sets its length, "rod" for one of constant length on a driven
            first joint, "other".
        free_joint: the joint about which a strut or rod turns freely: "U", "S" or "R"; empty for others.
        roots: number of roots, without those of rods side by side.
        fits: whether a chain of floats has this form, in a robot of a size; None if it is not one of a chain.
    """

    kind: str
    free_joint: str
    roots: int
    fits: Callable[[LegChain, float], bool] | None = None

    def centre(self, chain: LegChain) -> LegChain:
        """A chain with the frames of its universal joint moved to the centre of the joint."""
        return (
            centre_universal_joint(chain, 1 if self.kind == "rod" else 0) if self.free_joint == "U" else chain
        )


def _elbow_in_plane(chain: LegChain, size: float) -> bool:
    across = {"RR": are_parallel, "PR": are_perpendicular}.get(chain.letters)
    return across is not None and across(chain.X[1]) and _planar_end(chain)


def _planar_end(chain: LegChain) -> bool:
    """Whether the end of a planar chain is a point, or turns about an axis across the plane."""
    if chain.target.kind is JointKind.REVOLUTE:
        return are_parallel(chain.X[-2] @ chain.X[-1] if chain.letters[-1] == "P" else chain.X[-1])
    return chain.target.kind is JointKind.POINT


def _free_end(chain: LegChain) -> bool:
    """Whether a leg on a spherical joint is held at a point alone: no closure gives its spin."""
    return chain.target.kind in (JointKind.SPHERICAL, JointKind.POINT)


# In this order: the first form that fits is taken.
FORMS = {
    "elbow-universal": ClosedForm(
        "rod", "U", 2, lambda c, size: c.letters in ("RRR", "PRR") and are_crossing(c.X[2], size)
    ),
    "universal-revolute": ClosedForm(
        "other",
        "U",
        2,
        lambda c, size: c.letters == "RRR" and are_crossing(c.X[1], size) and are_parallel(c.X[2]),
    ),
    "universal-prismatic": ClosedForm(
        "strut", "U", 2, lambda c, size: c.letters == "RRP" and are_crossing(c.X[1], size)
    ),
    "elbow-spherical": ClosedForm("rod", "S", 1, lambda c, size: c.letters in ("RS", "PS") and _free_end(c)),
    "spherical-prismatic": ClosedForm("strut", "S", 1, lambda c, size: c.letters == "SP" and _free_end(c)),
    "elbow-revolute": ClosedForm("rod", "R", 1, _elbow_in_plane),
    "revolute-prismatic": ClosedForm(
        "strut", "R", 1, lambda c, size: c.letters == "RP" and are_perpendicular(c.X[1]) and _planar_end(c)
    ),
    "prismatic-planar": ClosedForm("other", "", 0),
    "three-prismatic": ClosedForm("other", "", 0),
    "rods": ClosedForm("other", "", 1),
    "parallelogram": ClosedForm("other", "", 2),
}


def chain_form(chain: LegChain, size: float) -> str:
    """Name of the closed form of a chain of floats; empty if it has none."""
    if chain.target.kind in _C5:
        return "prismatic-planar" if chain.letters == "P" else ""
    if chain.target.kind not in _HOLDS_TARGET_POINT:
        return ""
    return next((name for name, form in FORMS.items() if form.fits and form.fits(chain, size)), "")


def misalignment(chain: LegChain, form: ClosedForm, size: float) -> str:
    """Message why a strut or rod (floats) does not lie straight on its free joint; empty if it does."""
    X, is_pair = form.centre(chain).X, form.free_joint == "U"
    if form.kind == "strut":
        end, along = (X[-2] @ X[-1]).p * ([1.0, 1.0, 0.0] if form.free_joint == "R" else 1.0), X[-2].R[:, 2]
        if float(np.linalg.norm(np.cross(end, along))) > TOLERANCE * size:
            return "the line along its slide through its end misses the joint on the base"
    else:
        along = X[-1].p / size
        if is_pair and chain.letters[0] == "R" and not are_parallel(X[1]):
            return "the first axis of its universal joint turns with its arm"
    if is_pair and abs(float(along[2])) > TOLERANCE:
        return "it is not perpendicular to the second axis of its universal joint"
    return ""


def is_three_prismatic(robot: Robot, leg: Leg) -> bool:
    """Whether a leg is three prismatic joints and a spherical one: everything is linear in their lengths."""
    if len(leg.closures) != 1 or robot.joints[leg.closures[0]].kind is not JointKind.SPHERICAL:
        return False
    kinds = [robot.joints[j].kind for j in leg.joints if robot.joints[j].kind is not JointKind.FIXED]
    return kinds == [JointKind.PRISMATIC] * 3


# ---- the way from the base through a leg to the platform: its joints, and those that act as one


class PassedJoint(NamedTuple):
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
class JointGroup:
    """Joints that act as one: a single joint, or revolutes that act as a universal or spherical joint.

    Attributes:
        letter: of the joint that they act as.
        joints: they, in the order of the way.
        centre: the joint's origin, or where the axes meet (3,), in the frame of the body before.
    """

    letter: str
    joints: tuple[PassedJoint, ...]
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
        trunk: from the base to the platform, or to the body where branches begin.
        branches: from there to the platform, side by side; empty for a chain.
        reason: why the leg is not of this shape; empty if it is.
    """

    trunk: tuple[JointGroup, ...] = ()
    branches: tuple[tuple[JointGroup, ...], ...] = ()
    reason: str = ""


def leg_route(robot: Robot, leg: Leg) -> Route:
    """Read a leg as a chain, or as a chain that branches once."""
    if any(robot.joints[c].is_coupling for c in leg.closures):
        return Route(reason="its joints are coupled")
    left = [*leg.joints, *leg.closures]
    trunk = _walk_joints(robot, leg, BASE, left)
    end = trunk[-1].after if trunk else BASE
    if end == BASE:
        roots = [j for j in (*leg.joints, *leg.closures) if BASE in _joint_bodies(robot, j)]
        return Route(reason=f"it is attached to the base by {len(roots)} joints, not by one")
    if end not in leg.bodies:
        return Route(joint_groups(robot, trunk)) if not left else Route(reason="it has a loop of its own")
    # Branches that begin behind fixed joints are seen from the body before these.
    fixed = list(itertools.takewhile(lambda joint: joint.kind is JointKind.FIXED, reversed(trunk)))[::-1]
    branches = []
    for j in [j for j in left if end in _joint_bodies(robot, j)]:
        if j in left:
            branches.append(_walk_joints(robot, leg, end, left, j))
    if left or len(branches) < 2 or any(b[-1].after in (BASE, *leg.bodies) for b in branches):
        return Route(reason="not all of its joints lie on ways from the base to the platform")
    groups = (joint_groups(robot, [*fixed, *branch]) for branch in branches)
    return Route(joint_groups(robot, trunk), tuple(groups))


def _joint_bodies(robot: Robot, j: int) -> tuple[int, int]:
    return robot.joints[j].predecessor, robot.joints[j].successor


def _walk_joints(
    robot: Robot, leg: Leg, body: int, left: list[int], first: int | None = None
) -> list[PassedJoint]:
    """The joints from a body on, until the leg ends or branches; they are taken out of `left`."""
    passed: list[PassedJoint] = []
    while True:
        nexts = [j for j in left if body in _joint_bodies(robot, j)] if first is None else [first]
        if len(nexts) != 1:
            return passed
        first = None
        left.remove(nexts[0])
        passed.append(_passed_joint(robot, nexts[0], body))
        body = passed[-1].after
        if body not in leg.bodies:
            return passed


def _passed_joint(robot: Robot, j: int, body: int) -> PassedJoint:
    joint = robot.joints[j]
    ends = (joint.predecessor, joint.successor)
    frames = (joint.frame_predecessor, joint.frame_successor)
    if joint.predecessor == body:
        return PassedJoint(j, joint.kind, True, *ends, *frames)
    return PassedJoint(j, joint.kind, False, *ends[::-1], *frames[::-1])


def _merge_fixed_joints(passed: list[PassedJoint]) -> list[PassedJoint]:
    result: list[PassedJoint] = []
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


def joint_groups(robot: Robot, passed: list[PassedJoint]) -> tuple[JointGroup, ...]:
    """Merge revolutes whose axes cross in one point (RR to U, RRR to S), and coaxial P and R (to C)."""
    joints, size = _merge_fixed_joints(passed), robot.size
    X = [a.far.inverse() @ b.near for a, b in itertools.pairwise(joints)]
    groups: list[JointGroup] = []
    k = 0
    while k < len(joints):
        count, centre = 1, joints[k].near.p
        kinds = [joint.kind for joint in joints[k : k + 3]]
        if kinds[:2] == [JointKind.REVOLUTE] * 2 and are_crossing(X[k], size):
            count, centre = 2, joints[k].near.p + X[k].p[2] * joints[k].near.R[:, 2]
            if kinds == [JointKind.REVOLUTE] * 3 and are_crossing(X[k + 1], size):
                # Heights along the second axis of the points where the others meet it.
                height = -float(X[k].R[:, 2] @ X[k].p)
                count = 3 if abs(height - X[k + 1].p[2]) < TOLERANCE * size else 2
        letter = {1: LETTERS[kinds[0]], 2: "U", 3: "S"}[count]
        if set(kinds[:2]) == {JointKind.PRISMATIC, JointKind.REVOLUTE} and are_coaxial(X[k], size):
            count, letter = 2, "C"
        groups.append(JointGroup(letter, tuple(joints[k : k + count]), np.asarray(centre)))
        k += count
    return tuple(groups)


def is_planar(groups: tuple[JointGroup, ...]) -> bool:
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


_SPHERICAL = (JointKind.SPHERICAL, JointKind.POINT)
_HOLDS_POINT = (*_SPHERICAL, JointKind.UNIVERSAL)


class LegLink(NamedTuple):
    """A body of a leg between two points: it has two joints, each spherical or universal.

    Attributes:
        body: its index.
        inner: the joint at the end towards the base.
        outer: the joint at the end towards the platform.
        spherical: whether both joints are spherical, so that the body may spin about the line between them.
    """

    body: int
    inner: int
    outer: int
    spherical: bool


@dataclass(frozen=True, eq=False)
class LegType(HasTable):
    """The type of a leg.

    Attributes:
        name: letters of its joints from base to platform, "UPS"; branches in brackets.
        elements: its kinematic elements ([OAM]), "BB"; empty where it has none.
        form: its closed form, one of `forms.FORMS`; empty where it has none.
        reason: a message that says why it has no closed form; empty where it has one.
        trunk: its joints from the base on, as far as it is one chain; empty for legs of other shapes.
        branches: the joints of its branches side by side, each to the platform; empty for a chain.
        planar: whether it is a chain that moves in a plane.
        parallelogram: the joints of its parallelogram, if it is a leg with one.
        links: its bodies between two points.
        misalignment: message why a strut or rod is not straight on its free joint; empty if it is.
    """

    name: str
    elements: str
    form: str
    reason: str
    trunk: tuple[JointGroup, ...]
    branches: tuple[tuple[JointGroup, ...], ...]
    planar: bool
    parallelogram: Parallelogram | None
    links: tuple[LegLink, ...]
    misalignment: str

    @property
    def rods(self) -> list[tuple[int, int]]:
        """Of rods side by side the first and the last joint."""
        return [(branch[0].joints[0].joint, branch[-1].joints[-1].joint) for branch in self.branches]

    @property
    def has_closed_form(self) -> bool:
        """Whether its inverse kinematics has a closed form."""
        return bool(self.form)

    @property
    def method(self) -> str:
        """How the leg can be solved: "closed form" or "Newton"."""
        return "closed form" if self.has_closed_form else "Newton"


def leg_type(robot: Robot, leg: Leg) -> LegType:
    """What a leg is, recognised from the robot's own numbers.

    Joints that act as one are one letter (two revolutes that meet are U), axes meet or are parallel within
    1e-12 of the robot's size (m) or 1e-12 rad.

    Args:
        robot: the robot.
        leg: one of its legs.

    Returns:
        Its name, such as "UPS", how inverse kinematics is solved, and its kinematic elements ([OAM]).
    """
    return _leg_types(robot.numeric)[robot.legs.index(leg)]


@lru_cache(maxsize=256)
def _leg_types(robot: Robot) -> tuple[LegType, ...]:
    return tuple(_recognise_leg(robot, leg) for leg in robot.legs)


def robot_elements(types: list[LegType]) -> str:
    """The robot in the grammar of elements: "2BB", "3B[B|B]"; empty if a leg has none."""
    counts = Counter(kind.elements for kind in types)
    return "" if "" in counts else "+".join(f"{count}{elements}" for elements, count in counts.items())


def _recognise_leg(robot: Robot, leg: Leg) -> LegType:
    way, folded = leg_route(robot, leg), recognise_parallelogram(robot, leg)
    planar = not way.branches and is_planar(way.trunk)
    chain, links = serial_chain(robot, leg), _links(robot, leg)
    form, reason = _closed_form(robot, leg, way, folded, chain)
    name, elements = _name(robot, leg, way, folded, planar)
    lies = ""
    if chain is not None and form and FORMS[form].kind != "other":
        lies = misalignment(chain, FORMS[form], robot.size)
    return LegType(name, elements, form, reason, way.trunk, way.branches, planar, folded, links, lies)


# ---- names


_ELEMENT_LEGS = {
    "BB": "RRR RUS RSS",
    "TB": "PRR PUS PSS",
    "T": "RPR RPS UPS SPS UPU PC5 PSPP",
    "S": "RCU UCS",
    "Sp": "URS",
    "BT": "RUPU",
    "BS": "RUCU",
}
_ELEMENTS = {name: elements for elements, names in _ELEMENT_LEGS.items() for name in names.split()}
_DRIVERS = {"R": "B", "P": "T"}


def _name(robot: Robot, leg: Leg, way: Route, folded: Parallelogram | None, planar: bool) -> tuple[str, str]:
    """Name and kinematic elements of a leg."""
    if folded is not None:
        driver = LETTERS[robot.joints[folded.root].kind]
        return f"{driver}RPaR", f"{_DRIVERS[driver]}[B|B]"
    if not way.trunk:
        # Tree joints, then closures.
        texts = ("".join(LETTERS[robot.joints[j].kind] for j in part) for part in (leg.joints, leg.closures))
        return "-".join(texts), ""
    trunk = "".join(group.letter for group in way.trunk)
    if not way.branches:
        name = f"{trunk[:-1]}R" if planar else trunk
        return name, _ELEMENTS.get(name, "")
    names = ["".join(group.letter for group in branch) for branch in way.branches]
    bars = f"[{'|'.join('B' * len(names))}]"
    made_of_bars = trunk in _DRIVERS and all(name in ("SS", "US", "SU") for name in names)
    return f"{trunk}[{'|'.join(names)}]", f"{_DRIVERS[trunk]}{bars}" if made_of_bars else ""


# ---- closed forms


def _closed_form(
    robot: Robot, leg: Leg, way: Route, folded: Parallelogram | None, chain: LegChain | None
) -> tuple[str, str]:
    """Name of a leg's closed form, or nothing and why it has none."""
    if is_three_prismatic(robot, leg):
        return "three-prismatic", ""
    if folded is not None:
        hub = robot.joints[folded.hub].frame_successor
        if is_on_axis(hub.R.T @ (arm_offset(robot, folded)[1] - hub.p), robot.size):
            return "parallelogram", ""
        return "", "the arm of its parallelogram does not begin on the hub's axis"
    if way.reason:
        return "", way.reason
    if way.branches:
        return _rods_form(leg, way)
    if chain is None:
        return "", "its loop is closed inside the leg, not at the platform"
    form = chain_form(chain, robot.size)
    return form, "" if form else _reason_unknown(chain, robot.size)


def _reason_unknown(chain: LegChain, size: float) -> str:
    labels = list(chain.letters)
    for k in range(1, len(labels)):
        if "S" not in chain.letters[k - 1 : k + 1]:
            labels[k] = f"{axis_relation(chain.X[k], size)} {labels[k]}"
    return f"none is known for {', '.join(labels)} before a {chain.target.kind} joint at the platform"


def _rods_form(leg: Leg, way: Route) -> tuple[str, str]:
    """Rods on an arm or slider, each on a universal or spherical joint, that close at spherical joints."""
    rods = [tuple(group.joints[0] for group in branch) for branch in way.branches]
    kinds = {tuple(joint.kind for joint in rod) for rod in rods}
    is_driven = [group.letter for group in way.trunk] in (["R"], ["P"]) and len(leg.joints) == 1 + len(rods)
    near, far = (JointKind.SPHERICAL, JointKind.UNIVERSAL), JointKind.SPHERICAL
    if (
        is_driven
        and kinds <= {(kind, far) for kind in near}
        and all(r[1].joint in leg.closures for r in rods)
    ):
        return "rods", ""
    return "", "its branches are not rods on a driven arm or slider, with spherical joints at the platform"


def _links(robot: Robot, leg: Leg) -> tuple[LegLink, ...]:
    links = []
    for body in leg.bodies:
        joints = robot.joints_at(body)
        kinds = [robot.joints[j].kind for j in joints]
        if len(joints) == 2 and all(kind in _HOLDS_POINT for kind in kinds):
            # Tree joints come first: the inner end, unless the body hangs on the platform.
            first = robot.joints[joints[0]]
            is_platform_branch = bool({first.predecessor, first.successor} & set(robot.platform.bodies))
            inner, outer = joints[::-1] if is_platform_branch else joints
            links.append(LegLink(body, inner, outer, all(kind in _SPHERICAL for kind in kinds)))
    return tuple(links)
