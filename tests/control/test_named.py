"""Controllers by their names."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.control.kind import DesiredMotion
from nacelle.control.named import CONTROLLERS, controller
from nacelle.errors import KinematicsError
from nacelle.model.robot import Robot


@pytest.mark.parametrize("name", ["cf-rb", "cf-rb-friction"])
def test_the_model_of_a_name_is_fed_forward(name: str, fivebar: Robot) -> None:
    """With no error the first force is that of inverse dynamics along the desired motion."""
    law = controller(fivebar, name, period=1e-3, bandwidth=5.0)
    assert law.name == name
    x, v, a = nacelle.reference_pose(fivebar), np.array([0.2, -0.1]), np.array([1.0, 2.0])
    force, _ = law.step(law.start(x), law.coordinates(x), DesiredMotion(x, v, a))
    friction = name == "cf-rb-friction"
    expected = nacelle.inverse_dynamics(
        fivebar, x, v, a, friction=friction, smooth=1e-3 if friction else None
    ).force
    assert force == pytest.approx(expected, rel=1e-9)


def test_names_near_by_are_suggested(fivebar: Robot) -> None:
    assert {"sj", "cf-rb", "cf-rb-friction"} <= set(CONTROLLERS)
    with pytest.raises(KinematicsError, match="no controller is called 'cf-rd'; did you mean 'cf-rb'"):
        controller(fivebar, "cf-rd")
