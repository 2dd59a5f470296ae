"""What the sensors of the demonstration show; the identification itself is a part of the whole run."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from nacelle.cli.demo.identified import FORCE_NOISE, RESOLUTION, measured
from nacelle.library import load


def test_encoders_count_and_forces_are_noisy() -> None:
    robot = load("palida")
    still = np.full((4000, 6), 0.123456789)
    run: Any = SimpleNamespace(actual=still, acting=7.0 + 0.0 * still, time=5e-4 * np.arange(4000))
    data = measured(robot, run)
    assert len(data) == 1000
    counts = data.q / RESOLUTION
    np.testing.assert_allclose(counts, np.round(counts), atol=1e-6)
    assert 2 <= len(np.unique(np.round(counts))) <= 20
    assert abs(np.std(data.force) - FORCE_NOISE) < 0.1
    assert abs(np.mean(data.force) - 7.0) < 0.1
