"""Intervals hold every exact result: operations against 50 digits and more, and how wide results are."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacelle.program.program import BINARY, UNARY, apply
from nacelle.spatial.interval import Interval, round_down, round_up

SIZES = st.floats(-300.0, 300.0).map(lambda e: 2.0**e)
NUMBERS = st.one_of(
    st.just(0.0),
    st.floats(-20.0, 20.0),
    st.builds(lambda size, sign: sign * size, SIZES, st.sampled_from([-1.0, 1.0])),
)
DEFINED = {"sqrt": lambda a: a >= 0, "div": lambda a, b: b != 0, "exp": lambda a: a < 700}


def boxes(count: int) -> st.SearchStrategy[list[tuple[float, float, float]]]:
    """Arguments of an operation: bounds, and a number between them."""
    one = st.tuples(NUMBERS, NUMBERS, st.floats(0.0, 1.0)).map(
        lambda p: (
            min(p[:2]),
            max(p[:2]),
            min(max(p[:2]), max(min(p[:2]), min(p[:2]) + p[2] * (max(p[:2]) - min(p[:2])))),
        )
    )
    return st.lists(one, min_size=count, max_size=count)


@pytest.mark.parametrize("op", [*UNARY, *BINARY, "where"])
def test_holds_the_exact_result(op: str) -> None:
    arguments = {"where": 3} | dict.fromkeys(BINARY, 2)

    @given(boxes(arguments.get(op, 1)))
    def check(box: list[tuple[float, float, float]]) -> None:
        points = [point for _, _, point in box]
        if not DEFINED.get(op, lambda *a: True)(*points):
            return
        with np.errstate(all="ignore"):
            bounds = apply(op, *(Interval(np.float64(low), np.float64(high)) for low, high, _ in box))
        with mpmath.workdps(700 if op in ("add", "sub") else 120):
            exact = apply(op, *map(mpmath.mpf, points))
            assert not exact < bounds.lo
            assert not exact > bounds.hi

    check()


@given(NUMBERS)
def test_rounds_to_the_next_double_at_least(number: float) -> None:
    # At most three units in the last place, but for numbers near the smallest.
    assert math.nextafter(number, math.inf) <= round_up(number)
    assert round_down(number) <= math.nextafter(number, -math.inf)
    if abs(number) > 2.0**-900:
        assert round_up(number) - number <= 3.0 * math.ulp(number)
        assert number - round_down(number) <= 3.0 * math.ulp(number)


def test_is_as_narrow_as_stated() -> None:
    point = Interval(0.7, 0.7)
    for result in (point + point, point * Interval(0.3, 0.3), point / Interval(0.3, 0.3), point.sqrt()):
        assert result.hi - result.lo <= 12 * math.ulp(result.hi)
    assert Interval(-0.1, 0.1).cos().hi == 1.0
    assert Interval(-0.1, 0.1).square().lo == 0.0
    assert Interval(1.5, 1.7).sin().hi == 1.0
    assert Interval(1.5, 1.7).sin().lo > 0.99
    turned = Interval(-0.1, 0.1).atan2(Interval(1.0, 2.0))
    assert turned.hi - turned.lo < 0.2


def test_says_nothing_where_nothing_is_known() -> None:
    with np.errstate(all="ignore"):
        for bounds in (
            Interval(np.float64(1.0), np.float64(2.0)) / Interval(np.float64(-1.0), np.float64(1.0)),
            Interval(np.float64(-1.0), np.float64(4.0)).sqrt(),
            Interval(np.float64(math.nan), np.float64(1.0)).square(),
            Interval(np.float64(0.0), np.float64(0.0)) * Interval(np.float64(-np.inf), np.float64(np.inf)),
        ):
            assert not bounds.lo > -1e300
            assert not bounds.hi < 1e300
