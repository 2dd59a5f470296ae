"""Forces are linear in the parameters: written back, and by differences of energy and wrench."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.errors import ParameterError
from nacelle.model.linear_parameters import linear_parameters, with_linear_forms, with_linear_parameters
from nacelle.model.loaded import body_parameters
from nacelle.spatial.linear_form import coefficients
from support.library import library_robot
from support.stress_robots import STRESS


def test_values_are_written_where_they_are_read() -> None:
    robot = STRESS["drives, springs and rotors at closures"](1)
    own = linear_parameters(robot)
    assert len(set(own.names)) == len(own) == len(own.values)
    values = own.values * np.random.default_rng(1).uniform(0.5, 1.5, len(own))
    moved = with_linear_parameters(robot, values)
    np.testing.assert_allclose(linear_parameters(moved).values, values, rtol=1e-15)
    changed = {name for name, a, b in zip(own.names, own.values, values, strict=True) if a != b}
    assert any(name.endswith("stiffness*rest") for name in changed)
    np.testing.assert_array_equal(linear_parameters(robot).values, own.values)


@pytest.mark.parametrize("name", ["fivebar", "delta"])
def test_forms_have_the_robot_as_their_value(name: str) -> None:
    robot = library_robot(name)
    p, forms = linear_parameters(robot), with_linear_forms(robot)
    for body in range(1, len(robot.bodies)):
        C = coefficients(body_parameters(forms, body), len(p))
        np.testing.assert_allclose(C @ p.values, body_parameters(robot, body), rtol=1e-15)


def test_wrong_vectors() -> None:
    robot = library_robot("fivebar")
    p = linear_parameters(robot)
    with pytest.raises(ParameterError, match="shape"):
        with_linear_parameters(robot, p.values[1:])
    with pytest.raises(ParameterError, match=r"not finite"):
        with_linear_parameters(robot, np.where(np.arange(len(p)) == 3, np.nan, p.values))
