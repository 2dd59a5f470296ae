"""What the equations of motion include is checked where it is made."""

from __future__ import annotations

import math

import pytest

from nacelle.dynamics.settings import Settings, above_zero
from nacelle.errors import KinematicsError


def test_options_are_those_of_a_physics_function() -> None:
    assert Settings().options == {"friction": True}
    assert Settings(False).options == {"friction": False}
    assert Settings(True, 0.1).options == {"friction": True, "smooth": 0.1}


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf, "fast", None])
def test_rates_are_above_zero(value: object) -> None:
    with pytest.raises(KinematicsError, match="smooth"):
        above_zero(value, "smooth")
    if value is not None:
        with pytest.raises(KinematicsError):
            Settings(**{"smooth": value})
