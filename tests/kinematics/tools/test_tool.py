"""Tools: frames by homogeneous transforms, the way back, paths with derivatives, and what is impossible."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from nacelle.errors import KinematicsError
from nacelle.kinematics.inverse import inverse_kinematics
from nacelle.kinematics.pose import pose
from nacelle.kinematics.pose_input import reference_pose
from nacelle.kinematics.tools.target import tool_to_pose
from nacelle.kinematics.tools.tool import tool_coordinates, tool_pose
from nacelle.kinematics.workspace import reach, workspace
from nacelle.model.reduced import layout_of
from support.tools import near, same_pose, with_tool
from support.uncompiled import any_robot

# On the platform's own body, on a body behind joints of the nacelle, and beside parasitic motion.
ROBOTS = ("gough-stewart", "delta", "3rrr", "fivebar", "delta4", "quattro", "3rps", "dymo/orientational")


@pytest.mark.costly
@pytest.mark.parametrize("name", ROBOTS)
def test_there_and_back(name: str) -> None:
    robot = with_tool(name)
    x = near(robot)
    bodies = inverse_kinematics(robot, x, limits=False).bodies
    for tool in robot.tools:
        at = tool_pose(robot, x, tool.name)
        for k in range(len(x)):
            T, F = np.eye(4), np.eye(4)
            T[:3, :3], T[:3, 3] = bodies.R[k, tool.body], bodies.p[k, tool.body]
            F[:3, :3], F[:3, 3] = tool.frame.R, tool.frame.p
            np.testing.assert_allclose(at.R[k], (T @ F)[:3, :3], atol=1e-14)
            np.testing.assert_allclose(at.p[k], (T @ F)[:3, 3], atol=1e-14)
        same_pose(robot, tool_to_pose(robot, tool_coordinates(robot, x, tool.name), tool.name), x, 1e-11)


@pytest.mark.slow
def test_coordinates_of_a_tool_mean_the_tool() -> None:
    robot = with_tool("gough-stewart")
    x = pose(robot, [0.02, 0.01, 0.8], rotation_vector=[0.1, 0.2, -0.3], tool="t")
    at = tool_pose(robot, x, "t")
    np.testing.assert_allclose(at.p, [0.02, 0.01, 0.8], atol=1e-14)
    np.testing.assert_allclose(at.R, Rotation.from_rotvec([0.1, 0.2, -0.3]).as_matrix(), atol=1e-14)
    # What is not given stays as in the reference pose.
    reference = tool_pose(robot, reference_pose(robot), "t")
    lifted = tool_pose(robot, pose(robot, z=0.8, tool="t"), "t")
    np.testing.assert_allclose(lifted.R, reference.R, atol=1e-14)
    np.testing.assert_allclose(lifted.p, [*reference.p[:2], 0.8], atol=1e-14)
    same_pose(robot, pose(robot, tool="t"), reference_pose(robot), 1e-15)
    # Plain angles and joints of the nacelle keep their meaning.
    quattro = any_robot("quattro")
    x = pose(quattro, z=-0.75, swing=0.3, tool="gripper")
    assert x[layout_of(quattro.motion).x_index("swing")] == 0.3
    assert tool_pose(quattro, x, "gripper").p[2] == pytest.approx(-0.75, abs=1e-14)


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("delta", {"tool": "flang"}, "delta has no tool 'flang'; did you mean 'flange'"),
        ("fivebar", {"tool": "a"}, "has none; its description names them under `tools`"),
        ("delta", {"tool": "flange", "rz": 0.1}, "no coordinate 'rz'"),
        ("delta", {"tool": "flange", "x": np.zeros(2), "y": np.zeros(3)}, "do not broadcast"),
        ("gough-stewart", {"tool": "spindle", "quat_xyzw": [0, 0, 0, 1], "cardan": [0, 0, 0]}, "given twice"),
    ],
)
def test_wrong_tools(name: str, options: dict, words: str) -> None:
    with pytest.raises(KinematicsError, match=words):
        pose(any_robot(name), **options)


def test_workspaces_of_a_tool() -> None:
    """Where the nacelle keeps its orientation, the tool's workspace is the nacelle's, shifted."""
    robot = any_robot("delta")
    own = workspace(robot, {"x": (-0.4, 0.4, 17), "z": (-0.9, -0.4, 11)})
    shifted = workspace(robot, {"x": (-0.4, 0.4, 17), "z": (-0.93, -0.43, 11)}, tool="flange")
    np.testing.assert_array_equal(own.flags, shifted.flags)
    np.testing.assert_allclose(own.conditioning, shifted.conditioning, rtol=1e-9)
    np.testing.assert_allclose(own.x, shifted.x, atol=1e-15)
    assert reach(robot, rays=20, tool="flange").volume == pytest.approx(reach(robot, rays=20).volume)
    # Turned about the tip, the nacelle moves.
    hexapod = any_robot("gough-stewart")
    tilted = workspace(hexapod, {"rx": (-0.3, 0.3, 5)}, tool="spindle")
    tips = tool_pose(hexapod, tilted.x, "spindle").p
    np.testing.assert_allclose(tips, np.tile(tips[2], (5, 1)), atol=1e-14)
    assert np.ptp(tilted.x[:, 1]) > 0.01
