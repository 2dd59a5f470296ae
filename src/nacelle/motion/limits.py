"""Limits of a motion: of the drives, the platform, the joints and what the tool carries.

All are affine in phi = (u, z, sqrt(z), 1) along a path, u = s'' and z = s'^2, or cones: with the coefficients
of a force tau = c . phi, a limit |tau| <= L is two rows

    1 - tau / L > 0,      1 + tau / L > 0

and that of a voltage, in the numbers of a data sheet, |tau / stall + q' / no_load| <= 1: at a standstill the
drive has its stall force, at its no-load speed none. What stands on the tool, or hangs on its cup, needs the
force f = a - g for each kg of its mass, a the acceleration of the tool's origin; with f_n along the direction
upwards, fixed in the tool, and f_t across

    |f_t| <= tan(spill) f_n              |f_t| <= friction (grip - f_n)

N, N m, m/s, m/s^2, rad.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
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


@dataclass(frozen=True)
class DriveLimits:
    """Limits of the drives: one number for all actuators, or one for each; None for no limit.

    Attributes:
        force: largest force, N or N m; those of the description (`actuator.force`) by default.
        speed: largest speed, m/s or rad/s; those of the description (`actuator.speed`) by default.
        reserve: part of the forces that is held back for the controller, 0 to 1.
        stall_force: with `no_load_speed`, force at a standstill at the voltage limit, N or N m.
        no_load_speed: speed without force at the voltage limit, m/s or rad/s.
    """

    force: Any = DESCRIBED
    speed: Any = DESCRIBED
    reserve: float = 0.0
    stall_force: Any = None
    no_load_speed: Any = None

    def __post_init__(self) -> None:
        """Check what does not depend on the robot."""
        if not 0.0 <= self.reserve < 1.0:
            raise KinematicsError(f"the reserve is a part of the force from 0 to 1, got {self.reserve!r}")
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
        for key in ("force", "speed", "stall_force", "no_load_speed"):
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


@dataclass(frozen=True)
class PlatformLimits:
    """Limits of the platform's coordinates: one number for all, or one for each; None for no limit.

    Attributes:
        speed: of |v_i|, m/s and rad/s.
        acceleration: of |a_i|, m/s^2 and rad/s^2.
    """

    speed: Any = None
    acceleration: Any = None


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
        drives = self.drives.numbers(robot)
        bounded = {"force", "stall_force"} & set(drives) or self.platform.acceleration is not None
        if not (bounded or self.reactions or self.tool.any):
            raise KinematicsError(
                f"nothing limits the acceleration of {robot.name}: its actuators have no `force` in the "
                "description (give DriveLimits(force=...), or a limit of the acceleration)"
            )


class LimitRows:
    """Limits at points of a path, collected: linear rows and cones, with their names.

    Names are pairs of what is limited and of whom: ("force", "left"), ("acceleration", "x").
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self.names: list[LimitName] = []
        self.exponents: list[float] = []
        self.rows: list[Array] = []
        self.null: list[Array] = []
        self.cone_names: list[LimitName] = []
        self.cone_rows: list[Array] = []
        self.cones: list[Array] = []

    def add_row(self, name: LimitName, row: Array, null: Array | None = None, exponent: float = 1.0) -> None:
        """A linear limit (P, 4), 1 - (value / limit)^exponent, with its part of internal forces."""
        self.names.append(name)
        self.exponents.append(exponent)
        self.rows.append(row)
        self.null.append(np.zeros((self.count, 0)) if null is None else null)

    def add_both(self, name: LimitName, ratio: Array, null: Array | None = None) -> None:
        """Both signs of |ratio| <= 1, ratio (P, 4)."""
        unit = np.array([0.0, 0.0, 0.0, 1.0])
        self.add_row(name, unit - ratio, None if null is None else -null)
        self.add_row(name, unit + ratio, null)

    def add_cone(self, name: LimitName, row: Array, cone: Array) -> None:
        """A cone |cone . phi| <= row . phi, with rows (P, 4) and (P, 3, 4)."""
        self.cone_names.append(name)
        self.cone_rows.append(row)
        self.cones.append(cone)

    def arrays(self, internal: int) -> tuple[Array, Array, Array, Array]:
        """Rows (P, R, 4), internal forces in them (P, R, k), cone rows (P, C, 4) and cones (P, C, 3, 4)."""
        P = self.count
        null = [part if part.shape[1] else np.zeros((P, internal)) for part in self.null]
        return (
            np.stack(self.rows, axis=1) if self.rows else np.zeros((P, 0, 4)),
            np.stack(null, axis=1) if null else np.zeros((P, 0, internal)),
            np.stack(self.cone_rows, axis=1) if self.cones else np.zeros((P, 0, 4)),
            np.stack(self.cones, axis=1) if self.cones else np.zeros((P, 0, 3, 4)),
        )


