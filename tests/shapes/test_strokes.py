"""Telescopic pairs over their strokes: they neither come apart nor pass each other's ends."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from nacelle.shapes.strokes import rail, telescope

LENGTH = st.floats(0.05, 5.0)


@given(LENGTH, LENGTH, LENGTH, st.sampled_from([-1.0, 1.0]))
def test_pairs_hold_together_within_their_limits(one: float, two: float, part: float, sign: float) -> None:
    a, b = sorted((one, two))
    assume(b <= 3.0 * a)
    moved = a + (b - a) * (part - 0.05) / 4.95
    lower, upper = sorted((sign * a, sign * b))
    pair = telescope((lower, upper), (sign * moved, sign * moved), 1.0)
    assert pair is not None
    back, mouth = sorted(sign * s for s in pair.tube)
    for s in (a, moved, b):
        inner, end = s + sign * pair.rod[0], s + sign * pair.rod[1]
        assert end == pytest.approx(s)  # the rod reaches its joint
        assert inner < mouth  # and is in the tube
        assert inner > back - 1e-12  # which it does not leave at the back
        assert mouth <= s + 1e-12  # and the tube ends before the joint
    assert back == 0.0 or b * 1.08 > 2.0 * a  # only long strokes need a tube behind the joint


@given(st.floats(0.3, 3.0))
def test_pairs_without_limits_fit_what_is_shown(stroke: float) -> None:
    pair = telescope((-math.inf, math.inf), (0.8 * stroke, stroke), 1.0)
    assert pair is not None
    assert pair.tube[0] == 0.0
    assert stroke + pair.rod[0] < pair.tube[1] <= 0.8 * stroke + 1e-12


def test_strokes_through_zero_have_rails() -> None:
    free = (-math.inf, math.inf)
    assert telescope(free, (-0.1, 0.3), 1.0) is None
    assert telescope(free, (0.001, 0.001), 1.0) is None
    assert telescope((0.0, 9.0), (0.05, 0.9), 1.0) is None
    low, high = rail((0.2, 0.7), (0.4, 0.4), 1.0, from_anchor=False)
    assert low < 0.2 < 0.7 < high < 0.75
    assert rail((0.2, 0.7), (0.4, 0.4), 1.0, from_anchor=True)[0] == 0.0
    # Limits far beyond the robot are none.
    assert rail((-100.0, 100.0), (0.4, 0.4), 1.0, from_anchor=False)[1] < 0.5
