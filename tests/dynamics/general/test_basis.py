"""Inertia in the cheapest basis: the same forces, numbers that do not hang on last bits."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.dynamics.general.basis import Basis, find_basis
from nacelle.dynamics.general.models import settled_way
from nacelle.dynamics.general.sampled_columns import SampledColumns
from nacelle.kinematics.general.placed import GeneralPlan
from nacelle.kinematics.general.plan import plan_of
from nacelle.model.robot import Robot
from support.last_bits import moved_robot
from support.library import library_robot


def found(robot: Robot) -> tuple[GeneralPlan, Basis]:
    own = robot.alike
    plan = plan_of(own, settled_way(own, asymmetric=False)[0])
    basis = find_basis(plan)[1]
    assert basis is not None
    return plan, basis


@pytest.mark.parametrize("name", ["3rps", "hexaglide", "delta4", "space"])
def test_forces_are_those_of_all_numbers(name: str) -> None:
    plan, basis = found(library_robot(name))
    sampled = SampledColumns(plan, basis.keys)
    place = {key: k for k, key in enumerate(sampled.keys)}
    whole = sampled.W[:, [place[key] for key in basis.keys]]
    kept = sampled.W[:, [place[key] for key in basis.kept]]
    forces = whole @ basis.given
    assert len(basis.kept) < len(basis.keys) / 2
    np.testing.assert_allclose(kept @ basis.values, forces, atol=1e-13 * np.max(np.abs(forces)))
    # And of any numbers of the bodies that have some.
    p = basis.given * np.random.default_rng(1).uniform(0.5, 2.0, len(basis.given))
    np.testing.assert_allclose(kept @ basis.K @ p, whole @ p, atol=1e-12 * np.max(np.abs(forces)))


@pytest.mark.parametrize("name", ["3rps", "hexaglide", "delta4"])
def test_last_bits_stay_last_bits(name: str) -> None:
    """Numbers moved by three units in the last place move those of the basis by hardly more."""
    robot = library_robot(name)
    _, basis = found(robot)
    _, other = found(moved_robot(robot, 3))
    assert other.kept == basis.kept
    np.testing.assert_array_equal(other.K != 0.0, basis.K != 0.0)
    np.testing.assert_array_equal(other.values != 0.0, basis.values != 0.0)
    # Second moments of a rod along it are differences of larger ones.
    np.testing.assert_allclose(other.values, basis.values, rtol=1e-14, atol=2e-17)
    equal = basis.values[:, None] == basis.values
    np.testing.assert_array_equal(other.values[:, None] == other.values, equal)


def test_factors_are_those_of_mechanics() -> None:
    """A mass on an arm counts along its joint with the square of its distance, and so on: few factors."""
    _, basis = found(library_robot("delta-codourey"))
    assert np.count_nonzero(basis.K) < 3 * len(basis.kept)
    rates = [row for key, row in zip(basis.kept, basis.K, strict=True) if key[0] == "rate"]
    assert rates
    assert all(np.isin(row[row != 0.0], 1.0).any() for row in rates)
