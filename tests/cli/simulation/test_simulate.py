"""The command `simulate`."""

from __future__ import annotations

from pathlib import Path

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
