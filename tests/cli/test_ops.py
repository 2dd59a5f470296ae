"""The command ops."""

from __future__ import annotations

import json
from pathlib import Path

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
    assert "1095 operations" in text


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


DRIVEN_CLOSURE = """
format: nacelle/2
name: fourbar
motion: [a]
legs:
  - name: s
    bodies:
      crank: {mass: 1 kg, com: 20 0 0 mm, inertia: 1e-4 1e-4 1e-4 kg*m^2}
      rod: {mass: 1 kg, com: 20 0 0 mm, inertia: 1e-4 1e-4 1e-4 kg*m^2}
      rocker: {mass: 1 kg, com: 20 0 0 mm, inertia: 1e-4 1e-4 1e-4 kg*m^2}
    joints:
      a: {type: revolute, parent: base, child: crank, axis: z, guess: 80 deg}
      b: {type: revolute, parent: crank, child: rod, at: 60 0 0 mm, axis: z, guess: -80 deg}
      c: {type: revolute, parent: base, child: rocker, at: 100 0 0 mm, axis: z, guess: 70 deg}
    closures:
      d: {type: revolute, parent: rod, at: 90 0 0 mm, child: rocker, child_at: 70 0 0 mm, axis: z,
          actuator: {}}
"""


def test_the_tree_says_why_it_is_taken(tmp_path: Path) -> None:
    file = tmp_path / "fourbar.yaml"
    file.write_text(DRIVEN_CLOSURE)
    data = json.loads(CliRunner().invoke(app, ["ops", str(file), "--json"]).stdout)
    assert data["form"] == "tree"
    assert "closed by a joint with a drive" in data["reason"]
    text = " ".join(CliRunner().invoke(app, ["ops", str(file)]).stdout.split())
    assert "the equivalent tree; not the general form, because a loop" in text
    assert json.loads(CliRunner().invoke(app, ["ops", "fivebar", "--json"]).stdout)["reason"] == ""
