"""Inverse dynamics from other inputs than the platform's pose: kinematic elements, or encoders.

Elements ([OAM] (66), (67)): directions of arms and rods with their first and second derivatives, and lengths
of slides and struts with theirs, as a camera sees them. Encoders: coordinates, rates and accelerations of the
actuators, where the pose follows from them in closed form. The platform does not turn: its balance has three
rows at most, one for each direction that it moves along.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from nacelle.dynamics.general.bars import rod as rods
from nacelle.dynamics.general.bars.demand import Demand, friction_along
from nacelle.dynamics.general.bars.strut import end_mass, strut
from nacelle.dynamics.general.required import Counted
from nacelle.dynamics.measured.rod import Measured, end_share, from_drive, from_elements, rod
from nacelle.errors import KinematicsError
from nacelle.kinematics.bars.form import LegForm, UnreadError, clean
from nacelle.kinematics.bars.reading import read_legs
from nacelle.kinematics.forward import spheres as sphere
from nacelle.kinematics.general.bars import hinge_side
from nacelle.kinematics.general.solve import eliminate, pivot_order
from nacelle.kinematics.general.vectors import is_zero
from nacelle.kinematics.mechanism.closed import generic_poses
from nacelle.kinematics.mechanism.mechanism import Mechanism, mechanism_of
from nacelle.model.leg import PLATFORM
from nacelle.model.loaded import body_parameters
from nacelle.model.robot import Robot
from nacelle.spatial.rounding import first_largest
from nacelle.spatial.scalar import Array, Scalar, cos, cross, divide, dot, pack, product, sin, sqrt
from nacelle.spatial.solve import solve


class Choice(NamedTuple):
    """How the balance is written.

    Attributes:
        mass: where the platform's mass counts: "platform"; "end", of the first leg; "ends", there with the
            masses at the ends of all rods, which accelerate alike.
        cramer: whether it is solved by Cramer's rule.
    """

    mass: str = "platform"
    cramer: bool = False


WAYS = tuple(Choice(mass, cramer) for mass in ("platform", "end", "ends") for cramer in (False, True))


class _Balance:
    """The balance of a platform that does not turn: sum over legs of f_j r_j = force, for the densities f."""

    def __init__(self, robot: Robot, counted: Counted, choice: Choice) -> None:
        mechanism = mechanism_of(robot)
        self.robot, self.mechanism, self.counted, self.choice = robot, mechanism, counted, choice
        self.forms, self.numbers = read_legs(robot, mechanism), read_legs(robot.numeric, mechanism)
        self.demands: list[Demand] = []
        self.moved: list[rods.Moved] = []
        self.a: Array = np.zeros(3)
        mass: Scalar = body_parameters(robot, PLATFORM)[0]
        for form in self.forms:
            mass = mass + end_mass(form) if form.kind == "strut" else mass
        self.mass = mass

    def _extra(self, leg: int) -> Scalar:
        if self.choice.mass == "platform":
            return 0.0
        lumped = [end_share(form) if form.kind == "rod" else 0.0 for form in self.forms[1:]]
        if self.choice.mass == "end" or not any(form.kind == "rod" for form in self.forms):
            return self.mass if leg == 0 else 0.0
        return sum(lumped, start=self.mass) if leg == 0 else -lumped[leg - 1]

    def add_strut(self, leg: int, r: Array, v: Array, a: Array) -> None:
        """A strut whose motion is measured."""
        gravity = np.asarray(self.robot.gravity)
        up = _upright(self.mechanism)
        state = (r, v, a, gravity, np.zeros(3), self._extra(leg), up, self.counted)
        self.demands.append(strut(self.forms[leg], self.numbers[leg], *state))
        self.moved.append(rods.Moved(r, v, np.zeros(3), np.zeros(3), 0.0, 0.0, np.zeros(3)))
        self.a = a if leg == 0 else self.a

    def add_rod(self, leg: int, at: Measured) -> None:
        """A rod whose motion is measured."""
        gravity = np.asarray(self.robot.gravity)
        demand, moved = rod(self.forms[leg], self.numbers[leg], at, gravity, self._extra(leg), self.counted)
        self.demands.append(demand)
        self.moved.append(moved)
        self.a = at.a2 if leg == 0 else self.a

    def force(self) -> Array:
        """Forces of the actuators."""
        axes = self.robot.motion.twist_axes
        total: Array = np.zeros(3)
        if self.choice.mass == "platform":
            total = self.mass * (self.a - np.asarray(self.robot.gravity))
        hinges = self._hinges()
        for k, demand in enumerate(self.demands):
            total = total + demand.G
            moment = demand.about_a + hinges.get(k, 0.0)
            if not is_zero(moment):
                total = total + moment * rods.lean(self.forms[k], self.moved[k])
        A = [[demand.r[axis] for demand in self.demands] for axis in axes]
        wrench = [total[axis] for axis in axes]
        if self.choice.cramer:
            densities = solve(pack(A), pack(wrench))
        else:
            units = (np.ones(len(axes)), np.ones(len(axes)))
            densities = eliminate(A, wrench, _order(self.mechanism), units).f
        listed = [d.gain * f + d.own for d, f in zip(self.demands, densities, strict=True)]
        return pack(listed)

    def _hinges(self) -> dict[int, Scalar]:
        """Friction of revolute joints between the legs at a point: moments on both of them."""
        robot = self.robot
        place = {form.name: k for k, form in enumerate(self.forms)}
        owner = {body: place[leg.name] for leg in robot.legs for body in leg.bodies}
        found: dict[int, Scalar] = {}
        for joint in robot.closures:
            if not (joint.at_point and joint.friction and self.counted.friction):
                continue
            one, two = (owner[body] for body in (joint.predecessor, joint.successor))
            behind, ahead = (hinge_side(self.mechanism, self.forms[k], joint) for k in (one, two))
            turns = [rods.turn(self.forms[k], self.moved[k].r, self.moved[k].v) for k in (one, two)]
            rate = ahead * turns[1] - behind * turns[0]
            effort = friction_along(joint.friction[0], rate, rate, self.counted)
            for k, side in ((one, -behind), (two, ahead)):
                found[k] = found[k] + side * effort if k in found else side * effort
        return found


def why_not(mechanism: Mechanism) -> str:
    """Why there is no model of a robot from what is measured on its legs; empty if there is one."""
    robot = mechanism.robot
    if robot.nacelle.joints:
        return "its nacelle has joints of its own"
    if mechanism.parasitic or mechanism.ny:
        return "its joints are found by iteration"
    if len(robot.actuators) != robot.motion.n or len(robot.legs) != robot.motion.n:
        return "it has not one leg and one actuator a motion"
    for joint in robot.closures:
        if joint.at_point and (any(joint.springs) or joint.rotor_inertia):
            return f"joint {joint.name} at the point has a spring or a rotor"
    try:
        read_legs(robot, mechanism)
    except UnreadError as reason:
        return str(reason)
    return ""


@lru_cache(maxsize=64)
def _lines(mechanism: Mechanism) -> Array:
    """B - A of all legs (samples, legs, 3) in poses around the reference."""
    robot, forms = mechanism.robot, read_legs(mechanism.robot, mechanism)
    motions = [mechanism.assembly.motion, *(motion for motion, _ in generic_poses(robot, mechanism.assembly))]
    listed = []
    for motion in motions:
        pose = motion.poses[PLATFORM]
        lines = []
        for form in forms:
            joint = robot.joints[robot.actuators[form.drive.number].joint]
            A = form.A
            if form.kind == "rod":
                carrier = motion.poses[joint.successor]
                A = carrier.p + carrier.R @ (joint.frame_successor.p + joint.frame_successor.R @ form.elbow)
            lines.append(pose.p + pose.R @ form.B - A)
        listed.append(lines)
    return np.array(listed, dtype=float)


@lru_cache(maxsize=64)
def _upright(mechanism: Mechanism) -> int:
    """The axis of the base that struts stand along best."""
    lines = _lines(mechanism)
    return first_largest(np.min(np.abs(lines) / np.linalg.norm(lines, axis=2, keepdims=True), axis=(0, 1)))


@lru_cache(maxsize=64)
def _order(mechanism: Mechanism) -> tuple[tuple[int, int], ...]:
    """Pivots that stand well apart in poses around the reference."""
    lines, forms = _lines(mechanism), read_legs(mechanism.robot, mechanism)
    up = _upright(mechanism)
    scale = np.stack(
        [lines[:, k, up] if form.kind == "strut" else np.ones(len(lines)) for k, form in enumerate(forms)],
        axis=1,
    )
    columns = lines / scale[:, :, None]
    axes = list(mechanism.robot.motion.twist_axes)
    return pivot_order(np.swapaxes(columns[:, :, axes], 1, 2))


def flat_axes(robot: Robot) -> tuple[int, ...]:
    """Axes of the base in which a robot's directions have components: two for a planar robot."""
    forms = read_legs(robot.numeric, mechanism_of(robot))
    if all(form.pivot == "R" for form in forms):
        k = first_largest(np.abs(np.asarray(forms[0].first, dtype=float)))
        return tuple(axis for axis in range(3) if axis != k)
    return (0, 1, 2)


