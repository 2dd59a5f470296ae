"""Formats: csv, formats, joint state, mat, mcap, npz, parquet, recording."""

from __future__ import annotations

import builtins
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from mcap.writer import Writer
from pyarrow import parquet
from scipy.io import savemat

from nacelle.errors import MeasurementError
from nacelle.identification.data.read import read_measurement
from nacelle.identification.data.recording import (
    SCHEMA,
    joint_state,
    open_csv,
    open_mat,
    open_mcap,
    open_npz,
    open_parquet,
    open_recording,
    recording_from_arrays,
)
from support.library import library_robot

# ---- CSV files: units stay beside the columns, gaps are NaN, rows keep the numbers of their lines


def write_log(folder: Path, text: str) -> Path:
    (folder / "run.csv").write_text(text, encoding="utf-8")
    return folder / "run.csv"


def test_columns_units_and_rows(tmp_path: Path) -> None:
    text = "t [ms],q,i [A]\n0,1,2\n1,,3\n# moved\n2,5,inf\n"
    read = open_csv(write_log(tmp_path, text))
    assert read.names == ("t", "q", "i")
    assert dict(read.units) == {"t": "ms", "i": "A"}
    values = read.load(["q", "i"])
    assert set(values) == {"q", "i"}
    np.testing.assert_array_equal(values["q"], [1.0, np.nan, 5.0])
    # What is no finite number is missing.
    np.testing.assert_array_equal(values["i"], [2.0, 3.0, np.nan])
    np.testing.assert_array_equal(read.rows(3), [2, 3, 5])
    assert read.rows(2) == 2
    assert read.header == 1


def test_texts_name_their_line(tmp_path: Path) -> None:
    read = open_csv(write_log(tmp_path, "t,q\n0,1\n1,overrun\n"))
    np.testing.assert_array_equal(read.load(["t"])["t"], [0.0, 1.0])
    with pytest.raises(MeasurementError, match="'overrun'") as caught:
        read.load(["q"])
    assert caught.value.problems[0].line == 3


# ---- The ending of a file says its format


def test_endings_in_capitals(tmp_path: Path) -> None:
    (tmp_path / "run.CSV").write_text("a,b\n1,2\n3,4\n", encoding="utf-8")
    with (tmp_path / "run.NPZ").open("wb") as stream:
        np.savez(stream, a=np.array([1.0, 3.0]))
    for name in ("run.CSV", "run.NPZ"):
        np.testing.assert_array_equal(open_recording(tmp_path / name).load(["a"])["a"], [1.0, 3.0])


def test_other_endings(tmp_path: Path) -> None:
    with pytest.raises(MeasurementError, match=r"'\.xlsx' is of no format"):
        open_recording(tmp_path / "run.xlsx")


@pytest.mark.parametrize(("ending", "package"), [(".parquet", "pyarrow"), (".mcap", "mcap")])
def test_missing_extras(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str, package: str) -> None:
    found = builtins.__import__

    def without(name: str, *args: Any, **options: Any) -> object:
        if name.split(".", 1)[0] == package:
            raise ImportError(name)
        return found(name, *args, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MeasurementError, match=r"nacelle-robotics\[logs\]"):
        open_recording(tmp_path / f"run{ending}")


# ---- MATLAB's files: variables, fields of structures, vectors in rows and columns


def test_variables_and_fields(tmp_path: Path) -> None:
    t, q = np.arange(4.0), np.arange(8.0).reshape(4, 2)
    savemat(tmp_path / "run.mat", {"t": t, "log": {"q": q, "i": {"a": 2 * t}}, "note": "text"})
    read = open_mat(tmp_path / "run.mat")
    assert set(read.names) == {"t", "log.q[0]", "log.q[1]", "log.i.a"}
    values = read.load(["t", "log.q[1]", "log.i.a"])
    np.testing.assert_array_equal(values["t"], t)
    np.testing.assert_array_equal(values["log.q[1]"], q[:, 1])
    np.testing.assert_array_equal(values["log.i.a"], 2 * t)


def test_matlab_7_3(tmp_path: Path) -> None:
    head = b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(116) + b"\x00" * 8 + b"\x00\x02IM"
    (tmp_path / "run.mat").write_bytes(head + b"\x89HDF\r\n\x1a\n" + bytes(100))
    with pytest.raises(MeasurementError, match=r"7\.3"):
        open_mat(tmp_path / "run.mat")


