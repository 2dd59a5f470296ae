"""The smallest form with the tree where its pivots are weak: one answer, whichever form gave it."""

from __future__ import annotations

import numpy as np

from nacelle.dynamics import compact_form
from nacelle.dynamics.poses import sample_poses
from nacelle.kinematics.motion import solved
from support.uncompiled import any_robot


def test_margin_is_the_square_of_a_ratio() -> None:
    assert compact_form.parallel_margin(np.array([0.5, 2.0])).tolist() == [0.25, 1.0]


def test_both_forms_give_one_answer() -> None:
    robot = any_robot("fivebar")
    x, y, flags = solved(robot, sample_poses(robot, 4, seed=7))
    v, a = np.random.default_rng(0).normal(size=(2, 4, 2))
    states = (x, y, v, a, np.zeros((4, 2)))
    found = compact_form.evaluate_states("inverse", robot, states, flags, {})
    by_tree = compact_form.pivoted("inverse", robot, {})(*states)
    np.testing.assert_allclose(found["force"], by_tree["force"], rtol=1e-9)
    assert "pivot" not in found
    assert np.all((found["parallel_margin"] > 0.0) & (found["parallel_margin"] <= 1.0))
    assert np.all(by_tree["pivot"] > 0.0)
