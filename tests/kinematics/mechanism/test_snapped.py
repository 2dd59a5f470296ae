"""Loops that close only to the digits of their numbers are closed by the smallest change of joint frames."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import nacelle
from nacelle.kinematics.mechanism.assembly import assemble
from nacelle.kinematics.mechanism.check import check_robot
from nacelle.kinematics.mechanism.snapped import _by_twists, _with_twists, snapped
from nacelle.kinematics.tree.closure import closure_gaps
from nacelle.kinematics.tree.spanning_tree import tree_motion
from nacelle.model.robot import Robot
from nacelle.spatial.inertia import transform_parameters
from nacelle.spatial.pose import Pose, identity
from nacelle.spatial.rotation import nearest_rotation, quat_from_vector, rotation_quat
from support.rigid_robots import spherical_three_rrr


def _askew(robot: Robot, seed: int) -> Robot:
    """The same robot with other body frames and points on axes, at random, so that no number is special."""
    rng = np.random.default_rng(seed)
    frames = [identity(), identity()]
    frames += [
        Pose(rotation_quat(quat_from_vector(rng.normal(size=3))), 0.02 * rng.normal(size=3))
        for _ in robot.bodies[2:]
    ]
    bodies = [
        dataclasses.replace(
            body, inertia=tuple(transform_parameters(f.R, f.p, np.array(body.inertia)).tolist())
        )
        for body, f in zip(robot.bodies, frames, strict=True)
    ]
    joints = []
    for joint in robot.joints:
        along = 0.05 * rng.normal() if joint.kind == "revolute" else 0.0
        point = Pose(np.eye(3), np.array([0.0, 0.0, along]))
        first = frames[joint.predecessor] @ joint.frame_predecessor @ point
        second = frames[joint.successor] @ joint.frame_successor @ point
        joints.append(dataclasses.replace(joint, frame_predecessor=first, frame_successor=second))
    return dataclasses.replace(robot, bodies=tuple(bodies), joints=tuple(joints))


def _rounded(robot: Robot, digits: int) -> Robot:
    """The same robot with so many digits in its joint frames."""

    def shorter(pose: Pose) -> Pose:
        return Pose(nearest_rotation(np.round(pose.R, digits)), np.round(pose.p, digits))

    joints = [
        dataclasses.replace(
            joint,
            frame_predecessor=shorter(joint.frame_predecessor),
            frame_successor=shorter(joint.frame_successor),
        )
        for joint in robot.joints
    ]
    return dataclasses.replace(robot, joints=tuple(joints))


def _robot(name: str) -> Robot:
    return spherical_three_rrr(3) if name == "spherical" else nacelle.load(name)


@pytest.mark.costly
@pytest.mark.parametrize(
    ("name", "digits"), [("fivebar", 5), ("prrrp", 6), ("spherical", 6), ("3rrr", 6), ("orthoglide", 6)]
)
def test_planar_spherical_and_parallelogram_loops_move_again(name: str, digits: int) -> None:
    exact = _robot(name)
    robot = _rounded(_askew(exact, 8), digits)
    assert assemble(robot).open
    found = check_robot(robot)
    assert not found.errors
    assert found.mobility is not None
    assert found.mobility.fits
    assert "close only to the digits" in found.problems[0].message
    # The change is of the size of the rounding.
    ours = found.robot
    before, after = (own.parameter_vector("geometry") for own in (robot, ours))
    assert 0.0 < np.max(np.abs(before - after)) < 30.0 * 10.0**-digits
    assert nacelle.loads(ours.to_yaml()).hash == ours.hash


def test_gaps_that_are_no_rounding_stay_an_error() -> None:
    robot = _rounded(_askew(nacelle.load("fivebar"), 8), 2)
    assert any(
        "reach" in problem.message or "close" in problem.message for problem in check_robot(robot).errors
    )


def test_a_robot_that_closes_is_left_alone() -> None:
    robot = nacelle.load("fivebar")
    assert snapped(robot, assemble(robot)) is None
    assert check_robot(robot).robot is robot


def test_derivatives_by_the_frames_are_differences() -> None:
    robot = _askew(nacelle.load("prrrp"), 1)
    start = assemble(robot)
    places = [(j, "predecessor") for j in range(len(robot.joints))]
    places += [(j, "successor") for j in range(robot.tree, len(robot.joints))]
    D = _by_twists(robot, places, start.motion)

    def gaps(theta: np.ndarray) -> np.ndarray:
        moved = _with_twists(robot, places, theta.reshape(-1, 6))
        return closure_gaps(moved, tree_motion(moved, start.platform, start.q))

    h = 1e-6
    for k, step in enumerate(h * np.eye(6 * len(places))):
        np.testing.assert_allclose((gaps(step) - gaps(-step)) / (2 * h), D[:, k], atol=1e-8)