def why_no_elements(mechanism: Mechanism) -> str:
    """Why a robot's forces do not follow from its elements alone; empty if they do."""
    robot = mechanism.robot
    if any(axis >= 3 for axis in robot.motion.twist_axes):
        return "its platform turns, and the elements of the legs do not tell how"
    return ""


def element_shapes(robot: Robot) -> dict[str, tuple[int, ...]]:
    """Names and shapes of the elements of all legs."""
    size = len(flat_axes(robot))
    shapes: dict[str, tuple[int, ...]] = {}
    for form in read_legs(robot.numeric, mechanism_of(robot)):
        if form.kind == "strut":
            shapes[f"{form.name}_strut"], shapes[f"{form.name}_length"] = (3, size), (3,)
        else:
            shapes |= {f"{form.name}_arm": (3, size)} if form.drive.turns else {f"{form.name}_slide": (3,)}
            shapes[f"{form.name}_rod"] = (3, size)
    return shapes


def _spread(robot: Robot, rows: Array) -> Array:
    """Directions with zeros where a planar robot has no components."""
    axes = flat_axes(robot)
    return pack([[row[axes.index(k)] if k in axes else 0.0 for k in range(3)] for row in rows])


def inverse_from_elements(
    robot: Robot, elements: dict[str, Array], counted: Counted | None = None, choice: Choice | None = None
) -> dict[str, Array]:
    """Actuator forces from the elements' state (`element_shapes`).

    Raises:
        KinematicsError: if the elements do not tell the whole motion.
    """
    reason = why_not(mechanism_of(robot)) or why_no_elements(mechanism_of(robot))
    if reason:
        raise KinematicsError(f"no model of {robot.name} from elements: {reason}")
    balance = _Balance(robot, counted or Counted(), choice or Choice())
    for k, form in enumerate(balance.forms):
        if form.kind == "strut":
            u, du, ddu = _spread(robot, elements[f"{form.name}_strut"])
            d, l_dot, l_ddot = (form.drive.side * value for value in elements[f"{form.name}_length"])
            l = d - form.drive.side * form.drive.zero
            r, v = l * u, l_dot * u + l * du
            balance.add_strut(k, r, v, l_ddot * u + 2.0 * l_dot * du + l * ddu)
            continue
        name = f"{form.name}_arm"
        drive = _spread(robot, elements[name]) if form.drive.turns else elements[f"{form.name}_slide"]
        balance.add_rod(k, from_elements(form, drive, _spread(robot, elements[f"{form.name}_rod"])))
    return {"force": balance.force()}


