"""Which joints get springs: the actuated ones, or those named; spherical joints have no axis for one."""

from __future__ import annotations

import pytest

from nacelle.dynamics.gravity_balance.choice import chosen_axes, chosen_places, spring_axes
from nacelle.errors import KinematicsError
from nacelle.model.joint import Joint, JointKind
from support.uncompiled import any_robot


def test_axes_of_joints() -> None:
    counts = {
        JointKind.REVOLUTE: 1,
        JointKind.UNIVERSAL: 2,
        JointKind.SPHERICAL: 0,
        JointKind.PLANAR_SPHERICAL: 2,
    }
    for kind, count in counts.items():
        assert len(spring_axes(Joint("j", kind, 0, 1))) == count


def test_actuated_joints_unless_others_are_named() -> None:
    robot = any_robot("delta")
    assert chosen_axes(robot, None, None) == tuple((actuator.joint, 0) for actuator in robot.actuators)
    name = robot.joints[robot.actuators[1].joint].name
    assert chosen_axes(robot, [name], None) == ((robot.actuators[1].joint, 0),)
    with pytest.raises(KinematicsError):
        chosen_axes(robot, ["nowhere"], None)


def test_places_of_counterweights() -> None:
    robot = any_robot("delta")
    body = robot.bodies[robot.legs[0].bodies[0]].name
    assert chosen_places(robot, None) == ()
    found = chosen_places(robot, {body: [0.1, 0.0, -0.2]})
    assert found == ((robot.legs[0].bodies[0], 0.1, 0.0, -0.2),)
