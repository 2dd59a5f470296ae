"""Arrows: one scale for a set, and shapes that fit."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.errors import NacelleError
from nacelle.scene.arrows import LONGEST, Arrows, PathLine


def test_the_longest_arrow_is_a_part_of_the_extent() -> None:
    vectors = np.zeros((3, 2, 3))
    vectors[1, 0] = [0.0, 30.0, 40.0]
    vectors[2, 1] = np.nan
    arrows = Arrows("f", np.zeros((3, 2, 3)), vectors)
    assert arrows.largest == 50.0
    assert arrows.scale(2.0) * 50.0 == pytest.approx(2.0 * LONGEST)
    assert Arrows("none", np.zeros((1, 1, 3)), np.zeros((1, 1, 3))).scale(1.0) == 0.0
    with pytest.raises(NacelleError, match=r"\(T, N, 3\)"):
        Arrows("f", np.zeros((3, 3)), np.zeros((3, 3)))


def test_traces_leave_out_what_is_not_finite() -> None:
    line = PathLine([[0.0, 0.0, 0.0], [np.nan, 0.0, 0.0], [1.0, 0.0, 0.0]]).line
    np.testing.assert_array_equal(line, [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
