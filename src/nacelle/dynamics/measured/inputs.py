"""Inverse dynamics from other inputs than the platform's pose: kinematic elements, or encoders.

Elements ([OAM] (66), (67)): the direction x (3,) of an arm or rod of length L with x', x'', as a camera sees
them, and lengths l of sliders and struts with l', l''. Differentiated, the line r = B - A of a leg is

    rod     r = L x,     r' = L x',           r'' = L x''
    strut   r = l x,     r' = l' x + l x',    r'' = l'' x + 2 l' x' + l x''

and A moves with its arm or slider. Encoders: q, q', q'' of the actuators, where the pose follows from them in
closed form (`spheres`). The rods' constant lengths, r . r = L^2, then give the platform's v and a (3,) from
two linear systems with rows r_j (c_j = dA_j/dq_j):

    r_j . v = (r_j . c_j) q_j',      r_j . a = r_j . (c_j q_j'' + c_j' q_j') - |v - c_j q_j'|^2

The platform does not turn: its balance (`platform`) has three rows at most, one for each direction that it
moves along. Base axes; m, m/s, m/s^2 and rad/s.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from nacelle.dynamics.general.required import Counted
from nacelle.dynamics.measured.platform import Choice, PlatformBalance
from nacelle.dynamics.measured.rod import from_drive, from_elements
from nacelle.errors import KinematicsError
from nacelle.kinematics.bars.form import LegForm, UnreadError, clean
from nacelle.kinematics.bars.reading import read_legs
from nacelle.kinematics.forward import spheres as sphere
from nacelle.kinematics.mechanism.mechanism import Mechanism, mechanism_of
from nacelle.model.robot import Robot
from nacelle.spatial.rounding import first_largest
from nacelle.spatial.scalar import Array, Scalar, cos, cross, divide, dot, pack, product, sin, sqrt


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
        read_legs(robot)
    except UnreadError as reason:
        return str(reason)
    return ""


def flat_axes(robot: Robot) -> tuple[int, ...]:
    """Axes of the base in which a robot's directions have components: two for a planar robot."""
    forms = read_legs(robot.numeric)
    if all(form.joint_at_a == "R" for form in forms):
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
    for form in read_legs(robot.numeric):
        if form.kind == "strut":
            shapes[f"{form.name}_strut"], shapes[f"{form.name}_length"] = (3, size), (3,)
        else:
            shapes |= {f"{form.name}_arm": (3, size)} if form.drive.revolute else {f"{form.name}_slide": (3,)}
            shapes[f"{form.name}_rod"] = (3, size)
    return shapes


def _spread(robot: Robot, rows: Array) -> Array:
    """Directions with zeros where a planar robot has no components."""
    axes = flat_axes(robot)
    return pack([[row[axes.index(k)] if k in axes else 0.0 for k in range(3)] for row in rows])


def inverse_dynamics_from_elements(robot: Robot, *arrays: Array, **options: Any) -> dict[str, Array]:
    """Actuator forces (actuators,), N or N m, from the kinematic elements, in the order of `element_shapes`.

    Args:
        robot: the robot.
        arrays: directions and lengths, each with its first and second derivative.
        options: "friction" and "smooth", and those of `Choice`.

    Raises:
        KinematicsError: if the elements do not determine the whole motion.
    """
    mechanism = mechanism_of(robot)
    reason = why_not(mechanism) or why_no_elements(mechanism)
    if reason:
        raise KinematicsError(f"no model of {robot.name} from elements: {reason}")
    elements = dict(zip(element_shapes(robot), arrays, strict=True))
    balance = PlatformBalance(robot, *_counted(options))
    for k, form in enumerate(balance.forms):
        if form.kind == "strut":
            u, du, ddu = _spread(robot, elements[f"{form.name}_strut"])
            d, l_dot, l_ddot = (form.drive.side * value for value in elements[f"{form.name}_length"])
            l = d - form.drive.side * form.drive.zero
            r, v = l * u, l_dot * u + l * du
            balance.add_strut(k, r, v, l_ddot * u + 2.0 * l_dot * du + l * ddu)
            continue
        name = f"{form.name}_arm"
        drive = _spread(robot, elements[name]) if form.drive.revolute else elements[f"{form.name}_slide"]
        balance.add_rod(k, from_elements(form, drive, _spread(robot, elements[f"{form.name}_rod"])))
    return {"force": balance.force()}


def why_no_encoders(mechanism: Mechanism) -> str:
    """Why a robot's pose does not follow from its actuators in closed form; empty if it does."""
    if not sphere.applies(mechanism):
        return "its pose does not follow from the actuators in closed form"
    forms = read_legs(mechanism.robot)
    if any(form.kind != "rod" for form in forms):
        return "its legs are not rods on driven arms or sliders"
    return ""


