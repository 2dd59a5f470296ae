"""Determinants and multipliers of the elimination against dense matrices."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nacelle.compile import make_program
from nacelle.dynamics.general.models import legs_at
from nacelle.kinematics import kinematic_model
from nacelle.kinematics.general.margins import (
    FREE,
    growth_figure,
    iterated_distances,
    leg_determinant,
    margins,
    nacelle_determinant,
)
from nacelle.kinematics.general.plan import plan_of
from nacelle.kinematics.margins import margins as dense_margins
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.tree.configuration import configuration
from nacelle.spatial.physics import input_shapes
from support.general_states import loaded, sampled
from support.snakes import snake


def test_determinants() -> None:
    """Each leg of a 3-RPS robot, from the rows that were chosen, and the nacelle's dependent rates."""
    legs, *_ = sampled(loaded("3rps"))
    for k, factors in enumerate(legs.factors):
        rows = [row.coefficients for tie in legs.placed.ties[k] for row in tie.rows]
        pivots = factors.order.pivots
        M = [[float(rows[row].get(rate, 0.0)) for _, rate in pivots] for row, _ in pivots]
        assert abs(float(leg_determinant(legs, k))) == pytest.approx(abs(np.linalg.det(M)))
    D = np.asarray(legs.D, dtype=float)
    assert abs(float(nacelle_determinant(legs))) == pytest.approx(abs(np.linalg.det(D)))
    product = float(nacelle_determinant(legs)) ** 2
    for k in legs.plan.mechanism.iterated_legs:
        product *= float(leg_determinant(legs, k)) ** 2
    assert np.prod([float(value) for value in iterated_distances(legs)]) == pytest.approx(product)


def test_margins_are_those_of_the_tree_at_the_median_sample() -> None:
    robot = loaded("3rps")
    plan = plan_of(robot)
    ratios = []
    for x, y in plan.samples[:6]:
        legs = legs_at(robot, x, y)
        found = np.asarray(margins(legs), dtype=float)
        ratios.append(found / np.asarray(dense_margins(legs.placed.now), dtype=float))
        assert np.all((found > 0.0) & (found <= 1.0))
        assert 0.0 < float(growth_figure(legs)) <= 1.0
    np.testing.assert_allclose(np.median(ratios, axis=0), 1.0, rtol=0.1)


def test_a_large_multiplier_lowers_the_figure() -> None:
    """By as much as it is beyond what is free."""
    legs, *_ = sampled(loaded("fivebar"))
    before = float(growth_figure(legs))
    factors = legs.factors[0]
    (first, _), (second, _) = factors.order.pivots
    lower = {**factors.lower, second: {first: 50.0}}
    large = replace(legs, factors=(replace(factors, lower=lower), *legs.factors[1:]))
    assert before > 0.9
    assert float(growth_figure(large)) == pytest.approx(FREE / 50.0)


def test_scales_of_large_mechanisms_are_shared_among_their_pivots() -> None:
    """No constant of a program is beyond single precision, and the margin is that of the dense ones."""
    robot = snake(8)
    now = configuration(robot, *mechanism_of(robot).reference)
    legs = kinematic_model.legs_eliminated(now)
    assert max(plan_of(robot).margins) > 1e38
    found = margins(legs)
    assert found == pytest.approx(dense_margins(now), rel=0.5)
    shapes = input_shapes(kinematic_model.inverse_jacobian, robot)
    assert shapes is not None
    program = make_program(kinematic_model.inverse_jacobian, robot, shapes)
    # The square root of the scale in one number would be beyond 1e19.
    assert max(abs(step[1]) for step in program.code if step[0] == "const") < 1e12
