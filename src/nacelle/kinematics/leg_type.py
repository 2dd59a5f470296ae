"""Leg types: which legs have a closed form, and their kinematic elements.

A leg is read from the base to the nacelle. Single joints whose axes meet (within 1e-12 of the robot's
size) count as universal or spherical joints. A leg whose form is known (`leg_solution`) is solved in closed
form, any other needs Newton's iteration.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nacelle.kinematics.leg_solution import leg_form
from nacelle.kinematics.parallelogram import MEET, parallelogram
from nacelle.model.joint import LETTERS, Joint, JointKind
from nacelle.model.leg import BASE, Leg
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array


@dataclass(frozen=True)
class LegType:
    """The type of a leg.

    Attributes:
        name: letters of its joints from base to nacelle, "UPS"; branches in brackets.
        closed_form: whether its inverse kinematics has a closed form.
        elements: its kinematic elements ([OAM]), "BB"; empty where it has none.
    """

    name: str
    closed_form: bool
    elements: str

    @property
    def method(self) -> str:
        """How the leg can be solved: "closed form" or "Newton"."""
        return "closed form" if self.closed_form else "Newton"


@dataclass(frozen=True)
class _Step:
    """A joint passed on the way, with its frame on the body before it and on the one behind it."""

    kind: JointKind
    before: Pose
    behind: Pose


@dataclass(frozen=True)
class _Group:
    """Joints that act as one: letter, and the centre on the body before and behind."""

    letter: str
    before: Pose
    behind: Pose


def leg_type(robot: Robot, leg: Leg) -> LegType:
    """Recognise a leg."""
    path = _serial_path(robot, leg)
    if path is None:
        return _branched(robot, leg)
    steps = _without_fixed([_step(robot, j, body) for j, body in path])
    if _is_planar(steps, robot.size):
        name = "".join("P" if step.kind is JointKind.PRISMATIC else "R" for step in steps)
        return LegType(name, bool(leg_form(robot, leg)), _elements(name))
    groups = _groups(steps, robot.size)
    name = "".join(group.letter for group in groups)
    return LegType(name, bool(leg_form(robot, leg)), _elements(name))


def robot_elements(types: list[LegType]) -> str:
    """The robot in the grammar of elements: "2BB", "3B[B|B]"; empty if a leg has none."""
    if any(not kind.elements for kind in types):
        return ""
    counts: dict[str, int] = {}
    for kind in types:
        counts[kind.elements] = counts.get(kind.elements, 0) + 1
    return "+".join(f"{count}{elements}" for elements, count in counts.items())


def _serial_path(robot: Robot, leg: Leg) -> list[tuple[int, int]] | None:
    """Joints from base to nacelle, each with the body before it, if the leg is one chain."""
    edges = [*leg.joints, *leg.closures]
    bodies = set(leg.bodies)
    if len(edges) != len(bodies) + 1:
        return None
    path: list[tuple[int, int]] = []
    body, left = BASE, list(edges)
    while left:
        nexts = [j for j in left if body in _ends(robot.joints[j])]
        if len(nexts) != 1:
            return None
        path.append((nexts[0], body))
        left.remove(nexts[0])
        first, second = _ends(robot.joints[nexts[0]])
        body = second if first == body else first
        if body not in bodies:
            break
    return path if not left and body != BASE else None


def _ends(joint: Joint) -> tuple[int, int]:
    return joint.predecessor, joint.successor


def _step(robot: Robot, index: int, body: int) -> _Step:
    joint = robot.joints[index]
    if joint.predecessor == body:
        return _Step(joint.kind, joint.frame_predecessor, joint.frame_successor)
    return _Step(joint.kind, joint.frame_successor, joint.frame_predecessor)


def _without_fixed(steps: list[_Step]) -> list[_Step]:
    """Leave fixed joints out: the body behind one is seen from the body before it."""
    result: list[_Step] = []
    carried: Pose | None = None
    for step in steps:
        before = step.before if carried is None else carried @ step.before
        if step.kind is JointKind.FIXED:
            carried = before @ step.behind.inverse()
            continue
        result.append(_Step(step.kind, before, step.behind))
        carried = None
    return result


def _is_planar(steps: list[_Step], size: float) -> bool:
    """Whether the chain moves in a plane: parallel revolutes, prismatic joints across them."""
    singles = (JointKind.REVOLUTE, JointKind.PRISMATIC)
    if any(step.kind not in singles for step in steps[:-1]) or len(steps) < 3:
        return False
    if steps[-1].kind not in (JointKind.POINT, JointKind.REVOLUTE, JointKind.SPHERICAL):
        return False
    last_is_point = steps[-1].kind is not JointKind.REVOLUTE
    turning = [s for s in steps if s.kind is JointKind.REVOLUTE]
    if len(turning) + last_is_point < 2 or not turning:
        return False
    normal: Array | None = None
    for k, step in enumerate(steps[:-1]):
        after = steps[k + 1]
        axis, next_axis = step.behind.R[:, 2], after.before.R[:, 2]
        if step.kind is JointKind.REVOLUTE:
            normal = axis
        if after.kind is JointKind.REVOLUTE and step.kind is JointKind.REVOLUTE:
            if np.linalg.norm(np.cross(axis, next_axis)) > 1e-12:
                return False
        elif after.kind in singles and abs(float(axis @ next_axis)) > 1e-12:
            return False
    return normal is not None and steps[-1].kind is not JointKind.SPHERICAL


def _groups(steps: list[_Step], size: float) -> list[_Group]:
    """Merge revolutes whose axes meet at one point and stand square: RR to U, RRR to S."""
    groups: list[_Group] = []
    k = 0
    while k < len(steps):
        run = [steps[k]]
        while (
            run[-1].kind is JointKind.REVOLUTE
            and k + len(run) < len(steps)
            and len(run) < 3
            and steps[k + len(run)].kind is JointKind.REVOLUTE
            and _meet(run[-1].behind, steps[k + len(run)].before, size)
            and (len(run) == 1 or _same_point(run, steps[k + len(run)], size))
        ):
            run.append(steps[k + len(run)])
        if len(run) == 1 and k + 1 < len(steps) and _coaxial(steps[k], steps[k + 1], size):
            groups.append(_Group("C", steps[k].before, steps[k + 1].behind))
            k += 2
            continue
        letter = {1: LETTERS[run[0].kind], 2: "U", 3: "S"}[len(run)]
        before, behind = run[0].before, run[-1].behind
        if len(run) > 1:
            centre_before, centre_behind = _centres(run)
            before, behind = Pose(before.R, centre_before), Pose(behind.R, centre_behind)
        groups.append(_Group(letter, before, behind))
        k += len(run)
    return groups


def _coaxial(first: _Step, second: _Step, size: float) -> bool:
    """Whether a slide and a turn share their axis and so act as one cylindrical joint."""
    if {first.kind, second.kind} != {JointKind.PRISMATIC, JointKind.REVOLUTE}:
        return False
    a, d = first.behind.R[:, 2], second.before.p - first.behind.p
    return bool(
        np.linalg.norm(np.cross(a, second.before.R[:, 2])) < 1e-12
        and np.linalg.norm(np.cross(a, d)) < MEET * size
    )


def _meet(first: Pose, second: Pose, size: float) -> bool:
    """Whether two z axes of frames on one body meet and stand square."""
    a, b = first.R[:, 2], second.R[:, 2]
    n = np.cross(a, b)
    return (
        abs(float(a @ b)) < 1e-12
        and float(np.linalg.norm(n)) > 0.5
        and abs(float(n @ (second.p - first.p))) < MEET * size
    )


def _meeting_point(first: Pose, second: Pose) -> Array:
    """Where two square axes on one body meet."""
    a, d = first.R[:, 2], second.p - first.p
    return np.asarray(first.p + (a @ d) * a)


def _same_point(run: list[_Step], third: _Step, size: float) -> bool:
    """Whether the axis of a third revolute passes through the point where the first two meet."""
    on_second = _on_axis(run[1], _meeting_point(run[0].behind, run[1].before))
    point = run[1].behind.p + on_second * run[1].behind.R[:, 2]
    return bool(np.linalg.norm(point - _meeting_point(run[1].behind, third.before)) < MEET * size)


def _on_axis(step: _Step, point: Array) -> float:
    """Coordinate of a point of a revolute's axis along it; the same on both bodies."""
    return float(step.before.R[:, 2] @ (point - step.before.p))


