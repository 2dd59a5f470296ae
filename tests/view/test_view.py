"""View.

colours, coordinates, export, grips, loads, reasons, runs, session, side by side, slices, vibration,
watch.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import numpy as np
import pytest

import nacelle
from nacelle.library import in_mode
from nacelle.robots import text
from nacelle.view.coordinates import motion_coordinates, pose_coordinates, pose_from_coordinates
from nacelle.view.export import PageRobot, viewer_page
from nacelle.view.loads import ACTUATORS, REACTIONS, largest_load, state_loads
from nacelle.view.session import PoseStatus, Session, drag_pose, grips, nearest_singularity
from nacelle.view.side_by_side import joint_box, robot_offsets
from nacelle.view.slices import SliceCoordinates, slice_choices, workspace_slice
from nacelle.view.timeline import Clock, make_playback, read_run, traced_tool
from nacelle.view.vibration import DISPLACEMENT, ModeAnimation, lowest_modes
from nacelle.view.watch import WatchedRobot


@pytest.mark.parametrize("name", ["gough-stewart", "3rps", "fivebar"])
def test_values_are_a_pose_and_back(name: str) -> None:
    robot = nacelle.load(name)
    x = nacelle.reference_pose(robot)
    values = pose_coordinates(robot, x)
    assert values.shape == (robot.motion.n,)
    np.testing.assert_allclose(pose_from_coordinates(robot, values), x, atol=1e-14)


def test_ranges_end_just_beyond_the_reach() -> None:
    robot = nacelle.load("gough-stewart")
    start = nacelle.reference_pose(robot)
    ranges = motion_coordinates(robot)
    assert [(one.name, one.unit) for one in ranges[:4:3]] == [("x", "mm"), ("rx", "deg")]
    for k, one in enumerate(ranges[:3]):
        poses = np.repeat(start[None], 4, axis=0)
        poses[:, k] = [one.low, one.high, *(start[k] + 0.6 * (end - start[k]) for end in (one.low, one.high))]
        assert nacelle.inverse_kinematics(robot, poses).ok.tolist() == [False, False, True, True]


def test_a_page_holds_motion_forces_and_the_way_of_the_tool() -> None:
    robot = nacelle.load("fivebar")
    x = nacelle.reference_pose(robot)
    motion = make_playback(robot, nacelle.Circle(x, 0.03, motion=robot.motion, duration=1.5))
    text = viewer_page(
        [PageRobot(robot, x, motion, (ACTUATORS,)), PageRobot(robot, x, offset=(1.0, 0.0, 0.0))]
    )
    data = json.loads(re.findall(r"<script[^>]*scene-data[^>]*>(.*?)</script>", text, re.S)[0])
    moving, still = data["items"]
    assert moving["times"][-1] == 1.5
    assert [arrows["name"] for arrows in moving["arrows"]] == ["actuator forces: moments"]
    assert len(moving["traces"]) == 1
    assert still["times"] == [0.0]
    np.testing.assert_allclose(still["offset"], [1.0, 0.0, 0.0])
    assert not re.search(r'(?:src|href)="https?:', text)


@pytest.mark.parametrize("name", ["gough-stewart", "3rps", "h4", "fivebar"])
def test_a_grip_that_is_not_moved_moves_nothing(name: str) -> None:
    session = Session(nacelle.load(name))
    for grip in grips(session):
        x = drag_pose(session.robot, grip, session.request, grip.at.p, grip.quat_xyzw)
        np.testing.assert_allclose(x, session.x, atol=1e-12)


@pytest.mark.parametrize("name", ["gough-stewart", "3rps", "h4", "fivebar"])
def test_the_platform_goes_where_it_is_dragged(name: str) -> None:
    """Along the arrows that the robot has: the origin of its frame is where the grip is."""
    session = Session(nacelle.load(name))
    grip = grips(session)[0]
    assert not grip.coordinate
    assert grip.arrows == tuple(axis in session.robot.motion.coordinates for axis in "xyz")
    moved = grip.at.p + 0.02 * session.robot.size * np.array(grip.arrows)
    x = drag_pose(session.robot, grip, session.request, moved, grip.quat_xyzw)
    assert session.move(x).status is not PoseStatus.OUT
    axes = np.flatnonzero(grip.arrows)
    np.testing.assert_allclose(session.platform.p[axes], moved[axes], atol=1e-12)


def test_a_free_orientation_is_that_of_the_grip() -> None:
    session = Session(nacelle.load("gough-stewart"))
    (grip,) = grips(session)
    half = 0.5 * 0.1
    turn = np.array([0.0, 0.0, np.sin(half), np.cos(half)])
    session.move(drag_pose(session.robot, grip, session.request, grip.at.p, turn))
    R = session.platform.R
    np.testing.assert_allclose(
        R[:2, :2], [[np.cos(0.1), -np.sin(0.1)], [np.sin(0.1), np.cos(0.1)]], atol=1e-12
    )


@pytest.mark.slow
def test_rings_of_single_angles_add_their_turn() -> None:
    """A joint of the platform turns by the angle about the grip's z-axis, whatever its name."""
    session = Session(nacelle.load("h4"))
    grip = grips(session)[1]
    assert grip.coordinate == "turn"
    before = float(session.solution.joint("turn")[0])
    c, s = np.cos(0.2), np.sin(0.2)
    R = grip.at.R @ np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    quat = nacelle.pose(nacelle.load("gough-stewart"), rotation_matrix=R)[3:]
    session.move(drag_pose(session.robot, grip, session.request, grip.at.p, quat))
    assert float(session.solution.joint("turn")[0]) == pytest.approx(before + 0.2)


