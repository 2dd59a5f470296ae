"""Where the nacelle must be for a tool to be somewhere, and what is impossible."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from nacelle.errors import UnreachableError
from nacelle.kinematics.inverse import inverse_kinematics
from nacelle.kinematics.pose import pose
from nacelle.kinematics.pose_input import reference_pose
from nacelle.kinematics.tools.tool import tool_pose
from support.tools import near, with_tool


@pytest.mark.slow
def test_tilts_bring_the_tip_of_a_table_to_a_place() -> None:
    """A 3-RPS lifts and tilts; the tip of a tool above it moves in x and y by the tilts."""
    robot = with_tool("3rps", (0.0, 0.0, 0.3))
    tip = tool_pose(robot, reference_pose(robot), "t").p
    places = tip + 0.02 * np.random.default_rng(0).normal(size=(20, 3))
    x = pose(robot, places, tool="t")
    np.testing.assert_allclose(tool_pose(robot, x, "t").p, places, atol=1e-11)
    # With a tilt given, the place along x is what it is.
    with pytest.raises(UnreachableError, match=r"cannot bring the tool 't' to x = .* mm at the nearest pose"):
        pose(robot, x=tip[0] + 0.1, rx=0.1, ry=0.05, tool="t")


@pytest.mark.slow
def test_a_spherical_robot_reaches_a_sphere() -> None:
    robot = with_tool("dymo/orientational")
    x = near(robot)
    places = tool_pose(robot, x, "t").p
    np.testing.assert_allclose(tool_pose(robot, pose(robot, places, tool="t"), "t").p, places, atol=1e-11)
    centre = inverse_kinematics(robot, reference_pose(robot), limits=False).bodies.p[1]
    beyond = centre + 1.1 * (places[0] - centre)
    off = 1e3 * 0.1 * np.linalg.norm(places[0] - centre)
    with pytest.raises(UnreachableError) as caught:
        pose(robot, beyond, tool="t")
    assert f"leaves {off:.4g} mm" in str(caught.value)


@pytest.mark.slow
def test_orientations_that_a_robot_cannot_take() -> None:
    robot = with_tool("delta")
    R = tool_pose(robot, reference_pose(robot), "t").R
    kept = pose(robot, [0.1, 0.0, -0.6], rotation_matrix=R, tool="t")
    np.testing.assert_allclose(tool_pose(robot, kept, "t").p, [0.1, 0.0, -0.6], atol=1e-12)
    turned = Rotation.from_rotvec([0.0, 0.0, 0.1]).as_matrix() @ R
    with pytest.raises(UnreachableError, match=r"its motion xyz leaves .*5\.73 deg"):
        pose(robot, [0.1, 0.0, -0.6], rotation_matrix=turned, tool="t")
    # In a batch such targets have no pose, the others have.
    x = pose(robot, [0.1, 0.0, -0.6], rotation_matrix=np.stack([R, turned]), tool="t")
    assert np.isfinite(x).all(axis=1).tolist() == [True, False]
    # An angle that the robot has follows from the orientation.
    planar = with_tool("3rrr")
    target = near(planar)[0]
    at = tool_pose(planar, target, "t")
    found = pose(planar, x=at.p[0], y=at.p[1], rotation_matrix=at.R, tool="t")
    np.testing.assert_allclose(found, target, atol=1e-11)


def test_a_place_out_of_the_plane() -> None:
    robot = with_tool("3rrr")
    at = tool_pose(robot, reference_pose(robot), "t").p
    np.testing.assert_allclose(pose(robot, at, tool="t"), reference_pose(robot), atol=1e-12)
    with pytest.raises(UnreachableError, match="leaves 20 mm"):
        pose(robot, [at[0], at[1], at[2] + 0.02], tool="t")


@pytest.mark.parametrize("size", [1e155, 1e-200, 0.0, np.nan])
def test_an_orientation_without_a_usable_length_is_no_target(size: float) -> None:
    robot = with_tool("gough-stewart")
    at = tool_pose(robot, reference_pose(robot), "t")
    quats = at.quat_xyzw * np.array([[1.0], [size]])
    x = pose(robot, at.p, quat_xyzw=quats, tool="t")
    assert np.isfinite(x).all(axis=1).tolist() == [True, False]
