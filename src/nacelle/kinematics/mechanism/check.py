"""The checks of a robot: do the legs reach, does the motion fit, can the masses be meant?

    reach      the loops close at the reference pose: their gaps (m, rad) are rounding
    motion     the declared coordinates are independent motions of the platform, as many as its mobility, and
               the actuators control all of them
    stretched  no leg is at full stretch in the reference pose, where its branch is not determined
    idle       a body that spins idly is axisymmetric about its axis, so that nothing feels the spin
    digits     loops that close but for the digits of their numbers are closed by the least change (`snapped`)
    limits     joints are within their limits, every mode closes and moves as it says
    masses     a slip of kilograms, grams and tonnes shows in the density of a body

Each finding names the place in the description, with line and column, and what would be right.

A body of mass m whose inertia about its centre of mass has the trace tr I_c has the second moment
∫ r^2 dm = tr I_c / 2 = m g^2. Of all bodies with this mass and this g the ball is the densest that is evenly
filled: 3/5 R^2 = g^2, so

    density = m / (4/3 pi R^3),   R = sqrt(5/3) g.

Real bodies are near it where they are compact (1 to 8000 kg/m^3) and below it where they are slender: a tube
of carbon fibre of 10 m has 0.005. A mass that is wrong by 1000 with a right inertia moves it by 3e7, so the
limits below are far from both. Where the inertia is zero (a point mass) the robot's size is its bound.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from nacelle.errors import DescriptionError, Problem, format_count, shorten
from nacelle.kinematics.limits import limit_readings
from nacelle.kinematics.mechanism.assembly import (
    Assembly,
    ClosureGap,
    assemble,
    independent_rate_mask,
    scaled_closures,
)
from nacelle.kinematics.mechanism.coupled import holding_couplings
from nacelle.kinematics.mechanism.internal_freedoms import (
    EXACT_ASYMMETRY,
    NEGLECTED_ASYMMETRY,
    asymmetry,
    force_error,
    spin_driver,
    with_axisymmetric,
    with_universal,
)
from nacelle.kinematics.mechanism.mobility import Mobility, mobility
from nacelle.kinematics.mechanism.regularised import regularise_geometry
from nacelle.model.flexible import beam_mismatches
from nacelle.model.leg import Leg
from nacelle.model.platform import NAMED_MOTIONS
from nacelle.model.robot import Robot
from nacelle.model.source.node import Node, Source
from nacelle.results import HasTable
from nacelle.shapes.mesh_file import find_meshes, mesh_reason
from nacelle.spatial.inertia import inertia_about_com
from nacelle.spatial.scalar import Array
from nacelle.tree.rates import InternalFreedom

# Densities in kg/m^3: osmium, the densest of all materials; far below the most slender of bodies.
DENSEST = 22_600.0
LIGHTEST = 1e-3


class ImplausibleMass(NamedTuple):
    """A mass that cannot be meant.

    Attributes:
        bodies: the bodies that have it, by index.
        message: what is wrong.
        hint: what could be meant.
    """

    bodies: tuple[int, ...]
    message: str
    hint: str


def implausible_masses(robot: Robot) -> list[ImplausibleMass]:
    """Bodies whose masses do not fit their inertia or, for points, the robot's size; alike ones together."""
    alike: dict[tuple[float, float], list[int]] = {}
    for index, body in enumerate(robot.bodies[1:], start=1):
        mass = float(body.inertia[0])
        density = _density(robot, np.array(body.inertia))
        if mass > 0.0 and not LIGHTEST <= density <= DENSEST:
            alike.setdefault((mass, density), []).append(index)
    return [_describe_mass(robot, tuple(bodies), *figures) for figures, bodies in alike.items()]


