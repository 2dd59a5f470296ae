"""Reading measured data: a file and a column map to a `Measurement`.

    file -> Recording (names, units, numbers)        `open_recording`
    map  -> Channels (column, unit, scale, offset)   `ColumnMap`, `Channel`
    both -> Measurement                              `read_measurement`

Without a map the columns are `time`, `q.NAME`, `force.NAME` or `current.NAME`, and perhaps `reference.NAME`,
NAME an actuator; arrays `q`, `force`, ... (N, actuators) have their columns in the order of the actuators.

The column map: which column of a file is which signal, and what its numbers are, in YAML.

    time: {column: t, unit: ms}
    delay: 0.5 ms
    actuators:
      strut1:
        position: {column: enc1, unit: counts, counts_per_turn: 8192, side: motor, zero: 12345, sign: -1}
        current: {column: i1, unit: A, torque_constant: 0.12 N*m/A}
        reference: {column: ref1, unit: mm}

Units that are left out are those in the header of the file, or SI. Quantities that depend on the joint (gear
ratios, torque constants) are kept as written in the map; a `Channel` reads them with the robot.

From the numbers of a column to a signal in SI units on the joint's side: factor and offset of a channel.

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

import hashlib
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from pydantic import BeforeValidator, Field, ValidationError, model_validator

from nacelle.errors import DescriptionError, MeasurementError, Problem, did_you_mean
from nacelle.files import unread_reason
from nacelle.identification.data.measurement import Conversion, Measurement, MeasurementSource
from nacelle.identification.data.recording import Recording, open_recording
from nacelle.model.data import Actuator
from nacelle.model.description.fields import Raw, Strict, message_and_hint, require_one_of
from nacelle.model.robot import Robot
from nacelle.model.source.node import KeyPath, Source, node_from_python
from nacelle.model.source.yaml import read_yaml
from nacelle.model.units import QUANTITIES, Quantity, Unit, UnitError, parse_quantity, parse_unit
from nacelle.spatial.scalar import Array
from nacelle.tables.csv import TIME, Dimension, convert_to_si

# "N m/A" as "N*m/A".
_SPACE_IN_UNIT = re.compile(r"(?<=[A-Za-z])\s+(?=[A-Za-z])")


def _as_text(value: Any) -> Any:
    """A name that YAML takes for a number is a name all the same."""
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _join_units(value: Any) -> Any:
    """Units with spaces between them are a product."""
    return _SPACE_IN_UNIT.sub("*", value) if isinstance(value, str) else value


ColumnName = Annotated[str, BeforeValidator(_as_text)]
UnitText = Annotated[str, BeforeValidator(_join_units)]
QuantityText = Annotated[Raw, BeforeValidator(_join_units)]
Sign = Literal[1, -1]
Side = Literal["joint", "motor"]


class TimeSpec(Strict):
    """The time: a column, or the step between samples where no column has it."""

    column: ColumnName | None = None
    unit: UnitText | None = None
    step: QuantityText = None

    @model_validator(mode="after")
    def _check_one(self) -> TimeSpec:
        require_one_of(self, "column", "step")
        return self


class ColumnSpec(Strict):
    """A column, its unit, and the gear between the motor and the joint."""

    column: ColumnName
    unit: UnitText | None = None
    gear_ratio: QuantityText = None


class PositionSpec(ColumnSpec):
    """A coordinate of an actuator: of the joint, or of the motor in front of its gear.

    coordinate = sign (number - zero), then through the gear; `zero` in the numbers of the column.
    """

    counts_per_turn: Annotated[float, Field(gt=0.0)] | None = None
    resolution: QuantityText = None
    side: Side = "joint"
    zero: float | None = None
    sign: Sign | None = None


class ForceSpec(ColumnSpec):
    """A force or torque of an actuator."""

    side: Side = "joint"
    sign: Sign = 1
    delay: QuantityText = None


class CurrentSpec(ColumnSpec):
    """A current of a motor: force = sign torque_constant gear_ratio current."""

    torque_constant: QuantityText = None
    sign: Sign = 1
    delay: QuantityText = None


class ActuatorColumns(Strict):
    """The signals of one actuator."""

    position: PositionSpec
    force: ForceSpec | None = None
    current: CurrentSpec | None = None
    reference: PositionSpec | None = None

    @model_validator(mode="after")
    def _check_one(self) -> ActuatorColumns:
        require_one_of(self, "force", "current")
        return self


class ColumnMapSpec(Strict):
    """A column map as written."""

    time: TimeSpec | None = None
    delay: QuantityText = None
    actuators: dict[str, ActuatorColumns] | None = None


class ColumnMap(NamedTuple):
    """A column map with its source, for the places of what is wrong.

    Attributes:
        spec: the map as written.
        source: its file and tree.
    """

    spec: ColumnMapSpec
    source: Source


def read_column_map(columns: str | Path | Mapping[str, Any], robot: Robot) -> ColumnMap:
    """Read a column map for a robot.

    Args:
        columns: a YAML file, its text if that has more than one line, or a mapping of the same shape.
        robot: the robot whose actuators it names.

    Raises:
        MeasurementError: with all problems, each with file, line and column.
    """
    column_map, problems = _read_map(columns, robot)
    if problems:
        raise _problem_error(problems, "in the column map")
    return column_map


def _read_map(columns: str | Path | Mapping[str, Any], robot: Robot) -> tuple[ColumnMap, list[Problem]]:
    """A column map without what is wrong in it, and what is wrong."""
    try:
        source = _source(columns)
    except DescriptionError as fault:
        raise MeasurementError("the column map cannot be read:", fault.problems) from None
    plain = source.root.plain()
    problems = []
    try:
        spec = ColumnMapSpec.model_validate(plain)
    except ValidationError as errors:
        faults = errors.errors(include_url=False)
        problems = [source.problem(error["loc"], *message_and_hint(error)) for error in faults]
        if not isinstance(plain, Mapping):
            raise _problem_error(problems, "in the column map") from None
        spec = _sound_parts(plain)
    names = [actuator.name for actuator in robot.actuators]
    entries = plain.get("actuators")
    entries = entries if isinstance(entries, Mapping) else dict.fromkeys(names)
    problems += [
        source.problem(
            ("actuators", name), f"{robot.name} has no actuator {name!r}", did_you_mean(name, names)
        )
        for name in entries
        if name not in names
    ]
    missing = [name for name in names if name not in entries]
    if missing:
        hint = "every actuator of the robot needs its columns"
        problems.append(source.problem(("actuators",), f"no columns for {', '.join(missing)}", hint))
    return ColumnMap(spec, source), sorted(problems)


def _sound_parts(plain: Mapping[str, Any]) -> ColumnMapSpec:
    """The parts of a column map that can be read, each for itself."""

    def sound(model: type[Strict], entries: object) -> Any:
        """The entries of a mapping that a model accepts."""
        if not isinstance(entries, Mapping):
            return None
        try:
            return model.model_validate(entries)
        except ValidationError:
            return None

    signals: dict[str, type[Strict]] = {
        "position": PositionSpec,
        "force": ForceSpec,
        "current": CurrentSpec,
        "reference": PositionSpec,
    }
    actuators = plain.get("actuators") or {}
    return ColumnMapSpec.model_construct(
        time=sound(TimeSpec, plain.get("time")),
        delay=plain.get("delay"),
        actuators={
            name: ActuatorColumns.model_construct(
                **{key: sound(model, entry.get(key)) for key, model in signals.items()}
            )
            for name, entry in (actuators.items() if isinstance(actuators, Mapping) else ())
            if isinstance(entry, Mapping)
        },
    )


def _problem_error(problems: list[Problem], where: str) -> MeasurementError:
    count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
    return MeasurementError(f"{count} {where}:", problems)


def _source(columns: str | Path | Mapping[str, Any]) -> Source:
    if isinstance(columns, Mapping):
        return Source("<python>", node_from_python(dict(columns)))
    if isinstance(columns, str) and "\n" in columns:
        return read_yaml(columns, "<text>")
    try:
        return read_yaml(Path(columns).read_bytes(), str(columns))
    except OSError as fault:
        problem = Problem(str(columns), 0, 0, "", *unread_reason(columns, fault, "YAML file"))
        raise DescriptionError([problem]) from None


# ---- channels: from the numbers of a column to a signal in SI units


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
        sign: of the map, 1 or -1, which is in the scale.
    """

    signal: str
    column: str
    path: KeyPath
    unit: Unit | None = None
    zero: float = 0.0
    scale: float = 1.0
    offset: float = 0.0
    sign: int = 1

    def values(self, column: Array) -> Array:
        """The signal (N,) from the numbers of the column."""
        numbers = column - self.zero if self.zero else column
        return convert_to_si(numbers, self.unit) * self.scale + self.offset

    @property
    def conversion(self) -> Conversion:
        """How the signal is made of the numbers of the column."""
        factor = self.scale * (1.0 if self.unit is None else float(self.unit.exact) * self.unit.irrational)
        return Conversion(factor, self.offset - factor * self.zero)


