"""The command `balance`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import nacelle
from nacelle.cli import app
from support.pendulum import PENDULUM

pytestmark = pytest.mark.filterwarnings("error")
ROBOT = "pendulum.yaml"


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path(ROBOT).write_text(PENDULUM)


def run(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, ["balance", *arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code == code, result.output
    return result.output


def test_a_counterweight_and_the_robot_that_has_it() -> None:
    Path("poses.csv").write_text("rz [rad]\n-0.5\n0\n0.5\n")
    arguments = (ROBOT, "--counterweight", "arm=-200mm,0,0", "--csv", "poses.csv")
    found = json.loads(run(*arguments, "--json"), parse_constant=pytest.fail)
    assert found["poses"] == 3
    assert found["counterweights"][0]["mass"] == pytest.approx(3.0)
    assert found["springs"] == []
    assert found["max_after"][0] < 1e-12 < found["rms_before"][0]
    text = run(*arguments, "--out", "balanced.yaml")
    assert "counterweight on arm: 3 kg at (-200, 0, 0) mm" in text
    balanced = nacelle.load("balanced.yaml")
    assert np.max(np.abs(nacelle.equilibrium(balanced, [[0.1], [0.7]]))) < 1e-12
