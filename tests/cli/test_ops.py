"""The command ops."""

from __future__ import annotations

import json

from typer.testing import CliRunner

from nacelle.cli import app
from nacelle.cli.ops import MODELS
from nacelle.dynamics.models import NAMES
from nacelle.elastic.named import ELASTIC_NAMES

# Operations of a rotation matrix from a quaternion: models take the pose with one.
QUATERNION = 24


def test_the_command() -> None:
    run = CliRunner().invoke(app, ["ops", "palida", "--friction", "--json"])
    data = json.loads(run.stdout)
    assert data["total"] == data["add"] + data["mul"] <= 1100 + QUATERNION
    assert data["sqrt"] == 12
    assert data["trig"] == 0
    assert data["sign"] == 18
    assert [stage["name"] for stage in data["stages"]] == ["rigid", "friction"]
    assert data["published"][0]["total"] == 1987


def test_the_names_that_are_completed_are_all() -> None:
    assert set(MODELS) == {*NAMES, *ELASTIC_NAMES}
