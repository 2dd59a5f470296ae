"""Inverse and forward model are inverse to each other, and steps keep loops closed to their square."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.elastic.dynamics import positions
from nacelle.elastic.dynamics.models import (
    elastic_forward,
    elastic_gaps,
    elastic_inverse,
    elastic_step,
    elastic_terms,
)
from nacelle.elastic.dynamics.plan import rate_choice
from support.elastic_states import general_state
from support.flexible_robots import flexible, prrrp


@pytest.mark.parametrize("make", [lambda: prrrp((1.0, 0.0, -9.0)), lambda: flexible("fivebar", number=1)])
def test_forward_of_inverse(make) -> None:
    robot = make()
    state = general_state(robot, np.random.default_rng(5))
    inverse = elastic_inverse(robot, state.p, state.y, state.a)
    forward = elastic_forward(robot, state.p, state.y, inverse["force"])["acceleration"]
    expected = np.concatenate([state.a, inverse["acceleration"]])
    np.testing.assert_allclose(forward, expected, atol=1e-8 * np.max(np.abs(expected)))


def test_terms_give_the_same_equations() -> None:
    """M r'' + h = J^T-free forces of actuators: along every motion that the closures allow."""
    robot = prrrp((1.0, 0.0, -9.0))
    plan = rate_choice(robot)
    state = general_state(robot, np.random.default_rng(6))
    inverse = elastic_inverse(robot, state.p, state.y, state.a)
    terms = elastic_terms(robot, state.p, state.r)
    A, D, I = np.asarray(terms["A"]), list(plan.dependent), list(plan.independent)
    acceleration = np.zeros(len(state.r))
    acceleration[I] = np.concatenate([state.a, inverse["acceleration"]])
    acceleration[D] = -np.linalg.solve(A[:, D], A[:, I] @ acceleration[I] + terms["second"])
    J = np.zeros((len(state.r), plan.n))
    J[I, range(plan.n)] = 1.0
    J[D] = -np.linalg.solve(A[:, D], A[:, I])
    required = J.T @ (np.asarray(terms["M"]) @ acceleration + terms["h"])
    expected = np.concatenate([inverse["force"], np.zeros(plan.n - plan.na)])
    np.testing.assert_allclose(required, expected, atol=1e-9 * np.max(np.abs(expected)))


def test_a_step_opens_loops_by_its_square() -> None:
    robot = flexible("fivebar", number=1)
    state = general_state(robot, np.random.default_rng(7))
    gaps = []
    for h in (1e-3, 1e-4):
        p = elastic_step(robot, state.p, h * state.y)
        assert len(p) == positions.size(rate_choice(robot).extended)
        gaps.append(float(np.max(np.abs(elastic_gaps(robot, p)["gap"]))))
    assert gaps[0] > 1e-9
    assert gaps[1] < 0.02 * gaps[0]
