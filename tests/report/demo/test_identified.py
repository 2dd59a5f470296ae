"""Identified parameters: what is weak, what is left."""

from __future__ import annotations

from support.demo_steps import identified


def test_weak_parameters_and_words() -> None:
    result = identified()
    assert result.weak.tolist() == [False, True, False]
    assert "leave 3.1 N (rms) of the measured forces; the description leaves 4.1 N" in result.claim
    whole = "".join(result.content())
    assert "1 of 3 parameters are weak" in whole
    assert whole.count(">weak<") == 1
    assert "strut&lt;1&gt;" in whole
