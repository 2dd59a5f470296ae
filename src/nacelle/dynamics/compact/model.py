"""Inverse dynamics in the smallest form."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from nacelle.dynamics.general.bars import rod as rods
from nacelle.dynamics.general.bars import strut as struts
from nacelle.dynamics.general.bars.demand import Counts, Demand, friction_along
from nacelle.dynamics.compact.equilibrium import balance, balance_flat, flat_anchors, rows
from nacelle.kinematics.bars.form import LegForm, UnreadError, alike_places, clean
from nacelle.dynamics.compact.masses import Masses, fit
from nacelle.dynamics.compact.points import (
    Platform,
    Point,
    body_moment,
    common_plane,
    moved_to,
    points,
    turning,
)
from nacelle.kinematics.bars.reading import read_legs
from nacelle.kinematics.general.solve import Solved, pivot_order
from nacelle.kinematics.general.vectors import is_zero
from nacelle.kinematics.mechanism import Mechanism, mechanism
from nacelle.kinematics.mobility import generic_poses
from nacelle.model.joint import Joint
from nacelle.model.leg import PLATFORM
from nacelle.model.loaded import body_parameters
from nacelle.model.robot import Robot
from nacelle.spatial.inertia import inertia_matrix, transform_parameters
from nacelle.spatial.rounding import first_largest
from nacelle.spatial.scalar import Array, Scalar, at_sample, cross, divide, dot, minimum, pack, plus, product


@dataclass(frozen=True)
class Choice:
    """How the smallest form is written for a robot.

    Attributes:
        platform: "masses" (at the legs' ends) or "body".
        flat: whether the rows of anchors in a plane are eliminated beforehand.
        turned: whether legs are written in axes of their own where that saves products.
        pole: the leg at whose end moments are taken; -1 for the platform's origin.
        cramer: whether up to three unknowns are solved for by Cramer's rule.
    """

    platform: str = "masses"
    flat: bool = True
    turned: bool = True
    pole: int = -1
    cramer: bool = False


@lru_cache(maxsize=64)
def applies(known: Mechanism) -> str:
    """Why the smallest form does not serve a robot; empty if it does."""
    robot = known.robot
    if robot.nacelle.joints:
        return "its nacelle has joints of its own"
    if known.parasitic or known.ny:
        return "its joints are found by iteration"
    if len(robot.actuators) != robot.motion.n or len(robot.legs) != robot.motion.n:
        return "it has not one leg and one actuator a motion"
    turns = [k for k in robot.motion.twist_axes if k >= 3]
    if len(turns) == 2:
        return "it turns about two axes"
    for joint in robot.closures:
        if joint.at_point and (any(joint.springs) or joint.rotor_inertia):
            return f"joint {joint.name} at the point has a spring or a rotor"
    try:
        read_legs(robot, known)
    except UnreadError as reason:
        return str(reason)
    return ""


def turned(form: LegForm, Q: Array) -> LegForm:
    """A leg seen from turned axes."""
    if np.array_equal(Q, np.eye(3)):
        return form
    return replace(
        form,
        axis=clean(product(Q.T, form.axis)),
        start=product(Q.T, form.start),
        first=clean(product(Q.T, form.first)),
    )


@dataclass(frozen=True)
class Legs:
    """The legs of a robot as the smallest form reads them, and the platform told of the pole."""

    forms: list[LegForm]
    numbers: list[LegForm]
    masses: Masses | None
    pole: Array
    platform: Platform
    ends: list[Point]

    @property
    def at_ends(self) -> Array:
        """Masses of the platform at the legs' ends."""
        return np.zeros(len(self.forms)) if self.masses is None else self.masses.at_ends

    @property
    def geared(self) -> bool:
        """Whether the inertia of struts' rotors is among the masses at the ends."""
        return self.masses is not None

    def moved(self, platform: Platform, ends: list[Point]) -> Legs:
        """The same legs with another motion."""
        return replace(self, platform=platform, ends=ends)

    def demands(self, robot: Robot, counts: Counts, choice: Choice) -> list[Demand]:
        """What the legs ask for at the motion of their ends."""
        known = mechanism(robot)
        up, gravity = upright(known), np.asarray(robot.gravity)
        found = [
            demand_of(form, number, end, gravity, self.platform.w, mass, up, counts, choice, self.geared)
            for form, number, end, mass in zip(self.forms, self.numbers, self.ends, self.at_ends, strict=True)
        ]
        return joined(robot, self.forms, found, counts)


def read(robot: Robot, platform: Platform, choice: Choice, *, still_pole: bool = False) -> Legs:
    """Read the legs, and tell the platform's motion of the pole, with `still_pole` without acceleration."""
    known = mechanism(robot)
    forms, numbers = read_legs(robot, known), read_legs(robot.numeric, known)
    places = alike_places([clean(form.B) for form in forms])
    masses = _masses(robot, forms, places) if choice.platform == "masses" else None
    pole: Array = np.zeros(3)
    if choice.pole >= 0 and robot.platform_nv == 6:
        pole = places[choice.pole]
        platform = moved_to(platform, pole)
        if still_pole:
            platform = platform._replace(a=np.zeros(3))
        places = alike_places([place - pole for place in places])
    plane = common_plane(np.array([form.B for form in numbers], dtype=float))
    return Legs(forms, numbers, masses, pole, platform, points(platform, places, plane))


def inverse(
    robot: Robot,
    platform: Platform,
    load: Array | None = None,
    counts: Counts | None = None,
    choice: Choice | None = None,
) -> dict[str, Array | Scalar]:
    """Actuator forces for a motion of the platform.

    Args:
        robot: the robot; its numbers may be symbols.
        platform: how its platform moves.
        load: force along the reduced twist (n,) from outside; none if None.
        counts: what counts.
        choice: how the form is written.

    Returns:
        "force" (actuators,), "pivot" and "gates".
    """
    counts, choice = counts or Counts(), choice or Choice()
    legs = read(robot, platform, choice)
    return finish(robot, legs, legs.demands(robot, counts, choice), load, choice, platform)


def read_still(robot: Robot, choice: Choice) -> Legs:
    """Read the legs of a robot that does not turn; its motion is put in later."""
    pose = mechanism(robot).assembly.platform
    still = np.zeros(3)
    return read(robot, Platform(pose.R, pose.p, still, still, still, still), choice)


def finish(
    robot: Robot,
    legs: Legs,
    demands: list[Demand],
    load: Array | None,
    choice: Choice,
    told: Platform | None = None,
) -> dict[str, Array | Scalar]:
    """The platform's equilibrium, and the actuators' forces from it."""
    platform = legs.platform if told is None else told
    force, moment = platform_wrench(robot, legs)
    solved = _solve(robot, legs, demands, force, moment, load, platform, choice)
    result = [demand.gain * f + demand.own for demand, f in zip(demands, solved.f, strict=True)]
    pivot = pivot_of(robot, legs, demands, solved.pivot)
    return {"force": pack(result), "pivot": pivot, "gates": gates_of(demands)}


def pivot_of(robot: Robot, legs: Legs, demands: list[Demand], pivot: Scalar = 1.0) -> Scalar:
    """The smallest of a solve's pivot and of the struts' figures.

    A strut counts by its height: where it lies across the upright axis, that is as weak as a pivot.
    """
    up = upright(mechanism(robot))
    for form, demand in zip(legs.forms, demands, strict=True):
        if form.kind == "strut":
            pivot = minimum(pivot, demand.r[up] * demand.r[up] * divide(1.0, dot(demand.r, demand.r)))
    return pivot


def gates_of(demands: list[Demand]) -> Array:
    """The smallest gate of each leg."""
    found: list[Scalar] = []
    for demand in demands:
        gate: Scalar = 1.0
        for k, value in enumerate(demand.gates):
            gate = value if k == 0 else minimum(gate, value)
        found.append(gate)
    return pack(found)


def _masses(robot: Robot, forms: list[LegForm], places: list[Array]) -> Masses | None:
    """The platform as masses; None where its numbers are symbols, for which they are not searched."""
    turns = tuple(k - 3 for k in robot.motion.twist_axes if k >= 3)
    parameters = augmented(robot, forms, geared=True)
    if any(array.dtype == object for array in (parameters, *places)):
        return None
    if robot.platform_nv == 3:
        turns = ()
    ends = np.array(places)
    if len(turns) == 1:
        # The axis of the turn is one of the base: seen from axes that turn with the platform but start there.
        R = mechanism(robot).chart.turned_from
        ends, parameters = ends @ R.T, transform_parameters(R, np.zeros(3), parameters)
    return fit(ends, parameters, turns, robot.numeric.size)


def augmented(robot: Robot, forms: list[LegForm], *, geared: bool = False) -> Array:
    """Ten parameters of the platform with the masses that move with it; `geared`: with struts' rotors."""
    total = body_parameters(robot, PLATFORM)
    for form in forms:
        if form.kind == "strut":
            m, b = struts.end_mass(form), form.B
            m = m + rods.rotor(form) if geared else m
            square = m * (dot(b, b) * np.eye(3) - np.outer(b, b))
            total = total + np.concatenate([pack([m]), m * b, square[(0, 0, 1, 0, 1, 2), (0, 1, 1, 2, 2, 2)]])
    return np.asarray(total)


def demand_of(
    form: LegForm,
    number: LegForm,
    end: Point,
    gravity: Array,
    w_platform: Array,
    mass: Scalar,
    up: int,
    counts: Counts,
    choice: Choice,
    geared: bool,
) -> Demand:
    """What a leg asks for at the motion of its end, base axes; `geared` as for `strut`."""
    Q = form.own_axes if choice.turned else np.eye(3)
    if Q[up, up] != 1.0 and form.kind == "strut":
        Q = np.eye(3)
    own = np.array_equal(Q, np.eye(3))

    def into(vector: Array) -> Array:
        return vector if own else product(Q.T, vector)

    local = form if own else turned(form, Q)
    r = end.p - clean(form.A)
    v, a, g = into(end.v), into(end.a), (gravity if own else clean(product(Q.T, gravity)))
    w = into(w_platform)
    if form.kind == "strut":
        demand = struts.strut(local, number, into(r), v, a, g, w, mass, up, counts, geared=geared)
    else:
        # In turned axes the anchor may have fewer coordinates.
        u = r if own else into(end.p) - clean(product(Q.T, form.A), float(np.max(np.abs(number.A))))
        demand = rods.rod(local, number, rods.from_end(local, number, u, v, a, counts), g, w, mass, counts)
    if own:
        return demand
    if form.kind == "strut":
        column = pack([1.0 if k == up else r[k] * demand.scale for k in range(3)])
    else:
        column = product(Q, demand.r)
    return replace(demand, r=column, G=product(Q, demand.G), moment=product(Q, demand.moment))


def joined(robot: Robot, forms: list[LegForm], demands: list[Demand], counts: Counts) -> list[Demand]:
    """Friction of hinges between the legs at a point: a moment on one rod, and its opposite on the other."""
    owner = {body: k for k, leg in enumerate(robot.legs) for body in leg.bodies}
    place = {form.name: k for k, form in enumerate(forms)}
    demands = list(demands)
    for joint in robot.closures:
        if not (joint.at_point and joint.friction and counts.friction):
            continue
        two, one = (place[robot.legs[owner[body]].name] for body in (joint.successor, joint.predecessor))
        ahead, behind = (_hinge_side(robot, forms[k], joint) for k in (two, one))
        rate = ahead * demands[two].turn - behind * demands[one].turn
        effort = friction_along(joint.friction[0], rate, rate, counts)
        for k, sign in ((two, ahead), (one, -behind)):
            demands[k] = replace(demands[k], G=demands[k].G + (sign * effort) * demands[k].lean)
    return demands


def _hinge_side(robot: Robot, form: LegForm, joint: Joint) -> float:
    """1 if a hinge's axis points along the axis of a leg, which is parallel to it, else -1."""
    pose = mechanism(robot).assembly.motion.poses[joint.predecessor]
    axis = product(pose.R, robot.numeric.joints[robot.joint(joint.name)].frame_predecessor.R[:, 2])
    return 1.0 if float(axis @ at_sample(form.first)) > 0.0 else -1.0


def platform_wrench(robot: Robot, legs: Legs) -> tuple[Array, Array]:
    """Inertia and weight of the platform about the pole, without what is counted at the legs' ends."""
    forms, platform, pole, masses = legs.forms, legs.platform, legs.pole, legs.masses
    gravity = np.asarray(robot.gravity)
    g = platform.a - gravity
    if robot.platform_nv == 3:
        mass = augmented(robot, forms)[0] if masses is None else masses.mass
        return (np.zeros(3) if is_zero(mass) else mass * g), np.zeros(3)
    W = turning(platform.w, platform.dw)
    if masses is not None:
        force: Array = np.zeros(3)
        moment: Array = np.zeros(3)
        if masses.mass:
            d = product(platform.R, masses.place - pole)
            force = masses.mass * (g + W @ d)
            moment = cross(d, force)
        if masses.even:
            moment = moment + (2.0 * masses.even) * platform.dw
        return force, moment
    p = augmented(robot, forms)
    mass, first = p[0], p[1:4]
    # A platform without mass has no centre, and none is needed.
    place = np.zeros(3) if is_zero(mass) else first / mass
    size = robot.numeric.size
    d = product(platform.R, plus(clean(place, size), -pole))
    force = mass * (g + W @ d)
    I = inertia_matrix(p)
    S = 0.5 * (I[0, 0] + I[1, 1] + I[2, 2]) * np.eye(3) - I - mass * np.outer(place, place)
    even = S[0, 0]
    rest = S - even * np.eye(3)
    rest = clean(rest, max(float(np.max(np.abs(at_sample(I)))), float(at_sample(mass)) * size * size))
    moment = cross(d, force) + (2.0 * even) * platform.dw + body_moment(W, platform.R, rest)
    return force, moment


def _solve(
    robot: Robot,
    legs: Legs,
    demands: list[Demand],
    force: Array,
    moment: Array,
    load: Array | None,
    told: Platform,
    choice: Choice,
) -> Solved:
    """Force densities from the platform's equilibrium."""
    known, axes = mechanism(robot), robot.motion.twist_axes
    forms, ends, platform = legs.forms, legs.ends, legs.platform
    constant = choice.flat and all(form.kind == "strut" for form in forms)
    total = force
    for demand in demands:
        total = total + demand.G
    flat = (
        flat_anchors(np.array([form.A for form in legs.numbers], dtype=float))
        if constant and len(axes) == 6
        else None
    )
    outside_f = np.zeros(3) if load is None else _outside(load, axes, 0)
    outside_n = np.zeros(3) if load is None else _outside(load, axes, 3)
    if load is not None and choice.pole >= 0:
        outside_n = outside_n + cross(told.p - platform.p, outside_f)
    if flat is not None and int(np.argmax(flat)) == upright(known):
        normal = int(np.argmax(flat))
        O = pack([forms[0].A[k] if k == normal else 0.0 for k in range(3)])
        arm = platform.p - O
        sum_n = moment + cross(arm, force)
        for demand, end in zip(demands, ends, strict=True):
            sum_n = sum_n + cross(end.p - O, demand.G) + demand.moment
        if load is not None:
            sum_n = sum_n - outside_n - cross(arm, outside_f)
        anchors = np.array([form.A - O for form in forms])
        solved = balance_flat(anchors, [d.r for d in demands], total - outside_f, sum_n, normal)
        return Solved(solved.f, solved.pivot * _reference(known, choice, True))
    sum_n = moment
    if any(k >= 3 for k in axes):
        for demand, end in zip(demands, ends, strict=True):
            sum_n = sum_n + cross(end.d, demand.G) + demand.moment
        sum_n = sum_n - outside_n
    wrench = rows(total - outside_f, sum_n, axes)
    columns = [rows(d.r, cross(end.d, d.r), axes) for d, end in zip(demands, ends, strict=True)]
    if choice.cramer and len(axes) <= 3:
        solved = balance(columns, wrench, None, _units(robot, legs.numbers))
        return Solved(solved.f, solved.pivot * _reference(known, choice, False))
    return balance(columns, wrench, _order(known, choice.pole), _units(robot, legs.numbers))


@lru_cache(maxsize=256)
def _reference(known: Mechanism, choice: Choice, flat: bool) -> float:
    """What makes the size of a determinant 1 in the reference pose."""
    robot, zero = known.robot, np.zeros(3)
    forms, legs = read_legs(robot, known), _directions(known)[0]
    up = upright(known)
    columns = [r / r[up] if kind == "strut" else r for kind, r, _ in legs]
    if flat:
        anchors = np.array([form.A for form in forms], dtype=float)
        anchors[:, up] = 0.0
        found = balance_flat(anchors, columns, zero, zero, up).pivot
    else:
        pole = legs[choice.pole][2] if choice.pole >= 0 else 0.0
        axes = robot.motion.twist_axes
        rows_ = [rows(c, cross(d - pole, c), axes) for c, (_, _, d) in zip(columns, legs, strict=True)]
        found = balance(rows_, np.zeros(len(axes)), None, _units(robot, forms)).pivot
    return 1.0 / max(float(found), 1e-12)


def _units(robot: Robot, forms: list[LegForm]) -> tuple[Array, Array]:
    """What a row and a column of the equilibrium count without units: moments in the robot's size."""
    size = robot.numeric.size
    row = np.array([1.0 if k < 3 else size for k in robot.motion.twist_axes])
    column = np.array([1.0 if form.kind == "strut" else float(form.length) for form in forms])
    return row, column


def _outside(load: Array, axes: tuple[int, ...], start: int) -> Array:
    entries: list[Scalar] = [0.0] * 3
    for value, k in zip(load, axes, strict=True):
        if start <= k < start + 3:
            entries[k - start] = value
    return pack(entries)


@lru_cache(maxsize=256)
def _order(known: Mechanism, pole: int) -> tuple[tuple[int, int], ...]:
    """Pivots that stand well apart in poses around the reference."""
    robot = known.robot
    up = upright(known)
    samples = []
    for legs in _directions(known):
        columns = []
        for kind, r, d in legs:
            lever = d - (legs[pole][2] if pole >= 0 else 0.0)
            column = r / r[up] if kind == "strut" else r
            columns.append(rows(column, cross(lever, column), robot.motion.twist_axes))
        samples.append(np.stack(columns, axis=1))
    return pivot_order(np.array(samples))


@lru_cache(maxsize=64)
def _directions(known: Mechanism) -> list[list[tuple[str, Array, Array]]]:
    """In poses around the reference, for each leg its kind, r and the lever of its end."""
    robot = known.robot
    forms = read_legs(robot, known)
    motions = [known.assembly.motion, *(motion for motion, _ in generic_poses(robot, known.assembly))]
    found = []
    for motion in motions:
        pose = motion.poses[PLATFORM]
        still = np.zeros(3)
        ends = points(Platform(pose.R, pose.p, still, still, still, still), [form.B for form in forms], None)
        legs = []
        for form, end in zip(forms, ends, strict=True):
            u = end.p - form.A
            if form.kind == "rod":
                u = rods.placed(form, u).r
            legs.append((form.kind, u, end.d))
        found.append(legs)
    return found


@lru_cache(maxsize=64)
def upright(known: Mechanism) -> int:
    """The axis of the base that struts stand along best: none of them ever lies across it."""
    struts_r = [r for legs in _directions(known) for kind, r, _ in legs if kind == "strut"]
    if not struts_r:
        return 2
    return steepest(np.array(struts_r))


def steepest(r: Array) -> int:
    """The axis to which directions (N, 3) of floats are never nearly square, as far as that can be."""
    return first_largest(np.min(np.abs(r) / np.linalg.norm(r, axis=1, keepdims=True), axis=0))
