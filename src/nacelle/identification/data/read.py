"""Reading measured data: a file and a column map to a `Measurement`.

    file -> Recording (names, units, numbers)        formats/
    map  -> Channels (column, unit, scale, offset)   column_map, channels
    both -> Measurement                              here

Without a map the columns are `time`, `q.NAME`, `force.NAME` or `current.NAME`, and perhaps `reference.NAME`,
NAME an actuator; arrays `q`, `force`, ... (N, actuators) have their columns in the order of the actuators.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from nacelle.errors import MeasurementError, Problem, did_you_mean
from nacelle.identification.data.channels import (
    Channel,
    ChannelError,
    current_channel,
    force_channel,
    position_channel,
    read_duration,
    time_channel,
)
from nacelle.identification.data.column_map import (
    ActuatorColumns,
    ColumnMap,
    ColumnMapSpec,
    CurrentSpec,
    ForceSpec,
    PositionSpec,
    TimeSpec,
    read_column_map,
)
from nacelle.identification.data.formats.formats import open_recording
from nacelle.identification.data.formats.recording import Recording
from nacelle.identification.data.measurement import Measurement, MeasurementSource
from nacelle.model.robot import Robot
from nacelle.model.source.node import KeyPath
from nacelle.spatial.scalar import Array


def read_measurement(
    path: str | Path,
    robot: Robot,
    columns: str | Path | Mapping[str, Any] | None = None,
    *,
    delay: float | None = None,
) -> Measurement:
    """Read what was measured in one run.

    Args:
        path: a file: .csv (also .txt, .tsv), .npz, .mat, .parquet, .mcap.
        robot: the robot that was measured; gear ratios, torque constants and encoders are taken from it.
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
        return _Reader(robot, recording, None).measurement(_default_map(robot, recording), delay)
    column_map = read_column_map(columns, robot)
    return _Reader(robot, recording, column_map).measurement(column_map.spec, delay)


