"""Independent rates: as many as the motion has, at the places of the platform and its joints."""

from __future__ import annotations

import pytest

from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.verify.projection import independent
from support.uncompiled import ALL, any_robot


@pytest.mark.parametrize("name", ALL)
def test_places_are_those_of_the_motion(name: str) -> None:
    robot = any_robot(name)
    assert tuple(independent(robot)) == mechanism_of(robot).independent
