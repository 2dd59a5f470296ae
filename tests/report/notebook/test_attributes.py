"""Words about attributes: from docstrings; values in few words."""

from __future__ import annotations

import numpy as np

import nacelle
from nacelle.report.notebook.attributes import in_words, meanings


def test_meanings_are_those_of_the_docstrings() -> None:
    listed = meanings(nacelle.InverseDynamics)
    assert listed["force"].startswith("force or torque of every actuator (..., actuators), N or N m")
    assert set(listed) >= {"robot", "x", "force", "flags"}
    assert "times" in meanings(nacelle.Sizing)


def test_values_in_few_words() -> None:
    assert in_words(np.zeros((1000, 3))) == "1000 × 3: 0 to 0"
    assert in_words(np.array([1.0, np.nan])) == "1, nan"
    assert in_words(np.full((4, 4), np.nan)) == "4 × 4: no finite number"
    assert in_words(True) == "yes"
    assert in_words(()) == "none"
    assert len(in_words("x" * 5000)) <= 110
