"""The command linearise."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import nacelle
from nacelle.cli import app
from nacelle.cli.dynamics import linearise as command  # registers the command
from nacelle.dynamics.derivatives.linear import linearise
from support import described

pytestmark = pytest.mark.filterwarnings("error")


def run(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, ["linearise", *arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code == code, result.output
    return result.output


def test_json_is_the_model() -> None:
    found = json.loads(run("fivebar", "--at", "x=20mm", "--json"), parse_constant=pytest.fail)
    robot = nacelle.load("fivebar")
    model = linearise(robot, nacelle.pose(robot, x=0.02))
    for name in "ABCD":
        np.testing.assert_allclose(found[name], getattr(model, name), rtol=1e-12)
    assert found["state"] == ["x", "y", "v_x", "v_y"]
    assert [pole["real"] for pole in found["poles"]] == pytest.approx(model.eigenvalues.real)
    assert found["smooth"] == 0.01


def test_a_pose_that_is_no_equilibrium_is_told() -> None:
    """Nothing holds the pole of a cart beside the vertical; hanging down it rests."""
    path = str(Path(described.__file__).parent / "cart_pole.yaml")
    robot = described.mechanism("cart_pole")
    name = nacelle.mobility(robot).undriven[0]
    told = run(path, "--at", f"{name}=30deg")
    assert f"no equilibrium: nothing drives {name}" in told
    there = nacelle.equilibrium_pose(robot, free=name)[robot.motion.coordinates.index(name)]
    assert "no equilibrium" not in run(path, "--at", f"{name}={there}")
    data = json.loads(run(path, "--at", f"{name}=30deg", "--json"))
    assert abs(np.array(data["c"])).max() > 1.0


def test_wide_matrices_keep_all_names(capsys: pytest.CaptureFixture[str]) -> None:
    """Twenty columns do not fit beside each other: they follow below, and no name is cut."""
    names = tuple(f"v_leg{k}.some-joint" for k in range(20))
    command._matrix("A", np.arange(400.0).reshape(20, 20), [f"d/dt {name}" for name in names], names)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 160
    heads = [line.split() for line in lines if line.startswith("A ")]
    assert len(heads) > 1
    assert [name for head in heads for name in head[1:]] == list(names)
    for k, name in enumerate(names):
        rows = [line.split() for line in lines if line.startswith(f"d/dt {name} ")]
        assert [float(cell.replace(".", "0")) for row in rows for cell in row[2:]] == [
            20.0 * k + c for c in range(20)
        ]