def test_tilts_have_rings_about_base_axes() -> None:
    found = grips(Session(nacelle.load("3rps")))
    assert [grip.coordinate for grip in found] == ["", "rx", "ry"]
    for grip, axis in zip(found[1:], np.eye(3), strict=False):
        np.testing.assert_allclose(grip.at.R[:, 2], axis)
        assert np.linalg.det(grip.at.R) == pytest.approx(1.0)
    assert not any(all(grip.ring_axes) for grip in found)


@pytest.mark.slow
def test_the_base_carries_the_weight() -> None:
    """Reactions of the joints on the base add up to the weight of all that moves."""
    robot = nacelle.load("gough-stewart")
    session = Session(robot)
    given = state_loads(robot, REACTIONS, session.bodies, session.x)
    on_base = [j for j, joint in enumerate(robot.joints) if joint.predecessor == 0]
    weight = 9.80665 * sum(body.mass for body in robot.bodies[1:])
    np.testing.assert_allclose(given.forces[on_base].sum(axis=0), [0.0, 0.0, weight], rtol=2e-3, atol=1e-9)
    assert [row.name for row in given.rows] == [joint.name for joint in robot.joints]
    assert largest_load(given)[0] == pytest.approx(max(row.force or 0.0 for row in given.rows))


@pytest.mark.slow
def test_forces_of_struts_hold_the_platform_and_lie_along_them() -> None:
    robot = nacelle.load("gough-stewart")
    session = Session(robot)
    given = state_loads(robot, ACTUATORS, session.bodies, session.x)
    force = nacelle.inverse_dynamics(robot, session.x).tau
    np.testing.assert_allclose([row.force for row in given.rows], force)
    assert all(row.moment is None for row in given.rows)
    np.testing.assert_allclose(np.linalg.norm(given.forces, axis=1), np.abs(force))
    lengths = nacelle.inverse_kinematics(robot, session.x).q
    feet = given.points - given.forces / force[:, None] * lengths[:, None]
    anchors = [joint.frame_predecessor.p for joint in robot.joints if joint.predecessor == 0]
    np.testing.assert_allclose(feet, anchors, atol=1e-9)


def test_torques_are_moments_and_what_is_not_determined_is_said() -> None:
    robot = nacelle.load("fivebar")
    session = Session(robot)
    given = state_loads(robot, ACTUATORS, session.bodies, session.x)
    assert all(row.force is None for row in given.rows)
    np.testing.assert_allclose(given.moments[:, :2], 0.0, atol=1e-15)
    none = state_loads(robot, ACTUATORS, session.bodies, np.array([5.0, 0.0]))
    assert "reach" in none.note
    assert largest_load(none) == (0.0, 0.0)


