"""What the models of the library, and of rigid robots outside it, may cost in operations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nacelle.dynamics.models import model
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.program.cost import count
from support.library import NAMES, library_robot
from support.operation_bars import MARGIN_OVERHEAD, MODELS, OPERATION_LIMITS, count_operations
from support.random_robots.varied import varied_library_robot
from support.rigid_robots import RIGID

# Bars that are not reached. Their tests must fail, so that one that is reached is taken out here.
OVER: frozenset[tuple[str, str]] = frozenset()
OVER_RIGID: frozenset[str] = frozenset()
# Robots whose margins and pivot take too large a part of the count.
NOT_GUARDED: frozenset[str] = frozenset()

# Counted in a second or two; all others are left to `make test-all`.
QUICK = {("prrrp", name) for name in MODELS} | {("fivebar", name) for name in MODELS}


def parameters(cases: Any, over: Any, quick: Any) -> list[Any]:
    """Cases: those over their bar must fail; those that take long are marked."""
    listed = []
    for case in cases:
        marks = [pytest.mark.xfail(strict=True, raises=AssertionError)] if case in over else []
        marks += [] if case in quick else [pytest.mark.slow]
        values = case if isinstance(case, tuple) else (case,)
        listed.append(pytest.param(*values, marks=marks, id=" ".join(values)))
    return listed


def test_every_robot_has_bars() -> None:
    assert {robot for robot, _ in OPERATION_LIMITS} == set(NAMES)
    assert set(OPERATION_LIMITS) >= OVER | QUICK


@pytest.mark.parametrize(("robot", "name"), parameters(OPERATION_LIMITS, OVER, QUICK))
@pytest.mark.thinned
def test_library(robot: str, name: str) -> None:
    assert count_operations(library_robot(robot), name).total <= OPERATION_LIMITS[robot, name]


@pytest.mark.parametrize(
    "name", parameters([name for name, counted in RIGID.items() if counted.operation_limit], OVER_RIGID, ())
)
@pytest.mark.parametrize("seed", [1, 2])
def test_rigid_robots(name: str, seed: int) -> None:
    """General bodies; the Delta with the friction of the library's, the others have none."""
    robot, bar = RIGID[name].make(seed), RIGID[name].operation_limit
    assert bar is not None
    assert count_operations(robot, "inverse_dynamics").total <= bar


@pytest.mark.parametrize("name", parameters(NAMES, NOT_GUARDED, ("prrrp", "fivebar")))
def test_margins_and_pivot_cost_little(name: str) -> None:
    robot = library_robot(name)
    program = model(robot, "inverse_dynamics", guarded=True).program()
    assert {"force", "pivot", "margins"} <= {variable.name for variable in program.outputs}
    assert count(program).total <= (1.0 + MARGIN_OVERHEAD) * count_operations(robot, "inverse_dynamics").total


@pytest.mark.costly
@pytest.mark.parametrize("name", NAMES)
def test_varied_robots_keep_their_structure(name: str) -> None:
    """All inertias are changed by a few per cent, zeros stay, and the mechanism is the same."""
    robot, own = library_robot(name), varied_library_robot(name, 1)
    assert own.hash != varied_library_robot(name, 2).hash
    old, new = (each.parameter_vector("inertia").reshape(-1, 10) for each in (robot, own))
    scale = np.max(np.abs(old[:, 4:]), axis=1, keepdims=True)
    moved = np.abs(old[:, 4:]) > 1e-9 * scale
    assert np.all(
        np.abs(new[:, 4:] - old[:, 4:])[~moved] <= 1e-9 * np.broadcast_to(scale, moved.shape)[~moved]
    )
    apart = np.abs(new - old)[old != 0.0] / np.abs(old[old != 0.0])
    assert np.all(apart < 0.1)
    assert np.mean(apart > 1e-6) > 0.99
    before, after = mechanism_of(robot), mechanism_of(own)
    assert before.unknown_count == after.unknown_count
    assert before.mobility.overconstrained == after.mobility.overconstrained
    assert [plan.closed_form is None for plan in before.legs] == [
        plan.closed_form is None for plan in after.legs
    ]
