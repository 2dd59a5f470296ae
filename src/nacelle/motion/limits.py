"""Limits of a motion: of the drives, the platform, the joints and what the tool carries.

All are affine in phi = (u, z, sqrt(z), 1) along a path, u = s'' and z = s'^2, or cones: with the coefficients
of a force tau = c . phi, a limit |tau| <= L is two rows

    1 - tau / L > 0,      1 + tau / L > 0

A drive's curve of force over speed is a concave polygon: a line for each of its edges, with |q'| = |q_s| s'.
The limit of a voltage is, in the numbers of a data sheet, |tau / stall + q' / no_load| <= 1: at a
standstill the drive has its stall force, at its no-load speed none. What stands on the tool, or hangs on its
cup, needs the force f = a - g for each kg of its mass, a the acceleration of the tool's origin; with f_n
along the direction upwards, fixed in the tool, and f_t across

    |f_t| <= tan(spill) f_n              |f_t| <= friction (grip - f_n)

N, N m, m/s, m/s^2, rad.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from nacelle.errors import KinematicsError
from nacelle.kinematics.tools import find_tool
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array

DESCRIBED = "described"


class LimitName(NamedTuple):
    """What is limited, and of whom: ("force", "left"), ("acceleration", "x").

    Attributes:
        kind: what is limited.
        owner: actuator, coordinate, joint or tool.
    """

    kind: str
    owner: str


def _read_limit(value: Any, names: tuple[str, ...], what: str) -> Array:
    """Positive limits, one for all names or one for each; infinite for no limit."""
    try:
        limits = np.broadcast_to(np.asarray(np.inf if value is None else value, dtype=float), (len(names),))
    except (TypeError, ValueError):
        raise KinematicsError(
            f"the limit of {what} is a number, or one for each of {', '.join(names)}, got {value!r}"
        ) from None
    if not np.all(limits > 0.0):
        raise KinematicsError(f"the limit of {what} is above zero, got {value!r}")
    return np.array(limits)


def _read_curve(curve: Any, name: str) -> Array:
    """Points (points, 2) of a concave curve of force over speed.

    Raises:
        KinematicsError: if it is not.
    """
    points = np.asarray(curve, dtype=float)
    good = points.ndim == 2 and points.shape[1] == 2 and len(points) > 1 and np.all(np.isfinite(points))
    if good:
        speed, force = points.T
        rise = np.diff(speed)
        good = speed[0] == 0.0 and np.all(rise > 0.0) and np.all(force >= 0.0) and force[0] > 0.0
        if good:
            slope = np.diff(force) / rise
            good = slope[0] <= 0.0 and np.all(np.diff(slope) <= 1e-12 * force[0] / speed[-1])
    if not good:
        raise KinematicsError(
            f"the curve of {name} has points (speed, force) with rising speeds from 0 on and forces that "
            f"fall ever faster, such as [(0, 10), (200, 10), (400, 0)], got {curve!r}"
        )
    return points


@dataclass(frozen=True)
class DriveLimits:
    """Limits of the drives: one number for all actuators, or one for each; None for no limit.

    Attributes:
        force: largest force, N or N m; those of the description (`actuator.force`) by default.
        speed: largest speed, m/s or rad/s; those of the description (`actuator.speed`) by default.
        reserve: part of the forces that is held back for the controller, 0 to 1.
        stall_force: with `no_load_speed`, force at a standstill at the voltage limit, N or N m.
        no_load_speed: speed without force at the voltage limit, m/s or rad/s.
        curve: largest force over the speed, as points (speed, force) of a concave polygon that begins at
            speed 0: one for all actuators, or one for each, None for none.
        rms: largest root of the mean of the squared force over motion and `dwell`, N or N m: of the heat that
            a motor loses.
        dwell: time at rest at the end of the path after the motion, s, in which forces hold the robot.
    """

    force: Any = DESCRIBED
    speed: Any = DESCRIBED
    reserve: float = 0.0
    stall_force: Any = None
    no_load_speed: Any = None
    curve: Any = None
    rms: Any = None
    dwell: float = 0.0

    def __post_init__(self) -> None:
        """Check what does not depend on the robot."""
        if not 0.0 <= self.reserve < 1.0:
            raise KinematicsError(f"the reserve is a part of the force from 0 to 1, got {self.reserve!r}")
        if not (np.isfinite(self.dwell) and self.dwell >= 0.0):
            raise KinematicsError(f"the dwell is a time from 0 s on, got {self.dwell!r}")
        if (self.stall_force is None) != (self.no_load_speed is None):
            raise KinematicsError("a voltage limit has a stall force and a no-load speed: give both")

    def numbers(self, robot: Robot) -> dict[str, Array]:
        """Limits (actuators,) by name, without those of which all are infinite."""
        names = tuple(actuator.name for actuator in robot.actuators)
        nominal = {
            "force": [actuator.force for actuator in robot.actuators],
            "speed": [actuator.speed for actuator in robot.actuators],
        }
        result = {}
        for key in ("force", "speed", "stall_force", "no_load_speed", "rms"):
            value = getattr(self, key)
            if isinstance(value, str):
                if value != DESCRIBED or key not in nominal:
                    raise KinematicsError(f"the limit {key} of the drives is no text: {value!r}")
                value = nominal[key]
            limits = _read_limit(value, names, f"{key} of the drives")
            if key in ("force", "stall_force"):
                limits = limits * (1.0 - self.reserve)
            if np.any(np.isfinite(limits)):
                result[key] = limits
        return result

    def curves(self, robot: Robot) -> list[Array]:
        """Points (points, 2) of each actuator's curve of force over speed; none without a curve."""
        if self.curve is None:
            return [np.zeros((0, 2))] * len(robot.actuators)
        names = [actuator.name for actuator in robot.actuators]
        is_single = np.ndim(self.curve[0][0] if self.curve[0] is not None else [0]) == 0
        curves = [self.curve] * len(names) if is_single else list(self.curve)
        if len(curves) != len(names):
            raise KinematicsError(f"{len(names)} actuators have {len(names)} curves, got {len(curves)}")
        held = np.array([1.0, 1.0 - self.reserve])
        return [
            np.zeros((0, 2)) if curve is None else _read_curve(curve, name) * held
            for curve, name in zip(curves, names, strict=True)
        ]