def test_the_nearest_singularity_is_the_least_measure() -> None:
    robot = nacelle.load("fivebar")
    measures = nacelle.singularities(robot, nacelle.reference_pose(robot))
    kind, value = nearest_singularity(measures)
    assert value == pytest.approx(min(*measures.serial, measures.parallel, measures.constraint))
    assert kind in ("serial (left)", "serial (right)", "parallel", "constraint")


def test_a_run_is_read_back(tmp_path: Path) -> None:
    robot = nacelle.load("fivebar")
    run = nacelle.simulate(
        robot,
        nacelle.reference_pose(robot),
        until=0.05,
        integration=nacelle.simulation.Integration("rk4", step=0.005),
    )
    run.to_csv(tmp_path / "run.csv")
    run.to_npz(tmp_path / "run.npz")
    for name in ("run.csv", "run.npz"):
        motion = read_run(robot, tmp_path / name)
        np.testing.assert_allclose(motion.times, run.t)
        np.testing.assert_allclose(motion.x, run.x, rtol=1e-12)


def test_what_is_no_run_of_the_robot_is_said(tmp_path: Path) -> None:
    robot = nacelle.load("fivebar")
    other = tmp_path / "other.csv"
    other.write_text("t,x,y,z\n0,0,0,1\n1,0,0,1\n", encoding="utf-8")
    with pytest.raises(nacelle.NacelleError, match="is not a run of fivebar"):
        read_run(robot, other)
    untimed = tmp_path / "untimed.csv"
    untimed.write_text("x,y\n0,0.28\n0,0.3\n", encoding="utf-8")
    with pytest.raises(nacelle.NacelleError, match="no column t"):
        read_run(robot, untimed)
    with pytest.raises(nacelle.NacelleError, match="there is no such file"):
        read_run(robot, tmp_path / "missing.npz")
    np.savez(tmp_path / "wrong.npz", t=[0.0, 1.0], x=np.zeros((2, 7)))
    with pytest.raises(nacelle.NacelleError, match="not a run of fivebar"):
        read_run(robot, tmp_path / "wrong.npz")
    (tmp_path / "text.npz").write_text("no numbers", encoding="utf-8")
    with pytest.raises(nacelle.NacelleError, match="not an npz file"):
        read_run(robot, tmp_path / "text.npz")


def test_a_robot_follows_and_stays_at_the_last_pose_it_can_take() -> None:
    session = Session(nacelle.load("fivebar"))
    near = session.x + np.array([0.03, -0.02])
    assert session.move(near).status is PoseStatus.GOOD
    np.testing.assert_allclose(session.platform.p[:2], near, atol=1e-12)
    far = near + np.array([1.0, 0.0])
    verdict = session.move(far)
    assert verdict.status is PoseStatus.OUT
    assert "left" in verdict.reason
    np.testing.assert_array_equal(session.x, near)
    ghost = session.ghost_pose()
    assert ghost is not None
    np.testing.assert_allclose(ghost.p[:2], far)
    assert session.move(near).status is PoseStatus.GOOD
    assert session.ghost_pose() is None


def test_limits_are_named_and_can_be_left_aside() -> None:
    robot = nacelle.load("gough-stewart")
    session = Session(robot)
    low, high = robot.actuators[0].position
    x = session.x.copy()
    x[2] += high - low
    words = session.move(x).reason
    assert words.startswith("beyond limits: ")
    assert f"limits {low * 1e3:.1f} mm to {high * 1e3:.1f} mm" in words
    assert "leg1.drive" in words
    session.limits = False
    assert session.move(x).status is not PoseStatus.OUT
    assert session.platform.p[2] == pytest.approx(x[2])


def test_near_a_stretched_leg_it_says_which() -> None:
    """Along a ray the last pose before the boundary has a leg that is nearly straight."""
    robot = nacelle.load("fivebar")
    session = Session(robot, limits=False)
    good, bad = session.x, session.x + np.array([0.5, 0.0])
    for _ in range(40):
        middle = 0.5 * (good + bad)
        reached = nacelle.inverse_kinematics(robot, [middle], limits=False).reachable[0]
        good, bad = (middle, bad) if reached else (good, middle)
    verdict = session.move(good + 1e-6 * (session.x - good))
    assert verdict.status is PoseStatus.NEAR
    assert verdict.nearest.startswith("serial (")
    assert 0.0 < verdict.measure < 1e-2


