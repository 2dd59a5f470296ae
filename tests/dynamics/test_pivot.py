"""The pivot figure of inverse dynamics: one meaning in all forms, and the tree where it is weak."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.dynamics import smallest
from nacelle.dynamics.poses import sample_poses
from nacelle.kinematics.iteration import weak
from nacelle.kinematics.native import native
from support.library import library_robot
from support.stress_robots import STRESS


@pytest.mark.parametrize("name", ["redundant point on three legs", "redundant planar 4-RRR"])
def test_redundant_robots_have_the_figure_of_the_tree(name: str) -> None:
    """Both are the squared ratio of the columns of J_r^-1."""
    robot = STRESS[name](1)
    x = sample_poses(robot, 20, seed=2)
    by_tree = nacelle.inverse_dynamics(robot, x, formulation="tree")
    smallest_form = nacelle.inverse_dynamics(robot, x)
    assert smallest_form.formulation == "compact"
    np.testing.assert_allclose(smallest_form.pivot, by_tree.pivot, rtol=1e-9)
    np.testing.assert_array_equal(smallest_form.flags, by_tree.flags)
    one = nacelle.inverse_dynamics(robot, x[0])
    np.testing.assert_allclose(one.pivot, by_tree.pivot[0], rtol=1e-9)


def test_weak_states_are_those_of_the_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the figure is below the limit forces come from the tree, to the last bit."""
    robot = library_robot("3rrr")
    x = sample_poses(robot, 20, seed=2)
    rng = np.random.default_rng(3)
    v, a = rng.normal(size=(2, 20, 3))
    options = {"friction": True}
    y, load = np.zeros((20, 0)), np.zeros((20, 3))
    pivot = native(smallest.inverse, robot, tuple(options.items()))(x, y, v, a, load)["pivot"]
    limit = float(np.median(pivot))
    monkeypatch.setattr(weak, "WEAK_PIVOT", limit)
    found = nacelle.inverse_dynamics(robot, x, v, a).force
    by_tree = nacelle.inverse_dynamics(robot, x, v, a, formulation="tree").force
    below = pivot < limit
    assert 0 < np.sum(below) < 20
    np.testing.assert_array_equal(found[below], by_tree[below])
    np.testing.assert_allclose(found, by_tree, rtol=1e-9, atol=1e-9 * np.max(np.abs(by_tree)))
    assert np.any(found[~below] != by_tree[~below])
