"""The choice of independent rates: as many dependent ones as the closures have rank, and a regular system."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from nacelle.elastic.dynamics import positions
from nacelle.elastic.dynamics.plan import rate_choice
from nacelle.elastic.frames import frames_at
from nacelle.errors import KinematicsError
from nacelle.model.robot import Robot
from support.elastic_states import general_state
from support.flexible_robots import flexible, prrrp


@pytest.mark.parametrize("make", [prrrp, lambda: flexible("fivebar"), lambda: flexible("delta", number=1)])
def test_dependent_rates_follow_from_the_others(make) -> None:
    robot = make()
    plan = rate_choice(robot)
    state = general_state(robot, np.random.default_rng(0))
    A = np.asarray(
        frames_at(plan.extended, *positions.split_positions(plan.extended, state.p)).constraints(),
        dtype=float,
    )
    rank = np.linalg.matrix_rank(A, tol=1e-9)
    assert len(plan.dependent) == len(plan.rows) <= rank  # less what is zero out of the plane
    D, I = list(plan.dependent), list(plan.independent)
    assert np.linalg.cond(A[np.ix_(plan.rows, D)]) < 1e6
    assert not set(D) & set(I)
    # Actuators come first, and every row of the closures holds, not those chosen alone.
    first = robot.platform_nv + robot.v_slices[robot.actuators[0].joint].start
    assert I[0] == first
    r = np.zeros(A.shape[1])
    r[I] = np.random.default_rng(1).normal(size=plan.n)
    r[D] = -np.linalg.solve(A[np.ix_(plan.rows, D)], A[np.ix_(plan.rows, I)] @ r[I])
    np.testing.assert_allclose(A @ r, 0.0, atol=1e-9 * np.max(np.abs(r)))


def driven_twice(robot: Robot, joint: str) -> Robot:
    """A robot with one more actuator."""
    extra = dataclasses.replace(robot.actuators[0], name="extra", joint=robot.joint(joint))
    return dataclasses.replace(robot, actuators=(*robot.actuators, extra))


def test_actuators_that_depend_on_each_other() -> None:
    robot = flexible("3rrr", ("leg1.coupler",))
    # The link's length is one freedom more: a fourth actuator moves apart from the three, a fifth does not.
    redundant = driven_twice(robot, "leg2.coupler-input")
    assert rate_choice(redundant).na == 4
    with pytest.raises(KinematicsError, match="depend on each other"):
        rate_choice(driven_twice(redundant, "leg3.coupler-input"))


def test_an_actuator_that_closes_a_loop() -> None:
    robot = flexible("3rrr", ("coupler",))
    closure = robot.joints[robot.tree].name
    with pytest.raises(KinematicsError, match="where a loop is cut"):
        rate_choice(driven_twice(robot, closure))