def _density(robot: Robot, inertia: Array) -> float:
    """Density (kg/m^3) of a ball with a body's mass and inertia; of a point by the robot's size."""
    mass = np.float64(inertia[0])
    if mass <= 0.0:
        return 1.0
    # Numbers at the ends of the range of floats come out as zero or infinite, which is as telling.
    with np.errstate(all="ignore"):
        second = 0.5 * np.trace(inertia_about_com(inertia)) / mass
        # What remains of the inertia of a point after Steiner's part is taken off is rounding.
        if second > 1e-12 * robot.size**2:
            return float(mass / (4.0 / 3.0 * np.pi * (5.0 / 3.0 * second) ** 1.5))
        return max(LIGHTEST, float(mass / (4.0 / 3.0 * np.pi * np.float64(robot.size) ** 3)))


def _describe_mass(robot: Robot, bodies: tuple[int, ...], mass: float, density: float) -> ImplausibleMass:
    name = robot.bodies[bodies[0]].name
    others = f" (and {len(bodies) - 1} more like it)" if len(bodies) > 1 else ""
    heavy = density > DENSEST
    what = "denser than any material" if heavy else "lighter than any structure"
    size = "its inertia" if np.any(np.array(robot.bodies[bodies[0]].inertia[4:])) else "the robot's size"
    less, more = f"{mass / 1000.0:g} kg", f"{mass * 1000.0:g} kg"
    return ImplausibleMass(
        bodies,
        f"body {name!r}{others} has a mass of {mass:g} kg, which with {size} is {what}: {density:.2g} kg/m^3",
        f"is {less if heavy else more} meant? check the units of mass (g, kg, t) and inertia (kg*m^2)",
    )


Path = tuple[str | int, ...]


