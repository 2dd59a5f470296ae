"""The command `control`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from nacelle.cli import app

RUNNER = CliRunner()
QUICK = ["control", "fivebar", "--period", "0.001"]


def test_table_files_and_json(tmp_path: Path) -> None:
    picture, table = tmp_path / "errors.png", tmp_path / "run.csv"
    done = RUNNER.invoke(
        app, [*QUICK, "--controllers", "sj,cf-rb", "--plot", str(picture), "--out", str(table)]
    )
    assert done.exit_code == 0, done.output
    assert "left.motor (mrad)" in done.output
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "run-sj.csv").read_text(encoding="utf-8").startswith("t [s],left.motor.desired [rad]")
    assert (tmp_path / "run-cf-rb.csv").is_file()
    data = json.loads(RUNNER.invoke(app, [*QUICK, "--controllers", "sj,cf-rb", "--json"]).stdout)
    first, second = data["runs"]
    assert first["status"] == "done"
    assert second["actuators"][0]["rms_error"] < 0.6 * first["actuators"][0]["rms_error"]


def test_a_run_that_ends_early_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "blind.yaml"
    file.write_text(
        "path: {circle: {}}\nplant: {drives: {bandwidth: 500 Hz}}\n"
        "sensors: {gaps: [{from: 0.1 s, until: 1 s}]}\n",
        encoding="utf-8",
    )
    options = [*QUICK, "--scenario", str(file), "--controllers", "sj"]
    done = RUNNER.invoke(app, options)
    assert done.exit_code == 3
    assert "readings were missing" in done.output
    data = json.loads(RUNNER.invoke(app, [*options, "--json"]).stdout)
    assert data["runs"][0]["status"] == "event"
    assert data["runs"][0]["time"] == pytest.approx(0.11, abs=2e-3)
    # Before the path there is nothing to draw, and nothing fails.
    file.write_text(file.read_text(encoding="utf-8").replace("0.1 s", "-0.2 s"), encoding="utf-8")
    done = RUNNER.invoke(app, [*options, "--out", str(tmp_path / "empty.csv")])
    assert done.exit_code == 3, done.output
    assert len((tmp_path / "empty.csv").read_text(encoding="utf-8").splitlines()) == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--controllers", "sjj"], "did you mean 'sj'?"),
        (["--scenario", "nowhere.yaml"], "one of circle, pick-and-place"),
        (["--figure", "nothing"], "no figure is called 'nothing'"),
        (["--period", "-1"], "--period is above zero"),
        (["--delay", "0.01"], "beyond the sample time"),
        (["--plot", "run.xyz"], "run.xyz: write .png, .svg or .pdf"),
    ],
)
def test_mistakes(options: list[str], words: str) -> None:
    done = RUNNER.invoke(app, [*QUICK, *options])
    assert done.exit_code == 1
    assert words in done.output
