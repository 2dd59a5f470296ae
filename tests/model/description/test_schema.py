"""The JSON schema for editors accepts what the package reads, and is the one that is shipped."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from ruamel.yaml import YAML

from nacelle import robots
from nacelle.model.description.schema import main, schema_text, shipped_schema


@pytest.mark.parametrize("name", robots.names())
def test_the_schema_accepts_the_library(name: str) -> None:
    data = YAML(typ="safe", pure=True).load(robots.text(name))
    validator = jsonschema.Draft202012Validator(shipped_schema())
    errors = [f"{list(e.absolute_path)}: {e.message}" for e in validator.iter_errors(_text_keys(data))]
    assert not errors
    data["nacele"] = 1
    assert list(validator.iter_errors(_text_keys(data)))


def _text_keys(data: Any) -> Any:
    if isinstance(data, dict):
        return {str(key): _text_keys(value) for key, value in data.items()}
    return [_text_keys(value) for value in data] if isinstance(data, list) else data


def test_the_schema_is_fresh(capsys: pytest.CaptureFixture[str]) -> None:
    assert json.loads(schema_text()) == shipped_schema()
    assert main(["--check"]) == 0
    assert "up to date" in capsys.readouterr().out
