"""The small form with lengths as inputs: against the general form, and how many operations it takes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from nacelle.compile import compile_function
from nacelle.elastic.condensed.lengths import lengths_forward, lengths_inverse
from nacelle.elastic.dynamics.models import elastic_forward, elastic_inverse
from nacelle.elastic.dynamics.plan import rate_choice
from nacelle.errors import KinematicsError
from nacelle.model.robot import Robot
from nacelle.program.cost import count
from support.elastic_states import general_state
from support.flexible_robots import flexible, prrrp
from support.random_flexible import random_planar

WEIGHT = (0.0, 0.0, -9.81)
PAPER = {"shapes": "hermite", "number": 1, "frame": "clamped", "geometric": False}


CASES: dict[str, Callable[[], Robot]] = {
    "prrrp": lambda: prrrp((2.0, 3.0, -9.81), damping={"ratio": 0.03}),
    "fivebar": lambda: flexible("fivebar", number=1),
    "random-0": lambda: random_planar(0, point=True),
    "random-1": lambda: random_planar(1, point=True),
    "random-2": lambda: random_planar(2, point=True),
}


@pytest.mark.parametrize("case", CASES)
def test_as_the_general_form(case: str) -> None:
    robot = CASES[case]()
    extended = rate_choice(robot).extended
    random = np.random.default_rng(8)
    for _ in range(2):
        state = general_state(robot, random)
        ne = extended.ne
        places = [3 + robot.q_slices[actuator.joint].start for actuator in robot.actuators]
        inputs = (state.p[places], state.p[-ne:], state.y[: len(places)], state.r[-ne:])
        expected = elastic_inverse(robot, state.p, state.y, state.a)
        found = lengths_inverse(robot, *inputs, state.a)
        size = np.max(np.abs(expected["force"]))
        np.testing.assert_allclose(found["force"], expected["force"], atol=1e-9 * size)
        forward = lengths_forward(robot, *inputs, expected["force"])
        size = np.max(np.abs(found["elastic"]))
        np.testing.assert_allclose(forward["elastic"], found["elastic"], atol=1e-8 * size)
        np.testing.assert_allclose(forward["acceleration"], state.a, atol=1e-8 * size)
        # All elastic coordinates of these robots are independent.
        np.testing.assert_allclose(found["elastic"], expected["acceleration"][-ne:], atol=1e-8 * size)


@pytest.mark.parametrize(
    ("function", "options", "operations"),
    [
        (lengths_inverse, {}, (128, 193)),
        (lengths_forward, {}, (141, 208)),
        (elastic_inverse, PAPER, (656, 825)),
        (elastic_forward, PAPER, (665, 845)),
    ],
)
def test_operations(function: object, options: dict[str, object], operations: tuple[int, int]) -> None:
    cost = count(compile_function(function, prrrp(WEIGHT, **options), target="numpy").program)
    assert (cost.add, cost.mul) == operations


def test_platforms_that_lengths_do_not_place() -> None:
    robot = flexible("3rrr")
    size = rate_choice(robot).extended.ne
    with pytest.raises(KinematicsError, match="no point on 2 flexible links"):
        lengths_inverse(robot, np.zeros(3), np.zeros(size), np.zeros(3), np.zeros(size), np.zeros(3))
