"""Gravity balance: choice, columns."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.dynamics.gravity_balance.choice import chosen_axes, chosen_places, spring_axes
from nacelle.dynamics.gravity_balance.columns import balance_columns
from nacelle.errors import KinematicsError
from nacelle.kinematics.kinematic_model import body_poses
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.joint import Joint, JointKind
from support.uncompiled import any_robot, run_uncompiled, solve_uncompiled

# ---- choice
#
# Which joints get springs: the actuated ones, or those named; spherical joints have no axis for one.


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


# ---- Columns of gravity balancing: slopes of coordinates, and weights as derivatives of heights


def test_weights_and_rates_are_slopes() -> None:
    """A kilogram at a place needs -g . dp/dx, a spring pulls along dq/dx."""
    robot = any_robot("delta")
    x0 = mechanism_of(robot).reference[0]
    axes = tuple((actuator.joint, 0) for actuator in robot.actuators)
    body, place = robot.legs[0].bodies[0], np.array([0.1, 0.02, -0.03])
    h = 1e-5
    x = np.concatenate([x0 + h * np.eye(3), x0 - h * np.eye(3), x0[None]])
    y = solve_uncompiled(robot, x)
    found = [balance_columns(robot, x[k], y[k], axes=axes, places=((body, *place),)) for k in range(len(x))]
    q = np.array([row["q"] for row in found], dtype=float)
    poses = run_uncompiled(body_poses, robot, x, y)
    points = poses["R"][:, body] @ place + poses["p"][:, body]
    here = found[-1]
    np.testing.assert_allclose(np.asarray(here["rate"], float).T, (q[:3] - q[3:6]) / (2 * h), atol=1e-7)
    slopes = (points[:3] - points[3:6]) / (2 * h)
    np.testing.assert_allclose(np.asarray(here["weight"], float)[0], -slopes @ robot.gravity, atol=1e-6)
