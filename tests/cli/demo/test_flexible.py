"""Table II of [BK2013]; that the commands give it too is a part of the whole run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from nacelle.cli.demo.flexible import flexible
from nacelle.cli.demo.folder import DemoFolder


def test_the_printed_table(tmp_path: Path) -> None:
    result = flexible(DemoFolder(tmp_path))
    assert result.same == result.printed.size == 30
    assert result.above == pytest.approx(0.27, abs=0.01)
    # Curves pass through the poses of the table.
    for slider, row in zip(result.sliders, result.computed, strict=True):
        np.testing.assert_allclose(result.curves[np.argmin(np.abs(result.curve - slider))], row, rtol=1e-9)
    assert len(list(tmp_path.glob("prrrp-one-element*.yaml"))) == 3