def why_no_encoders(mechanism: Mechanism) -> str:
    """Why a robot's pose does not follow from its actuators in closed form; empty if it does."""
    if not sphere.applies(mechanism):
        return "its pose does not follow from the actuators in closed form"
    forms = read_legs(mechanism.robot, mechanism)
    if any(form.kind != "rod" for form in forms):
        return "its legs are not rods on driven arms or sliders"
    return ""


def inverse_from_encoders(
    robot: Robot,
    q: Array,
    q_dot: Array,
    q_ddot: Array,
    counted: Counted | None = None,
    choice: Choice | None = None,
) -> dict[str, Array]:
    """Actuator forces from coordinates, rates and accelerations of the actuators.

    Raises:
        KinematicsError: if the pose does not follow from them in closed form.
    """
    mechanism = mechanism_of(robot)
    reason = why_not(mechanism) or why_no_encoders(mechanism)
    if reason:
        raise KinematicsError(f"no model of {robot.name} from encoders: {reason}")
    balance = _Balance(robot, counted or Counted(), choice or Choice())
    forms, R, axes = balance.forms, mechanism.assembly.platform.R, robot.motion.twist_axes
    arms = [_arm(form, q[form.drive.number]) for form in forms]
    # Where the platform's origin would stand for rods of no length.
    centres = [clean(form.A - product(R, form.B)) + A for form, A in zip(forms, arms, strict=True)]
    r = _rods_from(mechanism, forms, centres, axes)
    reach = [cross(f.axis, A) if f.drive.turns else f.axis for f, A in zip(forms, arms, strict=True)]
    levers = [dot(a, b) for a, b in zip(r, reach, strict=True)]
    inverse = _inverse_rows(r, axes)
    v = inverse(pack([lever * rate for lever, rate in zip(levers, q_dot, strict=True)]))
    rates = [v - rate * b for rate, b in zip(q_dot, reach, strict=True)]
    pushes = []
    for k, form in enumerate(forms):
        push = levers[k] * q_ddot[k] - dot(rates[k], rates[k])
        if form.drive.turns:
            push = push - (q_dot[k] * q_dot[k]) * dot(r[k], arms[k])
        pushes.append(push)
    a = inverse(pack(pushes))
    for k, form in enumerate(forms):
        balance.add_rod(k, from_drive(form, r[k], rates[k], a, arms[k], (q[k], q_dot[k], q_ddot[k])))
    return {"force": balance.force()}


