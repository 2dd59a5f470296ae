"""Efforts in joints: their power is that of each joint at the rate at which its two bodies move."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.dynamics.general.efforts import (
    closure_acceleration,
    require_closures,
    require_efforts,
    require_nacelle_closures,
)
from nacelle.dynamics.general.models import along_twist
from nacelle.dynamics.general.required import Counted, Required
from nacelle.kinematics.general.actuators import ClosureRate, node_closure_axes
from nacelle.kinematics.general.legs import motion
from nacelle.model.robot import Robot
from support.general_states import after, loaded, sampled, twists, viscous

H = 1e-4


def turned(robot: Robot, joint: int, poses: list) -> float:
    """Angle of a planar robot's joint about z."""
    first, second = (
        poses[body].R for body in (robot.joints[joint].predecessor, robot.joints[joint].successor)
    )
    R = first.T @ second
    return float(np.arctan2(R[1, 0] - R[0, 1], R[0, 0] + R[1, 1]))


@pytest.mark.parametrize("name", ["fivebar", "3rrr"])
def test_power_of_friction(name: str) -> None:
    """Joints of the tree, closures onto the nacelle, and the joint between two legs at a point."""
    robot = loaded(name)
    legs, x, _ = sampled(robot)
    v, a = twists(robot)
    into = Required(legs.placed)
    for require in (require_efforts, require_closures, require_nacelle_closures):
        require(legs, motion(legs, v, a), into, Counted())
    power = float(np.array(along_twist(legs, into), dtype=float) @ v)
    ahead, behind = (after(robot, x, v, a, s * H).motion.poses for s in (1.0, -1.0))
    expected = 0.0
    for k, joint in enumerate(robot.joints):
        if any(joint.friction):
            angle = turned(robot, k, ahead) - turned(robot, k, behind)
            expected += viscous(k) * (angle / (2.0 * H)) ** 2
    assert power == pytest.approx(expected, rel=1e-6)


def test_acceleration_of_a_closure() -> None:
    """By differences of the angle of the revolute joints that close the legs of a 3-RRR robot."""
    robot = loaded("3rrr")
    place = robot.legs[0].closures[0]
    legs, x, _ = sampled(robot)
    v, a = twists(robot)
    tie = legs.placed.ties[0][0]
    rate = ClosureRate(tie, node_closure_axes(legs.placed, place, tie.axes)[0], True, None, 0.0)
    found = closure_acceleration(legs, motion(legs, v, a), rate)
    angles = [turned(robot, place, after(robot, x, v, a, s * H).motion.poses) for s in (-1.0, 0.0, 1.0)]
    second = (angles[0] - 2.0 * angles[1] + angles[2]) / H**2
    # The joint's axis may point down.
    assert abs(float(found)) == pytest.approx(abs(second), rel=1e-5)
    assert abs(second) > 0.05