def test_parasitic_coordinates_follow() -> None:
    session = Session(nacelle.load("3rps"))
    dependent = session.dependent()
    assert {"x", "y"} <= dependent.keys()
    for k, name in enumerate(("x", "y")):
        value, unit = dependent[name]
        assert unit == "mm"
        assert value == pytest.approx(1e3 * session.platform.p[k], abs=1e-9)


def test_the_box_holds_all_joints() -> None:
    robot = nacelle.load("fivebar")
    x = nacelle.reference_pose(robot)
    low, high = joint_box(robot, nacelle.inverse_kinematics(robot, x).bodies)
    assert np.all(low[:2] < x)
    assert np.all(high[:2] > x)
    assert robot_offsets([robot, robot], [x, x])[1][0] > high[0] - low[0]


def test_rectangles_lie_where_the_platform_can_be_and_cover_the_area() -> None:
    robot = nacelle.load("fivebar")
    session = Session(robot)
    shown = workspace_slice(robot, SliceCoordinates("x", "y"), session.x, session.platform.p, 0.5)
    inside = [patch for patch in shown.patches if not patch.is_faint]
    centres = np.concatenate([patch.vertices.reshape(-1, 4, 3).mean(axis=1) for patch in inside])
    assert nacelle.inverse_kinematics(robot, centres[:, :2]).ok.all()
    area = 0.0
    for patch in inside:
        a, b, c = np.moveaxis(patch.vertices[patch.faces], 1, 0)
        area += 0.5 * float(np.sum(np.linalg.norm(np.cross(b - a, c - a), axis=1)))
    assert area == pytest.approx(shown.grid.volume)
    assert "m^2" in shown.message


@pytest.mark.slow
def test_angles_are_drawn_as_lengths() -> None:
    assert slice_choices(nacelle.load("3rps"))[0] == ("z", "rx")
    robot = nacelle.load("h4")
    assert ("x", "turn") in slice_choices(robot)
    session = Session(robot)
    shown = workspace_slice(robot, SliceCoordinates("x", "turn"), session.x, session.platform.p, 1.0)
    points = np.concatenate([patch.vertices for patch in shown.patches])
    turn = shown.grid.values[1]
    width = (turn[-1] - turn[0]) * (61 / 60) / np.radians(45.0) * 0.25
    assert np.ptp(points[:, 1]) <= width + 1e-9
    np.testing.assert_allclose(points[:, 2], session.platform.p[2])
    assert "angles are drawn as lengths" in shown.message


def test_a_mode_moves_the_platform_along_its_displacement() -> None:
    robot = nacelle.load("fivebar-flexible")
    x = nacelle.reference_pose(robot)
    given = lowest_modes(robot, x)
    assert given.modes is not None
    assert given.labels[0].startswith("1: ")
    shaking = ModeAnimation(given.modes, 0, 0.5)
    rest = nacelle.inverse_kinematics(robot, x).bodies
    np.testing.assert_allclose(shaking.bodies(rest, 0.0).p, rest.p)
    moved = shaking.bodies(rest, 0.5 * np.pi)
    expected = shaking.factor * given.modes.displacement()[:3, 0]
    np.testing.assert_allclose(moved.p[1] - rest.p[1], expected, atol=1e-12)
    lines, straight = shaking.lines(0.5 * np.pi), shaking.lines(0.0)
    reach = max(float(np.max(np.linalg.norm(lines[name] - straight[name], axis=-1))) for name in lines)
    assert 0.5 * DISPLACEMENT * 0.5 < reach <= 1.001 * DISPLACEMENT * 0.5
    assert set(shaking.bent_links) == set(lines)


