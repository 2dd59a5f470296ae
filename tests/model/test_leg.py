"""Bodies and legs: base and platform have their places, and legs share no body."""

from __future__ import annotations

import pytest

from nacelle.model.leg import BASE, PLATFORM, Body
from support.library import NAMES, library_robot


@pytest.mark.parametrize("name", NAMES)
def test_every_body_belongs_somewhere_once(name: str) -> None:
    robot = library_robot(name)
    listed = [BASE, *robot.nacelle.bodies, *(body for leg in robot.legs for body in leg.bodies)]
    assert sorted(listed) == list(range(len(robot.bodies)))
    assert PLATFORM in robot.nacelle.bodies
    joints = [*robot.nacelle.joints, *robot.nacelle.closures]
    joints += [j for leg in robot.legs for j in (*leg.joints, *leg.closures)]
    assert sorted(joints) == list(range(len(robot.joints)))


def test_mass() -> None:
    assert Body("b", (2.0, *[0.0] * 9)).mass == 2.0
    assert Body("b").massless
    assert not Body("b", (0.0,) * 9 + (1e-9,)).massless
