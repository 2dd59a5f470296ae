"""The command ops."""

from __future__ import annotations

import json

import pytest
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
    text = CliRunner().invoke(app, ["ops", "palida", "--friction"]).stdout
    assert "765 + 1132 = 1897" in text
    assert "1074 operations" in text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["fivebar", "inverse"], "no model is called 'inverse'"),
        (["fivebar", "--input", "camera"], "no input is called 'camera'"),
        (["dymo", "--input", "elements"], "none of the covered kinds"),
        (["gough-stewart", "--input", "encoders"], "closed form"),
        (["quattro", "--input", "encoders"], "closed form"),
        (["fivebar", "forward_dynamics", "--input", "elements"], "takes the pose"),
    ],
)
def test_mistakes(arguments: list[str], words: str) -> None:
    run = CliRunner().invoke(app, ["ops", *arguments])
    assert run.exit_code != 0
    assert words in run.output


def test_the_names_that_are_completed_are_all() -> None:
    assert set(MODELS) == {*NAMES, *ELASTIC_NAMES}
