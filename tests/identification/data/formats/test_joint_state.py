"""Joint states of ROS 2 in MCAP files: bytes laid out by hand, read as any other measurement."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from nacelle.errors import MeasurementError
from nacelle.identification.data.formats.joint_state import SCHEMA, joint_state
from nacelle.identification.data.read import read_measurement
from support.library import library_robot

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


def write(path: Path, messages: list[bytes], schema: str = SCHEMA) -> Path:
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
    measured = read_measurement(write(tmp_path / "run.mcap", messages), library_robot("fivebar"), MAP)
    np.testing.assert_allclose(measured.time, 0.5 * np.arange(N), atol=1e-12)
    np.testing.assert_allclose(measured.q, 0.1 * np.arange(N)[:, None] + [0.0, 1.0])
    np.testing.assert_allclose(measured.force, 2.0 * np.arange(N)[:, None] + [0.0, 1.0])


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
    path = write(tmp_path / "run.mcap", [message(0), data])
    with pytest.raises(MeasurementError, match=words):
        read_measurement(path, library_robot("fivebar"), MAP)


def test_other_messages_of_ros_are_not_read(tmp_path):
    path = write(tmp_path / "run.mcap", [message(0)], "sensor_msgs/msg/Imu")
    with pytest.raises(
        MeasurementError, match="no joint states of ROS 2; /joint_states have another encoding"
    ):
        read_measurement(path, library_robot("fivebar"), MAP)
