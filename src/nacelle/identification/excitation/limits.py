"""What a motion must keep to, and where the numbers come from if nobody gives them.

    speed          |q_i'| <= limit of the drive; sqrt(g / L) rad/s or sqrt(g L) m/s if it has none
    acceleration   |q_i''| <= what the drive's force gives to the inertia at the centre, force_i / M_ii;
                   2 g / L rad/s^2 or 2 g m/s^2 if the force has no limit
    force          |Gamma_i| <= limit of the drive; if it has none, twice what holds the robot at the centre
                   and gives it the largest acceleration there, |g_i| + M_ii a_i
    position       actuators and joints, passive ones too, keep a part of their range away from its ends
    singularities  the inverse condition 1 / (|A| |A^-1|) of the scaled J_r^-1 in the Frobenius norm, and the
                   margins of the legs (`nacelle.kinematics.margins`), keep a part of those at the centre
    orientation    a platform with all rotations turns by 2.5 rad at most: its rotation vector is a chart

L is the robot's size, M (actuators, actuators) = J_r^T M J_r its inertia at the actuators. The use of a limit
is what a motion takes of it: 0 for nothing, 1 at the limit. Of symmetric limits its square is constrained,
since that is smooth.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from nacelle.dynamics.forward import gravity_forces, mass_matrix
from nacelle.errors import IdentificationError
from nacelle.identification.excitation.sample_model import (
    bounded_coordinates,
    compile_sample_function,
    limited_values,
)
from nacelle.identification.excitation.settings import MotionLimits
from nacelle.kinematics.margins import NEAR_MARGIN, margin_names
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.motion import solve_loops
from nacelle.model.robot import Robot
from nacelle.model.units import QUANTITIES, axis_quantity
from nacelle.spatial.scalar import Array

_GRAVITY = 9.81
# Part of the conditioning at the centre that is kept.
_KEPT_FRACTION = 0.25
_FALL_RATIO = 1.0 / _KEPT_FRACTION
_LARGEST_ANGLE = 2.5


@dataclass(frozen=True, eq=False)
class Limits:
    """The limits of a motion.

    Attributes:
        speed: of the actuators (actuators,), rad/s or m/s.
        acceleration: of the actuators (actuators,), rad/s^2 or m/s^2.
        force: of the actuators (actuators,), N m or N.
        margin: part of the range of actuators and joints that is kept free at each end.
        conditioning: smallest inverse condition of the scaled J_r^-1, Frobenius norm.
        leg_margins: smallest margins of the legs (legs,), and of the platform where it has one.
        centre: `limited_values` at rest at the centre.
        origin: a text that says where the numbers come from, by kind.
    """

    speed: Array
    acceleration: Array
    force: Array
    margin: float
    conditioning: float
    leg_margins: Array
    centre: Array
    origin: Mapping[str, str] = field(default_factory=dict)


def positive_numbers(robot: Robot, name: str, value: Any, quantity: str = "") -> Array:
    """Numbers of all actuators (actuators,), of one number or one for each.

    Args:
        robot: the robot.
        name: what they are, for messages.
        value: as given.
        quantity: whose unit is said; none if it is empty.

    Raises:
        IdentificationError: if they are not as many, or not above zero.
    """
    count = len(robot.actuators)
    try:
        numbers = np.broadcast_to(np.asarray(value, dtype=float), (count,)).copy()
    except (TypeError, ValueError):
        raise IdentificationError(
            f"the {name} is one number or one for each of the {count} actuators, got {value!r}"
        ) from None
    for actuator, revolute, number in zip(robot.actuators, robot.revolute_actuators, numbers, strict=True):
        if not number > 0.0:
            unit = f" {QUANTITIES[axis_quantity(quantity, angular=revolute)].si}" if quantity else ""
            raise IdentificationError(
                f"the {name} of {actuator.name} must be above zero, got {number:g}{unit.replace('*', ' ')}"
            )
    return numbers


def motion_limits(robot: Robot, center: Array, requested: MotionLimits | None = None) -> Limits:
    """The limits of motions about a pose, in numbers.

    Args:
        robot: the robot.
        center: the pose (nx,).
        requested: limits as they are asked for; `MotionLimits()` if None.

    Raises:
        IdentificationError: if a limit cannot be used, or the centre is beyond one.
    """
    requested = MotionLimits() if requested is None else requested
    speed, acceleration, force = requested.speed, requested.acceleration, requested.force
    margin, conditioning = requested.margin, requested.conditioning
    g = float(np.linalg.norm(np.asarray(robot.gravity, dtype=float))) or _GRAVITY
    rotating = np.where(robot.revolute_actuators, robot.size, 1.0)
    inertia = np.diag(mass_matrix(robot, center, coordinates="actuators"))
    weight = np.abs(np.asarray(gravity_forces(robot, center, coordinates="actuators")))
    nominal = (1.0 - requested.reserve) * np.array([[a.speed, a.force] for a in robot.actuators]).T
    usual: Array = np.sqrt(g * robot.size) / rotating

    def limit(quantity: str, value: Any, default: Array) -> Array:
        return default if value is None else positive_numbers(robot, f"{quantity} limit", value, quantity)

    top_speed = limit("speed", speed, _finite_or(nominal[0], usual))
    given_force = limit("force", force, nominal[1])
    with np.errstate(all="ignore"):
        reached = _finite_or(given_force / inertia, 2.0 * g / rotating)
    top_acceleration = limit("acceleration", acceleration, reached)
    top_force = _finite_or(given_force, 2.0 * (weight + inertia * top_acceleration))
    inertial = "derived: force limit over inertia at the centre, or 2 g"
    origin = {
        "speed": _origin_text(speed, nominal[0], "sqrt(g / size)", requested.reserve),
        "acceleration": inertial if acceleration is None else "given",
        "force": _origin_text(
            force, nominal[1], "twice what the centre and the acceleration require", requested.reserve
        ),
        "position": f"described, {100.0 * margin:g} % of the range kept free at each end",
        "leg margin": f"derived: {_KEPT_FRACTION**2:g} of its value at the centre",
        "orientation": f"{_LARGEST_ANGLE:g} rad from the centre",
        "conditioning": f"derived: {_KEPT_FRACTION:g} of its value at the centre"
        if conditioning is None
        else "given",
    }
    pose, y, _ = solve_loops(robot, center)
    c, quat_0 = centred_coordinates(robot, pose)
    still = np.zeros_like(c)
    at_rest = np.asarray(compile_sample_function(limited_values, robot)(c, still, still, y, quat_0))
    m, bounded = len(robot.actuators), len(bounded_coordinates(robot))
    legs = len(margin_names(mechanism_of(robot)))
    at_margins = at_rest[2 * m + bounded : 2 * m + bounded + legs]
    reference = float(at_rest[2 * m + bounded + legs])
    result = Limits(
        top_speed,
        top_acceleration,
        top_force,
        float(margin),
        _KEPT_FRACTION * reference if conditioning is None else float(conditioning),
        np.maximum(NEAR_MARGIN, _KEPT_FRACTION**2 * at_margins),
        at_rest,
        origin,
    )
    _require_centre(robot, result, weight)
    return result


def _finite_or(values: Array, others: Array) -> Array:
    """Values where they are finite, others elsewhere."""
    return np.where(np.isfinite(values), values, others)


def _origin_text(value: Any, nominal: Array, derived: str, reserve: float) -> str:
    if value is not None:
        return "given"
    text = f"described, {100.0 * reserve:g} % kept in reserve" if reserve else "described"
    if np.all(np.isfinite(nominal)):
        return text
    return f"{text}, or derived: {derived}" if np.any(np.isfinite(nominal)) else f"derived: {derived}"


def centred_coordinates(robot: Robot, x: Array) -> tuple[Array, Array]:
    """Coordinates c (n,) of a pose (nx,) and the orientation quat_0 (4,) about which they turn."""
    layout = mechanism_of(robot).layout
    quat = np.array([0.0, 0.0, 0.0, 1.0]) if layout.quaternion is None else np.array(x[layout.quaternion])
    rotation = None if layout.angular is None else np.zeros(3)
    return layout.join_v(x[list(layout.linear_x)], rotation), quat


def _require_centre(robot: Robot, bounds: Limits, weight: Array) -> None:
    """Refuse limits within which the robot cannot even rest at the centre."""
    form = constraint_form(robot, bounds)
    uses = form.uses(np.concatenate([bounds.centre, weight]))
    worst = int(np.argmax(uses))
    if uses[worst] < 1.0:
        return
    kind, name = form.labels[worst]
    if kind == "force":
        k = [a.name for a in robot.actuators].index(name)
        raise IdentificationError(
            f"the force limit of {name}, {bounds.force[k]:.4g}, is below what holds the robot at rest at the "
            f"centre, {weight[k]:.4g}: give a higher limit, a smaller reserve, or another centre"
        )
    if kind == "conditioning":
        raise IdentificationError(
            f"the conditioning limit {bounds.conditioning:.4g} is above what the robot has at the centre, "
            f"{(_FALL_RATIO - (_FALL_RATIO - 1.0) * uses[worst]) * bounds.conditioning:.4g}: give a "
            "lower limit, or "
            "another centre"
        )
    raise IdentificationError(
        f"the {kind} limit of {name} is met at the centre already (use {uses[worst]:.3g}): give a smaller "
        "margin, or another centre"
    )


class ConstraintForm(NamedTuple):
    """How values with limits, those of `limited_values` and then forces, become uses: factor value + offset.

    Attributes:
        factor: (limits,).
        offset: (limits,).
        symmetric: which limits (limits,) are for both signs.
        labels: kind and name of each limit.
    """

    factor: Array
    offset: Array
    symmetric: Array
    labels: list[tuple[str, str]]

    def uses(self, values: Array) -> Array:
        """Uses (..., limits) of values (..., limits)."""
        uses = values * self.factor + self.offset
        return np.where(self.symmetric, np.abs(uses), uses)


def constraint_form(robot: Robot, bounds: Limits) -> ConstraintForm:
    """How values and forces of a robot become uses of limits."""
    # Of every limit its kind and name, the factor, the offset, and whether it is for both signs.
    rows: list[tuple[tuple[str, str], float, float, bool]] = []

    def limit_actuators(kind: str, largest: Array) -> None:
        for actuator, most in zip(robot.actuators, largest, strict=True):
            rows.append(((kind, actuator.name), 1.0 / most, 0.0, True))

    limit_actuators("speed", bounds.speed)
    limit_actuators("acceleration", bounds.acceleration)
    for limit in bounded_coordinates(robot):
        both = limit.kind != "spherical" and bool(np.all(np.isfinite(limit.pair)))
        factor = 1.0 / (1.0 - 2.0 * bounds.margin if both else 1.0 - bounds.margin)
        rows.append((("position", limit.name.partition(" is at ")[0]), factor, 0.0, both))
    # What falls to a limit is used by 0 where it is as at the centre by default, by 1 at the limit.
    falling = [("leg margin", name) for name in margin_names(mechanism_of(robot))]
    falling.append(("conditioning", "J_r^-1"))
    for least, label in zip([*bounds.leg_margins, bounds.conditioning], falling, strict=True):
        fall = _FALL_RATIO if label[0] == "conditioning" else _FALL_RATIO**2
        rows.append((label, -1.0 / ((fall - 1.0) * least), fall / (fall - 1.0), False))
    if mechanism_of(robot).layout.angular is not None:
        rows.append((("orientation", "the platform"), 1.0 / _LARGEST_ANGLE, 0.0, True))
    limit_actuators("force", bounds.force)
    labels, factors, offsets, symmetric = zip(*rows, strict=True)
    return ConstraintForm(np.array(factors), np.array(offsets), np.array(symmetric), list(labels))
