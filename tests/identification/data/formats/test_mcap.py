"""MCAP logs with messages in JSON: a column for each number, a row for each message of a topic."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mcap.writer import Writer

from nacelle.errors import MeasurementError
from nacelle.identification.data.formats.mcap import open_mcap


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
