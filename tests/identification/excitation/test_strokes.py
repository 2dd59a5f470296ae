"""Strokes of constant speed: as far and as fast as the limits allow, to and fro."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from nacelle.identification.excitation.strokes import (
    RAMP,
    Stroke,
    chosen_strokes,
    lines,
    records,
    shortest_durations,
    stroke_rows,
    strokes_along,
)
from support.excitation import problem_of
from support.library import library_robot

PROBLEM = problem_of(library_robot("fivebar"), count=12)


def uses(c: np.ndarray, dc: np.ndarray, ddc: np.ndarray) -> float:
    samples = PROBLEM.states(c, dc, ddc)
    return float(np.max(PROBLEM.uses(samples, PROBLEM.rows(samples)[1])))


def test_reach_ends_at_a_limit() -> None:
    direction = 0.4 * np.array([[1.0, 0.0], [0.0, -1.0]])
    for way, part in zip(direction, strokes_along(PROBLEM, direction), strict=True):
        assert 0.0 < part < 1.0
        zero = np.zeros((1, 2))
        assert uses((part * way)[None], zero, zero) <= 1.0
        assert uses(((part + 1.0 / 48.0) * way)[None], zero, zero) > 1.0


def test_shortest_durations_are_at_a_limit() -> None:
    start, end = np.array([[-0.02, 0.0]]), np.array([[0.02, 0.01]])
    T = float(shortest_durations(PROBLEM, start, end)[0])
    # At constant speed in the middle of the stroke: within, and in a tenth of the time not.
    speed = (end - start) / (T * (1.0 - RAMP))
    zero = np.zeros((1, 2))
    assert uses(0.5 * (start + end), speed, zero) <= 1.0
    assert shortest_durations(PROBLEM, 0.5 * start, 0.5 * end)[0] < T


def test_chosen_strokes_go_through_the_centre() -> None:
    strokes = chosen_strokes(PROBLEM, seed=0)
    assert len(strokes) == PROBLEM.robot.motion.n + 2
    for stroke in strokes:
        assert np.linalg.matrix_rank(np.stack([stroke.start, stroke.end]), tol=1e-12) == 1
        assert stroke.start @ stroke.end < 0.0
    R = stroke_rows(PROBLEM, strokes[0])
    assert R.shape[1] == len(PROBLEM.base)


def test_lines_follow_one_another() -> None:
    stroke = Stroke(np.array([-0.02, 0.0]), np.array([0.02, 0.0]), 0.2)
    home = np.array([0.01, 0.0])
    chain = lines(PROBLEM, [stroke], home)
    np.testing.assert_array_equal(chain[0].start, home)
    np.testing.assert_array_equal(chain[-1].end, home)
    for leg, after in pairwise(chain):
        np.testing.assert_array_equal(leg.end, after.start)
    speeds = sorted({round(stroke.fastest / leg.duration, 6) for leg in chain if leg.start @ leg.end < 0.0})
    assert speeds == pytest.approx([0.1, 0.3, 0.8])
    record = records(PROBLEM, chain)[0]
    np.testing.assert_allclose(np.array(record["from"]) - record["to"], home)
    assert record["ramp"] == pytest.approx(RAMP * record["duration"])
