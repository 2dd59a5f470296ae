"""Commands as they are typed."""

from __future__ import annotations

from pathlib import Path

from nacelle.cli.demo.words import typed


def test_names_with_spaces_are_quoted() -> None:
    assert typed("ops", Path("my robot.yaml"), "--json") == "nacelle ops 'my robot.yaml' --json"
