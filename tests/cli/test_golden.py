"""What commands print, word by word, against golden files; `make golden` writes them again."""

from __future__ import annotations

import shlex

import pytest
from typer.testing import CliRunner

from nacelle.cli import app
from support.golden import assert_golden

COMMANDS = {
    "robots": "robots",
    "show-fivebar": "show fivebar",
    "show-palida": "show palida",
    "show-quattro": "show quattro",
    "check": "check fivebar delta",
    "ops-delta": "ops delta",
    "ik-delta": "ik delta --at x=0.02 --at z=-0.5",
    "ik-unreachable": "ik delta --at x=5",
    "fk-fivebar": "fk fivebar --q left.motor=2.2 --q right.motor=0.9",
    "dynamics-fivebar": "dynamics fivebar",
    "reactions-fivebar": "reactions fivebar",
    "linearise-fivebar": "linearise fivebar",
    "unknown-robot": "show fivebra",
    "unknown-option": "ik delta --att 0,0,0",
}


@pytest.mark.parametrize("name", COMMANDS)
def test_what_a_command_prints(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "110")
    result = CliRunner().invoke(app, shlex.split(COMMANDS[name]))
    said = f"$ nacelle {COMMANDS[name]}\n{result.stdout}{result.stderr}exit {result.exit_code}"
    assert_golden(f"cli/{name}.txt", said)
