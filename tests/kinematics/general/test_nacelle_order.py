"""Decisions about the nacelle: pivots that solve its balance at every sample, rows that decide, idle axes."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.dynamics.general.models import legs_at
from nacelle.kinematics.general.nacelle_order import (
    dependent_order,
    idle_directions,
    solve_order,
    unit_forces,
)
from nacelle.kinematics.general.placed import place
from nacelle.kinematics.general.plan import plan_of
from support.compare import assert_same
from support.general_states import loaded


@pytest.mark.parametrize("name", ["3rrr", "delta"])
def test_the_order_solves_the_balance(name: str) -> None:
    """At samples that the decisions have not seen."""
    robot = loaded(name)
    plan = plan_of(robot)
    order, _ = solve_order(plan, [place(robot, plan.parts, x, y) for x, y in plan.samples[:3]])
    assert order is not None
    rng = np.random.default_rng(0)
    for x, y in plan.samples[3:6]:
        C = np.array(legs_at(robot, x, y).balance_columns, dtype=float).T
        b = rng.normal(size=len(C))
        solution, pivot = order.solved(C.tolist(), b.tolist())
        assert_same(np.asarray(solution, dtype=float), np.linalg.solve(C, b), 1e-9)
        assert abs(float(pivot)) > 1e-3


def test_rows_decide_the_dependent_rates() -> None:
    """A 3-RPS robot: three rates of its platform follow from three rows, one of each leg."""
    robot = loaded("3rps")
    plan = plan_of(robot)
    assert [len(leg.kept) for leg in plan.legs] == [1, 1, 1]
    assert plan.complete
    placed = [place(robot, plan.parts, x, y) for x, y in plan.samples[:3]]
    for x, y in plan.samples[:3]:
        D = np.asarray(legs_at(robot, x, y).D, dtype=float)
        assert np.linalg.cond(D / np.max(np.abs(D), axis=1, keepdims=True)) < 1e3
    # Each strut turns in a plane: across it the force on the nacelle does no work.
    assert set(idle_directions(plan, placed)) == {(0, 0), (1, 0), (2, 0)}


def test_what_needs_no_order() -> None:
    robot = loaded("3rrr")
    plan = plan_of(robot)
    placed = [place(robot, plan.parts, x, y) for x, y in plan.samples[:2]]
    assert dependent_order(plan, placed) is None
    assert all(row in {r for r, _ in plan.legs[leg].order.active} for leg, row in unit_forces(plan, placed))
