"""What is done with a pose before a differentiated program: the robot's own quaternion, step and search."""

from __future__ import annotations

import numpy as np

from nacelle.export.states import seeded_states
from nacelle.kinematics.iteration.closing import closing_of
from support.library import library_robot


def test_unknowns_are_those_of_the_robot() -> None:
    robot = library_robot("3rps")
    closing, states = closing_of(robot), seeded_states(robot, 3)
    assert closing.step is not None
    np.testing.assert_array_equal(closing.find(states.x, None), states.y)
    np.testing.assert_allclose(closing.find(states.x, states.y), states.y, atol=1e-12)


def test_robots_in_closed_form_have_none() -> None:
    closing = closing_of(library_robot("palida"))
    assert closing.step is None
    assert closing.quaternion == slice(3, 7)
    assert closing.find(np.asarray(closing.reference[0])[None], None).shape == (1, 0)
