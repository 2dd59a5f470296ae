"""Paths of tools: exact derivatives, and paths that do not determine the pose."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.errors import KinematicsError
from nacelle.kinematics.along import along
from nacelle.kinematics.inverse import inverse_kinematics
from nacelle.kinematics.motion import body_motion
from nacelle.kinematics.pose_input import reference_pose
from nacelle.kinematics.tools.target import ToolTarget
from nacelle.kinematics.tools.tool import tool_coordinates, tool_pose
from nacelle.kinematics.tools.trajectory import ToolTrajectory
from nacelle.kinematics.trajectory import Circle, Line
from nacelle.model.platform import Motion
from nacelle.model.reduced import layout_of
from nacelle.model.robot import Robot
from support.tools import XYZ, near, with_tool


def paths(name: str) -> tuple[Robot, Motion, np.ndarray, np.ndarray]:
    """A robot with a tool, and the two ends of a line of the tool."""
    robot = with_tool(name, (0.0, 0.02, 0.3)) if name == "3rps" else with_tool(name)
    motion = XYZ if name == "3rps" else robot.motion
    ends = tool_coordinates(robot, near(robot, 2), "t", motion)
    return robot, motion, *ends


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gough-stewart", "delta", "3rrr", "quattro", "3rps", "dymo/orientational"])
def test_paths_of_tools_have_exact_derivatives(name: str) -> None:
    robot, motion, start, end = paths(name)
    line = Line(start, end, motion=motion, duration=0.7)
    path = ToolTrajectory(robot, line, "t")
    assert path.duration == 0.7
    assert path.motion == robot.motion
    t, h = np.array([0.1, 0.33, 0.6]), 1e-5
    wanted = line(t)
    same_pose_of_tool = tool_coordinates(robot, path(t).x, "t", motion)
    layout = layout_of(motion)
    (a, qa), (b, qb) = layout.split_x(same_pose_of_tool), layout.split_x(wanted.x)
    np.testing.assert_allclose(a, b, atol=1e-11)
    if qa is not None:
        np.testing.assert_allclose(np.abs(np.sum(qa * qb, axis=1)), 1.0, atol=1e-12)
    # The twist of the tool, by the motion of the bodies.
    sample = along(robot, path, t)
    moving = body_motion(robot, sample.x, sample.v, sample.a)
    at = tool_pose(robot, sample.x, "t")
    body = inverse_kinematics(robot, sample.x, limits=False).bodies
    arm = at.p - body.p[:, 1]
    V, A = moving.twist[:, 1], moving.acceleration[:, 1]
    v = V[:, :3] + np.cross(V[:, 3:], arm)
    acc = A[:, :3] + np.cross(A[:, 3:], arm) + np.cross(V[:, 3:], np.cross(V[:, 3:], arm))
    for k, axis in enumerate("xyz"):
        if axis in motion.coordinates:
            place = motion.coordinates.index(axis)
            np.testing.assert_allclose(v[:, k], wanted.v[:, place], atol=1e-10)
            np.testing.assert_allclose(acc[:, k], wanted.a[:, place], atol=1e-9)
    # And the coordinates of the nacelle by differences.
    own = layout_of(robot.motion)
    before, now, after = path(t - h), path(t), path(t + h)
    linear = [own.split_x(sample.x)[0] for sample in (before, after)]
    np.testing.assert_allclose((linear[1] - linear[0]) / (2 * h), own.split_v(now.v)[0], atol=1e-7)
    np.testing.assert_allclose((after.v - before.v) / (2 * h), now.a, atol=1e-6)


@pytest.mark.slow
def test_a_circle_of_a_tip_is_a_circle() -> None:
    robot = with_tool("3rps", (0.0, 0.0, 0.3))
    centre = tool_pose(robot, reference_pose(robot), "t").p
    path = ToolTrajectory(robot, Circle(centre, 0.02, motion="xyz", duration=1.0), "t")
    p = tool_pose(robot, path(np.linspace(0.0, 1.0, 17)).x, "t").p
    np.testing.assert_allclose(np.linalg.norm(p - centre, axis=1), 0.02, atol=1e-11)
    np.testing.assert_allclose(p[:, 2], centre[2], atol=1e-11)


@pytest.mark.slow
def test_paths_that_do_not_determine_the_pose() -> None:
    robot = with_tool("3rps", (0.0, 0.0, 0.3))
    tip = tool_pose(robot, reference_pose(robot), "t").p
    with pytest.raises(KinematicsError, match="does not determine z, rx, ry of 3rps"):
        ToolTrajectory(robot, Line(tip[:1], tip[:1] + 0.01, motion="x", duration=1.0), "t")
    assert ToolTarget.of(robot, "t", XYZ).determined
