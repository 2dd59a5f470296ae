"""MCAP logs with messages in JSON or joint states of ROS 2, by mcap (the extra `nacelle[logs]`).

Each number of a message is a column TOPIC.FIELD, of nested messages TOPIC.FIELD.FIELD, of lists
TOPIC.FIELD[0], and TOPIC.log_time is the time when it was logged, in seconds after the first message of the
file. A row is a message of its topic, counted from 1. Joint states (`joint_state`) have the columns
TOPIC.position.JOINT, TOPIC.velocity.JOINT, TOPIC.effort.JOINT, and TOPIC.stamp, the time in their header in
seconds after the first of the file.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from nacelle.files import why_unread
from nacelle.identification.data.formats.joint_state import SCHEMA, joint_state
from nacelle.identification.data.formats.recording import Recording, unreadable
from nacelle.spatial.scalar import Array


def open_mcap(path: Path) -> Recording:
    """Read all numbers of all messages in JSON, and of joint states."""
    try:
        from mcap.exceptions import McapError
        from mcap.reader import make_reader
    except ImportError:
        raise unreadable(path, "MCAP files need mcap", "pip install 'nacelle[logs]'") from None
    counts: dict[str, int] = {}
    entries: dict[str, dict[int, float]] = {}
    start: int | None = None
    stamp: int | None = None
    others = set()
    try:
        with path.open("rb") as stream:
            for schema, channel, message in make_reader(stream).iter_messages():
                states = channel.message_encoding == "cdr" and schema is not None and schema.name == SCHEMA
                if channel.message_encoding != "json" and not states:
                    others.add(channel.topic)
                    continue
                start = message.log_time if start is None else start
                row = counts.setdefault(channel.topic, 0)
                counts[channel.topic] += 1
                logged = (message.log_time - start) * 1e-9
                entries.setdefault(f"{channel.topic}.log_time", {})[row] = logged
                if states:
                    stamped, content = _joint_state(path, channel.topic, row, message.data)
                    stamp = stamped if stamp is None else stamp
                    content["stamp"] = (stamped - stamp) * 1e-9
                else:
                    content = json.loads(message.data)
                for name, number in _numbers(channel.topic, content):
                    entries.setdefault(name, {})[row] = number
    except OSError as fault:
        raise unreadable(path, *why_unread(path, fault, "MCAP file")) from None
    except (McapError, ValueError) as fault:
        what = " ".join(str(fault).split())[:120]
        raise unreadable(path, f"not an MCAP file: {what}", "name an MCAP file") from None
    if not entries:
        topics = f"; {', '.join(sorted(others)[:5])} have another encoding" if others else ""
        raise unreadable(
            path,
            f"no messages in JSON and no joint states of ROS 2{topics}",
            "log messages as JSON or sensor_msgs/msg/JointState, or convert to Parquet",
        )
    topic_of = {name: topic for name in entries for topic in counts if name.startswith(f"{topic}.")}
    return Recording(
        str(path),
        tuple(entries),
        lambda names: {name: _column(entries[name], counts[topic_of[name]]) for name in names},
    )


def _joint_state(path: Path, topic: str, row: int, data: bytes) -> tuple[int, dict[str, Any]]:
    """Stamp, ns, and numbers of a joint state; an error names the message."""
    try:
        return joint_state(data)
    except ValueError as fault:
        raise unreadable(
            path, f"message {row + 1} of {topic} is no {SCHEMA}: {fault}", "log it again"
        ) from None


def _numbers(name: str, value: Any) -> Iterator[tuple[str, float]]:
    """All numbers of a message with their names."""
    if isinstance(value, dict):
        for key, entry in value.items():
            yield from _numbers(f"{name}.{key}", entry)
    elif isinstance(value, list):
        for k, entry in enumerate(value):
            yield from _numbers(f"{name}[{k}]", entry)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield name, float(value)


def _column(entries: dict[int, float], count: int) -> Array:
    """The numbers of a field in all messages of its topic; NaN where one does not have it."""
    column = np.full(count, np.nan)
    column[list(entries)] = list(entries.values())
    return column
