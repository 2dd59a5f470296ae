"""Simulation: control, simulate."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from nacelle.cli import app

# ---- The command `control`

RUNNER = CliRunner()

QUICK = ["control", "fivebar", "--period", "0.001"]


def test_table_files_and_json(tmp_path: Path) -> None:
    picture, table = tmp_path / "errors.png", tmp_path / "run.csv"
    done = RUNNER.invoke(
        app, [*QUICK, "--controllers", "sj,cf-rb", "--plot", str(picture), "--out", str(table)]
    )
    assert done.exit_code == 0, done.output
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
    data = json.loads(RUNNER.invoke(app, [*options, "--json"]).stdout)
    assert data["runs"][0]["status"] == "event"
    assert data["runs"][0]["time"] == pytest.approx(0.11, abs=2e-3)
    # Before the path there is nothing to draw, and nothing fails.
    file.write_text(file.read_text(encoding="utf-8").replace("0.1 s", "-0.2 s"), encoding="utf-8")
    done = RUNNER.invoke(app, [*options, "--out", str(tmp_path / "empty.csv")])
    assert done.exit_code == 3, done.output
    assert len((tmp_path / "empty.csv").read_text(encoding="utf-8").splitlines()) == 1


# ---- The command `simulate`


def test_the_command_draws(tmp_path: Path) -> None:
    file = tmp_path / "run.png"
    arguments = ["simulate", "fivebar", "--until", "0.02", "--hold", "--twist", "x=0.1", "--plot", str(file)]
    done = RUNNER.invoke(app, arguments)
    assert done.exit_code == 0, done.output
    assert file.read_bytes().startswith(b"\x89PNG")
    again = RUNNER.invoke(app, arguments)
    assert again.exit_code == 1


def test_rates_and_forces_of_the_command_have_units() -> None:
    ends = [
        CliRunner().invoke(
            app, ["simulate", "fivebar", "--until", "0.01", "--twist", twist, "--force", force]
        )
        for twist, force in (("x=200mm/s", "left.motor=50N*cm"), ("x=0.2", "left.motor=0.5"))
    ]
    assert ends[0].exit_code == 0, ends[0].output
    assert ends[0].output == ends[1].output


def test_methods_of_flexible_robots() -> None:
    """Links that stretch far faster than they bend are simulated by implicit steps, unless said otherwise."""
    settings = ["simulate", "fivebar-flexible", "--elastic", "--until", "0.002", "--force", "left.motor=0.5"]
    ends = []
    for options in ([], ["--method", "irk5", "--step", "5e-5"], ["--method", "dop853"]):
        done = RUNNER.invoke(app, [*settings, "--json", *options])
        assert done.exit_code == 0, done.output
        data = json.loads(done.output)
        assert data["method"] == ("dop853" if "dop853" in options else "irk5")
        ends.append(np.array(data["pose"]))
    np.testing.assert_allclose(ends[0], ends[2], rtol=0.0, atol=1e-8)
    np.testing.assert_allclose(ends[1], ends[2], rtol=0.0, atol=1e-8)
