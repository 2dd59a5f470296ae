"""Rods: bodies between two spherical joints, by their two points."""

from __future__ import annotations

import pytest

from nacelle.kinematics.general.rods import find_rods, rods_of
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.joint import JointKind
from support.uncompiled import any_robot


@pytest.mark.parametrize(("name", "count"), [("delta", 6), ("gough-stewart", 0), ("fivebar", 0)])
def test_rods_hang_on_two_spherical_joints(name: str, count: int) -> None:
    robot = any_robot(name)
    bodies = find_rods(mechanism_of(robot))
    assert len(bodies) == count
    assert len(rods_of(robot, bodies)) == count
    for body in bodies:
        kinds = [j.kind for j in robot.joints if body in (j.predecessor, j.successor)]
        assert kinds == [JointKind.SPHERICAL, JointKind.SPHERICAL]
