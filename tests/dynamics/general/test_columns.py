"""Columns of the linear form: times the robot's numbers they are the forces of the bodies."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.dynamics.formulations import bodies
from nacelle.dynamics.general.columns import unit_numbers
from nacelle.dynamics.general.inertial import inertial_numbers
from nacelle.dynamics.settings import Settings
from nacelle.dynamics.state import state_at
from nacelle.kinematics.mechanism.assembly import rate_scale
from support.compare import assert_same
from support.general_states import loaded, sampled, twists


@pytest.mark.parametrize("name", ["fivebar", "3rps"])
def test_numbers_times_columns(name: str) -> None:
    """Legs of links; the nacelle a point and a body."""
    robot = loaded(name)
    legs, x, y = sampled(robot)
    v, a = twists(robot)
    numbers = inertial_numbers(legs.placed)
    values = {("node", node): own for node, own in numbers.nodes.items()}
    values |= {("body", body): own for body, own in numbers.bodies.items()}
    total = np.zeros(len(v))
    for (kind, index, place), J, wrench in unit_numbers(legs, v, a):
        own = numbers.rates.get(index, 0.0) if kind == "rate" else values.get((kind, index))
        if kind != "end" and own is not None:
            number = own if kind == "rate" else own[place]
            total += float(number) * np.array([float(motion @ wrench) for motion in J])
    unit = rate_scale(robot)[list(legs.plan.mechanism.independent)]
    expected = bodies.generalised_force(state_at(robot, x, y, v), a, Settings(friction=False))
    assert_same(total, unit * np.asarray(expected, dtype=float), 1e-10)
