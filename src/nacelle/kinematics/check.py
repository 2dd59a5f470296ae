"""The checks of a robot that need its geometry: do the legs reach, does the motion fit?"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from nacelle.errors import DescriptionError, Problem
from nacelle.kinematics.assembly import Assembly, assemble
from nacelle.kinematics.mobility import Mobility, mobility
from nacelle.model.joint import Primitive
from nacelle.model.leg import Leg
from nacelle.model.robot import Robot
from nacelle.model.source import Node, Source
from nacelle.spatial.inertia import inertia_about_com
from nacelle.spatial.rotation import frame_with_z

Path = tuple[str | int, ...]


@dataclass(frozen=True)
class Check:
    """What the checks found.

    Attributes:
        robot: the robot.
        assembly: its configuration in the reference pose.
        mobility: its mobility; None if the loops do not close.
        problems: errors and warnings, with their places.
    """

    robot: Robot
    assembly: Assembly
    mobility: Mobility | None
    problems: tuple[Problem, ...]

    @property
    def errors(self) -> tuple[Problem, ...]:
        """The errors among the problems."""
        return tuple(problem for problem in self.problems if problem.severity == "error")

    def require(self) -> Check:
        """Raise a DescriptionError if there are errors."""
        if self.errors:
            raise DescriptionError(self.errors)
        return self


def check_robot(robot: Robot, source: Source | None = None) -> Check:
    """Check a robot: reach in the reference pose, mobility, actuation, idle rods, limits.

    Args:
        robot: the robot.
        source: its (expanded) description, for the places of problems.
    """
    checker = _Checker(robot, source or Source("<python>", Node({})))
    with np.errstate(all="ignore"):
        found = assemble(robot)
        checker.reach(found)
        motions = None
        if not found.open:
            motions = mobility(robot, found)
            checker.motion(motions)
            checker.idle(motions)
            checker.limits(found)
    return Check(robot, found, motions, tuple(checker.problems))


class _Checker:
    def __init__(self, robot: Robot, source: Source) -> None:
        self.robot = robot
        self.source = source
        self.problems: list[Problem] = []

    def report(self, path: Path, message: str, hint: str = "", severity: str = "error") -> None:
        self.problems.append(self.source.problem(path, message, hint, severity))

    def leg_path(self, leg: Leg) -> Path:
        """Where a leg is described."""
        root = self.source.root.value
        legs = root.get("legs") if isinstance(root, dict) else None
        if legs is None or not isinstance(legs.value, list):
            return ("legs", leg.name)
        written = {self.robot.bodies[b].name.split(".")[0] for b in leg.bodies}
        for k, node in enumerate(legs.value):
            if isinstance(node.value, dict) and str(node.value["name"].value) in written:
                return ("legs", k)
        return ("legs",)

    def reach(self, found: Assembly) -> None:
        """Report legs that do not reach the platform, and loops that stay open."""
        named: set[str] = set()
        for k in found.unreached:
            leg = self.robot.legs[k]
            gaps = {self.robot.joints[c].name: c for c in leg.closures}
            open_here = {name: gap for name, gap in found.open.items() if name in gaps}
            if not open_here:
                continue
            named |= set(open_here)
            self.report(
                self.leg_path(leg),
                f"leg {leg.name!r} does not reach the platform in the reference pose: "
                + _gap_words(self.robot, open_here),
                "check the reference position, the lengths and anchors, or give guesses",
            )
        others = {name: gap for name, gap in found.open.items() if name not in named}
        if others and not named:
            self.report(
                ("reference",),
                "the loops do not close in the reference pose: " + _gap_words(self.robot, others),
                "check the reference pose, the lengths and anchors, or give guesses",
            )
        for k in found.missed if not found.open else ():
            leg = self.robot.legs[k]
            self.report(
                (*self.leg_path(leg), "branch"),
                f"no solution of leg {leg.name!r} on branch {leg.branch:+d} was found",
                f"try branch {-leg.branch:+d}, or guesses for its joints",
            )

    def motion(self, m: Mobility) -> None:
        """Hold the declared motion and the actuators against the true mobility."""
        robot = self.robot
        if not m.fits:
            self.report(
                ("motion",),
                f"the motion {robot.motion.name} has {robot.motion.n} coordinates, but "
                + " ".join(m.sentences()[:3]),
                _motion_hint(m),
            )
        if m.actuators < m.platform:
            self.report(
                ("legs",),
                f"fewer actuators than motions: {m.actuators} for the {m.platform} of the nacelle; "
                f"with them locked there remains: {', '.join(m.uncontrolled)}",
                f"make {m.platform - m.actuators} more joints active",
            )
        elif m.controlled < m.platform:
            self.report(
                ("legs",),
                f"the {m.actuators} actuators do not control every motion of the nacelle; with them "
                f"locked there remains: {', '.join(m.uncontrolled)}",
                "choose other joints as active ones",
            )
        elif m.singular_reference:
            self.report(
                ("reference",),
                "the reference pose is singular: poses beside it are not",
                "choose another reference pose",
                "warning",
            )

    def idle(self, m: Mobility) -> None:
        """A body that spins idly needs an inertia that does not feel it."""
        for body, axis in m.spinning:
            ten = np.array(self.robot.bodies[body].inertia)
            if not ten[0]:
                continue
            R = frame_with_z(np.array(axis))
            J = R.T @ inertia_about_com(ten) @ R
            size = max(float(np.max(np.abs(J))), 1e-300)
            off_axis = float(np.linalg.norm((R.T @ ten[1:4])[:2])) / ten[0] / self.robot.size
            uneven = max(abs(J[0, 0] - J[1, 1]), *np.abs([J[0, 1], J[0, 2], J[1, 2]])) / size
            if off_axis > 1e-9 or uneven > 1e-9:
                self.report(
                    self.body_path(body),
                    f"{self.robot.bodies[body].name!r} spins idly about its axis, but its inertia is not "
                    "symmetric about it, so its motion is not determined",
                    "make one of its ball joints universal, or its inertia axisymmetric",
                )
        inside = m.idle_count - len(m.spinning)
        if inside > 0:
            self.report(
                ("legs",),
                f"{inside} motions of legs leave the nacelle at rest and are driven by nothing: "
                + ", ".join(words for words in m.idle if "inside" in words),
                "lock a joint, or make one active",
                "warning",
            )

    def body_path(self, body: int) -> Path:
        for leg in self.robot.legs:
            if body in leg.bodies:
                name = self.robot.bodies[body].name.partition(".")[2]
                return (*self.leg_path(leg), "bodies", name)
        return ("nacelle",)

    def limits(self, found: Assembly) -> None:
        """Warn of joints beyond their limits in the reference pose."""
        for k, joint in enumerate(self.robot.tree_joints):
            values = found.q[self.robot.q_slices[k]]
            start = 0
            for primitive, (low, high) in zip(joint.primitives, joint.limits, strict=True):
                value = _position(primitive, values[start : start + primitive.nq])
                start += primitive.nq
                if value < low - 1e-9 or value > high + 1e-9:
                    unit = "rad" if primitive.turns else "m"
                    self.report(
                        ("reference",),
                        f"in the reference pose joint {joint.name!r} is at {value:.4g} {unit}, outside its "
                        f"limits {low:.4g} to {high:.4g}",
                        "",
                        "warning",
                    )


def _position(primitive: Primitive, values: np.ndarray) -> float:
    """Coordinate that a limit speaks of; of a ball the tilt between the z axes."""
    if primitive is Primitive.BALL:
        x, y = float(values[0]), float(values[1])
        return math.acos(max(-1.0, min(1.0, 1.0 - 2.0 * (x * x + y * y))))
    value = float(values[0])
    return math.remainder(value, 2 * math.pi) if primitive.turns else value


def _gap_words(robot: Robot, gaps: dict[str, float]) -> str:
    words = []
    for name, gap in gaps.items():
        joint = robot.joints[robot.joint(name)]
        if gap == math.pi:
            words.append(f"{name} closes only the wrong way round")
        elif any(len(lock) == 2 for lock in joint.locks):
            words.append(f"{name} stays open by {gap * 1e3:.4g} mm")
        else:
            words.append(f"{name} stays open by {math.degrees(math.asin(min(gap, 1.0))):.4g} deg")
    return ", ".join(words)


def _motion_hint(m: Mobility) -> str:
    axes = [*m.free, *m.coupled]
    if m.platform == len(m.free) and not m.inside:
        return "write motion: " + ("se3" if len(m.free) == 6 else f"[{', '.join(m.free)}]")
    return f"declare {m.platform} coordinates, from {', '.join(axes)} or joints of the nacelle"
