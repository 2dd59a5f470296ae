"""The checks of a robot that need its geometry: do the legs reach, does the motion fit?

    reach      the loops close at the reference pose: their gaps (m, rad) are rounding
    motion     the declared coordinates are independent motions of the nacelle, as many as its mobility, and
               the actuators control all of them
    stretched  no leg is at full stretch in the reference pose, where its branch is not determined
    idle       a body that spins idly is axisymmetric about its axis, so that nothing feels the spin
    limits     joints are within their limits, masses are plausible, every mode closes and moves as it says

Each finding names the place in the description, with line and column, and what would be right.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from nacelle.errors import DescriptionError, Problem, shortened
from nacelle.kinematics.mechanism.assembly import Assembly, Gap, assemble, outside_limits
from nacelle.kinematics.mechanism.mobility import Mobility, mobility
from nacelle.model.flexible import mismatches
from nacelle.model.leg import Leg
from nacelle.model.platform import NAMED_MOTIONS
from nacelle.model.plausible import implausible_masses
from nacelle.model.robot import Robot
from nacelle.model.source.node import Node, Source
from nacelle.pictures import Shown
from nacelle.shapes.mesh_file import described_meshes, why_no_mesh
from nacelle.spatial.inertia import inertia_about_com
from nacelle.spatial.rotation import frame_with_z

Path = tuple[str | int, ...]


@dataclass(frozen=True, repr=False)
class Check(Shown):
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
    checker.masses()
    checker.meshes()
    with np.errstate(all="ignore"):
        assembly = assemble(robot)
        checker.reach(assembly)
        motions = None
        if not assembly.open:
            motions = mobility(robot, assembly)
            checker.motion(motions)
            checker.idle(motions)
            checker.pose(assembly)
            checker.limits(assembly)
            checker.modes()
    return Check(robot, assembly, motions, tuple(checker.problems))


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

    def meshes(self) -> None:
        """Warn of meshes that cannot be drawn: nothing else depends on them."""
        for path, file in described_meshes(self.source.root):
            reason, hint = why_no_mesh(self.robot.folder, file)
            if reason and self.robot.folder:
                self.report(
                    path, f"the mesh {shortened(file, 80)!r} cannot be drawn: {reason}", hint, "warning"
                )

    def reach(self, assembly: Assembly) -> None:
        """Report legs that do not reach the platform, and loops that stay open."""
        named: set[str] = set()
        for k in assembly.unreached:
            leg = self.robot.legs[k]
            gaps = {self.robot.joints[c].name: c for c in leg.closures}
            open_here = {name: gap for name, gap in assembly.open.items() if name in gaps}
            if not open_here:
                continue
            named |= set(open_here)
            self.report(
                self.leg_path(leg),
                f"leg {leg.name!r} does not reach the platform in the reference pose: "
                + _gap_words(open_here),
                "check the reference position, the lengths and anchors, or give guesses",
            )
        others = {name: gap for name, gap in assembly.open.items() if name not in named}
        if others and not named:
            self.report(
                ("reference",),
                "the loops do not close in the reference pose: " + _gap_words(others),
                "check the reference pose, the lengths and anchors, or give guesses",
            )
        for k in assembly.missed if not assembly.open else ():
            leg = self.robot.legs[k]
            self.report(
                (*self.leg_path(leg), "branch"),
                f"no solution of leg {leg.name!r} on branch {leg.branch:+d} was found",
                f"try branch {-leg.branch:+d}, or guesses for its joints",
            )

    def motion(self, m: Mobility) -> None:
        """Hold the declared motion and the actuators against the true mobility."""
        robot = self.robot
        self.stretched(m)
        if not m.fits:
            self.report(("motion",), _misfit(robot, m), _motion_hint(m))
        elif not m.fits_reference and not m.stretched:
            self.report(
                ("motion",),
                f"in the reference pose the coordinates {', '.join(robot.motion.coordinates)} do not "
                "determine the motion of the nacelle; beside it they do",
                "choose another reference pose, or other coordinates",
                "warning",
            )
        parasitic = [axis for axis in m.coupled if axis not in robot.motion.coordinates]
        if m.fits and parasitic and robot.motion.coordinates in NAMED_MOTIONS.values():
            self.report(
                ("motion",),
                f"the motion is declared {robot.motion.name}, but the platform also moves along "
                f"{', '.join(parasitic)} (parasitic motion)",
                "check the geometry, or leave it if that is meant",
                "warning",
            )
        if m.actuators < m.platform:
            self.report(
                ("legs",),
                f"fewer actuators than motions: {m.actuators} for the {m.platform} of the nacelle; "
                f"with them locked there remains: {', '.join(m.uncontrolled)}",
                "make more joints active, or add the missing legs",
            )
        elif m.controlled < m.platform:
            self.report(
                ("legs",),
                f"the {m.actuators} actuators do not control every motion of the nacelle; with them "
                f"locked there remains: {', '.join(m.uncontrolled)}",
                "choose other joints as active ones, or change the geometry: it is singular everywhere",
            )
        elif m.singular_reference and not m.stretched:
            self.report(
                ("reference",),
                "the reference pose is singular, poses beside it are not"
                + (f"; there remains: {', '.join(m.reference_left)}" if m.reference_left else ""),
                "choose another reference pose",
                "warning",
            )

    def stretched(self, m: Mobility, path: Path = ("reference",)) -> None:
        """Refuse a reference pose in which a leg is at full stretch: its branch is not determined there."""
        for name in m.stretched:
            self.report(
                path,
                f"in the reference pose leg {name!r} is stretched or folded (a serial singularity): its "
                "branch and its joints' rates are not determined there, so nothing can be computed from it",
                f"move the reference pose away from the end of the reach of leg {name!r}, or change the "
                "lengths of its links",
            )

    def idle(self, m: Mobility) -> None:
        """A body that spins idly needs an inertia that does not feel it."""
        for spin in m.spinning:
            ten = np.array(self.robot.bodies[spin.body].inertia)
            if not ten[0]:
                continue
            R = frame_with_z(np.array(spin.axis))
            J = R.T @ inertia_about_com(ten) @ R
            size = max(float(np.max(np.abs(J))), 1e-300)
            offset = R.T @ (ten[1:4] / ten[0] - np.array(spin.point))
            off_axis = float(np.linalg.norm(offset[:2])) / self.robot.size
            asymmetry = max(abs(J[0, 0] - J[1, 1]), *np.abs([J[0, 1], J[0, 2], J[1, 2]])) / size
            if off_axis > 1e-7 or asymmetry > 1e-7:
                self.report(
                    self.body_path(spin.body),
                    f"{self.robot.bodies[spin.body].name!r} spins idly about its axis, but its inertia is "
                    "not symmetric about it, so its motion is not determined",
                    "make one of its spherical joints universal, or its inertia axisymmetric",
                )
        inside = [words for words in m.idle if "inside leg" in words]
        if inside:
            self.report(
                ("legs",),
                f"motions of legs leave the nacelle at rest and are driven by nothing: {', '.join(inside)}",
                "lock a joint, or make one active",
                "warning",
            )

    def masses(self) -> None:
        """Warn of masses that cannot be meant; those of flexible links must be those of their beams."""
        for slip in implausible_masses(self.robot):
            self.report((*self.body_path(slip.bodies[0]), "mass"), slip.message, slip.hint, "warning")

        for wrong in mismatches(self.robot):
            place = (*self.body_path(wrong.body), wrong.key)
            self.report(place, wrong.message, wrong.hint, wrong.severity)

    def body_path(self, body: int) -> Path:
        """Where a body is described: among the bodies, or in an element of a leg."""
        for leg in self.robot.legs:
            if body in leg.bodies:
                name, path = self.robot.bodies[body].name.partition(".")[2], self.leg_path(leg)
                elements = self.source.root.find((*path, "elements"))[1].value
                for k, node in enumerate(elements if isinstance(elements, list) else ()):
                    if isinstance(node.value, dict) and str(node.value["name"].value) == name:
                        return (*path, "elements", k, "body")
                return (*path, "bodies", name)
        if body and self.robot.nacelle.joints:
            return ("nacelle", "bodies", self.robot.bodies[body].name)
        return ("nacelle",)

    def pose(self, assembly: Assembly) -> None:
        """Warn where the loops put the platform elsewhere than the reference says."""
        wanted, got = self.robot.reference, assembly.platform
        shift = float(np.linalg.norm(got.p - wanted.p))
        turn = float(np.linalg.norm(got.R - wanted.R))
        if shift > 1e-6 * self.robot.size or turn > 1e-6:
            place = " ".join(f"{value:.6g}" for value in got.p + 0.0)
            turned = f", turned by {math.degrees(turn / math.sqrt(2.0)):.3g} deg" if turn > 1e-6 else ""
            self.report(
                ("reference",),
                f"the loops put the platform at {place} m{turned}: coordinates that are not in the motion "
                f"{self.robot.motion.name} follow from the others",
                "set the reference there",
                "warning",
            )

    def limits(self, assembly: Assembly) -> None:
        """Warn of joints beyond their limits in the reference pose."""
        for joint, place in zip(self.robot.tree_joints, self.robot.q_slices, strict=True):
            for k, value in outside_limits(joint, assembly.q[place]):
                low, high = joint.limits[k]
                unit, scale = ("deg", 180.0 / math.pi) if joint.primitives[k].is_rotation else ("m", 1.0)
                self.report(
                    ("reference",),
                    f"in the reference pose joint {joint.name!r} is at {value * scale:.4g} {unit}, outside "
                    f"its limits {low * scale:.4g} to {high * scale:.4g}",
                    "check the limits, the guess and the branch",
                    "warning",
                )

    def modes(self) -> None:
        """Check that every mode closes its loops and has the motion that it declares."""
        for mode in self.robot.modes:
            own = self.robot.in_mode(mode.name)
            assembly = assemble(own)
            path: Path = ("modes", mode.name)
            if assembly.open:
                self.report(
                    path,
                    f"the loops do not close in mode {mode.name!r}: {_gap_words(assembly.open)}",
                    "check its reference and guesses",
                )
                continue
            m = mobility(own, assembly)
            self.stretched(m, path)
            if not m.fits:
                self.report((*path, "motion"), _misfit(own, m), _motion_hint(m))


def _gap_words(gaps: dict[str, Gap]) -> str:
    return ", ".join(f"{name} {gap}" for name, gap in gaps.items())


def _misfit(robot: Robot, m: Mobility) -> str:
    """Say how the declared motion differs from the true one."""
    names = robot.motion.coordinates
    if len(names) != m.platform:
        reason = f"it has {len(names)} coordinate{'' if len(names) == 1 else 's'}"
    elif len(names) == 1:
        reason = f"{names[0]} does not describe how the nacelle moves"
    else:
        reason = f"{', '.join(names)} do not describe how the nacelle moves"
    return f"the motion {robot.motion.name} does not fit: {reason}; {m.motion_words()}"


def _motion_hint(m: Mobility) -> str:
    if not m.platform:
        return "give the legs more freedoms, or use fewer legs: as it is, the nacelle cannot move"
    axes = [*m.free, *m.coupled]
    if m.platform == len(m.free) and not m.inside:
        return "write motion: " + ("se3" if len(m.free) == 6 else f"[{', '.join(m.free)}]")
    return f"declare {m.platform} coordinates, from {', '.join(axes)} or joints of the nacelle"
