"""Messages `sensor_msgs/msg/JointState` of ROS 2, in CDR as ROS 2 logs them.

    header     stamp: int32 sec, uint32 nanosec; string frame_id
    name       string[]
    position, velocity, effort       float64[], in the order of the names, or empty

CDR (OMG, Common Data Representation, version 1): four bytes say the byte order, 00 00 big or 00 01 little
endian; then numbers, each at a multiple of its size after these four bytes. A text is its length with the
zero at its end, uint32, and its bytes; a sequence its length, uint32, and its elements. An empty one is not
padded.
"""

from __future__ import annotations

import struct
from typing import Any

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
    for field in ("position", "velocity", "effort"):
        values = message.doubles()
        if names and values and len(values) != len(names):
            raise ValueError(f"it has {len(names)} names and {len(values)} numbers of {field}")
        fields[field] = dict(zip(names, values, strict=False)) if names else list(values)
    return seconds * 1_000_000_000 + nanoseconds, fields
