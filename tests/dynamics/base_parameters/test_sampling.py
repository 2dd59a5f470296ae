"""The linear form over generic states: its range is what forces can tell of the parameters."""

from __future__ import annotations

import numpy as np

import nacelle
from nacelle.dynamics.base_parameters.sampling import sampled_regressor, units
from nacelle.model.linear_parameters import linear_parameters
from support.uncompiled import any_robot


def test_rank_is_the_number_of_base_parameters() -> None:
    """Other states, the same rank; columns without effect are exactly zero."""
    robot = any_robot("fivebar")
    names = linear_parameters(robot).names
    one, two = (sampled_regressor(robot, seed) for seed in (0, 5))
    assert one.shape[1] == len(names) == len(units(robot))
    ranks = {
        np.linalg.matrix_rank(Y, tol=1e-9 * np.linalg.norm(Y)) for Y in (one, two, np.vstack([one, two]))
    }
    assert ranks == {len(nacelle.base_parameters(robot, assume="nothing").names)}
    assert np.array_equal(~one.any(axis=0), ~two.any(axis=0))


def test_units_make_masses_and_inertias_alike() -> None:
    robot = any_robot("fivebar")
    for name, unit in zip(linear_parameters(robot).names, units(robot), strict=True):
        if name.endswith(".m"):
            assert unit == 1.0
        elif name.endswith((".Ixx", ".Izz")):
            assert unit == robot.size**2
