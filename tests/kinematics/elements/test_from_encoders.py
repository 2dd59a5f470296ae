"""The element state from encoders, against that of the pose."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.kinematics.elements.from_encoders import elements_from_encoders, reason_without_encoders
from nacelle.kinematics.elements.from_pose import element_arrays
from nacelle.kinematics.general.plan import plan_of
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from support.compare import assert_same
from support.library import library_robot


@pytest.mark.parametrize("name", ["fivebar", "prrrp"])
def test_as_at_the_pose(name: str) -> None:
    robot = library_robot(name)
    x, y = plan_of(robot).samples[1]
    v, a = np.random.default_rng(0).normal(size=(2, robot.motion.n))
    q = nacelle.joint_motion(robot, x, v, a).actuators
    found = elements_from_encoders(robot, *q)
    for key, exact in element_arrays(robot, x, y, v, a).items():
        assert_same(found[key], exact, 1e-11)


def test_where_iteration_is_needed() -> None:
    for name in ("gough-stewart", "quattro"):
        assert "closed form" in reason_without_encoders(mechanism_of(library_robot(name)))
