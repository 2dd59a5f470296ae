"""Tools: frames by homogeneous transforms, the way back, paths with derivatives, and what is impossible."""

from __future__ import annotations

import dataclasses
from functools import cache

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from nacelle.errors import KinematicsError, UnreachableError
from nacelle.kinematics.motion import body_motion
from nacelle.kinematics.pose import pose
from nacelle.kinematics.pose_input import reference_pose
from nacelle.kinematics.solve.inverse import inverse_kinematics
from nacelle.kinematics.tools import ToolTarget, tool_coordinates, tool_pose, tool_to_pose
from nacelle.kinematics.workspace import workspace, workspace_boundary
from nacelle.model.platform import Motion, Tool
from nacelle.model.reduced import layout_of
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose
from nacelle.trajectory import Circle, Line
from nacelle.trajectory.sampling import sample_trajectory
from nacelle.trajectory.tool import ToolTrajectory
from support.uncompiled import named_robot, poses_around

# ---- Robots with a tool, and poses of them

XYZ = Motion(("x", "y", "z"))


@cache
def with_tool(name: str, p: tuple[float, float, float] = (0.05, -0.03, 0.08)) -> Robot:
    """A robot with one more tool, "t", turned and shifted on its platform."""
    robot = named_robot(name)
    R = Rotation.from_rotvec([0.4, -0.7, 1.1]).as_matrix()
    frame = Pose(R, np.array(p)) if robot.platform_nv == 6 else Pose(np.eye(3), np.zeros(3))
    return dataclasses.replace(robot, tools=(*robot.tools, Tool("t", 1, frame)))


def same_pose(robot: Robot, a: np.ndarray, b: np.ndarray, atol: float) -> None:
    """Compare poses; a quaternion and its negative are one orientation."""
    layout = layout_of(robot.motion)
    (la, qa), (lb, qb) = layout.split_x(a), layout.split_x(b)
    np.testing.assert_allclose(la, lb, atol=atol)
    if qa is not None:
        np.testing.assert_allclose(np.abs(np.sum(qa * qb, axis=-1)), 1.0, atol=atol)


# On the platform's own body, on a body behind joints of the platform, and beside parasitic motion.
ROBOTS = ("gough-stewart", "delta", "3rrr", "fivebar", "delta4", "quattro", "3rps", "dymo/orientational")


@pytest.mark.costly
@pytest.mark.parametrize("name", ROBOTS)
def test_there_and_back(name: str) -> None:
    robot = with_tool(name)
    x = poses_around(robot, 6)
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
    # Plain angles and joints of the platform keep their meaning.
    quattro = named_robot("quattro")
    x = pose(quattro, z=-0.75, swing=0.3, tool="gripper")
    assert x[layout_of(quattro.motion).x_index("swing")] == 0.3
    assert tool_pose(quattro, x, "gripper").p[2] == pytest.approx(-0.75, abs=1e-14)


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("delta", {"tool": "flang"}, "delta has no tool 'flang'; did you mean 'flange'"),
        ("fivebar", {"tool": "a"}, "the robot has no tools"),
        ("delta", {"tool": "flange", "rz": 0.1}, "no coordinate 'rz'"),
        ("delta", {"tool": "flange", "x": np.zeros(2), "y": np.zeros(3)}, "do not broadcast"),
        ("gough-stewart", {"tool": "spindle", "quat_xyzw": [0, 0, 0, 1], "cardan": [0, 0, 0]}, "given twice"),
    ],
)
def test_wrong_tools(name: str, options: dict, words: str) -> None:
    with pytest.raises(KinematicsError, match=words):
        pose(named_robot(name), **options)


def test_workspaces_of_a_tool() -> None:
    """Where the platform keeps its orientation, the tool's workspace is the platform's, shifted."""
    robot = named_robot("delta")
    own = workspace(robot, {"x": (-0.4, 0.4, 17), "z": (-0.9, -0.4, 11)})
    shifted = workspace(robot, {"x": (-0.4, 0.4, 17), "z": (-0.93, -0.43, 11)}, tool="flange")
    np.testing.assert_array_equal(own.flags, shifted.flags)
    np.testing.assert_allclose(own.conditioning, shifted.conditioning, rtol=1e-9)
    np.testing.assert_allclose(own.x, shifted.x, atol=1e-15)
    assert workspace_boundary(robot, rays=20, tool="flange").volume == pytest.approx(
        workspace_boundary(robot, rays=20).volume
    )
    # Turned about the tip, the platform moves.
    hexapod = named_robot("gough-stewart")
    tilted = workspace(hexapod, {"rx": (-0.3, 0.3, 5)}, tool="spindle")
    tips = tool_pose(hexapod, tilted.x, "spindle").p
    np.testing.assert_allclose(tips, np.tile(tips[2], (5, 1)), atol=1e-14)
    assert np.ptp(tilted.x[:, 1]) > 0.01


# ---- Where the platform must be for a tool to be somewhere, and what is impossible


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
    x = poses_around(robot, 6)
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
    target = poses_around(planar, 1)[0]
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


# ---- Paths of tools: exact derivatives, and paths that do not determine the pose


def paths(name: str) -> tuple[Robot, Motion, np.ndarray, np.ndarray]:
    """A robot with a tool, and the two ends of a line of the tool."""
    robot = with_tool(name, (0.0, 0.02, 0.3)) if name == "3rps" else with_tool(name)
    motion = XYZ if name == "3rps" else robot.motion
    ends = tool_coordinates(robot, poses_around(robot, 2), "t", motion)
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
    sample = sample_trajectory(robot, path, t)
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
    # And the coordinates of the platform by differences.
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
