"""Geometry in body frames: rods end at the joints at every pose, pairs hold together over a motion."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import nacelle
from nacelle.kinematics.inverse import inverse_kinematics
from nacelle.kinematics.pose_input import reference_pose
from nacelle.model.joint import JointKind
from nacelle.model.robot import Robot
from nacelle.scene.geometry import RobotGeometry, robot_geometry
from nacelle.scene.motion import poses_along
from nacelle.scene.placed import scene
from nacelle.shapes.solid import Rod
from support.library import library_robot


def bare(name: str) -> Robot:
    robot = library_robot(name)
    return replace(robot, bodies=tuple(replace(body, display=()) for body in robot.bodies))


def rods(geometry: RobotGeometry, body: int) -> list[Rod]:
    parts = [part for part in geometry.parts if part.body == body and part.kind != "joint"]
    return [solid for part in parts for solid in part.solids if isinstance(solid, Rod)]


def distance(point: np.ndarray, rod: Rod) -> float:
    bar = rod.stop - rod.start
    foot = rod.start + bar * np.clip((point - rod.start) @ bar / (bar @ bar), 0.0, 1.0)
    return float(np.linalg.norm(point - foot))


@pytest.mark.parametrize("name", ["delta", "3rrr", "gough-stewart", "orthoglide", "quattro"])
def test_rods_touch_at_the_joints_at_random_poses(name: str) -> None:
    """Placed by the kinematics, the rods of both bodies of a joint contain its centre, at poses all over."""
    robot = bare(name)
    geometry = robot_geometry(robot)
    reference = reference_pose(robot)
    x = np.random.default_rng(5).normal(reference, 0.02 * geometry.extent, (6, len(reference)))
    poses = inverse_kinematics(robot, x)
    R, p = (values[poses.reachable] for values in poses.bodies)
    assert len(R) > 2
    for joint in robot.joints:
        if joint.kind is JointKind.FIXED or joint.kind is JointKind.PRISMATIC or joint.at_point:
            continue
        pairs = ((joint.predecessor, joint.frame_predecessor.p), (joint.successor, joint.frame_successor.p))
        places = [R[:, b] @ own + p[:, b] for b, own in pairs]
        np.testing.assert_allclose(places[0], places[1], atol=1e-8 * geometry.extent)
        for b, own in pairs:
            if rods(geometry, b):
                assert min(distance(own, rod) for rod in rods(geometry, b)) < 1e-9 * geometry.extent


@pytest.mark.parametrize("name", ["gough-stewart", "palida", "3rps"])
def test_tubes_hold_their_rods_over_a_motion(name: str) -> None:
    robot = bare(name)
    reference = reference_pose(robot)
    x = np.tile(reference, (25, 1))
    x[:, 2] += 0.25 * abs(reference[2]) * np.sin(np.linspace(0.0, 2.0 * np.pi, 25))
    motion = poses_along(robot, np.arange(25.0), x)
    geometry = robot_geometry(robot, motion)
    R, p = inverse_kinematics(robot, x, limits=False).bodies
    struts = [joint for joint in robot.joints if joint.kind is JointKind.PRISMATIC]
    assert len(struts) >= 3
    for joint in struts:
        before, after = joint.predecessor, joint.successor
        axis = R[:, before] @ joint.frame_predecessor.R[:, 2]
        start = R[:, before] @ joint.frame_predecessor.p + p[:, before]
        stop = R[:, after] @ joint.frame_successor.p + p[:, after]
        stroke = np.sum(axis * (stop - start), axis=1)

        def along(b: int, point: np.ndarray, axis=axis, start=start) -> np.ndarray:
            return np.asarray(np.sum(axis * (R[:, b] @ point + p[:, b] - start), axis=1))

        (tube,), (rod,) = rods(geometry, before), rods(geometry, after)
        tube_low, tube_high = np.sort([along(before, tube.start), along(before, tube.stop)], axis=0)
        rod_low, rod_high = np.sort([along(after, rod.start), along(after, rod.stop)], axis=0)
        np.testing.assert_allclose(rod_high, stroke, atol=1e-8)
        assert np.all(rod_low < tube_high)
        assert np.all(rod_low > tube_low - 1e-9)
        assert np.all(tube_high <= stroke + 1e-9)


def test_joints_are_marked_by_kind() -> None:
    robot = library_robot("gough-stewart")
    geometry = robot_geometry(robot)
    marks = [part for part in geometry.parts if part.kind == "joint"]
    driven = {robot.joints[actuator.joint].name for actuator in robot.actuators}
    assert {part.name for part in marks if part.active} == driven
    universal = [joint for joint in robot.joints if joint.kind is JointKind.UNIVERSAL]
    for joint in universal:
        pins = [part for part in marks if part.name == joint.name]
        assert [part.body for part in pins] == [joint.predecessor, joint.successor]
    assert geometry.across is None
    assert robot_geometry(library_robot("fivebar")).across is not None


# ---- Plates, and arcs on a sphere, where nothing is described


def body_of(view, name):
    return next(part for part in view.bodies if part.name == name)


@pytest.mark.parametrize(("name", "corners"), [("gough-stewart", 6), ("3rps", 3), ("3rrr", 3)])
def test_platforms_without_shapes_are_plates(name, corners):
    robot = bare(name)
    view = scene(robot)
    solid = body_of(view, robot.bodies[1].name).solids[0]
    poses = inverse_kinematics(robot, reference_pose(robot)).bodies
    ends = np.array(
        [poses.R[1] @ joint.frame_successor.p + poses.p[1] for joint in robot.joints if joint.successor == 1]
    )
    assert len(np.unique(ends.round(9), axis=0)) == corners
    near = np.linalg.norm(solid.reshape(-1, 1, 3) - ends, axis=2).min(axis=0)
    np.testing.assert_allclose(near, 0.005 * view.extent, rtol=1e-6)


AGILE_EYE = """
format: nacelle/1
name: eye
motion: [rx, ry, rz]
nacelle: {name: camera, mass: 0.3 kg, com: 0 0 5 mm, inertia: 0.0003 0.0003 0.0002 kg*m^2}
templates:
  leg:
    bodies:
      proximal: {mass: 0.15 kg, com: 40 0 -40 mm, inertia: 0.0003 0.0004 0.0003 kg*m^2}
      distal: {mass: 0.1 kg, com: 0 -30 -30 mm, inertia: 0.0002 0.00015 0.00015 kg*m^2}
    joints:
      motor: {type: revolute, parent: base, child: proximal, axis: x, active: true}
      mid: {type: revolute, parent: proximal, child: distal, axis: [0, 0, -1]}
    closures:
      eye: {type: revolute, parent: distal, child: camera, axis: [0, -1, 0]}
legs:
  - {repeat: leg, placements: [{}, {axis: [1, 1, 1], angle: 120 deg}, {axis: [1, 1, 1], angle: 240 deg}]}
"""


def test_spherical_mechanisms_are_drawn_on_a_sphere():
    """All joints meet in one point: links are arcs at one distance from it that end at the joints' axes."""
    robot = nacelle.loads(AGILE_EYE)
    view = scene(robot)
    radius = 0.5 * view.extent
    assert radius == pytest.approx(np.hypot(0.04, 0.04))
    for name in ("leg1.proximal", "leg3.distal"):
        points = body_of(view, name).points
        distance = np.linalg.norm(points, axis=1)
        assert np.all(np.abs(distance - radius) < 0.05 * radius)
        # Links of 90 degrees.
        assert np.ptp(points, axis=0).max() == pytest.approx(radius, rel=0.2)
    marks = [part for part in view.parts if part.kind == "joint"]
    assert len(marks) == 9
    assert all(np.linalg.norm(part.points.mean(axis=0)) == pytest.approx(radius, rel=0.05) for part in marks)
