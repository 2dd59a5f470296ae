"""What ends a run, as numbers: limits against the coordinates of all joints, singularity by its condition."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from nacelle.kinematics import kinematic_model
from nacelle.kinematics.jacobian import conditioning, scaled_inverse
from nacelle.kinematics.limits import actuator_outside, closure_coordinates, outside, relative_pose
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.joint import JointKind, Primitive
from nacelle.model.robot import Robot
from nacelle.simulation.flow import turn_from
from nacelle.simulation.plant import SINGULAR, RigidPlant, limits_of, watched, watched_names
from support.random_robots.legs import CASES
from support.uncompiled import any_robot, poses_around, run_uncompiled, solve_uncompiled

Array = np.ndarray
NAMES = ("fivebar", "delta-codourey", "delta4", "gough-stewart", "c5", "3rps", "everything", "redundant")
MADE = ("6 P-C5", "6 UPS cut at the slide", "3 R[SS|SS]")


def robot_called(name: str) -> Robot:
    return CASES[name](1).robot if name in CASES else any_robot(name)


def states_at(robot: Robot, x: Array, y: Array) -> Array:
    mechanism, plant = mechanism_of(robot), RigidPlant(robot)
    place = mechanism.layout.quaternion
    c = x
    if place is not None:
        turns = np.array([turn_from(plant.quat_0, quat) for quat in x[:, place]])
        c = np.concatenate([x[:, : place.start], turns, x[:, place.stop :]], axis=1)
    return np.concatenate([c, np.zeros((len(x), robot.motion.n)), y], axis=1)


def numbers(robot: Robot, x: Array, y: Array) -> Array:
    quat_0 = np.broadcast_to(RigidPlant(robot).quat_0, (len(x), 4))
    return run_uncompiled(watched, robot, states_at(robot, x, y), quat_0)[""]


def coordinates(robot: Robot, x: Array, y: Array) -> tuple[list[Array], Array]:
    """Coordinates (N, nq) of every joint, and (N, actuators)."""
    found = run_uncompiled(kinematic_model.joint_positions, robot, x, y)
    bodies = run_uncompiled(kinematic_model.body_poses, robot, x, y)
    tree = [found["q"][:, place] for place in robot.q_slices]
    cut = [
        closure_coordinates(joint, *relative_pose(joint, bodies["R"], bodies["p"]))
        for joint in robot.closures
    ]
    return [*tree, *cut], found["active"]


def between(values: Array, turns: bool) -> tuple[float, float]:
    """Limits that some of the values are beyond, on both sides; none where they hardly differ."""
    if turns:
        values = values[0] + (values - values[0] + np.pi) % (2.0 * np.pi) - np.pi
    low, high = np.quantile(values, [0.2, 0.8])
    return (float(low), float(high)) if high - low > 1e-6 else (-np.inf, np.inf)


def tightly_limited(robot: Robot, q: list[Array], active: Array) -> Robot:
    joints = []
    for joint, own in zip(robot.joints, q, strict=True):
        pairs, start = [], 0
        for primitive in joint.primitives:
            part = own[:, start : start + primitive.nq]
            start += primitive.nq
            if primitive is Primitive.SPHERICAL:
                tilt = np.arccos(np.clip(1.0 - 2.0 * (part[:, 0] ** 2 + part[:, 1] ** 2), -1.0, 1.0))
                pairs.append(between(tilt, False))
            else:
                pairs.append(between(part[:, 0], primitive.is_rotation))
        joints.append(dataclasses.replace(joint, limits=tuple(pairs)))
    drives = tuple(
        dataclasses.replace(
            drive, position=between(active[:, k], robot.joints[drive.joint].primitives[0].is_rotation)
        )
        for k, drive in enumerate(robot.actuators)
    )
    return dataclasses.replace(robot, joints=tuple(joints), actuators=drives)


@pytest.mark.parametrize("name", [*NAMES, *MADE])
def test_limits_are_met_where_the_coordinates_say(name: str) -> None:
    plain = robot_called(name)
    x = poses_around(plain, 60, seed=3)
    y = solve_uncompiled(plain, x)
    q, active = coordinates(plain, x, y)
    robot = tightly_limited(plain, q, active)
    found = numbers(robot, x, y)
    limits = limits_of(robot)
    assert found.shape == (60, len(watched_names(robot)))
    bad = found[:, found.shape[1] - len(limits) :] <= 0.0
    driven = {drive.joint for drive in robot.actuators}
    assert any(bad.any(axis=0))
    for j, joint in enumerate(robot.joints):
        if joint.kind is JointKind.POINT or j in driven:
            continue
        mine = [k for k, limit in enumerate(limits) if limit.place is not None and limit.joint == j]
        np.testing.assert_array_equal(bad[:, mine].any(axis=1), outside(joint, q[j]), err_msg=joint.name)
    mine = [k for k, limit in enumerate(limits) if limit.place is None]
    np.testing.assert_array_equal(bad[:, mine].any(axis=1), actuator_outside(robot, active))


@pytest.mark.parametrize("name", NAMES)
def test_the_bound_is_below_the_condition(name: str) -> None:
    robot = robot_called(name)
    x = poses_around(robot, 40, seed=4)
    y = solve_uncompiled(robot, x)
    bound = numbers(robot, x, y)[:, 0] + SINGULAR
    J = run_uncompiled(kinematic_model.inverse_jacobian, robot, x, y)["J"]
    square = conditioning(scaled_inverse(robot, J)) ** 2
    assert np.all(bound <= square * (1.0 + 1e-9))
    assert np.all(bound >= square / robot.motion.n**2 * (1.0 - 1e-6))


def test_a_limit_that_an_angle_cannot_meet_is_not_watched() -> None:
    robot = any_robot("fivebar")
    whole = tuple(dataclasses.replace(drive, position=(-3.5, 3.5)) for drive in robot.actuators)
    joints = tuple(dataclasses.replace(joint, limits=()) for joint in robot.joints)
    assert limits_of(dataclasses.replace(robot, actuators=whole, joints=joints)) == []