@dataclass(frozen=True, repr=False)
class Check(HasTable):
    """What the checks found.

    Attributes:
        robot: the robot; where warnings say so, with joint frames that close its loops, and with bodies or
            joints for which an idle spin is determined.
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
        """The errors among the problems, without warnings."""
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
    checker.check_meshes()
    with np.errstate(all="ignore"):
        assembly, motions = checker.close_loops()
        checker.reach(assembly)
        if motions is not None:
            checker.motion(assembly, motions)
            assembly, motions = checker.check_internal_freedoms(assembly, motions)
            checker.pose(assembly)
            checker.limits(assembly)
            checker.modes()
    return Check(checker.robot, assembly, motions, tuple(checker.problems))


class _Checker:
    def __init__(self, robot: Robot, source: Source) -> None:
        self.robot = robot
        self.source = source
        self.problems: list[Problem] = []

    def report(self, path: Path, message: str, hint: str = "", severity: str = "error") -> None:
        self.problems.append(self.source.problem(path, message, hint, severity))

    def warn(self, path: Path, message: str, hint: str = "") -> None:
        self.report(path, message, hint, "warning")

    def leg_path(self, leg: Leg) -> Path:
        """Where a leg is described."""
        return self.described_path({self.robot.bodies[b].name.split(".")[0] for b in leg.bodies}, leg.name)

    def described_path(self, names: set[str], leg: str) -> Path:
        """Where the first of some legs is written, by their names there."""
        root = self.source.root.value
        legs = root.get("legs") if isinstance(root, dict) else None
        if legs is None or not isinstance(legs.value, list):
            return ("legs", leg)
        for k, node in enumerate(legs.value):
            if isinstance(node.value, dict) and str(node.value["name"].value) in names:
                return ("legs", k)
        return ("legs",)

    def check_meshes(self) -> None:
        """Warn of meshes that cannot be drawn: nothing else depends on them."""
        for path, file in find_meshes(self.source.root):
            reason, hint = mesh_reason(self.robot.folder, file)
            if reason and self.robot.folder:
                self.warn(path, f"the mesh {shorten(file, 80)!r} cannot be drawn: {reason}", hint)

    def reach(self, assembly: Assembly) -> None:
        """Report legs that do not reach the platform, and loops that stay open."""
        named: set[str] = set()
        for k in assembly.unreached_legs:
            leg = self.robot.legs[k]
            gaps = {self.robot.joints[c].name: c for c in leg.closures}
            open_here = {name: gap for name, gap in assembly.open.items() if name in gaps}
            if not open_here:
                continue
            named |= set(open_here)
            self.report(
                self.leg_path(leg),
                f"leg {leg.name!r} does not reach the platform in the reference pose: "
                + _describe_gaps(open_here),
                "check the reference position, the lengths and anchors, or give guesses",
            )
        others = {name: gap for name, gap in assembly.open.items() if name not in named}
        if others and not named:
            self.report(
                self.reference_path(*others),
                "the loops do not close in the reference pose: " + _describe_gaps(others),
                "check the reference pose, the lengths and anchors, or give guesses",
            )
        for k in assembly.missed if not assembly.open else ():
            leg = self.robot.legs[k]
            self.report(
                (*self.leg_path(leg), "branch"),
                f"no solution of leg {leg.name!r} on branch {leg.branch:+d} was found",
                f"try branch {-leg.branch:+d}, or guesses for its joints",
            )

    def motion(self, assembly: Assembly, m: Mobility) -> None:
        """Hold the declared motion and the actuators against the true mobility."""
        robot = self.robot
        self.refuse_full_stretch(m)
        if not m.fits:
            self.report(("motion",), _describe_misfit(robot, m), _motion_hint(robot, assembly, m))
        elif not m.fits_reference and not m.stretched:
            self.warn(
                ("motion",),
                f"in the reference pose the coordinates {', '.join(robot.motion.coordinates)} do not "
                f"determine the motion of the {robot.moving_part}; near it they do",
                "choose another reference pose, or other coordinates",
            )
        parasitic = [axis for axis in m.coupled if axis not in robot.motion.coordinates]
        if m.fits and parasitic and robot.motion.coordinates in NAMED_MOTIONS.values():
            self.warn(
                ("motion",),
                f"the motion is declared {robot.motion.name}, but the platform also moves along "
                f"{', '.join(parasitic)} (parasitic motion)",
                "check the geometry, or leave it if that is meant",
            )
        if m.fits and m.is_underactuated:
            self.warn(
                ("motion",),
                f"nothing drives {', '.join(m.undriven)}: {_describe_count(m.actuators, 'actuator')} for "
                f"{_describe_count(m.platform, 'motion')} of the {m.moving_part}",
                "forward dynamics and simulation find their motion; inverse_dynamics needs free=; to drive "
                "them make more joints active",
            )
        elif m.controlled < m.platform and m.fits:
            self.report(
                ("legs",),
                f"the {m.actuators} actuators do not control every motion of the {m.moving_part}; with them "
                f"locked there remains: {', '.join(m.uncontrolled)}",
                "choose other joints as active ones, or change the geometry: it is singular everywhere",
            )
        elif m.singular_reference and not m.stretched:
            self.warn(
                self.reference_path(),
                "the reference pose is singular, poses near it are not"
                + (f"; there remains: {', '.join(m.reference_left)}" if m.reference_left else ""),
                "choose another reference pose",
            )

    def refuse_full_stretch(self, m: Mobility, path: Path | None = None) -> None:
        """Refuse a reference pose in which a leg is at full stretch: its branch is not determined there."""
        for name in m.stretched:
            self.report(
                path or self.reference_path(),
                f"in the reference pose leg {name!r} is stretched or folded (a serial singularity): its "
                "branch and its joints' rates are not determined there, so nothing can be computed from it",
                f"move the reference pose away from the end of the reach of leg {name!r}, or change the "
                "lengths of its links",
            )

    def close_loops(self) -> tuple[Assembly, Mobility | None]:
        """Close the loops, by a change of joint frames where these have too few digits."""
        assembly = assemble(self.robot)
        motions = None if assembly.open else mobility(self.robot, assembly)
        if motions is not None and motions.fits:
            return assembly, motions
        change = regularise_geometry(self.robot, assembly)
        if change is None:
            return assembly, motions
        corrected = assemble(change.robot)
        moves = None if corrected.open else mobility(change.robot, corrected)
        if moves is None or not moves.fits:
            return assembly, motions
        self.robot = change.robot
        shifted, rotated = change.largest_shift, change.largest_rotation
        self.warn(
            ("reference",),
            "the loops close only to the digits of their numbers; joint frames were changed by up to "
            f"{shifted.length:.2g} m ({change.name(shifted)}) and {rotated.angle:.2g} rad "
            f"({change.name(rotated)}), the smallest change with which they close in every pose",
            "give the numbers with more digits; to_yaml writes them with these frames",
        )
        return corrected, moves

    def check_internal_freedoms(self, assembly: Assembly, m: Mobility) -> tuple[Assembly, Mobility]:
        """A body that spins idly needs an inertia that does not feel it, or a joint that holds it."""
        assembly, m = self.hold(assembly, m)
        near = []
        for spin in m.internal_freedoms:
            value, choice = asymmetry(self.robot, spin), self.robot.bodies[spin.body].spin
            if value <= EXACT_ASYMMETRY:
                continue
            if choice == "neglect" or (not choice and value <= NEGLECTED_ASYMMETRY):
                near.append((spin, value))
                continue
            self.report(
                self.body_path(spin.body),
                f"{self.robot.bodies[spin.body].name!r} spins idly about its axis, but its inertia is "
                f"not symmetric about it (by {value:.2g}, more than {NEGLECTED_ASYMMETRY:g}), so its "
                "motion is not "
                "determined",
                "make one of its spherical joints universal (spin: universal does), its inertia "
                "axisymmetric, or write spin: neglect",
            )
        if near:
            self.neglect_asymmetry(near, assembly, m.internal_freedoms)
        for spin in m.internal_freedoms:
            reason = spin_driver(self.robot, spin)
            if reason:
                self.warn(
                    self.body_path(spin.body),
                    f"the spin of {self.robot.bodies[spin.body].name!r} about its axis is set to zero, but "
                    f"{reason} would drive it",
                    "write spin: universal in the body to hold its spin by a universal joint",
                )
        bodies = tuple(dataclasses.replace(body, spin="") for body in self.robot.bodies)
        if bodies != self.robot.bodies:
            self.robot = dataclasses.replace(self.robot, bodies=bodies)
        self.inside(m)
        return assembly, m

    def neglect_asymmetry(
        self,
        near: list[tuple[InternalFreedom, float]],
        assembly: Assembly,
        spins: tuple[InternalFreedom, ...],
    ) -> None:
        """Make bodies axisymmetric, and say what that changes."""
        changed = with_axisymmetric(self.robot, [spin for spin, _ in near])
        error = force_error(self.robot, changed, assembly, spins)
        most, value = max(near, key=lambda pair: pair[1])
        bodies = "1 body" if len(near) == 1 else f"{len(near)} bodies"
        self.warn(
            self.body_path(most.body),
            f"the spin of {bodies} between spherical joints is not determined; the inertia was made "
            f"axisymmetric about the axis, which changes it by up to {value:.2g} "
            f"({self.robot.bodies[most.body].name}) and the forces of an actuator by up to {error:.2g} of "
            "the largest, over sample states",
            "write spin: universal in such a body to hold its spin by a universal joint instead",
        )
        self.robot = changed

    def hold(self, assembly: Assembly, m: Mobility) -> tuple[Assembly, Mobility]:
        """Make a spherical joint universal for each idle spin that is to be held so."""
        names: list[str] = []
        first: tuple[str | int, ...] = ()
        internal_freedoms = {spin.body for spin in m.internal_freedoms}
        for body, body_data in enumerate(self.robot.bodies):
            if body_data.spin and body not in internal_freedoms:
                self.warn(
                    (*self.body_path(body), "spin"),
                    f"{body_data.name!r} does not spin idly, so there is nothing to hold or to neglect",
                    "leave spin out",
                )
            spin = next((spin for spin in m.internal_freedoms if spin.body == body), None)
            if body_data.spin != "universal" or spin is None:
                continue
            changed = with_universal(self.robot, assembly, spin)
            if changed is None:
                self.report(
                    (*self.body_path(body), "spin"),
                    f"{body_data.name!r} has no spherical joint that could be universal",
                    "write spin: neglect, or make the inertia axisymmetric",
                )
                continue
            self.robot = changed[0]
            names.append(changed[1])
            first = first or (*self.body_path(body), "spin")
            assembly = assemble(self.robot)
            m = mobility(self.robot, assembly)
        if names:
            self.warn(
                first,
                f"made universal, so that the spin of their bodies is held: {', '.join(names)}",
            )
        return assembly, m

    def inside(self, m: Mobility) -> None:
        """Warn of motions inside legs that nothing drives."""
        inside = [message for message in m.internal_motions if "inside leg" in message]
        if inside:
            self.warn(
                ("legs",),
                f"motions of legs leave the platform at rest and are driven by nothing: {', '.join(inside)}",
                "lock a joint, or make one active",
            )

    def masses(self) -> None:
        """Warn of masses that cannot be meant; those of flexible links must be those of their beams."""
        for slip in implausible_masses(self.robot):
            self.warn((*self.body_path(slip.bodies[0]), "mass"), slip.message, slip.hint)

        for wrong in beam_mismatches(self.robot):
            path = (*self.body_path(wrong.body), wrong.key)
            self.report(path, wrong.message, wrong.hint, wrong.severity)

    def reference_path(self, *joints: str) -> Path:
        """Where the reference pose is described; if nowhere, the first of some joints, or the motion."""
        root = self.source.root.value
        if isinstance(root, dict) and "reference" not in root:
            return self.joint_path(joints[0]) if joints else ("motion",)
        return ("reference",)

    def joint_path(self, joint: str) -> Path:
        """Where a joint is described: in a leg, of the platform or outside them; or else its leg."""
        leg, _, name = joint.partition(".")
        path = self.described_path({leg}, leg) if name else ()
        paths = [(*path, key) for key in ("joints", "closures")] + [
            ("platform", "joints"),
            ("platform", "closures"),
        ]
        for candidate in paths:
            entries = self.source.root.find(candidate)[1].value
            if isinstance(entries, dict) and (name or joint) in entries:
                return (*candidate, name or joint)
        return path

    def body_path(self, body: int) -> Path:
        """Where a body is described: among the bodies, or in an element of a leg."""
        leg, _, name = self.robot.bodies[body].name.partition(".")
        if name:
            path = self.described_path({leg}, leg)
            elements = self.source.root.find((*path, "elements"))[1].value
            for k, node in enumerate(elements if isinstance(elements, list) else ()):
                if isinstance(node.value, dict) and str(node.value["name"].value) == name:
                    return (*path, "elements", k, "body")
            return (*path, "bodies", name)
        if body and self.robot.platform.joints:
            return ("platform", "bodies", self.robot.bodies[body].name)
        return ("platform",)

    def pose(self, assembly: Assembly) -> None:
        """Warn where the loops put the platform elsewhere than the reference says."""
        reference, got = self.robot.reference, assembly.platform
        shift = float(np.linalg.norm(got.p - reference.p))
        angle = float(np.linalg.norm(got.R - reference.R))
        if shift <= 1e-6 * self.robot.size and angle <= 1e-6:
            return
        if not self.robot.has_platform:
            self.warn(
                ("reference",),
                "there is no platform to be at a position or rotation, which do not count",
                "say where joints are, reference: {guess: {arm.hip: 30 deg}}",
            )
        else:
            at = " ".join(f"{value:.6g}" for value in got.p + 0.0)
            tilt = f", turned by {math.degrees(angle / math.sqrt(2.0)):.3g} deg" if angle > 1e-6 else ""
            self.warn(
                ("reference",),
                f"the loops put the platform at {at} m{tilt}: coordinates that are not in the motion "
                f"{self.robot.motion.name} follow from the others",
                "set the reference there",
            )

    def limits(self, assembly: Assembly) -> None:
        """Warn of joints beyond their limits in the reference pose."""
        for joint, indices in zip(self.robot.tree_joints, self.robot.q_slices, strict=True):
            for k, value, beyond in limit_readings(joint, assembly.q_tree[indices], centred=True):
                if not beyond:
                    continue
                low, high = joint.limits[k]
                unit, scale = ("deg", 180.0 / math.pi) if joint.primitives[k].is_rotation else ("m", 1.0)
                self.warn(
                    self.joint_path(joint.name),
                    f"in the reference pose joint {joint.name!r} is at {value * scale:.4g} {unit}, outside "
                    f"its limits {low * scale:.4g} to {high * scale:.4g}",
                    "check the limits, the guess and the branch",
                )

    def modes(self) -> None:
        """Check that every mode closes its loops and has the motion that it declares."""
        for mode in self.robot.modes:
            robot = self.robot.in_mode(mode.name)
            assembly = assemble(robot)
            path: Path = ("modes", mode.name)
            if assembly.open:
                self.report(
                    path,
                    f"the loops do not close in mode {mode.name!r}: {_describe_gaps(assembly.open)}",
                    "check its reference and guesses",
                )
                continue
            m = mobility(robot, assembly)
            self.refuse_full_stretch(m, path)
            if not m.fits:
                self.report((*path, "motion"), _describe_misfit(robot, m), _motion_hint(robot, assembly, m))


def _describe_gaps(gaps: dict[str, ClosureGap]) -> str:
    return ", ".join(f"{name} {gap}" for name, gap in gaps.items())


def _describe_misfit(robot: Robot, m: Mobility) -> str:
    """Say how the declared motion differs from the true one."""
    names = robot.motion.coordinates
    if len(names) != m.platform:
        reason = f"it has {format_count(len(names), 'coordinate')}"
    elif len(names) == 1:
        reason = f"{names[0]} does not describe how the {robot.moving_part} moves"
    else:
        reason = f"{', '.join(names)} do not describe how the {robot.moving_part} moves"
    return f"the motion {robot.motion.name} does not fit: {reason}; {m.describe_motion()}"


def _describe_count(number: int, word: str) -> str:
    return f"{number or 'no'} {word}{'' if number == 1 else 's'}"


def _motion_hint(robot: Robot, assembly: Assembly, m: Mobility) -> str:
    if not m.platform:
        holding = holding_couplings(
            robot, scaled_closures(robot, assembly.closures), independent_rate_mask(robot)
        )
        if len(holding) > 1:
            return (
                f"check the ratios of {', '.join(holding)}: without one of them the {m.moving_part} could "
                "move"
            )
        freer = "leave out closures or couplings" if m.moving_part != "platform" else "use fewer legs"
        return f"give the legs more freedoms, or {freer}: as it is, the {m.moving_part} cannot move"
    if m.moving_part != "platform":
        if len(m.joints) < m.platform:
            return (
                "joints of one coordinate cannot describe it: write a spherical joint that moves freely as "
                "three revolute ones"
            )
        return f"write motion: [{', '.join(m.joints)}]"
    axes = [*m.free, *m.coupled]
    if m.platform == len(m.free) and not m.inside:
        return "write motion: " + ("se3" if len(m.free) == 6 else f"[{', '.join(m.free)}]")
    return f"declare {m.platform} coordinates, from {', '.join(axes)} or joints of the platform"
