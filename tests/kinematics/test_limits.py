"""Coordinates of closures from poses that were made with them, and limits."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from nacelle.kinematics.flags import Flag
from nacelle.kinematics.limits import (
    BatchLimits,
    closure_coordinates,
    has_limit,
    is_beyond_actuator_limits,
    is_beyond_limits,
    limit_readings,
    limit_vector,
    relative_pose,
    wrap_actuators,
)
from nacelle.kinematics.pose_input import reference_pose
from nacelle.kinematics.solve.inverse import inverse_kinematics
from nacelle.model.joint import Joint, JointKind
from nacelle.model.robot import Robot
from support.random_robots.legs import CASES, bare_joint
from support.random_robots.numbers import random_pose, random_rotation
from support.random_robots.numbers import relative_pose as motion_of
from support.uncompiled import named_robot, poses_around

TAU = 2.0 * np.pi
KINDS = [str(kind) for kind in JointKind if kind is not JointKind.COUPLING]


def coordinates(kind: str, rng: np.random.Generator) -> np.ndarray:
    angles, slides = rng.uniform(-3.1, 3.1, 2), rng.uniform(-0.5, 0.5, 2)
    quat = rng.normal(size=4)
    quat *= np.sign(quat[3]) / np.linalg.norm(quat)
    return np.array(
        {
            "revolute": [angles[0]],
            "prismatic": [slides[0]],
            "cylindrical": [slides[0], angles[0]],
            "universal": [*angles],
            "spherical": [*quat],
            "point": [*quat],
            "planar-spherical": [*slides, *quat],
            "spherical-planar": [*quat, *slides],
            "fixed": [],
        }[kind]
    )


@pytest.mark.parametrize("kind", KINDS)
def test_coordinates_of_every_kind(kind: str) -> None:
    """Frames on two bodies somewhere, at coordinates q: q is found again, in a batch."""
    rng = np.random.default_rng(1)
    first, second = random_pose(rng), random_pose(rng)
    joint = bare_joint("j", kind, 0, 1, first, second)
    expected, R, p = [], [], []
    for _ in range(20):
        q = coordinates(kind, rng)
        body = random_pose(rng)
        other = body @ first @ motion_of(kind, q) @ second.inverse()
        expected.append(q)
        R.append([body.R, other.R])
        p.append([body.p, other.p])
    found = closure_coordinates(joint, *relative_pose(joint, np.array(R), np.array(p)))
    assert found.shape == (20, joint.nq)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13)
    one = closure_coordinates(joint, *relative_pose(joint, np.array(R)[3], np.array(p)[3]))
    np.testing.assert_array_equal(one, found[3])


@pytest.mark.parametrize(
    "name", ["6 UPS", "6 P-C5", "6 UPS cut at the slide", "6 RUS cut at the arm", "3 URU", "planar RRR"]
)
def test_closures_of_random_robots(name: str) -> None:
    """In the reference pose every closure is at the coordinates with which it was made."""
    robot = CASES[name](2).robot
    from nacelle.kinematics.mechanism.mechanism import mechanism_of

    poses = mechanism_of(robot).assembly.motion.poses
    R, p = np.stack([pose.R for pose in poses]), np.stack([pose.p for pose in poses])
    for joint in robot.closures:
        found = closure_coordinates(joint, *relative_pose(joint, R, p))
        expected = np.array(joint.guess)
        if joint.kind == "spherical" and found @ expected < 0.0:
            expected = -expected
        if joint.kind == "planar-spherical" and found[2:] @ expected[2:] < 0.0:
            expected[2:] *= -1.0
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)


def limited_joint(kind: str, *limits: tuple[float, float]) -> Joint:
    return dataclasses.replace(
        bare_joint("j", kind, 0, 1, *(random_pose(np.random.default_rng(0)),) * 2), limits=limits
    )


def test_limits_of_slides() -> None:
    joint = limited_joint("prismatic", (0.2, 0.5))
    q = np.array([[0.1], [0.2], [0.3], [0.5], [0.51], [0.2 - 1e-10], [TAU + 0.3]])
    assert list(is_beyond_limits(joint, q)) == [True, False, False, False, True, False, True]
    assert has_limit(joint)
    assert not has_limit(limited_joint("prismatic", (-np.inf, np.inf)))
    half = limited_joint("prismatic", (-np.inf, 0.5))
    assert has_limit(half)
    assert list(is_beyond_limits(half, np.array([[-9.0], [0.6]]))) == [False, True]


def test_limits_of_turns() -> None:
    """An angle is within limits as it is: a turn more is another angle, where a motion has counted it."""
    joint = limited_joint("revolute", tuple(np.deg2rad([90.0, 250.0])))
    q = np.deg2rad([[100.0], [-160.0], [200.0], [0.0], [240.0], [460.0]])
    assert list(is_beyond_limits(joint, q)) == [False, True, False, True, False, True]
    joint = limited_joint("revolute", tuple(np.deg2rad([-250.0, -90.0])))
    assert list(is_beyond_limits(joint, np.deg2rad([[-100.0], [160.0], [-200.0]]))) == [False, True, False]


@pytest.mark.parametrize("kind", ["revolute", "cylindrical", "universal"])
def test_angles_of_closures_are_read_within_their_limits(kind: str) -> None:
    """Limits anywhere, up to a turn apart: what is read is the angle that was set, not one a turn off."""
    rng = np.random.default_rng(7)
    for _ in range(50):
        count = 1 if kind == "revolute" else 2
        middle, half = rng.uniform(-9.0, 9.0, count), rng.uniform(0.1, np.pi - 1e-3, count)
        q = middle + half * rng.uniform(-1.0, 1.0, count)
        joint = limited_joint(kind, *zip((middle - half).tolist(), (middle + half).tolist(), strict=True))
        moved = motion_of(kind, q)
        found = closure_coordinates(joint, moved.R, moved.p)
        np.testing.assert_allclose(found, q, rtol=0, atol=1e-12)
        assert not is_beyond_limits(joint, found)


def test_limits_of_several_axes() -> None:
    joint = limited_joint("universal", (-0.5, 0.5), (-np.inf, np.inf))
    assert list(is_beyond_limits(joint, np.array([[0.4, 3.0], [0.6, 0.0]]))) == [False, True]
    joint = limited_joint("cylindrical", (-np.inf, np.inf), (0.0, 1.0))
    assert list(is_beyond_limits(joint, np.array([[5.0, 0.5], [5.0, 1.5]]))) == [False, True]


@pytest.mark.parametrize("kind", ["spherical", "planar-spherical"])
def test_tilt_of_balls(kind: str) -> None:
    """Of a ball the angle between the two z axes counts, not the turn about them."""
    rng = np.random.default_rng(2)
    free = ((-np.inf, np.inf),) * 2 if kind == "planar-spherical" else ()
    joint = limited_joint(kind, *free, (-np.inf, 0.5))
    for tilt, beyond in ((0.3, False), (0.49, False), (0.51, True), (2.0, True)):
        from scipy.spatial.transform import Rotation

        axis = Rotation.from_euler("z", rng.uniform(-3, 3)).apply([1.0, 0.0, 0.0])
        R = Rotation.from_rotvec(tilt * axis) * Rotation.from_euler("z", rng.uniform(-3, 3))
        q = np.concatenate([rng.normal(size=len(free)), R.as_quat()])
        assert bool(is_beyond_limits(joint, q)) == beyond


def with_limits(robot: Robot, name: str, *limits: tuple[float, float]) -> Robot:
    j = robot.joint(name)
    joints = list(robot.joints)
    joints[j] = dataclasses.replace(joints[j], limits=limits)
    return dataclasses.replace(robot, joints=tuple(joints))


def test_limits_of_closures_are_kept() -> None:
    """A limit on the ball where a loop is cut: poses that tilt it further are flagged."""
    robot = named_robot("gough-stewart")
    head = robot.joints[robot.legs[0].closures[0]].name
    x = poses_around(robot, 30, seed=2)
    free = inverse_kinematics(robot, x)
    quat = free.joint(head)
    tilt = np.arccos(1.0 - 2.0 * (quat[:, 0] ** 2 + quat[:, 1] ** 2))
    bound = float(np.median(tilt))
    found = inverse_kinematics(with_limits(robot, head, (-np.inf, bound)), x)
    before = free.flags & Flag.OUT_OF_LIMITS != 0
    np.testing.assert_array_equal(found.flags & Flag.OUT_OF_LIMITS != 0, before | (tilt > bound))
    assert np.all(found.reachable)


def test_limits_of_drives() -> None:
    robot = named_robot("fivebar")
    q0 = inverse_kinematics(robot, reference_pose(robot)).q
    actuators = tuple(
        dataclasses.replace(a, position=(q - 0.1, q + 0.1)) for a, q in zip(robot.actuators, q0, strict=True)
    )
    tight = dataclasses.replace(robot, actuators=actuators)
    q = q0 + np.array([[0.0, 0.0], [0.09, -0.09], [0.11, 0.0], [TAU, 0.0], [0.0, np.nan]])
    assert list(is_beyond_actuator_limits(tight, q)) == [False, False, True, True, True]
    # Coordinates that are given may be a turn off where the motor cannot make one.
    assert list(is_beyond_actuator_limits(tight, wrap_actuators(tight, q))) == [
        False,
        False,
        True,
        False,
        True,
    ]


def test_matrices_are_rotations() -> None:
    """relative_pose is a pose: used by the flags of every batch."""
    rng = np.random.default_rng(4)
    joint = bare_joint("j", "spherical", 0, 1, random_pose(rng), random_pose(rng))
    R = np.stack([random_rotation(rng) for _ in range(2)])
    found, _ = relative_pose(joint, R, rng.normal(size=(2, 3)))
    np.testing.assert_allclose(found @ found.T, np.eye(3), atol=1e-15)


@pytest.mark.parametrize("kind", KINDS)
def test_one_sample_and_a_batch_agree(kind: str) -> None:
    rng = np.random.default_rng(4)
    joint = bare_joint("j", kind, 0, 1, random_pose(rng), random_pose(rng))
    for limits in ((-0.3, 0.4), (-np.inf, 0.2), (3.0, 3.5), (-np.inf, np.inf)):
        held = dataclasses.replace(joint, limits=(limits,) * len(joint.primitives))
        q = np.array([coordinates(kind, rng) for _ in range(60)])
        together = is_beyond_limits(held, q)
        assert [bool(is_beyond_limits(held, row)) for row in q] == together.tolist()
        if q.shape[1] and np.isfinite(limits).all():
            assert np.count_nonzero(together) > 0
        assert has_limit(held) == bool(q.shape[1] and np.isfinite(limits).any())


@pytest.mark.parametrize("kind", KINDS)
def test_limits_of_many_robots_are_those_of_each(kind: str) -> None:
    """Angles within half a turn of the middle of each robot's own limits."""
    rng, robot = np.random.default_rng(6), named_robot("fivebar")
    joint = bare_joint("j", kind, 0, 1, random_pose(rng), random_pose(rng))
    ends = [(-0.3, 0.4), (3.0, 3.5), (-0.1, 1.0), (-4.0, 5.0), (-5.2, -3.0)]
    held = [dataclasses.replace(joint, limits=(pair,) * len(joint.primitives)) for pair in ends]
    robots = [dataclasses.replace(robot, joints=(*robot.joints[:-1], own)) for own in held]
    limits = BatchLimits(robots[0], np.stack([limit_vector(own) for own in robots]))
    q = np.array([[coordinates(kind, rng) for _ in range(40)] for _ in ends])
    expected = np.zeros(q.shape[:2], dtype=bool)
    for own, samples, beyond in zip(held, q, expected, strict=True):
        for reading in limit_readings(own, samples, centred=True):
            beyond |= reading.beyond
    assert np.array_equal(
        limits.are_exceeded(np.full((*q.shape[:2], 2), 1.0), {len(robot.joints) - 1: q}), expected
    )
    assert limits.possible.all()
    assert not BatchLimits(robot, limit_vector(robots[0])[None] * [[-1.0]]).possible[0]


def test_limits_of_drives_of_many_robots() -> None:
    """Angles that cannot make a turn are those near their limits."""
    robot = named_robot("fivebar")
    robot = dataclasses.replace(robot, joints=tuple(dataclasses.replace(j, limits=()) for j in robot.joints))
    drives = [[(0.2, 2.0), (3.0, 4.0)], [(-0.5, 0.1), (-2.0, 9.0)]]
    robots = [
        dataclasses.replace(
            robot,
            actuators=tuple(
                dataclasses.replace(a, position=pair, force=1.0 + k)
                for a, pair in zip(robot.actuators, own, strict=True)
            ),
        )
        for k, own in enumerate(drives)
    ]
    limits = BatchLimits(robot, np.stack([limit_vector(own) for own in robots]))
    q = np.random.default_rng(7).uniform(-np.pi, np.pi, (2, 200, 2))
    expected = [
        is_beyond_actuator_limits(own, wrap_actuators(own, p)) for own, p in zip(robots, q, strict=True)
    ]
    assert np.array_equal(limits.are_exceeded(q, {}), expected)
    assert limits.force.tolist() == [[1.0, 1.0], [2.0, 2.0]]
