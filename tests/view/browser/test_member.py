"""The viewer with a server but no browser: events as viser sends them, handles as it keeps."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import nacelle
from nacelle.kinematics.pose_input import reference_pose
from nacelle.kinematics.solve.inverse import inverse_kinematics
from nacelle.scene.motion import rotation_matrices_wxyz
from nacelle.spatial.pose import Pose
from nacelle.view.session import PoseStatus
from nacelle.view.viewer import Viewer, view
from support.described import mechanism

pytest.importorskip("viser")


@pytest.fixture(scope="module")
def viewer() -> Iterator[Viewer]:
    with view("fivebar") as started:
        yield started


def wait(condition: Callable[[], Any]) -> None:
    end = time.monotonic() + 30.0
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_grips_move_the_frames_of_all_bodies(viewer: Viewer) -> None:
    (member,) = viewer._members
    x = np.array([0.04, 0.25])
    member._grip_moved(0, "start", np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]))
    member._grip_moved(0, "update", np.array([*x, 0.0]), np.array([1.0, 0.0, 0.0, 0.0]))
    member._grip_moved(0, "end", np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]))
    viewer._loop.call(lambda: None)
    bodies = nacelle.inverse_kinematics(viewer.robots[0], x).bodies
    for b, frame in enumerate(member.stage._frames):
        np.testing.assert_allclose(frame.position, bodies.p[b], atol=1e-12)
    wait(lambda: abs(member.panel._sliders[0][1].value - 40.0) < 0.6)


def test_loads_slices_and_modes(viewer: Viewer) -> None:
    (member,) = viewer._members
    viewer._loop.call(lambda: member.set_loads("actuator forces", True))
    wait(lambda: "moment (N m)" in member.panel.loads["actuator forces"].content)
    arrows = member.stage._others["actuator-forces-moments"].points
    lengths = np.linalg.norm(arrows[:, 1] - arrows[:, 0], axis=1)
    assert lengths.max() == pytest.approx(0.25 * member.stage.geometry.extent, rel=1e-5)
    viewer._loop.call(lambda: member.set_loads("actuator forces", False))
    assert not member.stage._others["actuator-forces-moments"].visible
    viewer._loop.call(lambda: member.compute_slice(0))
    wait(lambda: "inverse condition number" in member.panel.slice.content)
    viewer._loop.call(member.remove_slice)
    assert not any(key.startswith("slice") for key in member.stage._others)
    viewer._loop.call(member.compute_modes)
    wait(lambda: "no flexible link" in member.panel.modes.content)


def test_out_of_reach_the_ghost_is_where_it_was_asked_for(viewer: Viewer) -> None:
    (member,) = viewer._members
    viewer.show([0.9, 0.3])
    ghost = member.stage._ghosts[1]
    assert ghost.visible
    np.testing.assert_allclose(ghost.position[:2], [0.9, 0.3])
    viewer._loop.call(member.to_reference)
    assert not ghost.visible


def test_colours_tell_how_a_pose_is() -> None:
    with view("fivebar") as viewer:
        stage = viewer._members[0].stage
        own = {body: tuple(meshes[0][0].color) for body, meshes in stage._meshes.items()}

        def painted(standing: PoseStatus) -> dict[int, tuple[int, ...]]:
            viewer._loop.call(lambda: stage.paint(standing))
            return {body: tuple(meshes[0][0].color) for body, meshes in stage._meshes.items()}

        near, out = painted(PoseStatus.NEAR), painted(PoseStatus.OUT)
        assert {colour for body, colour in near.items() if body} == {(230, 159, 0)}
        assert near[0] == out[0] == own[0]
        assert out[1] == (196, 38, 46)
        assert {body for body in own if out[body] != own[body]} == {1}
        assert painted(PoseStatus.GOOD) == own


def test_springs_follow_their_bodies() -> None:
    """A coil lies from point to point after the robot has moved, and is hidden with a body that holds it."""
    robot = mechanism("sprung_arm")
    with view(robot) as viewer:
        stage = viewer._members[0].stage
        ((link, handle),) = zip(stage.geometry.links, stage._links, strict=True)
        for turn in (0.0, 0.2):
            bodies = inverse_kinematics(robot, reference_pose(robot) + turn).bodies
            viewer._loop.call(lambda bodies=bodies: stage.move_bodies(bodies))
            first, second = link.ends([Pose(R, p) for R, p in zip(*bodies, strict=True)])
            np.testing.assert_allclose(handle.position, first, atol=1e-7)
            length = np.linalg.norm(second - first)
            np.testing.assert_allclose(np.max(handle.vertices[:, 2]), length, rtol=1e-6)
            axis = rotation_matrices_wxyz(np.asarray(handle.wxyz))[:, 2]
            np.testing.assert_allclose(length * axis, second - first, atol=1e-6)
        name = robot.bodies[link.bodies[0]].name
        viewer._loop.call(lambda: stage.hide((name,)))
        assert not handle.visible
        viewer._loop.call(lambda: stage.hide(()))
        assert handle.visible


def test_sliders_have_units_and_problems_come_and_go() -> None:
    with view("3rps") as viewer:
        panel = viewer._members[0].panel
        labels = [slider.label for _, slider in panel._sliders]
        assert labels == ["z (mm)", "rx (deg)", "ry (deg)"]
        assert panel._sliders[0][1].value == pytest.approx(500.0, abs=1.0)
        viewer._loop.call(lambda: panel.show_problems(["own.yaml:3:1: wrong"]))
        assert "own.yaml:3:1: wrong" in panel.problems.content
        viewer._loop.call(lambda: panel.show_problems([]))
        assert panel.problems.content == ""
        viewer.show([0.52, 0.1, 0.1])
        viewer._loop.call(lambda: viewer._members[0].tick(1.0))
        assert panel._sliders[0][1].value == pytest.approx(520.0, abs=1.0)
        assert "follows: x " in panel.dependent.content


def test_time_is_sought_and_shown() -> None:
    with view("fivebar") as viewer:
        robot, bar = viewer.robots[0], viewer._playbar
        assert not bar._play.visible
        x = nacelle.reference_pose(robot)
        path = nacelle.Line(x, x + np.array([0.05, 0.0]), motion=robot.motion, duration=2.0)
        viewer.play(path, start=False)
        assert bar._play.visible
        assert bar._time.max == 2.0
        viewer._loop.call(lambda: bar._seek(1.0))
        np.testing.assert_allclose(viewer._members[0].session.x, path(1.0).x, atol=1e-6)
        viewer._loop.call(bar._toggle)
        assert bar._play.label == "Pause"
