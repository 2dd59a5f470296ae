"""Files of measured data in all formats that are read: each gives a `Recording`, columns with names.

A recording has the columns of a file, whatever its format: names, units, numbers, rows.

`open_recording` says which format a file has, by its ending.

CSV files: a header with names, and units in brackets where they are not SI.

MATLAB's files up to version 7: variables, and fields of structures as STRUCTURE.FIELD.

NumPy's archives of arrays.

Parquet files, by pyarrow (the extra `logs`).

MCAP logs with messages in JSON or joint states of ROS 2, by mcap (the extra `logs`).

Each number of a message is a column TOPIC.FIELD, of nested messages TOPIC.FIELD.FIELD, of lists
TOPIC.FIELD[0], and TOPIC.log_time is the time when it was logged, in seconds after the first message of the
file. A row is a message of its topic, counted from 1. Joint states (`joint_state`) have the columns
TOPIC.position.JOINT, TOPIC.velocity.JOINT, TOPIC.effort.JOINT, and TOPIC.stamp, the time in their header in
seconds after the first of the file.

Messages `sensor_msgs/msg/JointState` of ROS 2, in CDR as ROS 2 logs them.

    header     stamp: int32 sec, uint32 nanosec; string frame_id
    name       string[]
    position, velocity, effort       float64[], in the order of the names, or empty

CDR (OMG, Common Data Representation, version 1): four bytes say the byte order, 00 00 big or 00 01 little
endian; then numbers, each at a multiple of its size after these four bytes. A text is its length with the
zero at its end, uint32, and its bytes; a sequence its length, uint32, and its elements. An empty one is not
padded.
"""

from __future__ import annotations

import json
import struct
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from nacelle.distribution import install_command
from nacelle.errors import MeasurementError, Problem, TableError
from nacelle.files import unread_reason
from nacelle.spatial.scalar import Array
from nacelle.tables.csv import Columns, Table, name_and_unit, read_table

# ---- the columns of a file, whatever its format


@dataclass(frozen=True, eq=False)
class Recording:
    """The columns of a file.

    Attributes:
        file: name of the file.
        names: names of its columns.
        units: units by name of a column, where the file has them.
        load: gives numbers (N,) of columns by name, NaN where an entry is missing; raises
            `MeasurementError` where entries are no numbers.
        rows: gives, for a number of samples, the row of each in the file, from 1 on: the first row, or all
            rows where they do not follow one another.
        header: line of the names in a text file; 0 without a header.
    """

    file: str
    names: tuple[str, ...]
    load: Callable[[Sequence[str]], dict[str, Array]]
    units: Mapping[str, str] = field(default_factory=dict)
    rows: Callable[[int], int | Array] = lambda _: 1
    header: int = 0


def unreadable_error(file: str | Path, message: str, hint: str) -> MeasurementError:
    """The error for a file from which nothing can be read."""
    return MeasurementError("no measurement:", [Problem(str(file), 0, 0, "", message, hint)])


@contextmanager
def file_errors(path: Path, kind: str, damaged: str, hint: str, *faults: type[Exception]) -> Iterator[None]:
    """Say what is wrong with a file where reading it fails.

    Args:
        path: the file.
        kind: what it is to be, for the words where it cannot be opened.
        damaged: the words where its content is not that, which what was wrong is added to.
        hint: what would be right.
        faults: errors by which a reader says so.

    Raises:
        MeasurementError: in the place of these errors.
    """
    try:
        yield
    except MeasurementError:
        raise
    except OSError as fault:
        raise unreadable_error(path, *unread_reason(path, fault, kind)) from None
    except faults as fault:
        what = " ".join(str(fault).split())[:120]
        raise unreadable_error(path, f"{damaged}: {what}", hint) from None


