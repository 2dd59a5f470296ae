"""Points that differ, and rims of flat sets of points."""

from __future__ import annotations

import numpy as np

from nacelle.shapes.points import distinct_points, rim

SQUARE = [np.array(p, dtype=float) for p in ((0, 0, 1), (2, 0, 1), (2, 2, 1), (0, 2, 1))]


def test_equal_points_are_one() -> None:
    points = [SQUARE[0], SQUARE[0] + 1e-6, SQUARE[1]]
    assert [p is q for p, q in zip(distinct_points(points, 1e-3), (SQUARE[0], SQUARE[1]), strict=True)] == [
        True,
        True,
    ]
    assert len(distinct_points(points, 1e-9)) == 3


def test_rim_goes_round_without_the_middle() -> None:
    edges = rim([*SQUARE, np.array([1.0, 1.0, 1.0])], 1e-3)
    assert len(edges) == 4
    lengths = [np.linalg.norm(SQUARE[i] - SQUARE[k]) for i, k in edges]
    assert np.allclose(lengths, 2.0)
    assert rim([*SQUARE, np.array([1.0, 1.0, 3.0])], 1e-3) == []
    assert rim(SQUARE[:2], 1e-3) == [(0, 1)]
    assert rim(SQUARE[:1], 1e-3) == []
