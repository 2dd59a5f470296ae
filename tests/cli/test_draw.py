"""The command draw."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.command import run

pytestmark = pytest.mark.filterwarnings("error")


def test_draw() -> None:
    run("draw", "fivebar", "--out", "d.svg", "--at", "x=50mm", "--names", "--frames")
    assert "<svg" in Path("d.svg").read_text()
    before = Path("d.svg").read_text()
    assert "--overwrite" in run("draw", "fivebar", "--out", "d.svg", code=1).stderr
    assert Path("d.svg").read_text() == before
    run("draw", "fivebar", "--out", "d.svg", "--overwrite")
    assert "<svg" in Path("d.svg").read_text() != before
    # It counts for one line.
    assert "exists already" in run("draw", "fivebar", "--out", "d.svg", code=1).stderr
