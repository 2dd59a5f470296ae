"""Column maps: shapes, units with spaces, and actuators that a robot has not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nacelle.errors import MeasurementError
from nacelle.identification.data.column_map import read_column_map
from support.library import library_robot

ROBOT = library_robot("fivebar")
NAMES = [actuator.name for actuator in ROBOT.actuators]


def column_map(entry: dict[str, Any], **other: Any) -> dict[str, Any]:
    return {"time": {"column": "t"}, "actuators": dict.fromkeys(NAMES, entry)} | other


GOOD = {"position": {"column": "e"}, "current": {"column": 7, "torque_constant": "0.1 N m/A"}}


def test_text_file_and_mapping_are_one(tmp_path: Path) -> None:
    inner = "{position: {column: e}, current: {column: 7, torque_constant: 0.1 N m/A}}"
    text = "time: {column: t}\nactuators:\n" + "".join(f"  {name}: {inner}\n" for name in NAMES)
    (tmp_path / "map.yaml").write_text(text, encoding="utf-8")
    specs = [read_column_map(given, ROBOT).spec for given in (text, tmp_path / "map.yaml", column_map(GOOD))]
    assert specs[0] == specs[1] == specs[2]
    assert specs[0].actuators is not None
    current = specs[0].actuators[NAMES[0]].current
    assert current is not None
    assert (current.column, current.torque_constant) == ("7", "0.1 N*m/A")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (column_map(GOOD, time={"column": "t", "step": "1 ms"}), "exactly one of column, step"),
        (column_map(GOOD | {"force": {"column": "f"}}), "exactly one of force, current"),
        (
            column_map({"position": {"column": "e", "counts_per_turn": 0}, "force": {"column": "f"}}),
            "counts_per_turn",
        ),
        ({"actuators": {NAMES[0]: GOOD}}, f"no columns for {NAMES[1]}"),
        ({"actuators": {**dict.fromkeys(NAMES, GOOD), "rigth.motor": GOOD}}, "no actuator 'rigth.motor'"),
    ],
)
def test_what_is_no_map(given: dict[str, Any], words: str) -> None:
    with pytest.raises(MeasurementError, match=words):
        read_column_map(given, ROBOT)


def test_text_that_is_no_yaml() -> None:
    with pytest.raises(MeasurementError, match="not YAML") as caught:
        read_column_map("time: {column\nx: ]\n", ROBOT)
    assert caught.value.problems[0].line > 0
