"""Errors along the circle."""

from __future__ import annotations

import numpy as np
import pytest

from support.demo_steps import flown


def test_errors_of_the_tool() -> None:
    result = flown()
    first, last = result.flights[0], result.flights[-1]
    by_hand = np.sqrt(np.mean(np.sum((first.tool - result.desired) ** 2, axis=1)))
    assert result.rms(first) == pytest.approx(by_hand)
    assert result.rms(first) / result.rms(last) == pytest.approx(25.0)
    assert "25 times as closely" in result.claim
    assert result.data()["tool_rms"]["sj"] == pytest.approx(by_hand)
    assert [line.split()[0] for line in result.lines()[1:]] == ["sj", "cf-rb", "cf-rb-friction"]
