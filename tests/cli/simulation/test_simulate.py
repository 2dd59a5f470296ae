"""The command `simulate`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from nacelle.cli import app

RUNNER = CliRunner()


def test_the_command_draws(tmp_path: Path) -> None:
    file = tmp_path / "run.png"
    arguments = ["simulate", "fivebar", "--until", "0.02", "--hold", "--twist", "x=0.1", "--plot", str(file)]
    done = RUNNER.invoke(app, arguments)
    assert done.exit_code == 0, done.output
    assert file.read_bytes().startswith(b"\x89PNG")
    again = RUNNER.invoke(app, arguments)
    assert again.exit_code == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--csv", "nowhere/run.csv"], "there is no folder nowhere"),
        (["--plot", "run.xyz"], "run.xyz: write .png, .svg or .pdf"),
        (["--twist", "x=2kg"], "'kg' is not a unit of speed"),
        (["--twist", "z=2"], "no coordinate is called 'z'"),
        (["--force", "left.motor=2N"], "'N' is not a unit of torque"),
        (["--smooth", "-1"], "smooth must be above zero"),
        (["--step", "1e-3"], "--step is for fixed steps: --method rk4 or irk5, not auto"),
    ],
)
def test_mistakes_of_the_command(options: list[str], words: str) -> None:
    done = RUNNER.invoke(app, ["simulate", "fivebar", "--until", "0.01", *options])
    assert done.exit_code == 1
    assert words in done.output


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
