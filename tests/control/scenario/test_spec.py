"""The shape of scenarios."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from nacelle.control.scenario.spec import DrivesSpec, PathSpec, ScenarioSpec


def test_short_forms_are_long_ones() -> None:
    spec = ScenarioSpec.model_validate({"path": {"circle": {}}, "controllers": ["sj"], "sensors": "ideal"})
    assert spec.controllers[0].name == "sj"
    assert spec.sensors.resolution == 0.0
    assert DrivesSpec.model_validate({"stiction": True}).stiction is not None
    assert DrivesSpec.model_validate({"stiction": False}).stiction is None
    assert DrivesSpec.model_validate({"bandwidth": "100 Hz"}).time_constant == pytest.approx(
        1.5915e-3, rel=1e-4
    )


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ({}, "exactly one of circle, pick-and-place, line, through is needed, none is given"),
        ({"circle": {}, "pick-and-place": {}}, "circle and pick-and-place are given"),
        ({"line": {"end": {"x": 1.0}}}, "exactly one of duration, speed is needed"),
        ({"circle": {"centre": "nowhere"}}, "expected a place"),
        ({"circle": {"speed": "0 m/s"}}, "is above 0"),
        ({"through": {"points": [{}, {}]}}, "missing key 'duration' or 'speed'"),
        ({"pick-and-place": {"dwell": "-1 s"}}, "is above 0"),
    ],
)
def test_paths_that_are_none(path: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        PathSpec.model_validate(path)
