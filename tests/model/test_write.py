"""Robots as YAML: read back they are the same, to the last bit."""

from __future__ import annotations

import pytest

from nacelle.model.read import read_text
from nacelle.model.write import write_yaml
from support.library import NAMES
from support.uncompiled import FILES, any_robot


@pytest.mark.parametrize("name", [*NAMES, *FILES])
def test_there_and_back(name: str) -> None:
    robot = any_robot(name)
    text = write_yaml(robot)
    again, _ = read_text(text)
    assert again.hash == robot.hash
    # Legs that share bodies are written as one.
    if name != "shared":
        assert again.all_names == robot.all_names
        assert write_yaml(again) == text