def inverse_dynamics_from_encoders(robot: Robot, *arrays: Array, **options: Any) -> dict[str, Array]:
    """Actuator forces (actuators,), N or N m, from q, q_dot and q_ddot (actuators,) of the actuators.

    With c_j = dA_j/dq_j, the rods' constant lengths give the platform's motion:

        r_j . v = (r_j . c_j) q_j'      r_j . a = (r_j . c_j) q_j'' + r_j . c_j' q_j' - |v - c_j q_j'|^2

    Args:
        robot: the robot.
        arrays: q, q_dot, q_ddot.
        options: "friction" and "smooth", and those of `Choice`.

    Raises:
        KinematicsError: if the pose does not follow from them in closed form.
    """
    mechanism = mechanism_of(robot)
    reason = why_not(mechanism) or why_no_encoders(mechanism)
    if reason:
        raise KinematicsError(f"no model of {robot.name} from encoders: {reason}")
    q, q_dot, q_ddot = arrays
    balance = PlatformBalance(robot, *_counted(options))
    forms, R, axes = balance.forms, mechanism.assembly.platform.R, robot.motion.twist_axes
    arms = [_arm(form, q[form.drive.number]) for form in forms]
    # Where the platform's origin would be for rods of no length.
    centres = [clean(form.A - product(R, form.B)) + A for form, A in zip(forms, arms, strict=True)]
    r = _rods_from(mechanism, forms, centres, axes)
    reach = [cross(f.axis, A) if f.drive.revolute else f.axis for f, A in zip(forms, arms, strict=True)]
    levers = [dot(a, b) for a, b in zip(r, reach, strict=True)]
    inverse = _inverse_rows(r, axes)
    v = inverse(pack([lever * rate for lever, rate in zip(levers, q_dot, strict=True)]))
    rates = [v - rate * b for rate, b in zip(q_dot, reach, strict=True)]
    pushes = []
    for k, form in enumerate(forms):
        push = levers[k] * q_ddot[k] - dot(rates[k], rates[k])
        if form.drive.revolute:
            push = push - (q_dot[k] * q_dot[k]) * dot(r[k], arms[k])
        pushes.append(push)
    a = inverse(pack(pushes))
    for k, form in enumerate(forms):
        balance.add_rod(k, from_drive(form, r[k], rates[k], a, arms[k], (q[k], q_dot[k], q_ddot[k])))
    return {"force": balance.force()}


def _arm(form: LegForm, q: Scalar) -> Array:
    """A from the centre of an arm's circle, or from A at q = 0."""
    if not form.drive.revolute:
        return np.asarray(q * form.axis)
    start = form.carriage.arm * form.carriage.start
    if start.dtype != object:
        start = clean(start, float(form.carriage.arm))
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
        reciprocal = divide(1.0, square)
        L1, L2 = (form.length * form.length for form in forms)
        along = 0.5 + (0.5 * (L1 - L2)) * reciprocal
        across = side * sqrt(L1 * reciprocal - along * along)
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
    robot, pose = mechanism.robot, mechanism.assembly.platform
    forms, centres = read_legs(robot), []
    for form in forms:
        q = float(mechanism.assembly.q[robot.q_slices[robot.actuators[form.drive.number].joint]][0])
        centres.append(np.asarray(form.A + _arm(form, q) - product(pose.R, form.B), dtype=float))
    if len(forms) == 3:
        spheres = [(c, float(form.length * form.length)) for c, form in zip(centres, forms, strict=True)]
        points = {side: np.asarray(sphere.three_spheres(spheres, side)[0], dtype=float) for side in (1, -1)}
        return min(points, key=lambda side: float(np.max(np.abs(points[side] - pose.p))))
    i, j = robot.motion.twist_axes
    D, r = centres[1] - centres[0], pose.p - centres[0]
    return 1 if D[i] * r[j] - D[j] * r[i] > 0.0 else -1


def _inverse_rows(r: list[Array], axes: tuple[int, ...]) -> Callable[[Array], Array]:
    """A function that solves r_j . v = b_j, with what does not depend on b done once."""
    if len(axes) == 2:
        i, j = axes
        one, two = r
        reciprocal = divide(1.0, one[i] * two[j] - one[j] * two[i])

        def flat(b: Array) -> Array:
            entries: list[Scalar] = [0.0] * 3
            first, second = b[0] * reciprocal, b[1] * reciprocal
            entries[i] = first * two[j] - second * one[j]
            entries[j] = second * one[i] - first * two[i]
            return pack(entries)

        return flat
    normals = [cross(r[1], r[2]), cross(r[2], r[0]), cross(r[0], r[1])]
    reciprocal = divide(1.0, dot(r[0], normals[0]))

    def spatial(b: Array) -> Array:
        scaled = [value * reciprocal for value in b]
        return np.asarray(sum(s * n for s, n in zip(scaled, normals, strict=True)))

    return spatial


def _counted(options: dict[str, Any]) -> tuple[Counted, Choice]:
    counted = Counted(bool(options.pop("friction", True)), options.pop("smooth", None))
    return counted, Choice(**options)
