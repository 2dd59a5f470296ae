"""Springs and dampers between bodies: drawn from point to point at every pose, wires as thick as they are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nacelle.kinematics.inverse import inverse_kinematics
from nacelle.kinematics.pose_input import reference_pose
from nacelle.model.robot import Robot
from nacelle.scene.between import Between, link_frame, stretched_link
from nacelle.scene.geometry import robot_geometry
from nacelle.scene.placed import scene
from nacelle.spatial.pose import Pose
from support.described import mechanism


def placed(robot: Robot, x: np.ndarray) -> list[Pose]:
    bodies = inverse_kinematics(robot, x, limits=False).bodies
    return [Pose(R, p) for R, p in zip(*bodies, strict=True)]


def only(robot: Robot, kind: str) -> Between:
    (link,) = (link for link in robot_geometry(robot).links if link.kind == kind)
    return link


@pytest.mark.slow
@pytest.mark.parametrize("turn", [0.0, 0.2, -0.2])
def test_a_spring_reaches_from_point_to_point(turn: float) -> None:
    """Along the line of its points it begins at one and ends at the other; across it is as wide as ever."""
    robot = mechanism("sprung_arm")
    x = reference_pose(robot) + turn
    poses = placed(robot, x)
    spring = robot.springs[0]
    first, second = (poses[b].R @ p + poses[b].p for b, p in zip(spring.bodies, spring.points, strict=True))
    (part,) = (part for part in scene(robot, x).parts if part.kind == "spring" and len(part.solids) > 2)
    axis = (second - first) / np.linalg.norm(second - first)
    along = (part.points - first) @ axis
    away = np.linalg.norm(part.points - first - along[:, None] * axis, axis=1)
    extent = robot_geometry(robot).extent
    np.testing.assert_allclose(
        [along.min(), along.max()], [0.0, np.linalg.norm(second - first)], atol=1e-9 * extent
    )
    np.testing.assert_allclose(away.max(), (0.016 + 0.0024) * extent, rtol=1e-9)


def test_a_coil_changes_its_pitch_and_not_its_wire() -> None:
    link = only(mechanism("sprung_arm"), "spring")
    winding = max(link.pieces, key=lambda piece: float(np.hypot(piece[..., 0], piece[..., 1]).max()))
    for length in (0.1, 0.4):
        ring = stretched_link(winding, length)[:, 0]
        np.testing.assert_allclose(np.ptp(ring[:, 2]), np.ptp(winding[:, 0, 2]), rtol=1e-12)
    corners, triangles = link.mesh
    assert len(np.unique(triangles)) == len(corners)
    assert float(corners[:, 3].min()) == 0.0
    assert float(corners[:, 3].max()) == 1.0


def test_a_damped_spring_has_a_dashpot_and_another_none() -> None:
    robot = mechanism("sprung_arm")
    bare = replace(robot, springs=tuple(replace(spring, damping=0.0) for spring in robot.springs))
    widths = [
        {round(float(np.hypot(piece[..., 0], piece[..., 1]).max()), 9) for piece in link.pieces}
        for link in (only(robot, "spring"), only(bare, "spring"))
    ]
    assert widths[1] < widths[0]


@pytest.mark.slow
def test_a_damper_is_between_the_joints_of_its_bodies() -> None:
    robot = mechanism("cassie_leg")
    link = only(robot, "damper")
    assert link.bodies == robot.dampers[0].bodies
    poses = placed(robot, reference_pose(robot))
    for b, end in zip(link.bodies, link.ends(poses), strict=True):
        joints = [
            (poses[body] @ frame).p
            for joint in robot.joints
            for body, frame in (
                (joint.predecessor, joint.frame_predecessor),
                (joint.successor, joint.frame_successor),
            )
            if body == b
        ]
        np.testing.assert_allclose(end, np.mean(joints, axis=0), atol=1e-12)
    assert {part.name for part in robot_geometry(robot).parts if part.kind == "damper"} == {link.name}


def test_a_link_without_length_has_a_frame() -> None:
    frame, length = link_frame(np.ones(3), np.ones(3))
    assert length == 0.0
    np.testing.assert_allclose(frame.R, np.eye(3), atol=1e-12)
