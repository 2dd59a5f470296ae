"""A leg on a page: axes of its elements are right-handed, and masses are those of the bodies."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.kinematics.elements.geometry import ElementGeometry
from nacelle.kinematics.elements.reading import element_legs
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.report.elements.leg import LegPage
from support.uncompiled import any_robot


@pytest.mark.parametrize("name", ["fivebar", "delta", "gough-stewart", "orthoglide"])
def test_members(name: str) -> None:
    robot = any_robot(name)
    mechanism = mechanism_of(robot)
    at = ElementGeometry(robot, mechanism.assembly.motion.poses)
    mass = 0.0
    for number, leg in enumerate(element_legs(mechanism), start=1):
        page = LegPage(at, number, leg)
        assert len(page.lines) == len(leg.all_elements)
        assert len(page.drives()) >= 1
        for member in page.members:
            R = page.axes(member)
            np.testing.assert_allclose(R.T @ R, np.eye(3), atol=1e-12)
            assert np.linalg.det(R) == pytest.approx(1.0)
            mass += page.parameters(member)[0]
    assert mass == pytest.approx(sum(body.mass for body in robot.bodies), rel=1e-12)