def is_revolute(robot: Robot, actuator: Actuator) -> bool:
    """Whether an actuator drives a revolute joint."""
    return robot.joints[actuator.joint].primitives[0].is_rotation


def position_channel(
    robot: Robot, actuator: Actuator, spec: PositionSpec, header: str, signal: str, path: KeyPath
) -> Channel:
    """The channel of a coordinate, or of its reference.

    Raises:
        ChannelError: if units do not fit the joint, or a constant is missing.
    """
    joint = "angle" if is_revolute(robot, actuator) else "length"
    counted = spec.unit == "counts"
    turning = spec.side == "motor" and (joint == "angle" or _has_turning_motor(spec))
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
    return Channel(signal, spec.column, path, unit, zero or 0.0, scale * sign, offset, sign)


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
    return Channel(signal, spec.column, path, unit, scale=scale, sign=spec.sign)


def current_channel(
    robot: Robot, actuator: Actuator, spec: CurrentSpec, header: str, signal: str, path: KeyPath
) -> Channel:
    """The channel of a motor's current.

    Raises:
        ChannelError: if it is not a unit of currents, or the torque constant is missing.
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
    scale = spec.sign * constant * _gear_ratio(robot, actuator, spec)
    return Channel(signal, spec.column, path, unit, scale=scale, sign=spec.sign)


def read_duration(key: str, value: object) -> float:
    """Read a duration, s."""
    return _read(key, value, [DURATION])


def read_unit(text: str, allowed: tuple[Dimension, ...], what: str) -> Unit | None:
    """Read the unit of a column; None for SI.

    Raises:
        ChannelError: if it is not a unit, or not one of such a column.
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
    for kind in kinds:
        try:
            return parse_quantity(value, kind, None)
        except UnitError as fault:
            reason = str(fault)
    raise ChannelError(key, reason, f"for example {kinds[0].example!r}")


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


