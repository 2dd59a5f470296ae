"""From the numbers of a column to a signal in SI units on the joint's side: factor and offset of a channel.

With c a number of the column, u its unit in SI, i the gear ratio (motor rate per joint rate; rad/m where a
turning motor moves a prismatic joint), k_t the torque constant on the motor's side:

    position of the joint     q = sign (c - zero) u
    position of the motor     q = sign (c - zero) u / i
    counts                    u = 2 pi / counts per turn, or the resolution
    force of the joint        f = sign c u
    force of the motor        f = sign c u i
    current                   f = sign c u k_t i

An encoder that is read as counts or on the motor's side has the zero and the sign of the description, q =
sign (reading) + zero, where the map does not give them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from nacelle.identification.data.column_map import CurrentSpec, ForceSpec, PositionSpec
from nacelle.model.data import Actuator
from nacelle.model.robot import Robot
from nacelle.model.source.node import KeyPath
from nacelle.model.units import QUANTITIES, Quantity, Unit, UnitError, parse_quantity, parse_unit
from nacelle.spatial.scalar import Array
from nacelle.tables.columns import TIME, Dimension, in_si

DURATION = Quantity("duration", (0, 0, 1, 0, 0), "s", "0.5 ms")
_CURRENT = (0, 0, 0, 1, 0)
_EXAMPLES = {
    TIME: "s, ms",
    QUANTITIES["length"].dimension: "m, mm",
    QUANTITIES["angle"].dimension: "rad, deg",
    QUANTITIES["force"].dimension: "N, kN",
    QUANTITIES["torque"].dimension: "N*m, mNm",
    _CURRENT: "A, mA",
}


class ChannelError(Exception):
    """A channel cannot be read: the key that is wrong, what is wrong, and what would be right."""

    def __init__(self, key: str, message: str, hint: str) -> None:
        """Keep all three."""
        self.key, self.message, self.hint = key, message, hint
        super().__init__(message)


@dataclass(frozen=True)
class Channel:
    """How a column becomes a signal: scale ((number in SI) - zero) + offset.

    Attributes:
        signal: such as "q.strut1".
        column: its column.
        path: place of the channel in the column map, for messages; empty without a map.
        unit: unit of the column.
        zero: subtracted from the numbers of the column, in its unit.
        scale: factor after that.
        offset: added last, m or rad.
    """

    signal: str
    column: str
    path: KeyPath
    unit: Unit | None = None
    zero: float = 0.0
    scale: float = 1.0
    offset: float = 0.0

    def values(self, column: Array) -> Array:
        """The signal (N,) from the numbers of the column."""
        numbers = column - self.zero if self.zero else column
        return in_si(numbers, self.unit) * self.scale + self.offset

    @property
    def conversion(self) -> tuple[float, float]:
        """Factor and offset with signal = factor number + offset."""
        factor = self.scale * (1.0 if self.unit is None else float(self.unit.exact) * self.unit.irrational)
        return factor, self.offset - factor * self.zero


def is_revolute(robot: Robot, actuator: Actuator) -> bool:
    """Whether an actuator drives a revolute joint."""
    return robot.joints[actuator.joint].primitives[0].is_rotation


def time_channel(column: str, unit: str, path: KeyPath) -> Channel:
    """The channel of the time."""
    return Channel("time", column, path, read_unit(unit, (TIME,), "time"))


def position_channel(
    robot: Robot, actuator: Actuator, spec: PositionSpec, header: str, signal: str, path: KeyPath
) -> Channel:
    """The channel of a coordinate, or of its reference.

    Raises:
        ChannelError: if units do not fit the joint, or a constant is missing.
    """
    joint = "angle" if is_revolute(robot, actuator) else "length"
    counted = spec.unit == "counts"
    turning = spec.side == "motor" and (joint == "angle" or _has_turning_motor(robot, actuator, spec))
    kind = "angle" if turning else joint
    unit, scale = None, 1.0
    if counted:
        scale = _per_count(actuator, spec, kind)
    else:
        for key in ("counts_per_turn", "resolution"):
            if getattr(spec, key) is not None:
                raise ChannelError(key, f"{key} is for the unit counts", "unit: counts")
        dimension = QUANTITIES[kind].dimension
        unit = read_unit(spec.unit or header, (dimension,), f"{actuator.name} ({kind}s)")
    if spec.side == "motor":
        scale /= _gear_ratio(robot, actuator, spec)
    elif spec.gear_ratio is not None:
        raise ChannelError("gear_ratio", "a coordinate of the joint has no gear", "side: motor")
    sign: int = spec.sign or 1
    zero, offset = spec.zero, 0.0
    if (counted or spec.side == "motor") and signal.startswith("q."):
        sign = actuator.encoder_sign if spec.sign is None else sign
        offset = actuator.encoder_zero if zero is None else 0.0
    return Channel(signal, spec.column, path, unit, zero or 0.0, scale * sign, offset)


def force_channel(
    robot: Robot, actuator: Actuator, spec: ForceSpec, header: str, signal: str, path: KeyPath
) -> Channel:
    """The channel of a force or torque.

    Raises:
        ChannelError: if units do not fit the joint, or a constant is missing.
    """
    kind = "torque" if is_revolute(robot, actuator) else "force"
    scale = float(spec.sign)
    allowed: tuple[Dimension, ...] = (QUANTITIES[kind].dimension,)
    if spec.side == "motor":
        scale *= _gear_ratio(robot, actuator, spec)
        # A turning motor moves a prismatic joint through a screw.
        allowed = (QUANTITIES["torque"].dimension, QUANTITIES[kind].dimension)
    elif spec.gear_ratio is not None:
        raise ChannelError("gear_ratio", "a force of the joint has no gear", "side: motor")
    unit = read_unit(spec.unit or header, allowed, f"{actuator.name} ({kind}s)")
    return Channel(signal, spec.column, path, unit, scale=scale)


def current_channel(
    robot: Robot, actuator: Actuator, spec: CurrentSpec, header: str, signal: str, path: KeyPath
) -> Channel:
    """The channel of a motor's current.

    Raises:
        ChannelError: if the unit is none of currents, or the torque constant is missing.
    """
    unit = read_unit(spec.unit or header, (_CURRENT,), f"{actuator.name} (currents)")
    constant = actuator.torque_constant
    if spec.torque_constant is not None:
        kinds = [QUANTITIES["torque constant"], QUANTITIES["force constant"]]
        constant = _read("torque_constant", spec.torque_constant, kinds)
    if constant == 0.0:
        raise ChannelError(
            "torque_constant",
            f"the torque constant of {actuator.name} is not given, so its current is no force",
            "torque_constant: 0.12 N*m/A here, or in the actuator of the description",
        )
    return Channel(
        signal, spec.column, path, unit, scale=spec.sign * constant * _gear_ratio(robot, actuator, spec)
    )


def read_duration(key: str, value: object) -> float:
    """Read a duration, s."""
    return _read(key, value, [DURATION])


def read_unit(text: str, allowed: tuple[Dimension, ...], what: str) -> Unit | None:
    """Read the unit of a column; None for SI.

    Raises:
        ChannelError: if it is none, or not one of such a column.
    """
    if not text or text == "SI":
        return None
    hint = "write " + " or ".join(_EXAMPLES[dimension] for dimension in allowed)
    try:
        unit = parse_unit(text)
    except UnitError as fault:
        raise ChannelError("unit", str(fault), hint) from None
    if unit.dimension not in allowed:
        raise ChannelError("unit", f"{text!r} is not a unit of {what}", hint)
    return unit


def _read(key: str, value: object, kinds: list[Quantity]) -> float:
    """Read a quantity of one of several kinds."""
    for kind in kinds[:-1]:
        try:
            return parse_quantity(value, kind, None)
        except UnitError:
            continue
    try:
        return parse_quantity(value, kinds[-1], None)
    except UnitError as fault:
        raise ChannelError(key, str(fault), f"for example {kinds[0].example!r}") from None


def _per_count(actuator: Actuator, spec: PositionSpec, kind: str) -> float:
    """Angle or length of a count."""
    if spec.counts_per_turn is not None and kind == "angle":
        return 2.0 * math.pi / spec.counts_per_turn
    if spec.resolution is not None:
        return _read("resolution", spec.resolution, [QUANTITIES[kind]])
    if spec.counts_per_turn is not None:
        raise ChannelError(
            "counts_per_turn",
            f"{actuator.name} is prismatic, its coordinate has no turns",
            "side: motor with a gear ratio such as 10 mm/rev, or resolution: 1 um",
        )
    example = "counts_per_turn: 8192" if kind == "angle" else "resolution: 1 um"
    raise ChannelError("unit", f"how much a count of {actuator.name} is, is not given", example)


def _has_turning_motor(
    robot: Robot, actuator: Actuator, spec: PositionSpec | ForceSpec | CurrentSpec
) -> bool:
    """Whether the motor of a prismatic joint turns: it is encoded in turns or angles, or has a lead."""
    if isinstance(spec, PositionSpec) and spec.counts_per_turn is not None:
        return True
    if isinstance(spec.gear_ratio, str) and "/" in spec.gear_ratio:
        return True
    try:
        unit = parse_unit(spec.unit or "")
    except UnitError:
        return False
    return unit.dimension == QUANTITIES["angle"].dimension


def _gear_ratio(robot: Robot, actuator: Actuator, spec: PositionSpec | ForceSpec | CurrentSpec) -> float:
    """Motor rate per joint rate, of the map or of the description."""
    if spec.gear_ratio is None:
        ratio = robot.joints[actuator.joint].gear_ratio
        screw = not is_revolute(robot, actuator) and _has_turning_motor(robot, actuator, spec)
        if screw and ratio == 1.0:
            raise ChannelError(
                "gear_ratio",
                f"{actuator.name} is prismatic and its motor turns, but no gear ratio is given",
                "gear_ratio: 10 mm/rev here, or in the actuator of the description",
            )
        return ratio
    try:
        return 1.0 / parse_quantity(spec.gear_ratio, QUANTITIES["lead"], None)
    except (UnitError, ZeroDivisionError):
        pass
    ratio = _read("gear_ratio", spec.gear_ratio, [QUANTITIES["number"], QUANTITIES["gear ratio per length"]])
    if ratio == 0.0:
        raise ChannelError("gear_ratio", "the gear ratio is zero", "1 for a direct drive")
    return ratio