@dataclass(frozen=True)
class PlatformLimits:
    """Limits of the platform's coordinates: one number for all, or one for each; None for no limit.

    Attributes:
        speed: of |v_i|, m/s and rad/s.
        acceleration: of |a_i|, m/s^2 and rad/s^2.
        jerk: of |da_i/dt|, m/s^3 and rad/s^3.
    """

    speed: Any = None
    acceleration: Any = None
    jerk: Any = None

    def jerks(self, robot: Robot) -> Array:
        """Limits of the jerk (coordinates,), infinite for none."""
        return _read_limit(self.jerk, robot.motion.coordinates, "the platform's jerk")


@dataclass(frozen=True)
class ToolLimits:
    """Limits of what a tool carries.

    Attributes:
        tool: its name; the platform's frame if empty.
        acceleration: largest acceleration of its origin, m/s^2.
        spill: largest angle between the force that a load needs and the direction upwards, rad.
        friction: between a cup and its load, with `grip`.
        grip: force with which the cup holds its load, for each kg of the load, m/s^2; pulling from above.
    """

    tool: str = ""
    acceleration: float | None = None
    spill: float | None = None
    friction: float | None = None
    grip: float | None = None

    def __post_init__(self) -> None:
        """Check the numbers."""
        for name in ("acceleration", "spill", "friction", "grip"):
            value = getattr(self, name)
            if value is not None and not (np.isfinite(value) and value > 0.0):
                raise KinematicsError(f"{name} of a tool's limits is above zero, got {value!r}")
        if self.spill is not None and not self.spill < 0.5 * np.pi:
            raise KinematicsError(f"a load spills at less than 90 deg, got {self.spill!r} rad")
        if (self.friction is None) != (self.grip is None):
            raise KinematicsError("a grip has a friction and a force for each kg: give both")

    @property
    def any(self) -> bool:
        """Whether there is a limit."""
        return any(value is not None for value in (self.acceleration, self.spill, self.grip))


