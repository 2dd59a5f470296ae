"""Completion as shells ask for it: commands, options, robots, files, coordinates; no heavy imports."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from nacelle.cli.commands import COMMANDS, app
from nacelle.cli.complete import complete_choices, complete_files, complete_robots
from nacelle.robots import all_names

# What completing must not wait for; typer itself takes pydantic.
HEAVY = {"numpy", "scipy", "ruamel", "rich", "matplotlib", "llvmlite"}
IMPORTED = """
import atexit, json, sys
atexit.register(lambda: print("\\n#" + json.dumps(sorted({name.partition(".")[0] for name in sys.modules}))))
sys.argv = ["nacelle"]
from nacelle.cli import main
main()
"""


def completions(line: str) -> dict[str, str]:
    """What bash says of a line that is completed at its end."""
    return {"_NACELLE_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("nacelle ", set(COMMANDS)),
        ("nacelle --vers", {"--version"}),
        ("nacelle verify --ag", {"--against"}),
        ("nacelle ik hex", {"hexa", "hexaglide", "hexapod.yaml"}),
        ("nacelle ik hexapod.yaml --at r", {"rx=", "ry="}),
        ("nacelle ik palida --at r", {"rx=", "ry=", "rz="}),
        ("nacelle ops delta inv", {"inverse_dynamics", "inverse_kinematics"}),
    ],
)
def test_lines(line: str, expected: set[str]) -> None:
    Path("hexapod.yaml").write_text("name: hexapod\nmotion: [z, rx, ry]  # tilts\n", encoding="utf-8")
    done = CliRunner(env=completions(line)).invoke(app, prog_name="nacelle")
    assert set(done.stdout.split()) == expected
    assert done.stderr == ""


def test_nothing_heavy_is_imported() -> None:
    done = subprocess.run(
        [sys.executable, "-c", IMPORTED],
        capture_output=True,
        text=True,
        timeout=60,
        env=os.environ | completions("nacelle ik palida --at r"),
        check=False,
    )
    offered, _, modules = done.stdout.rpartition("\n#")
    assert offered.split() == ["rx=", "ry=", "rz="]
    assert not set(json.loads(modules)) & HEAVY


def test_files_are_completed_in_the_folder_that_is_typed() -> None:
    Path("robots").mkdir()
    for name in ("robots/one.yaml", "robots/two.csv", "three.yml", ".hidden.yaml"):
        Path(name).touch()
    assert complete_robots("robots/") == ["robots/one.yaml"]
    assert complete_robots("") == [*all_names(), "three.yml"]
    assert complete_files(".csv")("robots/t") == ["robots/two.csv"]
    assert complete_robots("nowhere/x") == []


def test_the_last_of_several_words() -> None:
    assert complete_choices("sj", "cf-rb", "cf")("sj,c") == ["sj,cf-rb", "sj,cf"]
