"""Completion as shells ask for it: commands, options, robots, files, coordinates; quick, without heavy imports."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from nacelle.cli.commands import COMMANDS
from nacelle.cli.complete import files_ending, robots_and_files, words
from nacelle.robots import all_names

# What completing must not wait for; typer itself takes pydantic.
HEAVY = {"numpy", "scipy", "ruamel", "rich", "matplotlib", "llvmlite"}
MAIN = """
import atexit, json, sys
atexit.register(lambda: print("\\n#" + json.dumps(sorted({name.partition(".")[0] for name in sys.modules}))))
sys.argv = ["nacelle"]
from nacelle.cli import main
main()
"""


def completed(line: str) -> list[str]:
    """What bash is offered at the end of a line."""
    environment = {
        "_NACELLE_COMPLETE": "complete_bash",
        "COMP_WORDS": line,
        "COMP_CWORD": str(line.count(" ")),
    }
    done = subprocess.run(
        [sys.executable, "-c", MAIN],
        capture_output=True,
        text=True,
        timeout=60,
        env=os.environ | environment,
        check=False,
    )
    offered, _, modules = done.stdout.rpartition("\n#")
    assert not set(json.loads(modules)) & HEAVY
    assert done.stderr == ""
    return offered.split()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("nacelle ", set(COMMANDS)),
        ("nacelle verify --ag", {"--against"}),
        ("nacelle ik hex", {"hexa", "hexaglide", "hexapod.yaml"}),
        ("nacelle ik hexapod.yaml --at r", {"rx=", "ry="}),
    ],
)
def test_lines(line: str, expected: set[str]) -> None:
    Path("hexapod.yaml").write_text("name: hexapod\nmotion: [z, rx, ry]  # tilts\n", encoding="utf-8")
    assert set(completed(line)) == expected


def test_files_are_completed_in_the_folder_that_is_typed() -> None:
    Path("robots").mkdir()
    for name in ("robots/one.yaml", "robots/two.csv", "three.yml", ".hidden.yaml"):
        Path(name).touch()
    assert robots_and_files("robots/") == ["robots/one.yaml"]
    assert robots_and_files("") == [*all_names(), "three.yml"]
    assert files_ending(".csv")("robots/t") == ["robots/two.csv"]
    assert robots_and_files("nowhere/x") == []


def test_the_last_of_several_words() -> None:
    assert words("sj", "cf-rb", "cf")("sj,c") == ["sj,cf-rb", "sj,cf"]
