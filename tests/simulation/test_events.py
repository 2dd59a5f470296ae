"""Events are found where their function crosses zero, by SciPy's root to rounding."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq

from nacelle.simulation.events import Event, EventGroup, event_within, first_bad


def states(t: np.ndarray) -> np.ndarray:
    return np.column_stack([np.cos(3.0 * t), np.sin(t) + 0.1 * t])


LOW = Event("low", lambda t, s: s[:, 0] + 0.4)
HIGH = Event("high", lambda t, s: 0.9 - s[:, 1])


@pytest.mark.parametrize(("end", "name"), [(0.7, "low"), (0.6, None), (2.5, "low")])
def test_the_first_event_within_a_step(end: float, name: str | None) -> None:
    found = event_within([HIGH, LOW], 0.0, end, states)
    if name is None:
        assert found is None
        return
    assert found is not None
    root = brentq(lambda t: np.cos(3.0 * t) + 0.4, 0.0, 1.0, xtol=1e-15)
    assert found[0] == pytest.approx(root, abs=1e-14)
    assert found[1] == name
    assert LOW.value(np.array([found[0]]), states(np.array([found[0]])))[0] > 0.0


def test_what_crosses_and_comes_back_is_seen() -> None:
    dip = Event("dip", lambda t, s: np.abs(t - 0.5) - 0.1)
    assert event_within([dip], 0.0, 1.0, states) == (pytest.approx(0.4, abs=1e-15), "dip")


def test_states_that_are_not_finite_and_groups() -> None:
    t, s = np.arange(4.0), np.ones((4, 2))
    group = EventGroup(("one", "two"), lambda t, s: np.column_stack([s[:, 0], 2.5 - t]))
    assert first_bad([group], t, s) == 3
    s[2, 1] = np.nan
    assert first_bad([group], t, s) == 2
    assert first_bad([], t[:2], s[:2]) is None
