"""The flow of a state: rates of positions and accelerations, and loops that it closes on its way."""

from __future__ import annotations

import numpy as np

from nacelle.elastic.dynamics import positions
from nacelle.elastic.dynamics.flow import elastic_flow, state_size
from nacelle.elastic.dynamics.models import elastic_forward, elastic_inverse
from nacelle.elastic.dynamics.plan import rate_choice
from support.elastic_states import general_state
from support.flexible_robots import prrrp

NONE = np.zeros(1)


def test_flow_is_rates_and_accelerations() -> None:
    robot = prrrp((1.0, 0.0, -9.0))
    own = rate_choice(robot).extended
    state = general_state(robot, np.random.default_rng(8))
    s, size = np.concatenate([state.p, state.y]), positions.size(own)
    assert state_size(robot) == s.shape
    force = elastic_inverse(robot, state.p, state.y, state.a)["force"]
    flow = elastic_flow(robot, s, force, NONE)
    np.testing.assert_allclose(flow[:size], positions.rates(own, state.p, state.r), atol=1e-10)
    expected = elastic_forward(robot, state.p, state.y, force)["acceleration"]
    scale = np.max(np.abs(expected))
    np.testing.assert_allclose(flow[size:], expected, atol=1e-9 * scale)
    prescribed = elastic_flow(robot, s, state.a, NONE, prescribed=True)
    np.testing.assert_allclose(prescribed, flow, atol=1e-8 * scale)


def test_loops_that_have_opened_are_closed_first() -> None:
    robot = prrrp()
    own = rate_choice(robot).extended
    state = general_state(robot, np.random.default_rng(9))
    force = np.zeros(2)
    exact = elastic_flow(robot, np.concatenate([state.p, state.y]), force, NONE)
    r = np.zeros(len(state.r))
    r[list(rate_choice(robot).dependent)] = 1e-6
    opened = positions.stepped(own, state.p, r)
    flow = elastic_flow(robot, np.concatenate([opened, state.y]), force, NONE)
    np.testing.assert_allclose(flow, exact, atol=1e-9 * np.max(np.abs(exact)))
