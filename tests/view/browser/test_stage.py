from __future__ import annotations

import numpy as np
import pytest

from nacelle.kinematics.inverse import inverse_kinematics
from nacelle.kinematics.pose_input import reference_pose
from nacelle.scene.motion import rotations
from nacelle.spatial.pose import Pose
from nacelle.view.browser.stage import wxyz
from nacelle.view.session import Standing
from nacelle.view.viewer import view
from support.described import mechanism

pytest.importorskip("viser")


def test_quaternions_have_the_scalar_first() -> None:
    np.testing.assert_allclose(wxyz(np.diag([1.0, -1.0, -1.0])), [0.0, 1.0, 0.0, 0.0], atol=1e-12)


def test_colours_tell_how_a_pose_is() -> None:
    with view("fivebar") as viewer:
        stage = viewer._members[0].stage
        own = {body: tuple(meshes[0][0].color) for body, meshes in stage._meshes.items()}

        def painted(standing: Standing) -> dict[int, tuple[int, ...]]:
            viewer._loop.call(lambda: stage.paint(standing))
            return {body: tuple(meshes[0][0].color) for body, meshes in stage._meshes.items()}

        near, out = painted(Standing.NEAR), painted(Standing.OUT)
        assert {colour for body, colour in near.items() if body} == {(230, 159, 0)}
        assert near[0] == out[0] == own[0]
        assert out[1] == (196, 38, 46)
        assert {body for body in own if out[body] != own[body]} == {1}
        assert painted(Standing.GOOD) == own


def test_springs_follow_their_bodies() -> None:
    """A coil lies from point to point after the robot has moved, and is hidden with a body that holds it."""
    robot = mechanism("sprung_arm")
    with view(robot) as viewer:
        stage = viewer._members[0].stage
        ((link, handle),) = zip(stage.geometry.links, stage._links, strict=True)
        for turn in (0.0, 0.2):
            bodies = inverse_kinematics(robot, reference_pose(robot) + turn).bodies
            viewer._loop.call(lambda bodies=bodies: stage.place(bodies))
            first, second = link.ends([Pose(R, p) for R, p in zip(*bodies, strict=True)])
            np.testing.assert_allclose(handle.position, first, atol=1e-7)
            length = np.linalg.norm(second - first)
            np.testing.assert_allclose(np.max(handle.vertices[:, 2]), length, rtol=1e-6)
            axis = rotations(np.asarray(handle.wxyz))[:, 2]
            np.testing.assert_allclose(length * axis, second - first, atol=1e-6)
        name = robot.bodies[link.bodies[0]].name
        viewer._loop.call(lambda: stage.hide((name,)))
        assert not handle.visible
        viewer._loop.call(lambda: stage.hide(()))
        assert handle.visible