def _centres(run: list[_Step]) -> tuple[Array, Array]:
    """The common point of merged axes, on the body before the first and behind the last."""
    meeting = _meeting_point(run[0].behind, run[1].before)
    on_first = float(run[0].behind.R[:, 2] @ (meeting - run[0].behind.p))
    before = run[0].before.p + on_first * run[0].before.R[:, 2]
    last = run[-1]
    point = _meeting_point(run[-2].behind, last.before)
    behind = last.behind.p + _on_axis(last, point) * last.behind.R[:, 2]
    return before, behind


_ELEMENTS = {
    "RRR": "BB",
    "PRR": "TB",
    "RPR": "T",
    "UPS": "T",
    "SPS": "T",
    "PUS": "TB",
    "PSS": "TB",
    "RUS": "BB",
    "RSS": "BB",
    "PC5": "T",
    "PSPP": "T",
    "RPS": "T",
    "RCU": "S",
    "UPU": "T",
    "RUPU": "BT",
    "RUCU": "BS",
    "UCS": "S",
    "URS": "Sp",
}


def _elements(name: str) -> str:
    return _ELEMENTS.get(name, "")


def _branched(robot: Robot, leg: Leg) -> LegType:
    """Recognise legs with two rods side by side: between balls, or as a parallelogram."""
    joints = robot.joints
    root = [j for j in leg.joints if joints[j].predecessor == BASE]
    if len(root) != 1:
        return LegType(_letters(robot, leg), False, "")
    arm = joints[root[0]].successor
    driver = LETTERS[joints[root[0]].kind]
    rods = [j for j in leg.joints if joints[j].predecessor == arm]
    if len(leg.joints) == 1 + len(rods) and len(leg.closures) == len(rods):
        names = []
        for j in rods:
            ends = [c for c in leg.closures if joints[c].predecessor == joints[j].successor]
            if len(ends) != 1:
                return LegType(_letters(robot, leg), False, "")
            names.append(LETTERS[joints[j].kind] + LETTERS[joints[ends[0]].kind])
        ball_ended = all(name in ("SS", "US", "SU") for name in names)
        bars = "[" + "|".join("B" * len(rods)) + "]"
        first = {"R": "B", "P": "T"}.get(driver, "")
        return LegType(
            f"{driver}[{'|'.join(names)}]",
            bool(leg_form(robot, leg)),
            f"{first}{bars}" if first and ball_ended else "",
        )
    if parallelogram(robot, leg) is not None:
        return LegType(f"{driver}RPaR", bool(leg_form(robot, leg)), {"R": "B[B|B]", "P": "T[B|B]"}[driver])
    return LegType(_letters(robot, leg), False, "")


def _letters(robot: Robot, leg: Leg) -> str:
    """Letters of a leg that is neither a chain nor known: tree joints, then closures."""
    tree = "".join(LETTERS[robot.joints[j].kind] for j in leg.joints)
    return f"{tree}-{''.join(LETTERS[robot.joints[c].kind] for c in leg.closures)}"
