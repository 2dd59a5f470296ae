"""The command draw."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.command import run

pytestmark = pytest.mark.filterwarnings("error")


@pytest.mark.slow
def test_draw() -> None:
    run("draw", "delta", "--out", "d.svg", "--at", "x=50mm", "--names", "--frames")
    assert "<svg" in Path("d.svg").read_text()
    before = Path("d.svg").read_text()
    assert "--overwrite" in run("draw", "delta", "--out", "d.svg", code=1).stderr
    assert Path("d.svg").read_text() == before
    run("draw", "delta", "--out", "d.svg", "--overwrite")
    assert "<svg" in Path("d.svg").read_text() != before
    # It counts for one line.
    assert "exists already" in run("draw", "delta", "--out", "d.svg", code=1).stderr
    assert ".png" in run("draw", "delta", "--out", "d.bmp", code=1).stderr
