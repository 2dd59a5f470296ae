"""Shapes of inputs: what the mobility and the loops of some robots say."""

from __future__ import annotations

import pytest

from nacelle.kinematics.shapes import of_actuators, of_pose, of_twist, of_unknowns
from support.uncompiled import any_robot


@pytest.mark.parametrize(
    ("name", "pose", "twist", "actuators"),
    [("gough-stewart", 7, 6, 6), ("delta", 3, 3, 3), ("fivebar", 2, 2, 2), ("redundant", 2, 2, 3)],
)
def test_closed_forms_need_no_unknowns(name: str, pose: int, twist: int, actuators: int) -> None:
    robot = any_robot(name)
    assert (of_pose(robot), of_twist(robot), of_actuators(robot)) == ((pose,), (twist,), (actuators,))
    assert of_unknowns(robot) == (0,)


def test_parasitic_motion_is_found_by_iteration() -> None:
    """Three of the six numbers of the pose of a 3-RPS depend on the others."""
    robot = any_robot("3rps")
    assert of_pose(robot) == (3,)
    assert of_unknowns(robot)[0] >= 3
