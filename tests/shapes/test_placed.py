"""Solids of placed robots: at their joints, also where nothing is described."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nacelle import load
from nacelle.kinematics.inverse import inverse_kinematics
from nacelle.kinematics.pose_input import reference_pose
from nacelle.model.robot import Robot
from nacelle.shapes.placed import PlacedRobot
from nacelle.shapes.solid import Rod
from nacelle.spatial.pose import Pose
from support.described import mechanism


def placed(robot: Robot) -> PlacedRobot:
    bodies = inverse_kinematics(robot, reference_pose(robot), limits=False).bodies
    return PlacedRobot(robot, [Pose(R, p) for R, p in zip(*bodies, strict=True)])


def test_described_and_default_rods_have_the_same_axes() -> None:
    """The bars of the five-bar are described from joint to joint, as defaults are."""
    robot = load("fivebar")
    bare = replace(robot, bodies=tuple(replace(body, display=()) for body in robot.bodies))
    for b in (b for leg in robot.legs for b in leg.bodies):
        (described,), (default,) = placed(robot).solids(b), placed(bare).solids(b)
        assert isinstance(described, Rod)
        assert isinstance(default, Rod)
        ends = {tuple(np.round(end, 12) + 0.0) for end in (described.start, described.stop)}
        assert ends == {tuple(np.round(end, 12) + 0.0) for end in (default.start, default.stop)}
    assert any(isinstance(solid, Rod) for solid in placed(robot).solids(0))


def test_extent_is_that_of_the_joints() -> None:
    robot = load("fivebar")
    now = placed(robot)
    points = np.array([end.p for pair in now.ends for end in pair])
    assert np.isclose(now.extent, np.linalg.norm(np.ptp(points, axis=0)))
    assert not now.spherical
    assert len(now.anchors()) == 2
    assert now.rails() == []


def test_the_last_link_of_a_chain_counts() -> None:
    """A pole ends at its mass, far beyond the joints, and its rod is as thick as that is long."""
    robot = mechanism("cart_pole")
    now = placed(robot)
    joints = np.array([end.p for pair in now.ends for end in pair])
    last = [b for b in range(1, len(robot.bodies)) if now.ends_a_chain(b)]
    assert len(last) == 1
    points = np.array([*joints, now.mass_centre(last[0])])
    assert now.extent > 2.0 * np.linalg.norm(np.ptp(joints, axis=0))
    assert np.isclose(now.extent, np.linalg.norm(np.ptp(points, axis=0)))
