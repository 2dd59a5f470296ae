"""The picture of lumped rods is written, with the errors in its legend."""

from __future__ import annotations

import re
from pathlib import Path

from nacelle.report.lumping import draw_lumping


def test_errors_are_on_the_picture(tmp_path: Path) -> None:
    """[CB1997] section 4.2: rods divided 2/3 and 1/3 are far better than rods that are left out."""
    path = draw_lumping(tmp_path / "lumping.svg")
    text = re.sub(r"<!--|-->", " ", path.read_text(encoding="utf-8"))
    divided = re.search(r"2/3 to the arm, 1/3 to the plate \(([\d.]+) % rms\)", text)
    without = re.search(r"rods left out \(([\d.]+) % rms\)", text)
    assert divided
    assert without
    assert 0.0 < float(divided[1]) < 0.2 * float(without[1])