# ---- MCAP logs with messages in JSON: a column for each number, a row for each message of a topic


def write(path: Path, messages: list[tuple[str, Any]], encoding: str = "json") -> Path:
    with path.open("wb") as stream:
        writer = Writer(stream)
        writer.start()
        schema = writer.register_schema("state", "jsonschema", b"{}")
        channels = {topic: writer.register_channel(topic, encoding, schema) for topic, _ in messages}
        for k, (topic, content) in enumerate(messages):
            data = json.dumps(content).encode()
            writer.add_message(channels[topic], log_time=10**18 + 500 * k, data=data, publish_time=0)
        writer.finish()
    return path


def test_numbers_of_messages(tmp_path: Path) -> None:
    messages = [
        ("/a", {"q": [1, 2.5], "state": {"i": 3, "on": True, "word": "x"}}),
        ("/b", {"f": 7}),
        ("/a", {"q": [4, 5]}),
    ]
    read = open_mcap(write(tmp_path / "run.mcap", messages))
    assert set(read.names) == {"/a.log_time", "/a.q[0]", "/a.q[1]", "/a.state.i", "/b.log_time", "/b.f"}
    values = read.load(["/a.q[1]", "/a.state.i", "/a.log_time", "/b.f"])
    np.testing.assert_array_equal(values["/a.q[1]"], [2.5, 5.0])
    np.testing.assert_array_equal(values["/a.state.i"], [3.0, np.nan])
    np.testing.assert_allclose(values["/a.log_time"], [0.0, 1e-6], rtol=1e-9)
    np.testing.assert_array_equal(values["/b.f"], [7.0])


def test_other_encodings_are_named(tmp_path: Path) -> None:
    path = write(tmp_path / "run.mcap", [("/cloud", {"q": 1})], "protobuf")
    with pytest.raises(MeasurementError, match="/cloud have another encoding"):
        open_mcap(path)


# ---- NumPy's archives: arrays of numbers, no pickles


def test_pickles_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "run.npz", time=np.array([{"a": 1}], dtype=object))
    with pytest.raises(MeasurementError, match="plain arrays"):
        open_npz(tmp_path / "run.npz")


# ---- Parquet files: numbers, units in names, gaps, and points in time


def test_numbers_gaps_and_times(tmp_path: Path) -> None:
    # Nanoseconds since 1970 that a float does not hold.
    stamps = np.array([10**18 + 1, 10**18 + 501, 10**18 + 1001], dtype="datetime64[ns]")
    table = pa.table(
        {"time": stamps, "q [deg]": [1, None, 3], "i": [0.5, 0.25, 0.125], "note": ["a", "b", "c"]}
    )
    parquet.write_table(table, tmp_path / "run.parquet")
    read = open_parquet(tmp_path / "run.parquet")
    assert read.names == ("time", "q", "i")
    assert dict(read.units) == {"q": "deg"}
    values = read.load(["time", "q"])
    np.testing.assert_allclose(values["time"], [0.0, 5e-7, 1e-6], rtol=1e-12)
    np.testing.assert_array_equal(values["q"], [1.0, np.nan, 3.0])


def test_what_is_no_parquet_file(tmp_path: Path) -> None:
    (tmp_path / "run.parquet").write_bytes(b"PAR1 but nothing else PAR1")
    with pytest.raises(MeasurementError):
        open_parquet(tmp_path / "run.parquet")


# ---- Named arrays as columns: vectors, matrices, and what is left out


