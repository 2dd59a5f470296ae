"""The commands control and simulate."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from support.command import run, run_json
from support.golden import FOLDER

QUICK = ("control", "fivebar", "--period", "0.001")


@pytest.mark.slow
def test_table_files_and_json() -> None:
    both = (*QUICK, "--controllers", "sj,cf-rb")
    run(*both, "--plot", "errors.png", "--out", "run.csv")
    assert Path("errors.png").read_bytes().startswith(b"\x89PNG")
    assert Path("run-sj.csv").read_text(encoding="utf-8").startswith("t [s],left.motor.desired [rad]")
    assert Path("run-cf-rb.csv").is_file()
    first, second = run_json(*both)["runs"]
    assert first["status"] == "done"
    assert second["actuators"][0]["rms_error"] < 0.6 * first["actuators"][0]["rms_error"]


@pytest.mark.slow
def test_a_run_that_ends_early_is_reported() -> None:
    text = (FOLDER / "cli" / "files" / "blind.yaml").read_text(encoding="utf-8")
    options = (*QUICK, "--scenario", "blind.yaml", "--controllers", "sj")
    Path("blind.yaml").write_text(text, encoding="utf-8")
    (ended,) = run_json(*options, code=3)["runs"]
    assert ended["status"] == "event"
    assert ended["time"] == pytest.approx(0.11, abs=2e-3)
    # Before the path there is nothing to draw, and nothing fails.
    Path("blind.yaml").write_text(text.replace("0.1 s", "-0.2 s"), encoding="utf-8")
    run(*options, "--out", "empty.csv", code=3)
    assert len(Path("empty.csv").read_text(encoding="utf-8").splitlines()) == 1


def test_simulate_draws() -> None:
    command = ("simulate", "fivebar", "--until", "0.02", "--hold", "--twist", "x=0.1", "--plot", "run.png")
    run(*command)
    assert Path("run.png").read_bytes().startswith(b"\x89PNG")
    run(*command, code=1)


def test_rates_and_forces_have_units() -> None:
    ends = [
        run("simulate", "fivebar", "--until", "0.01", "--twist", twist, "--force", force).output
        for twist, force in (("x=200mm/s", "left.motor=50N*cm"), ("x=0.2", "left.motor=0.5"))
    ]
    assert ends[0] == ends[1]


@pytest.mark.slow
def test_methods_of_flexible_robots() -> None:
    """Links that stretch far faster than they bend are simulated by implicit steps, unless said otherwise."""
    settings = ("simulate", "fivebar-flexible", "--elastic", "--until", "0.002", "--force", "left.motor=0.5")
    ends = []
    for options in ([], ["--method", "irk5", "--step", "5e-5"], ["--method", "dop853"]):
        data = run_json(*settings, *options)
        assert data["method"] == ("dop853" if "dop853" in options else "irk5")
        ends.append(np.array(data["pose"]))
    np.testing.assert_allclose(ends[0], ends[2], rtol=0.0, atol=1e-8)
    np.testing.assert_allclose(ends[1], ends[2], rtol=0.0, atol=1e-8)