def add_drive_limits(
    rows: LimitRows, robot: Robot, limits: DriveLimits, tau: Array, rate: Array, null: Array
) -> None:
    """Limits of the drives.

    Args:
        rows: to which they are added.
        robot: the robot.
        limits: of its drives.
        tau: coefficients of the forces (P, actuators, 4).
        rate: of the actuators at s' = 1 (P, actuators).
        null: internal forces (P, actuators, k).
    """
    numbers = limits.numbers(robot)
    internal = null.shape[2] > 0
    speed_column = np.zeros((len(rate), 4))
    for j, actuator in enumerate(robot.actuators):
        if "force" in numbers and np.isfinite(L := numbers["force"][j]):
            rows.add_both(
                LimitName("force", actuator.name), tau[:, j] / L, null[:, j] / L if internal else None
            )
        if "speed" in numbers and np.isfinite(L := numbers["speed"][j]):
            row = speed_column.copy()
            row[:, 1], row[:, 3] = -((rate[:, j] / L) ** 2), 1.0
            rows.add_row(LimitName("speed", actuator.name), row, exponent=2.0)
        if "stall_force" in numbers and np.isfinite(L := numbers["stall_force"][j]):
            ratio = tau[:, j] / L
            ratio[:, 2] += rate[:, j] / numbers["no_load_speed"][j]
            rows.add_both(LimitName("voltage", actuator.name), ratio, null[:, j] / L if internal else None)


def add_platform_limits(rows: LimitRows, robot: Robot, limits: PlatformLimits, w: Array, dw: Array) -> None:
    """Limits of the platform's coordinates, from w and dw/ds (P, n)."""
    names = robot.motion.coordinates
    speed = _read_limit(limits.speed, names, "the platform's speed")
    acceleration = _read_limit(limits.acceleration, names, "the platform's acceleration")
    for k, name in enumerate(names):
        zero = np.zeros(len(w))
        if np.isfinite(speed[k]):
            square = -((w[:, k] / speed[k]) ** 2)
            rows.add_row(
                LimitName("speed", name), np.stack([zero, square, zero, zero + 1.0], 1), exponent=2.0
            )
        if np.isfinite(acceleration[k]):
            columns = np.stack([w[:, k], dw[:, k], zero, zero], 1)
            rows.add_both(LimitName("acceleration", name), columns / acceleration[k])


def add_tool_limits(rows: LimitRows, limits: ToolLimits, force: Array, up: Array) -> None:
    """Limits of what the tool carries.

    Args:
        rows: to which they are added.
        limits: of the tool.
        force: coefficients of f = a - g (P, 3, 4), m/s^2, base axes.
        up: direction upwards in the tool, in base axes (P, 3).
    """
    name = limits.tool or "platform"
    along = np.einsum("pi,pij->pj", up, force)
    across = force - up[:, :, None] * along[:, None, :]
    unit = np.zeros((len(up), 4))
    unit[:, 3] = 1.0
    if limits.spill is not None:
        scale = 1.0 / (9.81 * np.tan(limits.spill))
        rows.add_cone(LimitName("spill", name), along / 9.81, across * scale)
    if limits.grip is not None and limits.friction is not None:
        rows.add_cone(
            LimitName("grip", name), unit - along / limits.grip, across / (limits.friction * limits.grip)
        )


def add_norm(rows: LimitRows, name: LimitName, vector: Array, limit: float) -> None:
    """|vector| <= limit, with coefficients (P, 3, 4)."""
    unit = np.zeros((len(vector), 4))
    unit[:, 3] = 1.0
    rows.add_cone(name, unit, vector / limit)