@dataclass(frozen=True)
class Limits:
    """All limits of a motion.

    Attributes:
        drives: of the actuators.
        platform: of the platform's coordinates.
        reactions: largest resultant force by name of the joint, N.
        tool: of what a tool carries.
    """

    drives: DriveLimits = field(default_factory=DriveLimits)
    platform: PlatformLimits = field(default_factory=PlatformLimits)
    reactions: Mapping[str, float] = field(default_factory=dict)
    tool: ToolLimits = field(default_factory=ToolLimits)

    def check(self, robot: Robot) -> None:
        """Refuse names that the robot does not have, and a motion without limits.

        Raises:
            KinematicsError: so.
        """
        for name, limit in self.reactions.items():
            robot.joint(name)
            _read_limit(limit, (name,), f"the reaction in {name}")
        if self.tool.tool:
            find_tool(robot, self.tool.tool)
        self.platform.jerks(robot)
        drives = self.drives.numbers(robot)
        bounded = {"force", "stall_force", "rms"} & set(drives) or self.platform.acceleration is not None
        bounded = bounded or any(len(curve) > 0 for curve in self.drives.curves(robot))
        if "rms" in drives and len(robot.actuators) > robot.motion.n:
            raise KinematicsError(
                f"{robot.name} has more actuators than coordinates: how they share a force over time is not "
                "determined, so a limit of their rms forces cannot be kept (limit `force`)"
            )
        if not (bounded or self.reactions or self.tool.any):
            raise KinematicsError(
                f"nothing limits the acceleration of {robot.name}: its actuators have no `force` in the "
                "description (give DriveLimits(force=...), or a limit of the acceleration)"
            )


class LimitRows:
    """Limits at points of a path, collected: linear rows and cones, with their names.

    Names are pairs of what is limited and of whom: ("force", "left"), ("acceleration", "x").
    """

    def __init__(self, count: int, internal: int) -> None:
        self.count, self.internal = count, internal
        self.names: list[LimitName] = []
        self.exponents: list[float] = []
        self.rows: list[Array] = []
        self.null: list[Array] = []
        self.cone_names: list[LimitName] = []
        self.cone_rows: list[Array] = []
        self.cones: list[Array] = []

    def add_row(self, name: LimitName, row: Array, null: Array | None = None, exponent: float = 1.0) -> None:
        """A linear limit (4, P), 1 - (value / limit)^exponent, with its part of internal forces (k, P)."""
        self.names.append(name)
        self.exponents.append(exponent)
        self.rows.append(row)
        self.null.append(np.zeros((self.internal, self.count)) if null is None else null)

    def add_both(
        self, name: LimitName, ratio: Array, null: Array | None = None, fall: Array | None = None
    ) -> None:
        """Both signs of |ratio| <= 1 - fall sqrt(z), ratio (4, P), fall (P,)."""
        for side in (-1.0, 1.0):
            row = side * ratio
            row[3] += 1.0
            if fall is not None:
                row[2] -= fall
            self.add_row(name, row, None if null is None else side * null)

    def add_unlimited(self, count: int) -> None:
        """Rows that limit nothing, up to a number of rows."""
        while len(self.rows) < count:
            row = np.zeros((4, self.count))
            row[3] = 1.0
            self.add_row(LimitName("none", ""), row)

    def add_cone(self, name: LimitName, row: Array, cone: Array) -> None:
        """A cone |cone . phi| <= row . phi, with rows (4, P) and (4, P, 3)."""
        self.cone_names.append(name)
        self.cone_rows.append(row)
        self.cones.append(cone.transpose(0, 2, 1))

    def arrays(self) -> tuple[Array, Array, Array, Array]:
        """Rows (4, R, P), internal forces in them (k, R, P), cone rows (4, C, P) and cones (4, 3, C, P)."""
        P = self.count
        return (
            np.stack(self.rows, axis=1) if self.rows else np.zeros((4, 0, P)),
            np.stack(self.null, axis=1) if self.rows else np.zeros((self.internal, 0, P)),
            np.stack(self.cone_rows, axis=1) if self.cones else np.zeros((4, 0, P)),
            np.stack(self.cones, axis=2) if self.cones else np.zeros((4, 3, 0, P)),
        )