def test_a_file_is_read_when_it_has_changed(tmp_path: Path) -> None:
    file = tmp_path / "own.yaml"
    file.write_text(text("fivebar"), encoding="utf-8")
    watched = WatchedRobot(file)
    robot = watched.load()
    assert watched.read_change() is None
    file.write_text(text("fivebar") + "\nwrong: 1\n", encoding="utf-8")
    reading = watched.read_change()
    assert reading is not None
    assert reading.robot is None
    assert "own.yaml:" in reading.problems[0]
    assert watched.read_change() is None
    file.unlink()
    assert watched.read_change() is None
    file.write_text(text("fivebar"), encoding="utf-8")
    os.utime(file, (1.0, 1.0))
    mended = watched.read_change()
    assert mended is not None
    assert mended.robot is not None
    assert mended.robot.hash == robot.hash


def test_robots_of_the_library_never_change_and_modes_are_checked() -> None:
    watched = WatchedRobot("fivebar")
    robot = watched.load()
    assert watched.read_change() is None
    with pytest.raises(nacelle.NacelleError, match="nosuch"):
        in_mode(robot, "nosuch")


def test_a_trajectory_is_played_as_it_is() -> None:
    robot = nacelle.load("gough-stewart")
    start = nacelle.reference_pose(robot)
    path = nacelle.Circle(start, 0.05, motion=robot.motion, duration=2.0)
    motion = make_playback(robot, path, "circle")
    for t in (0.0, 0.37, 1.1, 2.0, 9.0):
        np.testing.assert_allclose(motion.pose(t), path(min(t, 2.0)).x, atol=2e-5)
    differences = make_playback(robot, (motion.times, motion.x))
    for t in (0.4, 1.3):
        sample = path(t)
        for ours in (motion.rates(t), differences.rates(t)):
            np.testing.assert_allclose(ours[0], sample.v, atol=2e-3)
            np.testing.assert_allclose(ours[1], sample.a, atol=2e-2)
    trace = motion.trace()
    tool = traced_tool(robot)
    place = nacelle.kinematics.tool_pose(robot, start, tool.name).p
    assert tool.name == "spindle"
    assert np.min(np.linalg.norm(trace - place, axis=1)) < 0.06


def test_orientations_are_turned_the_shorter_way() -> None:
    robot = nacelle.load("gough-stewart")
    first, last = (nacelle.pose(robot, rotation_vector=[0.0, 0.0, angle]) for angle in (0.0, 0.2))
    last[3:] *= -1.0
    motion = make_playback(robot, ([0.0, 1.0], [first, last]))
    np.testing.assert_allclose(
        np.abs(motion.pose(0.5)[3:]),
        np.abs(nacelle.pose(robot, rotation_vector=[0.0, 0.0, 0.1])[3:]),
        atol=1e-12,
    )


@pytest.mark.parametrize(
    ("times", "poses", "words"),
    [
        ([0.0, 1.0], [[0.0, 0.28, 0.0]] * 2, "times (N,) and poses (N, 2)"),
        ([0.0, 0.0], [[0.0, 0.28]] * 2, "rising times"),
        ([0.0, 1.0], [[90.0, 280.0]] * 2, "reaches none"),
    ],
)
def test_what_cannot_be_played_is_said(times: list[float], poses: list[list[float]], words: str) -> None:
    with pytest.raises(nacelle.NacelleError) as caught:
        make_playback(nacelle.load("fivebar"), (times, poses))
    assert words in str(caught.value)
    with pytest.raises(nacelle.NacelleError, match="cannot be played"):
        make_playback(nacelle.load("fivebar"), 3)


def test_poses_out_of_reach_are_counted() -> None:
    robot = nacelle.load("fivebar")
    poses = [[0.0, 0.28], [0.0, 0.3], [5.0, 0.3], [np.nan, 0.0]]
    assert make_playback(robot, ([0.0, 1.0, 2.0, 3.0], poses)).lost == 2


def test_the_clock() -> None:
    clock = Clock(2.0)
    assert not clock.advance(1.0)
    clock.play()
    clock.speed = 0.5
    assert clock.advance(1.0)
    assert clock.time == 0.5
    clock.advance(4.0)
    assert clock.time == pytest.approx(0.5)
    clock.loop = False
    clock.advance(10.0)
    assert (clock.time, clock.playing) == (2.0, False)
    clock.play()
    assert (clock.time, clock.playing) == (0.0, True)
    clock.seek(7.0)
    assert clock.time == 2.0