class _Reader:
    """Reads one measurement, and gathers what is wrong."""

    def __init__(self, robot: Robot, recording: Recording, column_map: ColumnMap | None) -> None:
        self.robot = robot
        self.recording = recording
        self.map = column_map
        self.problems: list[Problem] = []

    def measurement(self, spec: ColumnMapSpec, delay: float | None) -> Measurement:
        """The measurement that a map makes of the recording."""
        if spec.actuators is None:
            spec = spec.model_copy(update={"actuators": _default_map(self.robot, self.recording).actuators})
        assert spec.actuators is not None
        channels = self._channels(spec)
        referred = [channel for channel in channels if channel.signal.startswith("reference.")]
        if referred and len(referred) < len(self.robot.actuators):
            self._add(("actuators",), "only some actuators have a reference", "give it for all, or for none")
        if delay is None:
            delay = self._delay(spec)
        self._stop()
        columns = self.recording.load([channel.column for channel in channels])
        lengths = {name: len(column) for name, column in columns.items()}
        if len(set(lengths.values())) > 1:
            first = next(iter(lengths))
            other = next(name for name in lengths if lengths[name] != lengths[first])
            message = f"{first!r} has {lengths[first]} samples, {other!r} has {lengths[other]}"
            self._add((), message, "all columns of a measurement are sampled together")
            self._stop()
        signals = {channel.signal: channel.values(columns[channel.column]) for channel in channels}
        count = next(iter(lengths.values()))
        if "time" not in signals:
            assert spec.time is not None
            signals["time"] = np.arange(count) * read_duration("step", spec.time.step)
        rows = self.recording.rows(count)
        source = MeasurementSource(
            self.recording.file,
            rows if isinstance(rows, int) else int(rows[0]),
            {channel.signal: channel.column for channel in channels},
            None if isinstance(rows, int) else rows,
            {channel.signal: channel.conversion for channel in channels},
        )
        return Measurement(
            self.robot,
            signals["time"],
            self._stacked(signals, "q"),
            self._stacked(signals, "force"),
            self._stacked(signals, "reference") if referred else None,
            source,
            delay,
        )

    def _stacked(self, signals: dict[str, Array], kind: str) -> Array:
        return np.stack([signals[f"{kind}.{actuator.name}"] for actuator in self.robot.actuators], axis=-1)

    def _channels(self, spec: ColumnMapSpec) -> list[Channel]:
        """The channels of all signals."""
        assert spec.actuators is not None
        channels = []
        time = spec.time or TimeSpec(column="time")
        if time.column is None:
            try:
                if not read_duration("step", time.step) > 0.0:
                    self._add(("time", "step"), "the step between samples is not above zero", "step: 1 ms")
            except ChannelError as fault:
                self._add(("time", fault.key), fault.message, fault.hint)
        elif self._has(time.column, ("time",)):
            try:
                unit = time.unit or self.recording.units.get(time.column, "")
                channels.append(time_channel(time.column, unit, ("time",)))
            except ChannelError as fault:
                self._add(("time", fault.key), fault.message, fault.hint)
        for actuator in self.robot.actuators:
            entry = spec.actuators[actuator.name]
            for key in ("position", "force", "current", "reference"):
                part = getattr(entry, key)
                path = ("actuators", actuator.name, key)
                if part is None or not self._has(part.column, path):
                    continue
                header = self.recording.units.get(part.column, "")
                try:
                    channels.append(self._channel(actuator, part, header, path))
                except ChannelError as fault:
                    self._add((*path, fault.key), fault.message, fault.hint)
        return channels

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
        given: dict[KeyPath, object] = {} if spec.delay is None else {("delay",): spec.delay}
        for name, entry in spec.actuators.items():
            for key in ("force", "current"):
                part = getattr(entry, key)
                if part is not None and part.delay is not None:
                    given[("actuators", name, key, "delay")] = part.delay
        delays = {}
        for path, value in given.items():
            try:
                delays[path] = read_duration("delay", value)
            except ChannelError as fault:
                self._add(path, fault.message, fault.hint)
        if len(set(delays.values())) > 1:
            path = list(delays)[-1]
            self._add(path, "forces have different delays", "one delay for all, at the top of the map")
        return next(iter(delays.values()), 0.0)

    def _has(self, column: str, path: KeyPath) -> bool:
        """Whether the recording has a column."""
        if column in self.recording.names:
            return True
        message = f"{self.recording.file} has no column {column!r}" if self.map else "the column is missing"
        self._add((*path, "column"), message, did_you_mean(column, self.recording.names), column)
        return False

    def _add(self, path: KeyPath, message: str, hint: str, column: str = "") -> None:
        """Keep a problem: at its place in the map, or at the header of the file if there is no map."""
        if self.map is not None:
            self.problems.append(self.map.source.problem(path, message, hint))
            return
        line = self.recording.header
        where = column or ".".join(str(step) for step in path)
        self.problems.append(Problem(self.recording.file, line, min(line, 1), where, message, hint))

    def _stop(self) -> None:
        if self.problems:
            count = "1 problem" if len(self.problems) == 1 else f"{len(self.problems)} problems"
            raise MeasurementError(f"{count} on the way to a measurement:", self.problems)


def _default_map(robot: Robot, recording: Recording) -> ColumnMapSpec:
    """The map where columns have the names of signals."""

    def column(kind: str, place: int) -> str:
        """The column of a signal: its name, or that of the actuator's place in an array."""
        name = f"{kind}.{robot.actuators[place].name}"
        inside = f"{kind}[{place}]"
        if len(robot.actuators) == 1 and kind in recording.names:
            inside = kind
        return inside if name not in recording.names and inside in recording.names else name

    actuators = {}
    for place, actuator in enumerate(robot.actuators):
        force, current = column("force", place), column("current", place)
        reference = column("reference", place)
        driven = force in recording.names or current not in recording.names
        actuators[actuator.name] = ActuatorColumns(
            position=PositionSpec(column=column("q", place)),
            force=ForceSpec(column=force) if driven else None,
            current=None if driven else CurrentSpec(column=current),
            reference=PositionSpec(column=reference) if reference in recording.names else None,
        )
    time = "t" if "time" not in recording.names and "t" in recording.names else "time"
    return ColumnMapSpec(time=TimeSpec(column=time), actuators=actuators)
