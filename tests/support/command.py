"""Commands run in this process, as a user types them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from typer.testing import CliRunner

from nacelle.cli import app


def run(*arguments: str, code: int = 0) -> Any:
    result = CliRunner(env={"NACELLE_DEBUG": "1"}).invoke(app, list(arguments))
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code == code, result.output
    return result


def run_json(*arguments: str, code: int = 0) -> Any:
    return json.loads(run(*arguments, "--json", code=code).stdout, parse_constant=pytest.fail)