def _arm(form: LegForm, q: Scalar) -> Array:
    """A from the centre of an arm's circle, or from A at q = 0."""
    if not form.drive.turns:
        return np.asarray(q * form.axis)
    start = (
        clean(form.arm * form.start, float(form.arm)) if form.start.dtype != object else form.arm * form.start
    )
    return np.asarray(cos(q) * start + sin(q) * clean(cross(form.axis, start), 1.0))


def _rods_from(
    mechanism: Mechanism, forms: list[LegForm], centres: list[Array], axes: tuple[int, ...]
) -> list[Array]:
    """The rods r_j = B_j - A_j from the centres of their spheres or circles; the root of the reference."""
    side = float(_side(mechanism))
    if len(axes) == 2:
        i, j = axes
        D = [centres[1][axis] - centres[0][axis] for axis in axes]
        square = D[0] * D[0] + D[1] * D[1]
        share = divide(1.0, square)
        L1, L2 = (form.length * form.length for form in forms)
        along = 0.5 + (0.5 * (L1 - L2)) * share
        across = side * sqrt(L1 * share - along * along)
        x, y = along * D[0] - across * D[1], along * D[1] + across * D[0]
        first: list[Scalar] = [0.0] * 3
        second: list[Scalar] = [0.0] * 3
        first[i], first[j], second[i], second[j] = x, y, x - D[0], y - D[1]
        return [pack(first), pack(second)]
    spheres = [(centre, form.length * form.length) for centre, form in zip(centres, forms, strict=True)]
    p, _ = sphere.three_spheres(spheres, int(side))
    return [np.asarray(p - centre) for centre in centres]


def _side(mechanism: Mechanism) -> int:
    """Which of the two points is that of the reference, legs in the order of the actuators."""
    robot = mechanism.robot
    forms = read_legs(robot, mechanism)
    if len(forms) == 3:
        return _spatial_side(mechanism, forms)
    pose = mechanism.assembly.platform
    i, j = robot.motion.twist_axes
    centres = []
    for form in forms:
        q = float(mechanism.assembly.q[robot.q_slices[robot.actuators[form.drive.number].joint]][0])
        centres.append(np.asarray(form.A + _arm(form, q) - product(pose.R, form.B), dtype=float))
    D, r = centres[1] - centres[0], pose.p - centres[0]
    return 1 if D[i] * r[j] - D[j] * r[i] > 0.0 else -1


def _spatial_side(mechanism: Mechanism, forms: list[LegForm]) -> int:
    robot, pose = mechanism.robot, mechanism.assembly.platform
    spheres = []
    for form in forms:
        q = float(mechanism.assembly.q[robot.q_slices[robot.actuators[form.drive.number].joint]][0])
        centre = np.asarray(form.A + _arm(form, q) - product(pose.R, form.B), dtype=float)
        spheres.append((centre, float(form.length * form.length)))
    found = {side: sphere.three_spheres(spheres, side)[0] for side in (1, -1)}
    return min(found, key=lambda side: float(np.max(np.abs(np.asarray(found[side], dtype=float) - pose.p))))


def _inverse_rows(r: list[Array], axes: tuple[int, ...]) -> Callable[[Array], Array]:
    """A function that solves r_j . v = b_j, with what does not depend on b done once."""
    if len(axes) == 2:
        i, j = axes
        one, two = r
        share = divide(1.0, one[i] * two[j] - one[j] * two[i])

        def flat(b: Array) -> Array:
            entries: list[Scalar] = [0.0] * 3
            first, second = b[0] * share, b[1] * share
            entries[i] = first * two[j] - second * one[j]
            entries[j] = second * one[i] - first * two[i]
            return pack(entries)

        return flat
    normals = [cross(r[1], r[2]), cross(r[2], r[0]), cross(r[0], r[1])]
    share = divide(1.0, dot(r[0], normals[0]))

    def spatial(b: Array) -> Array:
        scaled = [value * share for value in b]
        return np.asarray(sum(s * n for s, n in zip(scaled, normals, strict=True)))

    return spatial


def _counted(options: dict[str, Any]) -> tuple[Counted, Choice]:
    counted = Counted(bool(options.pop("friction", True)), options.pop("smooth", None))
    return counted, Choice(**options)


def inverse_dynamics_from_elements(robot: Robot, *arrays: Array, **options: Any) -> dict[str, Array]:
    """Actuator forces from the state of the kinematic elements (`element_shapes`)."""
    elements = dict(zip(element_shapes(robot), arrays, strict=True))
    return inverse_from_elements(robot, elements, *_counted(options))


def inverse_dynamics_from_encoders(robot: Robot, *arrays: Array, **options: Any) -> dict[str, Array]:
    """Actuator forces from coordinates, rates and accelerations of the actuators."""
    q, q_dot, q_ddot = arrays
    return inverse_from_encoders(robot, q, q_dot, q_ddot, *_counted(options))