def test_columns_of_arrays() -> None:
    row, matrix = np.array([[1.0, 2.0, 3.0]]), np.arange(6.0).reshape(3, 2)
    arrays = {"row": row, "column": row.T, "matrix": matrix, "flag": np.array([True, False, True])}
    arrays |= {"text": np.array(["a"]), "cube": np.zeros((2, 2, 2)), "empty": np.zeros(0)}
    read = recording_from_arrays(Path("run.npz"), arrays)
    assert read.names == ("row", "column", "matrix[0]", "matrix[1]", "flag")
    values = read.load(read.names)
    for name in ("row", "column"):
        np.testing.assert_array_equal(values[name], [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(values["matrix[1]"], matrix[:, 1])
    np.testing.assert_array_equal(values["flag"], [1.0, 0.0, 1.0])
    assert read.rows(3) == 1
    assert read.header == 0


# ---- Joint states of ROS 2 in MCAP files: bytes laid out by hand, read as any other measurement

N = 5
NAMES = ("left_joint", "right_joint")
START = 1_700_000_000


def message(k: int, order: str = "<", swapped: bool = False) -> bytes:
    """A message with two joints and no velocities, padded by hand after the four bytes of the encoding."""
    first, second = (1, 0) if swapped else (0, 1)
    names = [NAMES[first].encode(), NAMES[second].encode()]
    text = b"".join(
        struct.pack(f"{order}I", len(name) + 1) + name + b"\0" + b"\0" * (-(len(name) + 1) % 4)
        for name in names
    )
    assert len(text) == 32
    q = [0.1 * k + first, 0.1 * k + second]
    effort = [2.0 * k + first, 2.0 * k + second]
    body = struct.pack(f"{order}iI", START + k // 2, 500_000_000 * (k % 2))
    body += struct.pack(f"{order}I5s3x", 5, b"base\0")
    body = body + struct.pack(f"{order}I", 2) + text + struct.pack(f"{order}I", 2)
    body += b"\0" * (-len(body) % 8) + struct.pack(f"{order}2d", *q)
    body += struct.pack(f"{order}I", 0) + struct.pack(f"{order}I", 2)
    body += b"\0" * (-len(body) % 8) + struct.pack(f"{order}2d", *effort)
    return (b"\x00\x01" if order == "<" else b"\x00\x00") + b"\0\0" + body


def write_of_joint_state(path: Path, messages: list[bytes], schema: str = SCHEMA) -> Path:
    from mcap.writer import Writer

    with path.open("wb") as stream:
        writer = Writer(stream)
        writer.start(profile="ros2")
        number = writer.register_schema(schema, "ros2msg", b"std_msgs/Header header\nstring[] name\n")
        channel = writer.register_channel("/joint_states", "cdr", number)
        for k, data in enumerate(messages):
            writer.add_message(channel, log_time=int(1e18) + 1000 * k, data=data, publish_time=0)
        writer.finish()
    return path


MAP = {
    "time": {"column": "/joint_states.stamp"},
    "actuators": {
        f"{side}.motor": {
            "position": {"column": f"/joint_states.position.{side}_joint"},
            "force": {"column": f"/joint_states.effort.{side}_joint"},
        }
        for side in ("left", "right")
    },
}


def test_fields_in_both_byte_orders():
    for order in "<>":
        stamp, fields = joint_state(message(3, order))
        assert stamp == (START + 1) * 10**9 + 500_000_000
        assert fields["position"] == pytest.approx({"left_joint": 0.3, "right_joint": 1.3})
        assert fields["velocity"] == {}
        assert fields["effort"] == {"left_joint": 6.0, "right_joint": 7.0}


def test_a_log_is_a_measurement(tmp_path):
    """Joints are read by their names: their order may change from message to message."""
    messages = [message(k, swapped=k % 2 == 1) for k in range(N)]
    measured = read_measurement(
        library_robot("fivebar"), write_of_joint_state(tmp_path / "run.mcap", messages), MAP
    )
    np.testing.assert_allclose(measured.time, 0.5 * np.arange(N), atol=1e-12)
    np.testing.assert_allclose(measured.q, 0.1 * np.arange(N)[:, None] + [0.0, 1.0])
    np.testing.assert_allclose(measured.tau, 2.0 * np.arange(N)[:, None] + [0.0, 1.0])


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (message(0)[:40], r"message 2 of /joint_states is no sensor_msgs.*40 bytes"),
        (b"\x00\x07\x00\x00" + message(0)[4:], "0007 is not plain CDR"),
        (b"", "of no bytes"),
        (message(0)[:12] + b"\xff\xff\xff\x7f" + message(0)[16:], "2147483663 are needed"),
    ],
)
def test_broken_messages_are_named(tmp_path, data, words):
    path = write_of_joint_state(tmp_path / "run.mcap", [message(0), data])
    with pytest.raises(MeasurementError, match=words):
        read_measurement(library_robot("fivebar"), path, MAP)


def test_other_messages_of_ros_are_not_read(tmp_path):
    path = write_of_joint_state(tmp_path / "run.mcap", [message(0)], "sensor_msgs/msg/Imu")
    with pytest.raises(
        MeasurementError, match="no joint states of ROS 2; /joint_states have another encoding"
    ):
        read_measurement(library_robot("fivebar"), path, MAP)