def _has_turning_motor(spec: ColumnSpec) -> bool:
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


def _gear_ratio(robot: Robot, actuator: Actuator, spec: ColumnSpec) -> float:
    """Motor rate per joint rate, of the map or of the description."""
    if spec.gear_ratio is None:
        ratio = robot.joints[actuator.joint].gear_ratio
        screw = not is_revolute(robot, actuator) and _has_turning_motor(spec)
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


# ---- reading: a file and a column map to a measurement


def read_measurement(
    robot: Robot,
    path: str | Path,
    columns: str | Path | Mapping[str, Any] | None = None,
    *,
    delay: float | None = None,
) -> Measurement:
    """Read what was measured in one run.

    Args:
        robot: the robot that was measured; gear ratios, torque constants and encoders are taken from it.
        path: a file: .csv (also .txt, .tsv), .npz, .mat, .parquet, .mcap.
        columns: the column map: a YAML file, its text, or a mapping of the same shape; if None, columns have
            the names of signals: "time", "q.ACTUATOR", "force.ACTUATOR" or "current.ACTUATOR",
            "reference.ACTUATOR", in SI units unless the header has others.
        delay: how much later forces or currents were recorded than they acted, s; that of the map if None.

    Raises:
        MeasurementError: with all problems: those of the map with file, line and column, those of the data
            with file, line and column's name.
    """
    recording = open_recording(Path(path))
    if columns is None:
        return _MeasurementReader(robot, recording, None).measurement(_default_map(robot, recording), delay)
    column_map, problems = _read_map(columns, robot)
    return _MeasurementReader(robot, recording, column_map, problems).measurement(column_map.spec, delay)


