"""The smallest form from other inputs than the platform's pose: kinematic elements, or encoders.

Elements ([OAM] (66), (67)): directions of arms and rods with their first and second derivatives, and lengths
of slides and struts with theirs, as a camera sees them. Encoders: coordinates, rates and accelerations of the
actuators, where the pose follows from them in closed form.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from nacelle.dynamics.general.bars import rod as rods
from nacelle.dynamics.general.bars.demand import Counts, Demand
from nacelle.kinematics.bars.form import LegForm, clean
from nacelle.dynamics.compact.model import Choice, finish, joined, read_still, upright
from nacelle.dynamics.compact.points import Point
from nacelle.kinematics.bars.reading import read_legs
from nacelle.dynamics.general.bars.strut import strut
from nacelle.errors import KinematicsError
from nacelle.kinematics import sphere
from nacelle.kinematics.mechanism import Mechanism, mechanism
from nacelle.model.robot import Robot
from nacelle.spatial.rounding import first_largest
from nacelle.spatial.scalar import Array, Scalar, cos, cross, divide, dot, pack, product, sin, sqrt


def flat_axes(robot: Robot) -> tuple[int, ...]:
    """Axes of the base in which a robot's directions have components: two for a planar robot."""
    forms = read_legs(robot.numeric, mechanism(robot))
    if all(form.pivot == "R" for form in forms):
        k = first_largest(np.abs(np.asarray(forms[0].first, dtype=float)))
        return tuple(axis for axis in range(3) if axis != k)
    return (0, 1, 2)


def why_no_elements(known: Mechanism) -> str:
    """Why a robot's forces do not follow from its elements alone; empty if they do."""
    robot = known.robot
    if any(axis >= 3 for axis in robot.motion.twist_axes):
        return "its platform turns, and the elements of the legs do not tell how"
    return ""


def element_shapes(robot: Robot) -> dict[str, tuple[int, ...]]:
    """Names and shapes of the elements of all legs."""
    size = len(flat_axes(robot))
    shapes: dict[str, tuple[int, ...]] = {}
    for form in read_legs(robot.numeric, mechanism(robot)):
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
    robot: Robot, elements: dict[str, Array], counts: Counts | None = None, choice: Choice | None = None
) -> dict[str, Array | Scalar]:
    """Actuator forces from the elements' state (`element_shapes`).

    Raises:
        KinematicsError: if the elements do not tell the whole motion.
    """
    counts, choice = counts or Counts(), choice or Choice()
    known = mechanism(robot)
    reason = why_no_elements(known)
    if reason:
        raise KinematicsError(f"no model of {robot.name} from elements: {reason}")
    legs = read_still(robot, choice)
    gravity, up, still = np.asarray(robot.gravity), upright(known), np.zeros(3)
    demands: list[Demand] = []
    ends: list[Point] = []
    for form, number, mass in zip(legs.forms, legs.numbers, legs.at_ends, strict=True):
        if form.kind == "strut":
            u, du, ddu = _spread(robot, elements[f"{form.name}_strut"])
            d, dd, ddd = elements[f"{form.name}_length"]
            l, l_dot, l_ddot = (
                form.drive.side * (d - form.drive.zero),
                form.drive.side * dd,
                form.drive.side * ddd,
            )
            r, v = l * u, l_dot * u + l * du
            a = l_ddot * u + 2.0 * l_dot * du + l * ddu
            demands.append(strut(form, number, r, v, a, gravity, still, mass, up, counts, geared=legs.geared))
            acceleration = a
        else:
            name = f"{form.name}_arm"
            drive = _spread(robot, elements[name]) if form.drive.turns else elements[f"{form.name}_slide"]
            moved = rods.from_elements(form, drive, _spread(robot, elements[f"{form.name}_rod"]))
            demands.append(rods.rod(form, number, moved, gravity, still, mass, counts))
            acceleration = moved.a2
        ends.append(Point(still, still, still, acceleration))
    # All ends accelerate as the platform does; the first leg tells it.
    platform = legs.platform._replace(a=ends[0].a)
    return finish(robot, legs.moved(platform, ends), joined(robot, legs.forms, demands, counts), None, choice)


