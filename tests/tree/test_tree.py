"""Tree: configuration, number tree."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from nacelle.kinematics.configuration import configuration
from nacelle.kinematics.mechanism.assembly import integrate_tree
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.joint import JointKind
from nacelle.model.leg import PLATFORM
from nacelle.spatial.batch import from_samples
from nacelle.spatial.pose import Pose
from nacelle.tree.spanning_tree import NumericTree, TreeKinematics, tree_kinematics
from support.library import NAMES, library_robot
from support.uncompiled import named_robot, poses_around, solve_uncompiled

# ---- Bodies placed in closed form: joints hold together and keep their axes, by plain geometry

HELD = (JointKind.REVOLUTE, JointKind.UNIVERSAL, JointKind.SPHERICAL, JointKind.FIXED)


@pytest.mark.parametrize("name", ["fivebar", "delta", "hexaglide", "dymo"])
def test_joints_hold_together(name: str) -> None:
    robot = named_robot(name)
    x = poses_around(robot, 3, 7, 0.02, 0.04)
    for row, y in zip(x, solve_uncompiled(robot, x), strict=True):
        now = configuration(robot, row, y)
        poses = now.motion.poses
        for joint in robot.joints:
            first, second = poses[joint.predecessor], poses[joint.successor]
            here, there = (
                (body.p + body.R @ frame.p, body.R @ frame.R)
                for body, frame in ((first, joint.frame_predecessor), (second, joint.frame_successor))
            )
            if joint.kind in HELD:
                np.testing.assert_allclose(here[0], there[0], rtol=0, atol=2e-11 * robot.size)
            if joint.kind is JointKind.REVOLUTE:
                np.testing.assert_allclose(here[1][:, 2], there[1][:, 2], rtol=0, atol=2e-11)
        assert now.q_tree.shape == (robot.nq,)
        chart = mechanism_of(robot).chart
        if not mechanism_of(robot).parasitic:
            np.testing.assert_array_equal(poses[PLATFORM].R, chart.pose(row).R)


# ---- number tree
#
# The tree of plain numbers gives what the tree gives, bit by bit, and leaves other numbers to it.


def assert_same(found: TreeKinematics, expected: TreeKinematics) -> None:
    np.testing.assert_array_equal(found.columns, expected.columns)
    np.testing.assert_array_equal(found.movers, expected.movers)
    assert len(found.poses) == len(expected.poses)
    for one, other in zip(found.poses, expected.poses, strict=True):
        np.testing.assert_array_equal(one.R, other.R)
        np.testing.assert_array_equal(one.p, other.p)


@pytest.mark.parametrize("name", NAMES)
def test_same_bits(name: str) -> None:
    robot = library_robot(name)
    start = mechanism_of(robot).assembly
    rng = np.random.default_rng(5)
    tree = NumericTree(robot)
    for _ in range(3):
        step = rng.uniform(-0.3, 0.3, robot.platform_nv + robot.nv)
        platform, q = integrate_tree(robot, start.platform, start.q_tree, step)
        assert_same(tree.motion(platform, q), tree_kinematics(robot, platform, q))


def test_frames_that_are_no_identity() -> None:
    """Both frames of every joint turned and moved."""
    robot = library_robot("h4")
    start = mechanism_of(robot).assembly
    frame = start.platform @ Pose(np.array([[0.0, -0.6, 0.8], [1.0, 0.0, 0.0], [0.0, 0.8, 0.6]]), np.ones(3))
    joints = tuple(
        dataclasses.replace(joint, frame_predecessor=frame, frame_successor=frame.inverse())
        for joint in robot.joints
    )
    moved = dataclasses.replace(robot, joints=joints)
    assert_same(
        NumericTree(moved).motion(start.platform, start.q_tree),
        tree_kinematics(moved, start.platform, start.q_tree),
    )


def test_other_numbers_are_left_to_the_tree() -> None:
    robot = library_robot("3rrr")
    start = mechanism_of(robot).assembly
    q = from_samples(np.stack([start.q_tree, start.q_tree + 0.1]), 1)
    found = NumericTree(robot).motion(start.platform, q)
    assert found.columns.dtype == object
    assert found.poses[-1].R.dtype == object
