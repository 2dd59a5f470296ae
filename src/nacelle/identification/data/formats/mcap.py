"""MCAP logs with messages in JSON, by mcap (the extra `nacelle[logs]`).

Each number of a message is a column TOPIC.FIELD, of nested messages TOPIC.FIELD.FIELD, of lists
TOPIC.FIELD[0], and TOPIC.log_time is the time when it was logged, in seconds after the first message of the
file. A row is a message of its topic, counted from 1.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from nacelle.files import why_unread
from nacelle.identification.data.formats.recording import Recording, unreadable
from nacelle.spatial.scalar import Array


def open_mcap(path: Path) -> Recording:
    """Read all numbers of all messages in JSON."""
    try:
        from mcap.exceptions import McapError
        from mcap.reader import make_reader
    except ImportError:
        raise unreadable(path, "MCAP files need mcap", "pip install 'nacelle[logs]'") from None
    counts: dict[str, int] = {}
    entries: dict[str, dict[int, float]] = {}
    start = None
    others = set()
    try:
        with path.open("rb") as stream:
            for _, channel, message in make_reader(stream).iter_messages():
                if channel.message_encoding != "json":
                    others.add(channel.topic)
                    continue
                start = message.log_time if start is None else start
                row = counts.setdefault(channel.topic, 0)
                counts[channel.topic] += 1
                logged = (message.log_time - start) * 1e-9
                entries.setdefault(f"{channel.topic}.log_time", {})[row] = logged
                for name, number in _numbers(channel.topic, json.loads(message.data)):
                    entries.setdefault(name, {})[row] = number
    except OSError as fault:
        raise unreadable(path, *why_unread(path, fault, "MCAP file")) from None
    except (McapError, ValueError) as fault:
        what = " ".join(str(fault).split())[:120]
        raise unreadable(path, f"not an MCAP file: {what}", "name an MCAP file") from None
    if not entries:
        topics = f"; {', '.join(sorted(others)[:5])} have another encoding" if others else ""
        raise unreadable(path, f"no messages in JSON{topics}", "log messages as JSON, or convert to Parquet")
    topic_of = {name: topic for name in entries for topic in counts if name.startswith(f"{topic}.")}
    return Recording(
        str(path),
        tuple(entries),
        lambda names: {name: _column(entries[name], counts[topic_of[name]]) for name in names},
    )


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