def why_no_encoders(known: Mechanism) -> str:
    """Why a robot's pose does not follow from its actuators in closed form; empty if it does."""
    if not sphere.applies(known):
        return "its pose does not follow from the actuators in closed form"
    forms = read_legs(known.robot, known)
    if any(form.kind != "rod" for form in forms):
        return "its legs are not rods on driven arms or sliders"
    return ""


def inverse_from_encoders(
    robot: Robot,
    q: Array,
    q_dot: Array,
    q_ddot: Array,
    counts: Counts | None = None,
    choice: Choice | None = None,
) -> dict[str, Array | Scalar]:
    """Actuator forces from coordinates, rates and accelerations of the actuators.

    Raises:
        KinematicsError: if the pose does not follow from them in closed form.
    """
    counts, choice = counts or Counts(), choice or Choice()
    known = mechanism(robot)
    reason = why_no_encoders(known)
    if reason:
        raise KinematicsError(f"no model of {robot.name} from encoders: {reason}")
    legs = read_still(robot, choice)
    R = legs.platform.R
    gravity, still = np.asarray(robot.gravity), np.zeros(3)
    axes = robot.motion.twist_axes
    arms = [_arm(form, q[form.drive.number]) for form in legs.forms]
    # Where the platform's origin would stand for rods of no length.
    centres = [clean(form.A - product(R, form.B)) + A for form, A in zip(legs.forms, arms, strict=True)]
    r = _rods_from(known, legs.forms, centres, axes)
    reach = [cross(f.axis, A) if f.drive.turns else f.axis for f, A in zip(legs.forms, arms, strict=True)]
    levers = [dot(a, b) for a, b in zip(r, reach, strict=True)]
    inverse = _inverse_rows(r, axes)
    v = inverse(pack([lever * rate for lever, rate in zip(levers, q_dot, strict=True)]))
    rates = [v - rate * b for rate, b in zip(q_dot, reach, strict=True)]
    pushes = []
    for k, form in enumerate(legs.forms):
        push = levers[k] * q_ddot[k] - dot(rates[k], rates[k])
        if form.drive.turns:
            push = push - (q_dot[k] * q_dot[k]) * dot(r[k], arms[k])
        pushes.append(push)
    a = inverse(pack(pushes))
    demands = []
    for k, (form, number, mass) in enumerate(zip(legs.forms, legs.numbers, legs.at_ends, strict=True)):
        moved = rods.from_drive(form, r[k], rates[k], a, arms[k], q[k], q_dot[k], q_ddot[k])
        demands.append(rods.rod(form, number, moved, gravity, still, mass, counts))
    ends = [Point(still, still, v, a) for _ in demands]
    platform = legs.platform._replace(v=v, a=a)
    return finish(robot, legs.moved(platform, ends), joined(robot, legs.forms, demands, counts), None, choice)


def _arm(form: LegForm, q: Scalar) -> Array:
    """A from the centre of an arm's circle, or from A at q = 0."""
    if not form.drive.turns:
        return np.asarray(q * form.axis)
    start = (
        clean(form.arm * form.start, float(form.arm)) if form.start.dtype != object else form.arm * form.start
    )
    return np.asarray(cos(q) * start + sin(q) * clean(cross(form.axis, start), 1.0))


def _rods_from(
    known: Mechanism, forms: list[LegForm], centres: list[Array], axes: tuple[int, ...]
) -> list[Array]:
    """The rods r_j = B_j - A_j from the centres of their spheres or circles; the root of the reference."""
    side = float(_side(known))
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


def _side(known: Mechanism) -> int:
    """Which of the two points is that of the reference, legs in the order of the actuators."""
    robot = known.robot
    forms = read_legs(robot, known)
    if len(forms) == 3:
        return _spatial_side(known, forms)
    pose = known.assembly.platform
    i, j = robot.motion.twist_axes
    centres = []
    for form in forms:
        q = float(known.assembly.q[robot.q_slices[robot.actuators[form.drive.number].joint]][0])
        centres.append(np.asarray(form.A + _arm(form, q) - product(pose.R, form.B), dtype=float))
    D, r = centres[1] - centres[0], pose.p - centres[0]
    return 1 if D[i] * r[j] - D[j] * r[i] > 0.0 else -1


def _spatial_side(known: Mechanism, forms: list[LegForm]) -> int:
    robot, pose = known.robot, known.assembly.platform
    spheres = []
    for form in forms:
        q = float(known.assembly.q[robot.q_slices[robot.actuators[form.drive.number].joint]][0])
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
