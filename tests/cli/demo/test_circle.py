"""Runs that do not come to their end are no results."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from nacelle.cli.demo import circle
from nacelle.cli.demo.folder import DemoFolder
from nacelle.errors import NacelleError
from nacelle.library import load


@pytest.mark.parametrize(("status", "kind"), [("interrupted", KeyboardInterrupt), ("event", NacelleError)])
def test_a_run_that_ends_early(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: str, kind: Any
) -> None:
    run = SimpleNamespace(status=status, ok=False, label="sj", message="strut1 is at its limit")
    scenario = SimpleNamespace(run=lambda model: SimpleNamespace(runs=(run,)))
    monkeypatch.setattr(circle, "machine", lambda *_: scenario)
    with pytest.raises(kind):
        circle.controlled_circle(load("palida"), DemoFolder(tmp_path))