def _leaves(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """All that is in nested mappings and lists, with its names: NAME.FIELD, NAME[0]."""
    if isinstance(value, dict):
        for key, entry in value.items():
            yield from _leaves(f"{name}.{key}", entry)
    elif isinstance(value, list):
        for k, entry in enumerate(value):
            yield from _leaves(f"{name}[{k}]", entry)
    else:
        yield name, value


def recording_from_arrays(file: Path, arrays: Mapping[str, Array]) -> Recording:
    """The recording of named arrays: vectors are columns, matrices (N, k) columns NAME[0] ... NAME[k-1].

    Vectors as MATLAB keeps them, (N, 1) or (1, N), are columns. Other arrays are left out.
    """
    columns: dict[str, Array] = {}
    for name, array in arrays.items():
        if array.dtype.kind not in "biuf" or array.ndim not in (1, 2) or not array.size:
            continue
        if array.ndim == 1 or 1 in array.shape:
            columns[name] = array.ravel()
        else:
            columns |= {f"{name}[{k}]": array[:, k] for k in range(array.shape[1])}
    return Recording(str(file), tuple(columns), lambda names: {n: columns[n].astype(float) for n in names})


# ---- CSV files: a header with names, and units in brackets where they are not SI


def open_csv(path: Path) -> Recording:
    """Read the header; numbers are read when columns are loaded."""
    try:
        table = read_table(path)
    except TableError as fault:
        raise MeasurementError("no measurement:", fault.problems) from None
    # Units are judged together with the column map.
    bare = replace(table, units=("",) * len(table.names))

    def load(names: Sequence[str]) -> dict[str, Array]:
        columns = Columns(bare, {})
        for k, name in enumerate(bare.names):
            if name in names:
                columns.take(name, k)
        try:
            columns.stop("measurement")
            values = columns.values(gaps=True)
            columns.stop("measurement")
        except TableError as fault:
            raise MeasurementError("the table cannot be read:", fault.problems) from None
        return {name: np.where(np.isfinite(column), column, np.nan) for name, column in values.items()}

    units = {name: unit for name, unit in zip(table.names, table.units, strict=True) if unit}
    return Recording(table.file, table.names, load, units, lambda n: _rows(table, n), table.header.line)


def _rows(table: Table, count: int) -> int | Array:
    """Lines of the rows: the first one, or all of them if comments or empty lines are between."""
    if not count:
        return table.header.line + 1
    first, last = table.row(0).line, table.row(count - 1).line
    if last - first == count - 1:
        return first
    return np.array([table.row(i).line for i in range(count)])


# ---- MATLAB's files up to version 7: variables, and fields of structures as STRUCTURE.FIELD


def open_mat(path: Path) -> Recording:
    """Read all variables that are arrays of numbers."""
    from scipy.io import loadmat

    hint = "save(FILE, VARIABLES, '-v7') in MATLAB"
    # The reader of damaged files raises errors of many kinds.
    with file_errors(path, ".mat file", "not a MATLAB file", hint, Exception), path.open("rb") as stream:
        try:
            variables = loadmat(stream, simplify_cells=True)
        except NotImplementedError:
            # So scipy refuses files of version 7.3, which are HDF5.
            raise unreadable_error(path, "a MATLAB file of version 7.3 (HDF5) is not read", hint) from None
    named = {name: value for name, value in variables.items() if not name.startswith("__")}
    leaves = (leaf for variable in named.items() for leaf in _leaves(*variable))
    return recording_from_arrays(
        path, {name: value for name, value in leaves if isinstance(value, np.ndarray)}
    )


# ---- numPy's archives of arrays


def open_npz(path: Path) -> Recording:
    """Read all arrays of numbers; pickled objects are refused."""
    faults = ValueError, EOFError, zipfile.BadZipFile, AttributeError
    texts = "not an npz file of plain arrays", "write it by numpy.savez"
    with file_errors(path, "npz file", *texts, *faults), np.load(path, allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    return recording_from_arrays(path, arrays)


# ---- parquet files, by pyarrow (the extra `logs`)


def open_parquet(path: Path) -> Recording:
    """Read the names; columns are read when they are loaded."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise unreadable_error(path, "Parquet files need pyarrow", install_command("logs")) from None
    with file_errors(path, "Parquet file", "not a Parquet file", "name a Parquet file", pa.ArrowInvalid):
        schema = parquet.read_schema(path)
    numeric = [
        entry.name
        for entry in schema
        if pa.types.is_integer(entry.type)
        or pa.types.is_floating(entry.type)
        or pa.types.is_timestamp(entry.type)
    ]
    named = {name: name_and_unit(name) for name in numeric}
    full = {name: whole for whole, (name, _) in named.items()}

    def load(names: Sequence[str]) -> dict[str, Array]:
        table = parquet.read_table(path, columns=[full[name] for name in names])
        return {name: _parquet_floats(table.column(full[name])) for name in names}

    units = {name: unit for name, unit in named.values() if unit}
    return Recording(str(path), tuple(full), load, units)


def _parquet_floats(column: Any) -> Array:
    """A column as floats, NaN where it is null; points in time as seconds after the first."""
    values = column.to_numpy()
    if values.dtype.kind != "M":
        return np.asarray(values, dtype=float)
    # As whole numbers first: a float does not hold nanoseconds since 1970.
    missing = np.isnat(values)
    steps = (values - values[~missing][0]) if not missing.all() else values - values
    return np.where(missing, np.nan, steps / np.timedelta64(1, "s"))


# ---- messages `sensor_msgs/msg/JointState` of ROS 2, in CDR as ROS 2 logs them


SCHEMA = "sensor_msgs/msg/JointState"
# Byte order by the first two bytes.
_ORDERS = {b"\x00\x00": ">", b"\x00\x01": "<"}
_HEADER = 4


class _Cdr:
    """Reads numbers and texts of a message one after the other.

    Raises:
        ValueError: where the message is shorter than what it should hold.
    """

    def __init__(self, data: bytes) -> None:
        if data[:2] not in _ORDERS:
            raise ValueError(f"its encoding {data[:2].hex() or 'of no bytes'} is not plain CDR")
        self.order = _ORDERS[data[:2]]
        self.data, self.at = data, _HEADER

    def numbers(self, kind: str, count: int) -> tuple[Any, ...]:
        """So many numbers of a kind of `struct`, at a multiple of their size."""
        if not count:
            return ()
        size = struct.calcsize(f"={kind}")
        start = self.at + (_HEADER - self.at) % size
        self.at = start + size * count
        if self.at > len(self.data):
            raise ValueError(f"it has {len(self.data)} bytes, {self.at} are needed")
        return struct.unpack_from(f"{self.order}{count}{kind}", self.data, start)

    def number(self, kind: str) -> int:
        """One whole number."""
        return int(self.numbers(kind, 1)[0])

    def text(self) -> str:
        """A text, without the zero at its end."""
        return b"".join(self.numbers("c", self.number("I"))).removesuffix(b"\x00").decode()

    def doubles(self) -> tuple[float, ...]:
        """A sequence of float64."""
        return self.numbers("d", self.number("I"))


def joint_state(data: bytes) -> tuple[int, dict[str, Any]]:
    """The stamp of a message in nanoseconds, and its numbers by field and joint.

    Numbers of joints with names are {"position": {NAME: ...}, ...}, those without lists.

    Raises:
        ValueError: if it is no such message; it says why.
    """
    message = _Cdr(data)
    seconds, nanoseconds = message.number("i"), message.number("I")
    message.text()
    names = [message.text() for _ in range(message.number("I"))]
    if len(set(names)) < len(names):
        raise ValueError("two joints have the same name")
    fields: dict[str, Any] = {}
    for name in ("position", "velocity", "effort"):
        values = message.doubles()
        if names and values and len(values) != len(names):
            raise ValueError(f"it has {len(names)} names and {len(values)} numbers of {name}")
        fields[name] = dict(zip(names, values, strict=False)) if names else list(values)
    return seconds * 1_000_000_000 + nanoseconds, fields


# ---- MCAP logs with messages in JSON or joint states of ROS 2, by mcap (the extra `logs`)


def open_mcap(path: Path) -> Recording:
    """Read all numbers of all messages in JSON, and of joint states."""
    try:
        from mcap.exceptions import McapError
        from mcap.reader import make_reader
    except ImportError:
        raise unreadable_error(path, "MCAP files need mcap", install_command("logs")) from None
    counts: dict[str, int] = {}
    entries: dict[str, dict[int, float]] = {}
    start: int | None = None
    stamp: int | None = None
    other_topics = set()
    faults = McapError, ValueError
    with (
        file_errors(path, "MCAP file", "not an MCAP file", "name an MCAP file", *faults),
        path.open("rb") as stream,
    ):
        for schema, channel, message in make_reader(stream).iter_messages():
            states = channel.message_encoding == "cdr" and schema is not None and schema.name == SCHEMA
            if channel.message_encoding != "json" and not states:
                other_topics.add(channel.topic)
                continue
            start = message.log_time if start is None else start
            row = counts.setdefault(channel.topic, 0)
            counts[channel.topic] += 1
            logged = (message.log_time - start) * 1e-9
            entries.setdefault(f"{channel.topic}.log_time", {})[row] = logged
            if states:
                try:
                    stamped, content = joint_state(message.data)
                except ValueError as fault:
                    reason = f"message {row + 1} of {channel.topic} is no {SCHEMA}: {fault}"
                    raise unreadable_error(path, reason, "log it again") from None
                stamp = stamped if stamp is None else stamp
                content["stamp"] = (stamped - stamp) * 1e-9
            else:
                content = json.loads(message.data)
            for name, value in _leaves(channel.topic, content):
                if isinstance(value, int | float) and not isinstance(value, bool):
                    entries.setdefault(name, {})[row] = float(value)
    if not entries:
        topics = f"; {', '.join(sorted(other_topics)[:5])} have another encoding" if other_topics else ""
        raise unreadable_error(
            path,
            f"no messages in JSON and no joint states of ROS 2{topics}",
            "log messages as JSON or sensor_msgs/msg/JointState, or convert to Parquet",
        )
    topic_of = {name: topic for name in entries for topic in counts if name.startswith(f"{topic}.")}
    return Recording(
        str(path),
        tuple(entries),
        lambda names: {name: _message_column(entries[name], counts[topic_of[name]]) for name in names},
    )


def _message_column(entries: dict[int, float], count: int) -> Array:
    """The numbers of a field in all messages of its topic; NaN where one does not have it."""
    column = np.full(count, np.nan)
    column[list(entries)] = list(entries.values())
    return column


# ---- which format a file has, by its ending


_FORMATS = {
    ".csv": open_csv,
    ".txt": open_csv,
    ".tsv": open_csv,
    ".npz": open_npz,
    ".mat": open_mat,
    ".parquet": open_parquet,
    ".mcap": open_mcap,
}


def open_recording(path: Path) -> Recording:
    """Open a file of measured data.

    Raises:
        MeasurementError: if it cannot be read, or its ending is of no format that is read.
    """
    reader = _FORMATS.get(path.suffix.lower())
    if reader is None:
        hint = f"endings that are read: {' '.join(_FORMATS)}"
        raise unreadable_error(path, f"the ending {path.suffix!r} is of no format that is read", hint)
    return reader(path)