def add_drive_limits(
    rows: LimitRows, robot: Robot, limits: DriveLimits, tau: Array, rate: Array, null: Array
) -> None:
    """Limits of the drives.

    Args:
        rows: to which they are added.
        robot: the robot.
        limits: of its drives.
        tau: coefficients of the forces (4, P, actuators).
        rate: of the actuators at s' = 1 (P, actuators).
        null: internal forces (k, P, actuators).
    """
    numbers, curves = limits.numbers(robot), limits.curves(robot)
    for j, actuator in enumerate(robot.actuators):
        force, internal, speed = tau[:, :, j], null[:, :, j], np.abs(rate[:, j])
        if "force" in numbers and np.isfinite(L := numbers["force"][j]):
            rows.add_both(LimitName("force", actuator.name), force / L, internal / L)
        if "speed" in numbers and np.isfinite(L := numbers["speed"][j]):
            _add_speed(rows, actuator.name, speed / L)
        if "stall_force" in numbers and np.isfinite(L := numbers["stall_force"][j]):
            ratio = force / L
            ratio[2] += rate[:, j] / numbers["no_load_speed"][j]
            rows.add_both(LimitName("voltage", actuator.name), ratio, internal / L)
        if len(curves[j]):
            for (v, f), (v_next, f_next) in pairwise(curves[j]):
                # The line through both points has the force L at a standstill.
                fall = (f - f_next) / (v_next - v)
                L = f + fall * v
                rows.add_both(LimitName("curve", actuator.name), force / L, internal / L, speed * fall / L)
            if curves[j][-1, 1] > 0.0:
                _add_speed(rows, actuator.name, speed / curves[j][-1, 0])


def _add_speed(rows: LimitRows, name: str, ratio: Array) -> None:
    """A limit of the speed, from the speed over the limit at s' = 1 (P,)."""
    row = np.zeros((4, len(ratio)))
    row[1], row[3] = -(ratio**2), 1.0
    rows.add_row(LimitName("speed", name), row, exponent=2.0)


def add_platform_limits(rows: LimitRows, robot: Robot, limits: PlatformLimits, w: Array, dw: Array) -> None:
    """Limits of the platform's coordinates, from w and dw/ds (P, n)."""
    names = robot.motion.coordinates
    speed = _read_limit(limits.speed, names, "the platform's speed")
    acceleration = _read_limit(limits.acceleration, names, "the platform's acceleration")
    for k, name in enumerate(names):
        zero = np.zeros(len(w))
        if np.isfinite(speed[k]):
            _add_speed(rows, name, w[:, k] / speed[k])
        if np.isfinite(acceleration[k]):
            columns = np.stack([w[:, k], dw[:, k], zero, zero])
            rows.add_both(LimitName("acceleration", name), columns / acceleration[k])


def add_tool_limits(rows: LimitRows, limits: ToolLimits, force: Array, up: Array) -> None:
    """Limits of what the tool carries.

    Args:
        rows: to which they are added.
        limits: of the tool.
        force: coefficients of f = a - g (4, P, 3), m/s^2, base axes.
        up: direction upwards in the tool, in base axes (P, 3).
    """
    name = limits.tool or "platform"
    along = np.sum(force * up, axis=-1)
    across = force - up * along[:, :, None]
    if limits.spill is not None:
        scale = 1.0 / (9.81 * np.tan(limits.spill))
        rows.add_cone(LimitName("spill", name), along / 9.81, across * scale)
    if limits.grip is not None and limits.friction is not None:
        held = -along / limits.grip
        held[3] += 1.0
        rows.add_cone(LimitName("grip", name), held, across / (limits.friction * limits.grip))


def add_norm(rows: LimitRows, name: LimitName, vector: Array, limit: float) -> None:
    """|vector| <= limit, with coefficients (4, P, 3)."""
    unit = np.zeros(vector.shape[:2])
    unit[3] = 1.0
    rows.add_cone(name, unit, vector / limit)
