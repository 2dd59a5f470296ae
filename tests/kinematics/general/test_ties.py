"""Ties: what they are held by, and lines in other axes."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.kinematics.general.placed import Way
from nacelle.kinematics.general.ties import GivenLine, Tie
from support.compare import assert_same
from support.general_states import loaded, sampled


def test_lines_in_other_axes() -> None:
    rng = np.random.default_rng(0)
    R = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    line = GivenLine(rng.normal(size=(3, 3)), *rng.normal(size=(4, 3)), length=np.array([1.0, 2.0, 3.0]))
    there = line.through(lambda vector: R.T @ vector)
    assert_same(there.direction, line.direction @ R, 1e-15)
    for name in ("r", "v", "a", "a_start"):
        assert_same(R @ getattr(there, name), getattr(line, name), 1e-14)
    assert there.length is line.length


def test_what_a_tie_belongs_to() -> None:
    """Bars of a PRRRP robot, rods of a Delta: both held by the nacelle, at their point of it."""
    for name, way, is_bar in (("prrrp", Way(True), True), ("delta", Way(), False)):
        legs, *_ = sampled(loaded(name), way)
        nacelle, trees = legs.placed.nacelle, legs.placed.trees
        for ties in legs.placed.ties:
            for tie in ties:
                assert (tie.bar is not None) == is_bar
                body, local = tie.held
                assert_same(nacelle.point(body, local), tie.point, 1e-14)
                assert not tie.hangs(trees)
                assert tie.sides(trees) == []


def test_a_loop_inside_a_leg_is_held_by_no_body() -> None:
    with pytest.raises(AssertionError):
        _ = Tie(0, (), node=1, other=(2, np.zeros(3))).held