class _MeasurementReader:
    """Reads one measurement, and gathers what is wrong."""

    def __init__(
        self,
        robot: Robot,
        recording: Recording,
        column_map: ColumnMap | None,
        problems: Sequence[Problem] = (),
    ) -> None:
        """Keep the map without what is wrong in it, and what is wrong."""
        self.robot = robot
        self.recording = recording
        self.map = column_map
        self.problems = list(problems)

    def measurement(self, spec: ColumnMapSpec, delay: float | None) -> Measurement:
        """The measurement that a map makes of the recording."""
        if spec.actuators is None:
            spec = spec.model_copy(update={"actuators": _default_map(self.robot, self.recording).actuators})
        assert spec.actuators is not None
        channels = self._channels(spec)
        referred = [channel for channel in channels if channel.signal.startswith("reference.")]
        if referred and len(referred) < len(self.robot.actuators) and not self.problems:
            self._add_problem(
                ("actuators",), "only some actuators have a reference", "give it for all, or for none"
            )
        if delay is None:
            delay = self._delay(spec)
        self._raise_problems()
        columns = self.recording.load([channel.column for channel in channels])
        lengths = {name: len(column) for name, column in columns.items()}
        if len(set(lengths.values())) > 1:
            first = next(iter(lengths))
            mismatched = next(name for name in lengths if lengths[name] != lengths[first])
            message = f"{first!r} has {lengths[first]} samples, {mismatched!r} has {lengths[mismatched]}"
            self._add_problem((), message, "all columns of a measurement are sampled together")
            self._raise_problems()
        signals = {channel.signal: channel.values(columns[channel.column]) for channel in channels}
        count = next(iter(lengths.values()))
        if "time" not in signals:
            assert spec.time is not None
            signals["time"] = np.arange(count) * read_duration("step", spec.time.step)
        source = MeasurementSource(
            self.recording.file,
            self.recording.rows(count),
            {channel.signal: channel.column for channel in channels},
            {channel.signal: channel.conversion for channel in channels},
            {channel.signal: channel.sign for channel in channels},
            _file_digest(self.recording.file),
        )
        return Measurement(
            self.robot,
            signals["time"],
            self._stack(signals, "q"),
            self._stack(signals, "force"),
            self._stack(signals, "reference") if referred else None,
            source,
            delay,
        )

    def _stack(self, signals: dict[str, Array], kind: str) -> Array:
        return np.stack([signals[f"{kind}.{actuator.name}"] for actuator in self.robot.actuators], axis=-1)

    def _channels(self, spec: ColumnMapSpec) -> list[Channel]:
        """The channels of all signals."""
        assert spec.actuators is not None
        channels = []
        time = spec.time or TimeSpec(column="time")
        is_wrong = spec.time is None and any(problem.path.startswith("time") for problem in self.problems)
        with self._collect_errors("time"):
            if is_wrong:
                pass
            elif time.column is None:
                if not read_duration("step", time.step) > 0.0:
                    self._add_problem(
                        ("time", "step"), "the step between samples is not above zero", "step: 1 ms"
                    )
            else:
                present = self._require_column(time.column, ("time",))
                unit = time.unit or self.recording.units.get(time.column, "")
                clock = Channel("time", time.column, ("time",), read_unit(unit, (TIME,), "time"))
                channels += [clock] if present else []
        for actuator in self.robot.actuators:
            entry = spec.actuators.get(actuator.name)
            for key in ("position", "force", "current", "reference"):
                part = getattr(entry, key, None)
                path = ("actuators", actuator.name, key)
                if part is None:
                    continue
                present = self._require_column(part.column, path)
                channel = self._sound_channel(actuator, part, path)
                if present and channel is not None:
                    channels.append(channel)
        return channels

    def _sound_channel(self, actuator: Any, part: Any, path: KeyPath) -> Channel | None:
        """The channel of one signal; all that is wrong in its map otherwise, each key once."""
        header, wrong = self.recording.units.get(part.column, ""), set[str]()
        while True:
            try:
                channel = self._channel(actuator, part, header, path)
            except ChannelError as fault:
                if fault.key in wrong:
                    return None
                wrong.add(fault.key)
                self._add_problem((*path, fault.key), fault.message, fault.hint)
                # What else is wrong shows without this entry.
                part = part.model_copy(update={fault.key: None})
                continue
            return None if wrong else channel

    def _channel(self, actuator: Any, part: Any, header: str, path: KeyPath) -> Channel:
        """The channel of one signal of an actuator."""
        kind = path[-1]
        if kind == "force":
            return force_channel(self.robot, actuator, part, header, f"force.{actuator.name}", path)
        if kind == "current":
            return current_channel(self.robot, actuator, part, header, f"force.{actuator.name}", path)
        signal = f"{'q' if kind == 'position' else kind}.{actuator.name}"
        return position_channel(self.robot, actuator, part, header, signal, path)

    def _delay(self, spec: ColumnMapSpec) -> float:
        """The one delay of all forces, s."""
        assert spec.actuators is not None
        entries: dict[KeyPath, object] = {} if spec.delay is None else {("delay",): spec.delay}
        for name, entry in spec.actuators.items():
            for key in ("force", "current"):
                part = getattr(entry, key)
                if part is not None and part.delay is not None:
                    entries[("actuators", name, key, "delay")] = part.delay
        delays = {}
        for path, value in entries.items():
            with self._collect_errors(*path[:-1]):
                delays[path] = read_duration("delay", value)
        if len(set(delays.values())) > 1:
            path = list(delays)[-1]
            self._add_problem(
                path, "forces have different delays", "one delay for all, at the top of the map"
            )
        return next(iter(delays.values()), 0.0)

    def _require_column(self, column: str, path: KeyPath) -> bool:
        """Whether the recording has a column."""
        if column in self.recording.names:
            return True
        message = f"{self.recording.file} has no column {column!r}" if self.map else "the column is missing"
        self._add_problem((*path, "column"), message, did_you_mean(column, self.recording.names), column)
        return False

    @contextmanager
    def _collect_errors(self, *path: str | int) -> Iterator[None]:
        """Keep as a problem why a channel at a place in the map cannot be read, and go on."""
        try:
            yield
        except ChannelError as fault:
            self._add_problem((*path, fault.key), fault.message, fault.hint)

    def _add_problem(self, path: KeyPath, message: str, hint: str, column: str = "") -> None:
        """Keep a problem: at its place in the map, or at the header of the file if there is no map."""
        if self.map is not None:
            self.problems.append(self.map.source.problem(path, message, hint))
            return
        line = self.recording.header
        where = column or ".".join(str(step) for step in path)
        self.problems.append(Problem(self.recording.file, line, min(line, 1), where, message, hint))

    def _raise_problems(self) -> None:
        if self.problems:
            in_map = self.map is not None
            raise _problem_error(self.problems, "in the column map" if in_map else "in the columns")


def _file_digest(file: str) -> str:
    with open(file, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _default_map(robot: Robot, recording: Recording) -> ColumnMapSpec:
    """The map where columns have the names of signals."""

    def column(kind: str, index: int) -> str:
        """The column of a signal: its name, or that of the actuator's place in an array."""
        name = f"{kind}.{robot.actuators[index].name}"
        inside = f"{kind}[{index}]"
        if len(robot.actuators) == 1 and kind in recording.names:
            inside = kind
        return inside if name not in recording.names and inside in recording.names else name

    actuators = {}
    for index, actuator in enumerate(robot.actuators):
        force, current = column("force", index), column("current", index)
        reference = column("reference", index)
        driven = force in recording.names or current not in recording.names
        actuators[actuator.name] = ActuatorColumns(
            position=PositionSpec(column=column("q", index)),
            force=ForceSpec(column=force) if driven else None,
            current=None if driven else CurrentSpec(column=current),
            reference=PositionSpec(column=reference) if reference in recording.names else None,
        )
    time = "t" if "time" not in recording.names and "t" in recording.names else "time"
    return ColumnMapSpec(time=TimeSpec(column=time), actuators=actuators)
