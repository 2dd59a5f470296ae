"""Rows of ties: as many as a joint locks, and satisfied by the rates of the tree."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.kinematics.general.tie_motion import given_rates
from nacelle.kinematics.general.tie_rows import basis, largest_entry, locked_axes, short_basis
from nacelle.kinematics.tree.rates import moving
from support.compare import assert_same
from support.general_states import loaded, sampled, twists
from support.uncompiled import any_robot


@pytest.mark.parametrize("name", ["3rps", "delta", "3rrr"])
def test_rates_of_the_tree_satisfy_the_rows(name: str) -> None:
    """M u = g(w): closures in axes of the last link, rods in those of the base."""
    robot = loaded(name)
    legs, *_ = sampled(robot)
    placed = legs.placed
    v, _ = twists(robot)
    u = np.asarray(moving(placed.now, v).u, dtype=float)
    frames = placed.nacelle.frames({rate: u[rate] for rate in placed.nacelle.moving}, {}, np.zeros(3))
    for ties in placed.ties:
        for tie in ties:
            right = given_rates(placed.trees, tie, frames)
            for row, g in zip(tie.rows, right, strict=True):
                left = sum(float(value) * u[rate] for rate, value in row.coefficients.items())
                assert abs(left - float(g)) < 1e-9 * (1.0 + abs(left))


def test_a_row_for_every_lock() -> None:
    for joint in any_robot("everything").joints:
        offsets, rotations, is_universal = locked_axes(joint)
        directions = {0: 0, 2: 2, 3: 3}[len(rotations)]
        assert len(offsets) + directions + is_universal == len(joint.locks)


def test_directions_across_a_free_axis() -> None:
    """They span what is perpendicular to it; one along a coordinate axis needs unit vectors alone."""
    rng = np.random.default_rng(4)
    R = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    for directions in (basis(R, [0, 1]), short_basis(R, [0, 1])):
        E = np.array(directions, dtype=float)
        assert_same(E @ R[:, 2], np.zeros(2), 1e-14)
        assert np.linalg.matrix_rank(E) == 2
    assert all(np.count_nonzero(e) <= 2 for e in short_basis(R, [0, 1]))
    turned = np.eye(3)[:, [1, 2, 0]]
    assert_same(np.array(basis(turned, [0, 1])), np.eye(3)[1:], 0.0)
    assert largest_entry(np.array([0.6, -0.8, 0.0])) == 1
